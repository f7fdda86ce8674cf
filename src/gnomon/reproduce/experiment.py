"""What an experiment of a paper is: cells that give a number each time they are tried, and how to draw them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Calibration = Literal["paper", "sound", "none"]
Data = Literal["original", "partial", "stand-in", "generated"]
Best = Literal["largest", "smallest"]
Numbers = float | Mapping[str, float]
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Cell:
    """One number of a table (or a point of a curve), measured once a trial.

    `run(trial)` gives a number, or named numbers where one piece of work yields several (the points of a curve, two metrics
    of one model, a sweep over dimensions); the table then has a line for each name, and `printed` may be a dict of the
    same names. With `best`, the names are a sweep: the table's first line is the best mean of them, as papers report
    it, and `printed` is a number that belongs to that line. The trial number seeds splits, projections and models;
    nothing seeds the noise, so two runs of a trial differ.

    calibration: "paper" (the noise as printed), "sound" (the guarantee holds) or "none" (real data, no noise).
    """

    row: str
    column: str
    calibration: Calibration
    printed: float | Mapping[str, float] | None
    data: Data
    run: Callable[[int], Numbers]
    best: Best | None = None

    @property
    def key(self) -> Key:
        return (self.row, self.column, self.calibration)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    says: the paper's claim in one sentence.   trials: how many the paper ran.   files: what of the data folder is read.
    notes: what differs from the paper, one sentence each, printed below the table.
    draw: writes the figure with `gnomon.reproduce.plot`, where the paper has one; `results.data` is the data folder.
    """

    name: str
    paper: str
    title: str
    says: str
    trials: int
    files: tuple[str, ...]
    cells: Callable[[Path], list[Cell]]
    notes: tuple[str, ...] = ()
    draw: Callable[[Any, Path], None] | None = None  # of the experiment's results
