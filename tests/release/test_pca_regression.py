"""PCA-Gauss with a numeric target: when columns are weighed by relevance, what it costs, and that no row costs more."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from gnomon.engine.local import quiet
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ApproxDP, PureDP, Spendable
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.privacy.sensitivity import Norm, moments
from gnomon.release import pca_look, pca_regression, pca_residual, pca_stages
from gnomon.release.base import Account
from gnomon.release.pca_gauss import PcaGauss, plan
from gnomon.release.pca_look import Place
from gnomon.release.pca_regression import (
    TARGET,
    WIDTHS,
    Beside,
    shares,
    stages,
    target_range,
    weighed,
    with_target,
)
from gnomon.statistics.grid import GRID

N, M = 1600, 60  # rows and columns that are weighed at epsilon = 4
SOME: Spendable = spendable(ApproxDP(4.0, 1e-6))


def sparse(n: int = N, m: int = M, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three columns of sixty tell of the target."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_normal((n, m)) * 0.3, -1, 1)
    return X, np.clip(X[:, :3] @ [0.8, -0.6, 0.5] + 0.1 * rng.standard_normal(n), -1, 1)


def regression(epsilon: float = 4.0, delta: float = 1e-6, **more: Any) -> PcaGauss:
    return PcaGauss(epsilon, delta, bounds=(-1, 1), target_bounds=(-1, 1), random_state=0, **more)


def score(method: PcaGauss, m: int) -> float:
    fresh, values = sparse(m=m, seed=1)
    return float(Ridge().fit(*method.sample(3000)).score(method.transform(fresh), values))


# --- When columns are weighed ---


@pytest.mark.parametrize(
    ("n", "m", "worth"),
    [
        (N, M, True),
        (500, M, False),  # too few rows to tell a telling column
        (200_000, M, False),  # so many rows that every column is seen anyway
        (100_000, 8, False),
    ],
)
def test_public_numbers_say_whether_columns_are_weighed(n: int, m: int, worth: bool) -> None:
    parts = shares(n, m, SOME)
    assert (parts is not None) == worth
    if parts is not None:
        assert sum(parts) == pytest.approx(1.0)


def test_without_noise_nothing_is_weighed() -> None:
    assert shares(N, M, PureDP(math.inf)) is None


def test_loud_noise_clips_the_target_and_gives_the_means_more_room() -> None:
    loud, still = Beside.of(300, 10, spendable(ApproxDP(1.0, 1e-6))), Beside.of(50_000, 10, SOME)
    assert loud.constant > still.constant
    assert loud.widths < still.widths
    assert loud.ball == GRID**2 + TARGET**2 + loud.constant**2


# --- What it costs ---


@pytest.mark.parametrize(("epsilon", "delta", "n", "m"), [(4.0, 1e-6, N, M), (8.0, 0.0, 10_000, 100)])
def test_what_is_spent_is_what_was_declared(epsilon: float, delta: float, n: int, m: int) -> None:
    events = regression(epsilon, delta).fit(*sparse(n, m)).events_
    told = [event.statistic for event in events]
    assert "covariance of every column with the target" in told
    if delta == 0:
        assert sum(event.loss.epsilon for event in events) == pytest.approx(epsilon)
        assert {event.mechanism for event in events} == {"discrete-laplace", "matrix-laplace"}
    else:
        whole = spendable(ApproxDP(epsilon, delta)).mu
        assert math.sqrt(sum(event.loss.mu**2 for event in events)) == pytest.approx(whole)
        assert {event.mechanism for event in events} == {"rounded-gaussian", "goe"}


def ends(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows at the corners of the box; targets nearly all in the middle and a few at their ends, so clipping matters."""
    rng = np.random.default_rng(0)
    y = np.zeros(n)
    y[: n // 50] = rng.choice([-1.0, 1.0], n // 50)
    return rng.choice([-1.0, 1.0], (n, m)), y


@pytest.mark.parametrize(("n", "m"), [(40, 4), (N, M), (4000, 4)])
@pytest.mark.parametrize("rows", [ends, sparse])
def test_no_row_is_longer_than_the_charge_says(
    rows: Callable[..., tuple[np.ndarray, np.ndarray]], n: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest, charged = [0.0], []
    summed, released = pca_regression.Moments.of_batch, pca_stages.release_moments

    def measured(Q: np.ndarray, *told: Any) -> Any:
        assert (np.rint(Q) == Q).all()
        longest[0] = max(longest[0], float((Q * Q).sum(axis=1).max()))
        return summed(Q, *told)

    def watched(S: np.ndarray, ball: int, *told: Any, **more: Any) -> Any:
        charged.append(ball)
        assert 0.3 * ball < longest[0] <= ball
        longest[0] = 0.0
        return released(S, ball, *told, **more)

    monkeypatch.setattr(pca_regression.Moments, "of_batch", measured)
    monkeypatch.setattr(pca_stages, "release_moments", watched)
    monkeypatch.setattr(pca_residual, "release_moments", watched)
    regression().fit(*rows(n, m))
    assert len(charged) == (1 if n == 40 else 2)


@pytest.mark.parametrize("loss", [PureDP(1.0), SOME])
@pytest.mark.parametrize("seed", range(6))
def test_no_neighbour_moves_a_release_beyond_its_sensitivity(
    monkeypatch: pytest.MonkeyPatch, loss: Spendable, seed: int
) -> None:
    """The last record is as extreme as cells allow, the columns are scaled at random, the target's range is narrow."""
    rng = np.random.default_rng(seed)
    m = 8
    spread = np.r_[rng.uniform(0.1, 1, m), 0.05]
    place = Place(rng.uniform(-1, 1, m + 1), rng.uniform(0.2, 5, m + 1), float(rng.uniform(0.05, 2)), spread)
    sums: list[np.ndarray] = []
    matrices: list[np.ndarray] = []
    for module, name, found in (
        (pca_look, "release_vector", sums),
        (pca_stages, "release_moments", matrices),
    ):
        real = getattr(module, name)

        def spy(value: np.ndarray, *told: Any, real: Any = real, found: Any = found, **more: Any) -> Any:
            found.append(value.astype(np.float64))
            return real(value, *told, **more)

        monkeypatch.setattr(module, name, spy)
    X, y = sparse(40, m, seed)
    for sign in (1.0, -1.0):
        X[-1], y[-1] = rng.choice([-1.0, 1.0], m), sign
        account = Account(loss)
        table = regression()._open(X, y, quiet)
        weighed(table, account, place, loss)
        with_target(table, account, place, loss, None)
    change = sums[0] - sums[1]
    size = np.abs(change).sum() if isinstance(loss, PureDP) else np.linalg.norm(change)
    assert 0 < size <= float(account.events[0].sensitivity.value)
    charged = account.events[-1].sensitivity
    D = matrices[0] - matrices[1]
    norm = np.linalg.svd(D[0], compute_uv=False).sum() if charged.norm is Norm.NUCLEAR else np.linalg.norm(D)
    assert 0 < norm <= float(charged.value)
    T = Beside.of(40, m, loss).ball
    assert charged.value == moments(charged.norm, width=m + 2, ball=T, adjacency=loss.adjacency).value


# --- What it is worth ---


def test_telling_columns_weigh_more() -> None:
    """Without noise, a column weighs as much as its covariance with the target."""
    X, y = sparse(4000, 6)
    place = Place(np.zeros(7), np.ones(7), 2.0, np.full(7, 0.3))
    loss = PureDP(math.inf)
    found = weighed(regression()._open(X, y, quiet), Account(loss), place, loss)
    t = np.clip(y / (0.3 * WIDTHS), -1, 1)
    shortened = X * np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, None]
    expected = np.abs(shortened.T @ t)
    assert found.weight[:6] == pytest.approx(expected / np.sqrt(np.mean(expected**2)), abs=2e-3)
    assert found.weight[6] == 1.0


def test_columns_that_tell_nothing_are_left_alone() -> None:
    X, _ = sparse(400, 6)
    place = Place(np.zeros(7), np.ones(7), 2.0, np.full(7, 0.3))
    loss = PureDP(math.inf)
    assert weighed(regression()._open(X, np.zeros(400), quiet), Account(loss), place, loss) is place


def test_weighing_finds_a_slope_that_drowns_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sparse(3000, 150)
    with fixed_noise(7):
        with_it = score(regression().fit(X, y), 150)
    monkeypatch.setattr(pca_regression, "shares", lambda *told: None)
    with fixed_noise(7):
        without = score(regression().fit(X, y), 150)
    assert with_it > 0.5
    assert with_it > without + 0.05


def test_faint_columns_spread_no_more_than_was_paid_for() -> None:
    """A column that noise makes look wide keeps the spread that the look found."""
    S = 100 * np.diag([0.5, 0.2, 0.2, 1.0, 1.0])
    one = pca_stages.StageOne(S, 3, 100, np.full(5, 1e-3), np.full(5, 1e-3))
    place = Place(np.zeros(4), np.ones(4), 1.0, np.array([1.0, 1.0, 0.01, 1.0]))
    mean, R = np.zeros(3), np.eye(3, 1)
    found = one.spectrum(mean)
    drowned = pca_stages.outside_of(one, found, mean, R, place)
    capped = pca_regression.outside_within(one, found, mean, R, place)
    assert drowned[2] > 0.1
    assert capped[2] == 0.01
    assert capped[1] == drowned[1]


def test_what_clipping_takes_from_a_normal_variable() -> None:
    z = np.random.default_rng(0).standard_normal(1_000_000)
    for widths in (0.5, 1.0, 2.5):
        kept = pca_regression.kept_variance(widths)
        assert kept == pytest.approx(np.clip(z, -widths, widths).var(), rel=0.01)


def test_a_second_stage_knows_the_spread_of_a_target() -> None:
    X, _ = sparse(20_000, 8)
    y = np.random.default_rng(3).standard_normal(20_000) * 0.2
    with fixed_noise(1):
        found = regression(4.0).fit(X, y)
    assert len([e for e in found.events_ if e.statistic.startswith("moment matrix")]) == 2
    assert found.model_.covariances[0, -1, -1] == pytest.approx(0.04, rel=0.05)


@pytest.mark.parametrize(("n", "widths"), [(500, 1.0)])
def test_the_spread_that_clipping_takes_from_a_target_is_given_back(
    n: int, widths: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = sparse(n, 8)
    y = np.random.default_rng(3).standard_normal(n) * 0.2

    def spread() -> float:
        with fixed_noise(1):
            return float(regression(1.0).fit(X, y).model_.covariances[0, -1, -1])

    with_it, kept = spread(), pca_regression.kept_variance(widths)
    monkeypatch.setattr(pca_regression, "kept_variance", lambda told: 1.0)
    assert with_it * kept == pytest.approx(spread())


def test_the_declared_range_of_a_target_stands_where_nothing_was_paid() -> None:
    X, y = sparse(40, 4)
    table = regression()._open(X, y, quiet)
    assert target_range(table, Place(np.zeros(5), np.ones(5), 2.0), 3.0) == (0.0, 1.0)
    assert target_range(table, Place(np.full(5, 0.5), np.ones(5), 2.0, np.full(5, 0.1)), 3.0) == (
        0.5,
        pytest.approx(0.3),
    )


@pytest.mark.parametrize(("n", "m"), [(N, M), (20_000, 25)])
def test_a_plan_knows_what_is_left_for_the_moments(n: int, m: int) -> None:
    steps, rest, _ = plan(n, m, 1, "regression", SOME, numbers=m).split(SOME)
    assert "columns" in steps
    _, first, second = stages(n, m, rest).split(rest)
    events = [e for e in regression().fit(*sparse(n, m)).events_ if e.statistic.startswith("moment matrix")]
    assert events[0].loss.mu == pytest.approx(first.mu)
    charged = moments(Norm.FROBENIUS, width=m + 2, ball=Beside.of(n, m, first).ball, adjacency=SOME.adjacency)
    assert events[0].sensitivity.value == charged.value
    assert len(events) == (1 if second is None else 2)


def test_events_name_the_columns_whose_lengths_were_counted() -> None:
    """The target lies beside the rows in the first histogram and in no later one, whose ball is that of the rows."""
    found = [e.statistic for e in regression().fit(*sparse(N, M)).events_ if "lengths" in e.statistic]
    told = [f"histogram of the lengths of the rows in {k} columns" for k in (M + 1, M, M)]
    assert found == [*told, "histogram of the lengths of the rows in the released subspace"]


@pytest.mark.parametrize(("n", "m", "wanted"), [(5000, 40, 40), (5000, 40, 35), (5000, 40, 5), (300, 10, 1)])
def test_the_dimension_that_was_asked_for_is_the_one_that_is_released(n: int, m: int, wanted: int) -> None:
    """Where stage two cannot bear it, stage one has everything."""
    assert regression(1.0, n_components=wanted).fit(*sparse(n, m)).n_components_ == wanted


def test_without_noise_the_mean_of_the_target_is_that_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sparse(400, 6)
    monkeypatch.setattr(pca_regression, "stages", lambda *told: pca_regression.Stages(None))
    found = regression(math.inf, 0.0, not_private=True).fit(X, np.clip(y / 4 + 0.5, -1, 1))
    assert found.model_.means[0, -1] == pytest.approx(float(np.mean(y / 4 + 0.5)), abs=2e-3)
