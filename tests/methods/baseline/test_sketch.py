"""The cost of a Gaussian sketch, against an adversary and against the exact privacy curve of the worst pair."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from scipy import integrate, stats

from gnomon.methods.baseline.sketch import sketch_divergence, sketch_epsilon, sketch_lift
from gnomon.privacy.accounting import mu_of


def divergence(S: np.ndarray, other: np.ndarray, alpha: float) -> float:
    """The Renyi divergence of order alpha of N(0, S) from N(0, other), straight from the definition."""
    mixed = alpha * other + (1 - alpha) * S
    logdet = [np.linalg.slogdet(matrix)[1] for matrix in (mixed, S, other)]
    return float((logdet[0] - (1 - alpha) * logdet[1] - alpha * logdet[2]) / (2 * (1 - alpha)))


@pytest.mark.parametrize("moved", [False, True])
def test_no_neighbours_cost_more_than_claimed_and_orthogonal_ones_cost_exactly_that(moved: bool) -> None:
    rng = np.random.default_rng(0)
    lift = 3.0
    for tau, alpha in [(0.3, 2.0), (0.05, 9.0), (0.9, 1.5)]:
        claim = float(sketch_divergence(mp.mpf(tau), 1, mp.mpf(alpha), mp))
        T = tau * lift
        for _ in range(300):
            base, second = (
                lift * np.eye(4) + (A := rng.standard_normal((3, 4))).T @ A * rng.choice([0, 1]) for _ in "ab"
            )
            x, y = rng.standard_normal((2, 4))
            x, y = (v * math.sqrt(T) * rng.uniform() ** 0.2 / np.linalg.norm(v) for v in (x, y))
            if moved:
                cost = divergence(base + np.outer(x, x), base, alpha) + divergence(
                    second, second + np.outer(y, y), alpha
                )
            else:
                cost = divergence(base + np.outer(x, x), base + np.outer(y, y), alpha)
            assert cost <= claim * (1 + 1e-9)
        e = np.eye(4) * math.sqrt(T)
        base = lift * np.eye(4)
        worst = (
            divergence(base + np.outer(e[0], e[0]), base, alpha)
            + divergence(base, base + np.outer(e[0], e[0]), alpha)
            if moved
            else divergence(base + np.outer(e[0], e[0]), base + np.outer(e[1], e[1]), alpha)
        )
        assert worst == pytest.approx(claim, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta", "rows"), [(1.0, 1e-3, 30), (4.0, 1e-2, 8)])
def test_the_worst_pair_keeps_the_promise_by_its_exact_privacy_curve(
    epsilon: float, delta: float, rows: int
) -> None:
    """The loss is a difference of two independent chi-squares; its delta is integrated without any bound."""
    tau = 1 / (sketch_lift(epsilon, delta, rows, 2**32) / 2**32)
    # under N(0, I + tau e1e1'): y1^2 = (1+tau) Q1, y2^2 = Q2; log density ratio to N(0, I + tau e2e2')
    slope = tau / (2 * (1 + tau))
    chi = stats.chi2(rows)

    def given(q2: float) -> float:
        start = (epsilon + slope * q2) / (slope * (1 + tau))
        inside = integrate.quad(
            lambda q1: (1 - math.exp(epsilon - slope * ((1 + tau) * q1 - q2))) * chi.pdf(q1),
            start,
            start + 40 * rows + 200,
        )
        return float(inside[0]) * float(chi.pdf(q2))

    exact = integrate.quad(given, 0, 10 * rows + 100, limit=200)[0]
    assert 0 < exact <= delta
    assert exact > delta / 100  # and the conversion is not far from it


def test_the_lift_is_near_that_of_gaussian_noise_and_falls_with_the_budget() -> None:
    lift = sketch_lift(1.0, 1e-6, 1000, 2**32) / 2**32
    ideal = math.sqrt(1000) / mu_of(1.0, 1e-6)
    assert ideal < lift < 1.1 * ideal
    assert sketch_lift(2.0, 1e-6, 1000, 2**32) < sketch_lift(1.0, 1e-6, 1000, 2**32)
    assert sketch_lift(1.0, 1e-6, 4000, 2**32) > sketch_lift(1.0, 1e-6, 1000, 2**32)


def test_the_lift_found_keeps_the_budget() -> None:
    for epsilon, delta, rows in [(0.1, 1e-5, 50), (8.0, 1e-9, 700)]:
        squared = sketch_lift(epsilon, delta, rows, 2**32)
        assert sketch_epsilon(Fraction(2**32, squared), rows, delta) <= epsilon
        assert sketch_epsilon(Fraction(2**32 * 11, squared * 10), rows, delta) > epsilon
