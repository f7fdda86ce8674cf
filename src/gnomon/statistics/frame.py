"""A public view of encoded rows: score maps, an affine map, and the ball that rows are clipped to, in integers.

Everything in a frame is public (declared, drawn, or paid for), so anybody may apply it to rows of their own.

Claim. For every encoded row, whatever it holds, `Frame.integers` gives whole numbers q with sum q^2 <= GRID^2, and they
depend on that row alone: not on its place, its batch, or the rows beside it.
Proof. Cells are integers. A score map is integer arithmetic. The row is then scaled and rounded cell by cell; its
product with the projection, whose entries are multiples of 1/FINE, has partial sums below 2^53 by Cauchy and Schwarz
(`_rows` keeps |Z| below 2^26 and a column of W is at most 1 long), so that BLAS adds integers without error in any
order. What follows is done row by row in doubles, and `grid.into_ball` checks the result in exact integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gnomon.statistics.grid import (
    GRID,
    Integers,
    Matrix,
    ball_shrink,
    fine_grid,
    into_ball,
    shorten,
    unit_rows,
)
from gnomon.table.rows import CELL, Cells, Codes, Rows

Vector = npt.NDArray[np.float64]
FINE = 2.0**22  # entries of a projection are rounded to multiples of 1/FINE
SCORE = 2**24  # integer steps to a unit of a score
NEAREST = 2.0**22  # the longest row on the grid that rows are assigned to cells on
CACHE = 2**18  # cells of a block of rows that stays in a processor's cache


BUCKETS = 2**11  # equal parts of the cells' range in which the search for a bin starts
STARTS = (np.arange(BUCKETS + 1) - BUCKETS // 2) * (2 * CELL // BUCKETS)


def bin_of(ends: Integers, cells: Cells) -> Codes:
    """The place of the first upper end that is not below a cell; the last bin has no end that counts."""
    inner = ends[:-1]
    if len(cells) < BUCKETS:
        return np.asarray(np.searchsorted(inner, cells, side="left"))
    # Most cells lie in the first bin of their bucket; the others are searched one by one.
    found: Codes = np.searchsorted(inner, STARTS, side="left")[cells // (2 * CELL // BUCKETS) + BUCKETS // 2]
    late = np.flatnonzero(np.append(inner, np.iinfo(np.int64).max)[found] < cells)
    found[late] = np.searchsorted(inner, cells[late], side="left")
    return found


@dataclass(frozen=True, eq=False)
class Binning:
    """Which bin of one attribute a row falls into: exactly one, whatever the row holds.

    columns    the encoded columns of the attribute, without its indicator;
    ends       ascending upper ends of the bins of a number on the grid CELL (an atom v has the ends v - 1 and v), or
               None for a category, whose bin is the column that is set;
    indicator  the encoded column that marks a missing cell, which has the last bin, or None.
    """

    columns: tuple[int, ...]
    ends: Integers | None = None
    indicator: int | None = None

    @property
    def bins(self) -> int:
        present = len(self.columns) if self.ends is None else len(self.ends)
        return present + (self.indicator is not None)

    def of(self, rows: Rows) -> Codes:
        if self.ends is not None:
            found = bin_of(self.ends, rows.cells[:, self.columns[0]])
        else:
            found = np.zeros(len(rows), dtype=np.int64)
            for place, column in enumerate(self.columns):
                found[rows.cells[:, column] > 0] = place
        if self.indicator is not None:
            found[rows.cells[:, self.indicator] > 0] = self.bins - 1
        return found


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """A monotone map of one column as a table of integers: within a bin the score runs evenly from `low` to `high`.

    ends (B,)       ascending upper ends of the bins on the grid CELL, the last at least CELL;
    low, high (B,)  scores of the first and the last cell of a bin, on the grid SCORE.
    """

    ends: Integers
    low: Integers
    high: Integers

    def of(self, cells: Cells) -> Integers:
        place = bin_of(self.ends, cells)
        first = np.append(-CELL, self.ends[:-1] + 1)
        steps = np.maximum(np.minimum(self.ends, CELL) - first, 1)
        along = cells.astype(np.int64) - first[place]
        found: Integers = self.low[place] + along * (self.high - self.low)[place] // steps[place]
        return found

    @property
    def largest(self) -> float:
        """No score is larger in size."""
        return float(max(np.abs(self.low).max(), np.abs(self.high).max())) / SCORE


@dataclass(frozen=True, eq=False)
class Frame:
    """z(x) = clip((W' rows((s(x) - centre) * weight) - offset_k) / radius_k) in the unit ball, for a row of block k.

    centre, weight (m,)   scores are moved and scaled first;
    normalise             whether each row is then scaled to length 1 (RON-Gauss) or keeps its length;
    mean (m,)             taken from normalised rows, which are then normalised again (RON-Gauss as printed);
    row_norm              longer rows are shortened to this length before the projection;
    projection (m, p)     W with orthonormal columns, or None for the identity;
    offset (K, p), radius (K,)   the ball of each block in the projected space;
    classes               blocks are `classes` times as many cells, a row's class first; 0 where classes share blocks;
    scores                a map for every column, None where it is the identity; empty where all are;
    missing               pairs of a column and its indicator: a cell that is marked stands at the centre;
    length                the length that `lift` gives back to rows that were normalised.
    """

    centre: Vector
    weight: Vector
    offset: Matrix
    radius: Vector
    projection: Matrix | None = None
    normalise: bool = False
    mean: Vector | None = None
    row_norm: float = math.inf
    classes: int = 0
    scores: tuple[ScoreMap | None, ...] = field(default=(), repr=False)
    missing: tuple[tuple[int, int], ...] = ()
    length: float = 1.0

    @classmethod
    def identity(cls, m: int, *, radius: float, normalise: bool = False) -> Frame:
        return cls(np.zeros(m), np.ones(m), np.zeros((1, m)), np.array([radius]), normalise=normalise)

    @property
    def n_features(self) -> int:
        return len(self.centre)

    @property
    def n_components(self) -> int:
        return int(self.offset.shape[1])

    @property
    def blocks(self) -> int:
        return len(self.radius)

    @property
    def unit(self) -> float:
        """Integers per unit of the ball."""
        return GRID * ball_shrink(self.n_components)

    def project(self, W: Matrix, *, radius: float) -> Frame:
        """The same rows seen through W, in a ball of another radius around the origin."""
        return replace(self, projection=W, offset=np.zeros((1, W.shape[1])), radius=np.array([radius]))

    def zoom(self, offset: npt.ArrayLike, radius: npt.ArrayLike, *, classes: int = 0) -> Frame:
        """The same projection, in balls of other centres (in projected units) and radii: one, or one for each block."""
        return replace(
            self,
            offset=np.atleast_2d(np.asarray(offset, dtype=np.float64)),
            radius=np.atleast_1d(np.asarray(radius, dtype=np.float64)),
            classes=classes,
        )

    # --- from rows to integers ---

    def integers(self, rows: Rows, beside: int = 0) -> tuple[Matrix, Codes | None]:
        """Integer rows (n, p + beside) in the ball of radius GRID, room for `beside` coordinates, and their blocks."""
        p = self.n_components
        Q: Matrix = np.empty((p + beside, len(rows))).T
        blocks = np.zeros(len(rows), dtype=np.int64) if self.blocks > 1 else None
        step = max(256, CACHE // max(1, self.n_features))
        for start in range(0, len(rows), step):
            some = slice(start, start + step)
            Y, grid, block = self._projected(rows, some)
            into_ball(Y, grid, out=Q[some, :p])
            if blocks is not None and block is not None:
                blocks[some] = block
        return Q, blocks

    def squared_lengths(self, rows: Rows) -> tuple[Vector, float, Codes | None]:
        """Exact squared lengths of rows before they are clipped, the square of the radius, and their blocks."""
        Y, grid, block = self._projected(rows, slice(None))
        return np.einsum("ij,ij->i", Y, Y), grid * grid, block

    def components(self, rows: Rows) -> Matrix:
        """Rows -> components (n, p) in units of the ball, not clipped."""
        Y, grid, _ = self._projected(rows, slice(None))
        return Y / grid

    def _projected(self, rows: Rows, some: slice) -> tuple[Matrix, float, Codes | None]:
        """Integer components in units of the ball on a fine grid, that grid, and the blocks of the rows."""
        longest = 1.001 if self.normalise else 1.001 * self._longest
        grid = fine_grid(float(((longest + np.linalg.norm(self.offset, axis=1)) / self.radius).max()))
        X = self._scored(rows, some)
        plain = self.projection is None and not self.normalise and math.isinf(self.row_norm)
        if plain and self.blocks == 1:
            radius = float(self.radius[0])
            Y = X * (self.weight * (grid / radius))
            shift = self.offset[0] + self.weight * self.centre
            if shift.any():
                Y -= shift * (grid / radius)
            return np.rint(Y, out=Y), grid, None
        Y, fine = self._rows(X)
        if self.projection is not None:
            Y = Y @ np.rint(self.projection * FINE)
            fine *= FINE
        block = self._block(Y, fine, None if rows.codes is None else rows.codes[some])
        if block is None:
            radius, offset = float(self.radius[0]), self.offset[0]
            Y *= grid / (fine * radius)
            if offset.any():
                Y -= offset * (grid / radius)
        else:
            radii = self.radius[block][:, None]
            Y *= grid / (fine * radii)
            Y -= self.offset[block] * (grid / radii)
        return np.rint(Y, out=Y), grid, block

    def _scored(self, rows: Rows, some: slice) -> Matrix:
        X: Matrix = rows.cells[some].astype(np.float64)
        X *= 1.0 / CELL
        for column, score in enumerate(self.scores):
            if score is not None:
                X[:, column] = score.of(rows.cells[some, column])
                X[:, column] *= 1.0 / SCORE
        for column, indicator in self.missing:
            X[rows.cells[some, indicator] > 0, column] = self.centre[column]
        return X

    def _rows(self, X: Matrix) -> tuple[Matrix, float]:
        """Integer rows before the projection, and the grid that they are on."""
        fine = fine_grid(max(1.0, self._longest))
        Z = (X - self.centre) * (self.weight * fine)
        np.rint(Z, out=Z)
        if self.normalise:
            unit_rows(Z, fine)
        if self.mean is not None:
            Z -= np.rint(self.mean * fine)
            unit_rows(Z, fine)
        if math.isfinite(self.row_norm):
            shorten(Z, self.row_norm * fine)
        return Z, fine

    @property
    def _longest(self) -> float:
        """No row of scores is longer than this once it is moved and scaled."""
        largest = np.array([1.0 if score is None else score.largest for score in self.scores] or 1.0)
        return float(np.linalg.norm(self.weight * (largest + np.abs(self.centre))))

    def _block(self, Y: Matrix, fine: float, codes: Codes | None) -> Codes | None:
        """The class of a row and, where a class has several cells, the nearest of their centres, in integers."""
        if self.blocks == 1:
            return None
        groups = max(self.classes, 1)
        of_class = np.zeros(len(Y), dtype=np.int64) if self.classes == 0 or codes is None else codes
        cells = self.blocks // groups
        if cells == 1:
            return of_class
        scale = NEAREST / max(1.0, self._longest + float(np.linalg.norm(self.offset, axis=1).max()))
        rows, centres = np.rint(Y * (scale / fine)), np.rint(self.offset * scale).reshape(groups, cells, -1)
        found = of_class * cells
        for group in range(groups):
            mine = of_class == group
            far = (centres[group] ** 2).sum(axis=1) - 2 * (rows[mine] @ centres[group].T)
            found[mine] += np.argmin(far, axis=1)
        return found

    # --- and back ---

    def lift(self, C: Matrix) -> Matrix:
        """Components of the first block -> cells (before score maps): the smallest row that the frame sends to them."""
        Y = C * self.radius[0] + self.offset[0]
        X = Y if self.projection is None else Y @ self.projection.T
        if self.mean is not None:
            X = X + self.mean
        if self.normalise:
            X = X * self.length
        found: Matrix = X / self.weight + self.centre
        return found


def projected_length(p: int, m: int, tail: float = 2.0) -> float:
    """The length below which nearly every Haar projection of a unit row to p of m dimensions stays.

    The squared length is Beta(p/2, (m-p)/2): mean p/m, variance 2 p (m-p) / (m^2 (m+2)). Public numbers only.
    """
    mean = p / m
    spread = math.sqrt(2 * p * (m - p) / (m * m * (m + 2)))
    return min(1.0, math.sqrt(mean + tail * spread))
