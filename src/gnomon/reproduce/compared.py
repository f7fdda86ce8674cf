"""One release of a task's rows and what it is worth: the cells that RON-Gauss and PCA-Gauss have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.engine.base import Kept
from gnomon.engine.local import LocalEngine
from gnomon.methods import DEFAULT, METHODS
from gnomon.methods.charging import unaccounted
from gnomon.methods.row_release import RowRelease
from gnomon.reproduce.experiment import Best, Calibration, Cell, Data
from gnomon.reproduce.tasks import LIMITS, Split, Task

Settings = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """A line of a table: a method at one setting, or at several of which papers report the best.

    sweep: label -> parameters; one empty setting means no sweep.   public: give the split's public rows.
    delta: the delta of the guarantee, or None for 1/n.   metrics: those of the task, unless fewer are wanted.
    """

    row: str
    name: str
    calibrations: tuple[Calibration, ...] = ("sound",)
    printed: float | None = None
    sweep: Mapping[str, Settings] = field(default_factory=lambda: {"": {}})
    delta: float | None = 0.0
    public: bool = False
    metrics: tuple[str, ...] | None = None

    @property
    def swept(self) -> bool:
        return list(self.sweep) != [""]


def dimensions(*values: int, **more: Any) -> dict[str, Settings]:
    """A sweep over the dimension."""
    return {f"p = {value}": {"n_components": value, **more} for value in values}


class EncodedOnce(LocalEngine):
    """The engine of one split, whose rows all fits of a trial have in common: each encoding of them is made once."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Kept]] = []

    def encode(self, source: Any, encoder: Any, **options: Any) -> Kept:
        schema = getattr(encoder, "schema", None)
        for known, kept in self._kept:
            if schema is not None and known == schema:
                return kept
        kept = super().encode(source, encoder, **options)
        self._kept.append((schema, kept))
        return kept


@lru_cache(maxsize=1)
def _engine(split: Callable[[Path, int], Split], data: Path, trial: int) -> EncodedOnce:
    return EncodedOnce()


def worth(
    task: Task,
    split: Split,
    method: Method,
    settings: Settings,
    calibration: str,
    epsilon: float,
    trial: int,
    engine: EncodedOnce | None = None,
) -> dict[str, float]:
    """Release the split's rows once and score what a model trained on the release does on real rows."""
    told = dict(split.told)
    if method.public:
        told["public"] = split.X_public if method.name == "pca-gauss" else (split.X_public, split.y_public)
        if split.y_public is None:
            told["public"] = split.X_public
    delta = 1 / len(split.X) if method.delta is None else method.delta
    made: Any = METHODS[method.name](
        epsilon=epsilon, delta=delta, calibration=calibration, random_state=trial, **told, **settings
    )
    fitted = made.fit(split.X, split.y, charge=unaccounted, engine=engine)
    rows = None if isinstance(fitted, RowRelease) else min(LIMITS.train, len(split.X))
    drawn = fitted.sample(rows)
    X, y = drawn if isinstance(drawn, tuple) else (drawn, None)
    if fitted.public_map().components_only and not isinstance(fitted, RowRelease):
        return task.score(X, y, split, None, trial)  # Algorithm 1 of PCA-Gauss keeps its projection to itself
    # the papers' models meet real rows in the release's space; released columns of ours meet them as they are
    seen = split.X_test if method.name == DEFAULT else np.asarray(fitted.transform(split.X_test))
    return task.score(X, y, split, seen, trial)


def method_cells(
    task: Task, data: Path, methods: list[Method], *, epsilon: float = 1.0, label: str = ""
) -> list[Cell]:
    """A cell for each method, calibration and metric; the metrics of one trial come from the same releases."""
    found = []
    for method in methods:
        for calibration in method.calibrations:
            numbers = _sweep(task, data, method, calibration, epsilon)
            for metric in method.metrics or task.metrics:
                found.append(
                    Cell(
                        method.row,
                        metric + label,
                        calibration,
                        method.printed if metric == task.metrics[0] and not label else None,
                        task.data,
                        _one(numbers, metric, method.swept),
                        task.best if method.swept else None,
                    )
                )
    return found


