"""Distances, neighbours and clusters of records, from rows with noise of a known law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.errors import ParameterError
from gnomon.release.analyst.estimates import quantile

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
LAPLACE_FOURTH, GAUSSIAN_FOURTH = 14.0, 8.0  # Var of (e - e')^2 over the squared variance of a noise e
BLOCK = 2**22  # cells of a difference that is held at once


@dataclass(frozen=True)
class Law:
    """How released rows z = xR + e vary around records x.

    noise    the standard deviation of one coordinate of e;
    fourth   Var((e - e')^2) / noise^4: 14 for Laplace noise, 8 for Gaussian;
    stretch  the variance of |vR|^2 for a unit vector v: 2/k for a Gaussian projection.
    """

    noise: float
    fourth: float
    stretch: float

    def variance(self, a: Vector, k: int) -> Vector:
        """Variance of a recovered squared distance for the true one a: stretch a^2 + 8 s^2 a + fourth k s^4.

        With d = (x - y)R and e the difference of two noises of variance s^2 each, the estimate is |d|^2 + 2<d, e> +
        |e|^2 - 2 k s^2; its three random parts are uncorrelated, with variances stretch a^2, 4 * 2 s^2 * a and k Var(e^2).
        Var(e^2) is 8 s^4 for Gaussian noise and 14 s^4 for Laplace noise (whose fourth moment is 6 s^4).
        """
        s2 = self.noise**2
        found: Vector = self.stretch * a**2 + 8 * s2 * a + self.fourth * k * s2**2
        return found


@dataclass(frozen=True)
class Distances:
    """Estimated squared distances of records in k dimensions, with the law that they vary by."""

    value: Vector
    law: Law
    k: int

    @property
    def variance(self) -> Vector:
        """Of each estimate, at the distance that was estimated."""
        return self.law.variance(np.maximum(self.value, 0.0), self.k)

    @property
    def standard_error(self) -> Vector:
        return np.sqrt(self.variance)

    def chebyshev(self, away: float) -> Vector:
        """Chebyshev's bound on the chance that an estimate is farther than `away` from the truth (JL, section 4)."""
        if not away > 0:
            raise ParameterError(f"The 'away' of Chebyshev's bound must be positive. Got {away!r} instead.")
        return np.minimum(self.variance / away**2, 1.0)

    def interval(self, level: float = 0.95, *, by: str = "normal") -> tuple[Vector, Vector]:
        """All squared distances a that the estimate is within r standard deviations of, at the variance for a itself.

        r is that of the normal law or, with by="chebyshev", 1 / sqrt(1 - level), which holds for every law of the noise.
        Where the projection alone could be so far off, nothing bounds a distance from above.
        """
        if by not in ("normal", "chebyshev"):
            raise ParameterError(
                f"The 'by' of an interval must be 'normal' or 'chebyshev'. Got {by!r} instead."
            )
        r2 = float(quantile(level)) ** 2 if by == "normal" else 1 / (1 - level)
        s2 = self.law.noise**2
        # (value - a)^2 = r2 variance(a) is a quadratic in a
        A = 1 - r2 * self.law.stretch
        B = -2 * self.value - r2 * 8 * s2
        C = self.value**2 - r2 * self.law.fourth * self.k * s2**2
        return _roots(A, np.asarray(B), np.asarray(C))


def _roots(A: float, B: Vector, C: Vector) -> tuple[Vector, Vector]:
    """The ends of {a >= 0: A a^2 + B a + C <= 0}; from one root on to infinity where A is not positive."""
    root = np.sqrt(np.maximum(B**2 - 4 * A * C, 0.0))
    if A <= 0:
        # C <= 0: all a; C > 0: from the one positive root on
        first = 2 * C / np.maximum(-B + root, 1e-300)
        return np.where(C <= 0, 0.0, np.maximum(first, 0.0)), np.full(B.shape, np.inf)
    return np.maximum((-B - root) / (2 * A), 0.0), np.maximum((-B + root) / (2 * A), 0.0)


def recovered(difference: Matrix, law: Law) -> Distances:
    """Squared distances before projection and noise, from differences (..., k) of released rows: without bias."""
    k = difference.shape[-1]
    squares = np.einsum("...j,...j->...", difference, difference)
    return Distances(squares - 2 * k * law.noise**2, law, k)


@dataclass(frozen=True)
class Neighbours:
    """The nearest released rows of one: their places, nearest first, and the estimated squared distances."""

    places: Places
    distances: Distances


@dataclass(frozen=True)
class Clusters:
    """K-means of released rows.

    labels   of every released row;
    centres  (clusters, k) in released components, free of bias;
    inertia  the mean squared distance of a record to its centre, without what the noise adds.
    """

    labels: Places
    centres: Matrix
    inertia: float


@dataclass(frozen=True, eq=False)
class NoisyRows:
    """Released rows Z (n, k) and their law: what questions about single records are answered from."""

    Z: Matrix
    law: Law

    @property
    def k(self) -> int:
        return int(self.Z.shape[1])

    def distances(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Distances:
        """Squared distances of the records of rows i and j, one pair or many at once, free of bias (Algorithm 2)."""
        first, second = np.broadcast_arrays(places_of(i, len(self.Z)), places_of(j, len(self.Z)))
        return recovered(self.Z[first] - self.Z[second], self.law)

    def neighbours(self, i: int, count: int = 5) -> Neighbours:
        """The `count` rows nearest to row i. The noise adds the same to every distance, so that the order stands."""
        n = len(self.Z)
        if not isinstance(count, int | np.integer) or not 1 <= count < n:
            raise ParameterError(
                f"The number of neighbours must be from 1 to {n - 1}. Got {count!r} instead."
            )
        place = int(places_of(i, n))
        squares = np.empty(n)
        step = max(1, BLOCK // max(1, self.k))
        for start in range(0, n, step):
            away = self.Z[start : start + step] - self.Z[place]
            squares[start : start + step] = np.einsum("ij,ij->i", away, away)
        squares[place] = np.inf
        nearest = np.argpartition(squares, count - 1)[:count]
        nearest = nearest[np.argsort(squares[nearest], kind="stable")]
        return Neighbours(nearest, recovered(self.Z[nearest] - self.Z[place], self.law))

    def clusters(self, count: int, *, random_state: int | None = 0) -> Clusters:
        """K-means on the rows. What the noise adds to the inertia is taken off: k s^2 a row, less its share in a centre."""
        from sklearn.cluster import KMeans

        n = len(self.Z)
        if not isinstance(count, int | np.integer) or not 1 <= count <= n:
            raise ParameterError(f"The number of clusters must be from 1 to {n}. Got {count!r} instead.")
        fitted = KMeans(count, n_init=10, random_state=random_state).fit(self.Z)
        noise = self.k * self.law.noise**2 * (n - count) / n
        return Clusters(fitted.labels_.astype(np.int64), fitted.cluster_centers_, fitted.inertia_ / n - noise)


def places_of(places: npt.ArrayLike, n: int) -> Places:
    """Places of records, from 0 to n - 1."""
    asked = np.asarray(places)
    if asked.dtype.kind not in "iu" or (asked.size and not 0 <= asked.min() <= asked.max() < n):
        raise ParameterError(f"The places of records must be integers from 0 to {n - 1}.")
    return asked.astype(np.int64)
