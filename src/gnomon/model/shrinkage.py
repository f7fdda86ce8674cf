"""Shrinkage by the known law of the noise: what a noisy number, vector or matrix holds beyond its noise."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gnomon.model.tuning import RESOLUTION, Tuning

Floats = npt.NDArray[np.float64]


def onto_simplex(counts: Floats, total: float) -> Floats:
    """The nearest nonnegative counts with the given sum."""
    ordered = np.sort(counts)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(counts) + 1)
    active = np.flatnonzero(ordered - excess > 0)
    shift = excess[active[-1]] if len(active) else (counts.sum() - total) / len(counts)
    return np.asarray(np.maximum(counts - shift, 0.0))


def signal_share(energy: float, noise_energy: float, least: float = 0.0) -> float:
    """James and Stein: the share of a noisy difference of squared size `energy` that its noise does not explain."""
    return max(least, 1 - noise_energy / energy) if energy > 0 else least


def pooled(values: Floats, noise: Floats | float) -> tuple[Floats, float]:
    """Noisy values of one kind, each moved to their mean as far as the noise explains their spread; and the deviation of
    the error that is left on average, for a known share: that of their mean where they are alike.
    """
    mean, energy = values.mean(), float(np.mean(np.square(noise)))
    share = signal_share(float(values.var()), energy)
    left = math.sqrt(energy * (share + (1 - share) / len(values)))
    return np.asarray(mean + share * (values - mean)), left


def shrunk_to_mean(values: Floats, noise: Floats | float) -> Floats:
    return pooled(values, noise)[0]


def value_masses(h: Floats, noise: Floats | float, n: float, t: Tuning) -> Floats:
    """Counts of few values: those that do not stand out share what they have together."""
    faint = h < t.clear * noise
    h = h.copy()
    if faint.any():
        h[faint] = shrunk_to_mean(h[faint], noise)
    h = np.maximum(h, RESOLUTION.tiny * n)
    if (~faint).any():  # the frequent values take up what is left of n
        rest = n - h[faint].sum()
        h[~faint] = np.maximum(onto_simplex(h[~faint], max(rest, 1.0)), RESOLUTION.tiny * n)
    return h


def posterior_means(counts: Floats, noise: Floats, zeros: int) -> tuple[Floats, Floats]:
    """Noisy counts of one kind, many of which may be zero: posterior means, and the chances that there is none.

    The prior is the law of all of them (empirical Bayes by EM, Kiefer and Wolfowitz 1956), with `zeros` more that are zero.
    """
    most = max(float((counts / noise).max()), 1.0)
    sizes = np.append(0.0, 2.0 ** (np.arange(-2, 2 * np.log2(most) + 1) / 2))
    fit = np.exp(-((counts[:, None] / noise[:, None] - sizes) ** 2) / 2)
    law = np.full(len(sizes), 1 / len(sizes))
    for _ in range(RESOLUTION.points):
        posterior = fit * law
        posterior /= posterior.sum(axis=1, keepdims=True)
        law = (posterior.sum(axis=0) + zeros * (sizes == 0)) / (len(counts) + zeros)
    return posterior @ sizes * noise, posterior[:, 0]


def shrunk_eigenvalues(raw: Floats, noise: float) -> Floats:
    """Eigenvalues x of a matrix with off-diagonal noise s, less what its semicircle explains: x - 2 m s^2 H(x).

    H is the Hilbert transform of their density (Bun, Allez, Bouchaud, Potters 2016). Pure noise ends at zero, the
    trace is kept, and no cut is needed.
    """
    if len(raw) < 2 or noise == 0:
        return raw
    apart = raw[:, None] - raw[None, :]
    hilbert = (apart / (apart * apart + noise * noise)).sum(axis=1)
    return np.asarray(raw - 2 * noise**2 * hilbert)


def spikes(raw: Floats, noise: float) -> Floats:
    """Eigenvalues beyond the edge e = 2 s sqrt(m) of a semicircle, each as sqrt(x^2 - e^2); those within it as zero.

    That is the best estimate, in Frobenius norm, of a low-rank matrix that keeps the noisy eigenvectors: it pays for the
    bias of an eigenvalue and for the tilt of its vector (Gavish and Donoho 2017, for the semicircle).
    """
    edge = 2 * noise * np.sqrt(len(raw))
    return np.asarray(np.sqrt(np.maximum(raw**2 - edge**2, 0.0)) * (raw > edge))


def positive(covariance: Floats, noise: float) -> Floats:
    """The positive semidefinite covariance behind a symmetric matrix with off-diagonal noise of std `noise`.

    Directions that stand out keep their `spikes`; what is left of the trace is spread over the others, so that the total
    variance is kept, and none of them exceeds one that stands out.
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    shrunk = spikes(values, noise)
    hidden = shrunk == 0
    if hidden.any():
        least = noise / np.sqrt(2 * len(values))  # half the standard deviation of the mean eigenvalue
        shrunk[hidden] = max(least, (values.sum() - shrunk.sum()) / np.count_nonzero(hidden))
        if not hidden.all():
            shrunk[hidden] = np.minimum(shrunk[hidden], shrunk[~hidden].min())
    return np.asarray((vectors * shrunk) @ vectors.T)


def denoised(S: Floats, noise: float) -> Floats:
    """The symmetric matrix, of any signs, behind a noisy one."""
    raw, U = np.linalg.eigh((S + S.T) / 2)
    return np.asarray((U * shrunk_eigenvalues(raw, noise)) @ U.T)


def toward(prior: Floats, S: Floats, noise: float, t: Tuning) -> Floats:
    """The prior and what of S - prior the semicircle does not explain, positive.

    The prior first takes the trace of S, which is the surest number of a noisy matrix. No variance is believed below the
    prior's where that is under one deviation of noise, nor anywhere below `t.least` of the prior's.
    """
    p, trace = len(S), float(np.trace(prior))
    ratio = float(np.trace(S)) / trace - 1
    prior = prior * max(1 + ratio * signal_share(ratio**2, 2 * p * (noise / trace) ** 2), t.least)
    raw, U = np.linalg.eigh(prior + denoised(S - prior, noise))
    known = np.einsum("ij,ik,kj->j", U, prior, U)
    least = np.maximum(t.least * known, np.minimum(known, noise))
    return np.asarray((U * np.maximum(raw, least)) @ U.T)
