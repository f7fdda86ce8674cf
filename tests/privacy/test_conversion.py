"""A guarantee of one unit and adjacency as one of another: each direction, what it rests on, and what is refused."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest

from gnomon.errors import ConversionError, ParameterError
from gnomon.privacy import conversion
from gnomon.privacy.accounting import delta_of, mu_of
from gnomon.privacy.conversion import STEPS, converted, group, group_delta, group_mu, group_rho
from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, Neighbours, PureDP, Unit

ROW: Neighbours = (Unit.ROW, Adjacency.REPLACE_ONE, 1)
ATTRIBUTE: Neighbours = (Unit.ATTRIBUTE, Adjacency.REPLACE_ONE, 1)
ADDED: Neighbours = (Unit.ROW, Adjacency.ADD_REMOVE, 1)
PERSON: Neighbours = (Unit.PERSON, Adjacency.ADD_REMOVE, 3)
OTHER_PERSON: Neighbours = (Unit.PERSON, Adjacency.ADD_REMOVE, 5)
KNOWN = {"attributes": 6, "bounded": 3}

# from, to, how many steps; what is not here promises nothing
EXPECTED = {
    (ROW, ATTRIBUTE): 1,
    (ATTRIBUTE, ROW): 6,
    (ADDED, ROW): 2,
    (ADDED, ATTRIBUTE): 2,
    (ADDED, PERSON): 3,
    (PERSON, ADDED): 2,
    (PERSON, ROW): 4,
    (PERSON, ATTRIBUTE): 2,
    (PERSON, OTHER_PERSON): 1,
}


@pytest.mark.parametrize(("origin", "to"), list(EXPECTED))
def test_each_direction(origin: Neighbours, to: Neighbours) -> None:
    k = EXPECTED[origin, to]
    assert converted(PureDP(0.25, *origin), to, **KNOWN) == PureDP(0.25 * k, *to)
    found = converted(ApproxDP(0.1, 1e-7, *origin), to, **KNOWN)
    assert found.neighbours == to
    assert found.epsilon == pytest.approx(0.1 * k)
    assert found.delta == pytest.approx(1e-7 * sum(math.exp(0.1 * i) for i in range(k)))


def test_every_direction_has_a_claim_a_proof_and_a_test() -> None:
    tested = {((a[0], a[1]), (b[0], b[1])) for a, b in EXPECTED}
    assert tested == set(STEPS)
    for steps in STEPS.values():
        assert "Claim:" in (steps.__doc__ or "")
        assert "Proof:" in (steps.__doc__ or "")


@pytest.mark.parametrize(("origin", "to"), list(product([ROW, ATTRIBUTE], [ADDED, PERSON])))
def test_a_release_that_shows_the_number_of_rows_promises_nothing_where_it_is_private(
    origin: Neighbours, to: Neighbours
) -> None:
    with pytest.raises(ConversionError, match="number of rows public"):
        converted(PureDP(1.0, *origin), to, **KNOWN)


def test_what_a_bound_rests_on_must_be_said() -> None:
    with pytest.raises(ConversionError, match="how many attributes"):
        converted(PureDP(1.0, *ATTRIBUTE), ROW)
    with pytest.raises(ConversionError, match="did not bound how many rows"):
        converted(PureDP(1.0, *ADDED), PERSON)
    with pytest.raises(ParameterError, match="'law'"):
        converted(ApproxDP(1.0, 1e-6), ATTRIBUTE, law=GaussianDP(1.0, *ADDED))
    with pytest.raises(ParameterError, match="at least one step"):
        group(PureDP(1.0), 0)


@pytest.mark.parametrize("origin", [ROW, ATTRIBUTE, ADDED, PERSON])
@pytest.mark.parametrize("to", [ROW, ATTRIBUTE, ADDED, PERSON])
def test_no_promise_stays_no_promise(origin: Neighbours, to: Neighbours) -> None:
    assert converted(PureDP(math.inf, *origin), to) == PureDP(math.inf, *to)
    assert converted(ApproxDP(math.inf, 1e-6, *origin), to) == ApproxDP(math.inf, 1e-6, *to)


def test_amounts_stay_the_decimals_that_people_write() -> None:
    assert group(PureDP(0.1), 3).epsilon == 0.3
    assert group(PureDP(1e308), 3).epsilon == math.inf


def test_a_delta_that_grows_past_one_is_refused() -> None:
    with pytest.raises(ConversionError, match="grows past 1"):
        group(ApproxDP(2.0, 1e-6), 20)
    with pytest.raises(ConversionError, match="grows past 1"):
        group(ApproxDP(1e6, 1e-6), 20)


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def test_random_chains_of_tables_never_lose_more_than_k_steps() -> None:
    """Outcomes at T_0, ..., T_k: each neighbour costs (epsilon, delta), and the ends cost at most what is claimed."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(500):
        k, epsilon = int(rng.integers(2, 6)), float(rng.uniform(0.05, 1.5))
        chain = rng.dirichlet(np.full(4, 0.7), k + 1)
        chain = 0.6 * chain + 0.4 * chain[:1]  # neighbours are alike
        pairs = [*pairwise(chain), *pairwise(chain[::-1])]
        delta = max(hockey_stick(p, q, epsilon) for p, q in pairs)
        if not 0 < delta < 1:
            continue
        lost = hockey_stick(chain[0], chain[-1], k * epsilon)
        bound = group_delta(epsilon, delta, k)
        assert lost <= bound
        worst = max(worst, lost / bound)
    assert worst > 0.05


@pytest.mark.parametrize("k", [2, 6])
def test_the_pure_bound_is_attained_by_a_sum_with_geometric_noise(k: int) -> None:
    """Each step moves the sum by one, so k steps move it by k: a likelihood ratio of e^(k epsilon)."""
    epsilon, places = 0.3, np.arange(-200, 201)
    noise = np.exp(-epsilon * np.abs(places))
    far = np.exp(-epsilon * np.abs(places - k))
    assert np.log(noise / far).max() == pytest.approx(group(PureDP(epsilon), k).epsilon)


@pytest.mark.parametrize("k", [2, 4, 6])
def test_a_known_gaussian_law_costs_less_delta_and_no_more_epsilon(k: int) -> None:
    promised = ApproxDP(1.0, 1e-6)
    law = GaussianDP(mu_of(1.0, 1e-6))
    plain, known = group(promised, k), group(promised, k, law)
    assert known.epsilon == plain.epsilon == k
    assert known.delta == delta_of(group_mu(law, k).mu, k) < plain.delta
    assert group_mu(law, k).mu >= k * law.mu


def test_an_unfit_law_does_no_harm() -> None:
    promised = ApproxDP(1.0, 1e-6)
    assert group(promised, 2, GaussianDP(50.0)) == group(promised, 2)


def test_zcdp_grows_with_the_square() -> None:
    assert group_rho(ZCDP(0.5), 3).rho == pytest.approx(4.5)
    assert math.isinf(group_rho(ZCDP(math.inf), 3).rho)
    assert math.isinf(group_mu(GaussianDP(math.inf), 3).mu)


def test_breaking_a_step_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(conversion.STEPS, (ADDED[:2], ROW[:2]), conversion.row_to_attribute)
    with pytest.raises(AssertionError):
        test_each_direction(ADDED, ROW)
