"""Labels of PCA-Gauss: the real rows are asked whose labels a learner can use, for a price."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon.engine.local import quiet
from gnomon.model.labels import Rule
from gnomon.privacy.guarantee import GaussianDP, PureDP
from gnomon.release import pca_gauss, pca_labels, pca_look
from gnomon.release.base import Account
from gnomon.release.pca_gauss import PcaGauss
from gnomon.release.pca_labels import MARGIN, MOST, SHARE, WIDEST, pooled_is_better, question


def counts(n: int, m: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms of counts, many of them zero, that one hidden activity drives; the label is whether it is high."""
    rng = np.random.default_rng(0)
    activity = rng.standard_normal(n)
    level, slope = rng.uniform(-4, 2, m), rng.uniform(1.5, 3, m)
    mean = np.exp(slope * activity[:, None] + level + 0.4 * rng.standard_normal((n, m)))
    X = np.log1p(rng.poisson(np.minimum(mean, 5e4))) / math.log1p(1e5)
    return X, (activity + 0.3 * rng.standard_normal(n) > 0).astype(int)


def discs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that differ in their spread alone: only separate covariances tell them apart."""
    rng = np.random.default_rng(1)
    y = np.arange(n) % 2
    return np.clip(rng.standard_normal((n, 6)) * np.where(y == 1, 0.05, 0.25)[:, None], -1, 1), y


def method(low: float, epsilon: float = 1.0, delta: float = 1e-5) -> PcaGauss:
    return PcaGauss(epsilon, delta, bounds=(low, 1), classes=[0, 1])


def accuracy(fitted: PcaGauss, X: np.ndarray, y: np.ndarray) -> float:
    learner = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return float(learner.fit(*fitted.sample(4_000)).score(X, y))


def test_counts_get_pooled_labels_and_a_learner_can_use_them(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = counts(14_000)
    table, test = (X[:10_000], y[:10_000]), (X[10_000:], y[10_000:])
    monkeypatch.setattr(pca_gauss, "bins_of", lambda *told: 0)  # rows with their shapes mislead nobody here
    asked = [method(0).fit(*table) for _ in range(4)]
    assert all(any("four learners" in event.statistic for event in one.events_) for one in asked)
    redrawn = [accuracy(one, *test) for one in asked if one.labels_ is not None]
    assert redrawn  # a single fit may say no: the noise of the model decides how much was cut
    assert min(redrawn) > 0.85
    monkeypatch.setattr(pca_gauss, "question", lambda second, *told: (None, second))
    unasked = [method(0).fit(*table) for _ in range(4)]
    assert all(one.labels_ is None for one in unasked)
    assert np.mean(redrawn) > np.mean([accuracy(one, *test) for one in unasked]) + 0.02


def test_rows_with_their_shapes_need_no_other_labels() -> None:
    X, y = counts(14_000)
    fitted = method(0).fit(X[:10_000], y[:10_000])
    assert len(fitted.shapes_) > 40
    assert accuracy(fitted, X[10_000:], y[10_000:]) > 0.82


def test_classes_that_differ_in_spread_keep_their_own_labels() -> None:
    fitted = method(-1).fit(*discs(10_000))
    assert fitted.labels_ is None
    assert any("four learners" in event.statistic for event in fitted.events_)


def test_labels_that_follow_the_rows_keep_the_classes_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pca_gauss, "pooled_is_better", lambda *told: True)
    X, y = counts(12_000)
    kept = (y == 0) | (np.arange(len(y)) % 3 == 0)
    fitted = method(0).fit(X[kept], y[kept])
    assert fitted.labels_ is not None
    _, labels = fitted.sample(20_000)
    assert abs(float(np.mean(labels)) - float(fitted.model_.weights[1])) < 0.02


def test_a_second_fit_forgets_the_labels_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pca_gauss, "pooled_is_better", lambda *told: True)
    fitted = method(0).fit(*counts(10_000))
    assert fitted.labels_ is not None
    fitted.bounds = (-1, 1)
    assert fitted.fit(*discs(300)).labels_ is None


def test_a_paper_s_algorithm_does_not_take_the_labels_of_an_earlier_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pca_gauss, "pooled_is_better", lambda *told: True)
    X, y = counts(10_000)
    fitted = method(0).fit(X, y)
    assert fitted.labels_ is not None
    fitted.set_params(pca="laplace", n_components=2).fit(X, y)
    assert fitted.labels_ is None
    assert len(fitted.sample(10)[1]) == 10


def test_rows_that_are_all_alike_keep_both_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pca_gauss, "pooled_is_better", lambda *told: True)
    y = (np.arange(20_000) % 5 == 0).astype(int)
    fitted = method(-1, 100.0).fit(np.ones((20_000, 1)), y)
    assert fitted.labels_ is not None
    assert abs(float(np.mean(fitted.sample(20_000)[1])) - 0.2) < 0.02


@pytest.mark.parametrize("loss", [PureDP(1.0), GaussianDP(0.2)])
def test_the_question_takes_its_share_or_nothing(loss: Any) -> None:
    asked, rest = question(loss, 1_000_000, 30, 2)
    expected = loss.split(SHARE, 1 - SHARE)
    assert (asked, rest) == expected
    assert question(loss, 200, 30, 2) == (None, loss)
    assert question(loss, 1_000_000, WIDEST + 1, 2) == (None, loss)
    assert question(loss, 1_000_000, 30, MOST // 30 + 1) == (None, loss)


def above(*columns: int) -> Rule:
    """Class 1 where the product of these columns is above 0."""
    return lambda X: (np.prod(X[:, list(columns)], axis=1) > 0).astype(int)


class TestSensitivity:
    """One record lies in one of sixteen bins: a neighbour moves at most one out of a bin and into another."""

    def asked(
        self, monkeypatch: pytest.MonkeyPatch, X: np.ndarray, y: np.ndarray, loss: Any
    ) -> tuple[np.ndarray, float, bool]:
        seen: list[np.ndarray] = []
        real = pca_look.release_vector

        def spy(value: np.ndarray, *told: Any, **more: Any) -> Any:
            seen.append(np.array(value))
            return real(value, *told, **more)

        monkeypatch.setattr(pca_look, "release_vector", spy)
        account = Account(loss)
        table = PcaGauss(1.0, bounds=(-1, 1), classes=[0, 1])._open(X, y, quiet)
        better = pooled_is_better(table, account, loss, (above(0), above(0, 1)), (above(1), above(1)))
        return seen[-1], float(account.events[0].sensitivity.value), better

    @pytest.mark.parametrize("seed", range(6))
    def test_no_neighbour_exceeds_it(self, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        rng = np.random.default_rng(seed)
        X, y = rng.uniform(-1, 1, (60, 2)), rng.integers(0, 2, 60)
        other, labels = X.copy(), y.copy()
        place = int(rng.integers(60))
        other[place], labels[place] = rng.choice([-1.0, 1.0], 2), 1 - y[place]
        for loss, p in ((PureDP(math.inf), 1), (GaussianDP(math.inf), 2)):
            first, charged, _ = self.asked(monkeypatch, X, y, loss)
            second, _, _ = self.asked(monkeypatch, other, labels, loss)
            assert first.sum() == second.sum() == 60
            assert np.linalg.norm((first - second).astype(float), p) <= charged + 1e-12

    def test_a_neighbour_may_stand_elsewhere_in_a_sorted_table(self, monkeypatch: pytest.MonkeyPatch) -> None:
        n = 50_000
        X, y = np.tile(np.linspace(-1, 1, n)[:, None], 2), (np.arange(n) % 3 == 0).astype(int)
        other, labels = np.r_[X[1:], np.ones((1, 2))], np.r_[y[1:], y[:1]]  # the first record is now the last
        monkeypatch.setattr(pca_labels, "ENOUGH", n)
        first, charged, _ = self.asked(monkeypatch, X, y, PureDP(math.inf))
        second, _, _ = self.asked(monkeypatch, other, labels, PureDP(math.inf))
        assert np.abs(first - second).sum() <= charged

    def test_coins_choose_rows_of_a_long_table_whatever_their_place(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Rows of one kind at every fourth place: a choice by place would find all of them, or none."""
        n = 40_000
        X, y = np.tile([[0.5, 0.5]], (n, 1)), (np.arange(n) % 4 == 0).astype(int)
        monkeypatch.setattr(pca_labels, "ENOUGH", n // 4)
        for _ in range(5):
            found, _, _ = self.asked(monkeypatch, X, y, PureDP(math.inf))
            assert abs(found.sum() - n / 4) < 6 * math.sqrt(n * 3 / 16)
            assert abs(found[15] - n / 16) < 6 * math.sqrt(n / 16)

    def test_the_worst_neighbour_uses_all_of_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X, y = np.tile([[0.5, -0.5]], (20, 1)), np.ones(20, dtype=int)
        other = X.copy()
        other[0] = [-0.5, 0.5]
        loss = PureDP(math.inf)
        first, charged, _ = self.asked(monkeypatch, X, y, loss)
        second, _, _ = self.asked(monkeypatch, other, y, loss)
        assert np.abs(first - second).sum() == charged == 2

    @pytest.mark.parametrize(
        "other", [[1.0, -1.0], [-1.0, -1.0]]
    )  # the learner alone is right, the classes alone
    def test_the_pooled_rule_wins_only_beyond_the_margin(
        self, monkeypatch: pytest.MonkeyPatch, other: list[float]
    ) -> None:
        n = 1_000
        most = int(MARGIN * n)
        for wins, wanted in ((most, False), (most + 1, True)):
            rows = np.ones((n, 2))  # all three rules are right about these
            rows[: 2 * wins] = [-1.0, 1.0]  # the pooled rule alone
            rows[2 * wins : 4 * wins] = other  # counts half, since the average of two is compared
            assert self.asked(monkeypatch, rows, np.ones(n, dtype=int), PureDP(math.inf))[2] is wanted

    def test_of_a_long_table_the_margin_is_a_part_of_the_rows_that_are_asked(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        n = 40_000
        monkeypatch.setattr(pca_labels, "ENOUGH", n // 8)
        rows = np.ones((n, 2))
        rows[: int(4 * MARGIN * n)] = [
            -1.0,
            1.0,
        ]  # the pooled rules alone: four margins of all, half of one if not
        assert self.asked(monkeypatch, rows, np.ones(n, dtype=int), PureDP(math.inf))[2] is True

    def test_each_of_the_four_counts_alike(self, monkeypatch: pytest.MonkeyPatch) -> None:
        always, never = above(0, 0), lambda X: np.full(len(X), 2)
        table = PcaGauss(1.0, bounds=(-1, 1), classes=[0, 1, 2])._open(
            np.ones((9, 1)), np.ones(9, int), quiet
        )
        for right in itertools.product([False, True], repeat=4):
            rules = [always if one else never for one in right]
            loss = PureDP(math.inf)
            better = pooled_is_better(table, Account(loss), loss, tuple(rules[:2]), tuple(rules[2:]))
            assert better is (sum(right[2:]) > sum(right[:2]))
