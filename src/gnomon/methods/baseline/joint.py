"""Tables of several attributes at once: attributes as codes, their joint counts, and how much they depend on each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gnomon.methods.public import Public
from gnomon.model.columns import Attribute, attributes, value_bins
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.mechanism import Noise
from gnomon.privacy.sensitivity import Norm, Sensitivity, histogram
from gnomon.statistics.frame import Binning, bin_of
from gnomon.statistics.grid import Integers, Matrix
from gnomon.statistics.queries import Derived, VectorQuery
from gnomon.table.rows import CELL, Codes, Rows

CHUNK = 2**14  # rows whose indicators are held at once
WORD = 64  # rows of one machine word of bits
MOST_BITS = 64  # cells of a table that is counted by bits, which is then faster
FINE = 16  # integer steps to a unit of a score
Sets = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Coded:
    """An attribute as codes 0 .. size - 1: a feature by its bins, or the target."""

    size: int
    binning: Binning | None = None  # of a feature
    ends: Integers | None = None  # of a target that is a number
    values: npt.NDArray[np.float64] | None = (
        None  # the cells of codes that are one value, and not an interval
    )

    def of(self, rows: Rows) -> Codes:
        if self.binning is not None:
            return self.binning.of(rows)
        if self.ends is not None:
            assert rows.target is not None
            return bin_of(self.ends, rows.target)
        assert rows.codes is not None
        return rows.codes

    def write(self, codes: Codes, cells: Matrix, rng: np.random.Generator) -> None:
        """The cells of a feature: the value of a code, or anywhere in its interval."""
        assert self.binning is not None
        one = self.binning
        present = one.bins - (one.indicator is not None)
        if one.indicator is not None:
            cells[:, one.indicator] = codes == present
        there = np.flatnonzero(codes < present)
        if one.ends is None:
            cells[there, np.asarray(one.columns)[codes[there]]] = 1.0
        elif self.values is not None:
            cells[there, one.columns[0]] = self.values[codes[there]]
        else:
            cells[there, one.columns[0]] = spread(codes[there], present, rng)


def spread(codes: Codes, size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Codes of intervals of equal width as numbers in [-1, 1]."""
    return np.asarray(2.0 * (codes + rng.random(len(codes))) / size - 1.0)


def even_ends(bins: int) -> Integers:
    """The upper ends of bins of equal width on the grid CELL."""
    return np.rint((2 * np.arange(1, bins + 1) / bins - 1) * CELL).astype(np.int64)


def coded(public: Public, bins: int) -> list[Coded]:
    """Every feature, then the target if there is one; numbers in `bins` intervals."""
    features = attributes(public.encoder, bins)[: len(public.encoder.groups)]
    found = [_feature(attribute, bins) for attribute in features]
    if public.target.is_class:
        found.append(Coded(public.target.classes))
    elif public.target.is_number:
        found.append(Coded(bins, ends=even_ends(bins)))
    return found


def _feature(attribute: Attribute, bins: int) -> Coded:
    if attribute.values is None:
        binning = Binning((attribute.first,), even_ends(bins), attribute.indicator)
    else:
        binning = attribute.binning(value_bins(attribute))
    return Coded(binning.bins, binning, values=attribute.values)


