"""PrivateSVM: a minimiser that public steps reach, a proved distance of two of them, and a classifier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score

import gnomon as gn
from gnomon.errors import ParameterError
from gnomon.methods.baseline.privatesvm import FINE, SOFT, HingeMinimum, with_constant
from gnomon.methods.charging import unaccounted
from gnomon.privacy.guarantee import GaussianDP, PureDP
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID
from gnomon.table.rows import Rows


def reached(X: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    """Where the search ends, without noise."""
    query = HingeMinimum("w", Frame.identity(X.shape[1], radius=1.0), C, len(X))
    search, rows = query.start(), Rows.of(X, y)
    while not search.done:
        search = query.step(search, query.at(search).of_batch(rows))
    return search.place / FINE


def best(X: np.ndarray, y: np.ndarray, C: float) -> np.ndarray:
    Q = with_constant(Frame.identity(X.shape[1], radius=1.0), Rows.of(X, y)) / GRID
    sign = np.where(y == 1, 1.0, -1.0)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (Q @ w)
        t = np.clip((1 + SOFT - margin) / (2 * SOFT), 0, None)
        value = np.where(t <= 1, SOFT * t**2, 1 - margin)
        slope = -np.minimum(t, 1) * sign
        return 0.5 * w @ w + C * value.mean(), w + C / len(X) * (slope @ Q)

    return np.asarray(
        minimize(loss, np.zeros(Q.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    )


@pytest.mark.parametrize("C", [0.5, 20.0, 500.0])
def test_the_search_ends_within_the_stated_error(C: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.6, 0.6, (40, 3))
    y = (X[:, 0] + 0.3 * rng.standard_normal(40) > 0).astype(int)
    query = HingeMinimum("w", Frame.identity(3, radius=1.0), C, 40)
    assert (
        np.linalg.norm(reached(X, y, C) - best(X, y, C)) <= query.error + 1e-6 * C
    )  # what BFGS itself leaves


@pytest.mark.parametrize(("n", "C"), [(1, 0.4), (1, 5.0), (2, 1.0), (6, 4.0)])
def test_no_neighbour_moves_the_weights_farther_than_they_are_charged(n: int, C: float) -> None:
    rng, worst = np.random.default_rng(n), 0.0
    query = HingeMinimum("w", Frame.identity(2, radius=1.0), C, n)
    charged = 2 * C / n + 2 * query.error
    for _ in range(25):
        X, y = rng.uniform(-1, 1, (n, 2)), rng.integers(0, 2, n)
        Z, v = X.copy(), y.copy()
        Z[0], v[0] = rng.uniform(-1, 1, 2), rng.integers(0, 2)
        worst = max(worst, float(np.linalg.norm(reached(X, y, C) - reached(Z, v, C))))
    X, y = np.zeros((n, 2)), np.ones(n, dtype=int)
    Z, v = X.copy(), y.copy()
    X[0], Z[0], v[0] = (1.0, 0.0), (1.0, 0.0), 0
    worst = max(worst, float(np.linalg.norm(reached(X, y, C) - reached(Z, v, C))))
    assert worst <= charged
    if n == 1 and C < 1 - SOFT:
        assert worst == pytest.approx(2 * C, rel=1e-3)  # the worst pair; the rest is the error of the search


def test_the_noise_is_made_for_it() -> None:
    query = HingeMinimum("w", Frame.identity(3, radius=1.0), 10.0, 500)
    apart = 2 * 10 / 500 + 2 * query.error
    assert query.noise(GaussianDP(1.0)).scale / FINE == pytest.approx(apart, rel=1e-6)
    assert query.noise(PureDP(2.0)).scale / FINE == pytest.approx(apart * math.sqrt(4) / 2, rel=1e-6)


def clouds(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    return np.clip(0.3 * rng.standard_normal((n, 4)) + 0.25 * (2 * y - 1)[:, None], -1, 1), y


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_it_classifies_new_rows(delta: float) -> None:
    X, y = clouds()
    method = gn.baseline.PrivateSvm(4.0, delta, bounds=(-1, 1), classes=[0, 1], C=30).fit(
        X[:1500], y[:1500], charge=unaccounted
    )
    assert np.mean(method.predict(X[1500:]) == y[1500:]) > 0.85
    assert method.certificate_.holds
    assert len(method.events_) == 1
    with pytest.raises(ParameterError, match="no rows; use predict"):
        method.sample(10)


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
def test_it_is_a_classifier_of_scikit_learn() -> None:
    X, y = clouds()
    words = np.array(["no", "yes"])[y]
    method = gn.baseline.PrivateSvm(8.0, bounds=(-1, 1), classes=["no", "yes"], C=30)
    assert is_classifier(method)
    assert cross_val_score(method, X, words, cv=2).min() > 0.8
    fitted = clone(method).fit(X, words, charge=unaccounted)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.score(X, words) == np.mean(fitted.predict(X) == words)
    assert np.array_equal(fitted.predict(X) == "yes", fitted.decision_function(X) > 0)


def test_weights_do_not_depend_on_the_order_of_rows() -> None:
    X, y = clouds(300)
    order = np.random.default_rng(2).permutation(300)
    assert np.array_equal(reached(X, y, 5.0), reached(X[order], y[order], 5.0))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"C": 0.0}, "'C' parameter of PrivateSvm must be from 0.001"),
        ({"radius": -1.0}, "'radius' parameter of PrivateSvm"),
        ({"classes": [0, 1, 2]}, "two classes"),
        ({"calibration": "paper"}, "use calibration='sound'"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(given: dict[str, Any], words: str) -> None:
    X, y = clouds(50)
    with pytest.raises(ParameterError, match=words):
        gn.baseline.PrivateSvm(**{"epsilon": 1.0, "bounds": (-1, 1), "classes": [0, 1], **given}).fit(
            X, y, charge=unaccounted
        )
