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
from gnomon.model.shrinkage import pooled
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
    first = _first(rounds)
    rows = public.n_or(float(np.mean([one.rows for one in first.values()])) if first else public.rows)
    rounds = replace(rounds, plan=rounds.plan.fitted(public, rows))
    found, rows = (_counted if rounds.plan.counted else _shares)(rounds, first, rows)
    weight = np.ones(public.m + public.target.is_number)
    if public.target.is_number:
        weight[-1] = max(math.sqrt(len(weight)) / 2, 1.0)
    return rounds, Coordinates.of(every, found, rounds.plan.counted, weight), rows


def _first(rounds: Rounds) -> dict[str, Counts]:
    """Counts on a public grid; where whole columns are too many bins, shares of few values and of missing cells alone."""
    plan, t = rounds.plan, rounds.plan.tuning
    found = tuple(a for a in plan.attributes if plan.counted or a.few)
    if not found:
        return {}
    words = "counts on the public grid" if plan.counted else "shares of values and of missing cells"
    bins = [public_bins(a, t) if plan.counted or a.values is not None else ONE_BIN for a in found]
    return dict(zip([a.name for a in found], _count(rounds, "first", words, found, bins), strict=True))


def _counted(rounds: Rounds, first: dict[str, Counts], rows: float) -> tuple[list[Marginal], float]:
    every, t = rounds.plan.attributes, rounds.plan.tuning
    bins = [refined_bins(a, first[a.name], rounds.plan.bins, t) for a in every]
    second = _count(rounds, "second", "counts at the quantiles", every, bins)
    counts = [combined(first[a.name], b) for a, b in zip(every, second, strict=True)]
    rows = rounds.public.n_or(float(np.mean([one.rows for one in counts])))
    return marginals(counts, rows, t), rows


def _shares(rounds: Rounds, first: dict[str, Counts], rows: float) -> tuple[list[Marginal], float]:
    """Marginals of few values, and missing cells of all columns."""
    every, known = rounds.plan.attributes, {}
    if few := tuple(a for a in every if a.few):
        for a, one in zip(few, _alike(few, [first[a.name] for a in few]), strict=True):
            own = marginal_of(one, rows, rounds.plan.tuning)
            known[a.name] = own if a.values is not None else replace(EVEN, missing=own.missing)
    return [known.get(a.name, EVEN) for a in every], rows


def _alike(few: tuple[Attribute, ...], counts: list[Counts]) -> list[Counts]:
    """Counts of missing cells, and of both values of booleans, shrunk to their means over the columns."""
    found, noise = list(counts), min(float(one.noise.min()) for one in counts)
    if places := [i for i, a in enumerate(few) if a.indicator is not None]:
        own, _ = pooled(np.array([counts[i].missing for i in places]), noise)
        for i, missing in zip(places, own, strict=True):
            found[i] = replace(found[i], missing=float(missing))
    if places := [i for i, a in enumerate(few) if a.kind == "boolean"]:
        first, second = (pooled(one, noise) for one in np.array([counts[i].values for i in places]).T)
        left = np.array([first[1], second[1]])
        for i, values in zip(places, np.column_stack([first[0], second[0]]), strict=True):
            found[i] = replace(found[i], values=values, noise=left)
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
