"""How long a randomly projected unit vector is in L1: the exact tail of ||g||_1 / sqrt(k), g standard
normal in R^k.

A Laplace row release through a random matrix that is drawn after the data are fixed loses more than epsilon
only when this length exceeds what the noise was made for; the tail is its delta.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, wofz

from gnomon.errors import ParameterError

_STEP = 0.02  # of the line integral
_FARTHEST = 100_000  # steps; the integrand falls like y^-(k + 1), so wide rows need far fewer


def _moment(s: complex) -> complex:
    """E exp(s |g|) = 2 exp(s^2/2) Phi(s) = w(-i s / sqrt 2), w the Faddeeva function."""
    return complex(wofz(-1j * s / math.sqrt(2)))


def _saddle(k: int, t: float) -> float:
    """The real s where exp(-s t) E exp(s sum |g_i|) is smallest."""

    def slope(s: float) -> float:
        moment = _moment(s).real
        return k * (s + math.sqrt(2 / math.pi) / moment) - t

    return float(brentq(slope, 1e-6, 30.0)) if slope(1e-6) < 0 else 1e-6


@lru_cache(maxsize=1024)
def projected_l1_tail(k: int, length: float) -> float:
    """P(||N(0, I/k)||_1 > length), rounded up by 1e-9 of itself.

    One and two dimensions are closed forms; above, the inversion integral of the moment generating function
    along the vertical line through its saddle point, by the trapezoidal rule, which converges geometrically
    there.
    """
    if k < 1 or not length > 0:
        raise ParameterError(
            f"The tail needs k of at least 1 and a positive length. Got {k} and {length} instead."
        )
    t = length * math.sqrt(k)
    if k == 1:
        return float(erfc(t / math.sqrt(2)))
    if k == 2:
        side = float(erfc(t / 2))
        return side * (2 - side)
    if t <= k * math.sqrt(2 / math.pi):
        return 1.0  # below the mean the bound is not needed and the integral is not accurate
    s0 = _saddle(k, t)
    steps = min(_FARTHEST, int(20 / _STEP * 10 ** (12 / k)))
    s = s0 + 1j * _STEP * np.arange(steps)
    top = math.log(_moment(s0).real)
    # relative to the value at the saddle, so that tails far below the smallest double keep their digits
    values = np.exp(k * (np.log(wofz(-1j * s / math.sqrt(2))) - top) - 1j * s.imag * t) / s
    integral = _STEP * (values.real.sum() - values[0].real / 2) / math.pi
    return min(1.0, float(integral) * math.exp(k * top - s0 * t) * (1 + 1e-9))


@lru_cache(maxsize=1024)
def projected_l1_quantile(k: int, delta: float) -> float:
    """A length that ||N(0, I/k)||_1 exceeds with probability at most delta, rounded up."""
    if k < 1 or not 0 < delta < 1:
        raise ParameterError(
            f"The quantile needs k of at least 1 and delta in (0, 1). Got {k} and {delta} instead."
        )
    low = math.sqrt(2 * k / math.pi)
    if projected_l1_tail(k, low) <= delta:  # a delta of nearly a half or more: the mean will do
        return low
    high = low + 1.0
    while projected_l1_tail(k, high) > delta:
        low, high = high, 1.5 * high
    found = brentq(lambda c: math.log(projected_l1_tail(k, c) / delta), low, high, xtol=1e-9)
    while projected_l1_tail(k, found) > delta:
        found *= 1 + 1e-9
    return float(found)
