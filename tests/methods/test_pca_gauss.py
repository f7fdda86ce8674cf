"""PCA-Gauss: what it spends, what it releases, what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import gnomon as gn
from gnomon.errors import DataError, GnomonWarning, ParameterError
from gnomon.methods import METHODS
from gnomon.methods.pca_gauss import PcaGauss
from gnomon.methods.pca_gauss_paper import analyze_gauss_sigma
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ApproxDP
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.reproduce.pca_gauss import sir


def two_classes(n: int = 1500, m: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, m)) * 0.15
    X[:, 0] += np.where(y == 1, 0.3, -0.3)
    X[:, 1] *= np.where(y == 1, 2.0, 0.5)
    return np.clip(X, -1, 1), y


def line(n: int = 3000, m: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_normal((n, m)) * 0.3, -1, 1)
    return X, np.clip(X @ [0.8, -0.5, 0.0, 0.0, 0.3] + 0.05 * rng.standard_normal(n), -1, 1)


def classifier(epsilon: float = 4.0, delta: float = 1e-5, **more: Any) -> PcaGauss:
    return PcaGauss(epsilon, delta, bounds=(-1, 1), classes=[0, 1], random_state=0, **more)


def test_it_is_registered() -> None:
    assert gn.PcaGauss is PcaGauss
    assert METHODS["pca-gauss"] is PcaGauss


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_classifier_learns_from_the_release(delta: float) -> None:
    X, y = two_classes()
    method = classifier(8.0, delta).fit(X, y)
    learned = LogisticRegression().fit(*method.sample(2000))
    fresh, labels = two_classes(seed=1)
    assert learned.score(method.transform(fresh), labels) > 0.9
    assert method.certificate_.private


def test_a_regression_learns_its_slope() -> None:
    X, y = line()
    method = PcaGauss(8.0, 1e-5, bounds=(-1, 1), target_bounds=(-1, 1), n_components=5, random_state=0).fit(
        X, y
    )
    fresh, values = line(seed=1)
    assert Ridge().fit(*method.sample(3000)).score(method.transform(fresh), values) > 0.6


@pytest.mark.parametrize(
    ("delta", "kinds"), [(1e-5, {"goe", "rounded-gaussian"}), (0.0, {"discrete-laplace"})]
)
def test_the_noise_is_that_of_the_guarantee(delta: float, kinds: set[str]) -> None:
    found = {event.mechanism for event in classifier(8.0, delta).fit(*two_classes()).certificate_.events}
    assert found - {"matrix-laplace", "upper-laplace"} == kinds


def test_without_noise_means_and_covariances_come_back() -> None:
    X, y = two_classes(4000)
    Z, codes = classifier(math.inf, 0.0, not_private=True, n_components=8).fit(X, y).sample(20_000)
    for c in (0, 1):
        assert np.allclose(Z[codes == c].mean(axis=0), X[y == c].mean(axis=0), atol=0.05)
        assert np.allclose(np.cov(Z[codes == c].T), np.cov(X[y == c].T), atol=0.03)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("target", [True, False])
def test_what_is_spent_is_what_was_declared(delta: float, adjacency: str, target: bool) -> None:
    X, y = two_classes()
    method = classifier(1.0, delta, adjacency=adjacency, expected_rows=1000).fit(X, y if target else None)
    if delta == 0:
        assert sum(event.loss.epsilon for event in method.events_) == pytest.approx(1.0)
    else:
        whole = spendable(ApproxDP(1.0, delta))
        assert math.sqrt(sum(event.loss.mu**2 for event in method.events_)) == pytest.approx(whole.mu)
    assert method.certificate_.holds
    assert (method.certificate_.rows is None) == (adjacency == "add-remove")


def test_algorithm_1_counts_its_rows_where_their_number_is_private() -> None:
    X, _ = two_classes(4000)
    method = PcaGauss(
        4.0, 1e-5, bounds=(-1, 1), n_components=3, adjacency="add-remove", expected_rows=1000
    ).fit(X)
    assert abs(method.n_rows_ - 4000) < 60
    top = np.sort(np.linalg.eigvalsh(X.T @ X / len(X)))[::-1][:3] / 8
    assert np.allclose(np.diag(method.model_.covariances[0]), top, atol=0.01)


# --- Tables at the edge ---


def test_a_table_that_is_constant_everywhere() -> None:
    Z = PcaGauss(1.0, 1e-5, bounds=(-1, 1)).fit(np.zeros((200, 3))).sample(50)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("p", [1, 8])
@pytest.mark.parametrize("pca", ["auto", "laplace"])
def test_one_component_and_all_of_them(p: int, pca: str) -> None:
    method = classifier(n_components=p, pca=pca).fit(*two_classes())
    assert method.n_components_ == p
    assert method.sample(20)[0].shape == (20, 8)


def test_a_class_with_one_row_leans_on_the_others() -> None:
    X, y = two_classes(600)
    y = y.copy()
    y[0] = 2
    method = PcaGauss(0.5, 1e-5, bounds=(-1, 1), classes=[0, 1, 2], random_state=0)
    with fixed_noise(0), pytest.warns(GnomonWarning, match="too small for the noise"):
        method.fit(X, y)
    assert np.isfinite(method.sample(200)[0]).all()


# --- The paper's algorithms ---


@pytest.mark.parametrize("pca", ["laplace", "matrix-laplace", "public"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_source_of_a_pure_pca(pca: str, task: str) -> None:
    X, y = two_classes() if task == "classification" else line()
    told: dict[str, Any] = {"classes": [0, 1]} if task == "classification" else {"target_bounds": (-1, 1)}
    method = PcaGauss(
        2.0, 0.0, bounds=(-1, 1), pca=pca, public=X[:50] if pca == "public" else None, random_state=0, **told
    ).fit(X, y)
    Z, _ = method.sample(100)
    assert Z.shape == (100, X.shape[1])
    assert method.transform(X[:3]).shape == (3, X.shape[1])
    assert sum(event.loss.epsilon for event in method.events_) <= 2.0 * (1 + 1e-9)


def test_analyze_gauss_shares_one_delta() -> None:
    method = classifier(2.0, 1e-5, pca="analyze-gauss").fit(*two_classes())
    assert method.events_[0].mechanism == "goe"
    assert method.certificate_.private


def test_algorithm_1_publishes_components_and_no_projection() -> None:
    X, _ = two_classes()
    method = PcaGauss(2.0, bounds=(-1, 1), pca="laplace", n_components=3, random_state=0).fit(X)
    assert method.sample(40).shape == (40, 3)
    assert float(method.events_[0].sensitivity.value) < 2.01 * 2**32
    assert [column.name for column in method.data_schema_.released] == ["c0", "c1", "c2"]
    with pytest.raises(ParameterError, match="projection is private"):
        method.transform(X)


@pytest.mark.parametrize("task", ["clustering", "classification", "regression"])
def test_the_printed_noise_says_what_does_not_hold(task: str) -> None:
    X, y = line() if task == "regression" else two_classes()
    told: dict[str, Any] = {
        "classification": {"classes": [0, 1]},
        "regression": {"target_bounds": (-1, 1)},
    }.get(task, {})
    method = PcaGauss(1.0, bounds=(-1, 1), calibration="paper", n_components=2, random_state=0, **told)
    method.fit(X, None if task == "clustering" else y)
    text = method.certificate_.to_yaml()
    assert "true mean" in text
    assert not method.certificate_.private
    if task == "classification":
        assert "label" in text
        assert "P < 4" in text
    if task != "clustering":
        assert "Lap-PCA" in text


def test_algorithm_1_as_printed_adds_noise_to_the_whole_matrix() -> None:
    X, _ = two_classes()
    method = PcaGauss(1.0, bounds=(-1, 1), calibration="paper", n_components=3, random_state=0).fit(X)
    event = method.events_[-1]
    assert event.scale == pytest.approx(2**32 * 3)  # P a^2 / epsilon, in grid units
    covariance = method.model_.covariances[0]
    assert np.abs(covariance - np.diag(np.diag(covariance))).max() > 0


def test_analyze_gauss_as_printed_has_its_scale() -> None:
    method = classifier(1.0, 1e-5, calibration="paper", pca="analyze-gauss", pca_share=0.2).fit(
        *two_classes()
    )
    event = next(event for event in method.events_ if "principal" in event.statistic)
    assert analyze_gauss_sigma(0.2, 1e-5) == pytest.approx(math.sqrt(2 * math.log(1.25e5)) / 0.2)
    assert event.scale == pytest.approx(2**32 * analyze_gauss_sigma(0.2, 1e-5), rel=1e-9)
    assert not method.certificate_.holds


def test_sir_is_one_at_the_full_dimension() -> None:
    found = sir(np.array([4.0, 2.0, 1.0, 1.0]))
    assert found[-1] == pytest.approx(1.0)
    assert found[0] == pytest.approx(4 * 4 / 8)
    with pytest.raises(ParameterError, match="spectrum"):
        sir(np.zeros(3))


# --- Refusals ---


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"pca": "magic"}, "'pca' parameter of PcaGauss must be"),
        ({"pca": "laplace", "pca_share": 1.0}, "'pca_share' parameter"),
        ({"pca": "laplace", "pca_share": 1e-12}, "'pca_share' parameter"),
        ({"pca": "analyze-gauss", "delta": 0.0}, "needs delta above 0"),
        ({"calibration": "paper"}, "set delta=0"),
        ({"calibration": "paper", "delta": 0.0, "pca": "matrix-laplace"}, "prints no noise"),
        ({"pca": "public"}, "'public' parameter"),
        ({"n_components": 9}, "at most 8"),
    ],
)
def test_parameters_that_cannot_be_used(told: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        classifier(**{"delta": 1e-5, **told}).fit(*two_classes(100))


def test_a_public_table_with_other_columns() -> None:
    with pytest.raises(DataError, match="8 features"):
        classifier(pca="public", public=np.zeros((50, 7))).fit(*two_classes(100))


def test_a_public_table_with_other_names() -> None:
    import pyarrow as pa

    with pytest.raises(DataError, match="lacks the column 'x1'"):
        classifier(pca="public", public=pa.table({"x0": [0.1] * 20})).fit(*two_classes(100))


def test_fewer_public_rows_than_components() -> None:
    with pytest.raises(DataError, match="too few for 5 components"):
        classifier(pca="public", public=np.zeros((4, 8)), n_components=5).fit(*two_classes(100))


def test_nothing_is_charged_before_the_public_checks() -> None:
    charged: list[Any] = []
    with pytest.raises(DataError):
        classifier(pca="public", public=np.zeros((1, 8))).fit(*two_classes(100), charge=charged.append)
    assert not charged