@dataclass(frozen=True, eq=False)
class JointCounts(VectorQuery):
    """How many rows have each combination of codes, for several sets of attributes: one cell of each set a row."""

    statistic: str
    attributes: tuple[Coded, ...]
    sets: Sets

    def sizes(self) -> list[int]:
        return [math.prod(self.attributes[i].size for i in one) for one in self.sets]

    def zero(self) -> Integers:
        return np.zeros(sum(self.sizes()), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        codes = {i: self.attributes[i].of(rows) for i in sorted({i for one in self.sets for i in one})}
        if len(self.sets) > len(codes) and all(len(one) == 2 for one in self.sets):
            return self._pairs(codes)
        found = [np.zeros(0, dtype=np.int64)]
        masks: dict[int, npt.NDArray[np.uint64]] = {}
        for one, size in zip(self.sets, self.sizes(), strict=True):
            if one and size <= MOST_BITS:
                for i in one:
                    if i not in masks:
                        masks[i] = bits(codes[i], self.attributes[i].size)
                found.append(together([masks[i] for i in one]))
                continue
            place = np.zeros(len(rows), dtype=np.int64)
            for i in one:
                place = place * self.attributes[i].size + codes[i]
            found.append(np.bincount(place, minlength=size))
        return np.concatenate(found).astype(np.int64)

    def _pairs(self, codes: dict[int, Codes]) -> Integers:
        """All pairs at once, by products of indicators: whole numbers that doubles hold exactly."""
        starts, end = {}, 0
        for i in codes:
            starts[i], end = end, end + self.attributes[i].size
        n = len(next(iter(codes.values())))
        together = np.zeros((end, end))
        for first in range(0, n, CHUNK):
            some = {i: one[first : first + CHUNK] for i, one in codes.items()}
            H = np.zeros((len(next(iter(some.values()))), end))
            for i, one in some.items():
                H[np.arange(len(one)), starts[i] + one] = 1.0
            together += H.T @ H
        places = {i: slice(start, start + self.attributes[i].size) for i, start in starts.items()}
        return np.concatenate([together[places[i], places[j]].ravel() for i, j in self.sets]).astype(np.int64)

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        return histogram(norm, columns=len(self.sets), adjacency=loss.adjacency).protecting(loss)

    def margins(self, answer: Integers) -> Iterator[tuple[Binning | None, Integers, int]]:
        for one, table in zip(self.sets, self.split(answer), strict=True):
            for place, i in enumerate(one):
                if self.attributes[i].ends is None:
                    others = tuple(axis for axis in range(len(one)) if axis != place)
                    counts = table.sum(axis=others)
                    yield self.attributes[i].binning, counts, table.size // len(counts)

    def split(self, answer: Integers) -> list[Integers]:
        """The counts of every set, with a dimension for each attribute."""
        parts = np.split(answer, np.cumsum(self.sizes())[:-1])
        shapes = [[self.attributes[i].size for i in one] for one in self.sets]
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def bits(codes: Codes, size: int) -> npt.NDArray[np.uint64]:
    """Which rows have each code: a bit a row, in whole words whose last bits are zero."""
    has = np.zeros((size, -(-len(codes) // WORD) * WORD), dtype=bool)
    has[codes, np.arange(len(codes))] = True
    return np.packbits(has, axis=1).view(np.uint64)


def together(masks: list[npt.NDArray[np.uint64]]) -> Integers:
    """How many rows have each combination of codes, the last attribute's first to change."""
    both = masks[0]
    for mask in masks[1:]:
        both = (both[:, None, :] & mask).reshape(len(both) * len(mask), mask.shape[1])
    counts: Integers = np.bitwise_count(both).sum(axis=1, dtype=np.int64)
    return counts


@dataclass(frozen=True, eq=False)
class Dependence(Derived):
    """How far the first attribute of every set is from independence of the others: 2 n R, in steps of 1/FINE.

    R = 1/2 sum |P(x, y) - P(x) P(y)| is the score of PrivBayes for attributes that are not binary.

    Claim. Replacing a record changes 2 n R by at most 6. (The paper prints 6 + 4/n.)
    Proof. The joint shares move by 2/n in L1. Each margin p, q moves by 2/n, and p'q' - pq = (p' - p) q' + p (q' - q), so
    their product moves by 4/n. Times n, and rounded down to a step, a score moves by at most `change` steps.
    Worst pair: a record moves from (a, b), which is rarer than independence says, to (a', b'), two rare values that only
    occur together: 5.9 at 4,000 rows.
    """

    change: ClassVar[int] = 6 * FINE

    summed: JointCounts
    rows: int

    def finish(self, total: Integers) -> Integers:
        """In whole numbers: n^2 times a share is exact, and so is what is left after the division."""
        found = []
        for part in self.summed.split(total):
            joint = part.reshape(len(part), -1)
            away = np.abs(self.rows * joint - np.outer(joint.sum(axis=1), joint.sum(axis=0)))
            found.append(int(away.sum()) * FINE // self.rows)
        return np.array(found, dtype=np.int64)

    def noise(self, loss: Any) -> Noise:
        raise NotImplementedError("scores meet noise in NoisyMax alone")
