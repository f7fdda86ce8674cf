"""Printed calibrations that do not keep their promise: the audit breaks each with 99.9% confidence."""

from __future__ import annotations

import math

import numpy as np

from gnomon.audit import Attack, attacks_on, audit
from gnomon.audit.printed import covariance_attack
from gnomon.audit.vectors import vector_attack
from gnomon.privacy.guarantee import Adjacency, PureDP
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.statistics.grid import GRID


def test_ron_gauss_covariance_of_sixteen_components() -> None:
    finding = audit(covariance_attack(4.0, 16), 8000)
    assert finding.broken
    true = 2.8 * math.sqrt(16 / 2)
    assert 2.8 < finding.certain <= finding.epsilon < true


def test_ron_gauss_covariance_of_two_components_is_sound() -> None:
    assert not audit(covariance_attack(4.0, 2), 20_000, certain=1 - 1e-7).broken


def test_lap_pca() -> None:
    """Lap(M a^2 / epsilon) on all entries of the second moment of rows in [-a, a]^M; M^2 a^2 is needed."""
    M = 16
    tables = np.stack([np.zeros(M * M, dtype=np.int64), np.full(M * M, GRID, dtype=np.int64)])
    printed = Sensitivity(Norm.L1, M * GRID, adjacency=Adjacency.REPLACE_ONE)
    claim = PureDP(2.0)
    finding = audit(vector_attack("Lap-PCA", "a full row and none", tables, printed, claim, claim), 30_000)
    assert finding.broken


def test_algorithm_five_with_a_moved_label() -> None:
    whole = attacks_on("ron-gauss", epsilon=0.5, calibration="paper")[-1]
    assert audit(whole, 40).broken


def test_the_one_sided_wishart_mechanism() -> None:
    """Adds a Wishart matrix, which is never negative: what lies below one table cannot come from it."""
    rng = np.random.default_rng(6)
    p, epsilon = 2, 1.0
    x, y = np.eye(p)

    def release(neighbour: bool, runs: int) -> np.ndarray:
        G = rng.standard_normal((runs, p + 1, p)) * math.sqrt(3 / (2 * epsilon))
        row = y if neighbour else x
        noisy = G.transpose(0, 2, 1) @ G + np.outer(row, row)
        return np.linalg.eigvalsh(noisy - np.outer(x, x))[:, 0]  # below zero: the first table is impossible

    finding = audit(Attack("Wishart mechanism", "orthogonal rows", PureDP(epsilon), release), 4000)
    assert finding.broken


def test_dprp_takes_unit_rows_to_be_one_apart() -> None:
    """What a pair costs, from the exact values of real runs and the noise that they met."""
    printed, sound = (
        attacks_on("dprp", epsilon=4.0, delta=1e-5, calibration=how)[-2].reach for how in ("paper", "sound")
    )
    assert printed is not None
    assert sound is not None
    assert sound() < 4.0
    assert printed() > 1.2 * 4.0
