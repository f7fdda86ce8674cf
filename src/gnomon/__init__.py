"""gnomon: differentially private releases of tables that ordinary machine learning can use.

Names are imported when they are first used, so that `import gnomon` and `gnomon --help` stay fast.
"""

# ruff: noqa: F401 - what is imported below for type checkers is what `_HOMES` imports lazily
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Schema": "gnomon.table.schema",
    "Column": "gnomon.table.schema",
    "PureDP": "gnomon.privacy.guarantee",
    "ApproxDP": "gnomon.privacy.guarantee",
    "ZCDP": "gnomon.privacy.guarantee",
    "GaussianDP": "gnomon.privacy.guarantee",
    "Adjacency": "gnomon.privacy.guarantee",
    "Unit": "gnomon.privacy.guarantee",
    "RonGauss": "gnomon.release.ron_gauss",
    "PcaGauss": "gnomon.release.pca_gauss",
    "JlLaplace": "gnomon.release.jl_laplace",
    "DpPro": "gnomon.release.dppro",
    "Dprp": "gnomon.release.dprp",
}

_PACKAGES = ("baseline", "evaluate")  # gnomon.evaluate is a package that can be called

__all__ = [*_HOMES, *_PACKAGES, "__version__"]

if TYPE_CHECKING:
    from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, PureDP, Unit
    from gnomon.release.dppro import DpPro
    from gnomon.release.dprp import Dprp
    from gnomon.release.jl_laplace import JlLaplace
    from gnomon.release.pca_gauss import PcaGauss
    from gnomon.release.ron_gauss import RonGauss
    from gnomon.table.schema import Column, Schema


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"gnomon.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gnomon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
