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
from gnomon.model.mixture import Codes, Mixture
from gnomon.model.refine import ROOM, Lens, refined
from gnomon.model.repair import Sums
from gnomon.model.spectrum import Spectrum, spectrum
from gnomon.privacy.guarantee import Adjacency, Spendable
from gnomon.privacy.mechanism import moment_noise, release_moments
from gnomon.release.base import Account, Table
from gnomon.release.map import PublicMap
from gnomon.release.pca_look import Place, class_radii
from gnomon.statistics.grid import GRID, Matrix, ball_shrink, fine_grid, into_ball
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Rows

Vector = npt.NDArray[np.float64]
OUTSIDE = 0.5  # of the missing standard deviation is restored: more would drown what classifiers learn
LABEL = round(0.7 * GRID)  # the weight of a class label beside a row of length GRID
MEAN = round(0.2 * GRID)  # the constant coordinate of stage one, where no label carries the means
LAMBDA = GRID // 2  # the constant coordinate of stage two
LENGTHS = 0.05  # of stage two's budget: how long the rows of every class are
CLASS_GRID = 2.0 ** (np.arange(-9, 5) / 4)  # their lengths, of the length that all rows should have


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
        into(Q[:, :m], rows.X, place)
        Q[np.arange(len(Q)), m + rows.codes] = LABEL
        return Moments.of_batch(Q)

    one = stage_one(table, account, first, labelled, [LABEL] * L, ball(LABEL))
    counts, count_noise = np.diag(one.S)[m:], float(one.diagonal[m])
    sums, sum_noise = one.S[:m, m:].T, float(one.beside[m])
    sizes = class_sizes(counts, count_noise, n)
    warn_of_small(int(np.count_nonzero(sizes <= 2 * count_noise)), L)
    mean = one.mean(sums.sum(axis=0), math.sqrt(L) * sum_noise)
    found = one.spectrum(mean)
    means = class_means(found, sums / sizes[:, None] - mean, sizes, sum_noise)
    within = pooled_covariance(found, means, sizes / n)
    R = basis(found, np.sqrt(sizes / n)[:, None] * means.values, wanted, most)
    chart = chart_of(place, mean, found.vectors @ R)
    mixture = Mixture(sizes / n, means.values @ R, np.repeat((R.T @ within @ R)[None], L, axis=0))
    if second is not None:
        lens = Lens.of(mixture.means, mixture.covariances[0], whole=most == m)
        if lens.whole:
            lengths, second = second.split(LENGTHS, 1 - LENGTHS)
            lens = fitted(table, account, lengths, chart, lens, sizes)
        noisy = stage_two(table, account, second, chart, lens)
        mixture = refined(lens, noisy, counts, count_noise, means.doubt @ R**2, n)
    return Model(chart, mixture, outside_of(one, found, mean, R, place))


def bearable_dimensions(n: int, m: int, loss: Spendable, *, beside: int, ball: int, classes: int = 1) -> int:
    """In how many dimensions p a second stage's noise stays below what it measures; public numbers only.

    That is, its largest eigenvalue beside the variance of one of p equal directions, in an average class, where `beside`
    coordinates stand beside the rows and no row leaves `ball`.
    """
    most, fine = 0, 2**20
    while most < m:
        p = most + 1
        law = moment_noise(p + beside, loss, ball=fine * ball / GRID**2, blocks=classes).law
        if 2 * math.sqrt(p) * ROOM * p * law.off_diagonal / fine * classes / n > 1:
            break
        most = p
    return most


def fitted(
    table: Table, account: Account, loss: Spendable, chart: PublicMap, lens: Lens, sizes: Vector
) -> Lens:
    """The lens with a ball for every class, from the lengths of its rows: paid for, since rows told them."""
    seen = through(chart, lens)

    def lengths(rows: Rows) -> Vector:
        Z = seen.integers(rows.X, rows.codes)
        found: Vector = np.sqrt(np.einsum("ij,ij->i", Z, Z)) / seen.fine
        return found

    radii = class_radii(table, account, loss, lengths, CLASS_GRID, sizes)
    return replace(lens, radii=lens.radii * radii)


