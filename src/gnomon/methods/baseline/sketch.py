"""What a Gaussian sketch of a table costs: Renyi divergences, exact for the worst neighbours, turned into (epsilon, delta).

A sketch releases r rows of N(0, S), S = sum of xx' + w^2 I over rows with ||x||^2 <= T; several labels have a sketch
each. Write tau = T / w^2.

Claim. For every order 1 < alpha < 1 + 1/tau, replacing one record, its label included, costs a Renyi divergence of
    r/(2(alpha-1)) [log(1+tau) - log(1+alpha tau) - log(1-(alpha-1) tau)],
attained by orthogonal records of squared length T when all other rows are zero.

Proof. Let S- be the matrix without the record, S- >= w^2 I, and u = S-^(-1/2) x, v = S-^(-1/2) y, so that U = |u|^2 and
V = |v|^2 are at most tau. The divergence of N(0, S- + xx') from N(0, S- + yy') is that of N(0, I + uu') from
N(0, I + vv'), which for beta = alpha - 1 is
    1/(2 beta) [alpha log(1+V) - beta log(1+U) - log det(I + alpha vv' - beta uu')],
and the determinant is (1 + alpha V)(1 - beta U) + alpha beta <u,v>^2: smallest, so worst, for <u,v> = 0. There the
derivative in V is proportional to alpha/(1+V) - alpha/(1+alpha V) >= 0 and that in U to beta/(1-beta U) - beta/(1+U) >= 0,
so U = V = tau is worst. Where the label moves, x leaves one sketch and y enters another; the two divergences add up to
the same expression at <u,v> = 0. A record that is added or removed is the case V = 0 or U = 0, which costs less. The r
rows are independent. QED

An order that is not the best one is still sound, so the search below may be as coarse as it likes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from mpmath import MPContext

from gnomon.errors import ParameterError
from gnomon.privacy.rounding import fraction


def sketch_divergence(tau: Any, rows: int, alpha: Any, mp: Any) -> Any:
    """The Renyi divergence of order alpha between the sketches of the worst neighbours."""
    beta = alpha - 1
    logs = mp.log(1 + tau) - mp.log(1 + alpha * tau) - mp.log(1 - beta * tau)
    return rows * logs / (2 * beta)


def sketch_epsilon(tau: Fraction, rows: int, delta: float) -> float:
    """An epsilon for which a sketch of `rows` rows is (epsilon, delta)-DP, rounded up (conversion of CKS20, Prop. 12)."""
    mp = MPContext()
    mp.dps = 60
    t = mp.mpf(tau.numerator) / tau.denominator

    def epsilon_at(alpha: Any) -> Any:
        renyi = sketch_divergence(t, rows, alpha, mp)
        return renyi - mp.log(alpha * delta) / (alpha - 1) + mp.log(1 - 1 / alpha)

    low, high = -40.0, -1e-9  # log of (alpha - 1) tau, which must stay below 1
    for _ in range(4):
        grid = [low + (high - low) * i / 40 for i in range(41)]
        found = [epsilon_at(1 + mp.exp(mp.mpf(s)) / t) for s in grid]
        best = min(range(41), key=found.__getitem__)
        low, high = grid[max(0, best - 1)], grid[min(40, best + 1)]
    return max(0.0, math.nextafter(float(found[best]), math.inf))


@lru_cache(maxsize=64)
def sketch_lift(epsilon: float, delta: float, rows: int, ball: int) -> int:
    """The smallest w^2 found for which a sketch of rows with ||x||^2 <= ball is (epsilon, delta)-DP, as an integer."""
    if math.isinf(epsilon):
        return 1

    def holds(squared: int) -> bool:
        return sketch_epsilon(Fraction(ball, squared), rows, delta) <= epsilon

    guess = math.ceil(float(fraction(ball)) * math.sqrt(rows) / epsilon)
    while not holds(guess):
        guess *= 2
    low, high = 0, guess
    while high - low > guess // 4096:
        middle = (low + high) // 2
        low, high = (low, middle) if middle and holds(middle) else (middle, high)
    if high > 2**61:
        raise ParameterError(
            "The budget is too small for a sketch: its lift would not fit into 64-bit integers."
        )
    return high
