"""Counts, sums and tables of a model release: noisy counts where they were measured, else what its rows say.

A measured count has the noise of its measurement and nothing else. What rows of the model say is marked "model estimate,
noise only": its standard error is that of the noise behind it and of the draw, where the noise is known, and does not cover
what the model gets wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.model.shrinkage import onto_simplex
from gnomon.privacy.measure import Measurement
from gnomon.release.analyst.columns import MISSING, Columns
from gnomon.release.analyst.estimates import COUNTED, MODEL, Estimates
from gnomon.release.analyst.linear import Matrix, Quantity, Vector, constrained
from gnomon.statistics.frame import Binning
from gnomon.statistics.queries import CellMoments, Moments
from gnomon.table.encode import Group
from gnomon.table.rows import CELL, Codes, Rows

GRID_DIGITS, SAME = 6, 1e-6  # of a column's width: what the grid of encoded cells surely keeps


@dataclass(frozen=True)
class Counted:
    """Noisy counts of the bins of one attribute."""

    binning: Binning
    counts: Vector
    noise: float  # the standard deviation of one count


@dataclass(frozen=True, eq=False)
class ModelAnswers:
    """What can be asked of a model release: its released rows, and what was measured to make them."""

    data: pa.Table
    columns: Columns
    rows: float
    measurements: Sequence[Measurement]

    @cached_property
    def encoded(self) -> Rows:
        return self.columns.encoder.encode(self.data.combine_chunks())

    @property
    def X(self) -> Matrix:  # noqa: N802 - the field's name for a matrix of rows
        return self.encoded.X

    @property
    def codes(self) -> Codes:
        assert self.encoded.codes is not None
        return self.encoded.codes

    # --- sums ---

    def query(self, quantities: list[Quantity], *, limited: bool) -> Estimates:
        """Sums over as many rows as the table has: of noisy counts where these tell them, else of the model's rows."""
        measured = [self._of_counts(one) for one in quantities]
        if all(one is not None for one in measured):
            found = np.array(measured, dtype=np.float64)
            return Estimates(found[:, 0], found[:, 1], about=COUNTED)
        found = np.array([self._of_rows(one) for one in quantities])
        return Estimates(found[:, 0], found[:, 1], about=MODEL)

    def _of_counts(self, quantity: Quantity) -> tuple[float, float] | None:
        """A sum that follows from noisy counts of values, and its noise; None where it does not."""
        value, variance = quantity.constant * self.rows, 0.0
        for group, weights in self._weighed(quantity):
            counted = list(self._counted(group))
            if not counted or not _exact(counted[-1].binning, group):
                return None
            each = _bin_values(counted[-1].binning, group, weights)
            value += float(each @ counted[-1].counts)
            variance += counted[-1].noise ** 2 * float(each @ each)
        return value, float(np.sqrt(variance))

    def _of_rows(self, quantity: Quantity) -> tuple[float, float]:
        each = quantity.constant + self.X @ quantity.weights
        noise = self._noise(quantity)
        drawn = self.rows * float(each.std()) / np.sqrt(len(each))
        return self.rows * float(each.mean()), np.nan if noise is None else float(np.hypot(noise, drawn))

    def _noise(self, quantity: Quantity) -> float | None:
        """The noise of a sum, by the counts of the columns that it weighs or by the moments of a frame."""
        variance = 0.0
        for group, weights in self._weighed(quantity):
            counted = list(self._counted(group))
            if not counted:
                return self._frame_noise(quantity)
            each = _bin_values(counted[-1].binning, group, weights)
            variance += counted[-1].noise ** 2 * float(each @ each)
        return float(np.sqrt(variance))

    def _weighed(self, quantity: Quantity) -> Iterator[tuple[Group, Vector]]:
        for group in self.columns.encoder.groups:
            if quantity.weights[group.place].any():
                yield group, quantity.weights[group.place]

    def _frame_noise(self, quantity: Quantity) -> float | None:
        """Through the sums of z that a moment matrix with a constant holds: by the frame's own way back to cells."""
        for one in reversed(self.measurements):
            query = _inner(one.query)
            if isinstance(query, Moments) and query.constant:
                frame = query.frame
                back = frame.lift(np.eye(frame.n_components)) - frame.lift(np.zeros((1, frame.n_components)))
                std = one.noise.off_diagonal / (frame.unit * query.constant)
                return float(std * np.sqrt(query.blocks) * np.linalg.norm(back @ quantity.weights))
        return None

    # --- tables ---

    def marginal(self, name: str) -> tuple[list[str], Estimates]:
        """The counts of one column."""
        if self.columns.is_target(name):
            return self.columns.classes(), self.target_table()
        group, column = self.columns._group(name)
        for counted in reversed(list(self._counted(group))):
            labels = _labels(counted.binning, group, column)
            linear = Estimates(counted.counts, np.full(len(counted.counts), counted.noise))
            return labels, self._limited(linear)
        labels, quantities = self.columns.table(name)
        return labels, self.query(quantities, limited=True)

    def target_table(self) -> Estimates:
        """The sizes of the classes: measured with the moments of every class, as a rule."""
        L = self.columns.encoder.target.classes
        counted = [
            (counts.astype(np.float64), one.noise.diagonal * math.sqrt(added))
            for one in self.measurements
            for binning, counts, added in _inner(one.query).margins(one.answer)
            if binning is None and len(counts) == L
        ]
        if counted:
            average, noise = _averaged(counted)
            return self._limited(Estimates(average, np.full(L, noise)))
        for one in reversed(self.measurements):
            query = _inner(one.query)
            if isinstance(query, Moments) and query.constant and query.by_class and query.blocks == L:
                unit = float(query.constant) ** 2
                counts, noise = one.answer[:, -1, -1] / unit, one.noise.diagonal / unit
            elif isinstance(query, CellMoments) and query.classes == L:
                cells = query.split(one.answer)[2].reshape(L, -1)
                counts, noise = (
                    cells.sum(axis=1),
                    one.noise.diagonal / query.constant**2 * np.sqrt(cells.shape[1]),
                )
            else:
                continue
            return self._limited(Estimates(counts, np.full(L, float(noise))))
        shares = np.bincount(self.codes, minlength=L) / len(self.codes)
        return Estimates(self.rows * shares, np.full(L, np.nan), about=MODEL)

    def table(self, first: list[Quantity], second: list[Quantity], *, limited: bool) -> Estimates:
        sides = [np.stack([one.constant + self.X @ one.weights for one in side]) for side in (first, second)]
        return self._modelled(sides[0] @ sides[1].T)

    def table_by_class(self, quantities: list[Quantity], *, limited: bool) -> Estimates:
        side = np.stack([one.constant + self.X @ one.weights for one in quantities])
        return self._modelled(side @ np.eye(self.columns.encoder.target.classes)[self.codes])

    def covariance(self) -> Estimates:
        found = np.cov(self.X.T, bias=True).ravel()
        return Estimates(found, np.full(len(found), np.nan), about=MODEL)

    def _modelled(self, table: Vector) -> Estimates:
        value = (table * (self.rows / len(self.X))).ravel()
        return Estimates(value, np.full(len(value), np.nan), about=MODEL)

    def _limited(self, linear: Estimates) -> Estimates:
        found = constrained(linear, onto_simplex(linear.value, self.rows), 0.0, np.inf)
        return Estimates(found.value, found.standard_error, centre=found.centre, least=0.0, about=COUNTED)

    def _counted(self, group: Group) -> Iterator[Counted]:
        """The measured counts of an attribute, averaged where the same bins were counted more than once."""
        place = tuple(range(group.place.start, group.place.stop - group.indicator))
        found: list[Counted] = []
        for one in self.measurements:
            for binning, counts, added in _inner(one.query).margins(one.answer):
                if binning is not None and binning.columns == place and binning.bins >= 2:
                    noise = one.noise.diagonal * math.sqrt(added)
                    found.append(Counted(binning, counts.astype(np.float64), noise))
        if len(found) > 1 and all(_same(found[0].binning, one.binning) for one in found):
            counts, noise = _averaged([(one.counts, one.noise) for one in found])
            found = [Counted(found[0].binning, counts, noise)]
        yield from found


