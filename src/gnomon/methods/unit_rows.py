"""DPRP's rows of unit length, label included, and what its Algorithm 1 asks of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gnomon.privacy.guarantee import Adjacency, Spendable
from gnomon.privacy.mechanism import Noise, vector_noise
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.projection.gaussian import FINE
from gnomon.statistics.grid import GRID, Integers, Matrix, fine_grid, into_ball, unit_rows
from gnomon.statistics.queries import Query, RowQuery, gram
from gnomon.table.rows import CELL, Rows
from gnomon.table.target import Target

UNIT_GRID = 2.0**24  # integer steps to the length of a normalised row, before it is brought to GRID
RESIDUAL_GRID = 2.0**20  # of the entries of a projection onto what a candidate loses
RESIDUAL = 2.0**24  # integer steps to the length of a residual


@dataclass(frozen=True)
class UnitRows:
    """Rows (features, label) of m + labels columns scaled to unit length, on an integer grid.

    Every squared length is a sum of integers below 2^52, so that a row is the same in every batch.
    """

    m: int
    target: Target

    @property
    def width(self) -> int:
        return self.m + self.target.width

    def of(self, rows: Rows) -> Matrix:
        """Integers of length at most GRID: the whole row, its label included, divided by its length."""
        grid = fine_grid(math.sqrt(self.width))
        X: Matrix = np.zeros((len(rows), self.width))
        X[:, : self.m] = rows.cells * (grid / CELL)
        if self.target.is_number:
            assert rows.target is not None
            X[:, -1] = rows.target * (grid / CELL)
        elif self.target.is_class:
            assert rows.codes is not None
            X[np.arange(len(rows)), self.m + rows.codes] = grid
        return into_ball(unit_rows(np.rint(X, out=X), UNIT_GRID), UNIT_GRID)


@dataclass(frozen=True, eq=False)
class ProjectedUnitRows(RowQuery):
    """One row xR for each record, whose noise is printed for rows that are Z apart."""

    rows: UnitRows
    R: Matrix
    z: float = 1.0
    statistic: str = "one row for each record"

    @property
    def width(self) -> int:  # type: ignore[override]
        return int(self.R.shape[1])

    @property
    def bound(self) -> float:  # type: ignore[override]
        return GRID * (float(np.linalg.norm(self.R, axis=0).max()) + 1.0)

    def of_batch(self, rows: Rows) -> Integers:
        return np.rint(self.rows.of(rows) @ (self.R * FINE) / FINE).astype(np.int64)

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(claimed(GRID * self.z), loss)


@dataclass(frozen=True, eq=False)
class Covariance(Query):
    """The upper triangle of X'X, whose noise is printed for Z^2."""

    rows: UnitRows
    z: float = 1.0
    statistic: str = "covariance of the rows, as printed"

    def zero(self) -> Integers:
        return np.zeros((self.rows.width, self.rows.width), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        return gram(self.rows.of(rows))

    def finish(self, total: Integers) -> Integers:
        return total[np.triu_indices(self.rows.width)]

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(claimed(GRID**2 * self.z**2), loss)


@dataclass(frozen=True, eq=False)
class Residuals(Query):
    """Minus what each candidate R loses of the rows, -sum_i ||x_i - x_i R R^+||^2, in steps of 1/GRID.

    Each number changes by at most GRID when a unit row is replaced: its share of every sum lies in [0, GRID].
    """

    rows: UnitRows
    lost: tuple[Integers, ...]  # I - R R^+ on the grid RESIDUAL_GRID
    statistic: str = "the dimension k1 of the random projection"

    @classmethod
    def of(cls, rows: UnitRows, candidates: list[Matrix]) -> Residuals:
        lost = [np.eye(rows.width) - R @ np.linalg.pinv(R) for R in candidates]
        return cls(rows, tuple(np.rint(L * RESIDUAL_GRID).astype(np.int64) for L in lost))

    def zero(self) -> Integers:
        return np.zeros(len(self.lost), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        Q, found = self.rows.of(rows), self.zero()
        for place, L in enumerate(self.lost):
            Y = np.rint(Q @ L.astype(np.float64) * (RESIDUAL / (GRID * RESIDUAL_GRID)))
            shares = np.minimum(np.einsum("ij,ij->i", Y, Y) / RESIDUAL**2, 1.0)
            found[place] = -np.rint(shares * GRID).sum()
        return found

    def noise(self, loss: Spendable) -> Noise:
        raise NotImplementedError("scores meet noise in NoisyMax alone")


def claimed(unit: float) -> Sensitivity:
    """The sensitivity that the paper takes, in integer steps."""
    return Sensitivity(Norm.L2, fraction(unit), adjacency=Adjacency.REPLACE_ONE)
