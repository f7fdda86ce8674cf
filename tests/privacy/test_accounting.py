"""Conversions are exact, rounded to the safe side, and agree with a second opinion."""

from __future__ import annotations

import math
import threading

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import common, pld_privacy_accountant, privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import MPContext

from gnomon.errors import ParameterError
from gnomon.privacy.accounting import (
    compose,
    delta_of,
    epsilon_of,
    epsilon_of_rho,
    guarantee_of,
    mu_of,
    mu_of_pure,
    parallel,
    rho_of,
    spendable,
    spendable_exactly,
)
from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, PureDP, Unit

GRID = [(e, d) for e in (1e-6, 0.01, 0.5, 1.0, 8.0, 50.0) for d in (1e-300, 1e-30, 1e-9, 1e-5, 0.1, 0.9)]
EXTREMES = [(1e-130, 1e-150), (1e-30, 1e-300), (1e5, 1e-6), (700.0, 1e-300), (1e-300, 0.5)]


def exact_delta(mu: float, epsilon: float):
    """Written again at twice the precision, so that a slip in the first is seen."""
    mp = MPContext()
    mp.dps = 1000 if mu < 1e-20 else 250
    a, b = mp.mpf(epsilon) / mp.mpf(mu) - mp.mpf(mu) / 2, mp.mpf(epsilon) / mp.mpf(mu) + mp.mpf(mu) / 2
    return mp.erfc(a / mp.sqrt(2)) / 2 - mp.exp(epsilon) * mp.erfc(b / mp.sqrt(2)) / 2


@pytest.mark.parametrize(("epsilon", "delta"), GRID + EXTREMES)
def test_mu_is_the_last_double_that_keeps_the_promise(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert exact_delta(math.nextafter(mu, math.inf), epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_conversions_go_back_and_forth_on_the_safe_side(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta_of(mu, epsilon) <= delta
    assert delta_of(mu, epsilon) == pytest.approx(delta, rel=1e-8)
    back = epsilon_of(mu, delta)
    assert back <= epsilon
    assert exact_delta(mu, back) <= delta
    assert back == pytest.approx(epsilon, rel=1e-8)
    rho = rho_of(epsilon, delta)
    assert rho > 0
    assert epsilon_of_rho(rho, delta) == pytest.approx(epsilon, rel=1e-8)
    # a Gaussian is its own best account: zCDP can only promise less
    assert rho <= mu * mu / 2 * (1 + 1e-12)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.01, 20), st.floats(1e-12, 0.4))
def test_epsilon_at_mu_is_safe_everywhere(mu: float, delta: float) -> None:
    epsilon = epsilon_of(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert epsilon <= epsilon_of_rho(mu * mu / 2, delta) * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [0.7, 2.0, 3.7306, 20.0])
@pytest.mark.parametrize("count", [1, 5])
def test_gaussian_agrees_with_dp_accounting(sigma: float, count: int) -> None:
    loss = compose([GaussianDP(1 / sigma)] * count)
    assert isinstance(loss, GaussianDP)
    event = dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(sigma), count)
    pld = pld_privacy_accountant.PLDAccountant().compose(event)
    rdp = rdp_privacy_accountant.RdpAccountant().compose(event)
    for delta in (1e-8, 1e-5):
        ours = epsilon_of(loss.mu, delta)
        assert ours == pytest.approx(pld.get_epsilon(delta), rel=1e-3)
        assert ours <= rdp.get_epsilon(delta)
        zcdp = epsilon_of_rho(loss.mu**2 / 2, delta)
        # dp_accounting searches a coarse list of orders by the same conversion
        assert zcdp == pytest.approx(rdp.get_epsilon(delta), rel=0.03)
        assert zcdp <= rdp.get_epsilon(delta) * (1 + 1e-9)


def test_pure_and_mixed_losses_agree_with_dp_accounting() -> None:
    pure = compose([PureDP(0.3), PureDP(0.5)])
    event = dp_event.ComposedDpEvent([dp_event.LaplaceDpEvent(1 / 0.3), dp_event.LaplaceDpEvent(1 / 0.5)])
    pld = pld_privacy_accountant.PLDAccountant().compose(event)
    assert isinstance(pure, PureDP)
    assert pure.epsilon >= 0.8
    assert pld.get_epsilon(1e-12) == pytest.approx(pure.epsilon, rel=1e-2)
    mixed = compose([PureDP(0.3), GaussianDP(0.4)])
    assert isinstance(mixed, GaussianDP)
    event = dp_event.ComposedDpEvent([dp_event.LaplaceDpEvent(1 / 0.3), dp_event.GaussianDpEvent(1 / 0.4)])
    true = pld_privacy_accountant.PLDAccountant().compose(event).get_epsilon(1e-6)
    assert true <= epsilon_of(mixed.mu, 1e-6)
    exact = guarantee_of([PureDP(0.3), GaussianDP(0.4)], 1e-6)
    assert isinstance(exact, ApproxDP)
    # the worst pure release is a randomised bit, a little worse than a Laplace release
    assert true <= exact.epsilon <= 1.03 * true
    bit = privacy_loss_distribution.from_privacy_parameters(common.DifferentialPrivacyParameters(0.3))
    both = bit.compose(privacy_loss_distribution.from_gaussian_mechanism(1 / 0.4))
    assert exact.epsilon == pytest.approx(both.get_epsilon_for_delta(1e-6), rel=1e-3)


