"""Integer noise for symmetric matrices: Gaussian, matrix Laplace, and Laplace on the upper triangle.

What each costs a release is proved in `sensitivity.py` and docs/proofs; here is only what is drawn.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.noise.exact import round_bounds
from gnomon.privacy.noise.gaussian import rounded_gaussian
from gnomon.privacy.noise.gram import GramDifference
from gnomon.privacy.noise.laplace import discrete_laplace
from gnomon.privacy.rounding import float_up, fraction, root_up

TOTAL_VARIATION = 0.0

_LARGEST = 2**62


def goe(q: int, sigma: float) -> NDArray[np.int64]:
    """A symmetric matrix of rounded Gaussians: sigma on the diagonal, sigma / sqrt 2 off it, mirrored.

    The off-diagonal value is a float not below sigma / sqrt 2, so that no rounding takes from the noise.
    """
    _positive_size("goe", q)
    diagonal = rounded_gaussian(sigma, q)
    beside = rounded_gaussian(float_up(root_up(fraction(sigma) ** 2 / 2)), q * (q - 1) // 2)
    noise = _mirrored(q, beside, offset=1)
    noise[np.diag_indices(q)] = diagonal
    return noise


def upper_laplace(q: int, scale: Fraction | int | float) -> NDArray[np.int64]:
    """A symmetric q x q matrix whose entries i <= j are independent discrete Laplace values."""
    _positive_size("upper_laplace", q)
    return _mirrored(q, discrete_laplace(scale, q * (q + 1) // 2), offset=0)


def matrix_laplace(q: int, scale: Fraction | int | float) -> NDArray[np.int64]:
    """round(scale (G1'G1 - G2'G2)) for (q + 1) x q matrices G1, G2 of independent standard normals.

    *Claim.* Exactly that law (`TOTAL_VARIATION` = 0). Before rounding, its density f satisfies |ln f(Z + D) -
    ln f(Z)| <= |D|_* / (2 scale) for symmetric D; so with scale = T / epsilon it makes a sum of outer
    products of rows with squared norm at most T purely epsilon-private when one row is replaced.
    *Proof.* docs/proofs/noise-matrix-laplace.md: the normals are exact to any digit; the products are
    integers; an entry whose rounding the digits left out could change is computed again from more digits.
    """
    _positive_size("matrix_laplace", q)
    if not 0 < scale * (16 * (q + 1) + 512) < _LARGEST:  # a larger entry: probability below 2^-200
        raise ParameterError(
            "The 'scale' parameter of matrix_laplace must be positive and keep the noise in 64-bit integers "
            f"(scale * (16 q + 528) below 2^62). Got scale {float(scale):g} with q {q} instead."
        )
    exact = Fraction(scale)
    gram = GramDifference(q)
    limbs = 3
    scale_bits = exact.numerator.bit_length() - exact.denominator.bit_length() + 1
    while gram.error_bits(limbs) < scale_bits + 2 * q.bit_length() + 3:  # rarely an entry undecided
        limbs += 1
    entries, error, f = gram.upper(limbs)
    twice, denominator = 2 * exact.numerator, exact.denominator << f
    low = (twice * (entries - error) + denominator) // (2 * denominator)
    high = (twice * (entries + error) + denominator) // (2 * denominator)
    rounded = low.astype(np.int64)
    rows, columns = np.triu_indices(q)
    for position in np.flatnonzero(low != high):
        rounded[position] = _round_entry(gram, exact, int(rows[position]), int(columns[position]))
    return _mirrored(q, rounded, offset=0)


def _round_entry(gram: GramDifference, scale: Fraction, i: int, j: int) -> int:
    """One entry's rounding, from as many digits as it takes."""
    depth = 2
    while True:
        total, error, f = gram.entry(i, j, depth)
        low, high = scale.numerator * (total - error), scale.numerator * (total + error)
        rounded = round_bounds(low, high, scale.denominator << f)
        if rounded is not None:
            return rounded
        depth += 1


def _mirrored(q: int, upper: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
    """The symmetric matrix with this upper triangle (from the given diagonal on)."""
    matrix = np.zeros((q, q), dtype=np.int64)
    rows, columns = np.triu_indices(q, offset)
    matrix[rows, columns] = upper
    matrix[columns, rows] = upper
    return matrix


def _positive_size(name: str, q: int) -> None:
    if q < 1:
        raise ParameterError(f"The 'q' parameter of {name} must be a positive integer. Got {q} instead.")
