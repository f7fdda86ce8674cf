"""Denoised rows: exact without noise, faithful with it, silent where the moments are."""

import math

import numpy as np
import pytest

from gnomon.model.denoise import NoisyMoments, RowModel, above_noise, how_often, row_model, seen_through

SCALE = 1.25


def classes(n: int, seed: int = 0, gap: float = 1.2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.35).astype(int)
    A = rng.standard_normal((5, 5)) * 0.15
    X = rng.standard_normal((n, 5)) @ A
    X[:, 0] += gap * 0.3 * y
    return X, y


def moments(X: np.ndarray, y: np.ndarray, noise: float = 0.0, seed: int = 1) -> NoisyMoments:
    rows = np.hstack([X, SCALE * np.eye(2)[y]])
    S = rows.T @ rows
    G = np.random.default_rng(seed).standard_normal(S.shape) * noise
    return NoisyMoments(S + (G + G.T) / math.sqrt(2), noise, len(X), SCALE, 2)


def see(model, Z, labels, noise, rng):  # type: ignore[no-untyped-def]
    """Each true row as the model has it, given its noisy features and its noisy label."""
    return model.transport(noise)(Z, model.guess(Z, labels, noise, SCALE, rng))


def test_exact_moments_give_the_exact_model() -> None:
    X, y = classes(4000)
    model = row_model(moments(X, y))
    assert model.weights == pytest.approx(np.bincount(y) / 4000, abs=1e-9)
    assert np.allclose(model.means, [X[y == c].mean(axis=0) for c in (0, 1)], atol=0.02)
    within = (model.vectors * model.values) @ model.vectors.T
    centred = X - np.array([X[y == c].mean(axis=0) for c in (0, 1)])[y]
    # LEFT of the spread is moved to all directions evenly, so that no direction is empty
    assert np.abs(within - centred.T @ centred / 4000).max() < 0.06 * np.trace(within)


def test_without_noise_a_row_is_itself_and_keeps_its_label() -> None:
    X, y = classes(500)
    model = row_model(moments(X, y))
    rng = np.random.default_rng(0)
    labels = SCALE * np.eye(2)[y]
    assert np.allclose(see(model, X, labels, 0.0, rng), X)
    assert np.array_equal(model.label(X, labels, 0.0, SCALE, rng), y)


def test_seen_rows_keep_spread_and_correlations_under_any_noise() -> None:
    X, y = classes(20_000)
    rng = np.random.default_rng(3)
    for noise in (0.1, 1.0, 20.0):
        Z = X + noise * rng.standard_normal(X.shape)
        labels = SCALE * np.eye(2)[y] + noise * rng.standard_normal((len(y), 2))
        seen = see(row_model(moments(X, y)), Z, labels, noise, rng)
        assert np.abs(np.cov(seen.T) - np.cov(X.T)).max() < 0.08 * np.trace(np.cov(X.T))
        assert np.abs(seen.mean(axis=0) - X.mean(axis=0)).max() < 0.05


def test_a_row_seen_through_little_noise_stays_near() -> None:
    X, y = classes(5000)
    rng = np.random.default_rng(3)
    model = row_model(moments(X, y))
    labels = SCALE * np.eye(2)[y]

    def error(noise: float) -> float:
        Z = X + noise * rng.standard_normal(X.shape)
        return float(np.mean((see(model, Z, labels, noise, rng) - X) ** 2))

    assert error(0.02) < 0.1 * error(5.0)


def test_where_the_moments_show_nothing_every_label_is_the_largest_class() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 5)) * 0.3, (rng.random(3000) < 0.2).astype(int)
    model = row_model(moments(X, y))
    labels = 50.0 * rng.standard_normal((3000, 2))
    assert np.mean(model.label(X, labels, 50.0, SCALE, rng) == 0) > 0.97


def test_labels_follow_the_features_less_where_noise_could_have_made_the_evidence() -> None:
    X, y = classes(2000)
    assert row_model(moments(X, y)).rate == pytest.approx(0.5)
    assert row_model(moments(X, y, noise=300.0)).rate == pytest.approx(0.3)


def test_noise_alone_makes_no_direction() -> None:
    rng = np.random.default_rng(0)
    G = rng.standard_normal((200, 200))
    noise = (G + G.T) / math.sqrt(2)
    assert np.linalg.matrix_rank(seen_through(noise * 0.98, 1.0)) == 0
    assert np.linalg.matrix_rank(seen_through(noise, 0.9)) > 0  # a smaller claim of noise would find some


def test_shrinking_spikes_beats_leaving_them() -> None:
    rng = np.random.default_rng(1)
    V = np.linalg.qr(rng.standard_normal((100, 3)))[0]
    truth = (V * [60.0, 40.0, 30.0]) @ V.T
    G = rng.standard_normal((100, 100))
    seen = truth + (G + G.T) / math.sqrt(2)
    values, vectors = np.linalg.eigh(seen)
    cut = (vectors[:, -3:] * values[-3:]) @ vectors[:, -3:].T
    shrunk = seen_through(seen, 1.0)
    assert np.linalg.norm(shrunk - truth) < np.linalg.norm(cut - truth) < np.linalg.norm(seen - truth)
    assert np.linalg.matrix_rank(seen_through(seen, 1.0, most=2)) == 2


def test_the_model_stays_a_model_under_overwhelming_noise() -> None:
    X, y = classes(100)
    for seed in range(5):
        model = row_model(moments(X, y, noise=1e4, seed=seed))
        assert isinstance(model, RowModel)
        assert (model.values > 0).all()
        assert model.weights.sum() == pytest.approx(1)
        assert np.isfinite(model.means).all()


def test_labels_that_may_be_noise_are_outvoted_and_labels_that_are_not_stay() -> None:
    assert how_often(-1.0) == how_often(0.0) < 0.5
    assert how_often(1.5) < how_often(3.1) == how_often(50.0) == 1.0
    X, y = classes(2000)
    assert row_model(moments(X, y)).kept == 1.0
    assert row_model(moments(X, y, noise=3000.0)).kept < 1.0


def test_noise_alone_stands_within_a_few_deviations_of_itself() -> None:
    rng = np.random.default_rng(0)
    p = np.array([0.7, 0.3])
    found = []
    for _ in range(200):
        sums = rng.standard_normal((20, 2))
        found.append(above_noise(sums - np.outer(sums.sum(axis=1), p), p, 1.0))
    assert abs(np.mean(found)) < 0.5
    assert 0.7 < np.std(found) < 1.4