def test_a_pure_part_leaves_the_rest_of_the_budget_to_the_gaussian() -> None:
    mu = mu_of(1.0, 1e-6, pure=0.05)
    # adding epsilons would allow only mu_of(0.95)
    assert mu_of(0.95, 1e-6) < mu < mu_of(1.0, 1e-6)
    total = guarantee_of([PureDP(0.05), GaussianDP(mu)], 1e-6)
    assert total.epsilon == pytest.approx(1.0, rel=1e-9)
    assert total.epsilon <= 1.0
    assert delta_of(mu, 1.0, pure=0.05) <= 1e-6


def test_classic_values() -> None:
    assert 1 / mu_of(1.0, 1e-5) == pytest.approx(3.730631634815942, rel=1e-12)
    assert delta_of(1.0, 0.0) == pytest.approx(math.erf(0.5 / math.sqrt(2)), rel=1e-12)
    # one order of CKS20 by hand: any order gives an upper bound
    alpha, rho, delta = 12.0, 0.05, 1e-6
    by_hand = rho * alpha + math.log(1 / (alpha * delta)) / (alpha - 1) + math.log(1 - 1 / alpha)
    assert epsilon_of_rho(rho, delta) <= by_hand


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 50.0])
def test_a_pure_release_is_gaussian_with_its_mu(epsilon: float) -> None:
    """The trade-off curve of epsilon-DP lies above the Gaussian's, and touches it at its corner."""
    mu = mu_of_pure(epsilon)
    mp = MPContext()
    mp.dps = 60
    corner = 1 / (1 + mp.exp(epsilon))
    assert mp.ncdf(-mp.mpf(mu) / 2) <= corner
    for alpha in (1e-9, 0.01, 0.2, 0.5, 0.9, float(corner)):
        curve = max(0, 1 - mp.exp(epsilon) * alpha, mp.exp(-epsilon) * (1 - alpha))
        quantile = mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(alpha))
        assert mp.ncdf(quantile - mu) <= curve + mp.mpf(10) ** -40
    assert float(mp.ncdf(-mp.mpf(mu) / 2)) == pytest.approx(float(corner), rel=1e-9)


def test_composition_rules() -> None:
    assert compose([PureDP(1.0)]) == PureDP(1.0)
    assert compose([GaussianDP(3.0), GaussianDP(4.0)]) == GaussianDP(5.0)
    assert compose([ZCDP(0.25), ZCDP(0.5)]) == ZCDP(0.75)
    assert compose([ApproxDP(1.0, 0.25), PureDP(0.5), ApproxDP(1.0, 0.5)]) == ApproxDP(2.5, 0.75)
    assert compose([PureDP(1.0), ZCDP(0.25), GaussianDP(1.0)]) == ZCDP(1.25)
    assert compose([GaussianDP(math.inf), GaussianDP(1.0)]) == GaussianDP(math.inf)
    assert compose([PureDP(math.inf), PureDP(1.0)]) == PureDP(math.inf)
    assert compose([ZCDP(1.0), GaussianDP(math.inf)]) == ZCDP(math.inf)
    assert parallel([PureDP(1.0), PureDP(2.0)]) == PureDP(2.0)
    assert parallel([GaussianDP(1.0), GaussianDP(0.5)]) == GaussianDP(1.0)
    assert parallel([ApproxDP(1.0, 1e-3), ApproxDP(2.0, 1e-6)]) == ApproxDP(2.0, 1e-3)


def test_all_kinds_of_loss_make_one_guarantee() -> None:
    assert guarantee_of([PureDP(1.0), PureDP(0.5)]) == PureDP(1.5)
    assert guarantee_of([PureDP(1.0), ApproxDP(0.5, 0.25)]) == ApproxDP(1.5, 0.25)
    zcdp = guarantee_of([PureDP(0.5), ZCDP(0.25), GaussianDP(1.0)], 1e-5)
    assert zcdp.epsilon == pytest.approx(0.5 + epsilon_of_rho(0.75, 1e-5), rel=1e-12)
    beside = guarantee_of([ApproxDP(0.5, 0.25), GaussianDP(1.0)], 0.125)
    assert beside.delta == 0.375
    assert beside.epsilon == pytest.approx(0.5 + epsilon_of(1.0, 0.125))
    assert guarantee_of([PureDP(math.inf), GaussianDP(1.0)], 1e-5).epsilon == math.inf


