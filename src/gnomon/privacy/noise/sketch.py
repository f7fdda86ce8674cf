"""A Gaussian sketch: r rows drawn from N(0, S) for an integer matrix S, rounded to integers.

It is what R A looks like for a matrix R of independent standard normals and a table A with A'A = S: the rows
of R A are independent N(0, S), so the sketch is drawn from S alone and the table is read only once.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.noise.normal import Normals

TOTAL_VARIATION = 2.0**-50

_BITS = 96  # of the fraction of the factor L
_DIGITS = 128  # of the fraction of the normals: two of their words
_DROPPED = 144  # products of limbs below 2^144 stand for less than 2^-79 and are left out
_Ints = NDArray[np.object_]


def gaussian_sketch(S: _Ints, rows: int) -> NDArray[np.int64]:
    """round(Z L'), Z (rows, q) of exact standard normals, L L' = S; S positive definite, of Python integers.

    *Claim.* Within `TOTAL_VARIATION` of rows independent N(0, S) rounded to integers, if S >= 2^32 I, S_ii <=
    2^62, q <= 4096 and rows * q <= 2^24. *Proof.* (1) `factor` gives L L' = S + E, |E_ij| <= 2^(1 - 96)
    sqrt(max S_ii) <= 2^-64, so |S^-1/2 E S^-1/2|_F <= q 2^-96; N(0, S + E) and N(0, S) are within 3/2 of that
    (Devroye, Mehrabian and Reddad 2018), and `rows` draws within rows q 2^-95 <= 2^-71. (2) Cutting Z to 128
    fraction bits moves an entry of Z L' by at most q 2^31 2^-128 <= 2^-85, and the limb products left out by
    2^-79; all else is integer arithmetic. The rounding changes only if a half-integer is that close; an entry
    is Gaussian with a standard deviation of at least 2^16, so this has probability below 2^-77 for each of
    2^24 entries.
    """
    q = len(S)
    largest = max(int(S[i, i]) for i in range(q))
    if q > 4096 or rows * q > 2**24 or largest > 2**62:
        raise ParameterError("The sketch is too large to be drawn exactly; ask for fewer rows or columns.")
    L = factor(S)
    normals = Normals(rows * q)
    while 64 * len(normals.words) < _DIGITS:
        normals.extend()
    width = min(24, (53 - q.bit_length()) // 2)  # q products of two limbs add up exactly in float64
    of_Z, of_L = _limbs_of_normals(normals, rows, q, width), _limbs_of_integers(L.T, width)
    total: _Ints = np.zeros((rows, q), dtype=object)
    lowest = (_DROPPED - 56) // width + 1  # at most 8 products of one order, each below 2^53
    for order in range(len(of_Z) + len(of_L) - 2, lowest - 1, -1):
        pairs = [(a, order - a) for a in range(len(of_Z)) if 0 <= order - a < len(of_L)]
        total = (total << width) + sum((of_Z[a] @ of_L[b]).astype(np.int64) for a, b in pairs)
    point = _BITS + _DIGITS - lowest * width
    rounded: NDArray[np.int64] = ((total + (1 << (point - 1))) >> point).astype(np.int64)
    return rounded


def factor(S: _Ints) -> _Ints:
    """Lower triangular integers L with L L' = 2^192 (S + E), |E_ij| <= 2^(1 - 96) sqrt(max S_ii).

    Cholesky in integers. Every remainder is computed exactly from the L found so far, so no error adds up: a
    floored quotient leaves less than L_jj, a floored root at most 2 L_jj, in units of 2^-192.
    """
    q = len(S)
    L: _Ints = np.zeros((q, q), dtype=object)
    wide = S * (1 << (2 * _BITS))
    for j in range(q):
        left = wide[j:, j] - (L[j:, :j] @ L[j, :j] if j else 0)
        if left[0] <= 0:
            raise ParameterError("The matrix of a sketch must be positive definite.")
        L[j, j] = math.isqrt(left[0])
        L[j + 1 :, j] = left[1:] // L[j, j]
    return L


def _limbs_of_integers(values: _Ints, width: int) -> list[NDArray[np.float64]]:
    """Signed limbs, lowest first: values = sum of limb_b 2^(width b)."""
    sign = np.where(values < 0, -1.0, 1.0)
    left, limbs = abs(values), []
    while left.any():
        limbs.append((left & ((1 << width) - 1)).astype(np.float64) * sign)
        left = left >> width
    return limbs


def _limbs_of_normals(normals: Normals, rows: int, q: int, width: int) -> list[NDArray[np.float64]]:
    """Signed limbs, lowest first, of 2^128 z; the top one holds the integer part."""
    sign = np.where(normals.negative, -1.0, 1.0)
    limbs = []
    start = _DIGITS
    while start > 0:
        count = min(width, start)
        start -= count
        digits = normals.bits(start, count).astype(np.int64)
        if start == 0:
            digits += normals.integer << count
        limbs.append((digits.astype(np.float64) * sign).reshape(rows, q))
    return limbs
