"""Discrete Laplace noise, P(k) proportional to exp(-|k| / scale), exact and in bulk.

*Claim.* `discrete_laplace(scale, n)` draws independent integers with P(K = k) = (1 - q) / (1 + q) q^|k|, q =
exp(-1 / scale), with no error of distribution (`TOTAL_VARIATION` = 0), if the stream's words are uniform and
numpy's log is within 8 units in the last place (documented: 4).

*Proof.* Let U be uniform, b = -scale ln((1 + q) / 2), so that 0 < b < 1/2 and exp(b / scale) = 2 / (1 + q). M
= floor(-scale ln U + b) is at least 0, and for k >= 1, P(M >= k) = P(U <= exp((b - k) / scale)) = 2 q^k / (1
+ q) = P(|K| >= k): M has the law of |K|, and a fair sign finishes it (a sign at 0 changes nothing). float64
decides M from the first 63 bits of U wherever -scale ln U + b is farther than its error from an integer; the
rest, and U below 2^-18, are decided in integer interval arithmetic with further bits.
docs/explanation/proofs/noise-discrete-laplace.md has the bound.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.noise.exact import Uniform, exp_minus, log, round_bounds
from gnomon.privacy.noise.stream import Stream

TOTAL_VARIATION = 0.0

_ERROR = 2.0**-42  # of (-scale ln U + b) / (scale + 1) in float64; the proof needs 2^-44
_EDGE = 2.0**45  # U * 2^63 below this is not evaluated in float64
_VALUES = 16384  # values at once: the work arrays stay in the processor's cache
_LARGEST = 2.0**55  # beyond it a value could leave int64 with a probability that matters (above e^-256)


def discrete_laplace(scale: Fraction | int | float, size: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Independent discrete Laplace values; the scale is taken as the exact number that it is."""
    if not 0 < scale <= _LARGEST:
        raise ParameterError(
            f"The 'scale' parameter of discrete_laplace must be a number in (0, 2^55]. Got {scale} instead."
        )
    exact = Fraction(scale)
    n = math.prod(size) if isinstance(size, tuple) else size
    out = np.empty(n, dtype=np.int64)
    stream = Stream()
    for start in range(0, n, _VALUES):
        _fill(out[start : start + _VALUES], exact, stream)
    return out.reshape(size)


def _fill(out: NDArray[np.int64], scale: Fraction, stream: Stream) -> None:
    """M with the sign of its word; floor(y) is taken as the rounding of y - 1/2."""
    words = stream.words(len(out)).view(np.int64)
    signed = words.astype(np.float64)
    value = np.abs(signed)
    unsure = value < _EDGE
    _log_affine(value, scale)
    rounded = np.rint(value)
    value -= rounded
    np.abs(value, out=value)
    unsure |= value >= 0.5 - _ERROR * (float(scale) + 1.0)
    np.copysign(rounded, signed, out=rounded)
    np.copyto(out, rounded, casting="unsafe")
    if unsure.any():
        for i in np.flatnonzero(unsure):
            word = int(words[i])
            magnitude = _floor_exactly(scale, Uniform(word if word >= 0 else -1 - word, 63, stream))
            out[i] = magnitude if word >= 0 else -magnitude


def _log_affine(value: NDArray[np.float64], scale: Fraction) -> None:
    """Replace U 2^63 by -scale ln U + b - 1/2, in float64."""
    np.maximum(value, 1.0, out=value)  # never log 0
    value *= 2.0**-63
    np.log(value, out=value)
    value *= -float(scale)
    value += _shift(scale, 64) * 2.0**-64 - 0.5


def _floor_exactly(scale: Fraction, u: Uniform) -> int:
    """floor(-scale ln u + b), with bounds that narrow until they agree."""
    while True:
        p = u.bits + 33
        low, high = u.minus_log(p)
        b, half = _shift(scale, p), 1 << (p - 1)
        numerator, denominator = scale.numerator, scale.denominator
        y_low = numerator * low + denominator * (b - half) - 2 * denominator
        y_high = numerator * high + denominator * (b - half) + 2 * denominator
        rounded = round_bounds(y_low, y_high, denominator << p)
        if rounded is not None:
            return rounded
        u.extend()


@lru_cache(maxsize=1024)
def _shift(scale: Fraction, p: int) -> int:
    """b = -scale ln((1 + exp(-1 / scale)) / 2) in units of 2^-p, within two of them."""
    more = p + 2 + max(0, math.ceil(scale)).bit_length()
    q = exp_minus(1 / scale, more)
    return -(scale.numerator * log((1 << more) + q, more + 1, more) // scale.denominator) >> (more - p)