def _inner(query: Any) -> Any:
    """The query inside of one that only changes how rows are seen."""
    return getattr(query, "query", query)


def _averaged(found: list[tuple[Vector, float]]) -> tuple[Vector, float]:
    """The average of independent noisy counts, each by its noise, and the noise of that."""
    w = np.array([1 / max(noise, 1e-12) ** 2 for _, noise in found])
    return np.average([counts for counts, _ in found], axis=0, weights=w), float(1 / np.sqrt(w.sum()))


def _same(a: Binning, b: Binning) -> bool:
    if a.bins != b.bins or (a.ends is None) != (b.ends is None):
        return False
    return a.ends is None or b.ends is None or bool(np.array_equal(a.ends, b.ends))


def _edges(binning: Binning) -> tuple[Vector, Vector]:
    """The lower and upper ends of the bins of a number, as encoded cells."""
    assert binning.ends is not None
    high = np.minimum(binning.ends, CELL) / CELL
    return np.append(-1.0, high[:-1]), high


def _bin_values(binning: Binning, group: Group, weights: Vector) -> Vector:
    """What a row of each bin adds to a sum, the middle of the bin taken for its cells."""
    inner = weights[: len(binning.columns)]
    if binning.ends is None:
        found = inner
    elif group.kind == "boolean":
        found = inner[0] * np.array([-1.0, 1.0])
    else:
        low, high = _edges(binning)
        found = inner[0] * (low + high) / 2
    return np.append(found, weights[-1]) if binning.indicator is not None else found


