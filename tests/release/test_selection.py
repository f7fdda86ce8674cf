"""Report noisy max: the better candidate usually wins, and no neighbour changes the odds by more than epsilon."""

import math

import numpy as np
import pytest

from gnomon.privacy.guarantee import PureDP
from gnomon.release.selection import noisy_max


def test_a_clear_winner_wins_and_the_event_says_what_it_cost() -> None:
    place, event = noisy_max(np.array([0, 1000, 10]), 1, PureDP(1.0), statistic="which")
    assert place == 1
    assert event.scale == pytest.approx(2.0)
    assert event.loss == PureDP(1.0)


def test_the_worst_pair_of_neighbours_stays_within_epsilon() -> None:
    """One score falls by 1 and the others rise by 1: the exact chances of winning, summed over all noises."""
    epsilon, scores, neighbours = 0.8, [2, 2, 1], [1, 3, 2]
    ratio = _chance(scores, epsilon) / _chance(neighbours, epsilon)
    assert 1.3 < ratio <= math.exp(epsilon)


def _chance(scores: list[int], epsilon: float) -> float:
    """P(the first place wins), from the law of the noise."""
    q = math.exp(-epsilon / 2)
    z = np.arange(-200, 201)
    mass = (1 - q) / (1 + q) * q ** np.abs(z)
    below = np.cumsum(mass)
    won = [
        below[np.clip(z + scores[0] - other + 200, 0, 400)] for other in scores[1:]
    ]  # ties go to the first
    return float(np.sum(mass * np.prod(won, axis=0)))


def test_the_sampler_follows_that_law() -> None:
    n = 3000
    wins = sum(noisy_max(np.array([2, 2, 1]), 1, PureDP(0.8), statistic="s")[0] == 0 for _ in range(n))
    p = _chance([2, 2, 1], 0.8)
    assert abs(wins / n - p) < 6 * math.sqrt(p * (1 - p) / n)
