"""Whole releases: the worst pair uses up what is charged and not more, and no outcome exceeds it."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.audit import attacks_on, audit
from gnomon.audit.doors import watched
from gnomon.audit.likelihood import Cost, cost, log_likelihood
from gnomon.audit.whole import Trials
from gnomon.audit.worst import worst_pair
from gnomon.privacy.accounting import mu_of
from gnomon.privacy.guarantee import ApproxDP, PureDP
from gnomon.release import METHODS

SURELY = 1 - 1e-7
PURE = ["ron-gauss", "modips", "pca-gauss", "pca-identity", "lda-identity", "exponential"]
GAUSSIAN = ["ron-gauss", "modips", "pca-gauss", "dprp"]
MIXED = ["pca-identity", "lda-identity"]


def trials(method: str, claim) -> Trials:
    worst = worst_pair(method, claim)
    made = METHODS[method](claim.epsilon, claim.delta, bounds=(-1.0, 1.0), **worst.parameters)
    return Trials.of(made, claim, worst.X, worst.y)


@pytest.mark.parametrize("method", PURE)
def test_a_pure_release_costs_what_it_charges_and_no_outcome_tells_more(method) -> None:
    claim = PureDP(4.0)
    several, reached = trials(method, claim), 0.0
    with watched() as watch:
        for i in range(8):
            mine, others = several.run(watch, bool(i % 2))
            spent = sum(map(cost, mine, others), Cost()).epsilon
            assert spent <= claim.epsilon * (1 + 1e-9)
            told = sum(map(log_likelihood, others)) - sum(map(log_likelihood, mine))
            assert abs(told) <= spent + 1e-6
            reached = max(reached, spent)
    assert reached >= 0.93 * claim.epsilon


@pytest.mark.parametrize("method", PURE[:-1])
def test_every_part_changes_by_as_much_in_every_run(method) -> None:
    """Otherwise the parts' scores would not be independent, and what they prove would not add up."""
    several, found = trials(method, PureDP(4.0)), []
    with watched() as watch:
        for i in range(6):
            first, second = several._in_order(watch, bool(i % 2))
            found.append([cost(*pair).epsilon for pair in zip(first, second, strict=True)])
    assert np.ptp(np.array(found), axis=0).max() < 1e-3


@pytest.mark.parametrize("method", GAUSSIAN)
def test_a_gaussian_release_costs_what_it_charges(method) -> None:
    claim = ApproxDP(4.0, 1e-5)
    mu, several, reached = mu_of(claim.epsilon, claim.delta), trials(method, claim), 0.0
    with watched() as watch:
        for i in range(8):
            spent = sum(map(cost, *several.run(watch, bool(i % 2))), Cost())
            assert spent.epsilon == 0
            assert spent.squared_mu <= mu**2 * (1 + 1e-9)
            reached = max(reached, spent.squared_mu)
    assert reached >= 0.9 * mu**2


@pytest.mark.parametrize("method", MIXED)
def test_a_release_of_both_kinds_costs_what_it_charges(method) -> None:
    claim = ApproxDP(4.0, 1e-5)
    assert 0.9 * claim.epsilon <= trials(method, claim).reach() <= claim.epsilon * (1 + 1e-6)


def test_a_sketch_costs_what_it_charges() -> None:
    claim = ApproxDP(4.0, 1e-5)
    assert 0.98 * claim.epsilon <= trials("blocki", claim).reach() <= claim.epsilon


@pytest.mark.parametrize(
    ("method", "delta", "runs"),
    [
        ("ron-gauss", 0.0, 60),
        ("pca-gauss", 1e-5, 80),
        ("dprp", 1e-5, 60),
        ("lda-identity", 1e-5, 60),
        ("blocki", 1e-5, 60),
        ("exponential", 0.0, 200),
    ],
)
def test_all_that_comes_out_withstands_its_own_likelihood(method, delta, runs) -> None:
    whole = attacks_on(method, epsilon=4.0, delta=delta)[-2]
    assert not audit(whole, runs, certain=SURELY).broken


def test_rows_behind_a_fresh_projection_withstand_too() -> None:
    tail = attacks_on("jl-laplace", epsilon=2.0, delta=0.01)[-1]
    assert tail.reach is not None
    assert 1.9 < tail.reach() < 2.0
    finding = audit(tail, 300, certain=SURELY)
    assert not finding.broken
    assert finding.epsilon > 0.0


@pytest.mark.parametrize(("claim", "m"), [(PureDP(8.0), 4), (ApproxDP(8.0, 1e-5), 40)])
@pytest.mark.parametrize(("signs", "least"), [((1.0, -1.0), 0.5), ((-1.0, -1.0), 0.1)])
def test_a_numeric_target_and_its_second_stage_cost_no_more_than_they_charge(claim, m, signs, least) -> None:
    """One record at a corner of the box and its target at an end, against another corner and the other end."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.1, 0.1, (2, 6000, m)), rng.uniform(-0.1, 0.1, (2, 6000))
    X[1], y[1] = X[0], y[0]
    X[:, 0], y[:, 0] = [np.ones(m), np.resize(signs, m)], [1.0, -1.0]
    made = METHODS["pca-gauss"](claim.epsilon, claim.delta, bounds=(-1, 1), target_bounds=(-1, 1))
    several, reached = Trials.of(made, claim, X, y), 0.0
    whole = claim.epsilon if claim.delta == 0 else mu_of(claim.epsilon, claim.delta) ** 2
    with watched() as watch:
        for i in range(6):
            mine, others = several.run(watch, bool(i % 2))
            assert sum(step.exact.ndim == 3 for step in mine) == 2  # both stages' moment matrices
            spent = sum(map(cost, mine, others), Cost())
            used, other = spent.epsilon, spent.squared_mu
            if claim.delta > 0:
                used, other = other, used
            assert other == 0
            assert used <= whole * (1 + 1e-9)
            reached = max(reached, used)
    assert reached >= least * whole
