"""The spectrum behind a noisy symmetric matrix. The law of the noise is known, so this is free post-processing.

Let S = C + Z, where Z is symmetric with off-diagonal standard deviation s and S has m columns. Pure noise has its
eigenvalues in a semicircle of radius 2 s sqrt(m). Among all estimates that keep the eigenvectors of S, the one
nearest to C in Frobenius norm has the eigenvalues x - 2 m s^2 H(x), where x is an eigenvalue of S and H the Hilbert
transform of its spectral density (Bun, Allez, Bouchaud, Potters 2016). It needs no cut: pure noise (H = x / (2 m s^2))
ends at 0, and an isolated x = t + m s^2 / t, which comes from a true eigenvalue t, ends at sqrt(x^2 - 4 m s^2) = t - m
s^2 / t = t cos^2(the angle between the true and the noisy eigenvector). The sum of all H is 0: the trace is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.statistics.grid import Matrix

Vector = npt.NDArray[np.float64]
FLOOR = 3.0  # no variance is believed to be below this many standard deviations of its noise
EDGE = 1.05  # an eigenvalue counts as seen from this many times the edge of the noise


@dataclass(frozen=True)
class Spectrum:
    """A covariance by its directions, the largest first.

    vectors (m, m)   orthonormal columns; values (m,) their shrunk variances, which keep the trace;
    floored (m,)     the variances that a model uses: never below FLOOR times the noise, since a smaller one is luck;
    seen             how many eigenvalues lie beyond the edge of the noise;
    noise            the standard deviation of an off-diagonal entry.
    """

    vectors: Matrix
    values: Vector
    floored: Vector
    seen: int
    noise: float


def spectrum(S: Matrix, noise: float) -> Spectrum:
    """The shrunk spectrum of a noisy covariance `S` whose off-diagonal noise has standard deviation `noise`."""
    raw, vectors = np.linalg.eigh((S + S.T) / 2)
    m = len(raw)
    kept = np.maximum(shrunk(raw, noise), 0.0)
    trace = max(float(raw.sum()), 1e-9)
    kept = np.maximum(kept * (trace / max(float(kept.sum()), 1e-300)), 1e-4 * trace / m)
    floored = np.maximum(kept, max(FLOOR * noise, 1e-3 * trace / m))
    seen = int(np.count_nonzero(raw > EDGE * 2 * noise * np.sqrt(m)))
    return Spectrum(vectors[:, ::-1], kept[::-1], floored[::-1], seen, noise)


def shrunk(raw: Vector, noise: float) -> Vector:
    """Eigenvalues (ascending) after the noise is taken out of them: x - 2 m s^2 H(x), in ascending order."""
    m = len(raw)
    if m == 1 or noise == 0:
        return raw
    width = noise  # s sqrt(m) / sqrt(m): wide enough to hold many eigenvalues, narrow beside the semicircle
    apart = raw[:, None] - raw[None, :]
    hilbert = (apart / (apart * apart + width * width)).sum(axis=1) / m
    found: Vector = np.sort(raw - 2 * m * noise**2 * hilbert)
    return found


def denoised(S: Matrix, noise: float) -> Matrix:
    """The symmetric matrix, of any signs, behind a noisy one."""
    raw, vectors = np.linalg.eigh((S + S.T) / 2)
    found: Matrix = (vectors * shrunk(raw, noise)) @ vectors.T
    return found


def floor_within(S: Matrix, base: Matrix, least: float) -> Matrix:
    """`S` made positive: along no direction below `least` times `base`, a positive definite matrix."""
    L = np.linalg.cholesky(base)
    half = np.linalg.solve(L, S)
    inside = np.linalg.solve(L, half.T)
    values, vectors = np.linalg.eigh((inside + inside.T) / 2)
    found: Matrix = L @ ((vectors * np.maximum(values, least)) @ vectors.T) @ L.T
    return (found + found.T) / 2
