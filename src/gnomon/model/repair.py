"""Noisy moments -> a mixture that can be sampled. All of it is post-processing and costs no budget.

The noise law is known, so every estimate is shrunk by what the noise is known to have added: counts onto the
simplex of n rows, class means toward the overall mean, class covariances toward the pooled one, eigenvalues by the
semicircle law. A class too small for its noise ends as the pooled model, not as nonsense.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.model.mixture import Mixture
from gnomon.privacy.mechanism import NoiseLaw
from gnomon.statistics.grid import Matrix

Vector = npt.NDArray[np.float64]
FAINT = 0.2  # a class mean keeps this much of its direction, even where noise may explain all of it


@dataclass(frozen=True)
class Sums:
    """Noisy class sums in natural units: counts (L,), first (L, p), second (L, p, p), and the noise std of each."""

    counts: Vector
    first: Matrix
    second: Matrix
    count_noise: float
    first_noise: float
    second_noise: float

    @classmethod
    def of_moments(cls, noisy: npt.NDArray[np.int64], law: NoiseLaw, *, unit: float, lam: int) -> Sums:
        """Undo the grid: `unit` integers per natural unit, `lam` for the constant coordinate."""
        return cls(
            counts=noisy[:, -1, -1] / lam**2,
            first=noisy[:, :-1, -1] / (unit * lam),
            second=noisy[:, :-1, :-1] / unit**2,
            count_noise=law.diagonal / lam**2,
            first_noise=law.off_diagonal / (unit * lam),
            second_noise=law.off_diagonal / unit**2,
        )


def onto_simplex(counts: Vector, total: float) -> Vector:
    """The nearest nonnegative counts that add up to the public number of rows."""
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    active = np.nonzero(ordered - excess > 0)[0]
    shift = excess[active[-1]] if len(active) else (counts.sum() - total) / len(counts)
    found: Vector = np.maximum(counts - shift, 0.0)
    return found


def shrink_weight(energy: float, noise_energy: float, least: float = 0.0) -> float:
    """How much of a deviation of squared size `energy` is signal, when noise alone has `noise_energy`."""
    return max(least, 1.0 - noise_energy / energy) if energy > 0 else least


def positive(covariance: Matrix, noise: float) -> Matrix:
    """The positive semidefinite covariance behind a symmetric matrix with off-diagonal noise of std `noise`.

    Pure noise has its eigenvalues in a semicircle of radius 2 sigma, sigma = noise sqrt(p). An eigenvalue v outside
    it comes from a signal whose Frobenius-optimal estimate is sqrt(v^2 - 4 sigma^2); what is left of the
    trace is spread over the directions inside, so that the total variance is kept.
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    edge = 2 * noise * np.sqrt(len(values))
    seen = values > edge
    shrunk = np.zeros_like(values)
    shrunk[seen] = np.sqrt(values[seen] ** 2 - edge**2)
    hidden = np.count_nonzero(~seen)
    if hidden:
        least = noise / np.sqrt(2 * len(values))  # half the standard deviation of the mean eigenvalue
        shrunk[~seen] = max(least, (values.sum() - shrunk.sum()) / hidden)
        if seen.any():
            shrunk[~seen] = np.minimum(shrunk[~seen], shrunk[seen].min())
    found: Matrix = (vectors * shrunk) @ vectors.T
    return found


@dataclass(frozen=True)
class Fitted:
    """A mixture, and which classes were too small for their noise (fell back to the pooled model)."""

    mixture: Mixture
    fallback: tuple[int, ...]


def mixture_of(sums: Sums, n: int) -> Fitted:
    """Class weights, means and covariances from the noisy sums of n rows."""
    classes, p = sums.first.shape
    least = min(
        sums.count_noise / 2, n / (2 * classes)
    )  # below it a count is noise, and no class should vanish
    counts = onto_simplex(sums.counts - least, n - classes * least) + least
    centre = sums.first.sum(axis=0) / n
    centre /= max(1.0, float(np.linalg.norm(centre)))
    floor = max(1.0, 2 * sums.count_noise)
    sizes = np.maximum(counts, floor)

    means = np.tile(centre, (classes, 1))
    mean_noise = p * (sums.first_noise / sizes) ** 2
    for c in range(classes):
        away = sums.first[c] / sizes[c] - centre
        means[c] += shrink_weight(float(away @ away), float(mean_noise[c]), FAINT) * away
        means[c] /= max(1.0, float(np.linalg.norm(means[c])))

    spread = means - np.average(means, axis=0, weights=counts)
    pooled = sums.second.sum(axis=0) / n - np.outer(centre, centre)
    if classes > 1:
        pooled -= np.einsum("c,ci,cj->ij", counts / n, spread, spread)
    pooled_noise = sums.second_noise * np.sqrt(classes) / n

    covariances = np.empty((classes, p, p))
    fallback = []
    for c in range(classes):
        noise = sums.second_noise / sizes[c]
        away = sums.second[c] / sizes[c] - np.outer(means[c], means[c]) - pooled
        weight = shrink_weight(float(np.sum(away**2)), p * (p + 1) * noise**2) if counts[c] > floor else 0.0
        left = float(np.hypot(weight * noise, (1 - weight) * pooled_noise))
        covariances[c] = positive(pooled + weight * away, left)
        if classes > 1 and counts[c] <= floor:
            fallback.append(c)
    return Fitted(Mixture(counts / counts.sum(), means, covariances), tuple(fallback))
