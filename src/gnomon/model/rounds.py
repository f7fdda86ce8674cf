"""Rounds of noisy moments -> class Gaussians in a private subspace: prior plus what the noise law does not explain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from gnomon.model.mixture import Mixture
from gnomon.model.shrinkage import (
    Floats,
    onto_simplex,
    shrunk_eigenvalues,
    shrunk_to_mean,
    signal_share,
    toward,
    value_masses,
)
from gnomon.model.sums import Sums
from gnomon.model.tuning import RESOLUTION, Tuning

TINY = RESOLUTION.tiny
PER_OCTAVE = 2 * 2  # bins of lengths


@dataclass(frozen=True)
class Radius:
    """Balls from noisy histograms of lengths: radii (K,), and what clipping takes from lengths and squares (K,)."""

    radii: Floats
    kept: Floats
    kept_square: Floats


def length_grid(guess: float) -> Floats:
    """Upper ends of lengths, a quarter of an octave apart, from an eighth of the expected one to four times that."""
    return np.asarray(guess * 2.0 ** np.arange(-RESOLUTION.octaves, 2, 1 / PER_OCTAVE))


def radius(histograms: Floats, noise: float, grid: Floats, coverage: float, n: float) -> Radius:
    """For each block the length that holds `coverage` of its rows.

    Noise in a far bin would be many long rows. So the counts of all rows are a log-normal law, and what noise does not
    explain of their distance to it. Those of a block are its share of all, and likewise.
    """
    total, L = histograms.sum(axis=0), len(histograms)
    pooled = _beyond_noise(n * _log_normal(total), total, noise * math.sqrt(L), n)
    found = []
    for h in histograms:
        rows = max(float(h.sum()), noise)
        share = _beyond_noise(pooled * (rows / n), h, noise, rows) / rows if L > 1 else pooled / n
        r = grid[min(int(np.searchsorted(np.cumsum(share), coverage)), len(grid) - 1)]
        middle = grid * 2.0 ** (-1 / (2 * PER_OCTAVE))
        inside = np.minimum(1.0, r / middle)
        found.append((r, share @ inside, (share @ (middle * inside) ** 2) / (share @ middle**2)))
    return Radius(*(np.array(part) for part in zip(*found, strict=True)))


def _beyond_noise(prior: Floats, counts: Floats, noise: float, total: float) -> Floats:
    away = counts - prior
    share = signal_share(float(away @ away), len(away) * noise**2)
    return onto_simplex(prior + share * away, total)


def _log_normal(counts: Floats) -> Floats:
    """The masses of bins even in the logarithm under the normal law that is nearest to noisy counts."""
    B = len(counts)
    centre, spread = np.meshgrid(np.arange(0, B, 1 / 2), 2.0 ** np.arange(-1, math.log2(B)), indexing="ij")
    below = ndtr((np.arange(1, B) - centre[..., None]) / spread[..., None])
    masses = np.diff(below, axis=-1, prepend=0.0, append=1.0)
    scale = (masses @ counts) / (masses**2).sum(axis=-1)  # least squares in the number of rows, too
    best = np.argmax(np.where(scale > 0, scale * (masses @ counts), 0.0))
    return np.asarray(masses.reshape(-1, B)[best])


@dataclass(frozen=True)
class Subspace:
    """What the joint round found: directions, and Gaussians of the classes in them.

    centre (m,), covariance (m, m) of all rows, basis (m, P), scale (P,): coordinates are (s - centre) basis scale.
    counts (L,), means (L, P), within (P, P): class Gaussians of one covariance, in these coordinates.
    variances (m,) of all rows, shrunk to their mean.
    """

    centre: Floats
    covariance: Floats
    basis: Floats
    scale: Floats
    counts: Floats
    means: Floats
    within: Floats
    variances: Floats

    @property
    def dimension(self) -> int:
        return int(self.basis.shape[1])

    def cell_centres(self, k: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Cells in each class, of clusters of the model's own rows: their centres (L, k, P), and the covariance (P, P) of
        these rows around them."""
        if k == 1:
            return self.means[:, None, :], self.within
        from sklearn.cluster import KMeans

        found, around = [], np.zeros_like(self.within)
        for mean in self.means:
            rows = rng.multivariate_normal(mean, self.within, RESOLUTION.rows // 2, method="eigh")
            seed = int(rng.integers(np.iinfo(np.int32).max))
            clusters = KMeans(k, n_init=1, random_state=seed).fit(rows)
            away = rows - clusters.cluster_centers_[clusters.labels_]
            around += away.T @ away / (len(rows) * len(self.means))
            found.append(clusters.cluster_centers_)
        return np.stack(found), around


def subspace(sums: Sums, ball: Radius, n: float, most: int, t: Tuning) -> Subspace:
    """Directions in which all rows, or the classes' means, stand out of the noise; `most` by public numbers."""
    r, m = float(ball.radii[0]), sums.second.shape[1]
    counts = np.maximum(value_masses(sums.counts, sums.count_noise, n, t), 1.0)
    first = sums.first * (r / float(ball.kept[0]))
    centre = first.sum(axis=0) / n
    away = first / counts[:, None] - centre
    mean_noise = sums.first_noise * (r / float(ball.kept[0])) / counts
    factor = r * r / n / float(ball.kept_square[0])
    C, noise = sums.second[0] * factor - np.outer(centre, centre), sums.second_noise * factor
    raw, V = np.linalg.eigh((C + C.T) / 2)
    values = np.maximum(shrunk_eigenvalues(raw, noise), noise)  # no direction without variance
    values *= max(float(raw.sum()), TINY) / max(float(values.sum()), TINY)
    seen = int(np.count_nonzero(raw > 2 * noise * math.sqrt(m)))
    basis = V[:, ::-1][:, : min(max(seen, min(m, 2)), most)]
    basis, away = _with_class_means(basis, away, np.sqrt(counts / n), mean_noise)
    covariance = (V * values) @ V.T
    G = basis.T @ covariance @ basis
    scale = 1 / np.sqrt(np.sqrt(np.maximum(np.diag(G), TINY)))  # axes are evened by half
    means, within = _class_gaussians(
        G * np.outer(scale, scale), counts, (away @ basis) * scale, (mean_noise[:, None] * scale) ** 2, t
    )
    variances = shrunk_to_mean(np.diag(C), noise * math.sqrt(2))
    return Subspace(centre, covariance, basis, scale, counts, means, within, variances)


def _class_gaussians(
    G: Floats, counts: Floats, means: Floats, noise: Floats, t: Tuning
) -> tuple[Floats, Floats]:
    """Means of the classes, shrunk by their noise, and one covariance: what the means leave of that of all rows, G."""
    share = counts / counts.sum()
    prior = np.maximum(share @ (means**2 - noise), t.least * np.diag(G))
    means = means * (prior / (prior + noise)) if len(counts) > 1 else np.zeros_like(means)
    raw, U = np.linalg.eigh(G - (means.T * share) @ means)
    least = t.least * np.maximum(np.einsum("ij,ik,kj->j", U, G, U), TINY)
    return means, (U * np.maximum(raw, least)) @ U.T


def _with_class_means(basis: Floats, away: Floats, root: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """And the directions along which the classes' means leave it beyond their noise; there the means are shrunk.

    `root` (L,) are square roots of class shares. A singular value y of an m x L matrix with noise of deviation 1 / sqrt(m)
    comes from sqrt((y^2 - b - 1)^2 - 4 b) / y, b = L / m, as far as its vectors show it (Gavish, Donoho 2017).
    """
    L, m = away.shape
    if L == 1:
        return basis, away
    inside = (away @ basis) @ basis.T
    _, y, U = np.linalg.svd((away - inside) * root[:, None], full_matrices=False)
    y = y / max(math.sqrt(m * float(np.mean((noise * root) ** 2))), TINY)
    b = L / m
    k = min(int(np.count_nonzero(y > 1 + math.sqrt(b))), m - basis.shape[1])
    if k == 0:
        return basis, inside
    share = np.sqrt(np.maximum((y[:k] ** 2 - b - 1) ** 2 - (2 * math.sqrt(b)) ** 2, 0.0)) / y[:k] ** 2
    rest = (((away - inside) * root[:, None]) @ U[:k].T * share) @ U[:k] / root[:, None]
    return np.asarray(np.linalg.qr(np.hstack([basis, U[:k].T]))[0]), inside + rest


def class_cells(s: Subspace) -> Mixture:
    """One component a class, of the common covariance: what the joint round alone supports."""
    L = len(s.counts)
    return Mixture(s.counts / s.counts.sum(), s.means, np.repeat(s.within[None], L, axis=0))


def cells(prior: Subspace, centres: Floats, around: Floats, sums: Sums, ball: Radius, t: Tuning) -> Mixture:
    """Components from sums and counts by cell and second moments by class, shrunk cell to class to pooled."""
    L, k, P = centres.shape
    weights = _cell_weights(sums, prior.counts, k, t)
    size = np.maximum(sums.counts, max(t.clear * sums.count_noise, 1.0))
    step = sums.first / size[:, None]
    energy, noise_energy = (step**2).sum(axis=1), P * (sums.first_noise / size) ** 2
    keep = np.array([signal_share(float(a), float(b)) for a, b in zip(energy, noise_energy, strict=True)])
    step = step * (keep * np.repeat(ball.radii / ball.kept, k))[:, None]
    second = sums.second * (ball.radii**2 / ball.kept_square)[:, None, None]
    noise = sums.second_noise * ball.radii**2 / ball.kept_square
    classes = np.repeat(np.arange(L), k)
    moved = np.stack([(step[classes == c].T * weights[classes == c]) @ step[classes == c] for c in range(L)])
    total = weights.reshape(L, k).sum(axis=1)
    pooled_noise = math.sqrt(float((noise**2).sum())) / total.sum()
    pooled = toward(around, (second.sum(axis=0) - moved.sum(axis=0)) / total.sum(), pooled_noise, t)
    own = [toward(pooled, (second[c] - moved[c]) / total[c], noise[c] / total[c], t) for c in range(L)]
    means = centres.reshape(L * k, P) + step
    return Mixture(weights / weights.sum(), means, np.repeat(np.stack(own), k, axis=0), classes)


def _cell_weights(sums: Sums, counts: Floats, k: int, t: Tuning) -> Floats:
    """Counts by cell, none that noise explains; a class keeps the count of the joint round, whichever cells it loses."""
    if k == 1:
        return np.maximum(sums.counts, counts / 2)
    weights = np.where(sums.counts > t.clear * sums.count_noise, sums.counts, 0.0).reshape(-1, k)
    lost = weights.sum(axis=1) <= 0
    weights[lost, 0] = 1.0
    weights *= (np.maximum(counts, TINY) / weights.sum(axis=1))[:, None]
    return np.asarray(weights.reshape(-1))
