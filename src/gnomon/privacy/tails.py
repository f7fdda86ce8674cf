"""How long a randomly projected unit vector is in L1: the tail of ||g||_1 / sqrt(k), g standard normal in R^k.

A Laplace row release through a random matrix that is drawn after the data are fixed loses more than epsilon
only when this length exceeds what the noise was made for; the tail is its delta. So it is never understated: what is
returned is an upper bound with a proof (docs/explanation/proofs/row-releases.md, "The tail as a number").
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import erfc, wofz

from gnomon.errors import ParameterError

SLACK = 1e-9  # how much of the tail the quadrature may add, where its steps allow
FADDEEVA = 1e-12  # relative error that is granted to wofz, which documents 1e-13
CLOSED = 1e-12  # and to erfc
_MOST = 400_000  # steps
_SMALLEST = 1e-300  # the least tail that is told apart from none

Complex = npt.NDArray[np.complexfloating[Any, Any]]
Real = npt.NDArray[np.floating[Any]]


def _moment(s: complex | Complex) -> Complex:
    """M(s) = E exp(s |g|) = 2 exp(s^2/2) Phi(s) = w(-i s / sqrt 2), w the Faddeeva function."""
    return np.asarray(wofz(-1j * np.asarray(s) / math.sqrt(2)))


def _saddle(k: int, t: float) -> float:
    """The real s where exp(-s t) M(s)^k is smallest, but at least 1/sqrt(k), below which nothing is gained."""

    def slope(s: float) -> float:
        return float(k * (s + math.sqrt(2 / math.pi) / _moment(s).real) - t)

    least = 1 / math.sqrt(k)
    return float(brentq(slope, least, t / k + 1.0)) if slope(least) < 0 else least


@lru_cache(maxsize=1024)
def projected_l1_tail(k: int, length: float) -> float:
    """At least P(||N(0, I/k)||_1 > length), and above it by at most about 1e-9 of itself.

    One and two dimensions are closed forms. Above, the trapezoidal sum of the inversion integral along a vertical line
    is by Poisson's summation formula the tail plus positive terms; the steps that are left out and the rounding are
    bounded and added.
    """
    if k < 1 or not length > 0:
        raise ParameterError(
            f"The tail needs k of at least 1 and a positive length. Got {k} and {length} instead."
        )
    t = length * math.sqrt(k) * (1 - 1e-15)
    if k == 1:
        return _upper(float(erfc(t / math.sqrt(2))) * (1 + CLOSED))
    if k == 2:
        side = min(1.0, float(erfc(t / 2)) * (1 + CLOSED))
        return _upper(side * (2 - side) * (1 + CLOSED))
    if t <= k * math.sqrt(2 / math.pi):
        return 1.0  # below the mean the bound is not needed
    s0 = _saddle(k, t)
    top = math.log(_moment(s0).real)
    chernoff = k * top - s0 * t  # log of the integrand's modulus at s0, and of Chernoff's bound of the tail
    step, steps = _steps(k, s0, top, chernoff)
    values, error = _terms(k, t, s0, top, step * np.arange(steps))
    total = step * (values.sum() - values[0] / 2) / math.pi
    left_out = (_decay(s0, top) / (step * (steps - 1))) ** k / (math.pi * k)
    bound = total + (step * error / math.pi + left_out) * (1 + 1e-9)
    return _upper(bound * math.exp(chernoff + 1e-15 * (k * abs(top) + s0 * t)) * (1 + 1e-14))


def _upper(bound: float) -> float:
    return min(1.0, max(bound, _SMALLEST))


def _decay(s0: float, top: float) -> float:
    """C / M(s0) where |M(s0 + iy)| <= C / |s|: integrate by parts, C = 2 sqrt(2/pi) + s0 M(s0)."""
    return (s0 + 2 * math.sqrt(2 / math.pi) * math.exp(-top)) * (1 + 1e-11)


def _steps(k: int, s0: float, top: float, chernoff: float) -> tuple[float, int]:
    """A step whose aliases are about SLACK of the tail, and so many steps that what is left out is as little.

    The tail is about exp(chernoff) / (s0 sqrt(2 pi k)); these are choices, on which no proof rests.
    """
    small = math.log(SLACK) - math.log(
        4 * (1 + s0) * math.sqrt(k)
    )  # of SLACK tails, relative to exp(chernoff)
    step = min(2 * math.pi * s0 / -(small + min(0.0, chernoff)), 0.5 / math.sqrt(k))
    farthest = _decay(s0, top) * math.exp(-small / k)
    digits, exponent = math.frexp(step)
    step = math.ldexp(math.floor(digits * 2**20), exponent - 20)  # so short that multiples of it are exact
    return step, min(_MOST, max(16, math.ceil(farthest / step) + 2))


def _terms(k: int, t: float, s0: float, top: float, y: Real) -> tuple[Real, float]:
    """Re of (M(s)/M(s0))^k exp(-iyt)/s at s = s0 + iy, and a bound of their rounding errors together."""
    s = s0 + 1j * y
    moment = _moment(s)
    log_moment = np.log(moment)
    powers = np.exp(k * (log_moment - top) - 1j * y * t)
    # k times the errors of two values of w, of their arguments (M'/M = s + sqrt(2/pi)/M) and logarithms; the phase; sums
    argument = np.abs(s) * (np.abs(s) + 1 / np.abs(moment))
    logarithms = 2 * FADDEEVA + 1e-15 * (argument + np.abs(log_moment) + abs(top))
    relative = k * logarithms + 1e-15 * (y * t + 8 + math.log2(len(y) + 1))
    sizes = np.abs(powers) / np.abs(s)
    return (powers / s).real, float((sizes * relative).sum())


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
