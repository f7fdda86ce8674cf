"""The methods by the names that the command line uses; each is imported when it is first asked for.

To register a method, write its file and add its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from gnomon.methods.base import Release

Registered = TypeVar("Registered", bound="type[Release]")

_HOMES = {
    "synthesizer": "synthesizer:Synthesizer",
    "ron-gauss": "ron_gauss:RonGauss",
    "pca-gauss": "pca_gauss:PcaGauss",
    "jl-laplace": "jl_laplace:JlLaplace",
    "dppro": "dppro:DpPro",
    "dprp": "dprp:Dprp",
    "bernoulli-identity": "baseline.identity:BernoulliIdentity",
    "pca-identity": "baseline.subspace:PcaIdentity",
    "lda-identity": "baseline.subspace:LdaIdentity",
    "exponential": "baseline.exponential:ExponentialMechanism",
    "blocki": "baseline.blocki:BlockiGauss",
    "modips": "baseline.modips:Modips",
    "privbayes": "baseline.privbayes:PrivBayes",
    "jtree": "baseline.jtree:JTree",
    "priview": "baseline.priview:PriView",
}


class Methods(Mapping[str, "type[Release]"]):
    """Names to classes; `register` adds one from outside the package."""

    def __init__(self) -> None:
        self._registered: dict[str, type[Release]] = {}

    def register(self, method: Registered) -> Registered:
        """Make a method known by its name; usable as a decorator."""
        self._registered[method.name] = method
        return method

    def unregister(self, name: str) -> None:
        """Forget a method that was registered from outside."""
        self._registered.pop(name, None)

    def __getitem__(self, name: str) -> type[Release]:
        if name in self._registered:
            return self._registered[name]
        module, attribute = _HOMES[name].split(":")
        found: type[Release] = getattr(import_module(f"gnomon.methods.{module}"), attribute)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter({**_HOMES, **self._registered})

    def __len__(self) -> int:
        return len({**_HOMES, **self._registered})


METHODS = Methods()
DEFAULT = "synthesizer"  # what `auto` means
