"""Released rows beside the noisy counts that they were made from: what the bins of a model cannot resolve.

A model may spread rows evenly over a bin in which they stand in heaps. Counts on another grid show it: they are part of the
release, and the law of their noise is known, so that a difference beyond the noise is one of the table.
"""

from __future__ import annotations

import math

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


def residuals(method: Release, table: pa.Table) -> dict[str, Distance]:
    """For each column that was counted, how far the released rows are from its counts, beyond the noise."""
    rows, places = _with_target(method, method.encoder_.encode(table)), column_places(method)
    n = float(method.n_rows_ or len(rows))
    found: dict[str, Distance] = {}
    for counts in method.counts_:
        for binning, answer in _by_column(counts):
            name, one = places[binning.columns[0]], _residual(binning, answer, counts.noise, rows, n)
            if one is not None and (name not in found or found[name].variation < one.variation):
                found[name] = one
    return found


def _with_target(method: Release, rows: Rows) -> Rows:
    """Rows with a numeric target as their last column, as the counts have them."""
    if rows.target is None:
        return rows
    return Rows(np.column_stack([rows.cells, rows.target]), rows.codes, rows.target)


def _by_column(counts: NoisyCounts) -> list[tuple[Binning, Floats]]:
    ends = np.cumsum([one.bins for one in counts.binnings])[:-1]
    parts = np.split(counts.answer.reshape(-1).astype(np.float64), ends)
    return list(zip(counts.binnings, parts, strict=True))


def _residual(binning: Binning, answer: Floats, noise: float, rows: Rows, n: float) -> Distance | None:
    """Differences summed over the bins that share one of the judged ones, where all together exceed their noise.

    Of G differences d with noise of variance v the sum of squares is expected to be sum(d^2 + v), with a deviation of
    sqrt(2 sum v^2) by noise alone; the sum of |d| is about sqrt(2 G / pi) times the root of the sum of squares.
    """
    if binning.bins - (binning.indicator is not None) < 2:
        return None
    shares = np.bincount(binning.of(rows), minlength=binning.bins) / len(rows)
    group, middle = _judged_bins(binning)
    size = np.bincount(group, minlength=BINS + 1)
    on = size > 0
    difference = np.bincount(group, answer - n * shares, minlength=BINS + 1)[on]
    drawn = n**2 * np.bincount(group, shares, minlength=BINS + 1)[on] / len(rows)  # rows of a model are drawn
    variance = noise**2 * size[on] + drawn
    squares = float((difference**2 - variance).sum())
    if squares <= CLEAR * math.sqrt(2 * float((variance**2).sum())):
        return Distance(0.0, 0.0, 0.0)
    variation = math.sqrt(2 / math.pi * on.sum() * squares) / (2 * n)
    if binning.ends is None:
        return Distance(variation)
    places = (np.bincount(group, middle, minlength=BINS + 1) / np.maximum(size, 1))[on]
    shift = max(abs(float(difference @ places)) - CLEAR * math.sqrt(float(variance @ places**2)), 0.0) / n
    deviation = float((rows.cells[:, binning.columns[0]] / CELL).std())
    return Distance(variation, shift / max(deviation, CONSTANT * WIDTH), 0.0)


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
