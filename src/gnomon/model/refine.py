"""Class covariances from their own noisy moments, each shrunk toward the pooled one by its noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.model.discriminant import LEAST, class_sizes
from gnomon.model.mixture import Mixture
from gnomon.model.repair import Sums, shrink_weight
from gnomon.model.spectrum import Vector, denoised, floor_within
from gnomon.statistics.grid import Matrix

EVEN = {
    True: 0.8,
    False: 0.5,
}  # how far the axes are brought towards equal spread: all columns, or a subspace of them
ROOM = 1.6  # the squared radius of the second ball, in units of the expected squared length
CALMEST = 0.05  # no class is believed to vary less than this part of the pooled variance


@dataclass(frozen=True)
class Lens:
    """How the second stage looks at a row of class c: z = K (x - means[c]) / radii[c], in a ball.

    K brings the axes towards equal spread, so that small but telling directions meet relatively less noise. Where all
    columns can be borne (`whole`), every class has a ball of its own: a calm one meets less noise than a restless one.
    """

    means: Matrix  # (L, P)
    within: Matrix  # (P, P), the pooled covariance of the first stage
    K: Matrix
    K_inverse: Matrix
    radii: Vector  # (L,)
    whole: bool

    @classmethod
    def of(cls, means: Matrix, within: Matrix, *, whole: bool) -> Lens:
        even = EVEN[whole]
        values, vectors = np.linalg.eigh(within)
        values = np.maximum(values, 1e-9 * max(float(values.max()), 1e-300))
        K = (vectors * values ** (-even / 2)) @ vectors.T
        K_inverse = (vectors * values ** (even / 2)) @ vectors.T
        radius = float(np.sqrt(ROOM * (values ** (1 - even)).sum()))
        return cls(means, within, K, K_inverse, np.full(len(means), radius), whole)


def refined(lens: Lens, sums: Sums, counts: Vector, count_noise: float, doubt: Matrix, n: int) -> Mixture:
    """The mixture after the second stage.

    sums             noisy class moments of the rows that the lens shows;
    counts           the first stage's noisy class counts, with noise `count_noise`;
    doubt (L, P)     what the first stage left unknown of each coordinate of each class mean.
    """
    sizes = _combined_sizes(sums, counts, count_noise, n)
    weights = sizes / sizes.sum()
    P = lens.within.shape[0]
    noise = sums.second_noise / sizes
    shifts = np.empty_like(lens.means)
    raw = np.empty((len(sizes), P, P))
    for c in range(len(sizes)):
        shifts[c] = _shrunk_shift(lens, sums, sizes[c], c, doubt[c])
        raw[c] = sums.second[c] / sizes[c] - np.outer(shifts[c], shifts[c])
    pooled = _pooled(lens, raw, weights, noise)
    covariances = np.empty_like(raw)
    for c in range(len(sizes)):
        back = lens.radii[c] * lens.K_inverse
        base = pooled / lens.radii[c] ** 2
        if lens.whole:
            base = _as_restless(base, raw[c], float(noise[c]))
        own = base + denoised(raw[c] - base, float(noise[c]))
        covariances[c] = back @ floor_within(own, base, LEAST) @ back
    return Mixture(weights, lens.means + (shifts * lens.radii[:, None]) @ lens.K_inverse, covariances)


def _combined_sizes(sums: Sums, counts: Vector, count_noise: float, n: int) -> Vector:
    """Both stages counted the classes: the average by precision."""
    first, second = count_noise**2, sums.count_noise**2
    if first + second == 0:
        return class_sizes(counts, 0.0, n)
    both = (counts * second + sums.counts * first) / (first + second)
    return class_sizes(both, float(np.sqrt(first * second / (first + second))), n)


def _shrunk_shift(lens: Lens, sums: Sums, size: float, c: int, doubt: Vector) -> Vector:
    """How far the class mean lies from where the first stage put it, as the lens shows it."""
    P = len(doubt)
    shift = sums.first[c] / size
    noise = (sums.first_noise / size) ** 2
    expected = float(np.mean(np.einsum("ij,j,ij->i", lens.K, doubt, lens.K))) / lens.radii[c] ** 2
    believed = expected / (expected + noise) if expected + noise > 0 else 0.0
    weight = max(believed, shrink_weight(float(shift @ shift), P * noise))
    found: Vector = weight * shift
    return found


def _pooled(lens: Lens, raw: Matrix, weights: Vector, noise: Vector) -> Matrix:
    """The pooled covariance of K x: the first stage's, moved toward the second's as far as its noise allows."""
    P = raw.shape[1]
    start = lens.K @ lens.within @ lens.K
    parts = weights * lens.radii**2
    move = np.einsum("c,cij->ij", parts, raw) - start
    spread = float(np.sqrt(np.sum((parts * noise) ** 2)))
    base = start + shrink_weight(float(np.sum(move**2)), P * (P + 1) * spread**2) * move
    values, vectors = np.linalg.eigh((base + base.T) / 2)
    found: Matrix = (vectors * np.maximum(values, 0.02 * max(float(values.mean()), 1e-12))) @ vectors.T
    return found


def _as_restless(pooled: Matrix, raw: Matrix, noise: float) -> Matrix:
    """The pooled covariance with the total variance of one class, as far as the noise lets it be known.

    A trace is one number out of P (P + 1) / 2 and the surest: its noise is that of P diagonal entries.
    """
    total = float(np.trace(pooled))
    doubt = noise * float(np.sqrt(2 * len(pooled))) / total
    away = float(np.trace(raw)) / total - 1
    times = 1 + shrink_weight(away**2, doubt**2) * away
    return pooled * max(times, doubt, CALMEST)
