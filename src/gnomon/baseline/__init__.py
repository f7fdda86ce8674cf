"""The methods that the papers compare with, behind the interface of gnomon's own; imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "BernoulliIdentity": "gnomon.baseline.identity",
    "BlockiGauss": "gnomon.baseline.blocki",
    "ExponentialMechanism": "gnomon.baseline.exponential",
    "LdaIdentity": "gnomon.baseline.subspace",
    "Modips": "gnomon.baseline.modips",
    "PcaIdentity": "gnomon.baseline.subspace",
}

__all__ = ["BernoulliIdentity", "BlockiGauss", "ExponentialMechanism", "LdaIdentity", "Modips", "PcaIdentity"]

if TYPE_CHECKING:
    from gnomon.baseline.blocki import BlockiGauss
    from gnomon.baseline.exponential import ExponentialMechanism
    from gnomon.baseline.identity import BernoulliIdentity
    from gnomon.baseline.modips import Modips
    from gnomon.baseline.subspace import LdaIdentity, PcaIdentity


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gnomon.baseline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOMES)
