"""Released rows beside the noisy counts that they were made from: what the bins of a model cannot resolve.

A model may spread rows evenly over a bin in which they stand in heaps. Counts on another grid show it: they are part of the
release, and the law of their noise is known, so that a difference beyond the noise is one of the table.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.methods.base import Release
from gnomon.privacy.measure import NoisyCounts
from gnomon.statistics.frame import Binning
from gnomon.table.rows import CELL, Rows
from gnomon.verdict.compare import BINS, CONSTANT, WIDTH, Distance
from gnomon.verdict.simulate import column_places

Floats = npt.NDArray[np.float64]
CLEAR = 3.0  # deviations of their noise beyond which differences count


@dataclass(frozen=True)
class Differences:
    """Noisy counts less those that the released rows would have, over the bins that are judged, and their variances.

    middles    of the bins, in encoded cells; None for values without an order
    rows       of the table; `deviation` is that of the released cells
    """

    difference: Floats
    variance: Floats
    middles: Floats | None
    rows: float
    deviation: float

    def distance(self) -> Distance:
        """How far the released rows are from the table, as far as all differences together exceed their noise.

        Of G differences d, with noise of variance v, the sum of squares exceeds that of the noise by the squares of what
        is behind it, with a deviation of sqrt(2 sum v^2) by noise alone. The sum of |d| is about sqrt(2 G / pi) times the
        root of these squares.
        """
        squares = self.difference**2 - self.variance
        together = float(squares.sum())
        if together <= CLEAR * math.sqrt(2 * float((self.variance**2).sum())):
            return Distance(0.0, 0.0, 0.0)
        variation = math.sqrt(2 / math.pi * len(squares) * together) / (2 * self.rows)
        if self.middles is None:
            return Distance(variation)
        noise = math.sqrt(float(self.variance @ self.middles**2))
        shift = max(abs(float(self.difference @ self.middles)) - CLEAR * noise, 0.0) / self.rows
        return Distance(variation, shift / max(self.deviation, CONSTANT * WIDTH), 0.0)


def differences(method: Release, table: pa.Table) -> dict[str, list[Differences]]:
    """For each column that was counted, its counts beside the released rows, one for each time that it was counted."""
    rows, places = _with_target(method, method.encoder_.encode(table)), column_places(method)
    n = float(method.n_rows_ or len(rows))
    found: dict[str, list[Differences]] = defaultdict(list)
    for counts in method.counts_:
        for binning, answer in _by_column(counts):
            if binning.bins - (binning.indicator is not None) > 1:
                found[places[binning.columns[0]]].append(_differences(binning, answer, counts.noise, rows, n))
    return dict(found)


def worst(counted: list[Differences]) -> Distance:
    """The largest distance that any of the counts of a column shows."""
    return max((one.distance() for one in counted), key=lambda distance: distance.variation)


def _with_target(method: Release, rows: Rows) -> Rows:
    """Rows with a numeric target as their last column, as the counts have them."""
    if rows.target is None:
        return rows
    return Rows(np.column_stack([rows.cells, rows.target]), rows.codes, rows.target)


def _by_column(counts: NoisyCounts) -> list[tuple[Binning, Floats]]:
    ends = np.cumsum([one.bins for one in counts.binnings])[:-1]
    parts = np.split(counts.answer.reshape(-1).astype(np.float64), ends)
    return list(zip(counts.binnings, parts, strict=True))


def _differences(binning: Binning, answer: Floats, noise: float, rows: Rows, n: float) -> Differences:
    """Differences summed over the bins that share one of the judged ones."""
    shares = np.bincount(binning.of(rows), minlength=binning.bins) / len(rows)
    group, middle = _judged_bins(binning)
    size = np.bincount(group, minlength=BINS + 1)
    on = size > 0
    difference: Floats = np.bincount(group, answer - n * shares, minlength=BINS + 1)[on].astype(np.float64)
    drawn = n**2 * np.bincount(group, shares, minlength=BINS + 1)[on] / len(rows)  # rows of a model are drawn
    variance = noise**2 * size[on] + drawn
    middles = None
    if binning.ends is not None:
        middles = (np.bincount(group, middle, minlength=BINS + 1) / np.maximum(size, 1))[on]
    return Differences(
        difference, variance, middles, n, float((rows.cells[:, binning.columns[0]] / CELL).std())
    )


def _judged_bins(binning: Binning) -> tuple[npt.NDArray[np.int64], Floats]:
    """For each counted bin, which of the judged ones its middle lies in, and that middle; missing cells are the last."""
    present = binning.bins - (binning.indicator is not None)
    if binning.ends is None:  # values of a category, at most so many of them apart
        group, middle = np.arange(present) % BINS, np.zeros(present)
    else:
        ends = np.clip(binning.ends / CELL, -1.0, 1.0)
        middle = (ends + np.append(-1.0, ends[:-1])) / 2
        group = np.clip(((middle + 1) / 2 * BINS).astype(np.int64), 0, BINS - 1)
    if binning.indicator is not None:
        group, middle = np.append(group, BINS), np.append(middle, 0.0)
    return group, middle
