"""DPRP's rows and the second moments of all rows in one Gaussian release, in which the moments are free or nearly so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gnomon.model.denoise import NoisyMoments
from gnomon.privacy.guarantee import Adjacency, Spendable
from gnomon.privacy.mechanism import Noise, NoiseLaw, vector_noise
from gnomon.privacy.rounding import float_up, fraction, root_up
from gnomon.privacy.sensitivity import Norm, Sensitivity, moments, rows_with_moments
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID, Integers
from gnomon.statistics.queries import Moments, RowQuery
from gnomon.table.rows import Rows
from gnomon.table.target import Target

LABEL = GRID * 5 // 4  # a label's coordinate beside features that are at most GRID long
CONSTANT = GRID // 2  # where there are no classes, a constant coordinate carries the mean
JOINT = "one row for each record, and the second moments of all rows (a symmetric Gaussian matrix), together"
SUMMED = "second moments of all rows, as part of the joint release"


def labelled_moments(frame: Frame, target: Target) -> Moments:
    """Sums of outer products of (features, label) or, where there are no classes, of (features, number, constant)."""
    return Moments(SUMMED, frame, target, label=LABEL, constant=0 if target.is_class else CONSTANT)


@dataclass(frozen=True, eq=False)
class LabelledRows(RowQuery):
    """The integer rows (features, label) whose moments are summed, without their constant: one for each record."""

    moments: Moments
    row_share: float
    statistic: str = JOINT

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.moments.width - bool(self.moments.constant)

    @property
    def bound(self) -> float:  # type: ignore[override]
        return 2.0 * GRID

    def of_batch(self, rows: Rows) -> Integers:
        return self.moments.integers(rows)[0][:, : self.width].astype(np.int64)

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(joint_release(self.moments.ball, self.row_share)[0], loss)

    def moment_noise(self, loss: Spendable) -> Noise:
        """The noise of the sums beside that of the rows, which one event covers."""
        scale = float_up(
            fraction(self.noise(loss).scale) * joint_release(self.moments.ball, self.row_share)[1]
        )
        alone = moments(
            Norm.FROBENIUS, width=self.moments.width, ball=self.moments.ball, adjacency=loss.adjacency
        )
        if scale == 0:
            return Noise("none", alone, 0.0, NoiseLaw("none", 0.0, 0.0))
        return Noise("goe", alone, scale, NoiseLaw("goe", scale, scale / math.sqrt(2)))


def joint_release(ball: int, share: float) -> tuple[Sensitivity, Fraction]:
    """The sensitivity of rows with their moments, in units of the rows' noise, and the ratio of the two noises.

    A row r of squared length T at most, released with noise s, and the sum of rr' with noise s' = ratio s (a GOE), cost
    mu = sup sqrt(||r - t||^2 + ||rr' - tt'||_F^2 / ratio^2) / s. With ratio = sqrt(2 share T) that is sqrt(T) (1 + share) /
    (sqrt(share) mu') for `rows_with_moments`: so s' = sqrt(2) T (1 + share) / mu, from the moments alone (share 0) to twice
    that, where rows have s = 2 sqrt(T) / mu, as if they were alone (share 1).
    A constant coordinate in the summed rows only makes the change of a row smaller than the ball allows.
    """
    radius, ratio = root_up(ball), root_up(2 * fraction(share) * ball)
    return rows_with_moments(Norm.L2, radius=radius, ratio=ratio, adjacency=Adjacency.REPLACE_ONE), ratio


def noisy_moments(query: Moments, answer: Integers, noise: Noise, n: int) -> NoisyMoments:
    """The moments in units of the frame's ball."""
    unit = query.frame.unit
    return NoisyMoments(
        answer[0] / unit**2,
        noise.law.off_diagonal / unit**2,
        n,
        (LABEL if query.target.is_class else CONSTANT) / unit,
        query.target.blocks,
    )
