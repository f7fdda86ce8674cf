"""From one noisy moment matrix to class means, a pooled covariance and the directions that matter.

All of it is post-processing. Means are shrunk direction by direction by what the noise can have added (a Wiener
filter); what the shrunk means do not explain stays in the pooled covariance, so that a class whose mean is unknown
is wide and not wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.model.repair import onto_simplex, shrink_weight
from gnomon.model.spectrum import Spectrum, Vector
from gnomon.statistics.grid import Matrix

PRIOR = 20.0  # how many classes' worth of evidence says that means spread in proportion to the variance
LEAST = 0.05  # no class keeps less than this part of the variance along any direction
WORTH = 0.01  # mean directions that spread less than this part of a direction's variance are left out


@dataclass(frozen=True)
class Means:
    """Class means in the coordinates of a spectrum: values (L, m), and what is still unknown of each (L, m)."""

    values: Matrix
    doubt: Matrix


def class_sizes(counts: Vector, noise: float, n: int) -> Vector:
    """Noisy counts onto the simplex of n; no class vanishes, since its model could not be drawn from."""
    least = min(max(1.0, noise / 2), n / (2 * len(counts)))
    return onto_simplex(counts - least, n - len(counts) * least) + least


def overall_mean(total: Vector, noise: float, n: int) -> Vector:
    """The mean of all rows from their noisy sum, shrunk toward the centre by what the noise can have added."""
    mean = total / n
    return mean * shrink_weight(float(mean @ mean), len(mean) * (noise / n) ** 2)


def class_means(found: Spectrum, away: Matrix, sizes: Vector, noise: float) -> Means:
    """Shrink noisy deviations `away` (L, m) of class means, whose sums have noise `noise`, in the spectrum's axes."""
    classes, _ = away.shape
    p = sizes / sizes.sum()
    doubt = (noise / sizes)[:, None] ** 2
    D = away @ found.vectors
    between = p @ (D**2 - doubt)
    part = float(np.clip(between.sum() / found.values.sum(), 0.01, 0.95))
    prior = (classes * np.maximum(between, 0.0) + PRIOR * part * found.values) / (classes + PRIOR)
    prior = np.clip(prior, 1e-12, 0.95 * found.floored)
    gain = prior / (prior + doubt)
    return Means(D * gain, prior * (1 - gain))


def pooled_covariance(found: Spectrum, means: Means, weights: Vector) -> Matrix:
    """The covariance within classes (m, m), in the spectrum's axes: what the class means leave of the variance."""
    scale = np.sqrt(found.floored)
    D = means.values / scale
    values, vectors = np.linalg.eigh(np.eye(len(scale)) - (D * weights[:, None]).T @ D)
    within: Matrix = (vectors * np.clip(values, LEAST, 1.0)) @ vectors.T
    return scale[:, None] * within * scale


def basis(found: Spectrum, directions: Matrix, wanted: int | None, most: int) -> Matrix:
    """R (m, P), orthonormal: the seen axes of the spectrum, then the rows of `directions` (k, m) beyond them.

    `wanted` fixes P (the rest is filled with the next axes); otherwise P is what is seen, at most `most`.
    """
    m = len(found.values)
    seen = max(1, min(found.seen, most, wanted or m))
    beyond = directions[:, seen:]
    found_directions: Matrix = np.zeros((0, m - seen))
    if beyond.size:
        _, size, across = np.linalg.svd(beyond, full_matrices=False)
        worth = size**2 > WORTH * float(found.floored[seen:].mean())
        found_directions = across[worth][: max(0, (wanted or most) - seen)]
    R = np.eye(m, seen)
    R = np.hstack([R, np.vstack([np.zeros((seen, len(found_directions))), found_directions.T])])
    if wanted is not None and R.shape[1] < wanted:
        fill = np.linalg.qr(np.hstack([R, np.eye(m)]))[0][:, R.shape[1] : wanted]
        R = np.hstack([R, fill])
    return R
