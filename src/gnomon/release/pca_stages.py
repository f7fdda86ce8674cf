"""The two stages of PCA-Gauss: one noisy moment matrix of everything, then one for each class in its subspace."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnomon.errors import GnomonWarning
from gnomon.model.discriminant import basis, class_means, class_sizes, overall_mean, pooled_covariance
from gnomon.model.linear import target_covariance
from gnomon.model.mixture import Mixture
from gnomon.model.refine import Lens, refined
from gnomon.model.repair import Sums
from gnomon.model.spectrum import Spectrum, spectrum
from gnomon.privacy.guarantee import Adjacency, Spendable
from gnomon.privacy.mechanism import moment_noise, release_moments
from gnomon.release.base import Account, Table
from gnomon.release.map import PublicMap
from gnomon.release.pca_look import Place
from gnomon.statistics.grid import GRID, Matrix, ball_shrink, fine_grid, into_ball
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Rows

Vector = npt.NDArray[np.float64]
OUTSIDE = 0.5  # of the missing standard deviation is restored: more would drown what classifiers learn
LABEL = round(0.7 * GRID)  # the weight of a class label beside a row of length GRID
MEAN = round(0.2 * GRID)  # the constant coordinate of stage one, where no label carries the means
LAMBDA = GRID // 2  # the constant coordinate of stage two
QUIET = 0.02  # the noise, beside the rows, that decides how a numeric target is treated
TARGETS = {
    True: (GRID // 2, 3.0),
    False: (GRID, 1.25),
}  # its weight, and the standard deviations that it keeps


@dataclass(frozen=True)
class Model:
    """What a release samples from: the map, the mixture of its components, and the spread outside the subspace."""

    chart: PublicMap
    mixture: Mixture
    outside: Vector  # (m,), standard deviations of the weighted cells


@dataclass(frozen=True)
class StageOne:
    """A noisy moment matrix in natural units (rows in the unit ball), summed over rows; and the noise of its entries."""

    S: Matrix
    m: int  # the columns of S that are features
    n: int
    diagonal: Vector  # noise of each diagonal entry
    beside: Vector  # noise of the entries (feature, j) for each column j

    def mean(self, total: Vector, noise: float) -> Vector:
        return overall_mean(total, noise, self.n)

    def covariance(self, mean: Vector) -> Matrix:
        C: Matrix = self.S[: self.m, : self.m] / self.n - np.outer(mean, mean)
        return C

    def spectrum(self, mean: Vector) -> Spectrum:
        return spectrum(self.covariance(mean), float(self.beside[0]) / self.n)


def stage_one(
    table: Table, account: Account, loss: Spendable, f: Callable[[Rows], Moments], beside: list[int], T: int
) -> StageOne:
    """Release the moments of integer rows (q, beside), q of m columns in the ball of radius GRID."""
    m, q = table.m, table.m + len(beside)
    exact = table.sum(f, Moments.zero(q), stage="summing the moments of all rows").matrix
    noisy = account.record(
        release_moments(
            exact,
            T,
            loss,
            statistic="moment matrix of rows, target and constant in the full dimension",
            adjacency=Adjacency.REPLACE_ONE,
        )
    )
    units = np.r_[np.full(m, GRID * ball_shrink(m)), np.asarray(beside, dtype=np.float64)]
    return StageOne(
        noisy.value[0] / np.outer(units, units),
        m,
        table.n,
        noisy.noise.diagonal / units**2,
        noisy.noise.off_diagonal / (units[0] * units),
    )


def classified(
    table: Table,
    account: Account,
    place: Place,
    first: Spendable,
    second: Spendable | None,
    most: int,
    wanted: int | None,
) -> Model:
    """Class means and a pooled covariance from one matrix; then, if it can be paid, a covariance for each class."""
    m, L, n = table.m, table.n_classes, table.n

    def labelled(rows: Rows) -> Moments:
        Q: Matrix = np.zeros((m + L, len(rows.X))).T
        _into(Q[:, :m], rows.X, place)
        Q[np.arange(len(Q)), m + rows.codes] = LABEL
        return Moments.of_batch(Q)

    one = stage_one(table, account, first, labelled, [LABEL] * L, ball(LABEL))
    counts, count_noise = np.diag(one.S)[m:], float(one.diagonal[m])
    sums, sum_noise = one.S[:m, m:].T, float(one.beside[m])
    sizes = class_sizes(counts, count_noise, n)
    _warn_of_small(sizes, count_noise)
    mean = one.mean(sums.sum(axis=0), math.sqrt(L) * sum_noise)
    found = one.spectrum(mean)
    means = class_means(found, sums / sizes[:, None] - mean, sizes, sum_noise)
    within = pooled_covariance(found, means, sizes / n)
    R = basis(found, np.sqrt(sizes / n)[:, None] * means.values, wanted, most)
    chart = _chart(place, mean, found.vectors @ R)
    mixture = Mixture(sizes / n, means.values @ R, np.repeat((R.T @ within @ R)[None], L, axis=0))
    if second is not None:
        lens = Lens.of(mixture.means, mixture.covariances[0])
        noisy = stage_two(table, account, second, chart, lens)
        mixture = refined(lens, noisy, counts, count_noise, means.doubt @ R**2, n)
    return Model(chart, mixture, _outside(one, found, mean, R, place))


def stage_two(table: Table, account: Account, loss: Spendable, chart: PublicMap, lens: Lens) -> Sums:
    """Release the moments of every class as the lens shows its rows: around its own mean, in a ball that fits."""
    largest = float(np.linalg.norm(lens.K, 2))
    assert chart.projection is not None
    through = replace(
        chart, projection=chart.projection @ lens.K / largest, radius=chart.radius * lens.radius / largest
    )
    offsets = lens.means @ lens.K / lens.radius
    P = chart.n_components
    longest = 1.01 * chart.reach / through.radius + float(np.linalg.norm(offsets, axis=1).max())
    fine = fine_grid(max(1.0, longest))
    steps = np.rint(offsets * fine)

    def around(rows: Rows) -> Moments:
        Z = np.rint(through.components(rows.X) * fine) - steps[rows.codes]
        Q: Matrix = np.empty((P + 1, len(Z))).T
        into_ball(Z, fine, out=Q[:, :P])
        Q[:, P] = LAMBDA
        return Moments.of_batch(Q, rows.codes, table.n_classes)

    exact = table.sum(
        around, Moments.zero(P + 1, table.n_classes), stage="summing the moments of every class"
    )
    noisy = account.record(
        release_moments(
            exact.matrix,
            ball(LAMBDA),
            loss,
            statistic="count, sum and second moment of every class in the released subspace",
            adjacency=Adjacency.REPLACE_ONE,
        )
    )
    return Sums.of_moments(noisy.value, noisy.noise, unit=GRID * ball_shrink(P), lam=LAMBDA)


def gaussian(table: Table, account: Account, place: Place, loss: Spendable, wanted: int | None) -> Model:
    """One Gaussian of all rows, with a numeric target beside them if there is one: stage one is all it needs."""
    if table.task == "regression":
        return _with_target(table, account, place, loss, wanted)
    m = table.m

    def rows_alone(rows: Rows) -> Moments:
        Q: Matrix = np.empty((m + 1, len(rows.X))).T
        _into(Q[:, :m], rows.X, place)
        Q[:, m] = MEAN
        return Moments.of_batch(Q)

    one = stage_one(table, account, loss, rows_alone, [MEAN], ball(MEAN))
    mean = one.mean(one.S[:m, m], float(one.beside[m]))
    found = one.spectrum(mean)
    R = basis(found, np.zeros((0, m)), wanted, m)
    mixture = Mixture(np.ones(1), np.zeros((1, R.shape[1])), _seen(found, R)[None])
    return Model(_chart(place, mean, found.vectors @ R), mixture, _outside(one, found, mean, R, place))


def _with_target(table: Table, account: Account, place: Place, loss: Spendable, wanted: int | None) -> Model:
    m, n = table.m, table.n
    weight, centre, reach = _target_range(table, place, loss)

    def rows_and_target(rows: Rows) -> Moments:
        Q: Matrix = np.empty((m + 2, len(rows.X))).T
        _into(Q[:, :m], rows.X, place)
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
    joint[:P, :P] = _seen(found, R)
    joint[P, :P] = joint[:P, P] = R.T @ cross
    joint[P, P] = variance
    mixture = Mixture(np.ones(1), np.r_[np.zeros(P), target_mean][None], joint[None]).scaled(
        np.r_[np.ones(P), reach]
    )
    mixture = replace(mixture, means=mixture.means + np.r_[np.zeros(P), centre])
    return Model(_chart(place, mean, found.vectors @ R), mixture, _outside(one, found, mean, R, place))


def _target_range(table: Table, place: Place, loss: Spendable) -> tuple[int, float, float]:
    """The weight of a numeric target, and the centre and half width that it is clipped to: paid for, or declared.

    Where public numbers say that the noise is loud, the target weighs more and is clipped sooner.
    """
    law = moment_noise(table.m + 2, loss, ball=GRID**2).law
    weight, widths = TARGETS[law.off_diagonal / GRID**2 * math.sqrt(table.m) / table.n <= QUIET]
    centre = float(place.centre[table.m])
    return weight, centre, 1.0 if place.spread is None else widths * float(place.spread[table.m])


def _into(Q: Matrix, X: Matrix, place: Place) -> None:
    """Cells -> integer rows in the ball of the place, written into Q."""
    m = X.shape[1]
    centre, weight = place.centre[:m], place.weight[:m]
    fine = fine_grid(max(1.0, 1.01 * float(np.linalg.norm(weight * (1 + np.abs(centre)))) / place.radius))
    step = max(256, 2**18 // m)
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        Z = (X[rows] - centre) * (weight * (fine / place.radius))
        into_ball(np.rint(Z, out=Z), fine, out=Q[rows])


def _chart(place: Place, mean: Vector, W: Matrix) -> PublicMap:
    """components(x) = W' (weighted cells around the mean), in units of the ball; longer rows are shortened to it."""
    m = len(mean)
    weight = place.weight[:m]
    centre = place.centre[:m] + mean * place.radius / weight
    return PublicMap(centre, weight, False, W, np.zeros(W.shape[1]), place.radius, reach=place.radius)


def _seen(found: Spectrum, R: Matrix) -> Matrix:
    S: Matrix = R.T @ (found.floored[:, None] * R)
    return S


def _outside(one: StageOne, found: Spectrum, mean: Vector, R: Matrix, place: Place) -> Vector:
    """Standard deviations (m,) of independent noise that, outside the subspace, restores what the columns vary."""
    U = found.vectors @ R
    inside = R.T @ (found.values[:, None] * R)
    missing = np.maximum(
        np.diag(one.covariance(mean)) - np.einsum("ij,jk,ik->i", U, inside, U, optimize=True), 0.0
    )
    kept = float(np.sum((1 - np.sum(U**2, axis=1)) * missing))
    left = max(float(found.values.sum() - np.trace(inside)), 0.0)
    spread: Vector = OUTSIDE * place.radius * np.sqrt(missing * (left / kept if kept > 1e-12 else 0.0))
    return spread


def _warn_of_small(sizes: Vector, noise: float) -> None:
    small = int(np.count_nonzero(sizes <= 2 * noise))
    if small:
        warnings.warn(
            f"{small} of {len(sizes)} classes are too small for the noise at this budget; "
            "they lean on the pooled model.",
            GnomonWarning,
            stacklevel=5,
        )
