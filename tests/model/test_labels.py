"""Linear rules that label rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon.model.labels import Labels, exact_product, grown, learned, pooled_labels
from gnomon.model.mixture import Mixture

MEANS = np.array([[0.0, 0.0], [0.5, 0.125], [-0.25, 0.375]])
WEIGHTS = np.array([0.6, 0.3, 0.1])


def drawn(n: int, covariances: np.ndarray) -> tuple[Mixture, np.ndarray, np.ndarray]:
    mixture = Mixture(WEIGHTS, MEANS, covariances)
    Z, codes = next(iter(mixture.sample_batches(n, np.random.default_rng(5), rows=n)))
    return mixture, Z, codes


def test_with_one_covariance_the_posterior_is_the_mixture_s() -> None:
    C = np.array([[1.0, 0.4], [0.4, 0.7]])
    mixture, Z, codes = drawn(200_000, np.repeat(C[None], 3, axis=0))
    found = pooled_labels(mixture, Z, codes)
    precise = np.linalg.inv(C)
    logs = np.log(WEIGHTS) - 0.5 * np.stack(
        [np.einsum("ij,jk,ik->i", Z - mean, precise, Z - mean) for mean in MEANS], axis=1
    )
    truth = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    assert np.abs(found._shares(Z) - truth).max() < 0.03


def test_every_class_keeps_its_weight_where_covariances_differ() -> None:
    spread = np.array([0.2, 1.0, 4.0])
    mixture, Z, codes = drawn(50_000, spread[:, None, None] * np.eye(2))
    found = pooled_labels(mixture, Z, codes)
    shares = np.bincount(found.drawn(Z, np.random.default_rng(1)), minlength=3) / len(Z)
    assert np.abs(shares - WEIGHTS).max() < 0.01


def test_a_class_that_no_row_was_drawn_for_keeps_its_mean() -> None:
    mixture, Z, codes = drawn(2_000, np.repeat(np.eye(2)[None], 3, axis=0))
    there = codes != 2
    found = pooled_labels(mixture, Z[there], codes[there])
    assert np.isfinite(found.slope).all()
    assert np.isfinite(found.level).all()
    assert found.best(np.array([[-6.0, 9.0]]))[0] == 2


def test_labels_are_drawn_by_their_probabilities() -> None:
    rule = Labels(np.zeros((1, 3)), np.log(WEIGHTS))
    codes = rule.drawn(np.zeros((100_000, 1)), np.random.default_rng(2))
    assert np.abs(np.bincount(codes, minlength=3) / len(codes) - WEIGHTS).max() < 0.01


@pytest.mark.parametrize("classes", [2, 3])
def test_the_learner_says_what_scikit_learn_s_pipeline_says(classes: int) -> None:
    _, Z, codes = drawn(3_000, np.repeat(np.eye(2)[None], 3, axis=0))
    chosen = codes < classes
    X, y = np.c_[Z[chosen], np.ones(chosen.sum())], codes[chosen]  # one column that never varies
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=100)).fit(X, y)
    assert np.mean(learned(X, y, 3).best(X) == pipeline.predict(X)) > 0.999


def test_a_learner_of_one_class_names_it() -> None:
    X = np.random.default_rng(3).standard_normal((50, 2))
    assert set(learned(X, np.full(50, 1), 3).best(X)) == {1}


def test_a_learner_never_names_a_class_that_it_has_not_seen() -> None:
    _, Z, codes = drawn(3_000, np.repeat(np.eye(2)[None], 3, axis=0))
    shown = codes != 1
    assert 1 not in learned(Z[shown], codes[shown], 3).best(10 * Z)


def test_trees_tell_classes_apart_that_differ_in_spread_alone() -> None:
    rng = np.random.default_rng(4)
    codes = np.arange(4_000) % 2
    X = rng.standard_normal((4_000, 3)) * np.where(codes == 1, 0.05, 0.4)[:, None]
    rule = grown(X[:2_000], codes[:2_000], 2**40)
    assert np.mean(rule(X[2_000:]) == codes[2_000:]) > 0.85
    assert len(rule(X[:0])) == 0
    assert set(grown(X, np.full(4_000, 2), 0)(X)) == {2}


@pytest.mark.parametrize("kind", ["lines", "pooled", "trees"])
def test_a_row_s_class_depends_on_the_row_alone(kind: str) -> None:
    """Of its scores too: neither its place in a batch nor its neighbours move them by a bit, ties included."""
    rng = np.random.default_rng(8)
    factors = rng.standard_normal((3, 37, 37)) / 20
    mixture = Mixture(WEIGHTS, rng.uniform(-0.2, 0.2, (3, 37)), factors @ factors.transpose(0, 2, 1))
    Z, codes = next(iter(mixture.sample_batches(999, rng)))
    Z = np.clip(Z, -1, 1)
    rule = {
        "lines": lambda: learned(Z, codes, 3).best,
        "pooled": lambda: pooled_labels(mixture, Z, codes).best,
        "trees": lambda: grown(Z, codes, 0),
    }[kind]()
    whole, order = rule(Z), rng.permutation(999)
    assert np.array_equal(rule(Z[order]), whole[order])
    assert np.array_equal([rule(row[None])[0] for row in Z], whole)
    slope = rng.standard_normal((37, 3))
    products, unit = exact_product(Z, slope)
    cells, slopes = (np.rint(A * 2.0**20).astype(np.int64) for A in (Z, slope / np.abs(slope).max()))
    assert np.array_equal(products, cells @ slopes)  # what integers give, which know no order
    assert np.abs(products * unit - Z @ slope).max() < 1e-4
