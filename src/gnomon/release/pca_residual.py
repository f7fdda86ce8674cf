"""The second stage of PCA-Gauss with a numeric target: what the first slope left, seen in evened-out directions.

Stage one sees every direction in the ball of the longest. Where columns are related, the target often depends on short
directions, which drown there. Stage two brings the directions towards equal spread and looks at the distance of the
target from the first slope, which varies less than the target: both meet less noise for the same budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gnomon.model.linear import Slope, refined_slope
from gnomon.model.refine import Lens
from gnomon.privacy.guarantee import Adjacency, Spendable
from gnomon.privacy.mechanism import release_moments
from gnomon.release.base import Account, Table
from gnomon.release.map import PublicMap, Vector
from gnomon.release.pca_look import binned, counted, holding
from gnomon.release.pca_stages import CLASS_GRID, Through, bearable_dimensions, through
from gnomon.statistics.grid import GRID, Matrix, ball_shrink, fine_grid, into_ball
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Rows

# Shares of the stage's budget: how long rows are, and how far targets lie from the first slope.
LENGTHS, DISTANCES = 0.03, 0.03
HOLDS_ROWS, HOLDS_TARGETS = 0.9, 0.95  # the part of them that keeps its full weight
EXPECTED = 2.5  # standard deviations, the distance that most targets should keep
DISTANCE, CONSTANT = round(0.7 * GRID), round(0.3 * GRID)  # beside a row of length GRID


def bearable(n: int, m: int, loss: Spendable) -> int:
    """In how many dimensions the stage's noise can be borne; public numbers only."""
    return bearable_dimensions(n, m, loss, beside=2, ball=ball(CONSTANT, DISTANCE**2))


@dataclass(frozen=True)
class Residuals:
    """Integer rows as a lens shows them, and the distance of their target from the first slope.

    A row outside the ball is shortened, and its distance and its constant with it: a row of less weight, and not a row
    whose target belongs to a longer one. All sums are of integers, so they are the same for every batch and order.
    """

    seen: Through
    slope: Vector  # of the target, by one ball of the lens
    level: float
    centre: float
    unit: float

    def of(self, rows: Rows) -> tuple[Matrix, Vector, Vector]:
        """Rows on the grid, their weight in [0, 1], and the weighed distance, in units of `unit`."""
        Z = self.seen.integers(rows.X)
        longest = np.sqrt(np.einsum("ij,ij->i", Z, Z))
        weight: Vector = self.seen.fine / np.maximum(longest, self.seen.fine)
        fine = fine_grid(float(np.linalg.norm(self.slope)))
        expected = (Z @ np.rint(self.slope * fine)) / (fine * self.seen.fine)
        distance: Vector = ((rows.numbers - self.centre) / self.unit - self.level - expected) * weight
        return Z, weight, distance


def second_stage(
    table: Table,
    account: Account,
    loss: Spendable,
    chart: PublicMap,
    first: Slope,
    target: tuple[float, float],
) -> Slope:
    """The slope after a second look at rows around the first one; `target` is the centre and the unit of y."""
    lengths, distances, loss = loss.split(LENGTHS, DISTANCES, 1 - LENGTHS - DISTANCES)
    lens = Lens.of(first.mean[None], first.covariance, whole=True)

    def residuals(lens: Lens) -> Residuals:
        slope = lens.radii[0] * (lens.K_inverse @ first.slope)
        return Residuals(through(chart, lens), slope, first.level, *target)

    wide = residuals(lens)

    def length(rows: Rows) -> Vector:
        Z = wide.seen.integers(rows.X)
        found: Vector = np.sqrt(np.einsum("ij,ij->i", Z, Z)) / wide.seen.fine
        return found

    ball_size = _held(
        table, account, lengths, length, "lengths of the rows in the released subspace", HOLDS_ROWS
    )
    lens = replace(lens, radii=lens.radii * ball_size)
    seen = residuals(lens)
    expected = EXPECTED * math.sqrt(first.rest)

    def distance(rows: Rows) -> Vector:
        found: Vector = np.abs(seen.of(rows)[2]) / expected
        return found

    what = "distances of the target from the first slope"
    reach = expected * _held(table, account, distances, distance, what, HOLDS_TARGETS)
    P = chart.n_components

    def around(rows: Rows) -> Moments:
        Q: Matrix = np.empty((P + 2, len(rows.X))).T
        Z, weight, distance = seen.of(rows)
        into_ball(Z, seen.seen.fine, out=Q[:, :P])
        Q[:, P] = np.rint(np.clip(distance / reach, -1.0, 1.0) * DISTANCE)
        Q[:, P + 1] = np.rint(weight * CONSTANT)
        return Moments.of_batch(Q)

    exact = table.sum(around, Moments.zero(P + 2), stage="summing the moments around the first slope")
    noisy = account.record(
        release_moments(
            exact.matrix,
            ball(CONSTANT, DISTANCE**2),
            loss,
            statistic="moment matrix of rows and their distance from the first slope in the released subspace",
            adjacency=Adjacency.REPLACE_ONE,
        )
    )
    units = np.r_[np.full(P, GRID * ball_shrink(P)), DISTANCE / reach, CONSTANT]
    unit = np.outer(units, units)
    return refined_slope(first, lens, noisy.value[0] / unit, noisy.noise.off_diagonal / unit, table.n, reach)


def _held(
    table: Table,
    account: Account,
    loss: Spendable,
    sizes: Callable[[Rows], Vector],
    what: str,
    holds: float,
) -> float:
    """Of a public grid, the least size that holds this part of the rows, from a noisy histogram."""
    bins = len(CLASS_GRID)
    heights, noise = counted(table, account, loss, lambda rows: binned(sizes(rows), CLASS_GRID), bins, what)
    return holding(heights, noise, table.n, CLASS_GRID, holds)
