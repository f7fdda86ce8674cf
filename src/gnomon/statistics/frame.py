"""A public view of encoded rows: score maps, an affine map, and the ball that rows are clipped to, in integers.

Everything in a frame is public (declared, drawn, or paid for), so anybody may apply it to rows of their own.

Claim. For every encoded row, whatever it holds, `Frame.integers` gives whole numbers q with sum q^2 <= GRID^2, and they
depend on that row alone: not on its place, its batch, or the rows beside it.
Proof. Cells are integers. Scores are looked up in tables of integers, without a rounding (`ScoreTables`). The row is
then scaled and rounded cell by cell; its product with the projection, whose entries are multiples of 1/FINE, has partial
sums below 2^53 by Cauchy and Schwarz (`_rows` keeps |Z| below 2^26 and a column of W is at most 1 long), so that BLAS
adds integers without error in any order. What follows is done row by row in doubles, and `grid.into_ball` checks the
result in exact integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

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
from gnomon.table.rows import BATCH, CELL, Cells, Codes, Rows

Vector = npt.NDArray[np.float64]
FINE = 2.0**22  # entries of a projection are rounded to multiples of 1/FINE
SCORE = 2**24  # integer steps to a unit of a score
NEAREST = 2.0**22  # the longest row on the grid that rows are assigned to cells on
CACHE = 2**18  # cells of a block that stays in a processor's cache
SCORED = 2**21  # cells that are looked up at once
BUCKETS = 2**20  # of all columns together, in which the search for bins starts
BEYOND = 2**31 - 1  # no cell is as large
STEPS = 2  # from bin to bin, before a cell is searched for: few buckets hold more than two ends


def bin_of(ends: Integers, cells: Cells) -> Codes:
    """The place of the first upper end that is not below a cell; the last bin has no end that counts."""
    return np.asarray(np.searchsorted(ends[:-1], cells, side="left"))


def tiles(columns: int, rows: int) -> Iterator[tuple[slice, slice]]:
    """A few columns of many rows at a time, so that what is looked up for them stays in a processor's cache, too."""
    for start in range(0, rows, BATCH):
        wide = max(1, CACHE // min(BATCH, rows - start))
        for first in range(0, columns, wide):
            yield slice(first, min(first + wide, columns)), slice(start, start + BATCH)


class BinTables:
    """The bins of several columns side by side, numbered through, and a table that spares most cells the search.

    The range of cells is cut into buckets of 2^shift cells. A bucket is `covered` where all its cells fall into the bin
    `first` of its first cell.
    """

    def __init__(self, ends: Sequence[Integers]) -> None:
        columns = np.arange(len(ends))[:, None]
        self._keys = np.concatenate([np.append(one[:-1], BEYOND) + (j << 32) for j, one in enumerate(ends)])
        bits = min(12, max(6, (BUCKETS // len(ends)).bit_length() - 1))
        self.shift, buckets = 31 - bits, 2**bits + 1  # the last bucket holds the cell CELL alone
        self.starts = (np.arange(buckets) - buckets // 2) << self.shift
        self._offset = buckets * columns + buckets // 2
        self.first = self._search(columns, self.starts)
        self.covered = self.first == self._search(columns, self.starts + (1 << self.shift) - 1)
        self._bins = np.where(self.covered, self.first, -1)

    def _search(self, columns: Integers, cells: Integers) -> Codes:
        return np.asarray(np.searchsorted(self._keys, (columns << 32) + cells))

    def buckets(self, cells: Cells, column: int = 0) -> Codes:
        """The places (k, n) of the cells of k columns, from `column` on, in a table of columns by buckets."""
        found = np.right_shift(cells, self.shift, out=np.empty(cells.shape, dtype=np.intp))
        found += self._offset[column : column + len(cells)]
        return found

    def searched(self, cells: Cells, bucket: Codes, places: Codes) -> tuple[Codes, Integers]:
        """The bins of cells at some places of the flattened array, and these cells: the bucket's first bin, or a search."""
        some, own = cells.ravel().take(places).astype(np.int64), bucket.ravel().take(places)
        found, keys = self.first.take(own), (own // self.first.shape[1] << 32) + some
        for _ in range(STEPS):
            found += self._keys.take(found) < keys
        late = np.flatnonzero(self._keys.take(found) < keys)
        found[late] = np.searchsorted(self._keys, keys[late])
        return found, some

    def of(self, cells: Cells, column: int = 0) -> Codes:
        """The bins (k, n) of the cells (k, n) of k columns, from `column` on, whose first bin is number 0."""
        bucket = self.buckets(cells, column)
        found: Codes = self._bins.take(bucket)
        mixed = np.flatnonzero(found < 0)
        found.ravel()[mixed], _ = self.searched(cells, bucket, mixed)
        if column:
            found -= self.first[column, 0]
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

    @property
    def largest(self) -> float:
        """No score is larger in size."""
        return float(max(np.abs(self.low).max(), np.abs(self.high).max())) / SCORE


class ScoreTables:
    """The score maps of several columns side by side.

    Where one bin covers a bucket, scores run evenly from the integer at its first cell to the integer at the next bucket's
    first cell; in other buckets every cell has an integer.

    Claim. Scores are monotone, stay between the bounds of their bin, and are exact doubles as long as the bounds are
    below 2^3: the same on every machine.
    Proof. The integers are floors of the line through a bin. What runs between two of them is never above that line and
    less than a step 1/SCORE below it, and buckets of a bin meet in one integer. A table holds integers below 2^27 and
    differences below 2^28; times a place in the bucket, below 2^25, over its width they are sums below 2^53 of one unit.
    """

    def __init__(self, maps: Sequence[ScoreMap]) -> None:
        self._bins = BinTables([one.ends for one in maps])
        self._first = np.concatenate([np.append(-CELL, one.ends[:-1] + 1) for one in maps])
        self._low = np.concatenate([one.low for one in maps])
        self._rise = np.concatenate([one.high for one in maps]) - self._low
        self._steps = np.maximum(
            np.concatenate([np.minimum(one.ends, CELL) for one in maps]) - self._first, 1
        )
        bins, width = self._bins, 1 << self._bins.shift
        low, high = self._integer(bins.first, bins.starts), self._integer(bins.first, bins.starts + width)
        self._start = np.where(bins.covered, low / SCORE, np.nan)
        self._slope = (high - low) / (SCORE * width)

    def _integer(self, place: Codes, cells: Integers) -> Integers:
        along: Integers = (cells - self._first[place]) * self._rise[place] // self._steps[place]
        return self._low[place] + along

    def of(self, cells: Cells) -> Matrix:
        """Scores (m, n) of cells (m, n), a row for each map."""
        found: Matrix = np.empty(cells.shape)
        for columns, rows in tiles(*cells.shape):
            self._look_up(cells[columns, rows], columns.start, found[columns, rows])
        return found

    def _look_up(self, cells: Cells, column: int, out: Matrix) -> None:
        bucket = self._bins.buckets(cells, column)
        self._slope.take(bucket, out=out, mode="clip")  # all are inside: no check
        out *= cells & ((1 << self._bins.shift) - 1)
        out += self._start.take(bucket)
        mixed = np.flatnonzero(np.isnan(out))
        out[np.unravel_index(mixed, out.shape)] = (
            self._integer(*self._bins.searched(cells, bucket, mixed)) / SCORE
        )


@lru_cache(maxsize=1)  # the passes of a fit share their maps
def score_tables(scores: tuple[ScoreMap | None, ...]) -> tuple[ScoreTables | None, list[int]]:
    """The tables of the columns that have a map, and the places of these columns."""
    maps = {j: one for j, one in enumerate(scores) if one is not None}
    return ScoreTables(list(maps.values())) if maps else None, list(maps)


@dataclass(frozen=True, eq=False)
class Frame:
    """z(x) = clip((W' rows((s(x) - centre) * weight) - offset_k) / radius_k) in the unit ball, for a row of block k.

    Parameters
    ----------
    centre, weight : (m,): scores are moved and scaled first.
    offset, radius : (K, p) and (K,): the ball of each block in the projected space.
    projection : (m, p): W with orthonormal columns, or None for the identity.
    normalise : whether each row is scaled to length 1 (RON-Gauss) or keeps its length.
    mean : (m,): taken from normalised rows, which are then normalised again (RON-Gauss as printed).
    row_norm : longer rows are shortened to this length before the projection.
    classes : blocks are `classes` times as many cells, a row's class first; 0 where classes share blocks.
    scores : a map for every column, None where it is the identity; empty where all are.
    missing : pairs of a column and its indicator: a cell that is marked stands at the centre.
    length : the length that `lift` gives back to rows that were normalised.
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
        """Encoded cells as they are, in a ball around the origin.

        Parameters
        ----------
        m : the number of encoded columns.
        radius : of the ball.
        normalise : whether each row is scaled to length 1.
        """
        return cls(np.zeros(m), np.ones(m), np.zeros((1, m)), np.array([radius]), normalise=normalise)

    @property
    def n_features(self) -> int:
        """The number of encoded columns, m."""
        return len(self.centre)

    @property
    def n_components(self) -> int:
        """The dimension p of what the frame shows."""
        return int(self.offset.shape[1])

    @property
    def blocks(self) -> int:
        """The number of blocks, K."""
        return len(self.radius)

    @property
    def unit(self) -> float:
        """Integers per unit of the ball."""
        return GRID * ball_shrink(self.n_components)

    def project(self, W: Matrix, *, radius: float) -> Frame:
        """The same rows seen through W, in a ball of another radius around the origin.

        Parameters
        ----------
        W : (m, p), orthonormal columns.
        radius : of the new ball.
        """
        return replace(self, projection=W, offset=np.zeros((1, W.shape[1])), radius=np.array([radius]))

    def zoom(self, offset: npt.ArrayLike, radius: npt.ArrayLike, *, classes: int = 0) -> Frame:
        """The same projection, in balls of other centres (in projected units) and radii: one, or one for each block.

        Parameters
        ----------
        offset, radius : the centres and radii.
        classes : how many classes the blocks are cells of; 0 for none.
        """
        return replace(
            self,
            offset=np.atleast_2d(np.asarray(offset, dtype=np.float64)),
            radius=np.atleast_1d(np.asarray(radius, dtype=np.float64)),
            classes=classes,
        )

    # --- from rows to integers ---

    def integers(self, rows: Rows, beside: int = 0) -> tuple[Matrix, Codes | None]:
        """Integer rows (n, p + beside) in the ball of radius GRID, room for `beside` coordinates, and their blocks.

        Parameters
        ----------
        rows : encoded rows.
        """
        p = self.n_components
        Q: Matrix = np.empty((p + beside, len(rows))).T
        blocks = np.zeros(len(rows), dtype=np.int64)
        for some, Y, grid, block in self._pieces(rows):
            into_ball(Y, grid, out=Q[some, :p])
            blocks[some] = 0 if block is None else block
        return Q, blocks if self.blocks > 1 else None

    def squared_lengths(self, rows: Rows) -> tuple[Vector, float, Codes | None]:
        """Exact squared lengths of rows before they are clipped, the square of the radius, and their blocks.

        Parameters
        ----------
        rows : encoded rows.
        """
        squares, unit, blocks = np.empty(len(rows)), 1.0, np.zeros(len(rows), dtype=np.int64)
        for some, Y, grid, block in self._pieces(rows):
            squares[some], unit = np.einsum("ij,ij->i", Y, Y), grid * grid
            blocks[some] = 0 if block is None else block
        return squares, unit, blocks if self.blocks > 1 else None

    def components(self, rows: Rows) -> Matrix:
        """Rows -> components (n, p) in units of the ball, not clipped.

        Parameters
        ----------
        rows : encoded rows.
        """
        C: Matrix = np.empty((self.n_components, len(rows))).T
        for some, Y, grid, _ in self._pieces(rows):
            np.divide(Y, grid, out=C[some])
        return C

    def _pieces(self, rows: Rows) -> Iterator[tuple[slice, Matrix, float, Codes | None]]:
        """Integer components of some rows after others, in units of the ball on a fine grid, that grid, and their blocks.

        Columns stay contiguous all the way: rows are few at a time, and stay in a processor's cache.
        """
        longest = 1.001 if self.normalise else 1.001 * self._longest
        grid = fine_grid(float(((longest + np.linalg.norm(self.offset, axis=1)) / self.radius).max()))
        W = None if self.projection is None else np.rint(self.projection.T * FINE)
        step = max(256, CACHE // max(1, self.n_features))
        many = max(step, SCORED // max(1, self.n_features)) if self.scores else step
        for start in range(0, len(rows), many):
            X = self._scored(rows, slice(start, start + many))
            for first in range(start, start + len(X), step):
                some = slice(first, min(first + step, start + len(X)))
                codes = None if rows.codes is None else rows.codes[some]
                Y, block = self._projected(X[first - start : some.stop - start], codes, W, grid)
                yield some, np.rint(Y, out=Y), grid, block

    def _projected(
        self, X: Matrix, codes: Codes | None, W: Matrix | None, grid: float
    ) -> tuple[Matrix, Codes | None]:
        if W is None and not self.normalise and math.isinf(self.row_norm) and self.blocks == 1:
            X *= self.weight * (grid / self.radius)
            shift = self.offset[0] + self.weight * self.centre
            if shift.any():
                X -= shift * (grid / self.radius)
            return X, None
        Y, fine = self._rows(X)
        if W is not None:
            Y, fine = (W @ Y.T).T, fine * FINE
        block = self._block(Y, fine, codes)
        scale, offset = grid / (fine * self.radius), self.offset * (grid / self.radius)[:, None]
        if block is None:
            Y *= scale
            if offset.any():
                Y -= offset
        else:
            Y *= scale[block][:, None]
            Y -= offset.T.take(block, axis=1).T
        return Y, block

    def _scored(self, rows: Rows, some: slice) -> Matrix:
        cells = rows.cells[some]
        tables, columns = score_tables(self.scores)
        if tables is not None and len(columns) == cells.shape[1]:
            X = tables.of(cells.T).T
        else:
            X = np.multiply(cells, 1.0 / CELL, dtype=np.float64)
            if tables is not None:
                X[:, columns] = tables.of(cells.T[columns]).T
        for column, indicator in self.missing:
            X[cells[:, indicator] > 0, column] = self.centre[column]
        return X

    def _rows(self, X: Matrix) -> tuple[Matrix, float]:
        """Integer rows before the projection, in the place of X, and the grid that they are on."""
        fine = fine_grid(max(1.0, self._longest))
        if self.centre.any():
            X -= self.centre
        X *= self.weight * fine
        Z = np.rint(X, out=X)
        if self.normalise:
            unit_rows(Z, fine)
        if self.mean is not None:
            Z -= np.rint(self.mean * fine)
            unit_rows(Z, fine)
        if math.isfinite(self.row_norm):
            shorten(Z, self.row_norm * fine)
        return Z, fine

    @cached_property
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
            mine = np.flatnonzero(of_class == group)
            own = rows if len(mine) == len(rows) else rows.T.take(mine, axis=1).T
            far = (centres[group] ** 2).sum(axis=1) - 2 * (own @ centres[group].T)
            found[mine] += np.argmin(far, axis=1)
        return found

    # --- and back ---

    def lift(self, C: Matrix) -> Matrix:
        """Components of the first block -> cells (before score maps): the smallest row that the frame sends to them.

        Parameters
        ----------
        C : (n, p), components in units of the ball.
        """
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
