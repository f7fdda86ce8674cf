"""Blocki et al., adapted: sketches of the records and a Gaussian model."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from gnomon.baseline import BlockiGauss
from gnomon.errors import ParameterError
from gnomon.methods import METHODS
from gnomon.methods.baseline.blocki import sums_of_sketches
from gnomon.methods.gaussian_model import CONSTANT
from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import ApproxDP
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.statistics.grid import GRID
from gnomon.table.schema import Column, Schema


def clusters(n: int = 4000, m: int = 6, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-0.8, 0.8, (classes, m))
    y = rng.integers(0, classes, n)
    return np.clip(centres[y] + 0.1 * rng.standard_normal((n, m)), -1, 1), y


def fitted(X: np.ndarray, y: np.ndarray | None = None, **parameters: object) -> BlockiGauss:
    settings = {"epsilon": 4.0, "delta": 1e-4, "bounds": (-1.0, 1.0), "random_state": 3, **parameters}
    if y is not None and settings.get("task") != "regression":
        settings.setdefault("classes", sorted(set(y.tolist())))
    return BlockiGauss(**settings).fit(X, y)


def test_a_classifier_trained_on_the_release_works_on_real_rows() -> None:
    X, y = clusters(20_000)
    with fixed_noise(2):
        method = fitted(X, y)
    Xs, ys = method.sample(4000)
    assert LogisticRegression(max_iter=500).fit(Xs, ys).score(method.transform(X), y) > 0.9


def test_the_certificate_states_what_was_spent() -> None:
    X, _ = clusters(500)
    method = fitted(X, sketch_rows=200)
    certificate = Certificate.from_yaml(method.certificate_.to_yaml())
    assert certificate.holds
    assert certificate.events[0].mechanism == "gaussian-sketch"
    assert certificate.events[0].loss == {"epsilon": 4.0, "delta": 1e-4}
    assert "(epsilon, delta) pairs add" in certificate.composition
    assert certificate.noise.total_variation > 0
    assert method.guarantee_ == ApproxDP(4.0, 1e-4)
    assert method.events_[0].scale > (GRID**2 + CONSTANT**2) * math.sqrt(200) / 4


def test_a_sketch_that_repeats_the_moments_gives_them_back() -> None:
    Q = np.random.default_rng(1).integers(-20_000, 20_000, (500, 3))
    Q[:, -1] = CONSTANT
    S = Q.T @ Q
    root = np.linalg.cholesky(S.astype(float) + 7 * np.eye(3))
    sums = sums_of_sketches(np.rint(root.T).astype(np.int64)[None], 7, 1.0)  # three rows: Y'Y/3 = (S + 7 I)/3
    assert np.allclose(3 * (sums.second[0] + 7 * np.eye(2)), S[:2, :2] + 7 * np.eye(2), rtol=1e-3)


def test_regression_and_clustering_run() -> None:
    X, _ = clusters(20_000)
    with fixed_noise(1):
        y = 0.5 * X[:, 0]
        Xs, ys = fitted(X, y, task="regression", target_bounds=(-1.0, 1.0), sketch_rows=1000).sample(1000)
        assert Xs.shape == (1000, 6)
        assert np.corrcoef(Xs[:, 0], ys)[0, 1] > 0.5
        assert fitted(X).sample(10).shape == (10, 6)


def test_it_is_a_method_by_name() -> None:
    assert METHODS["blocki"] is BlockiGauss


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"delta": 0.0}, "must be positive"),
        ({"n_components": 3}, "does not reduce"),
        ({"sketch_rows": 0}, "'auto' or a positive integer"),
        ({"sketch_rows": 2**23}, "too large"),
        ({"calibration": "paper"}, "No paper prints"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        fitted(clusters(50)[0], **parameters)


def test_bounds_cannot_be_paid_for() -> None:
    schema = Schema(name="t", columns=(Column(name="x0", kind="number", estimate=True),))
    with pytest.raises(ParameterError, match="declare its bounds or classes"):
        BlockiGauss(1.0, 1e-6, schema=schema).fit(np.zeros((10, 1)))


def test_the_samplers_error_is_part_of_delta() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    with pytest.raises(ParameterError, match="exact only"):
        BlockiGauss(1.0, 1e-15, bounds=(-1, 1)).fit(X)
    with pytest.raises(ParameterError, match="exact only"):
        BlockiGauss(40.0, 1e-6, bounds=(-1, 1)).fit(X)
    assert BlockiGauss(1.0, 1e-6, bounds=(-1, 1)).fit(X).certificate_.holds
