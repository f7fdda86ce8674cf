"""Upper bounds on matrix norms that hold in spite of floating point; a public matrix R turns a change of
row into them.

Each bound is computed in doubles, then enlarged by the proved rounding error of the computation
(docs/explanation/proofs/norms.md), so that a sensitivity built on it is never too small.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.rounding import fraction, root_up

Matrix = NDArray[np.float64]

_UNIT = Fraction(1, 2**53)  # the unit roundoff of a double
_EXACT_SIGNS = 18  # 2**17 sign vectors are enumerated in under a second; wider matrices get the relaxation


def public_matrix(matrix: Matrix) -> Matrix:
    """The matrix as doubles, refused unless it is two-dimensional, not empty and finite."""
    checked = np.asarray(matrix, dtype=np.float64)
    if checked.ndim != 2 or 0 in checked.shape or not np.isfinite(checked).all():
        raise ParameterError(
            "The 'projection' parameter must be a finite matrix of inputs by outputs. "
            f"Got an array of shape {np.shape(matrix)} instead."
        )
    return checked


def _enlarged(value: float, operations: int) -> Fraction:
    """A bound on the true value of a sum of nonnegative terms, or its root, computed with that many
    roundings.
    """
    return fraction(value) * (1 + 2 * (operations + 2) * _UNIT) + Fraction(1, 2**1000)


def largest_row_norm(rows: Matrix, order: int) -> Fraction:
    """max_i ||R_i|| in L1 (order 1) or L2 (order 2)."""
    return _enlarged(float(np.linalg.norm(rows, ord=order, axis=1).max()), 2 * rows.shape[1])


def largest_distance(points: Matrix, order: int) -> Fraction:
    """max_ij ||p_i - p_j|| over the rows, one row against all at a time."""
    # the subtraction rounds each coordinate once more
    farthest = max(float(np.linalg.norm(points - p, ord=order, axis=1).max()) for p in points)
    return _enlarged(farthest, 2 * points.shape[1] + 1)


def _top_eigenvalue(A: Matrix) -> Fraction:
    """An upper bound on the largest eigenvalue of a symmetric matrix, certified by a Cholesky factor.

    If floating-point Cholesky of tI - A runs to its end, then tI - A >= -4 (k + 2) u trace(|tI - A|) (Rump
    2006).
    """
    k = len(A)
    guess = float(np.linalg.eigvalsh(A)[-1])
    size = float(np.abs(A).sum(axis=1).max())
    margin = max(size, 1e-280) * 1e-13 * k
    while True:
        t = guess + margin
        shifted = t * np.eye(k) - A
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            margin *= 4
            continue
        trace = fraction(float(np.abs(np.diag(shifted)).sum()))
        # the last term: forming tI - A rounded each diagonal entry once
        return fraction(t) + 4 * (k + 2) * _UNIT * trace + 2 * _UNIT * fraction(abs(t) + size)


def _gram(R: Matrix) -> tuple[Matrix, Fraction]:
    """R'R as computed, and a bound on its distance from the truth in operator norm: gamma_d ||R||_F^2."""
    squares = _enlarged(float(np.sum(R * R)), R.size)
    return R.T @ R, 2 * (R.shape[0] + 2) * _UNIT * squares


def spectral_norm(R: Matrix) -> Fraction:
    """sigma_max(R) = max ||xR||_2 over ||x||_2 <= 1."""
    thin = R if R.shape[0] >= R.shape[1] else R.T
    gram, error = _gram(np.ascontiguousarray(thin))
    return root_up(_top_eigenvalue((gram + gram.T) / 2) + error)


def _best_signs(A: Matrix) -> Fraction:
    """max s'As over sign vectors, all 2**(k - 1) of them (s and -s agree), in blocks."""
    k = len(A)
    free = k - 1
    count = 1 << free
    best = 0.0
    for start in range(0, count, 1 << 14):
        codes = np.arange(start, min(count, start + (1 << 14)))
        bits = (
            (codes[:, None] >> np.arange(free)[None, :]) & 1 if free else np.zeros((len(codes), 0), dtype=int)
        )
        signs = np.hstack([np.ones((len(codes), 1)), 1.0 - 2.0 * bits])
        best = max(best, float(np.einsum("ij,ij->i", signs @ A, signs).max()))
    # terms have both signs, so the error is counted against the sum of their sizes
    return fraction(best) + 4 * (k * k + 2) * _UNIT * fraction(float(np.abs(A).sum()))


def _relaxed_signs(A: Matrix) -> Fraction:
    """An upper bound on max s'As: sum(d) + k lambda_max(A - diag d) for the best diagonal d found.

    s'As = sum(d) + s'(A - diag d)s for every d, so each d gives a bound; subgradient steps look for a small
    one.
    """
    k = len(A)

    def bound(d: Matrix) -> tuple[float, Matrix]:
        values, vectors = np.linalg.eigh(A - np.diag(d))
        return float(d.sum() + k * values[-1]), 1.0 - k * vectors[:, -1] ** 2

    d = np.diag(A).copy()
    best_value, slope = bound(d)
    best, length = d, 0.1 * max(best_value, 1e-280) / k
    for step in range(200 if k <= 100 else 20):
        d = d - length / np.sqrt(step + 1.0) * slope / max(float(np.linalg.norm(slope)), 1e-12)
        value, slope = bound(d)
        if value < best_value:
            best, best_value = d, value
    rounding = 2 * _UNIT * fraction(float(np.abs(best).sum() + np.abs(np.diag(A)).sum())) * k
    total = sum((fraction(float(v)) for v in best), Fraction(0))
    return total + k * _top_eigenvalue(A - np.diag(best)) + rounding


def two_to_one_norm(R: Matrix) -> Fraction:
    """max ||xR||_1 over ||x||_2 <= 1, which is max ||Rs||_2 over sign vectors s.

    Exact (to rounding) up to 18 outputs; above, the semidefinite relaxation: never below, at most
    sqrt(pi/2) times it.
    """
    gram, error = _gram(R)
    A = (gram + gram.T) / 2
    square = _best_signs(A) if len(A) <= _EXACT_SIGNS else _relaxed_signs(A)
    return root_up(square + len(A) * error)
