"""Lower bounds on epsilon and mu from scores of two neighbouring tables, right with a stated confidence.

Claim. If a mechanism is (epsilon, delta)-DP, every event E satisfies P(E | B) <= e^epsilon P(E | A) + delta; if it is
mu-Gaussian-DP, P(E | B) <= Phi(Phi^-1(P(E | A)) + mu). An event is chosen on a quarter of the runs and its two
probabilities are bounded on the others by Clopper and Pearson (1934), each with half of the error, so the
inequality turned around bounds epsilon (or mu) from below with the confidence asked for, whatever the event is. The
choice of the event costs nothing, because the other runs have not seen it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import beta

from gnomon.privacy.accounting import epsilon_of

Scores = npt.NDArray[np.float64]
CANDIDATES = 100  # thresholds that are tried
CHOOSE = 4  # every fourth run chooses the threshold
CAUTION = (
    1e-4,
    0.05,
    0.5,
)  # so strict that the best of many thresholds is not merely the luckiest; less for few runs


BOTH = (True, False)  # events may be likelier for the second table, or for the first


class Region(NamedTuple):
    """Scores above a threshold (or not above it); likelier for the second table, or for the first."""

    threshold: float
    above: bool
    second: bool


class Shares(NamedTuple):
    """A lower bound on the likelier table's share of scores in a region, an upper bound on the other's."""

    likelier: npt.NDArray[np.float64]
    other: npt.NDArray[np.float64]


Measure = Callable[[Shares], npt.NDArray[np.float64]]


def share_at_least(hits: npt.ArrayLike, runs: int, error: float) -> npt.NDArray[np.float64]:
    """The Clopper-Pearson lower bound on a probability."""
    k = np.asarray(hits, dtype=np.float64)
    found: npt.NDArray[np.float64] = np.where(k > 0, beta.ppf(error, np.maximum(k, 1), runs - k + 1), 0.0)
    return found


def share_at_most(hits: npt.ArrayLike, runs: int, error: float) -> npt.NDArray[np.float64]:
    """The Clopper-Pearson upper bound on a probability."""
    return 1.0 - share_at_least(runs - np.asarray(hits, dtype=np.float64), runs, error)


def epsilon_of_shares(delta: float) -> Measure:
    """ln((P - delta) / Q), or nothing learnt."""

    def measure(shares: Shares) -> npt.NDArray[np.float64]:
        left = np.maximum(shares.likelier - delta, 0.0)
        with np.errstate(divide="ignore"):
            found: npt.NDArray[np.float64] = np.maximum(np.log(left) - np.log(shares.other), 0.0)
        return found

    return measure


def mu_of_shares(shares: Shares) -> npt.NDArray[np.float64]:
    """Phi^-1(P) - Phi^-1(Q): the smallest mu that allows both."""
    found: npt.NDArray[np.float64] = np.maximum(ndtri(shares.likelier) - ndtri(shares.other), 0.0)
    return found


class Family(NamedTuple):
    """A claim about all events at once: a parameter that two probabilities bound from below, and its epsilon."""

    measure: Measure
    epsilon: Callable[[float], float]


def gaussian_family(delta: float) -> Family:
    """The mechanism claims to be Gaussian: mu, and the epsilon of mu at delta."""
    return Family(mu_of_shares, lambda mu: epsilon_of(mu, delta) if mu > 0 else 0.0)


def lower_bounds(
    first: Scores, second: Scores, measure: Measure, confidences: Sequence[float]
) -> list[float]:
    """Lower bounds on the measure from independent scores of both tables, one for each confidence."""
    return [float(measure(shares)) for shares in bounded_shares(first, second, measure, confidences)]


def bounded_shares(
    first: Scores,
    second: Scores,
    measure: Measure,
    confidences: Sequence[float],
    directions: tuple[bool, ...] = BOTH,
) -> list[Shares]:
    """The two probabilities of the event that promises the largest measure, bounded with each confidence."""
    region, _ = _chosen(first, second, measure, directions)
    mine, others = (second, first) if region.second else (first, second)
    unseen = [np.delete(scores, slice(None, None, CHOOSE)) for scores in (mine, others)]
    hits = [np.count_nonzero((scores > region.threshold) == region.above) for scores in unseen]
    found = []
    for confidence in confidences:
        error = (1 - confidence) / 2
        likelier = share_at_least(hits[0], len(unseen[0]), error)
        found.append(Shares(likelier, share_at_most(hits[1], len(unseen[1]), error)))
    return found


def direction_of(groups: Sequence[tuple[Scores, Scores]], measure: Measure) -> tuple[bool]:
    """The table for which all parts together have the likelier events, by the runs that choose events.

    Events of several parts multiply only where they are likelier for the same table.
    """
    second, first = (sum(_chosen(*group, measure, (direction,))[1] for group in groups) for direction in BOTH)
    return (second >= first,)


def _chosen(
    first: Scores, second: Scores, measure: Measure, directions: tuple[bool, ...]
) -> tuple[Region, float]:
    for error in CAUTION:
        region, found = best_region(first[::CHOOSE], second[::CHOOSE], measure, error, directions)
        if found > 0:
            break
    return region, found


def best_region(
    first: Scores,
    second: Scores,
    measure: Measure,
    error: float,
    directions: tuple[bool, ...] = BOTH,
) -> tuple[Region, float]:
    """The region that would give the largest bound if these runs were the unseen ones, and that bound."""
    ordered = [np.sort(first), np.sort(second)]
    thresholds = _thresholds(np.sort(np.concatenate(ordered)))
    above = [len(scores) - np.searchsorted(scores, thresholds, side="right") for scores in ordered]
    best, found = -1.0, Region(float(thresholds[0]), True, directions[0])
    for is_above in (True, False):
        hits = [
            count if is_above else len(scores) - count for count, scores in zip(above, ordered, strict=True)
        ]
        for is_second in directions:
            mine, other = (1, 0) if is_second else (0, 1)
            shares = Shares(
                share_at_least(hits[mine], len(ordered[mine]), error),
                share_at_most(hits[other], len(ordered[other]), error),
            )
            values = measure(shares)
            place = int(np.argmax(values))
            if values[place] > best:
                best, found = float(values[place]), Region(float(thresholds[place]), is_above, is_second)
    return found, best


def _thresholds(ordered: Scores) -> Scores:
    """Between quantiles, finer toward both ends, where a small region may have a large ratio; and in the widest gap.

    Halfway between two scores, so that two clusters which do not touch are not cut at the edge of one of them.
    """
    distinct = np.unique(ordered)
    if len(distinct) == 1:
        return distinct
    rank = np.linspace(-1.0, 1.0, CANDIDATES)
    share = (1 + np.sign(rank) * (1 - (1 - np.abs(rank)) ** 2)) / 2
    quantiles = ordered[np.rint(share * (len(ordered) - 1)).astype(np.int64)]
    gaps = np.diff(distinct)
    places = np.minimum(np.searchsorted(distinct, quantiles), len(gaps) - 1)
    chosen = np.unique(np.append(places, np.argmax(gaps)))
    found: Scores = distinct[chosen] + gaps[chosen] / 2
    return found
