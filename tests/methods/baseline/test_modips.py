"""MODIPS: RON-Gauss without a projection."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gnomon.baseline import Modips
from gnomon.errors import ParameterError
from gnomon.methods import METHODS
from gnomon.plan import choose, plan
from gnomon.privacy.guarantee import ApproxDP, PureDP
from gnomon.table.schema import Schema


def clusters(n: int = 3000, m: int = 6, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.6, 0.6, (classes, m))
    y = rng.integers(0, classes, n)
    return np.clip(centres[y] + 0.15 * rng.standard_normal((n, m)), -1, 1), y


def fitted(X: np.ndarray, y: np.ndarray | None = None, **parameters: object) -> Modips:
    settings = {"epsilon": 2.0, "bounds": (-1.0, 1.0), "random_state": 3, **parameters}
    if y is not None and settings.get("task") != "regression":
        settings.setdefault("classes", sorted(set(y.tolist())))
    return Modips(**settings).fit(X, y)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_classifier_trained_on_the_release_works_on_real_rows(delta: float) -> None:
    X, y = clusters(6000)
    method = fitted(X, y, delta=delta)
    Xs, ys = method.sample(4000)
    assert LogisticRegression(max_iter=500).fit(Xs, ys).score(method.transform(X), y) > 0.9
    assert method.certificate_.holds
    assert method.guarantee_ == (PureDP(2.0) if delta == 0 else ApproxDP(2.0, delta))
    assert method.n_components_ == 6


def test_transform_changes_nothing_because_nothing_is_reduced() -> None:
    X, y = clusters()
    assert np.allclose(fitted(X, y).transform(X[:9]), X[:9], atol=1e-6)


def test_infinite_epsilon_equals_the_plain_moments_written_a_second_time() -> None:
    X, y = clusters()
    method = fitted(X, y, epsilon=math.inf, not_private=True)
    for c in range(3):
        lifted = method.frame_.lift(method.model_.means[c][None])[0]
        assert np.allclose(lifted, X[y == c].mean(axis=0), atol=2e-3)
        covariance = method.model_.covariances[c] * method.frame_.radius**2
        assert np.allclose(covariance, np.cov(X[y == c].T, bias=True), atol=2e-3)


def test_regression_keeps_the_relation() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, 4))
    y = X @ np.array([0.5, -0.3, 0.1, 0.0]) + 0.05 * rng.standard_normal(len(X))
    Xs, ys = fitted(X, y, task="regression", target_bounds=(-1.0, 1.0)).sample(20_000)
    assert np.allclose(np.linalg.lstsq(Xs, ys, rcond=None)[0], [0.5, -0.3, 0.1, 0.0], atol=0.1)


def test_paper_calibration_has_the_printed_scales_and_says_what_it_delivers() -> None:
    X, y = clusters()
    method = fitted(X, calibration="paper")
    mean, covariance = method.events_
    assert mean.scale == pytest.approx(2**16 * 2 * math.sqrt(6) / 0.6)
    assert covariance.scale == pytest.approx(2**32 * 2 * math.sqrt(6) / 1.4)
    assert not method.certificate_.holds
    assert method.certificate_.delivered == pytest.approx(0.6 + 1.4 * math.sqrt(3))
    assert fitted(X, y, calibration="paper").certificate_.delivered == math.inf


def test_it_is_a_method_by_name() -> None:
    assert METHODS["modips"] is Modips


def test_gnomon_never_recommends_it() -> None:
    schema = Schema.of_arrays(4, (-1.0, 1.0))
    assert "modips" not in [planned.method for planned in plan(schema, 1000, PureDP(1.0))]
    assert choose(schema, 1000, PureDP(1.0)) != "modips"


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_components": 3}, "does not reduce"),
        ({"rows": "other"}, "'normalise' or 'clip'"),
        ({"calibration": "paper", "delta": 1e-6}, "leave delta at 0"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], sentence: str) -> None:
    X, _ = clusters(50)
    with pytest.raises(ParameterError, match=sentence):
        fitted(X, **parameters)
