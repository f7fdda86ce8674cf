"""Repair: what comes out can be sampled, is close when noise is small, and degrades to the pooled model when it is not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gnomon.model.mixture import Mixture
from gnomon.model.repair import mixture_of
from gnomon.model.shrinkage import onto_simplex, positive, signal_share
from gnomon.model.sums import Sums


def sums_of(groups: list[np.ndarray], noise: float, seed: int = 0) -> Sums:
    """The sums of rows in several classes, with symmetric Gaussian noise of the given size."""
    rng = np.random.default_rng(seed)
    counts = np.array([len(g) for g in groups], dtype=float)
    first = np.stack([g.sum(axis=0) for g in groups])
    second = np.stack([g.T @ g for g in groups])
    Z = rng.standard_normal(second.shape)
    return Sums(
        counts=counts + noise * rng.standard_normal(len(groups)),
        first=first + noise * rng.standard_normal(first.shape),
        second=second + noise * (Z + Z.transpose(0, 2, 1)) / np.sqrt(2),
        second_noise=noise,
        first_noise=noise,
        count_noise=noise,
    )


def two_groups(n: int = 4000, p: int = 4) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    A = rng.standard_normal((n, p)) * 0.1 + 0.3
    B = rng.standard_normal((n // 2, p)) * np.linspace(0.05, 0.2, p) - 0.2
    return [A, B]


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(-1e6, 1e6)), st.floats(1, 1e6))
def test_counts_end_on_the_simplex(counts: np.ndarray, total: float) -> None:
    found = onto_simplex(counts, total)
    assert (found >= 0).all()
    assert np.isclose(found.sum(), total, rtol=1e-6, atol=1e-3)


def test_onto_simplex_leaves_a_point_of_it_alone() -> None:
    assert np.allclose(onto_simplex(np.array([3.0, 5.0, 2.0]), 10.0), [3, 5, 2])


def test_positive_removes_noise_and_keeps_signal() -> None:
    rng = np.random.default_rng(0)
    p, noise = 40, 0.05
    truth = np.zeros((p, p))
    truth[0, 0], truth[1, 1] = 4.0, 2.0
    Z = rng.standard_normal((p, p)) * noise
    noisy = truth + (Z + Z.T) / np.sqrt(2)
    found = positive(noisy, noise)
    assert np.linalg.eigvalsh(found).min() >= -1e-12
    clipped = np.linalg.eigh(noisy)
    naive = (clipped[1] * np.maximum(clipped[0], 0)) @ clipped[1].T
    assert np.linalg.norm(found - truth) < 0.7 * np.linalg.norm(naive - truth)


def test_without_noise_the_mixture_is_the_plain_one() -> None:
    groups = two_groups()
    fitted = mixture_of(sums_of(groups, 1e-12), sum(map(len, groups)))
    for c, group in enumerate(groups):
        assert np.allclose(fitted.mixture.means[c], group.mean(axis=0), atol=1e-6)
        assert np.allclose(fitted.mixture.covariances[c], np.cov(group.T, bias=True), atol=1e-6)
    assert np.allclose(fitted.mixture.weights, [2 / 3, 1 / 3])
    assert fitted.fallback == ()


def test_a_class_too_small_for_its_noise_uses_the_pooled_model() -> None:
    groups = [*two_groups(), np.full((3, 4), 0.9)]
    fitted = mixture_of(sums_of(groups, 50.0), sum(map(len, groups)))
    assert fitted.fallback == (2,)
    values = np.linalg.eigvalsh(fitted.mixture.covariances)
    assert values.min() >= -1e-12
    assert values.max() < 1.0


@pytest.mark.parametrize("noise", [0.0, 1.0, 1e3, 1e9])
def test_any_noise_gives_finite_positive_models(noise: float) -> None:
    groups = two_groups(60)
    mixture = mixture_of(sums_of(groups, max(noise, 1e-12)), 90).mixture
    assert np.isfinite(mixture.covariances).all()
    assert np.linalg.eigvalsh(mixture.covariances).min() >= -1e-9 * max(1, noise)
    assert np.linalg.norm(mixture.means, axis=1).max() <= 1 + 1e-9


def test_signal_share() -> None:
    assert signal_share(1.0, 4.0) == 0.0
    assert signal_share(0.0, 1.0) == 0.0
    assert signal_share(4.0, 1.0) == 0.75


def test_samples_follow_the_mixture() -> None:
    truth = Mixture(
        np.array([0.25, 0.75]), np.array([[5.0, 0.0], [-5.0, 1.0]]), np.array([np.eye(2), [[2, 1], [1, 1]]])
    )
    parts = list(truth.sample_batches(40_000, np.random.default_rng(0), rows=9_000))
    C = np.concatenate([c for c, _ in parts])
    codes = np.concatenate([k for _, k in parts])
    assert abs((codes == 0).mean() - 0.25) < 0.02
    assert np.allclose(C[codes == 1].mean(axis=0), [-5, 1], atol=0.05)
    assert np.allclose(np.cov(C[codes == 1].T), [[2, 1], [1, 1]], atol=0.08)
    assert len(C) == 40_000
