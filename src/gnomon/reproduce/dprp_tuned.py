"""DPRP's Section 4.10: its two GANs with a search over their settings that the budget pays."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from gnomon.reproduce import dprp_printed as printed
from gnomon.reproduce.dprp import (
    DELTA,
    EPSILON,
    FILES,
    PAPER,
    READING,
    TRAINED,
    _forest,
    as_described,
    declared,
    scored,
    side,
    split,
)
from gnomon.reproduce.dprp_gans import GANS, command, made
from gnomon.reproduce.experiment import Cell, Experiment, Numbers
from gnomon.table.encode import Encoder

SEARCHED = (
    (100, 0.001),
    (100, 0.0003),
    (50, 0.001),
    (200, 0.001),
)  # epochs, rate; the first is the untuned one


def tuned(data: Path, folder: str, algorithm: str, trial: int) -> Numbers:
    """The best of the settings, each trained with its part of the budget; chosen by the test rows, at no cost."""
    encoder = Encoder(declared(folder))
    train, test = (side(table, encoder) for table in split(data, folder, trial))
    found = []
    for epochs, rate in SEARCHED:
        settings = {"epochs": epochs, "rate": rate}
        parts = len(SEARCHED)
        rows, _ = made(
            algorithm, train, len(encoder.classes or ()), EPSILON / parts, DELTA / parts, settings=settings
        )
        found.append(_forest(rows, test, trial))
    return max(found, key=lambda scores: scores["accuracy"])


def cells(data: Path) -> list[Cell]:
    command()  # before anything is measured
    lines = []
    for folder, name in printed.NAMES.items():
        ours = partial(scored, data, folder, partial(as_described, EPSILON, "sound"))
        lines.append(Cell(f"{name}, DPRP", f"epsilon {EPSILON:g}", "sound", None, "original", ours))
        for row, (algorithm, _) in GANS.items():
            run = partial(tuned, data, folder, algorithm)
            column = f"epsilon {EPSILON:g}, best of {len(SEARCHED)} settings"
            lines.append(Cell(f"{name}, {row}", column, "sound", None, "original", run))
    return lines


EXPERIMENTS = (
    Experiment(
        "dprp-tuned-gans",
        PAPER,
        "DPGAN and DP-CGAN with tuned settings (Section 4.10)",
        "even with their best settings the GANs gain nothing, since the search costs budget.",
        50,
        FILES,
        cells,
        notes=(
            TRAINED,
            READING,
            "The search is over four pairs of epochs and learning rate, each trained with a fourth of epsilon and "
            "delta. The one with the best accuracy on the test rows counts, which favours the GANs. The paper "
            "describes neither its search nor its cost, and prints no values.",
        ),
    ),
)
