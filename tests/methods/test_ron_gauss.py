"""RON-Gauss from tables to samples: sound where it must be, useful where it can be."""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gnomon as gn
from gnomon.errors import DataError, GnomonError, GnomonWarning, ParameterError
from gnomon.methods.ron_gauss import auto_dimension
from gnomon.privacy import accounting
from gnomon.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from gnomon.privacy.noise.stream import fixed_noise


def clusters(n: int = 3000, m: int = 12, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.6, 0.6, (classes, m))
    y = rng.integers(0, classes, n)
    return np.clip(centres[y] + 0.15 * rng.standard_normal((n, m)), -1, 1), y


def fitted(X: np.ndarray, y: np.ndarray | None, **parameters: object) -> gn.RonGauss:
    settings = {"epsilon": 2.0, "delta": 1e-6, "bounds": (-1.0, 1.0), "random_state": 3, **parameters}
    if y is not None and settings.get("task") != "regression":
        settings.setdefault("classes", sorted(set(y.tolist())))
    return gn.RonGauss(**settings).fit(X, y)


def test_samples_have_the_shape_of_the_input() -> None:
    X, y = clusters()
    method = fitted(X, y)
    Xs, ys = method.sample(500)
    assert Xs.shape == (500, 12)
    assert set(ys.tolist()) <= {0, 1, 2}
    assert np.abs(Xs).max() <= 1
    assert fitted(X, None).sample(10).shape == (10, 12)
    assert method.transform(X[:7]).shape == (7, 12)
    assert method.sample()[0].shape == X.shape
    assert method.projection_.shape == (12, method.n_components_)


def test_a_classifier_trained_on_the_release_works_on_real_rows() -> None:
    X, y = clusters(6000)
    method = fitted(X[:5000], y[:5000])
    Xs, ys = method.sample(4000)
    model = LogisticRegression(max_iter=500).fit(Xs, ys)
    assert model.score(method.transform(X[5000:]), y[5000:]) > 0.9


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_regression_keeps_the_relation(delta: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (20_000, 4))
    y = X @ np.array([0.5, -0.3, 0.1, 0.0]) + 0.05 * rng.standard_normal(len(X))
    method = fitted(
        X, y, delta=delta, task="regression", target_bounds=(-1.0, 1.0), n_components=4, rows="clip"
    )
    Xs, ys = method.sample(20_000)
    slope = np.linalg.lstsq(Xs, ys, rcond=None)[0]
    assert np.allclose(slope, [0.5, -0.3, 0.1, 0.0], atol=0.08)


