"""What a method says about a budget before it is spent, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gnomon.methods.gaussian_model import CONSTANT, LOCATION
from gnomon.privacy.guarantee import ApproxDP, Guarantee, PureDP, Spendable
from gnomon.privacy.mechanism import best_spend, moment_noise
from gnomon.statistics.frame import Binning
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import Histogram
from gnomon.table.encode import Encoder
from gnomon.table.rows import CELL

SMALL, LARGE = 0.25, 0.8  # expected error: below, it hardly shows; above, little of the data is left
_SOME_DELTA = 1e-6
_MOST_DOUBLINGS = 12
Dimension = Callable[[int, int, int, Callable[[int], Spendable], int], int]


@dataclass(frozen=True)
class PlannedNoise:
    """The noise that one statistic would meet: its standard deviation, in words of the statistic's unit."""

    statistic: str
    mechanism: str
    std: float
    unit: str


@dataclass(frozen=True)
class MethodPlan:
    """What one method would do.

    `error` is the expected relative error of what the release shows of the data: its noise relative to the spread
    of the data, and what a random projection to `n_components` dimensions distorts (see `distortion`).
    """

    method: str
    publishes: Literal["model", "rows"]
    n_components: int
    noise: tuple[PlannedNoise, ...]
    error: float
    advice: str


def moment_plan(
    name: str, encoder: Encoder, n: int, guarantee: Guarantee, dimension: Dimension
) -> MethodPlan:
    """The plan of a method that releases one moment matrix (count, sum, second moment) for each class."""
    p, noise, error = _moments(encoder, n, guarantee, dimension)
    advice = advise(error)
    if math.isinf(guarantee.epsilon):
        advice = "No noise at all: this is not private."
    elif error > LARGE:
        advice += _what_it_takes(encoder, n, guarantee, dimension)
    elif isinstance(guarantee, PureDP) and error > SMALL:
        other = ApproxDP(guarantee.epsilon, min(_SOME_DELTA, 0.1 / n), *guarantee.neighbours)
        better = _moments(encoder, n, other, dimension)[2]
        if better < 0.8 * error:
            advice += (
                f" With --delta {other.delta:.0e} the error would be {error / better:.1f} times smaller."
            )
    return MethodPlan(name, "model", p, noise, error, advice)


def advise(error: float) -> str:
    """One sentence from the expected error."""
    if error <= SMALL:
        return "The noise is small beside the covariance; this budget is enough for it, and a smaller one may be."
    if error <= LARGE:
        return "The main directions of the covariance survive; expect some loss of accuracy."
    return "Little of the data would be left."


def _what_it_takes(encoder: Encoder, n: int, guarantee: Guarantee, dimension: Dimension) -> str:
    for doubling in range(1, _MOST_DOUBLINGS + 1):
        if _moments(encoder, n << doubling, guarantee, dimension)[2] <= LARGE:
            return f" It takes about {n << doubling:,} rows, or {1 << doubling} times this epsilon, or fewer columns."
    return " It takes many more rows, or far fewer columns."


def distortion(p: int, m: int) -> float:
    """The relative standard deviation of a squared distance seen through a random projection from m to p dimensions.

    The squared length of a unit row's image is Beta(p/2, (m-p)/2): mean p/m, variance 2 p (m-p) / (m^2 (m+2)).
    """
    return math.sqrt(2 * (m - p) / (p * (m + 2)))


def _moments(
    encoder: Encoder, n: int, guarantee: Guarantee, dimension: Dimension
) -> tuple[int, tuple[PlannedNoise, ...], float]:
    """Dimension, noise per statistic, expected error."""
    classes = encoder.target.blocks
    extra = 2 if encoder.target.is_number else 1

    def spendable(q: int) -> Spendable:
        return best_spend(guarantee, q)

    p = dimension(encoder.width, n, classes, spendable, extra)
    q = p + extra
    _, loss = spendable(q).split(LOCATION, 1 - LOCATION)
    ball = GRID**2 + CONSTANT**2 * extra
    found = moment_noise(q, loss, ball=ball, blocks=classes)
    law, size = found.law, n / classes
    what = "a class" if classes > 1 else "all rows"
    variance = 0.5 / p  # rows in the unit ball spread about half of their square over p directions
    relative = law.off_diagonal / GRID**2 / size / variance
    spread = math.sqrt(variance)
    lines: tuple[PlannedNoise, ...] = (
        PlannedNoise(
            f"mean of {what}",
            found.mechanism,
            law.off_diagonal / (GRID * CONSTANT) / size / spread,
            "spreads",
        ),
        PlannedNoise(f"covariance of {what}", found.mechanism, relative, "variances"),
    )
    if classes > 1:
        lines = (PlannedNoise("size of a class", found.mechanism, law.diagonal / CONSTANT**2, "rows"), *lines)
    return p, lines, math.hypot(relative, distortion(p, encoder.width))


def split(budget: Spendable, shares: dict[str, float]) -> dict[str, Spendable]:
    """Losses by shares of mu squared; of a pure epsilon by their power 2/3, which balances the same errors."""
    power = 2 / 3 if isinstance(budget, PureDP) else 1.0
    weights = [share**power for share in shares.values()]
    total = sum(weights)
    return dict(zip(shares, budget.split(*(weight / total for weight in weights)), strict=True))


def count_noise(columns: int, loss: Spendable) -> float:
    """The standard deviation of a count in a histogram of so many attributes."""
    return Histogram("", (Binning((0,), np.array([CELL])),) * columns).noise(loss).law.diagonal


def moment_deviation(width: int, loss: Spendable, beside: float, blocks: int = 1) -> float:
    """The standard deviation of a second moment of rows in the unit ball, with a coordinate of this size beside them."""
    ball = round((1 + beside**2) * GRID**2)
    return moment_noise(width, loss, ball=ball, blocks=blocks).law.off_diagonal / GRID**2


def doubled(noise: float, most: int, small: float) -> int:
    """How many parts rows are cut into: doubled while the noise of a part's mean is small beside the ball of all."""
    parts = 1
    while 2 * parts <= most and 2 * parts * noise <= small:
        parts *= 2
    return parts
