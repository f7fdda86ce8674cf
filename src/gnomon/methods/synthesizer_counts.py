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


def measure_coordinates(rounds: Rounds) -> tuple[Coordinates, float]:
    """Coordinates by two rounds of counting, on a public grid, then at the quantiles of the first counts; and the rows."""
    public, plan = rounds.public, rounds.plan
    found, rows = _counted(rounds) if plan.counted else _shares(rounds)
    weight = np.ones(public.m + public.target.is_number)
    if public.target.is_number:
        weight[-1] = max(math.sqrt(len(weight)) / 2, 1.0)
    return Coordinates.of(plan.attributes, found, plan.counted, weight), rows


def _counted(rounds: Rounds) -> tuple[list[Marginal], float]:
    plan, t = rounds.plan, rounds.plan.tuning
    grid = [public_bins(attribute, t) for attribute in plan.attributes]
    first = _count(rounds, "first", "counts on the public grid", plan.attributes, grid)
    bins = [refined_bins(a, counts, plan.bins, t) for a, counts in zip(plan.attributes, first, strict=True)]
    second = _count(rounds, "second", "counts at the quantiles", plan.attributes, bins)
    counts = [combined(a, b) for a, b in zip(first, second, strict=True)]
    rows = rounds.public.n_or(float(np.mean([one.rows for one in counts])))
    return marginals(counts, rows, t), rows


def _shares(rounds: Rounds) -> tuple[list[Marginal], float]:
    """Where whole columns are too many bins to count: shares of few values and of missing cells alone."""
    t, every = rounds.plan.tuning, rounds.plan.attributes
    few = tuple(a for a in every if a.values is not None or a.indicator is not None)
    if not few:
        return [EVEN] * len(every), float(rounds.public.rows)
    bins = [Bins(WHOLE, EVEN.left, EVEN.right) if a.values is None else public_bins(a, t) for a in few]
    counts = _alike(few, _count(rounds, "first", "shares of values and of missing cells", few, bins))
    rows = rounds.public.n_or(float(np.mean([one.rows for one in counts])))
    known = {a.name: marginal_of(one, rows, t) for a, one in zip(few, counts, strict=True)}
    return [known.get(a.name, EVEN) for a in every], rows


def _alike(few: tuple[Attribute, ...], counts: list[Counts]) -> list[Counts]:
    """Counts of missing cells, and of both values of booleans, shrunk to their means over the columns."""
    found, noise = list(counts), counts[0].noise[0]
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