def _exact(binning: Binning, group: Group) -> bool:
    """Whether a bin holds one value, so that sums follow from counts."""
    return binning.ends is None or group.kind == "boolean"


def _labels(binning: Binning, group: Group, column: Any) -> list[str]:
    """The values of a category, or the intervals of a number in its own unit."""
    from gnomon.table.column import value_key

    if binning.ends is None:
        found = [value_key(value) for value in column.values]
    elif group.kind == "boolean":
        found = ["false", "true"]
    elif group.kind == "ordered" and binning.bins - (binning.indicator is not None) == len(column.values):
        found = [value_key(value) for value in column.values]
    else:
        width = float(np.ptp(_natural(binning, column)))
        found = [_interval(a, b, width, column) for a, b in zip(*_natural(binning, column), strict=True)]
    return [*found, MISSING] if binning.indicator is not None else found


def _interval(a: float, b: float, width: float, column: Any) -> str:
    """An interval in words, or the one value of an atom, whose bin is a few units of the grid wide."""
    a, b = (float(np.round(end / width, GRID_DIGITS) * width) for end in (a, b))
    if b - a <= 2 * width * 10.0**-GRID_DIGITS:
        return f"{a:.6g}"
    if column.kind == "number" and column.integer:  # atoms at its ends have bins of their own
        a, b = math.ceil(a + SAME), math.floor(b - SAME)
    return f"{a:.6g} to {b:.6g}" if a < b else f"{a:.6g}"


def _natural(binning: Binning, column: Any) -> tuple[Vector, Vector]:
    ends = _edges(binning)
    low, high = (
        float(getattr(bound, "toordinal", lambda b=bound: b)()) for bound in (column.low, column.high)
    )
    if column.log:
        into, back = (np.log1p, np.expm1) if low == 0 else (np.log, np.exp)
        low, high = float(into(low)), float(into(high))
        return tuple(back((high + low) / 2 + (high - low) / 2 * end) for end in ends)  # type: ignore[return-value]
    return tuple((high + low) / 2 + (high - low) / 2 * end for end in ends)  # type: ignore[return-value]