def test_sums_never_lose_a_bit() -> None:
    """Ten tenths are more than one in exact arithmetic, and a plain float sum says less than one."""
    total = compose([PureDP(0.1)] * 10)
    assert isinstance(total, PureDP)
    assert sum([0.1] * 10) < 1.0 < total.epsilon


@pytest.mark.parametrize("loss", [PureDP(1.1), ZCDP(0.3), GaussianDP(0.7)])
@pytest.mark.parametrize(
    "weights", [(0.3, 0.7), (0.1,) * 10, (1 / 3, 1 / 3, 1 / 3), (0.8, 0.15, 0.05), (1.0,)]
)
def test_parts_of_a_budget_compose_to_no_more_than_it(loss, weights) -> None:
    from fractions import Fraction

    amount, power = next(iter(vars(loss).values())), 2 if isinstance(loss, GaussianDP) else 1
    parts = [next(iter(vars(part).values())) for part in loss.split(*weights)]
    total = sum(Fraction(part) ** power for part in parts)
    assert total <= Fraction(amount) ** power
    assert float(total) == pytest.approx(amount**power, rel=1e-11)


def test_infinite_loss_means_no_noise() -> None:
    assert mu_of(math.inf, 1e-5) == math.inf
    assert rho_of(math.inf, 1e-5) == math.inf
    assert epsilon_of(math.inf, 1e-5) == math.inf
    assert epsilon_of_rho(math.inf, 1e-5) == math.inf
    assert mu_of_pure(math.inf) == math.inf
    assert delta_of(math.inf, 3.0) == 1.0
    assert delta_of(1.0, math.inf) == 0.0
    assert PureDP(math.inf).split(0.5, 0.5)[0] == PureDP(math.inf)


def test_spendable_keeps_unit_and_adjacency() -> None:
    asked = ApproxDP(1.0, 1e-6, Unit.PERSON, Adjacency.ADD_REMOVE, 3)
    for spent in (spendable(asked), spendable_exactly(asked)):
        assert spent.neighbours == asked.neighbours
    assert spendable(asked) == GaussianDP(mu_of(1.0, 1e-6), *asked.neighbours)
    assert spendable(PureDP(2.0)) == PureDP(2.0)
    promised = guarantee_of([spendable(asked)], 1e-6)
    assert isinstance(promised, ApproxDP)
    assert 1 - 1e-9 < promised.epsilon <= 1.0
    assert guarantee_of([ZCDP(rho_of(1.0, 1e-6))], 1e-6).epsilon == pytest.approx(1.0)


def test_threads_do_not_disturb_each_other() -> None:
    """mpmath changes its precision while it works; a shared context would give other digits."""
    wrong: list[float] = []
    expected = {e: exact_delta(1.0, e) for e in (0.3, 0.7, 1.9)}

    def work() -> None:
        for i in range(60):
            e = (0.3, 0.7, 1.9)[i % 3]
            delta_of.cache_clear()
            if not float(expected[e]) <= delta_of(1.0, e) <= float(expected[e]) * (1 + 1e-12):
                wrong.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: mu_of(0.0, 1e-5), "'epsilon' parameter"),
        (lambda: mu_of(math.nan, 1e-5), "'epsilon' parameter"),
        (lambda: mu_of(1.0, 0.0), "'delta' parameter"),
        (lambda: mu_of(1.0, 1.0), "'delta' parameter"),
        (lambda: mu_of(1.0, math.nan), "'delta' parameter"),
        (lambda: delta_of(-1.0, 1.0), "'mu' parameter"),
        (lambda: epsilon_of_rho(math.nan, 0.1), "'rho' parameter"),
        (lambda: mu_of(1.0, 0.1, pure=1.0), "'pure' parameter"),
        (lambda: guarantee_of([GaussianDP(1.0)]), "'delta' parameter"),
        (lambda: compose([]), "at least one loss"),
        (lambda: compose([PureDP(1.0), PureDP(1.0, Unit.ATTRIBUTE)]), "same unit"),
        (lambda: compose([ApproxDP(1.0, 0.6), ApproxDP(1.0, 0.6)]), "deltas"),
        (lambda: compose([ApproxDP(1.0, 0.1), GaussianDP(1.0)]), "given its delta"),
        (lambda: parallel([PureDP(1.0), ZCDP(1.0)]), "one kind"),
    ],
)
def test_bad_questions_get_one_sentence(call, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        call()
