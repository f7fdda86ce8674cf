"""Eigenvalues behind noise: pure noise vanishes, a spike is shortened by the known law, the trace stays."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.model.shrinkage import denoised, shrunk_eigenvalues, spikes


def goe(m: int, std: float, seed: int) -> np.ndarray:
    G = np.random.default_rng(seed).standard_normal((m, m)) * std
    return (G + G.T) / np.sqrt(2)


def test_pure_noise_ends_near_nothing_and_keeps_its_trace() -> None:
    Z = goe(200, 1.0, 0)
    left = shrunk_eigenvalues(np.linalg.eigvalsh(Z), 1.0)
    assert np.abs(left).max() < 0.25 * 2 * np.sqrt(200)
    assert left.sum() == pytest.approx(np.trace(Z), abs=1e-6)


def test_a_spike_is_shortened_to_what_its_direction_keeps() -> None:
    m, t = 300, 80.0
    S = goe(m, 1.0, 1)
    S[0, 0] += t
    assert shrunk_eigenvalues(np.linalg.eigvalsh(S), 1.0)[-1] == pytest.approx(t - m / t, rel=0.05)


def test_without_noise_nothing_changes() -> None:
    S = goe(5, 1.0, 2)
    assert np.allclose(denoised(S, 0.0), S)


def test_shrinking_brings_a_low_rank_matrix_nearer() -> None:
    rng = np.random.default_rng(3)
    U = np.linalg.qr(rng.standard_normal((100, 4)))[0]
    C = (U * [90.0, 70.0, 50.0, 40.0]) @ U.T
    S = C + goe(100, 1.0, 4)
    assert np.linalg.norm(denoised(S, 1.0) - C) < 0.6 * np.linalg.norm(S - C)


def test_spikes_keep_what_stands_out_and_nothing_else() -> None:
    S = goe(300, 1.0, 6)
    S[0, 0] += 80.0
    found = spikes(np.linalg.eigvalsh(S), 1.0)
    assert np.count_nonzero(found) == 1
    assert found[-1] == pytest.approx(80 - 300 / 80, rel=0.05)
