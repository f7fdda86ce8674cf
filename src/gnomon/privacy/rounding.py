"""Rounding that never weakens a promise: exact fractions inside, doubles on the safe side at the edges."""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Integral

ROOT_BITS = 80  # a square root is exact to 2**-80 of itself, and never below the truth


def fraction(value: int | float | Fraction) -> Fraction:
    """The exact value of a finite number; numpy's whole numbers too, which a double would round."""
    if isinstance(value, Fraction):
        return value
    return Fraction(int(value)) if isinstance(value, Integral) else Fraction(float(value))


def float_up(value: Fraction) -> float:
    """The smallest double that is not below `value`; infinity above the range of doubles."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def float_down(value: Fraction) -> float:
    """The largest double that is not above `value` (`value` within the range of doubles)."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def as_written(amount: float) -> Fraction:
    """A finite number as people write it: 0.1 is one tenth, not the double nearest to it."""
    return Fraction(repr(float(amount)))


def written_up(value: Fraction) -> float:
    """The smallest double that, as it is written, is not below `value`."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf
    return nearest if as_written(nearest) >= value else math.nextafter(nearest, math.inf)


def root_up(square: int | Fraction) -> Fraction:
    """A fraction r >= sqrt(square), equal where the root is rational, else within 2**-80 of it relatively."""
    square = Fraction(square)
    if square < 0:
        raise ValueError("square must not be negative")
    numerator, denominator = square.numerator, square.denominator
    exact = Fraction(math.isqrt(numerator), math.isqrt(denominator))
    if exact * exact == square:
        return exact
    shift = ROOT_BITS + max(0, denominator.bit_length() - numerator.bit_length())
    # ceil(sqrt(n d 4**shift)) / (d 2**shift) >= sqrt(n / d)
    scaled = numerator * denominator << (2 * shift)
    return Fraction(math.isqrt(scaled) + 1, denominator << shift)