def test_infinite_epsilon_equals_the_plain_pipeline_written_a_second_time() -> None:
    X, y = clusters(2000, 6, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method = fitted(X, y, epsilon=math.inf, not_private=True, n_components=3)
    W, chart = method.projection_, method.frame_
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    C = (rows @ W - chart.offset) / chart.radius
    C /= np.maximum(1, np.linalg.norm(C, axis=1, keepdims=True))
    for c in range(2):
        assert np.allclose(method.model_.means[c], C[y == c].mean(axis=0), atol=1e-3)
        assert np.allclose(method.model_.covariances[c], np.cov(C[y == c].T, bias=True), atol=1e-3)
    assert np.allclose(method.model_.weights, np.bincount(y) / len(y), atol=1e-6)
    assert not method.certificate_.holds


def test_the_seed_fixes_the_projection_and_never_the_noise() -> None:
    X, y = clusters()
    a, b = fitted(X, y), fitted(X, y)
    assert np.array_equal(a.projection_, b.projection_)
    assert not np.array_equal(a.model_.means, b.model_.means)
    assert np.array_equal(a.sample(50)[0], a.sample(50)[0])


@pytest.mark.parametrize(
    ("epsilon", "delta", "p"), [(1.0, 0.0, 4), (1.0, 1e-6, 3), (0.5, 1e-6, 12), (8.0, 1e-9, 12)]
)
def test_everything_spent_composes_to_the_guarantee(epsilon: float, delta: float, p: int) -> None:
    X, y = clusters()
    method = fitted(X, y, epsilon=epsilon, delta=delta, n_components=p)
    losses = [event.loss for event in method.events_]
    assert len(losses) == 2
    if all(isinstance(loss, PureDP) for loss in losses):
        assert sum(loss.epsilon for loss in losses) <= epsilon * (1 + 1e-12)
    else:
        assert all(isinstance(loss, GaussianDP) for loss in losses)
        mu = math.sqrt(sum(loss.mu**2 for loss in losses))
        assert accounting.delta_of(mu, epsilon) <= delta * (1 + 1e-9)
    expected = PureDP(epsilon) if delta == 0 else ApproxDP(epsilon, delta)
    assert method.guarantee_ == expected


def test_private_n_is_measured_and_nowhere_exact() -> None:
    X, y = clusters(3000)
    private = {"adjacency": "add-remove", "epsilon": 4.0, "expected_rows": 1000}
    fits = (fitted(X, y, **private) for _ in range(20))
    method = next(method for method in fits if method.n_rows_ != 3000)  # noise may be zero, not twenty times
    assert method.certificate_.rows is None
    assert method.certificate_.measured_rows == method.n_rows_
    assert abs(method.n_rows_ - 3000) < 100
    assert "3000" not in method.certificate_.to_yaml()
    assert len(method.sample()[0]) == method.n_rows_
    assert LogisticRegression(max_iter=500).fit(*method.sample(2000)).score(method.transform(X), y) > 0.85


def test_an_empty_table_can_be_released_where_n_is_private() -> None:
    method = gn.RonGauss(1.0, bounds=(-1, 1), adjacency="add-remove", expected_rows=50).fit(np.zeros((0, 3)))
    assert np.isfinite(method.sample(5)).all()


def test_the_parts_are_fitted_by_the_measured_location() -> None:
    """Rows in a far corner: the ball moves there, and is small. The declared cube reaches 2; 200 fits reached 0.3."""
    X = np.clip(0.8 + 0.02 * np.random.default_rng(0).standard_normal((5000, 4)), -1, 1)
    frame = fitted(X, None, rows="clip", n_components=4, epsilon=8.0).frame_
    assert np.linalg.norm(frame.lift(np.zeros((1, 4)))[0] - 0.8) < 0.1
    assert frame.radius[0] < 0.6


def test_frames_come_back_as_they_came() -> None:
    X, y = clusters(400, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.array(["x", "y", "z"])[y])
    columns = [{"name": n, "kind": "number", "low": -1, "high": 1} for n in "abc"]
    columns.append({"name": "kind", "kind": "category", "values": ("x", "y", "z"), "role": "target"})
    schema = gn.Schema(name="t", columns=tuple(gn.Column(**c) for c in columns))
    for data, kind in (
        (frame, pd.DataFrame),
        (pl.from_pandas(frame), pl.DataFrame),
        (pa.table(frame), pa.Table),
    ):
        sample = gn.RonGauss(4.0, 1e-6, schema=schema).fit(data).sample(20)
        assert isinstance(sample, kind)
        assert list(sample.columns if kind is not pa.Table else sample.column_names) == [
            "a",
            "b",
            "c",
            "kind",
        ]


def test_scikit_learn_can_clone_it() -> None:
    method = gn.RonGauss(1.0, 1e-6, bounds=(0, 1), n_components=3)
    assert clone(method).get_params() == method.get_params()


@pytest.mark.parametrize(("n", "m", "classes"), [(50, 2, 2), (400, 1500, 2), (5000, 8, 100), (2, 2, 2)])
def test_extreme_shapes_give_finite_models(n: int, m: int, classes: int) -> None:
    X, y = clusters(n, m, classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        method = fitted(X, y, classes=list(range(classes)))
    Xs, _ = method.sample(100)
    assert np.isfinite(Xs).all()


def test_small_classes_warn_and_use_the_pooled_model() -> None:
    X, y = clusters(2000, 4, 2)
    y[:3] = 2
    with fixed_noise(0), pytest.warns(GnomonWarning, match="too small for the noise"):
        fitted(X, y, epsilon=0.5)


def test_the_label_set_is_declared() -> None:
    X, y = clusters(200)
    with pytest.raises(ParameterError, match="labels taken from y would not be private"):
        gn.RonGauss(9.0, bounds=(-1, 1), n_components=2).fit(X, y)


def test_auto_dimension_grows_with_rows_and_epsilon() -> None:
    def loss(epsilon: float):  # type: ignore[no-untyped-def]
        return lambda q: GaussianDP(accounting.mu_of(epsilon, 1e-6))

    small, large = auto_dimension(500, 500, 2, loss(1.0)), auto_dimension(500, 50_000, 2, loss(1.0))
    assert 1 <= small < large <= 500
    assert auto_dimension(500, 500, 2, loss(4.0)) > small
    assert auto_dimension(3, 10**7, 2, loss(4.0)) == 3


def test_paper_calibration_says_what_it_really_delivers() -> None:
    X, y = clusters()
    for task, target in (("clustering", None), ("classification", y)):
        method = fitted(X, target, delta=0.0, calibration="paper", n_components=8, task=task)
        assert not method.certificate_.holds
        assert "epsilon" in method.certificate_.to_yaml()
        sample = method.sample(50)
        assert np.isfinite(sample[0] if task == "classification" else sample).all()
    with pytest.raises(ParameterError, match="delta at 0"):
        fitted(X, y, calibration="paper")


def test_paper_scales_are_the_printed_ones() -> None:
    X, _ = clusters()
    method = fitted(X, None, delta=0.0, epsilon=2.0, calibration="paper", n_components=8)
    mean, covariance = method.events_
    grid = 2**16
    assert math.isclose(mean.scale, grid * 2 * math.sqrt(12) / (0.3 * 2.0), rel_tol=1e-9)
    assert math.isclose(covariance.scale, grid**2 * 2 * math.sqrt(8) / (0.7 * 2.0), rel_tol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"epsilon": 0.0}, "'epsilon' parameter of RonGauss must be a positive number. Got 0.0"),
        ({"epsilon": math.nan}, "positive number. Got nan"),
        ({"epsilon": math.inf}, "no privacy at all"),
        ({"epsilon": "1"}, "positive number. Got '1'"),
        ({"delta": 1.0}, "'delta' parameter of RonGauss must be 'auto' or in"),
        ({"delta": -0.1}, "must be 'auto' or in"),
        ({"delta": "small"}, "must be 'auto' or in .* Got 'small' instead"),
        ({"n_components": 13}, "at most 12"),
        ({"n_components": 0}, "positive integer. Got 0"),
        ({"n_components": "some"}, "'auto' or a positive integer"),
        ({"calibration": "other"}, "'sound' or 'paper'"),
        ({"rows": "other"}, "'normalise' or 'clip'"),
        ({"task": "other"}, "'clustering', 'classification' or 'regression'"),
        ({"bounds": None}, "bounds=\\(low, high\\)"),
        ({"classes": [0]}, "one class only"),
        ({"task": "regression"}, "target_bounds"),
    ],
)
def test_bad_parameters_are_one_sentence(parameters: dict[str, object], sentence: str) -> None:
    X, y = clusters(100)
    with pytest.raises(GnomonError, match=sentence):
        fitted(X, y, **parameters)


