"""The methods that the papers compare with, behind the interface of gnomon's own; imported when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "BernoulliIdentity": "gnomon.methods.baseline.identity",
    "BlockiGauss": "gnomon.methods.baseline.blocki",
    "ExponentialMechanism": "gnomon.methods.baseline.exponential",
    "JTree": "gnomon.methods.baseline.jtree",
    "LdaIdentity": "gnomon.methods.baseline.subspace",
    "Modips": "gnomon.methods.baseline.modips",
    "PcaIdentity": "gnomon.methods.baseline.subspace",
    "PriView": "gnomon.methods.baseline.priview",
    "PrivBayes": "gnomon.methods.baseline.privbayes",
    "PrivateSvm": "gnomon.methods.baseline.privatesvm",
}

__all__ = [
    "BernoulliIdentity",
    "BlockiGauss",
    "ExponentialMechanism",
    "JTree",
    "LdaIdentity",
    "Modips",
    "PcaIdentity",
    "PriView",
    "PrivBayes",
    "PrivateSvm",
]

if TYPE_CHECKING:
    from gnomon.methods.baseline.blocki import BlockiGauss
    from gnomon.methods.baseline.exponential import ExponentialMechanism
    from gnomon.methods.baseline.identity import BernoulliIdentity
    from gnomon.methods.baseline.jtree import JTree
    from gnomon.methods.baseline.modips import Modips
    from gnomon.methods.baseline.privatesvm import PrivateSvm
    from gnomon.methods.baseline.privbayes import PrivBayes
    from gnomon.methods.baseline.priview import PriView
    from gnomon.methods.baseline.subspace import LdaIdentity, PcaIdentity


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gnomon.baseline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOMES)
