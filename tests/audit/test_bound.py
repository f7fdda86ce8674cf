"""The statistics of an audit: bounds that are right as often as they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from gnomon.audit import Attack, audit
from gnomon.audit.bound import (
    Shares,
    epsilon_of_shares,
    lower_bounds,
    mu_of_shares,
    share_at_least,
    share_at_most,
)
from gnomon.audit.learn import learned
from gnomon.audit.vectors import count_attack
from gnomon.privacy.guarantee import PureDP


@pytest.mark.parametrize("hits", [0, 1, 7, 49, 50])
def test_clopper_pearson_is_the_probability_at_which_the_hits_become_unlikely(hits) -> None:
    low, high = float(share_at_least(hits, 50, 0.01)), float(share_at_most(hits, 50, 0.01))
    if hits:
        assert binom.sf(hits - 1, 50, low) == pytest.approx(0.01)
    else:
        assert low == 0.0
    if hits < 50:
        assert binom.cdf(hits, 50, high) == pytest.approx(0.01)
    else:
        assert high == 1.0


def test_epsilon_and_mu_of_known_probabilities() -> None:
    shares = Shares(np.array([0.5]), np.array([0.1]))
    assert epsilon_of_shares(0.1)(shares)[0] == pytest.approx(np.log(4))
    assert mu_of_shares(shares)[0] == pytest.approx(-norm.ppf(0.1))
    assert epsilon_of_shares(0.6)(shares)[0] == 0.0


def test_a_bound_exceeds_the_truth_no_more_often_than_it_says() -> None:
    rng = np.random.default_rng(1)
    over = {"epsilon": 0, "mu": 0}
    trials = 200
    for _ in range(trials):
        first, second = rng.laplace(size=(2, 400)) + np.array([[0.0], [1.0]])
        over["epsilon"] += lower_bounds(first, second, epsilon_of_shares(0.0), [0.8])[0] > 1.0
        first, second = rng.standard_normal((2, 400)) + np.array([[0.0], [1.0]])
        over["mu"] += lower_bounds(first, second, mu_of_shares, [0.8])[0] > 1.0
    assert max(over.values()) <= 0.2 * trials


def test_more_confidence_means_a_smaller_bound_and_more_runs_a_larger_one() -> None:
    rng = np.random.default_rng(2)
    scores = rng.laplace(size=(2, 40_000)) + np.array([[0.0], [1.0]])
    some, many = (lower_bounds(*scores[:, :n], epsilon_of_shares(0.0), [0.95, 0.999]) for n in (400, 40_000))
    assert 0 < some[1] < some[0] < many[1] < many[0] < 1.0


def test_a_learnt_score_finds_the_number_without_noise() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.standard_normal((2, 200, 30))
    first[:, 17], second[:, 17] = 4.0, 4.001
    scores = learned(first, second)
    assert scores[0].max() < scores[1].min()


def test_a_learnt_score_never_saw_the_runs_that_it_scores() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.standard_normal(
        (2, 100, 60)
    )  # no difference at all, and more numbers than runs to learn from
    assert all(len(scores) == 75 for scores in learned(first, second))
    assert lower_bounds(*learned(first, second), epsilon_of_shares(0.0), [0.999])[0] == 0.0


def test_a_choice_may_repeat_and_noise_may_not() -> None:
    def same(neighbour: bool, runs: int) -> np.ndarray:
        return np.zeros(runs)

    attack = Attack("a", "b", PureDP(1.0), same)
    assert audit(attack, 40).broken
    assert not audit(replace(attack, discrete=True), 40).broken


def test_two_calls_may_not_be_alike() -> None:
    """Noise that is seeded in every call differs between the runs of one call."""

    def seeded(neighbour: bool, runs: int) -> np.ndarray:
        return np.random.default_rng(0).laplace(size=runs)

    finding = audit(Attack("a", "b", PureDP(1.0), seeded), 40)
    assert finding.repeats
    assert not finding.silent


@pytest.mark.parametrize(("epsilon", "runs", "proof"), [(20.0, 1000, False), (4.0, 1000, True)])
def test_sameness_proves_nothing_where_honest_noise_seldom_shows(epsilon, runs, proof) -> None:
    """At epsilon 20 a score leaves its end once in e^10 runs; at epsilon 4 once in e^2."""
    attack = Attack("a", "b", PureDP(epsilon), lambda neighbour, n: np.full(n, 1.0 if neighbour else -1.0))
    finding = audit(attack, runs)
    assert (finding.repeats, finding.silent) == (proof, not proof)
    assert finding.broken == proof


def test_honest_noise_at_a_large_epsilon_is_not_called_seeded() -> None:
    for epsilon in (12.0, 20.0, 30.0):
        assert not audit(count_attack(PureDP(epsilon)), 200, certain=1 - 1e-7).broken
    without_end = audit(count_attack(PureDP(1e300)), 20)
    assert without_end.silent
    assert not without_end.broken


def test_what_independent_parts_prove_adds_up() -> None:
    rng = np.random.default_rng(8)

    def release(neighbour: bool, runs: int) -> np.ndarray:
        return rng.laplace(size=(runs, 2)) + neighbour * np.array([1.0, 0.5])

    together = audit(Attack("a", "b", PureDP(1.5), release, parts=((0,), (1,))), 40_000)
    assert 1.2 < together.epsilon < 1.5
    assert audit(Attack("a", "b", PureDP(1.5), release, parts=((0,),)), 40_000).epsilon < 1.0


def test_parts_of_the_same_law_are_runs_of_one() -> None:
    rng = np.random.default_rng(9)

    def release(neighbour: bool, runs: int) -> np.ndarray:
        return rng.laplace(size=(runs, 4)) + neighbour * 0.5

    apart, together = (
        audit(Attack("a", "b", PureDP(2.0), release, parts=parts), 4000)
        for parts in (((0,), (1,), (2,), (3,)), ((0, 1, 2, 3),))
    )
    assert apart.certain < together.certain < 2.0
