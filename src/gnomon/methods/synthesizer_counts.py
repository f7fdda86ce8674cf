"""The Synthesizer's rounds of counting: marginals of all columns, and the coordinates that they make."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from gnomon.methods.public import Public
from gnomon.methods.synthesizer_plan import BudgetPlan
from gnomon.model.columns import Attribute, Bins
from gnomon.model.coordinates import Coordinates
from gnomon.model.marginal import (
    Counts,
    Marginal,
    combined,
    marginal_of,
    marginals,
    public_bins,
    refined_bins,
)
from gnomon.model.shrinkage import shrunk_to_mean
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.measure import Measurement, Measurer
from gnomon.statistics.grid import Integers
from gnomon.statistics.queries import Histogram, Query, TargetAsColumn
from gnomon.table.rows import CELL

WHOLE = np.array([CELL])  # the end of one bin that holds every cell
ONE_BIN = Bins(WHOLE, np.array([-1.0]), np.array([1.0]))
EVEN = Marginal(np.array([-1.0]), np.array([1.0]), np.ones(1))  # of a column that was not counted


@dataclass(frozen=True)
class Rounds:
    """The rows of one release, what is public about them, and what each round may cost."""

    data: Measurer
    public: Public
    plan: BudgetPlan

    def measure(self, name: str, query: Query, ends: Integers = WHOLE) -> Measurement:
        """A query in the round of this name. A numeric target is the rows' last column, and its bins are their classes."""
        asked = TargetAsColumn(query, ends) if self.public.target.is_number else query
        return replace(self.data.measure(asked, self.plan.losses[name]), query=query)


def measure_coordinates(rounds: Rounds) -> tuple[Rounds, Coordinates, float]:
    """Coordinates by two rounds of counting, on a public grid, then at the quantiles of the first counts; and the rows.

    Where the number of rows is private, the plan is fitted to the first count of them.
    """
    public, every = rounds.public, rounds.plan.attributes
    first, rows = _first(rounds)
    rounds = replace(rounds, plan=rounds.plan.fitted(public, rows))
    found, rows = (_counted if rounds.plan.counted else _shares)(rounds, first, rows)
    weight = np.ones(public.m + public.target.is_number)
    if public.target.is_number:
        weight[-1] = max(math.sqrt(len(weight)) / 2, 1.0)
    return rounds, Coordinates.of(every, found, rounds.plan.counted, weight), rows


def _first(rounds: Rounds) -> tuple[list[Counts], float]:
    """Counts on a public grid; where whole columns are too many bins, shares of few values and of missing cells alone."""
    plan, t = rounds.plan, rounds.plan.tuning
    if plan.counted:
        grid = [public_bins(attribute, t) for attribute in plan.attributes]
        counts = _count(rounds, "first", "counts on the public grid", plan.attributes, grid)
    else:
        few = _few(plan.attributes)
        if not few:
            return [], float(rounds.public.rows)
        bins = [ONE_BIN if a.values is None else public_bins(a, t) for a in few]
        counts = _count(rounds, "first", "shares of values and of missing cells", few, bins)
    return counts, rounds.public.n_or(float(np.mean([one.rows for one in counts])))


def _few(found: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    return tuple(a for a in found if a.values is not None or a.indicator is not None)


def _counted(rounds: Rounds, first: list[Counts], rows: float) -> tuple[list[Marginal], float]:
    plan, t, wanted = rounds.plan, rounds.plan.tuning, rounds.plan.bins(rows)
    bins = [refined_bins(a, counts, wanted, t) for a, counts in zip(plan.attributes, first, strict=True)]
    second = _count(rounds, "second", "counts at the quantiles", plan.attributes, bins)
    counts = [combined(a, b) for a, b in zip(first, second, strict=True)]
    rows = rounds.public.n_or(float(np.mean([one.rows for one in counts])))
    return marginals(counts, rows, t), rows


def _shares(rounds: Rounds, first: list[Counts], rows: float) -> tuple[list[Marginal], float]:
    """Marginals of few values, and missing cells of all columns."""
    t, every = rounds.plan.tuning, rounds.plan.attributes
    few = _few(every)
    if not few:
        return [EVEN] * len(every), rows
    if len(first) == len(every):  # whole columns were counted, whose bins turned out to be too many
        whole = dict(zip([a.name for a in every], first, strict=True))
        first = [whole[a.name] if a.values is not None else _in_one_bin(whole[a.name]) for a in few]
    counts = _alike(few, first)
    known = {a.name: marginal_of(one, rows, t) for a, one in zip(few, counts, strict=True)}
    return [known.get(a.name, EVEN) for a in every], rows


def _in_one_bin(counts: Counts) -> Counts:
    noise = np.sqrt((counts.noise**2).sum(keepdims=True))
    return replace(counts, bins=ONE_BIN, values=counts.values.sum(keepdims=True), noise=noise)


def _alike(few: tuple[Attribute, ...], counts: list[Counts]) -> list[Counts]:
    """Counts of missing cells, and of both values of booleans, shrunk to their means over the columns."""
    found, noise = list(counts), min(float(one.noise.min()) for one in counts)
    kinds = {"missing": [a.indicator is not None for a in few], "values": [a.kind == "boolean" for a in few]}
    for kind, which in kinds.items():
        places = np.flatnonzero(which).tolist()
        if places:
            seen = np.array([getattr(counts[i], kind) for i in places])
            for i, own in zip(places, np.apply_along_axis(shrunk_to_mean, 0, seen, noise), strict=True):
                found[i] = replace(found[i], **{kind: own})
    return found


def _count(
    rounds: Rounds, name: str, words: str, found: tuple[Attribute, ...], bins: list[Bins]
) -> list[Counts]:
    query = Histogram(words, tuple(a.binning(b) for a, b in zip(found, bins, strict=True)))
    measured = rounds.measure(name, query)
    deviations = clear_deviations(query.bins, isinstance(rounds.plan.losses[name], PureDP))
    counts = []
    for own, part in zip(bins, query.split(measured.answer), strict=True):
        values, missing = np.split(part[0].astype(np.float64), [len(own)])
        noise = np.full(len(own), measured.noise.diagonal)
        counts.append(Counts(own, values, noise, deviations, float(missing.sum())))
    return counts


def clear_deviations(bins: int, laplace: bool) -> float:
    """The deviations of noise that half a bin of so many is expected to exceed."""
    chance = 1 / (2 * max(bins, 2))
    return math.log(1 / (2 * chance)) / math.sqrt(2) if laplace else float(ndtri(1 - chance))
