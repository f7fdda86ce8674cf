"""Pure parts beside a Gaussian one: what bounds on each prove about all of them together.

Claim. Let the outcome of a release have independent parts, the score of one of them a Gaussian shift by at least mu,
and for each of the others an event of probability at least p for one table and at most q < p for its neighbour. Then
the whole release is not (epsilon, delta)-DP for any epsilon with

    delta < sum over outcomes o of the events of  P_o delta_mu(epsilon - ln(P_o / Q_o)),

P_o and Q_o the products of p or 1 - p and of q or 1 - q, and delta_mu(e) = Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu).

Proof. What can be made from an outcome by a rule that does not know the table is no easier to tell apart than the
outcome (post-processing), so it is enough to make the experiment of the right-hand side. From the Gaussian part, add
noise to its score until the shift is mu. From another part, look whether its event happened; its true probabilities
are P >= p and Q <= q. Saying yes with one probability when it did and with another when it did not reaches every pair
(probability for the neighbour, for the table) above the diagonal and under the lines from (0, 0) over (Q, P) to
(1, 1); (q, p) is such a pair, because at q >= Q these lines are at least P high, and P >= p > q.
The parts are independent, so the made experiment is a Gaussian shift by mu beside independent bits of
probabilities p and q. Given the bits, its likelihood ratio is that of the Gaussian times P_o / Q_o, and the largest
P(E) - e^epsilon Q(E) over its events E is the sum above. If bounds on the parts hold together with some confidence
(the error is shared out among them), so does what follows from them.

What is assumed. Parts are independent given what came out before, and their laws do not depend on it: the noise of each
step is drawn for itself, and the pairs of `worst.py` change every part by as much whatever came out before (tested).
And the Gaussian part is a shift of Gaussian noise of *some* width, as wherever a bound is read off mu: its width, its
shift and the pure parts are what the runs measure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.special import ndtr

STEPS = 60  # halvings of the interval in which epsilon lies


class Bit(NamedTuple):
    """An event of one part: at least so likely for one table, at most so likely for its neighbour."""

    likelier: float
    other: float


def delta_beside(mu: float, bits: Sequence[Bit], epsilon: float) -> float:
    """The hockey stick at epsilon of a Gaussian shift by mu beside independent bits; exact."""
    total = 0.0
    for outcome in itertools.product((True, False), repeat=len(bits)):
        mine = math.prod(
            bit.likelier if yes else 1 - bit.likelier for yes, bit in zip(outcome, bits, strict=True)
        )
        others = math.prod(
            bit.other if yes else 1 - bit.other for yes, bit in zip(outcome, bits, strict=True)
        )
        if mine > 0:
            told = math.inf if others == 0 else math.log(mine) - math.log(others)
            total += mine * _shift(mu, epsilon - told)
    return total


def epsilon_beside(mu: float, bits: Sequence[Bit], delta: float) -> float:
    """The smallest epsilon that the experiment allows at delta; bits that tell nothing are left out."""
    telling = [bit for bit in bits if bit.likelier > bit.other]
    low, high = 0.0, 1.0
    if delta_beside(mu, telling, low) <= delta:
        return 0.0
    while delta_beside(mu, telling, high) > delta:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_beside(mu, telling, middle) > delta else (low, middle)
    return low


def _shift(mu: float, epsilon: float) -> float:
    """The hockey stick of N(mu, 1) against N(0, 1), for any epsilon."""
    if mu == 0 or epsilon == -math.inf:
        return -math.expm1(min(epsilon, 0.0))
    if epsilon > 700:
        return 0.0
    return max(0.0, float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)))
