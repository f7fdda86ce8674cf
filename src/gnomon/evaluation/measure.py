"""A measured number: its trials, their mean and a 95% interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Measure:
    """Values by release and trial.

    Several releases: the interval is a Student 95% confidence interval of the mean over releases, which includes their
    noise. One release: the interval holds 95% of the draws of its rows (mean +- t sd); it says nothing about what another
    draw of the noise would have given.
    """

    values: tuple[tuple[float, ...], ...]

    @property
    def mean(self) -> float:
        return float(np.mean([np.mean(trials) for trials in self.values]))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval; None where there is one value only."""
        repeats = np.array([np.mean(trials) for trials in self.values])
        divide = math.sqrt(len(repeats))
        if len(repeats) == 1:
            repeats, divide = np.array(self.values[0]), 1.0
        if len(repeats) < 2:
            return None
        half = float(stats.t.ppf(0.975, len(repeats) - 1)) * float(np.std(repeats, ddof=1)) / divide
        return self.mean - half, self.mean + half

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"mean": self.mean, "values": [list(trials) for trials in self.values]}
        if self.interval is not None:
            found["interval"] = list(self.interval)
        return found


def gathered(runs: Sequence[Sequence[Any]]) -> Any:
    """Nested dicts of numbers, by release and trial -> the same dicts of measures; a trial may lack some of them."""
    first = runs[0][0]
    if isinstance(first, dict):
        return {
            key: gathered([[trial[key] for trial in release if key in trial] for release in runs])
            for key in first
        }
    return Measure(tuple(tuple(float(value) for value in release) for release in runs))
