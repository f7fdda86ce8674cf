"""Rows on an integer grid inside a ball: where a bound on paper becomes a bound on the computer.

Every value here is an integer held in a float64 below 2^53, so sums and products are exact and do not depend on
the order of rows, on the size of batches, on threads or on fused multiplication.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

GRID = 2**16  # a row of norm 1 has integer norm GRID

Matrix = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def fine_grid(longest: float) -> float:
    """The largest power of two F such that rows of norm `longest` have exact squared norms on the grid 1/F."""
    return 2.0 ** min(
        30, 26 - math.frexp(max(longest, 1e-9))[1]
    )  # no logarithm: its last bit may differ on a worker


def into_ball(U: Matrix, fine: float, out: Matrix | None = None) -> Matrix:
    """Integer rows `U` on the grid 1/`fine` -> integer rows on the grid 1/GRID with squared norm <= GRID^2.

    Claim. For every row, whatever it holds, sum q^2 <= GRID^2 in exact arithmetic.
    Proof. The scaled row has norm <= GRID*R with R = 1 - (sqrt(p)/2 + 1)/GRID up to a relative error of a few
    2^-53; rounding to nearest moves it by at most sqrt(p)/2; so its norm is at most GRID - 1 + tiny. The check
    below is exact (integers below 2^53) and a row that failed it would be set to zero.
    """
    p = U.shape[1]
    shrink = 1 - (math.sqrt(p) / 2 + 1) / GRID
    longest = np.sqrt(np.einsum("ij,ij->i", U, U))
    factor = (GRID * shrink) / np.maximum(longest, fine)
    Q: Matrix = np.multiply(U, factor[:, None], out=out)
    np.rint(Q, out=Q)
    inside = np.einsum("ij,ij->i", Q, Q) <= float(GRID) ** 2  # not so for a NaN, which no comparison lets out
    if not inside.all():
        Q[~inside] = 0.0
    return Q


def ball_shrink(p: int) -> float:
    """The factor by which `into_ball` shortens every row, to be undone after the noise."""
    return 1 - (math.sqrt(p) / 2 + 1) / GRID


def unit_rows(Z: Matrix, fine: float) -> Matrix:
    """Integer rows of any length -> integer rows of length `fine` (a zero row stays zero)."""
    longest = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    factor = np.divide(fine, longest, out=np.zeros_like(longest), where=longest > 0)
    np.multiply(Z, factor[:, None], out=Z)
    return np.rint(Z, out=Z)


def shorten(Z: Matrix, longest: float) -> Matrix:
    """Integer rows of any length -> integer rows no longer than about `longest`; shorter rows stay as they are."""
    length = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    np.multiply(Z, np.minimum(1.0, longest / np.maximum(length, 1.0))[:, None], out=Z)
    return np.rint(Z, out=Z)
