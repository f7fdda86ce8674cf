"""What a test reaches: bounds that are attained, and figures that no test exceeds."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from gnomon.privacy.accounting import delta_of, mu_of
from gnomon.privacy.meaning import FALSE_ALARMS, percent_up, reach_by_epsilon, reach_of_gaussian

NORMAL = NormalDist()


def best_power(p: np.ndarray, q: np.ndarray, alarms: float) -> float:
    """Neyman and Pearson: outcomes by their likelihood ratio, the last one by chance."""
    order = np.argsort(-q / np.maximum(p, 1e-300))
    p, q = p[order], q[order]
    below = np.cumsum(p) - p
    share = np.clip((alarms - below) / np.maximum(p, 1e-300), 0, 1)
    return float((share * q).sum())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_bound_is_attained_and_never_exceeded(epsilon: float, delta: float) -> None:
    """By the worst (epsilon, delta) release, which tells for certain with probability delta."""
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    p = np.array([delta, (1 - delta) * right, (1 - delta) * (1 - right), 0.0])
    q = p[::-1]
    found = reach_by_epsilon(epsilon, delta)
    assert np.maximum(p, q).sum() / 2 == pytest.approx(found.right)
    for alarms, bound in zip(FALSE_ALARMS, found.found, strict=True):
        assert best_power(p, q, alarms) <= bound + 1e-12
        if alarms >= delta:
            assert best_power(p, q, alarms) == pytest.approx(bound)


@pytest.mark.parametrize("mu", [0.05, 0.2367, 1.0, 4.0])
def test_gaussian_figures_are_those_of_two_normals(mu: float) -> None:
    found = reach_of_gaussian(mu)
    x = np.linspace(-9, 9 + mu, 40_001)
    p, q = (np.exp(-((x - c) ** 2) / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0]) for c in (0.0, mu))
    assert np.maximum(p, q).sum() / 2 == pytest.approx(found.right, abs=1e-6)
    for alarms, power in zip(FALSE_ALARMS, found.found, strict=True):
        assert best_power(p, q, alarms) == pytest.approx(power, abs=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-6), (8.0, 1e-3)])
def test_the_exact_figure_is_within_the_bound(epsilon: float, delta: float) -> None:
    exact, bound = reach_of_gaussian(mu_of(epsilon, delta)), reach_by_epsilon(epsilon, delta)
    assert exact.right <= bound.right
    assert all(a <= b for a, b in zip(exact.found, bound.found, strict=True))


def test_delta_is_no_probability_of_a_larger_loss() -> None:
    """At (1, 1e-6) a Gaussian release exceeds the loss epsilon with probability about 20 delta."""
    mu = mu_of(1.0, 1e-6)
    assert delta_of(mu, 1.0) == pytest.approx(1e-6)
    assert NORMAL.cdf(-1 / mu + mu / 2) / 1e-6 == pytest.approx(20, abs=1)


def test_the_ends() -> None:
    assert reach_of_gaussian(math.inf).found == (1.0, 1.0)
    assert reach_by_epsilon(math.inf, 0.0).right == 1.0
    assert reach_by_epsilon(1000.0, 0.0).found == (1.0, 1.0)
    assert percent_up(0.54709, 2) == "54.71%"
    assert percent_up(1.0) == "100.0%"