@dataclass(frozen=True)
class Through:
    """Rows as a lens shows them, in integers: one ball is `fine` long."""

    chart: PublicMap
    steps: Matrix  # (L, P), where each class has its middle
    relative: Vector  # (L,), the radius of each class, of the largest
    fine: float

    def integers(self, X: Matrix, codes: Codes | int = 0) -> Matrix:
        Z = np.rint(self.chart.components(X) * self.fine) - self.steps[codes]
        Z /= self.relative[codes, None]
        return np.rint(Z, out=Z)


def through(chart: PublicMap, lens: Lens) -> Through:
    assert chart.projection is not None
    largest, radius = float(np.linalg.norm(lens.K, 2)), float(lens.radii.max())
    lensed = replace(
        chart, projection=chart.projection @ lens.K / largest, radius=chart.radius * radius / largest
    )
    offsets, relative = lens.means @ lens.K / radius, lens.radii / radius
    longest = 1.01 * chart.reach / lensed.radius + float(np.linalg.norm(offsets, axis=1).max())
    fine = fine_grid(max(1.0, longest / float(relative.min())))
    return Through(lensed, np.rint(offsets * fine), relative, fine)


def stage_two(table: Table, account: Account, loss: Spendable, chart: PublicMap, lens: Lens) -> Sums:
    """Release the moments of every class as the lens shows its rows: around its own mean, in a ball that fits."""
    seen, P = through(chart, lens), chart.n_components

    def around(rows: Rows) -> Moments:
        Q: Matrix = np.empty((P + 1, len(rows.X))).T
        into_ball(seen.integers(rows.X, rows.codes), seen.fine, out=Q[:, :P])
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
    """One Gaussian of all rows: stage one is all it needs."""
    m = table.m

    def rows_alone(rows: Rows) -> Moments:
        Q: Matrix = np.empty((m + 1, len(rows.X))).T
        into(Q[:, :m], rows.X, place)
        Q[:, m] = MEAN
        return Moments.of_batch(Q)

    one = stage_one(table, account, loss, rows_alone, [MEAN], ball(MEAN))
    mean = one.mean(one.S[:m, m], float(one.beside[m]))
    found = one.spectrum(mean)
    R = basis(found, np.zeros((0, m)), wanted, m)
    mixture = Mixture(np.ones(1), np.zeros((1, R.shape[1])), seen_by(found, R)[None])
    return Model(chart_of(place, mean, found.vectors @ R), mixture, outside_of(one, found, mean, R, place))


def into(Q: Matrix, X: Matrix, place: Place) -> None:
    """Cells -> integer rows in the ball of the place, written into Q."""
    m = X.shape[1]
    centre, weight = place.centre[:m], place.weight[:m]
    fine = fine_grid(max(1.0, 1.01 * float(np.linalg.norm(weight * (1 + np.abs(centre)))) / place.radius))
    step = max(256, 2**18 // m)
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        Z = (X[rows] - centre) * (weight * (fine / place.radius))
        into_ball(np.rint(Z, out=Z), fine, out=Q[rows])


def chart_of(place: Place, mean: Vector, W: Matrix) -> PublicMap:
    """components(x) = W' (weighted cells around the mean), in units of the ball; longer rows are shortened to it."""
    m = len(mean)
    weight = place.weight[:m]
    centre = place.centre[:m] + mean * place.radius / weight
    return PublicMap(centre, weight, False, W, np.zeros(W.shape[1]), place.radius, reach=place.radius)


def seen_by(found: Spectrum, R: Matrix) -> Matrix:
    S: Matrix = R.T @ (found.floored[:, None] * R)
    return S


def outside_of(one: StageOne, found: Spectrum, mean: Vector, R: Matrix, place: Place) -> Vector:
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


def warn_of_small(small: int, classes: int) -> None:
    if small:
        warnings.warn(
            f"{small} of {classes} classes are too small for the noise at this budget; "
            "they lean on the pooled model.",
            GnomonWarning,
            stacklevel=5,
        )
