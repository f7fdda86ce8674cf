"""Eigenvalues behind noise: pure noise vanishes, a spike is shortened by the known law, the trace stays."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.model.spectrum import denoised, floor_within, shrunk, spectrum


def goe(m: int, std: float, seed: int) -> np.ndarray:
    G = np.random.default_rng(seed).standard_normal((m, m)) * std
    return (G + G.T) / np.sqrt(2)


def test_pure_noise_ends_near_nothing_and_keeps_its_trace() -> None:
    Z = goe(200, 1.0, 0)
    left = shrunk(np.linalg.eigvalsh(Z), 1.0)
    assert np.abs(left).max() < 0.25 * 2 * np.sqrt(200)
    assert left.sum() == pytest.approx(np.trace(Z), abs=1e-6)


def test_a_spike_is_shortened_to_what_its_direction_keeps() -> None:
    m, t = 300, 80.0
    S = goe(m, 1.0, 1)
    S[0, 0] += t
    assert shrunk(np.linalg.eigvalsh(S), 1.0)[-1] == pytest.approx(t - m / t, rel=0.05)


def test_without_noise_nothing_changes() -> None:
    S = goe(5, 1.0, 2)
    assert np.allclose(denoised(S, 0.0), S)


def test_shrinking_brings_a_low_rank_matrix_nearer() -> None:
    rng = np.random.default_rng(3)
    U = np.linalg.qr(rng.standard_normal((100, 4)))[0]
    C = (U * [90.0, 70.0, 50.0, 40.0]) @ U.T
    S = C + goe(100, 1.0, 4)
    assert np.linalg.norm(denoised(S, 1.0) - C) < 0.6 * np.linalg.norm(S - C)


def test_the_spectrum_counts_what_rises_above_the_noise_and_floors_the_rest() -> None:
    S = goe(50, 0.01, 5)
    S[[0, 1], [0, 1]] += [1.0, 0.5]
    found = spectrum(S, 0.01)
    assert found.seen == 2
    assert found.floored.min() >= 3 * 0.01
    assert np.all(np.diff(found.floored) <= 1e-12)


def test_an_empty_covariance_still_has_a_spectrum() -> None:
    found = spectrum(np.zeros((3, 3)), 0.0)
    assert np.isfinite(found.floored).all()
    assert (found.floored > 0).all()


def test_a_floor_relative_to_another_matrix() -> None:
    base = np.diag([4.0, 1.0])
    found = floor_within(np.diag([-1.0, 2.0]), base, 0.05)
    assert np.allclose(found, np.diag([0.2, 2.0]))
