"""The papers' tables and figures, measured again: `gnomon reproduce`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from gnomon.errors import ParameterError
from gnomon.reproduce.experiment import Cell, Experiment
from gnomon.reproduce.run import reproduce

__all__ = ["ALL", "Cell", "Experiment", "experiments", "named", "reproduce"]

ALL = "all"
MODULES: tuple[str, ...] = (
    "ron_gauss",
    "pca_gauss",
    "jl_laplace",
    "jl_reconstruction",
    "dprp",
    "dprp_gans",
    "dprp_tuned",
    "dppro",
    "dppro_adult",
)  # each has EXPERIMENTS, a tuple of Experiment


@cache
def experiments() -> dict[str, Experiment]:
    """Every experiment by its name, in the order of the papers."""
    found = [one for module in MODULES for one in import_module(f"{__name__}.{module}").EXPERIMENTS]
    return {experiment.name: experiment for experiment in found}


def named(name: str) -> list[Experiment]:
    """The experiment of that name, or every one for `all`."""
    known = experiments()
    if name == ALL:
        return list(known.values())
    if name not in known:
        raise ParameterError(
            f"There is no experiment {name!r}; 'gnomon reproduce --list' names them, and 'all' is every one."
        )
    return [known[name]]
