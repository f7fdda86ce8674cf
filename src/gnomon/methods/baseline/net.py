"""A public net of candidate databases, and the counting queries that they are compared on.

Nothing here sees the private table: candidates and queries are drawn from the schema and a seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.methods.public import Public
from gnomon.statistics.grid import Matrix
from gnomon.table.rows import Rows

Whole = npt.NDArray[np.int64]
Target = npt.NDArray[Any] | None
GRID = 2.0**20  # cells are compared on this grid, where sums of them are exact
CHUNK = 2**20  # cells of the candidates that are held at once
MOST_CLUSTERS = 5  # of a candidate without classes


@dataclass(frozen=True)
class Queries:
    """Counts of rows in a half-space and a group of targets: <signs, x> > threshold, for every group.

    A half has one column only, a half all of them with random signs; groups are the classes, the two halves of a
    number, or all rows. The first query of a group counts the whole group. Sums of integers below 2^53 are exact, so a
    row answers the same in every batch.
    """

    signs: Matrix
    thresholds: npt.NDArray[np.float64]
    groups: int
    number: bool  # whether the target is one

    @classmethod
    def drawn(cls, n: int, public: Public, rng: np.random.Generator) -> Queries:
        m = public.m
        signs = rng.choice(np.array([-1.0, 1.0]), (m, n))
        thresholds = rng.standard_normal(n) * np.sqrt(m / 6)
        for j in range(0, n, 2):
            signs[:, j] = np.eye(m)[rng.integers(m)]
            thresholds[j] = rng.uniform(-1, 1)
        number = public.target.is_number
        return cls(signs, np.rint(thresholds * GRID), 2 if number else public.target.blocks, number)

    @property
    def size(self) -> int:
        return (len(self.thresholds) + 1) * self.groups

    def counts(self, rows: Rows) -> Whole:
        """How many rows of a batch answer yes, query by query."""
        y = None if self.groups == 1 else (rows.numbers if self.number else np.asarray(rows.codes))[None]
        found: Whole = self.counts_each(rows.X[None], y)[0]
        return found

    def counts_each(self, X: Matrix, y: Target) -> Whole:
        """The counts (d, size) of d databases X (d, s, m) with targets y (d, s)."""
        d, s, m = X.shape
        inside = np.rint(X.reshape(d * s, m) * GRID) @ self.signs > self.thresholds
        yes = np.column_stack([np.ones(d * s, bool), inside]).reshape(d, s, -1)
        if self.groups == 1 or y is None:
            whole: Whole = yes.sum(axis=1, dtype=np.int64)
            return whole
        group = (y > 0) if self.number else y
        return np.concatenate(
            [(yes & (group == g)[:, :, None]).sum(axis=1, dtype=np.int64) for g in range(self.groups)], axis=1
        )


class Net:
    """`size` candidate databases of `rows` encoded rows each: random clusters over what the schema declares.

    A candidate draws a width between 0.05 and 0.5, and centres in the cube: one for each class with random class sizes,
    or up to five without classes. A number as target is a random linear function of the row plus noise.
    """

    def __init__(self, public: Public, size: int, rows: int, seed: int) -> None:
        self.size, self.rows = size, rows
        self._seed, self._encoder = seed, public.encoder
        self._m, self._target = public.m, public.target
        self._step = max(1, CHUNK // (rows * public.m))

    def databases(self) -> Iterator[tuple[Matrix, Target]]:
        """All candidates in order, some at a time: X (d, s, m) and targets (d, s)."""
        for chunk in range(0, self.size, self._step):
            yield self._drawn(chunk)

    def database(self, place: int) -> tuple[Matrix, Target]:
        """One candidate; drawn again, so that the net is never held whole."""
        chunk = place - place % self._step
        X, y = self._drawn(chunk)
        return X[place - chunk], None if y is None else y[place - chunk]

    def _drawn(self, chunk: int) -> tuple[Matrix, Target]:
        rng = np.random.default_rng([self._seed, chunk])
        d, s, m = min(self._step, self.size - chunk), self.rows, self._m
        clusters = self._target.classes if self._target.is_class else MOST_CLUSTERS
        centres = rng.uniform(-1, 1, (d, clusters, m))
        sizes = rng.dirichlet(np.ones(clusters), d)
        members = (rng.random((d, s, 1)) > np.cumsum(sizes, axis=1)[:, None, :-1]).sum(axis=2)
        width = rng.uniform(0.05, 0.5, (d, 1, 1))
        X = np.take_along_axis(centres, members[:, :, None], axis=1) + width * rng.standard_normal((d, s, m))
        X = self._snapped(np.clip(X, -1, 1))
        if self._target.is_none:
            return X, None
        if self._target.is_class:
            return X, members
        slopes = rng.standard_normal((d, m)) / np.sqrt(m)
        y = np.einsum("dsm,dm->ds", X, slopes) + width[:, :, 0] * rng.standard_normal((d, s))
        return X, np.clip(y, -1, 1)

    def _snapped(self, X: Matrix) -> Matrix:
        """Categories and booleans take values that rows of the table can have."""
        for group in self._encoder.groups:
            place = slice(group.place.start, group.place.stop - group.indicator)
            if group.kind == "one-hot":
                cells = X[:, :, place]
                X[:, :, place] = cells == cells.max(axis=2, keepdims=True)
            elif group.kind == "boolean":
                X[:, :, place] = np.where(X[:, :, place] > 0, 1.0, -1.0)
            if group.indicator:
                X[:, :, group.place.stop - 1] = 0.0
        return X