def _sweep(
    task: Task, data: Path, method: Method, calibration: str, epsilon: float
) -> Callable[[int], dict[str, dict[str, float]]]:
    @lru_cache(maxsize=1)
    def numbers(trial: int) -> dict[str, dict[str, float]]:
        split, engine = task.split(data, trial), _engine(task.split, data, trial)
        return {
            name: worth(task, split, method, settings, calibration, epsilon, trial, engine)
            for name, settings in method.sweep.items()
        }

    return numbers


def _one(
    numbers: Callable[[int], dict[str, dict[str, float]]], metric: str, swept: bool
) -> Callable[[int], float | dict[str, float]]:
    def run(trial: int) -> float | dict[str, float]:
        found = {name: values[metric] for name, values in numbers(trial).items() if metric in values}
        return found if swept else found[""]

    return run


def real_cells(task: Task, data: Path, printed: float | None, label: str = "") -> list[Cell]:
    """Models of the real rows, on as many of them as of a release."""

    def run(metric: str) -> Callable[[int], float]:
        def value(trial: int) -> float:
            split = task.split(data, trial)
            return task.score(split.X, split.y, split, split.X_test, trial)[metric]

        return value

    return [
        _plain(
            "real data",
            metric + label,
            printed if metric == task.metrics[0] and not label else None,
            task.data,
            run(metric),
        )
        for metric in task.metrics
    ]


def floor_cells(task: Task, data: Path, row: str, label: str = "") -> list[Cell]:
    """What a model reaches that reads no features."""
    (metric,) = task.metrics
    return [
        _plain(
            row,
            metric + label,
            None,
            task.data,
            lambda trial: task.floor(task.split(data, trial))[metric],
        )
    ]


def guess_cells(task: Task, data: Path, printed: float) -> list[Cell]:
    """Targets guessed evenly from [-1, 1]."""

    def run(trial: int) -> float:
        truth = np.asarray(task.split(data, trial).y_test)
        guess = np.random.default_rng([12, trial]).uniform(-1, 1, len(truth))
        return float(np.sqrt(np.mean((guess - truth) ** 2)))

    return [_plain("random guess", task.metrics[0], printed, task.data, run)]


def public_cells(task: Task, data: Path, printed: float | None, label: str = "") -> list[Cell]:
    """A model of the public rows alone."""
    (metric,) = task.metrics

    def run(trial: int) -> float:
        split = task.split(data, trial)
        return task.score(split.X_public, split.y_public, split, split.X_test, trial)[metric]

    return [_plain("public sample alone", metric + label, printed, task.data, run)]


def _plain(
    row: str,
    column: str,
    printed: float | None,
    data: Data,
    run: Callable[[int], Any],
    best: Best | None = None,
) -> Cell:
    return Cell(row, column, "none", printed, data, run, best)


def spherical_cells(task: Task, data: Path, dims: tuple[int, ...]) -> list[Cell]:
    """Standard normal rows that no table was read for: what the silhouette alone says of them."""

    def run(trial: int) -> dict[str, float]:
        rng = np.random.default_rng([11, trial])
        split = task.split(data, trial)
        return {
            f"p = {p}": task.score(rng.standard_normal((LIMITS.train, p)), None, split, None, trial)[
                "silhouette"
            ]
            for p in dims
        }

    return [_plain("standard normal rows, no data read", "silhouette", None, "generated", run, task.best)]


def gaussian_cells(task: Task, data: Path) -> list[Cell]:
    """Rows of one Gaussian for each class, by its exact moments: what such a model reaches at best, whatever the noise."""

    def run(of: Callable[[Any], Any]) -> Callable[[int], float]:
        def value(trial: int) -> float:
            split, rng = task.split(data, trial), np.random.default_rng([13, trial])
            seen = split.X.mean(axis=0)
            X, y = of(split.X - seen), np.asarray(split.y)
            labels = rng.choice(y, LIMITS.train)
            drawn = np.empty((len(labels), X.shape[1]))
            for c in np.unique(labels):
                mine = X[y == c]
                drawn[labels == c] = rng.multivariate_normal(
                    mine.mean(axis=0), np.cov(mine.T), int(np.sum(labels == c)), method="eigh"
                )
            return task.score(drawn, labels, split, of(split.X_test - seen), trial)[task.metrics[0]]

        return value

    def unit(X: Any) -> Any:
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    return [
        _plain("a Gaussian for each class, no noise", task.metrics[0], None, task.data, run(lambda X: X)),
        _plain("the same of rows of unit length, no noise", task.metrics[0], None, task.data, run(unit)),
    ]
