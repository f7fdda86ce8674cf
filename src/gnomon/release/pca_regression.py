"""PCA-Gauss with a numeric target: one noisy moment matrix of rows and target, and a slope that noise cannot inflate.

In many columns most of a row's length says nothing of the target, and each direction meets the noise with 1/m of the
signal. So, where public numbers say that the columns would drown, a share of the budget first buys how much each of
them tells of the target, and the rows are weighed by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gnomon.model.discriminant import basis
from gnomon.model.linear import Slope, kept_variance, target_covariance
from gnomon.model.spectrum import Spectrum, Vector
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.mechanism import moment_noise, vector_noise
from gnomon.release.base import Account, Table
from gnomon.release.pca_look import SECOND_GRID, Place, features, fitting_radius, noisy_sum, row_sensitivity
from gnomon.release.pca_residual import bearable, second_stage
from gnomon.release.pca_stages import MEAN, Model, StageOne, chart_of, into, outside_of, seen_by, stage_one
from gnomon.statistics.grid import GRID, Matrix, ball_shrink
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Rows

FIRST = 0.2  # stage one's share, where there is a stage two
FEWEST = 8  # stage two runs if it can bear this many dimensions (or all columns)
RELEVANCE, RADIUS = 0.10, 0.02  # shares of what the look leaves, where columns are weighed by relevance
HIDDEN = 0.5  # columns are weighed where the noise's edge reaches this part of the variance of one of m equal columns
TELLING = (
    0.3  # and a column with this correlation to the target is DOUBTS standard deviations above the noise
)
DOUBTS = 2.0
FAINTEST = 0.5  # the least relevance of a column, in standard deviations of its noise
HOLDS = 0.7  # the part of the rows that the ball should hold
TARGET = round(0.7 * GRID)  # the weight of a target beside a row of length GRID
WIDTHS = 2.5  # the standard deviations of the target that are kept
QUIET = 0.02  # the noise, beside the rows, above which less of the target is kept and the means weigh more
LOUD_WIDTHS, LOUD_MEAN = 1.0, round(0.35 * GRID)


@dataclass(frozen=True)
class Beside:
    """What stands beside a row of length GRID: a constant, and a target of which so many standard deviations are kept."""

    constant: int
    widths: float

    @classmethod
    def of(cls, n: int, m: int, loss: Spendable) -> Beside:
        """From public numbers: where they say that the noise is loud, the target is clipped sooner."""
        law = moment_noise(m + 2, loss, ball=GRID**2).law
        quiet = law.off_diagonal / GRID**2 * math.sqrt(m) / n <= QUIET
        return cls(MEAN, WIDTHS) if quiet else cls(LOUD_MEAN, LOUD_WIDTHS)

    @property
    def ball(self) -> int:
        return ball(self.constant, TARGET**2)


@dataclass(frozen=True)
class Stages:
    """How what the look leaves is shared out: relevance, ball and moments, if columns are weighed; and how many
    dimensions stage two has, if there is one.
    """

    weighing: tuple[float, float, float] | None
    most: int = 0

    def split(self, loss: Spendable) -> tuple[list[Spendable], Spendable, Spendable | None]:
        """What weighing costs (nothing, or relevance and ball), stage one, and stage two."""
        parts: tuple[Spendable, ...] = (loss,) if self.weighing is None else loss.split(*self.weighing)
        *weighing, rest = parts
        if not self.most:
            return weighing, rest, None
        first, second = rest.split(FIRST, 1 - FIRST)
        return weighing, first, second


def stages(n: int, m: int, loss: Spendable, wanted: int | None = None) -> Stages:
    """From public numbers: where stage two can bear all columns, nothing has to be weighed; else it gets what it can."""
    if wanted in (None, m) and bearable(n, m, loss.split(1 - FIRST)[0]) == m:
        return Stages(None, m)
    parts = shares(n, m, loss)
    rest = loss if parts is None else loss.split(*parts)[-1]
    most = bearable(n, m, rest.split(1 - FIRST)[0])
    return Stages(parts, (wanted or most) if most >= max(wanted or 0, min(m, FEWEST)) else 0)


def with_target(table: Table, account: Account, place: Place, loss: Spendable, wanted: int | None) -> Model:
    """One Gaussian of all rows and a numeric target beside them: one matrix of all columns, then, if it can be paid,
    a second look at what its slope left.
    """
    staged = stages(table.n, table.m, loss, wanted) if place.spread is not None else Stages(None)
    weighing, first, second = staged.split(loss)
    if weighing:
        relevance, radius = weighing
        place = weighed(table, account, place, relevance)
        fitted = fitting_radius(table, account, radius, features, place, place.radius * SECOND_GRID, HOLDS)
        place = replace(place, radius=fitted)
    beside = Beside.of(table.n, table.m, first)
    target = target_range(table, place, beside.widths)
    one, mean, found, cross, level, variance = _first_moments(table, account, place, first, beside, target)
    axes = cross / found.floored  # the target depends on a row through its slope alone
    explained = float(axes @ cross) / variance
    size = math.sqrt(explained * float(found.floored.mean())) / max(float(np.linalg.norm(axes)), 1e-300)
    R = basis(found, axes[None] * size, staged.most or wanted, staged.most or table.m)
    chart = chart_of(place, mean, found.vectors @ R)
    covariance = seen_by(found, R)
    slope = np.linalg.solve(covariance, R.T @ cross).astype(np.float64)
    kept = 1.0 if place.spread is None else kept_variance(beside.widths)
    rest = variance / kept - float(slope @ covariance @ slope)
    fitted_slope = Slope(np.zeros(len(slope)), covariance, slope, level, rest)
    if second is not None:
        fitted_slope = second_stage(table, account, second, chart, fitted_slope, target)
    return Model(chart, fitted_slope.mixture(*target), outside_within(one, found, mean, R, place))


def _first_moments(
    table: Table,
    account: Account,
    place: Place,
    loss: Spendable,
    beside: Beside,
    target: tuple[float, float],
) -> tuple[StageOne, Vector, Spectrum, Vector, float, float]:
    """Stage one, the mean of the rows, their spectrum, their covariance with the target, its mean and its variance."""
    (m, n), (centre, reach) = (table.m, table.n), target

    def rows_and_target(rows: Rows) -> Moments:
        Q: Matrix = np.empty((m + 2, len(rows.X))).T
        into(Q[:, :m], rows.X, place)
        Q[:, m] = np.rint(np.clip((rows.numbers - centre) / reach, -1.0, 1.0) * TARGET)
        Q[:, m + 1] = beside.constant
        return Moments.of_batch(Q)

    one = stage_one(table, account, loss, rows_and_target, [TARGET, beside.constant], beside.ball)
    mean = one.mean(one.S[:m, m + 1], float(one.beside[m + 1]))
    target_noise = float(one.beside[m]) * GRID * ball_shrink(m) / beside.constant
    level = float(one.mean(one.S[m : m + 1, m + 1], target_noise)[0])
    variance = max(float(one.S[m, m]) / n - level**2, 0.02)
    found = one.spectrum(mean)
    noisy_cross = one.S[:m, m] / n - mean * level
    cross = target_covariance(found, noisy_cross, float(one.beside[m]) / n, variance)
    return one, mean, found, cross, level, variance


def shares(n: int, m: int, loss: Spendable) -> tuple[float, float, float] | None:
    """What relevance, the ball and the moments cost, if public numbers say that relevance is worth its share.

    It is where the moments' noise would hide one of m equal columns, and where a telling column can be told.
    """
    left = 1 - RELEVANCE - RADIUS
    law = moment_noise(m + 2, loss.split(left)[0], ball=ball(MEAN, TARGET**2)).law
    edge = 2 * law.off_diagonal / GRID**2 * math.sqrt(m) / n
    part = loss.split(RELEVANCE)[0]
    noise = vector_noise(row_sensitivity(m, part), part)[2].diagonal / GRID / n
    told = TELLING / WIDTHS / math.sqrt(m) >= DOUBTS * noise
    return (RELEVANCE, RADIUS, left) if edge >= HIDDEN / m and told else None


def weighed(table: Table, account: Account, place: Place, loss: Spendable) -> Place:
    """Columns weighed by how much they tell of the target, so that the others leave the ball to them.

    The noisy sum of target times row (a row of the ball times a number in [-1, 1] stays in the ball) holds every
    column's covariance with the target. Its size, less what the noise adds and never below FAINTEST of the noise, is
    the weight: the scale of the slopes that a ridge on these columns then expects.
    """
    m = table.m
    centre, reach = target_range(table, place, WIDTHS)

    def times_target(rows: Rows) -> Matrix:
        Q: Matrix = np.empty((m, len(rows.X))).T
        into(Q, rows.X, place)
        Q *= np.clip((rows.numbers - centre) / reach, -1.0, 1.0)[:, None] / GRID
        return Q

    total, noise = noisy_sum(
        table, account, loss, times_target, m, 1.0, "covariance of every column with the target"
    )
    square = np.maximum(total**2 - noise**2, 0.0) + (FAINTEST * noise) ** 2
    if not square.any():
        return place
    relevance = np.sqrt(square / square.mean())
    return replace(place, weight=np.r_[place.weight[:m] * relevance, place.weight[m:]])


def target_range(table: Table, place: Place, widths: float) -> tuple[float, float]:
    """The centre and half width that a numeric target is clipped to: paid for, or declared."""
    reach = 1.0 if place.spread is None else widths * float(place.spread[table.m])
    return float(place.centre[table.m]), reach


def outside_within(one: StageOne, found: Spectrum, mean: Vector, R: Matrix, place: Place) -> Vector:
    """The spread outside the subspace: no column's is more than was paid for, since faint columns drown in noise."""
    spread = outside_of(one, found, mean, R, place)
    return spread if place.spread is None else np.minimum(spread, (place.spread * place.weight)[: one.m])
