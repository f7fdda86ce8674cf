"""The methods by the names that the command line uses; each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.release.base import Release

_HOMES = {
    "ron-gauss": "gnomon.release.ron_gauss:RonGauss",
    "pca-gauss": "gnomon.release.pca_gauss:PcaGauss",
    "jl-laplace": "gnomon.release.jl_laplace:JlLaplace",
    "dppro": "gnomon.release.dppro:DpPro",
    "dprp": "gnomon.release.dprp:Dprp",
    "bernoulli-identity": "gnomon.baseline.identity:BernoulliIdentity",
    "pca-identity": "gnomon.baseline.subspace:PcaIdentity",
    "lda-identity": "gnomon.baseline.subspace:LdaIdentity",
    "exponential": "gnomon.baseline.exponential:ExponentialMechanism",
    "blocki": "gnomon.baseline.blocki:BlockiGauss",
    "modips": "gnomon.baseline.modips:Modips",
}


class _Methods(Mapping[str, "type[Release]"]):
    def __getitem__(self, name: str) -> type[Release]:
        module, attribute = _HOMES[name].split(":")
        found: type[Release] = getattr(import_module(module), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)


METHODS: Mapping[str, type[Release]] = _Methods()
