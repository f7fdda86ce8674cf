"""What is summed over rows: frozen values that add up in integers and know their own sensitivity and noise.

A query gives `zero`, `of_batch(rows)` for any part of a table, and `noise(loss)` before anything is paid. Parts add up
to the same integers whatever the partition, order or engine. Queries are plain values: they can be pickled, compared by
their words, and sent to a worker.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.mechanism import MomentMechanism, Noise, draw, moment_noise, vector_noise, vector_norm
from gnomon.privacy.sensitivity import Norm, Sensitivity, block_sums, histogram, located_sum
from gnomon.statistics.frame import BEYOND, Binning, BinTables, Frame, bin_of, tiles
from gnomon.statistics.grid import GRID, Integers, Matrix
from gnomon.table.rows import Cells, Codes, Rows
from gnomon.table.target import NO_TARGET, Target

Vector = npt.NDArray[np.float64]
BLOCK = 2**19  # rows whose products of integers below 2^17 add up exactly in doubles
LENGTH = 2**20  # cells of a row are measured on this grid


class Query(ABC):
    """One statistic of a table."""

    statistic: str  # what is measured, in words that no other event of the release shares

    @abstractmethod
    def zero(self) -> Integers:
        """The statistic of no rows."""

    @abstractmethod
    def of_batch(self, rows: Any) -> Integers:
        """The statistic of some rows.

        Parameters
        ----------
        rows : encoded rows: integer cells, and the codes of the target.
        """

    @abstractmethod
    def noise(self, loss: Any) -> Noise:
        """The noise that the answer would meet for this loss; reads no data.

        Parameters
        ----------
        loss : what the measurement may cost.
        """

    def finish(self, total: Integers) -> Integers:
        """What of the sum is measured.

        Parameters
        ----------
        total : the sum over all rows.
        """
        return total

    def counted(self) -> tuple[Binning, ...]:
        """The bins of columns whose cells it counts side by side, for all rows; they are public."""
        return ()

    def margins(self, answer: Integers) -> Iterator[tuple[Binning | None, Integers, int]]:
        """Counts of the bins of single attributes (None: the classes), and how many noisy numbers each of them adds up.

        Parameters
        ----------
        answer : the noisy answer.
        """
        return iter(())

    def release(self, exact: Integers, noise: Noise) -> Integers:
        """The exact answer with fresh noise.

        Parameters
        ----------
        exact : the exact answer.
        noise : the law and the scale of its noise.
        """
        return exact + draw(noise, exact.shape)


class VectorQuery(Query):
    """A query whose numbers meet independent noise, by its sensitivity in L1 or L2."""

    @abstractmethod
    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        """How far one unit of the loss's neighbours moves the sum.

        Parameters
        ----------
        norm : L1 or L2.
        loss : whose unit and adjacency say which tables are neighbours.
        """

    def noise(self, loss: Spendable) -> Noise:
        """Laplace noise by the L1 sensitivity for a pure loss, Gaussian noise by L2 otherwise.

        Parameters
        ----------
        loss : what the measurement may cost.
        """
        return vector_noise(self.sensitivity(vector_norm(loss), loss), loss)


@dataclass(frozen=True, eq=False)
class Derived(Query):
    """A query of what follows from the sums of another: `finish`, the noise or its release are its own."""

    summed: Query

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return self.summed.statistic

    def zero(self) -> Integers:
        return self.summed.zero()

    def of_batch(self, rows: Any) -> Integers:
        return self.summed.of_batch(rows)

    def finish(self, total: Integers) -> Integers:
        return self.summed.finish(total)


@dataclass(frozen=True, eq=False)
class Histogram(VectorQuery):
    """How many rows fall into each bin of several attributes, (L, bins of all attributes), for all rows or by class.

    Parameters
    ----------
    statistic : what is measured, in words that no other event of the release shares.
    binnings : the bins of each attribute, public.
    target : what stands beside a row.
    by_class : whether each class has a block of its own.
    """

    statistic: str
    binnings: tuple[Binning, ...]
    target: Target = NO_TARGET
    by_class: bool = False

    @property
    def bins(self) -> int:
        return sum(one.bins for one in self.binnings)

    @property
    def blocks(self) -> int:
        return self.target.blocks if self.by_class else 1

    def zero(self) -> Integers:
        return np.zeros((self.blocks, self.bins), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        codes = rows.codes if self.by_class else None
        return _counts(self.binnings, _tables(self.binnings), rows, codes, self.blocks)

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        return histogram(norm, columns=len(self.binnings), adjacency=loss.adjacency).protecting(loss)

    def counted(self) -> tuple[Binning, ...]:
        return self.binnings if self.blocks == 1 else ()

    def margins(self, answer: Integers) -> Iterator[tuple[Binning | None, Integers, int]]:
        for binning, part in zip(self.binnings, self.split(answer.reshape(self.blocks, -1)), strict=True):
            yield binning, part.sum(axis=0), self.blocks

    def split(self, answer: Integers) -> list[Integers]:
        """The counts (L, bins) of each attribute."""
        ends = np.cumsum([one.bins for one in self.binnings])[:-1]
        return np.split(answer, ends, axis=1)


@lru_cache(maxsize=1)  # of the pass that is under way
def _tables(binnings: tuple[Binning, ...]) -> BinTables | None:
    """The bins of numbers, where there are any; missing cells have a last bin that no cell reaches by itself."""
    found = [
        one.ends if one.indicator is None else np.append(one.ends[:-1], [BEYOND, BEYOND])
        for one in binnings
        if one.ends is not None
    ]
    return BinTables(found) if found else None


def _counts(
    binnings: tuple[Binning, ...],
    tables: BinTables | None,
    rows: Rows,
    codes: Codes | None = None,
    blocks: int = 1,
    column: int = 0,
) -> Integers:
    """How many rows of each block fall into each bin, (blocks, bins); numbers have the tables' columns from `column` on."""
    numbers = [one for one in binnings if one.ends is not None]
    columns, ends = [one.columns[0] for one in numbers], np.cumsum([0, *(one.bins for one in numbers)])
    counts = np.zeros((blocks, int(ends[-1])), dtype=np.int64)
    for few, some in tiles(len(columns), len(rows)):
        assert tables is not None
        first, last = ends[few.start], ends[few.stop]
        places = tables.of(_columns(rows, columns[few], some), column + few.start)
        for one, own, end in zip(numbers[few], places, ends[1:][few], strict=True):
            if one.indicator is not None:
                own[rows.cells[some, one.indicator] > 0] = end - first - 1
        own_codes = None if codes is None else codes[some]
        counts[:, first:last] += _by_code(places, own_codes, blocks, int(last - first))
    of_numbers = iter(np.split(counts, ends[1:-1], axis=1))
    parts = [
        _by_code(one.of(rows), codes, blocks, one.bins) if one.ends is None else next(of_numbers)
        for one in binnings
    ]
    return np.concatenate(parts, axis=1)


