"""Numbers known as well as a decision needs: lazy uniforms, and log, exp, cos, sin in integers.

A fast float64 evaluation decides almost every noise value; the few that it cannot decide come here. Every
function takes and returns integers that stand for multiples of 2^-p, and is off by at most one such multiple
(*proof*: each works with `_GUARD` = 32 further bits; a series of at most p + 64 terms, every term off by at
most 4 units of the working precision, is then off by less than 2^-20 of the returned unit, and the final
rounding to nearest adds a half).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from gnomon.privacy.noise.stream import Stream

_GUARD = 32


class Uniform:
    """A uniform real number U of which `bits` bits are known: n <= 2^bits U <= n + 1."""

    def __init__(self, n: int, bits: int, stream: Stream) -> None:
        self.n, self.bits, self._stream = n, bits, stream

    def extend(self) -> None:
        """Learn 64 more bits; they are independent of everything seen so far."""
        self.n, self.bits = self.n << 64 | self._stream.spare_word(), self.bits + 64

    def minus_log(self, p: int) -> tuple[int, int]:
        """Bounds on -ln U; extends past a U that could still be 0."""
        while self.n == 0:
            self.extend()
        return max(0, -log(self.n + 1, self.bits, p) - 1), -log(self.n, self.bits, p) + 1


def round_bounds(low: int, high: int, denominator: int) -> int | None:
    """The nearest integer to x if every x in [low, high] / denominator has the same one, else None."""
    at_low = (2 * low + denominator) // (2 * denominator)
    return at_low if (2 * high + denominator) // (2 * denominator) == at_low else None


def _settle(value: int) -> int:
    return (value + (1 << (_GUARD - 1))) >> _GUARD


def log(n: int, bits: int, p: int) -> int:
    """ln(n / 2^bits), n > 0: ln m + e ln 2, 1/sqrt 2 <= m < sqrt 2, ln m = 2 artanh((m - 1) / (m + 1))."""
    g = p + _GUARD
    e = n.bit_length()
    if 2 * n * n < 1 << (2 * e):
        e -= 1
    m = n << (g - e) if g >= e else n >> (e - g)
    one = 1 << g
    z = (abs(m - one) << g) // (m + one)
    square = z * z >> g
    term, total, k = z, z, 1
    while term:
        term = term * square >> g
        k += 2
        total += term // k
    ln_m = 2 * total if m >= one else -2 * total
    return _settle(ln_m + ((e - bits) * _ln2(g + 32) >> 32))


def exp_minus(x: Fraction, p: int) -> int:
    """e^-x, x >= 0: Taylor at x / 2^j < 1/2, then j squarings (each doubles the error: j more bits)."""
    if x > p:  # e^-x < 2^-p
        return 0
    j = int(x).bit_length() + 1
    g = p + _GUARD + j
    y = (x.numerator << g) // (x.denominator << j)
    term = total = 1 << g
    i = 0
    while term:
        i += 1
        term = (term * y >> g) // i
        total += -term if i % 2 else term
    for _ in range(j):
        total = total * total >> g
    return _settle(total >> j)


def cos_sin(n: int, bits: int, p: int) -> tuple[int, int]:
    """cos and sin of the turn n / 2^bits: Taylor within an eighth of a turn, then the quarter's symmetry."""
    g = p + _GUARD
    quarter = (n + (1 << (bits - 3))) >> (bits - 2)
    rest = n - (quarter << (bits - 2))
    angle = 2 * _pi(g) * abs(rest) >> bits
    square = angle * angle >> g
    cos, sin = 1 << g, angle
    even, odd, i = cos, sin, 0
    while even or odd:
        i += 2
        even = (even * square >> g) // (i * (i - 1))
        odd = (odd * square >> g) // (i * (i + 1))
        cos, sin = (cos - even, sin - odd) if i % 4 else (cos + even, sin + odd)
    c, s = _settle(cos), _settle(sin if rest >= 0 else -sin)
    return ((c, s), (-s, c), (-c, -s), (s, -c))[quarter % 4]


def sqrt_bounds(low: int, high: int, p: int) -> tuple[int, int]:
    """Bounds on the square root of a number between low and high."""
    return math.isqrt(low << p), math.isqrt(high << p) + 1


@lru_cache(maxsize=64)
def _ln2(g: int) -> int:
    """ln 2 = 2 artanh(1/3)."""
    g += _GUARD
    term, total, k = (1 << g) // 3, 0, 1
    while term:
        total += term // k
        term //= 9
        k += 2
    return _settle(2 * total)


@lru_cache(maxsize=64)
def _pi(g: int) -> int:
    """pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin)."""
    g += _GUARD
    return _settle(16 * _arctan_inverse(5, g) - 4 * _arctan_inverse(239, g))


def _arctan_inverse(x: int, g: int) -> int:
    term, total, k = (1 << g) // x, 0, 1
    while term:
        total += term // k if k % 4 == 1 else -(term // k)
        term //= x * x
        k += 2
    return total
