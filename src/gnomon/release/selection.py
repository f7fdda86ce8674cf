"""Choosing one of a few candidates by a score of the private rows: report noisy max."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.mechanism import Event, Integers, release_vector
from gnomon.privacy.sensitivity import Norm, Sensitivity


def noisy_max(scores: Integers, change: int, loss: PureDP, *, statistic: str) -> tuple[int, Event]:
    """The place of the largest score after each has met discrete Laplace noise of scale 2 change / epsilon.

    Claim. If replacing one record changes every score by at most `change`, the chosen place is epsilon-DP, however many
    candidates there are: only the place is published.
    Proof. Fix the noise of all scores but the i-th. Place i wins when its noise reaches some r (ties go to the first
    place, on both tables alike). On the neighbouring table its own score falls by at most `change` and the others rise by
    at most as much, so r rises by at most 2 change; and P(Z >= r + 2 change) >= exp(-epsilon) P(Z >= r) for discrete
    Laplace noise of scale 2 change / epsilon. Average over the other noises. Worst pair: one score falls, all others rise.
    """
    shift = Sensitivity(Norm.L1, Fraction(2 * change), adjacency=loss.adjacency, unit=loss.unit)
    noisy = release_vector(scores, shift, loss, statistic=statistic)
    return int(np.argmax(noisy.value)), noisy.event
