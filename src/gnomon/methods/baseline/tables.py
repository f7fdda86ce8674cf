"""Releases that are noisy tables of sets of attributes: how tables are made to agree, and how rows are drawn from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.methods.baseline.base import Compared, all_columns, check_full_dimension
from gnomon.methods.baseline.joint import Coded, JointCounts, Sets, spread
from gnomon.methods.model_release import SAMPLING, ModelRelease
from gnomon.methods.parameters import check_integer, check_positive, check_share
from gnomon.methods.public import Public
from gnomon.model.mixture import BATCH
from gnomon.privacy.guarantee import Adjacency, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.table.rows import Codes

Tables = list[npt.NDArray[np.float64]]
FITTING = 100  # rounds of proportional fitting


class NoisyTables(Compared, ModelRelease):
    """Base of the methods that measure tables of several attributes and draw rows from them, set after set."""

    bins: int

    attributes_: tuple[Coded, ...]
    sets_: Sets
    tables_: Tables  # with a dimension for each attribute of a set; never negative once they are fitted

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_full_dimension(self, public)
        if self.calibration == "paper":
            raise ParameterError(
                f"{type(self).__name__} has no printed noise that is short; use calibration='sound'."
            )
        check_integer(self, "bins", 256)

    def _measured(
        self, data: Measurer, public: Public, attributes: tuple[Coded, ...], sets: Sets, loss: Spendable
    ) -> Tables:
        """Noisy counts of every set, in one event."""
        self.frame_ = all_columns(public.m, normalise=False)
        self.attributes_, self.sets_ = attributes, sets
        query = JointCounts("tables of sets of attributes", attributes, sets)
        return [table.astype(np.float64) for table in query.split(data.measure(query, loss).answer)]

    def sample_batches(self, n: int, seed: int | None = None) -> Iterator[pa.Table]:
        """n synthetic rows: the attributes of every set given those that stand already."""
        rng = np.random.default_rng([SAMPLING, self.seed_ if seed is None else seed])
        target, m = self.encoder_.target, self.encoder_.width
        for start in range(0, n, BATCH):
            size = min(BATCH, n - start)
            codes = drawn(self.sets_, self.tables_, len(self.attributes_), size, rng)
            cells = np.zeros((size, m))
            for i, attribute in enumerate(self.attributes_):
                if attribute.binning is not None:
                    attribute.write(codes[:, i], cells, rng)
            y: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None = None
            if target.is_class:
                y = codes[:, -1]
            elif target.is_number:
                y = spread(codes[:, -1], self.attributes_[-1].size, rng)
            yield self.encoder_.decode(cells, y)


@dataclass(eq=False, repr=False)
class ChosenTables(NoisyTables):
    """Base of PrivBayes and JTree: `beta` of epsilon chooses the sets, the rest measures their tables; all of it purely."""

    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE,)

    beta: float = 0.3
    theta: float = 4.0
    bins: int = 16

    def _pure(self) -> bool:
        return True

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_share(self, "beta")
        check_positive(self, "theta", 1e6)
        if public.guarantee.delta > 0 and public.schema.estimated:
            raise ParameterError(
                f"The column {public.schema.estimated[0].name!r} has estimate = true, and {type(self).__name__} spends "
                "what is left as pure epsilon; set delta to 0, or declare its bounds or classes."
            )


def useful_cells(public: Public, loss: Spendable, tables: int, theta: float) -> float:
    """The most cells of a table whose counts are theta times their noise, on average: public numbers."""
    epsilon = getattr(loss, "epsilon", math.inf)
    return math.inf if math.isinf(epsilon) else public.rows * epsilon / (2 * tables * theta)


def drawn(sets: Sets, tables: Tables, d: int, n: int, rng: np.random.Generator) -> Codes:
    """n rows of codes (n, d): set after set, what is new in it given what stands already."""
    codes, known = np.zeros((n, d), dtype=np.int64), set[int]()
    for one, table in zip(sets, tables, strict=True):
        given, new = ([i for i in one if (i in known) is stands] for stands in (True, False))
        if not new:
            continue
        chances = conditional(table.transpose([one.index(i) for i in (*given, *new)]), len(given))
        sizes = [table.shape[one.index(i)] for i in given]
        place = (
            np.ravel_multi_index(tuple(codes[:, given].T), sizes) if given else np.zeros(n, dtype=np.int64)
        )
        # the rows' distribution functions one after another, so that one search finds a cell in each
        ladder = (np.cumsum(chances, axis=1) + np.arange(len(chances))[:, None]).ravel()
        cell = np.searchsorted(ladder, place + rng.random(n), side="right") - place * chances.shape[1]
        cell = np.clip(cell, 0, chances.shape[1] - 1)
        codes[:, new] = np.column_stack(np.unravel_index(cell, [table.shape[one.index(i)] for i in new]))
        known.update(new)
    return codes


def conditional(table: npt.NDArray[np.float64], given: int) -> npt.NDArray[np.float64]:
    """The distribution of the later attributes for each combination of the first `given`; the margin where it has none."""
    rows = np.maximum(table.reshape(math.prod(table.shape[:given]), -1), 0.0)
    margin = rows.sum(axis=0)
    margin = margin / margin.sum() if margin.sum() > 0 else np.full(len(margin), 1 / len(margin))
    total = rows.sum(axis=1, keepdims=True)
    return np.where(total > 0, rows / np.maximum(total, 1e-300), margin)


def projected(
    table: npt.NDArray[np.float64], one: Sequence[int], onto: Sequence[int]
) -> npt.NDArray[np.float64]:
    """The table of the attributes `onto`, in their order, by summing over the others of `one`."""
    summed = table.sum(axis=tuple(place for place, i in enumerate(one) if i not in onto))
    left = [i for i in one if i in onto]
    found: npt.NDArray[np.float64] = summed.transpose([left.index(i) for i in onto])
    return found


def consistent(sets: Sets, tables: Tables) -> Tables:
    """Noisy tables that agree on all that they share: the least squares estimate of each shared table, small ones first.

    Every cell of a table has the same noise, so that a sum of c cells has c times its variance and weighs 1/c.
    """
    found = [table.copy() for table in tables]
    for common in shared(sets):
        those = [i for i, one in enumerate(sets) if set(common) <= set(one)]
        parts = [projected(found[i], sets[i], common) for i in those]
        cells = [found[i].size // part.size for i, part in zip(those, parts, strict=True)]
        best = np.average(parts, axis=0, weights=[1 / c for c in cells])
        for i, part, c in zip(those, parts, cells, strict=True):
            found[i] += _spread_over((best - part) / c, common, sets[i])
    return found


def shared(sets: Sets) -> list[tuple[int, ...]]:
    """What two sets or more have in common, and what is common to that; each before those that hold it."""
    found, fresh = set[frozenset[int]](), {frozenset(one) for one in sets}
    held = set(fresh)
    while fresh:
        fresh = {a & b for a in fresh for b in held} - held
        held |= fresh
        found |= fresh
    many = {one for one in held if sum(one <= set(other) for other in sets) > 1}
    return sorted((tuple(sorted(one)) for one in found | many), key=lambda one: (len(one), one))


def _spread_over(
    part: npt.NDArray[np.float64], common: Sequence[int], one: Sequence[int]
) -> npt.NDArray[np.float64]:
    """A table of some attributes with a dimension of length 1 for each of the others."""
    held = [i for i in one if i in common]
    ordered = part.transpose([list(common).index(i) for i in held])
    return np.expand_dims(ordered, tuple(place for place, i in enumerate(one) if i not in common))


def fitted(shape: Sequence[int], asked: Sequence[int], sets: Sets, tables: Tables) -> npt.NDArray[np.float64]:
    """The distribution of most entropy over the attributes `asked` that agrees with tables: proportional fitting."""
    shared = {tuple(i for i in asked if i in one) for one in sets}
    largest = [one for one in shared if one and not any(set(one) < set(other) for other in shared)]
    wanted = []
    for common in sorted(largest):
        home = next(k for k, one in enumerate(sets) if set(common) <= set(one))
        part = np.maximum(projected(tables[home], sets[home], common), 0.0)
        wanted.append((common, part / part.sum() if part.sum() > 0 else np.full(part.shape, 1 / part.size)))
    found = np.full(tuple(shape), 1 / math.prod(shape))
    for _ in range(FITTING):
        before = found
        for common, part in wanted:
            now = projected(found, asked, common)
            ratio = np.divide(part, now, out=np.zeros_like(part), where=now > 0)
            found = found * _spread_over(ratio, common, asked)
        if np.abs(found - before).sum() < 1e-9:
            break
    return found
