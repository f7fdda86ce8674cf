"""Eigenvalues with a bound of their error: a noise that is made for one eigensolver's habits would be made for a guess.

The bound is computed from the answer (a posteriori), so it holds whatever the solver did; where it is larger than what
the noise was made for, the eigenvalues are computed again with more digits. Proof: docs/explanation/proofs/eigenvalues.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from mpmath import MPContext

from gnomon.errors import GnomonError

Vector = npt.NDArray[np.float64]
UNIT = 2.0**-53  # the relative error of one operation on doubles
DIGITS = 50
TRIES = 4  # each with twice the digits


def eigenvalues_within(A: npt.NDArray[np.int64], error: float) -> Vector:
    """The eigenvalues of an integer matrix A >= 0, ascending and none negative, each within `error` of the true one."""
    values, vectors = np.linalg.eigh(A.astype(np.float64))
    order = np.argsort(values)
    ascending: Vector = np.maximum(values[order], 0.0)
    if eigenvalue_error(A, ascending, vectors[:, order]) <= error:
        return ascending
    return _with_more_digits(A, error)


def eigenvalue_error(A: npt.NDArray[np.int64], values: Vector, vectors: npt.NDArray[np.float64]) -> float:
    """A bound of |lambda_i(A) - values_i| for all i; values ascend and are not negative, vectors are square.

    With L = diag(values) and V the vectors: ||A - V L V'||_F + ||sqrt(L) (V'V - I) sqrt(L)||_F, and what rounding may have
    hidden of them: (2m + 4) units of the trace of V L V', and 2 of that of A. Infinite where a number is not finite.
    """
    m, root = len(values), np.sqrt(values)
    with np.errstate(all="ignore"):
        residual = np.linalg.norm(A.astype(np.float64) - (vectors * values) @ vectors.T)
        skewness = np.linalg.norm((vectors.T @ vectors - np.eye(m)) * np.outer(root, root))
        trace = float((values * np.einsum("ij,ij->j", vectors, vectors)).sum())
        hidden = UNIT * ((2 * m + 4) * trace + 2 * float(np.trace(A)))
        found = float((residual + skewness + hidden) * (1 + 1e-6))
    return found if math.isfinite(found) else math.inf


def _with_more_digits(A: npt.NDArray[np.int64], error: float) -> Vector:
    """By mpmath, with the same bound computed in its arithmetic; slow, and hardly ever needed."""
    mp = MPContext()
    for doubled in range(TRIES):
        mp.dps = DIGITS * 2**doubled
        exact = mp.matrix(A.tolist())
        L, V = mp.eigsy(exact)
        order = sorted(range(len(L)), key=lambda i: L[i])
        clipped = [max(L[i], mp.mpf(0)) for i in order]
        columns = mp.matrix(len(A), len(A))
        for place, i in enumerate(order):
            columns[:, place] = V[:, i]
        root = mp.diag([mp.sqrt(value) for value in clipped])
        residual = mp.mnorm(exact - columns * mp.diag(clipped) * columns.T, "f")
        skewness = mp.mnorm(root * (columns.T * columns - mp.eye(len(A))) * root, "f")
        rounding = mp.mpf(10) ** (10 - mp.dps) * (1 + mp.mnorm(exact, "f"))
        nearest = np.array([float(value) for value in clipped])
        last = float(nearest.max()) * 2 * UNIT if len(nearest) else 0.0
        if residual + skewness + rounding + last <= error:
            return nearest
    raise GnomonError("The eigenvalues could not be bounded; nothing was released.")
