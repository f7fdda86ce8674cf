"""Gaussian and sign projections: their law, their grid, and where their randomness comes from."""

import math

import numpy as np

from gnomon.projection.gaussian import FINE, gaussian, unseeded_gaussian
from gnomon.projection.sign import sign


def test_entries_have_variance_one_over_k_and_lie_on_the_grid() -> None:
    for R in (gaussian(200, 50, np.random.default_rng(0)), unseeded_gaussian(200, 50)):
        assert abs(R.std() * math.sqrt(50) - 1) < 0.05  # 10,000 entries: a deviation of 0.007
        assert np.array_equal(R * FINE, np.rint(R * FINE))


def test_a_seed_repeats_one_and_never_the_other() -> None:
    assert np.array_equal(gaussian(5, 3, np.random.default_rng(1)), gaussian(5, 3, np.random.default_rng(1)))
    assert not np.array_equal(unseeded_gaussian(5, 3), unseeded_gaussian(5, 3))


def test_every_row_of_signs_has_length_one() -> None:
    R = sign(40, 16, np.random.default_rng(0))
    assert np.allclose(np.linalg.norm(R, axis=1), 1, atol=1e-6)
    assert set(np.sign(R).ravel().tolist()) == {-1.0, 1.0}


def test_squared_lengths_are_kept_on_average() -> None:
    x = np.random.default_rng(0).standard_normal(30)
    for draw in (gaussian, sign):
        seen = [np.sum((x @ draw(30, 8, np.random.default_rng(s))) ** 2) for s in range(2000)]
        assert abs(np.mean(seen) / (x @ x) - 1) < 6 * math.sqrt(2 / 8 / 2000)
