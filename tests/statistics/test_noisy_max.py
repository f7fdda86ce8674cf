"""Report noisy max: the better candidate usually wins, and no neighbour changes the odds by more than epsilon."""

import math

import numpy as np
import pytest

from gnomon.privacy.guarantee import PureDP
from gnomon.statistics.queries import Count, NoisyMax


def choose(scores: list[int], epsilon: float) -> int:
    query = NoisyMax(Count("which"), 1, (0,) * len(scores))
    return int(query.release(np.array(scores), query.noise(PureDP(epsilon))))


def test_a_clear_winner_wins_and_the_noise_is_that_of_the_claim() -> None:
    assert choose([0, 1000, 10], 1.0) == 1
    assert NoisyMax(Count("which"), 1, (0,)).noise(PureDP(1.0)).scale == pytest.approx(2.0)


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
    # ties go to the first
    won = [below[np.clip(z + scores[0] - other + 200, 0, 400)] for other in scores[1:]]
    return float(np.sum(mass * np.prod(won, axis=0)))


def test_the_sampler_follows_that_law() -> None:
    n = 3000
    wins = sum(choose([2, 2, 1], 0.8) == 0 for _ in range(n))
    p = _chance([2, 2, 1], 0.8)
    assert abs(wins / n - p) < 6 * math.sqrt(p * (1 - p) / n)
