"""The likelihoods of noise: against the laws that scipy knows, and never beyond what a change costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import dlaplace, ks_2samp, multivariate_normal, norm

from gnomon.audit.bound import Shares
from gnomon.audit.instrumentation import Step
from gnomon.audit.likelihood import (
    _BLOCKS,
    _LIKELIHOODS,
    Part,
    cost,
    log_chances,
    log_likelihood,
    of_blocks,
    parts,
    sharper,
)
from gnomon.audit.sketch import sketch_family, standing_out, stands_out
from gnomon.methods.baseline.sketch import sketch_epsilon
from gnomon.privacy.mechanism import Noise
from gnomon.privacy.noise import LAWS
from gnomon.privacy.noise.laplace import discrete_laplace
from gnomon.statistics.queries import Count, NoisyMax

RNG = np.random.default_rng(5)
SYMMETRIC = [(M + M.transpose(0, 2, 1)) for M in RNG.integers(-40, 40, (3, 2, 4, 4))]


def ratio(kind: str, scale: float, first, second, released) -> float:
    return log_likelihood(Step(kind, scale, second, released)) - log_likelihood(
        Step(kind, scale, first, released)
    )


def test_laplace_is_the_discrete_law() -> None:
    first, second, released = RNG.integers(-9, 9, (3, 6))
    for a, b in ((first, 3.5), (second, 1.2)):
        step = Step("discrete-laplace", b, a, released)
        assert log_likelihood(step) == pytest.approx(dlaplace.logpmf(released - a, 1 / b).sum())


def test_gaussians_are_the_normal_law_up_to_a_constant() -> None:
    first, second, released = RNG.integers(-9, 9, (3, 6))
    true = norm.logpdf(released, second, 4.0).sum() - norm.logpdf(released, first, 4.0).sum()
    for kind in ("rounded-gaussian", "discrete-gaussian"):
        assert ratio(kind, 4.0, first, second, released) == pytest.approx(true)
    i, j = np.triu_indices(4)
    std = np.where(i == j, 7.0, 7.0 / np.sqrt(2))
    a, b, v = (M[:, i, j] for M in SYMMETRIC)
    true = (norm.logpdf(v, b, std) - norm.logpdf(v, a, std)).sum()
    for kind in ("goe", "discrete-goe"):
        assert ratio(kind, 7.0, *SYMMETRIC) == pytest.approx(true)


def test_upper_laplace_counts_every_entry_once() -> None:
    i, j = np.triu_indices(4)
    a, b, v = (M[:, i, j] for M in SYMMETRIC)
    assert ratio("upper-laplace", 3.0, *SYMMETRIC) == pytest.approx(
        (np.abs(v - a) - np.abs(v - b)).sum() / 3.0
    )


def test_matrix_laplace_of_one_number_is_laplace() -> None:
    a, b, v = (np.full((1, 1, 1), number) for number in (0, 5, 3))
    assert ratio("matrix-laplace", 2.0, a, b, v) == pytest.approx((3 - 2) / 4.0)


def test_a_sketch_has_rows_of_a_normal_law_for_every_class() -> None:
    S, R = np.array([[[9, 2], [2, 4]], [[1, 0], [0, 1]]]), np.array([[[5, 0], [0, 8]], [[2, 1], [1, 3]]])
    Y, lift = RNG.integers(-5, 5, (2, 3, 2)), 3.0
    true = sum(
        multivariate_normal.logpdf(row, cov=R[c] + lift * np.eye(2))
        - multivariate_normal.logpdf(row, cov=S[c] + lift * np.eye(2))
        for c in (0, 1)
        for row in Y[c]
    )
    assert ratio("gaussian-sketch", lift, S, R, Y) == pytest.approx(true)


def test_numbers_with_weights_have_their_own_scales() -> None:
    first, second, released = RNG.integers(-9, 9, (3, 2, 3))
    weights = (1.0, 2.0, 0.5)
    wide = 4.0 * np.array(weights)
    steps = [
        Step(kind, 4.0, exact, released, weights)
        for kind in ("discrete-laplace", "rounded-gaussian")
        for exact in (first, second)
    ]
    assert log_likelihood(steps[0]) == pytest.approx(dlaplace.logpmf(released - first, 1 / wide).sum())
    told = log_likelihood(steps[3]) - log_likelihood(steps[2])
    true = (norm.logpdf(released, second, wide) - norm.logpdf(released, first, wide)).sum()
    assert told == pytest.approx(true)
    assert cost(*steps[:2]).epsilon == pytest.approx((np.abs(first - second) / wide).sum())
    assert cost(*steps[2:]).squared_mu == pytest.approx(np.square((first - second) / wide).sum())
    apart = parts(*steps[:2])
    assert sum(part.epsilon for part in apart) == pytest.approx(cost(*steps[:2]).epsilon)
    assert sum(part.score for part in apart) == pytest.approx(
        log_likelihood(steps[1]) - log_likelihood(steps[0])
    )


def test_without_noise_only_the_exact_value_comes_out() -> None:
    a, b = np.array([1, 2]), np.array([1, 3])
    assert log_likelihood(Step("none", 0.0, a, a)) == 0.0
    assert log_likelihood(Step("none", 0.0, b, a)) == -np.inf
    assert cost(Step("none", 0.0, a, a), Step("none", 0.0, b, a)).epsilon == np.inf
    assert cost(Step("none", 0.0, a, a), Step("none", 0.0, a, a)).epsilon == 0.0


def test_a_public_draw_tells_nothing() -> None:
    steps = [Step("public", 1.0, None, np.array([4])) for _ in range(2)]
    assert log_likelihood(steps[0]) == 0.0
    assert cost(*steps).epsilon == 0.0


@pytest.mark.parametrize("law", sorted(LAWS))
def test_every_registered_law_has_a_likelihood(law) -> None:
    assert law in {*_BLOCKS, *_LIKELIHOODS}


def test_a_law_without_a_likelihood_is_no_silent_zero() -> None:
    steps = [Step("student", 1.0, np.array([1]), np.array([4])) for _ in range(2)]
    with pytest.raises(KeyError):
        log_likelihood(steps[0])
    with pytest.raises(ValueError, match="student"):
        cost(*steps)


def test_a_noisy_maximum_has_the_chances_of_its_sampler() -> None:
    scores, scale = np.array([0, 700, 900, -40_000, 900]), 800.0
    chances = np.exp(log_chances(scores, scale))
    assert chances.sum() == pytest.approx(1.0)
    query, noise, drawn = NoisyMax(Count(""), 1, ()), Noise("noisy-max", None, scale, None), 2000
    hits = np.bincount([int(query.release(scores, noise)) for _ in range(drawn)], minlength=5) / drawn
    assert np.abs(hits - chances).max() < 6 * np.sqrt(0.25 / drawn)
    many = np.argmax(scores + discrete_laplace(scale, (100_000, 5)), axis=1)
    assert np.abs(np.bincount(many, minlength=5) / len(many) - chances).max() < 6 * np.sqrt(0.25 / len(many))


@pytest.mark.parametrize("candidates", [2, 5, 40])
def test_a_noisy_maximum_costs_no_more_than_its_proof_says(candidates) -> None:
    """One score falls, all others rise: the worst pair of `NoisyMax`, whose noise has scale 2 change / epsilon."""
    first, second = np.zeros((2, candidates), dtype=np.int64)
    second[:] = 1000
    second[0] = -1000
    both = [Step("noisy-max", 2 * 1000 / 1.5, exact, 0) for exact in (first, second)]
    spent = cost(*both).epsilon
    assert 0.5 * 1.5 < spent <= 1.5
    assert abs(log_likelihood(both[1]) - log_likelihood(both[0])) == pytest.approx(spent)


def test_a_choice_has_probabilities() -> None:
    gaps = np.array([0, 3, 5])
    found = [np.exp(log_likelihood(Step("exponential", 2.0, gaps, place))) for place in range(3)]
    assert sum(found) == pytest.approx(1.0)
    assert found[1] / found[0] == pytest.approx(np.exp(-1.5))


@pytest.mark.parametrize("kind", ["discrete-laplace", "upper-laplace", "matrix-laplace"])
def test_no_outcome_of_a_pure_step_tells_more_than_it_costs(kind) -> None:
    first, second, _ = SYMMETRIC
    spent = cost(Step(kind, 3.0, first, None), Step(kind, 3.0, second, None)).epsilon
    most = 0.0
    for size in (1, 10, 1000):
        for _ in range(200):
            M = RNG.integers(-size, size, (2, 4, 4)) * 10
            most = max(most, abs(ratio(kind, 3.0, first, second, M + M.transpose(0, 2, 1))))
    far = 10_000 * (second - first)
    assert most <= spent * (1 + 1e-9)
    assert ratio(kind, 3.0, first, second, far) == pytest.approx(spent)


def test_a_choice_costs_its_largest_ratio() -> None:
    first, second = np.array([0, 4, 4]), np.array([2, 0, 2])
    spent = cost(Step("exponential", 2.0, first, 0), Step("exponential", 2.0, second, 0)).epsilon
    assert spent == pytest.approx(max(abs(ratio("exponential", 2.0, first, second, k)) for k in range(3)))


def steps(kind: str, scale: float, first, second, released) -> tuple[Step, Step]:
    return Step(kind, scale, first, released), Step(kind, scale, second, released)


def test_parts_of_a_vector_are_its_numbers_that_change() -> None:
    first, second = np.array([1, 5, 7]), np.array([4, 5, 6])
    both = steps("discrete-laplace", 2.0, first, second, np.array([3, 9, 9]))
    assert parts(*both) == [Part(0.5, 1.5), Part(-0.5, 0.5)]
    assert sum(part.score for part in parts(*both)) == pytest.approx(
        log_likelihood(both[1]) - log_likelihood(both[0])
    )


def test_parts_of_a_matrix_are_its_blocks_or_directions() -> None:
    x = np.array([[3, 4]])
    first, second = np.zeros((2, 2, 2, 2), dtype=np.int64)
    first[0], second[1] = x.T @ x, x.T @ x  # one block loses what another gains
    released = SYMMETRIC[0][:, :2, :2]
    both = steps("matrix-laplace", 5.0, first, second, released)
    assert [part.epsilon for part in parts(*both)] == pytest.approx([2.5, 2.5])
    assert sum(part.score for part in parts(*both)) == pytest.approx(
        log_likelihood(both[1]) - log_likelihood(both[0])
    )
    first, second = np.diag([9, 0])[None], np.diag([0, 9])[None]
    released = np.array([[[1, 50], [50, 30]]])
    found = parts(*steps("matrix-laplace", 1.0, first, second, released))
    assert [part.score for part in found] == pytest.approx([1.75, 12.75])
    assert [part.epsilon for part in found] == pytest.approx([4.5, 4.5])


def test_blocks_that_lose_and_gain_the_same_have_the_same_law() -> None:
    """So that their scores may be counted as runs of one coordinate."""
    rng = np.random.default_rng(4)
    D = np.diag([6.0, 0.0])
    scores = []
    for first, second in ((D, 0 * D), (0 * D, D)):
        G, H = rng.standard_normal((2, 4000, 3, 2))
        Z = G.transpose(0, 2, 1) @ G - H.transpose(0, 2, 1) @ H
        both = [steps("matrix-laplace", 1.0, first[None], second[None], (first + z)[None]) for z in Z]
        scores.append([parts(*pair)[0].score for pair in both])
    assert ks_2samp(*scores).pvalue > 1e-6


def test_directions_of_matrix_laplace_noise_are_independent() -> None:
    rng = np.random.default_rng(3)
    G, H = rng.standard_normal((2, 200_000, 3, 2))
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    Z = turn.T @ (G.transpose(0, 2, 1) @ G - H.transpose(0, 2, 1) @ H) @ turn
    far = [Z[:, i, i] > 3 for i in (0, 1)]
    assert np.mean(far[0] & far[1]) == pytest.approx(np.mean(far[0]) * np.mean(far[1]), abs=0.005)


def told(s0, s1) -> float:
    """E[s | second] - ln E[e^s | first]: at most the divergence of the two laws, equal to it for the true likelihood."""
    return float(np.mean(s1) - np.log(np.mean(np.exp(s0))))


@pytest.mark.parametrize(("q", "more"), [(2, 0.01), (3, 0.02), (5, 0.05)])
def test_the_sharper_score_is_nearer_to_the_true_likelihood(q, more) -> None:
    rng = np.random.default_rng(q)
    G, H = rng.standard_normal((2, 60_000, q + 1, q))
    Z = G.transpose(0, 2, 1) @ G - H.transpose(0, 2, 1) @ H
    D = np.zeros((q, q))
    D[0, 0], D[1, 1] = 4.0, -4.0
    zero = np.zeros((q, q))
    found = {
        score: [
            score("matrix-laplace", D, Y, 1.0) - score("matrix-laplace", zero, Y, 1.0) for Y in (Z, Z + D)
        ]
        for score in (of_blocks, sharper)
    }
    assert told(*found[sharper]) > told(*found[of_blocks]) + more
    assert np.mean(np.exp(found[sharper][0])) == pytest.approx(1.0, abs=0.15)


def test_the_sharper_score_agrees_where_the_factor_is_constant() -> None:
    definite = np.array([[[5, 1], [1, 4]], [[-5, 1], [1, -9]]])
    exact = np.zeros((2, 2), dtype=np.int64)
    for kind, value in (("matrix-laplace", definite), ("upper-laplace", SYMMETRIC[2]), ("goe", SYMMETRIC[2])):
        zero = exact if kind == "matrix-laplace" else np.zeros((4, 4))
        assert sharper(kind, zero, value, 2.0) == pytest.approx(of_blocks(kind, zero, value, 2.0))


@pytest.mark.parametrize(("rows", "tau"), [(8, 0.25), (2, 1.0)])
def test_shares_of_a_sketch_bound_how_much_a_record_stands_out(rows, tau) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.chisquare(rows, (2, 400_000))
    other, likelier = first - (1 + tau) * second, (1 + tau) * first - second
    for t in np.quantile(likelier, [0.2, 0.5, 0.8]):
        shares = Shares(np.array([(likelier > t).mean()]), np.array([(other > t).mean()]))
        assert 0.95 * tau < standing_out(shares, rows)[0] < 1.01 * tau
    assert standing_out(Shares(np.array([0.3]), np.array([0.4])), rows)[0] == 0.0
    assert sketch_family(1e-5, rows).epsilon(tau) == sketch_epsilon(Fraction(tau), rows, 1e-5)
    empty, record = np.zeros((2, 2, 2), dtype=np.int64), np.zeros((2, 2, 2), dtype=np.int64)
    record[1, 0, 0] = 4
    both = [Step("gaussian-sketch", 4.0, exact, None) for exact in (empty, record)]
    assert stands_out(*both) == pytest.approx(1.0)
    assert stands_out(*both[::-1]) == pytest.approx(1.0)
