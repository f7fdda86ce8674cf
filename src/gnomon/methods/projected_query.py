"""The integer row of a record behind a public projection, and how far one record moves it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from gnomon.privacy.guarantee import Spendable, Unit
from gnomon.privacy.mechanism import Noise, vector_noise
from gnomon.privacy.rounding import fraction, root_up
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.projection.gaussian import FINE
from gnomon.statistics.grid import Integers, Matrix, fine_grid
from gnomon.statistics.queries import RowQuery
from gnomon.table.rows import CELL, Rows


@dataclass(frozen=True)
class Label:
    """The target beside a projected row: how many coordinates, and how many grid steps one of them counts."""

    width: int
    steps: int

    def integers(self, rows: Rows) -> Integers:
        found = np.zeros((len(rows), self.width), dtype=np.int64)
        if self.width == 1:
            assert rows.target is not None
            found[:, 0] = np.rint(rows.target * (self.steps / CELL))
        elif self.width:
            assert rows.codes is not None
            found[np.arange(len(found)), rows.codes] = self.steps
        return found


@dataclass(frozen=True, eq=False)
class View:
    """Encoded rows, clipped to a ball where one is declared, through a public matrix R of multiples of 1/FINE.

    Claim. A row is the same in every batch, and no row is longer than `longest` before the projection.
    Proof. Cells are rounded to the grid 1/`scale`. Where rows are clipped, that grid gives exact squared lengths
    (`fine_grid`), so that the factor of a row follows from the row alone. Every partial sum of the products with R is an
    integer below 2^53: BLAS adds them without error in any order. Clipping in doubles and rounding to the grid lengthen a
    row by at most a factor 1 + 2^-40 and sqrt(m) / (2 scale).
    """

    R: Matrix
    radius: float
    clip: bool = False

    @cached_property
    def scale(self) -> float:
        """The grid scale of rows: a power of two such that their products with R sum to integers below 2^52."""
        exact = 2.0 ** min(26, math.floor(52 - math.log2(FINE * (self.radius + 1) * self.column_norm)))
        return min(exact, fine_grid(math.sqrt(len(self.R)))) if self.clip else exact

    @cached_property
    def column_norm(self) -> float:
        """No column of R is as long as this."""
        return float(np.linalg.norm(self.R, axis=0).max()) + 1.0

    @property
    def longest(self) -> Fraction:
        """The length of the longest row, rounding included."""
        rounding = (math.isqrt(len(self.R)) + 1) / (2 * fraction(self.scale))
        return fraction(self.radius) * (1 + Fraction(1, 2**40)) + rounding

    def of(self, rows: Rows, grid: float) -> Matrix:
        """Projected rows (k, n) on the grid 1/`grid`; columns stay together."""
        Z: Matrix = np.multiply(rows.cells, self.scale / CELL, order="F")
        np.rint(Z, out=Z)
        if self.clip:
            lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
            Z *= np.minimum(1.0, self.scale * self.radius / np.maximum(lengths, 1.0))[:, None]
            np.rint(Z, out=Z)
        Y: Matrix = (self.R * FINE).T @ Z.T
        Y *= grid / (self.scale * FINE)
        return np.rint(Y, out=Y)


@dataclass(frozen=True, eq=False)
class ProjectedQuery(RowQuery):
    """One integer row (xR, label) on the grid 1/`grid` for each record; `change` is what its noise is made for."""

    statistic: str
    view: View
    grid: float
    label: Label
    change: Sensitivity

    @property
    def width(self) -> int:  # type: ignore[override]
        return int(self.view.R.shape[1]) + self.label.width

    @property
    def bound(self) -> float:  # type: ignore[override]
        return 1.01 * (self.view.radius * self.view.column_norm * self.grid + self.label.steps)

    def of_batch(self, rows: Rows) -> Integers:
        Y = self.view.of(rows, self.grid)
        found = np.empty((self.width, len(rows)), dtype=np.int64)
        np.copyto(found[: len(Y)], Y, casting="unsafe")
        if self.label.width:
            found[len(Y) :] = self.label.integers(rows).T
        return found.T

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(self.change, loss)


def with_label(features: Sensitivity, label: Label, grid: float) -> Sensitivity:
    """The sensitivity of a projected row with its label beside it, the label scaled by t = steps / grid.

    Claim. The label moves by at most 2t in L1, and by sqrt(2) t (one-hot) or 2t (one number in [-t, t]) in L2. A whole
    row: L1 adds, L2 adds in squares, since features and label are separate coordinates. One attribute: the larger of
    the two, since it is either a feature or the label. Worst pair: the worst pair of the features, with two labels.
    """
    if label.width == 0:
        return features
    t = Fraction(label.steps) / fraction(grid)
    moved = 2 * t if features.norm is Norm.L1 or label.width == 1 else root_up(2 * t * t)
    if features.unit is Unit.ATTRIBUTE:
        value = max(features.value, moved)
    elif features.norm is Norm.L1:
        value = features.value + moved
    else:
        value = root_up(features.value**2 + moved**2)
    return replace(features, value=value)
