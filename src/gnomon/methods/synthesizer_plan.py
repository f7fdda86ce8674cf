"""The Synthesizer's budget: losses of all rounds from public numbers alone, and what they afford.

One rule decides: the noise that a query would meet, beside the rows that it would count.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from gnomon.methods.planning import (
    SMALL,
    MethodPlan,
    PlannedNoise,
    advise,
    count_noise,
    distortion,
    doubled,
    moment_deviation,
    split,
)
from gnomon.methods.public import Public
from gnomon.model.columns import Attribute, attributes
from gnomon.model.tuning import RESOLUTION, Tuning
from gnomon.privacy.guarantee import Guarantee, Spendable
from gnomon.privacy.mechanism import moment_noise
from gnomon.statistics.grid import GRID
from gnomon.table.encode import Encoder
from gnomon.table.rows import CELL


@dataclass(frozen=True)
class BudgetPlan:
    """Losses of all rounds, fixed before the first answer, and what they afford; a round without a loss is left out.

    counted      whether every column is counted (rounds `first` and `second`), or only shares of few values and of
                 missing cells (`first`), and the location of all (`second`)
    of_classes   whether columns are counted a `third` time in every class, or in all rows
    bins         of a column that stand out of the noise of counting
    dimension    in which a class's covariance stands out of its noise
    target_bins  that a numeric target is cut into
    """

    tuning: Tuning
    losses: dict[str, Spendable]
    attributes: tuple[Attribute, ...]
    counted: bool
    of_classes: bool
    bins: int
    dimension: int
    target_bins: int

    @property
    def by_class(self) -> bool:
        return "classes" in self.losses

    @classmethod
    def of(cls, public: Public, t: Tuning) -> BudgetPlan:
        """What the budget affords."""
        rows, m = public.rows, public.m
        blocks = t.parts if public.target.is_number else public.target.blocks
        columns = len(attributes(public.encoder, 0))
        shares = _shares(public, t)
        losses = split(public.budget, shares)
        bins = int(min(rows / max(t.planned * count_noise(columns, losses["second"]), 1 / CELL), CELL))
        dimension = class_dimension(rows / blocks, m, blocks, losses["classes"])
        of_class = rows / blocks / max(t.planned * count_noise(columns, losses["third"]), 1 / CELL)
        counted = bins >= t.fewest_bins
        few = any(a.few for a in attributes(public.encoder, 0))
        found = attributes(public.encoder, min(bins, RESOLUTION.points) if counted else 0)
        left_out = set() if counted or few else {"first"}
        if not (counted and any(a.shaped for a in found if a.first < m)):
            left_out |= {"third"}
        if dimension < min(t.fewest_dimensions, m):
            left_out |= {"class_lengths", "classes"}
        losses = split(public.budget, _without(shares, left_out))
        parts = _target_bins(m, rows, losses["joint"], t)
        of_classes = blocks > 1 and "classes" in losses and of_class >= t.fewest_bins
        return cls(t, losses, found, counted, of_classes, min(bins, t.bins), dimension, parts)

    def fitted(self, public: Public, rows: float) -> BudgetPlan:
        """The same losses, and what they afford of the rows that were counted, where their number is private.

        A declared magnitude above the truth would cut rows into bins and classes that noise hides.
        """
        if public.n is not None:
            return self
        other = BudgetPlan.of(replace(public, rows=round(rows)), self.tuning)
        return replace(
            self,
            counted=self.counted and other.counted,
            of_classes=self.by_class and other.of_classes,
            bins=other.bins,
            dimension=other.dimension,
            target_bins=other.target_bins,
        )


def _shares(public: Public, t: Tuning) -> dict[str, float]:
    """Shares of all rounds. That of lengths grows until a few of their bins would stand out of the noise."""
    shares = {"first": t.counts / 2, "second": t.counts / 2, "lengths": t.lengths, "joint": t.joint}
    shares |= {"class_lengths": t.class_lengths, "classes": t.classes, "third": t.third}
    noise = count_noise(1, split(public.budget, shares)["lengths"])
    wanted = 2 * t.fewest_bins * noise / public.rows
    lengths = float(np.clip(t.lengths * wanted**2, t.lengths, t.fewest_bins * t.lengths))
    others = {name: share * (1 - lengths) / (1 - t.lengths) for name, share in shares.items()}
    return others | {"lengths": lengths}


def _without(shares: dict[str, float], left_out: set[str]) -> dict[str, float]:
    """What rounds that are left out would have cost goes to the moments of all rows."""
    kept = {name: share for name, share in shares.items() if name not in left_out}
    return kept | {"joint": kept["joint"] + sum(shares.values()) - sum(kept.values())}


def class_dimension(rows: float, m: int, blocks: int, loss: Spendable) -> int:
    """The largest dimension in which noise reaches at most half the variance of a direction, if all vary alike.

    Of rows in the unit ball each of p directions has 1 / p; the noise of their second moments reaches 2 sqrt(p) deviations.
    """

    def drowns(p: int) -> bool:
        return 2 * math.sqrt(p) * moment_deviation(p + 1, loss, 1 / 2, max(blocks, 2)) > rows / (2 * p)

    return bisect_left(range(1, m + 1), True, key=drowns)


def synthesizer_plan(name: str, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
    """What a table of n rows would meet. The error is that of the worst table, in which no direction matters more than
    another; related columns do better.
    """
    public = Public(encoder.schema, encoder, n, n, guarantee, 0)
    plan, m = BudgetPlan.of(public, Tuning()), encoder.width
    blocks, beside = encoder.target.blocks, plan.tuning.label
    joint = moment_noise(m + blocks, plan.losses["joint"], ball=round((1 + beside**2) * GRID**2))
    noise = joint.law.off_diagonal / GRID**2 / n
    edge = 2 * noise * math.sqrt(m)  # the noise's own largest eigenvalue; rows of the ball have 1/2 in all
    p = m if edge == 0 else max(1, min(m, math.floor(1 / (2 * edge))))
    lines = []
    if plan.counted:
        counted = count_noise(len(plan.attributes), plan.losses["second"])
        lines.append(PlannedNoise("bin of a column", "histogram", counted, "rows"))
    if blocks > 1:
        size = joint.law.diagonal / (beside * GRID) ** 2
        lines.append(PlannedNoise("size of a class", joint.mechanism, size, "rows"))
    relative = 2 * noise * p
    lines.append(PlannedNoise("covariance of all rows", joint.mechanism, relative, "variances"))
    error = math.hypot(relative, distortion(p, m))
    advice = "No noise at all: this is not private." if math.isinf(guarantee.epsilon) else advise(error)
    if error > SMALL and math.isfinite(guarantee.epsilon):
        advice += " This is the worst case: it sees more where columns are related."
    return MethodPlan(name, "model", p, tuple(lines), error, advice)


def _target_bins(m: int, rows: int, loss: Spendable, t: Tuning) -> int:
    noise = moment_deviation(m + 1, loss, t.label) / t.label
    return max(doubled(noise * math.sqrt(m) / rows, t.parts, t.part_noise), 2)
