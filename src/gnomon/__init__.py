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
    "Ledger": "gnomon.privacy.ledger",
    "Synthesizer": "gnomon.methods.synthesizer",
    "open_database": "gnomon.table.database",
    "RonGauss": "gnomon.methods.ron_gauss",
    "PcaGauss": "gnomon.methods.pca_gauss",
    "JlLaplace": "gnomon.methods.jl_laplace",
    "DpPro": "gnomon.methods.dppro",
    "Dprp": "gnomon.methods.dprp",
    "open_release": "gnomon.release.verify",
    "evaluate": "gnomon.evaluation.run",
}

_MODULES = ("baseline", "plan", "publish")  # the last two can be called

__all__ = [*_HOMES, *_MODULES, "__version__"]

if TYPE_CHECKING:
    from gnomon.evaluation.run import evaluate
    from gnomon.methods.dppro import DpPro
    from gnomon.methods.dprp import Dprp
    from gnomon.methods.jl_laplace import JlLaplace
    from gnomon.methods.pca_gauss import PcaGauss
    from gnomon.methods.ron_gauss import RonGauss
    from gnomon.methods.synthesizer import Synthesizer
    from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, PureDP, Unit
    from gnomon.privacy.ledger import Ledger
    from gnomon.release.verify import open_release
    from gnomon.table.database import open_database
    from gnomon.table.schema import Column, Schema


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"gnomon.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gnomon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
