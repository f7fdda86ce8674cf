"""Integer noise for symmetric matrices: Gaussian, matrix Laplace, and Laplace on the upper triangle.

What each costs a release is proved in `sensitivity.py` and docs/explanation/proofs; here is only what is drawn: one matrix
(q, q), or `blocks` independent ones (blocks, q, q) in one call.
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
_NORMALS_AT_ONCE = 2**16  # of a batch of matrices; more would only leave the cache


def goe(q: int, sigma: float, blocks: int | None = None) -> NDArray[np.int64]:
    """A symmetric matrix of rounded Gaussians: sigma on the diagonal, sigma / sqrt 2 off it, mirrored.

    The off-diagonal value is a float not below sigma / sqrt 2, so that no rounding takes from the noise.
    """
    n = _matrices("goe", q, blocks)
    diagonal = rounded_gaussian(sigma, (n, q))
    beside = rounded_gaussian(float_up(root_up(fraction(sigma) ** 2 / 2)), (n, q * (q - 1) // 2))
    noise = _mirrored(q, beside, offset=1)
    noise[:, range(q), range(q)] = diagonal
    return noise if blocks is not None else noise[0]


def upper_laplace(q: int, scale: Fraction | int | float, blocks: int | None = None) -> NDArray[np.int64]:
    """A symmetric q x q matrix whose entries i <= j are independent discrete Laplace values."""
    n = _matrices("upper_laplace", q, blocks)
    noise = _mirrored(q, discrete_laplace(scale, (n, q * (q + 1) // 2)), offset=0)
    return noise if blocks is not None else noise[0]


def matrix_laplace(q: int, scale: Fraction | int | float, blocks: int | None = None) -> NDArray[np.int64]:
    """round(scale (G1'G1 - G2'G2)) for (q + 1) x q matrices G1, G2 of independent standard normals.

    *Claim.* Exactly that law (`TOTAL_VARIATION` = 0). Before rounding, its density f satisfies |ln f(Z + D) -
    ln f(Z)| <= |D|_* / (2 scale) for symmetric D; so with scale = T / epsilon it makes a sum of outer
    products of rows with squared norm at most T purely epsilon-private when one row is replaced.
    *Proof.* docs/explanation/proofs/noise-matrix-laplace.md: the normals are exact to any digit; the products are
    integers; an entry whose rounding the digits left out could change is computed again from more digits.
    Blocks of a batch share nothing but the random words' stream, of which each has words of its own.
    """
    n = _matrices("matrix_laplace", q, blocks)
    if not 0 < scale * (16 * (q + 1) + 512) < _LARGEST:  # a larger entry: probability below 2^-200
        raise ParameterError(
            "The 'scale' parameter of matrix_laplace must be positive and keep the noise in 64-bit integers "
            f"(scale * (16 q + 528) below 2^62). Got scale {float(scale):g} with q {q} instead."
        )
    exact, batch = Fraction(scale), max(1, _NORMALS_AT_ONCE // ((q + 1) * q))
    batches = [_rounded(GramDifference(q, min(batch, n - start)), exact) for start in range(0, n, batch)]
    noise = _mirrored(q, np.concatenate(batches), offset=0)
    return noise if blocks is not None else noise[0]


def _rounded(gram: GramDifference, scale: Fraction) -> NDArray[np.int64]:
    """The entries i <= j of every block of scale * D, rounded."""
    limbs = 3
    scale_bits = scale.numerator.bit_length() - scale.denominator.bit_length() + 1
    rarely_undecided = scale_bits + 2 * gram.q.bit_length() + gram.blocks.bit_length() + 2
    while gram.error_bits(limbs) < rarely_undecided:
        limbs += 1
    entries, error, f = gram.upper(limbs)
    twice, denominator = 2 * scale.numerator, scale.denominator << f
    low = (twice * (entries - error) + denominator) // (2 * denominator)
    high = (twice * (entries + error) + denominator) // (2 * denominator)
    rounded: NDArray[np.int64] = low.astype(np.int64)
    rows, columns = np.triu_indices(gram.q)
    for block, position in np.argwhere(low != high).tolist():
        rounded[block, position] = _round_entry(
            gram, scale, block, int(rows[position]), int(columns[position])
        )
    return rounded


def _round_entry(gram: GramDifference, scale: Fraction, block: int, i: int, j: int) -> int:
    """One entry's rounding, from as many digits as it takes."""
    depth = 2
    while True:
        total, error, f = gram.entry(block, i, j, depth)
        low, high = scale.numerator * (total - error), scale.numerator * (total + error)
        rounded = round_bounds(low, high, scale.denominator << f)
        if rounded is not None:
            return rounded
        depth += 1


def _mirrored(q: int, upper: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
    """The symmetric matrices with these upper triangles (from the given diagonal on)."""
    matrices = np.zeros((len(upper), q, q), dtype=np.int64)
    rows, columns = np.triu_indices(q, offset)
    matrices[:, rows, columns] = upper
    matrices[:, columns, rows] = upper
    return matrices


def _matrices(name: str, q: int, blocks: int | None) -> int:
    """How many matrices to draw: one, or as many as asked."""
    if q < 1:
        raise ParameterError(f"The 'q' parameter of {name} must be a positive integer. Got {q} instead.")
    if blocks is not None and blocks < 1:
        raise ParameterError(
            f"The 'blocks' parameter of {name} must be a positive integer. Got {blocks} instead."
        )
    return 1 if blocks is None else blocks
