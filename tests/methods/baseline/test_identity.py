"""Identity queries behind projections: what is paid, what it covers, and that it can work."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from gnomon.baseline import BernoulliIdentity, LdaIdentity, PcaIdentity
from gnomon.errors import ParameterError
from gnomon.methods import METHODS
from gnomon.privacy import accounting
from gnomon.privacy.guarantee import GaussianDP, PureDP, Unit
from gnomon.privacy.noise.stream import fixed_noise

ALL = [BernoulliIdentity, PcaIdentity, LdaIdentity]


def clusters(n: int = 4000, m: int = 8, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.8, 0.8, (classes, m))
    y = rng.integers(0, classes, n)
    return np.clip(centres[y] + 0.1 * rng.standard_normal((n, m)), -1, 1), y


def fitted(method: type, X: np.ndarray, y: np.ndarray | None = None, **parameters: object) -> PcaIdentity:
    settings = {"epsilon": 40.0, "bounds": (-1.0, 1.0), "random_state": 3, **parameters}
    if y is not None and settings.get("task") != "regression":
        settings.setdefault("classes", sorted(set(y.tolist())))
    return method(**settings).fit(X, y)


@pytest.mark.parametrize("method", ALL)
def test_with_a_generous_budget_the_classes_can_be_told_apart(method: type) -> None:
    X, y = clusters()
    with fixed_noise(1):
        fit = fitted(method, X, y, n_components=2)
    Xs, ys = fit.sample()
    assert Xs.shape == (4000, 2)
    assert LogisticRegression(max_iter=500).fit(Xs, ys).score(fit.transform(X), y) > 0.8


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_everything_spent_composes_to_the_guarantee(method: type, delta: float) -> None:
    X, y = clusters(300)
    fit = fitted(method, X, y, epsilon=1.0, delta=delta, n_components=2)
    losses = [event.loss for event in fit.events_]
    pure = sum(loss.epsilon for loss in losses if isinstance(loss, PureDP))
    mus = [loss.mu for loss in losses if isinstance(loss, GaussianDP)]
    assert fit.certificate_.holds
    if mus:
        assert accounting.delta_of(mus[0], 1.0, pure=pure) <= delta
        assert accounting.delta_of(mus[0] * 1.01, 1.0, pure=pure) > delta
    else:
        assert pure == pytest.approx(1.0)


def test_the_row_noise_covers_the_farthest_records_and_no_more() -> None:
    """The worst pair of rows and labels, found by trying all corners, against the noise's own scale."""
    X, y = clusters(300, m=4)
    fit = fitted(PcaIdentity, X, y, epsilon=1.0, n_components=2)
    event = fit.events_[-1]
    W = fit.projection_
    corners = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1).T @ W
    features = np.abs(corners[:, None] - corners[None, :]).sum(axis=2).max()
    label = 2 * fit._query.label.steps / fit._query.grid
    assert (features + label) * fit._query.grid <= event.sensitivity.value
    assert (features + label) * fit._query.grid > 0.7 * float(event.sensitivity.value)
    assert event.scale == pytest.approx(float(event.sensitivity.value) / 0.7)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_paid_directions_are_the_principal_ones_when_the_budget_is_large(delta: float) -> None:
    rng = np.random.default_rng(2)
    X = np.clip(rng.standard_normal((20_000, 5)) * [0.05, 0.4, 0.05, 0.2, 0.05], -1, 1)
    with fixed_noise(3):
        W = fitted(PcaIdentity, X, epsilon=4.0, delta=delta, n_components=2).projection_
    assert abs(W[1, 0]) > 0.95
    assert abs(W[3, 1]) > 0.9
    assert np.allclose(W.T @ W, np.eye(2), atol=1e-5)


def test_discriminant_directions_ignore_what_does_not_tell_classes_apart() -> None:
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 20_000)
    X = np.clip(rng.standard_normal((20_000, 3)) * [0.5, 0.1, 0.1] + np.outer(2 * y - 1, [0, 0.4, 0]), -1, 1)
    with fixed_noise(3):
        W = fitted(LdaIdentity, X, y, epsilon=4.0).projection_
    assert W.shape == (3, 1)
    assert abs(W[1, 0]) > 0.95


@pytest.mark.parametrize("method", [PcaIdentity, LdaIdentity])
def test_public_rows_give_the_directions_for_free(method: type) -> None:
    X, y = clusters(600)
    public = clusters(100, seed=5)
    fit = fitted(method, X, y, epsilon=1.0, n_components=1, public=public)
    assert [event.statistic for event in fit.events_] == ["one row for each record"]
    assert fit.events_[0].loss == PureDP(1.0)
    again = fitted(method, X[::-1].copy(), y[::-1].copy(), epsilon=1.0, n_components=1, public=public)
    assert np.array_equal(fit.projection_, again.projection_)
    assert any("declared public" in line for line in fit.certificate_.public)


@pytest.mark.parametrize("method", [PcaIdentity, LdaIdentity])
@pytest.mark.parametrize("public", [None, clusters(100, seed=5)])
def test_the_recorded_answers_give_the_release_again_without_any_table(method: type, public: object) -> None:
    X, y = clusters(300)
    first = fitted(method, X, y, epsilon=1.0, n_components=2, public=public)
    again = method(**{**first.get_params(), "public": None})
    again.replay(first.schema_, 300, first.answers_, first.seed_)
    assert np.array_equal(again.projection_, first.projection_)
    assert np.array_equal(again.components(), first.components())
    assert again.certificate_.public == first.certificate_.public


@pytest.mark.parametrize("method", ALL)
def test_what_is_fixed_is_no_parameter_and_what_is_fitted_can_be_pickled(method: type) -> None:
    X, y = clusters(60)
    fit = fitted(method, X, y, n_components=1)
    assert not {"unit", "projection"} & set(fit.get_params())
    assert {"radius", "label_weight"} <= set(clone(fit).get_params())
    assert fit.guarantee_.unit is Unit.ROW
    held = pickle.loads(pickle.dumps(fit))
    assert np.array_equal(held.sample()[0], fit.sample()[0])


def test_a_number_beside_the_row_is_released_too() -> None:
    X, _ = clusters(500)
    fit = fitted(PcaIdentity, X, X[:, 0], task="regression", target_bounds=(-1.0, 1.0), n_components=3)
    Xs, ys = fit.sample()
    assert Xs.shape == (500, 3)
    assert ys.shape == (500,)


def test_they_are_methods_by_name() -> None:
    assert [METHODS[m.name] for m in ALL] == ALL


@pytest.mark.parametrize(
    ("method", "parameters", "sentence"),
    [
        (BernoulliIdentity, {"calibration": "paper"}, "No paper prints"),
        (PcaIdentity, {"share": 1.0}, "between 0 and 1"),
        (LdaIdentity, {"n_components": 3}, "one fewer"),
        (LdaIdentity, {"task": "clustering"}, "needs classes"),
        (LdaIdentity, {"public": (np.zeros((3, 8)), np.zeros(3, int))}, "two rows of every class"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_charged(
    method: type, parameters: dict[str, object], sentence: str
) -> None:
    X, y = clusters(50)
    charged: list[object] = []
    settings = {"epsilon": 1.0, "bounds": (-1.0, 1.0), "classes": [0, 1, 2], **parameters}
    with pytest.raises(ParameterError, match=sentence):
        method(**settings).fit(X, y, charge=charged.append)
    assert not charged
