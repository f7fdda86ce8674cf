"""Membership inference: it finds members where there is a leak, and none where there is privacy."""

import math

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import gnomon as gn
from gnomon.errors import DataError, ParameterError
from gnomon.evaluation.limits import Limits
from gnomon.evaluation.membership import leakage_curve, likelihood_ratio_attack, membership_inference


def noise_labels(n: int = 900, m: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels that only a memory can predict: the model that overfits gives members away."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, m)), rng.integers(0, 2, n)


def test_a_model_that_memorises_real_rows_is_found_out() -> None:
    X, y = noise_labels()
    found = membership_inference(
        None, X, y, shadows=3, random_state=0, model=lambda: DecisionTreeClassifier()
    )
    assert found.attack_accuracy > 0.7
    assert found.interval[0] > 0.6
    assert found.leakage == found.attack_accuracy - 0.5
    assert found.epsilon == math.inf
    assert found.asked == 600


def test_a_likelihood_ratio_for_every_row_finds_more_than_one_attack_model_for_all() -> None:
    X, y = noise_labels()
    made = {
        "shadows": 10,
        "random_state": 0,
        "model": lambda: RandomForestClassifier(20, max_depth=6, random_state=0),
    }
    ratio, shadow = likelihood_ratio_attack(None, X, y, **made), membership_inference(None, X, y, **made)
    assert ratio.asked == 900
    assert ratio.attack_accuracy > shadow.attack_accuracy
    assert ratio.interval[0] > 0.6
    assert not ratio.same_answer


def test_an_attack_that_answers_alike_for_all_rows_says_so() -> None:
    X, y = noise_labels(120)
    one_class = likelihood_ratio_attack(
        None, X, y, shadows=2, random_state=0, model=lambda: DummyClassifier(strategy="uniform")
    )
    assert one_class.same_answer
    assert one_class.attack_accuracy == 0.5
    with pytest.raises(ParameterError, match="at least 2"):
        likelihood_ratio_attack(None, X, y, shadows=1)
    with pytest.raises(DataError, match="at least 40 rows"):
        likelihood_ratio_attack(None, X[:30], y[:30])


def test_a_private_release_hides_them() -> None:
    X, y = noise_labels()
    method = gn.RonGauss(1.0, 1e-5, bounds=(-1.0, 1.0), classes=[0, 1], random_state=0)
    curve = leakage_curve(method, X, y, [1.0], shadows=2, random_state=0)
    assert [point.epsilon for point in curve] == [1.0, math.inf]
    # 600 questions: a coin stays within 0.12 of one half but for one run in 10^8
    assert abs(curve[0].leakage) < 0.12
    assert curve[1].leakage > curve[0].leakage
    assert set(curve[0].to_dict()) >= {"attack_accuracy", "interval", "utility", "leakage", "epsilon"}


def test_an_evaluation_can_include_the_attack(ward) -> None:  # type: ignore[no-untyped-def]
    found = gn.evaluate(
        ward / "model",
        ward / "train.parquet",
        ward / "test.parquet",
        trials=1,
        limits=Limits(train=200, test=100, kernel=50, silhouette=50, pairs=100),
        membership=True,
        random_state=0,
    )
    assert found.membership is not None
    assert found.membership.shadows == 10
    assert "shadow models" in found.to_html()
    assert found.to_dict()["membership"]["epsilon"] == 8.0


def test_refusals(ward) -> None:  # type: ignore[no-untyped-def]
    X, y = noise_labels(40)
    with pytest.raises(DataError, match="at least 60 rows"):
        membership_inference(None, X, y)
    with pytest.raises(ParameterError, match="positive integer"):
        membership_inference(None, X, y, shadows=0)
    with pytest.raises(ParameterError, match="attacks a classifier"):
        gn.evaluate(
            ward / "model",
            ward / "train.parquet",
            task="clustering",
            trials=1,
            membership=True,
            limits=Limits(train=50, test=50, silhouette=50, pairs=50),
        )
