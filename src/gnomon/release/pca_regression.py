"""PCA-Gauss with a numeric target: one noisy moment matrix of rows and target, and a slope that noise cannot inflate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gnomon.model.discriminant import basis
from gnomon.model.linear import target_covariance
from gnomon.model.mixture import Mixture
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.mechanism import moment_noise
from gnomon.release.base import Account, Table
from gnomon.release.pca_look import Place
from gnomon.release.pca_stages import MEAN, Model, chart_of, into, outside_of, seen_by, stage_one
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Rows

QUIET = 0.02  # the noise, beside the rows, that decides how a numeric target is treated
TARGETS = {
    True: (GRID // 2, 3.0),
    False: (GRID, 1.25),
}  # its weight, and the standard deviations that it keeps


def with_target(table: Table, account: Account, place: Place, loss: Spendable, wanted: int | None) -> Model:
    """One Gaussian of all rows and a numeric target beside them: stage one is all it needs."""
    m, n = table.m, table.n
    weight, centre, reach = _target_range(table, place, loss)

    def rows_and_target(rows: Rows) -> Moments:
        Q: Matrix = np.empty((m + 2, len(rows.X))).T
        into(Q[:, :m], rows.X, place)
        Q[:, m] = np.rint(np.clip((rows.numbers - centre) / reach, -1.0, 1.0) * weight)
        Q[:, m + 1] = MEAN
        return Moments.of_batch(Q)

    one = stage_one(table, account, loss, rows_and_target, [weight, MEAN], ball(MEAN, weight**2))
    mean = one.mean(one.S[:m, m + 1], float(one.beside[m + 1]))
    target_noise = float(one.beside[m] * one.beside[m + 1] / one.beside[0])
    target_mean = float(one.mean(one.S[m : m + 1, m + 1], target_noise)[0])
    variance = max(float(one.S[m, m]) / n - target_mean**2, 0.02)
    found = one.spectrum(mean)
    noisy_cross = one.S[:m, m] / n - mean * target_mean
    cross = target_covariance(found, noisy_cross, float(one.beside[m]) / n, variance)
    slope = cross / found.floored  # the target depends on a row through its slope alone
    explained = float(slope @ cross) / variance
    size = math.sqrt(explained * float(found.floored.mean())) / max(float(np.linalg.norm(slope)), 1e-300)
    R = basis(found, slope[None] * size, wanted, m)
    P = R.shape[1]
    joint = np.empty((P + 1, P + 1))
    joint[:P, :P] = seen_by(found, R)
    joint[P, :P] = joint[:P, P] = R.T @ cross
    joint[P, P] = variance
    mixture = Mixture(np.ones(1), np.r_[np.zeros(P), target_mean][None], joint[None]).scaled(
        np.r_[np.ones(P), reach]
    )
    mixture = replace(mixture, means=mixture.means + np.r_[np.zeros(P), centre])
    return Model(chart_of(place, mean, found.vectors @ R), mixture, outside_of(one, found, mean, R, place))


def _target_range(table: Table, place: Place, loss: Spendable) -> tuple[int, float, float]:
    """The weight of a numeric target, and the centre and half width that it is clipped to: paid for, or declared.

    Where public numbers say that the noise is loud, the target weighs more and is clipped sooner.
    """
    law = moment_noise(table.m + 2, loss, ball=GRID**2).law
    weight, widths = TARGETS[law.off_diagonal / GRID**2 * math.sqrt(table.m) / table.n <= QUIET]
    centre = float(place.centre[table.m])
    return weight, centre, 1.0 if place.spread is None else widths * float(place.spread[table.m])
