"""Noisy moments -> a mixture that can be sampled. All of it is post-processing and costs no budget.

The noise law is known, so every estimate is shrunk by what the noise is known to have added: counts onto the
simplex of n rows, class means toward the overall mean, class covariances toward the pooled one, eigenvalues by the
semicircle law. A class too small for its noise ends as the pooled model, not as nonsense.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.model.mixture import Mixture
from gnomon.model.shrinkage import onto_simplex, positive, signal_share
from gnomon.model.sums import Sums

FAINT = 0.2  # a class mean keeps this much of its direction, even where noise may explain all of it


@dataclass(frozen=True)
class Fitted:
    """A mixture, and which classes were too small for their noise (fell back to the pooled model)."""

    mixture: Mixture
    fallback: tuple[int, ...]


def rows_of(sums: Sums) -> int:
    """The number of rows behind noisy sums, where it is private: the noisy counts of all classes together."""
    return max(1, round(float(sums.counts.sum())))


def mixture_of(sums: Sums, rows: int | None) -> Fitted:
    """Class weights, means and covariances from noisy sums; `rows` is their public number, or None where it is private."""
    n = rows_of(sums) if rows is None else rows
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
        means[c] += signal_share(float(away @ away), float(mean_noise[c]), FAINT) * away
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
        weight = signal_share(float(np.sum(away**2)), p * (p + 1) * noise**2) if counts[c] > floor else 0.0
        left = float(np.hypot(weight * noise, (1 - weight) * pooled_noise))
        covariances[c] = positive(pooled + weight * away, left)
        if classes > 1 and counts[c] <= floor:
            fallback.append(c)
    return Fitted(Mixture(counts / counts.sum(), means, covariances), tuple(fallback))
