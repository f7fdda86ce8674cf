"""Pure parts beside a Gaussian one: exact accounts of simple experiments, and bounds as right as they say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from gnomon.audit import Attack, attacks_on, audit
from gnomon.audit.attack import judged
from gnomon.audit.beside import Bit, delta_beside, epsilon_beside
from gnomon.audit.likelihood import cost
from gnomon.audit.whole import likelihood_attack
from gnomon.audit.worst import worst_pair
from gnomon.methods import METHODS
from gnomon.privacy import mechanism
from gnomon.privacy.accounting import delta_of, epsilon_of
from gnomon.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from gnomon.privacy.noise.stream import fixed_noise

CLAIM = ApproxDP(4.0, 1e-5)
IDENTITY = ["pca-identity", "lda-identity"]


def test_a_shift_alone_is_the_gaussian_account() -> None:
    assert delta_beside(0.7, [], 1.3) == pytest.approx(delta_of(0.7, 1.3))
    assert epsilon_beside(0.7, [], 1e-5) == pytest.approx(epsilon_of(0.7, 1e-5))


def test_one_bit_of_the_worst_kind_is_the_account_of_a_pure_loss() -> None:
    pure = 1.1
    right = 1 / (1 + math.exp(-pure))
    bits = [Bit(right, 1 - right)]
    assert delta_beside(0.4, bits, 2.0) == pytest.approx(delta_of(0.4, 2.0, pure=pure))
    assert epsilon_beside(0.4, bits, 1e-5) == pytest.approx(epsilon_of(0.4, 1e-5, pure=pure))


def test_bits_alone_are_counted() -> None:
    bits = [Bit(0.5, 0.1), Bit(0.6, 0.3)]
    best = 0.5 * 0.6 - math.exp(1.5) * 0.1 * 0.3  # only where both say yes is the ratio above e^1.5
    assert delta_beside(0.0, bits, 1.5) == pytest.approx(best)
    assert epsilon_beside(0.0, bits, 0.1) == pytest.approx(math.log(0.2 / 0.03))


def test_the_hockey_stick_is_the_integral_that_it_stands_for() -> None:
    mu, epsilon, bits = 0.6, 1.2, [Bit(0.7, 0.2), Bit(0.5, 0.35)]
    total = 0.0
    for yes in (True, False):
        for also in (True, False):
            chance = [
                (a if yes else 1 - a) * (b if also else 1 - b) for a, b in zip(bits[0], bits[1], strict=True)
            ]

            def gap(x: float, chance: list[float] = chance) -> float:
                return max(0.0, chance[0] * norm.pdf(x - mu) - math.exp(epsilon) * chance[1] * norm.pdf(x))

            total += quad(gap, -12, 12, limit=400, points=[-3.0, 0.0, 3.0])[0]
    assert delta_beside(mu, bits, epsilon) == pytest.approx(total, abs=1e-7)


def test_weaker_bounds_never_prove_more() -> None:
    """The experiment of the bounds can be made from the true one, whatever the bounds are."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        q, p = np.sort(rng.random(2))
        mu, weaker = rng.random(), rng.random()
        true, seen = [Bit(p, q)], [Bit(p * (0.5 + rng.random() / 2), q + (1 - q) * rng.random() / 3)]
        assert epsilon_beside(mu * weaker, seen, 1e-4) <= epsilon_beside(mu, true, 1e-4) + 1e-9


def test_a_bit_that_tells_nothing_is_left_out() -> None:
    assert epsilon_beside(0.5, [Bit(0.2, 0.4)], 1e-5) == epsilon_beside(0.5, [], 1e-5)
    assert epsilon_beside(0.0, [], 1e-5) == 0.0


def made(mu: float, costs: tuple[float, ...]) -> Attack:
    """Laplace parts that cost so much, and a Gaussian shift, from a generator of the tests."""
    rng = np.random.default_rng(11)

    def release(neighbour: bool, runs: int) -> np.ndarray:
        moved = np.array(costs) * (neighbour - 0.5)
        laplace = rng.laplace(size=(runs, len(costs))) + moved
        scores = np.clip(laplace, -np.array(costs) / 2, np.array(costs) / 2)
        return np.c_[scores, rng.standard_normal(runs) + mu * neighbour]

    groups = tuple((i,) for i in range(len(costs)))
    return Attack("a", "b", CLAIM, release, parts=groups, shift=len(costs))


def test_bounds_on_parts_exceed_the_truth_no_more_often_than_they_say() -> None:
    mu, costs, over, trials = 0.5, (1.0, 0.7), 0, 60
    limit = epsilon_of(mu, CLAIM.delta, pure=sum(costs))  # no pair of such parts costs more
    most = 0.0
    for _ in range(trials):
        found = judged(made(mu, costs), *(made(mu, costs).release(side, 2000) for side in (False, True)))
        over += found.epsilon > limit
        most = max(most, found.epsilon)
    assert over == 0
    assert most > 0.6 * limit


def test_much_is_seen_of_parts_of_both_kinds() -> None:
    attack = made(0.32, (1.87, 0.47, 0.47))
    finding = audit(attack, 60_000, certain=1 - 1e-7)
    assert 0.85 < finding.share < 1
    assert not finding.broken
    alone = audit(replace(attack, parts=((0,),)), 60_000)
    assert alone.epsilon < finding.epsilon - 0.5


@pytest.mark.parametrize("method", IDENTITY)
def test_parts_change_by_as_much_in_every_run(method) -> None:
    """So that the parts of a run are independent, whatever the first step let out."""
    by_parts = attacks_on(method, epsilon=4.0, delta=1e-5)[-2].release.__self__
    assert by_parts.steady == (0, 1)
    found = []
    for i in range(6):
        first, second = by_parts.trials.in_order(bool(i % 2))
        assert [step.kind for step in first] == ["goe", "discrete-laplace"]
        costs = [cost(*pair) for pair in zip(first, second, strict=True)]
        found.append([costs[0].squared_mu, costs[1].epsilon])
    assert np.ptp(np.array(found), axis=0).max() < 1e-3


def whole(method: str) -> Attack:
    return attacks_on(method, epsilon=4.0, delta=1e-5)[-2]


def test_a_whole_release_of_both_kinds_is_scored_by_its_parts() -> None:
    attack = whole("lda-identity")
    assert attack.parts == ((0,), (1, 2))
    assert attack.shift == 3
    assert not audit(attack, 60, certain=1 - 1e-7).broken


@pytest.mark.parametrize(("kind", "share", "runs"), [(GaussianDP, 0.97, 400), (PureDP, 0.02, 600)])
def test_noise_halved_in_either_part_is_seen(kind, share, runs, monkeypatch) -> None:
    """With the noise fixed for the test, which is so short that other noise would once in a while hide the bug."""
    right = mechanism._scale
    monkeypatch.setattr(
        mechanism,
        "_scale",
        lambda distance, loss: right(distance, loss) / (2 if isinstance(loss, kind) else 1),
    )
    worst = worst_pair("lda-identity", CLAIM)
    method = METHODS["lda-identity"](4.0, 1e-5, bounds=(-1.0, 1.0), share=share, **worst.parameters)
    with fixed_noise(5):
        finding = audit(likelihood_attack(method, "planted", CLAIM, worst.X, worst.y, pair=""), runs)
    assert finding.broken
    assert not finding.repeats