def test_bad_tables_are_one_sentence() -> None:
    X, y = clusters(100)
    with pytest.raises(DataError, match="at least 2"):
        fitted(X[:1], y[:1], classes=[0, 1, 2])
    X[3, 4] = np.nan
    with pytest.raises(DataError, match="'x4' has missing cells"):
        fitted(X, y, strict=True)
    with pytest.raises(DataError):
        fitted(X[:, 0], y)


def test_breast_cancer_is_useful_at_epsilon_one() -> None:
    """A floor far below what is usually seen: 12 releases, real noise; chance is 0.63."""
    X, y = load_breast_cancer(return_X_y=True)
    high = np.array(
        [40, 50, 250, 3000, 0.2, 0.5, 0.6, 0.3, 0.4, 0.12, 4, 6, 30, 700, 0.05, 0.2, 0.6, 0.1, 0.1, 0.05]
    )
    high = np.r_[high, [50, 60, 350, 5000, 0.3, 1.5, 1.5, 0.4, 0.8, 0.3]]
    scores = []
    for seed in range(12):
        method = gn.RonGauss(1.0, 1e-4, bounds=(0.0, high), classes=[0, 1], random_state=seed).fit(
            X[:400], y[:400]
        )
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(*method.sample(1000))
        scores.append(model.score(method.transform(X[400:]), y[400:]))
    assert np.mean(scores) > 0.7