def _columns(rows: Rows, columns: list[int], some: slice) -> Cells:
    """Columns (k, n) of some rows; a view where they stand side by side."""
    first = columns[0]
    beside = columns == list(range(first, first + len(columns)))
    return rows.cells.T[slice(first, first + len(columns)) if beside else columns, some]


def _by_code(places: Codes, codes: Codes | None, blocks: int, bins: int) -> Integers:
    """How many rows have each place, by block; `places` is the caller's to give away."""
    if codes is not None:
        places += codes * bins
    return np.bincount(places.ravel(), minlength=blocks * bins).reshape(blocks, bins)


@dataclass(frozen=True, eq=False)
class Count(VectorQuery):
    """How many rows there are, where that is private."""

    statistic: str

    def zero(self) -> Integers:
        return np.zeros((), dtype=np.int64)

    def of_batch(self, rows: Any) -> Integers:
        return np.array(len(rows), dtype=np.int64)

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        return histogram(norm, columns=1, adjacency=loss.adjacency).protecting(loss)


@dataclass(frozen=True, eq=False)
class Lengths(VectorQuery):
    """How many rows of each block have a length up to each of `ends`, in units of the block's radius; (K, bins).

    The last bin holds every longer row.

    Parameters
    ----------
    statistic : what is measured, in words that no other event of the release shares.
    frame : the view in which rows are summed.
    ends : the upper ends of the bins, in units of the radius.
    """

    statistic: str
    frame: Frame
    ends: tuple[float, ...]

    def zero(self) -> Integers:
        return np.zeros((self.frame.blocks, len(self.ends)), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        squares, unit, block = self.frame.squared_lengths(rows)
        place = np.searchsorted(np.square(self.ends[:-1]) * unit, squares, side="left")
        if block is not None:
            place = place + block * len(self.ends)
        counts = np.bincount(place, minlength=self.frame.blocks * len(self.ends))
        return counts.reshape(self.frame.blocks, len(self.ends)).astype(np.int64)

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        return histogram(norm, columns=1, adjacency=loss.adjacency).protecting(loss)


@dataclass(frozen=True, eq=False)
class RowSum(VectorQuery):
    """The sums of (z, constant) over the rows of each block, (K, p + 1), or (K, p) without a constant.

    Blocks are those of the frame, or the classes where `by_class` says so.

    Parameters
    ----------
    statistic : what is measured, in words that no other event of the release shares.
    frame : the view in which rows are summed.
    constant : beside each row, so that rows are counted too; 0 for none.
    target : what stands beside a row.
    by_class : whether each class has a block of its own.
    """

    statistic: str
    frame: Frame
    constant: int = 0
    target: Target = NO_TARGET
    by_class: bool = False

    @property
    def blocks(self) -> int:
        return _blocks(self.frame, self.target, self.by_class)

    @property
    def units(self) -> Vector:
        """Integers per natural unit of each coordinate."""
        return np.append(
            np.full(self.frame.n_components, self.frame.unit), [self.constant] * bool(self.constant)
        )

    def zero(self) -> Integers:
        return np.zeros((self.blocks, len(self.units)), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        Q, block = self.frame.integers(rows, int(self.constant > 0))
        if self.constant:
            Q[:, -1] = self.constant
        found = self.zero()
        for b, some in _by_block(Q, _block_of(block, rows, self.by_class), self.blocks):
            found[b] = some.sum(axis=0)
        return found

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        p, adjacency = self.frame.n_components, loss.adjacency
        whole = block_sums(
            norm, columns=p, radius=GRID, constant=self.constant, blocks=self.blocks, adjacency=adjacency
        )
        return whole.protecting(loss)


@dataclass(frozen=True, eq=False)
class Location(VectorQuery):
    """Where rows lie in a frame: the sums of z, of |z|^2, of the rows' encoded lengths, and their number if asked for.

    The encoded length of a row is that of its cells over sqrt(m), in [0, 1]. `constant` is for a private number of rows.
    """

    statistic: str
    frame: Frame
    weight: int = GRID // 2  # of the encoded length
    constant: int = 0

    def zero(self) -> Integers:
        return np.zeros(self.frame.n_components + 2 + bool(self.constant), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        Q, _ = self.frame.integers(rows)
        squares = np.rint(np.einsum("ij,ij->i", Q, Q) / GRID)
        cells = rows.cells >> 10  # on the grid LENGTH
        lengths = np.sqrt(np.einsum("ij,ij->i", cells, cells, dtype=np.float64) / cells.shape[1]) / LENGTH
        own = np.rint(np.minimum(lengths, 1.0) * self.weight)
        found = [*Q.sum(axis=0), squares.sum(), own.sum()]
        if self.constant:
            found.append(float(self.constant * len(rows)))
        return np.array(found).astype(np.int64)

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        p, adjacency = self.frame.n_components, loss.adjacency
        exact = located_sum(
            norm, columns=p, radius=GRID, beside=self.weight, constant=self.constant, adjacency=adjacency
        )
        return exact.on_grid(1, coordinates=1).protecting(loss)  # the squared length is rounded


@dataclass(frozen=True, eq=False)
class Moments(Query):
    """The sums of outer products of (z, target, constant) over the rows of each block, (K, q, q).

    Parameters
    ----------
    statistic : what is measured, in words that no other event of the release shares.
    frame : the view in which rows are summed.
    target : what stands beside a row.
    label : the weight of the target beside z: a one-hot of the class, or the number; 0 leaves it out.
    constant : makes one matrix carry count, sum and second moment; 0 leaves it out.
    by_class : whether blocks are the classes; otherwise they are those of the frame.
    mechanism : the noise of the matrix, or "auto": the one with the least error.
    """

    statistic: str
    frame: Frame
    target: Target = NO_TARGET
    label: int = 0
    constant: int = 0
    by_class: bool = False
    mechanism: MomentMechanism = "auto"

    @property
    def blocks(self) -> int:
        return _blocks(self.frame, self.target, self.by_class)

    @property
    def _beside(self) -> int:
        return self.target.width if self.label else 0

    @property
    def width(self) -> int:
        return self.frame.n_components + self._beside + bool(self.constant)

    @property
    def ball(self) -> int:
        """The bound on the squared integer length of a row: at most one class is set, and a number is at most 1."""
        return GRID**2 + (self.label**2 if self._beside else 0) + self.constant**2

    @property
    def units(self) -> Vector:
        """Integers per natural unit of each coordinate."""
        p = self.frame.n_components
        return np.concatenate(
            [
                np.full(p, self.frame.unit),
                np.full(self._beside, self.label),
                [self.constant] * bool(self.constant),
            ]
        )

    @property
    def side(self) -> int:
        """Integers per natural unit of what counts rows: the constant, or else the label."""
        return self.constant or self.label

    def zero(self) -> Integers:
        return np.zeros((self.blocks, self.width, self.width), dtype=np.int64)

    def integers(self, rows: Rows) -> tuple[Matrix, Codes | None]:
        """The integer rows (n, q) whose outer products are summed, and their blocks."""
        p, beside = self.frame.n_components, self._beside
        Q, block = self.frame.integers(rows, self.width - p)
        if beside and self.target.is_number:
            np.rint(np.clip(rows.numbers, -1.0, 1.0) * self.label, out=Q[:, p])
        elif beside:
            Q[:, p : p + beside] = 0.0
            Q[np.arange(len(rows)), p + _codes(rows)] = self.label
        if self.constant:
            Q[:, -1] = self.constant
        return Q, block

    def of_batch(self, rows: Rows) -> Integers:
        Q, block = self.integers(rows)
        found = self.zero()
        for b, some in _by_block(Q, _block_of(block, rows, self.by_class), self.blocks):
            found[b] = gram(some)
        return found

    def noise(self, loss: Spendable) -> Noise:
        return moment_noise(self.width, loss, ball=self.ball, blocks=self.blocks, mechanism=self.mechanism)

    def split(self, answer: Integers) -> tuple[Matrix, Matrix, Vector]:
        """second (B, p, p), and first (K, p) and counts (K,) by class or block, in units of the ball.

        Sums and counts stand beside the constant, or beside the label where there is none.
        """
        p, unit = self.width - (1 if self.constant else self._beside), self.frame.unit
        counts = np.einsum("bii->bi", answer)[:, p:].ravel()
        first = answer[:, p:, :p].reshape(-1, p)
        return answer[:, :p, :p] / unit**2, first / (unit * self.side), counts / self.side**2


def _blocks(frame: Frame, target: Target, by_class: bool) -> int:
    return target.blocks if by_class and frame.blocks == 1 else frame.blocks


def _codes(rows: Rows) -> Codes:
    assert rows.codes is not None
    return rows.codes


def _block_of(block: Codes | None, rows: Rows, by_class: bool) -> Codes | None:
    return _codes(rows) if block is None and by_class and rows.codes is not None else block


def _by_block(Q: Matrix, block: Codes | None, blocks: int) -> Iterator[tuple[int, Matrix]]:
    """The rows of each block that has any, with contiguous columns."""
    if block is None or blocks == 1:
        yield 0, Q
        return
    order = np.argsort(block.astype(np.min_scalar_type(blocks)), kind="stable")
    ends = np.cumsum(np.bincount(block, minlength=blocks))
    for b, (start, end) in enumerate(pairwise([0, *ends])):
        if end > start:
            yield b, Q.T.take(order[start:end], axis=1).T


def gram(Q: Matrix) -> Integers:
    """Q'Q of integer rows: exact in doubles as long as sums stay below 2^53, so in blocks of rows."""
    total = np.zeros((Q.shape[1], Q.shape[1]), dtype=np.int64)
    for start in range(0, len(Q), BLOCK):
        some = Q[start : start + BLOCK]
        total += (some.T @ some).astype(np.int64)
    return total


@dataclass(frozen=True, eq=False)
class NoisyMax(Derived):
    """The place of the largest of a few scores: only the place is published.

    `summed` are scores, of which each changes by at most `change` when one record does; `public` is added to them.

    Claim. Discrete Laplace noise of scale 2 change / epsilon on every score makes the chosen place epsilon-DP, however
    many candidates there are.
    Proof. Fix the noise of all scores but the i-th. Place i wins when its noise reaches some r (ties go to the first
    place, on both tables alike). On the neighbouring table its own score falls by at most `change` and the others rise
    by at most as much, so r rises by at most 2 change; and P(Z >= r + 2 change) >= exp(-epsilon) P(Z >= r) for discrete
    Laplace noise of scale 2 change / epsilon. Average over the other noises. Worst pair: one score falls, all others rise.
    """

    change: int
    public: tuple[int, ...]

    def finish(self, total: Integers) -> Integers:
        return self.summed.finish(total) + np.asarray(self.public, dtype=np.int64)

    def noise(self, loss: Spendable) -> Noise:
        shift = Sensitivity(Norm.L1, 2 * self.change, adjacency=loss.adjacency).protecting(loss)  # type: ignore[arg-type]
        found = vector_noise(shift, loss)
        return Noise("noisy-max", shift, found.scale, found.law)

    def release(self, exact: Integers, noise: Noise) -> Integers:
        from gnomon.privacy.noise.laplace import discrete_laplace

        drawn = discrete_laplace(noise.scale, exact.shape) if noise.scale > 0 else 0
        return np.array(np.argmax(exact + drawn))


class RowQuery(ABC):
    """One integer row for each record, a function of that record alone: what a row release adds noise to."""

    statistic: str
    width: int
    bound: float  # on the size of the integers

    @abstractmethod
    def of_batch(self, rows: Any) -> Integers:
        """Integer rows (n, width)."""

    @abstractmethod
    def noise(self, loss: Any) -> Noise:
        """The noise of every number of a row."""


class Search(Protocol):
    """How far the search for a minimum is: where it stands, and whether that is near enough."""

    place: Integers
    done: bool


class Minimum(ABC):
    """The place where a sum over rows is least, up to a stated error: each step is an exact sum of integers."""

    statistic: str

    @abstractmethod
    def start(self) -> Any:
        """The `Search` before the first step: public."""

    @abstractmethod
    def at(self, search: Any) -> Query:
        """What is summed over the rows at its place."""

    @abstractmethod
    def step(self, search: Any, total: Integers) -> Any:
        """The search after the sum at its place is known."""

    @abstractmethod
    def noise(self, loss: Any) -> Noise:
        """The noise that the last place would meet for this loss; reads no data."""

    def release(self, exact: Integers, noise: Noise) -> Integers:
        """The last place with fresh noise."""
        return exact + draw(noise, exact.shape)


@dataclass(frozen=True, eq=False)
class ClassHistogram(VectorQuery):
    """How many rows of each class fall into each bin of several attributes, where every class has bins of its own.

    A row has one class and falls into one bin of each attribute, so it moves as many counts as in a `Histogram`.
    """

    statistic: str
    binnings: tuple[tuple[Binning, ...], ...]  # by class, then by attribute

    def _places(self) -> Integers:
        return np.cumsum([0, *(one.bins for of_class in self.binnings for one in of_class)])

    def zero(self) -> Integers:
        return np.zeros(int(self._places()[-1]), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        codes = np.zeros(len(rows), dtype=np.int64) if rows.codes is None else rows.codes
        tables, column, found = _tables(tuple(chain(*self.binnings))), 0, []
        for c, of_class in enumerate(self.binnings):
            found.append(_counts(of_class, tables, rows.take(np.flatnonzero(codes == c)), column=column)[0])
            column += sum(one.ends is not None for one in of_class)
        return np.concatenate(found)

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        columns = max(len(of_class) for of_class in self.binnings)
        return histogram(norm, columns=columns, adjacency=loss.adjacency).protecting(loss)

    def split(self, answer: Integers) -> list[list[Integers]]:
        """The counts of each class and attribute."""
        parts = iter(np.split(answer, self._places()[1:-1]))
        return [[next(parts) for _ in of_class] for of_class in self.binnings]


@dataclass(frozen=True, eq=False)
class CellMoments(Query):
    """Second moments of z by class, sums of z and counts by cell of a class, as one vector; mu only.

    The frame has `classes` times k blocks, which are the cells. Counts and diagonal entries meet noise of one scale,
    sums and off-diagonal entries of 1 / sqrt(2) times that.

    Claim. Let |z| <= G and T = G^2 + lambda^2. In the norm that counts diagonal entries and lambda^2-weighted counts
    once and off-diagonal entries and lambda-weighted sums twice, one row's part has length at most T. The sum changes
    by at most sqrt(2) T when a row is replaced, whatever class and cell it leaves and enters, and by T when one is
    added or removed.
    Proof. The squared length is |zz'|^2 + 2 lambda^2 |z|^2 + lambda^4 = (|z|^2 + lambda^2)^2 <= T^2. The parts of two
    rows z and w have the product (<z, w> + lambda^2)^2 in one cell, <z, w>^2 in two cells of one class, 0 in two
    classes: never negative, so the squared change is at most T^2 + T^2.
    Worst pair: rows of length G in two classes.
    """

    statistic: str
    frame: Frame
    constant: int

    @property
    def classes(self) -> int:
        """How many second moments there are."""
        return max(self.frame.classes, 1)

    @property
    def side(self) -> int:
        return self.constant

    @property
    def ball(self) -> int:
        return GRID**2 + self.constant**2

    @property
    def _once(self) -> int:
        """How many coordinates are counted once: the diagonal of every class, and the counts of the cells."""
        return self.classes * self.frame.n_components + self.frame.blocks

    def zero(self) -> Integers:
        p = self.frame.n_components
        twice = self.classes * (p * (p - 1) // 2) + self.frame.blocks * p
        return np.zeros(self._once + twice, dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        p, K, L = self.frame.n_components, self.frame.blocks, self.classes
        k = K // L
        Q, block = self.frame.integers(rows, k)
        Q[:, p:] = 0  # a one-hot of the cell beside z: one matrix has second moments, sums and counts
        Q[np.arange(len(rows)), p if block is None else p + block % k] = 1
        whole = np.zeros((L, p + k, p + k), dtype=np.int64)
        for c, some in _by_block(Q, None if block is None else block // k, L):
            whole[c] = gram(some)
        second, first = whole[:, :p, :p], whole[:, p:, :p]
        counts = np.einsum("lii->li", whole[:, p:, p:]).ravel()
        upper = np.triu_indices(p, 1)
        once = [np.einsum("lii->li", second).ravel(), counts * self.constant**2]
        twice = [second[:, upper[0], upper[1]].ravel(), (first * self.constant).ravel()]
        return np.concatenate(once + twice)

    def noise(self, loss: Spendable) -> Noise:
        whole = moment_noise(self.frame.n_components + 1, loss, ball=self.ball, blocks=2, mechanism="goe")
        half = 1 / math.sqrt(2)
        once, size = self._once, len(self.zero())
        weights = (1.0,) * once + (math.nextafter(half, 1.0),) * (size - once)
        mechanism = "none" if whole.scale == 0 else "rounded-gaussian"
        return Noise(mechanism, whole.sensitivity, whole.scale, whole.law, weights)

    def split(self, answer: Integers) -> tuple[Matrix, Matrix, Vector]:
        """second (L, p, p), first (K, p) and counts (K,) in units of the ball."""
        p, K, L = self.frame.n_components, self.frame.blocks, self.classes
        ends = np.cumsum([L * p, K, L * (p * (p - 1) // 2)])
        diagonal, counts, off, first = np.split(answer.astype(np.float64), ends)
        second = np.zeros((L, p, p))
        upper = np.triu_indices(p, 1)
        second[:, upper[0], upper[1]] = off.reshape(L, -1)
        second += second.transpose(0, 2, 1)
        second[:, range(p), range(p)] = diagonal.reshape(L, p)
        unit = self.frame.unit
        return second / unit**2, first.reshape(K, p) / (unit * self.constant), counts / self.constant**2


@dataclass(frozen=True, eq=False)
class TargetAsColumn(Query):
    """Another query about rows in which a numeric target is the last column and its bins are the classes.

    The view is a map of single rows, so the query's sensitivity and noise stay as they are.
    """

    query: Query
    ends: Integers  # ascending upper ends of the target's bins on the grid CELL

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return self.query.statistic

    def zero(self) -> Integers:
        return self.query.zero()

    def of_batch(self, rows: Rows) -> Integers:
        assert rows.target is not None
        n, m = rows.cells.shape
        cells = np.empty((m + 1, n), dtype=rows.cells.dtype)
        cells[:m], cells[m] = rows.cells.T, rows.target
        return self.query.of_batch(Rows(cells.T, bin_of(self.ends, rows.target)))

    def noise(self, loss: Any) -> Noise:
        return self.query.noise(loss)

    def finish(self, total: Integers) -> Integers:
        return self.query.finish(total)

    def counted(self) -> tuple[Binning, ...]:
        return self.query.counted()

    def release(self, exact: Integers, noise: Noise) -> Integers:
        return self.query.release(exact, noise)
