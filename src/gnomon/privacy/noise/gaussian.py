"""Gaussian noise on the integers: exactly the rounding of an ideal sigma N(0, 1), in bulk.

*Claim.* `rounded_gaussian(sigma, n)` returns round(sigma X_1), ..., round(sigma X_n) for independent standard
normal reals X_i, with no error of distribution (`TOTAL_VARIATION` = 0), if the stream's words are uniform and
numpy's log is within 8 units in the last place (documented: 4).

*Proof.* Box-Muller on uniforms U, V of infinitely many bits makes R cos(2 pi V), R sin(2 pi V), R = sqrt(-2
ln U), independent standard normals. float64 knows the first 64 bits of each and errs by less than `_ERROR`
sigma; a value at least that far from the nearest half-integer is rounded right whatever the further bits are.
All others, and the U within 2^-18 of 0 or 1 for which the bound does not hold, are evaluated in integer
interval arithmetic with as many further bits as the rounding needs. docs/explanation/proofs/noise-rounded-gaussian.md has
the error bound.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.noise.exact import Uniform, cos_sin, round_bounds, sqrt_bounds
from gnomon.privacy.noise.stream import Stream

TOTAL_VARIATION = 0.0

_ERROR = 2.0**-42  # of R cos, R sin in float64; the proof needs 2^-43.9
_EDGE = np.uint64(1 << 46)  # U * 2^64 closer than this to 0 or to 2^64 is not evaluated in float64
_PAIRS = 16384  # at once: the work arrays stay in the processor's cache
# Taylor up to the 20th and 19th power: within pi / 2 of zero the rest is below 2^-51.8
_COS = [(-1) ** k / math.factorial(2 * k) for k in range(10, -1, -1)]
_SIN = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9, -1, -1)]
_LARGEST = 2.0**55  # beyond it a value could leave int64 with a probability that matters (above e^-8192)


def rounded_gaussian(sigma: float, size: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Independent values of round(sigma N(0, 1))."""
    if not 0 < sigma <= _LARGEST:
        raise ParameterError(
            f"The 'sigma' parameter of rounded_gaussian must be a number in (0, 2^55]. Got {sigma} instead."
        )
    n = math.prod(size) if isinstance(size, tuple) else size
    pairs = (n + 1) // 2
    out = np.empty(2 * pairs, dtype=np.int64)
    stream = Stream()
    for start in range(0, pairs, _PAIRS):
        _fill(out[2 * start : 2 * min(start + _PAIRS, pairs)], float(sigma), stream)
    return out[:n].reshape(size)


def _fill(out: NDArray[np.int64], sigma: float, stream: Stream) -> None:
    """Round sigma R cos into the first half of `out` and sigma R sin into the second."""
    words = stream.words(len(out))
    for_radius, for_angle = np.split(words, 2)
    value = _polar(for_radius, for_angle, sigma)
    rounded = np.rint(value)
    np.copyto(out, rounded, casting="unsafe")
    value -= rounded
    np.abs(value, out=value)
    unsure = (value >= 0.5 - _ERROR * sigma).reshape(2, -1)
    unsure |= for_radius + _EDGE < _EDGE + _EDGE  # modulo 2^64: U near 0 or near 1
    if unsure.any():
        for i in np.flatnonzero(unsure.any(axis=0)):
            u, v = Uniform(int(for_radius[i]), 64, stream), Uniform(int(for_angle[i]), 64, stream)
            # a pair's two values share the further bits of U and V
            for which in np.flatnonzero(unsure[:, i]):
                out[which * len(for_radius) + i] = _round_exactly(Fraction(sigma), u, v, int(which))


def _polar(
    for_radius: NDArray[np.uint64], for_angle: NDArray[np.uint64], sigma: float
) -> NDArray[np.float64]:
    """sigma R cos(2 pi V) then sigma R sin(2 pi V) in float64; V is taken from -1/2 to 1/2."""
    m = len(for_radius)
    radius = (for_radius | np.uint64(1)).astype(np.float64)  # never log 0
    radius *= 2.0**-64
    np.log(radius, out=radius)
    radius *= -2.0
    np.sqrt(radius, out=radius)
    radius *= sigma
    turn = for_angle.view(np.int64).astype(np.float64)  # 2^64 V; 2 pi |V| is within pi / 2 of pi / 2
    angle = np.abs(turn)
    angle *= -(2.0**-63)
    angle += 0.5
    angle *= math.pi
    square = angle * angle
    value = np.empty(2 * m)
    along, across = value[:m], value[m:]
    _horner(_SIN, square, out=along)  # cos(2 pi V) = sin(pi / 2 - 2 pi |V|)
    along *= angle
    along *= radius
    _horner(_COS, square, out=across)  # |sin(2 pi V)| = cos(pi / 2 - 2 pi |V|)
    np.copysign(across, turn, out=across)
    across *= radius
    return value


def _horner(coefficients: list[float], z: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """The polynomial with these coefficients, highest first, at z."""
    np.multiply(z, coefficients[0], out=out)
    out += coefficients[1]
    for c in coefficients[2:]:
        out *= z
        out += c


def _round_exactly(sigma: Fraction, u: Uniform, v: Uniform, which: int) -> int:
    """round(sigma sqrt(-2 ln u) cos(2 pi v)), or sin, with bounds that narrow until they agree."""
    while True:
        p = v.bits + 32
        low, high = u.minus_log(p)
        r_low, r_high = sqrt_bounds(2 * low, 2 * high, p)
        circle = cos_sin(v.n, v.bits, p)[which]
        slack = (7 << (p - v.bits)) + 1  # 2 pi < 7 for the bits of v still unknown, one unit for cos_sin
        c_low, c_high = circle - slack, circle + slack
        x_low = c_low * (r_low if c_low >= 0 else r_high)
        x_high = c_high * (r_high if c_high >= 0 else r_low)
        rounded = round_bounds(
            sigma.numerator * x_low, sigma.numerator * x_high, sigma.denominator << (2 * p)
        )
        if rounded is not None:
            return rounded
        u.extend()
        v.extend()
