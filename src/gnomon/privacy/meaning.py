"""What a guarantee means to somebody who attacks it: how well a test of two neighbours can do, never understated.

A test sees a release and says which of two neighbouring tables it came from. (epsilon, delta)-DP says that for every set
S of outcomes P(S) <= e^epsilon P'(S) + delta, and so bounds what any test reaches; for Gaussian noise the exact figure is
known, and far smaller. (delta is no probability that the rest of the promise fails: at (1, 1e-6) a Gaussian release
exceeds the loss epsilon with probability 20 delta.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from gnomon.privacy.guarantee import Adjacency, Guarantee

FALSE_ALARMS = (0.01, 0.05)
WEAK_EPSILON = 8.0
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Reach:
    """How often a test is right of two equally likely neighbours, and how often it finds one at given false alarms."""

    right: float
    found: tuple[float, ...]  # at FALSE_ALARMS


def reach_by_epsilon(epsilon: float, delta: float) -> Reach:
    """The bound for every (epsilon, delta)-DP release.

    The total variation distance of neighbours is at most (e^epsilon - 1 + 2 delta) / (e^epsilon + 1), and the best test
    of two equally likely laws is right with probability (1 + distance) / 2 = (e^epsilon + delta) / (1 + e^epsilon). With
    false alarms a it finds at most min(e^epsilon a + delta, 1 - e^-epsilon (1 - delta - a)) (Wasserman and Zhou 2010).
    """
    shrink = math.exp(-epsilon)
    found = (
        min(1.0, a / shrink + delta if shrink > 1e-300 else 1.0, 1 - shrink * max(0.0, 1 - delta - a))
        for a in FALSE_ALARMS
    )
    return Reach(min(1.0, (1 + delta * shrink) / (1 + shrink)), tuple(found))


def reach_of_gaussian(mu: float) -> Reach:
    """Exactly what the best test of a mu-Gaussian release reaches (Dong, Roth and Su 2022): Phi(mu/2), and Phi(Phi^-1(a) +
    mu) at false alarms a.
    """
    if math.isinf(mu):
        return Reach(1.0, tuple(1.0 for _ in FALSE_ALARMS))
    found = tuple(_NORMAL.cdf(_NORMAL.inv_cdf(a) + mu) for a in FALSE_ALARMS)
    return Reach(_NORMAL.cdf(mu / 2), found)


def percent_up(share: float, places: int = 1) -> str:
    """A percentage rounded up, because it is an upper bound; certainty is not told of less."""
    steps = 10**places
    return f"{min(100 * steps, math.ceil(100 * steps * share - 1e-9)) / steps:.{places}f}%"


def plain_words(bound: Reach, exact: Reach | None) -> str:
    """What a test reaches, in a few sentences."""
    alarms = " and ".join(f"{a:.0%}" for a in FALSE_ALARMS)
    best = bound if exact is None else exact
    places = 1 if exact is None else 2
    found = " and ".join(percent_up(share, places) for share in best.found)
    first = (
        "In plain words: of two versions that are equally likely, somebody who knows everything else names the true one "
        f"at most {percent_up(bound.right)} of the time, by epsilon alone; a coin is right 50% of the time."
    )
    if exact is not None:
        first += f" All noise is Gaussian, so the exact figure is known: at most {percent_up(exact.right, 2)} of the time."
    return first + f" A test with {alarms} false alarms finds a version in at most {found} of the cases."


def weak_promises(guarantee: Guarantee, rows: int | None, bound: Reach, exact: Reach | None) -> list[str]:
    """What a reader should know of a promise that is kept and says little.

    `rows` is the number of rows, or its declared order of magnitude where the number is private.
    """
    found = []
    if math.isfinite(guarantee.epsilon) and guarantee.epsilon > WEAK_EPSILON:
        really = "" if exact is None else f", and of this one {percent_up(exact.right)}"
        found.append(
            f"Epsilon = {guarantee.epsilon:.6g} is a weak promise: an attacker of a release with it may name the true one "
            f"of two versions {percent_up(bound.right, 2)} of the time{really}."
        )
    if rows is not None and guarantee.delta > 0 and guarantee.delta * rows >= 1:
        number = "declared number" if guarantee.adjacency is Adjacency.ADD_REMOVE else "number"
        found.append(
            f"Delta = {guarantee.delta:.6g} is a weak promise: it is not below one over the {number} of rows, {rows}, and "
            "so would allow a release that shows some row as it is. Take one far below."
        )
    return found


def weak_together(account: str, releases: int, epsilon: float, delta: float) -> str:
    """What should be known of an account whose releases add up to little privacy; nothing where they do not."""
    if releases < 2 or epsilon <= WEAK_EPSILON:
        return ""
    if math.isinf(epsilon):
        return (
            f"The {releases} releases of the account {account!r} add up to no promise: one of them has none."
        )
    reached = percent_up(reach_by_epsilon(epsilon, min(delta, 1.0)).right, 2)
    return (
        f"The {releases} releases of the account {account!r} add up to epsilon = {epsilon:.6g}, a weak promise: whoever "
        f"has all of them may name the true one of two versions {reached} of the time."
    )
