"""RON-Gauss, Figure 3: synthetic digits at several dimensions without noise, and ours with a budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from gnomon.errors import DataError
from gnomon.methods import METHODS
from gnomon.methods.charging import unaccounted
from gnomon.reproduce import plot
from gnomon.reproduce.data import read
from gnomon.reproduce.experiment import Calibration, Cell, Experiment
from gnomon.reproduce.results import Results
from gnomon.statistics.grid import Matrix

SIDE = 28
COLUMN = "read as its label, %"
READER = 10_000  # real images that the reader learns from
DRAWN = 1_000  # synthetic images that it reads
SHOWN = 8  # of each digit in a sheet
GREYS = 7  # steps from white to black, so that the picture stays small


@dataclass(frozen=True)
class Sheet:
    """One contact sheet."""

    row: str
    method: str
    calibration: Calibration
    epsilon: float
    delta: float = 0.0
    components: int | str = "auto"


NOISELESS = [
    Sheet(f"Algorithm 5, {p} dimensions", "ron-gauss", "none", math.inf, 0.0, p) for p in (392, 200, 100, 50)
]
OURS = [
    Sheet(f"{name}, epsilon = {epsilon:g}, delta = 1e-6", method, "sound", epsilon, 1e-6)
    for name, method in (("RON-Gauss", "ron-gauss"), ("Synthesizer", "synthesizer"))
    for epsilon in (1.0, 4.0)
]


@lru_cache(maxsize=1)
def _images(data: Path) -> tuple[Matrix, Any, Matrix, Any]:
    table = read(data, "mnist")
    names = [name for name in table.column_names if name not in ("label", "split")]
    if len(names) != SIDE * SIDE or not {"label", "split"} <= set(table.column_names):
        raise DataError("The table mnist/data.parquet must have 784 pixels, 'label' and 'split'.")
    X = np.column_stack([table[name].to_numpy() for name in names]).astype(np.float64)
    y = table["label"].to_numpy().astype(np.int64)
    train = np.asarray(table["split"].to_pylist()) == "train"
    return X[train], y[train], X[~train], y[~train]


@lru_cache(maxsize=len(NOISELESS) + len(OURS))
def synthetic(data: Path, sheet: Sheet, trial: int) -> tuple[Matrix, Any]:
    X, y, _, _ = _images(data)
    settings: dict[str, Any] = {"calibration": "sound"}
    if sheet.components != "auto":
        settings["n_components"] = sheet.components
    if math.isinf(sheet.epsilon):
        settings |= {"calibration": "paper", "not_private": True}
    made: Any = METHODS[sheet.method](
        epsilon=sheet.epsilon,
        delta=sheet.delta,
        bounds=(0.0, 255.0),
        classes=list(range(10)),
        random_state=trial,
        **settings,
    )
    images, labels = made.fit(X, y, charge=unaccounted).sample(DRAWN)
    return images, labels


@lru_cache(maxsize=1)
def _reader(data: Path) -> Any:
    """A logistic regression that knows real digits."""
    X, y, _, _ = _images(data)
    some = np.random.default_rng(0).choice(len(X), min(READER, len(X)), replace=False)
    return LogisticRegression(max_iter=200, C=10.0).fit(_contrast(X[some]), y[some])


def _contrast(images: Matrix) -> Matrix:
    """Shapes without brightness and contrast, which Algorithm 5 does not keep: mean 0, standard deviation 1."""
    centred = images - images.mean(axis=1, keepdims=True)
    spread: Matrix = centred / np.maximum(centred.std(axis=1, keepdims=True), 1e-9)
    return spread


def _legible(data: Path, sheet: Sheet) -> Callable[[int], float]:
    def run(trial: int) -> float:
        images, labels = synthetic(data, sheet, trial)
        return 100 * float(_reader(data).score(_contrast(images), labels))

    return run


def cells(data: Path) -> list[Cell]:
    def real(trial: int) -> float:
        _, _, X, y = _images(data)
        return 100 * float(_reader(data).score(_contrast(X), y))

    found = [Cell("real test images", COLUMN, "none", None, "original", real)]
    return found + [
        Cell(sheet.row, COLUMN, sheet.calibration, None, "original", _legible(data, sheet))
        for sheet in (*NOISELESS, *OURS)
    ]


def sheet_image(images: Matrix, labels: Any) -> Matrix:
    """Digits 0 to 9 in columns, each image stretched to its own lightest and darkest pixel."""
    columns = []
    for digit in range(10):
        mine = images[labels == digit][:SHOWN]
        mine = np.concatenate([mine, np.zeros((SHOWN - len(mine), SIDE * SIDE))])
        low, high = mine.min(axis=1, keepdims=True), mine.max(axis=1, keepdims=True)
        scaled = np.rint((mine - low) / np.maximum(high - low, 1e-9) * GREYS) / GREYS
        columns.append(scaled.reshape(SHOWN * SIDE, SIDE))
    return np.concatenate(columns, axis=1)


def draw(results: Results, folder: Path) -> None:
    """Two rows of four sheets: without noise, and ours."""
    drawn, panels = plot.figure(4, rows=2, width=3.4, height=3.0)
    for axes, sheet in zip(panels, (*NOISELESS, *OURS), strict=True):
        images, labels = synthetic(results.data, sheet, 0)
        axes.imshow(sheet_image(images, labels), cmap="gray_r", interpolation="nearest")
        axes.set_title(sheet.row, fontsize=8)
        axes.set_axis_off()
    plot.save(drawn, folder, dpi=90)


FIGURE3 = Experiment(
    "ron-gauss-figure3",
    "RON-Gauss (Chanyaswad, Liu, Mittal, PoPETs 2019)",
    "synthetic MNIST digits",
    "without noise, digits from half of the 784 dimensions are legible, and below 100 dimensions hardly.",
    1,
    ("mnist/data.parquet",),
    cells,
    (
        "The first four are Algorithm 5 without noise (epsilon infinite, no privacy), lifted back to pixels by W; the "
        "others are ours at the automatic dimension, with a guarantee.",
        "The number is how often a logistic regression that learnt real digits reads a synthetic image as the digit that "
        "it is labelled with, whatever its brightness and contrast.",
    ),
    draw,
)
