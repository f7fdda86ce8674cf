"""Sketches: an exact factor, exact products, and the right law."""

import numpy as np
import pytest

from gnomon.errors import ParameterError
from gnomon.privacy.noise.sketch import factor, gaussian_sketch
from gnomon.privacy.noise.stream import fixed_noise


def matrix(q: int, seed: int = 0) -> np.ndarray:
    A = np.random.default_rng(seed).integers(-(2**16), 2**16, (3 * q, q))
    return (A.T @ A).astype(object) + 2**34 * np.eye(q, dtype=int).astype(object)


@pytest.mark.parametrize("q", [1, 2, 17])
def test_the_factor_errs_by_no_more_than_claimed(q: int) -> None:
    S = matrix(q)
    L = factor(S)
    error = abs(L @ L.T - S * 2**192).max()
    largest = max(int(S[i, i]) for i in range(q))
    assert error**2 <= (2**97) ** 2 * largest


def test_the_law_is_that_of_normals_times_the_factor() -> None:
    """The same normals, multiplied in ordinary floats."""
    from gnomon.privacy.noise.normal import Normals

    S = matrix(6)
    with fixed_noise(4):
        drawn = gaussian_sketch(S, 50)
    with fixed_noise(4):
        normals = Normals(300)
    Z = np.where(normals.negative, -1, 1) * (normals.integer + normals.words[0] / 2.0**64)
    plain = Z.reshape(50, 6) @ np.linalg.cholesky(S.astype(float)).T
    assert np.abs(drawn - plain).max() <= 0.51


def test_white_rows_pass_and_a_scale_that_is_off_does_not() -> None:
    S = matrix(4)
    Y = np.linalg.solve(np.linalg.cholesky(S.astype(float)), gaussian_sketch(S, 20_000).T)
    statistic = (Y**2).sum()  # chi-square with 80,000 degrees of freedom; six standard deviations are 2400
    assert abs(statistic - 80_000) < 2400
    assert abs(1.3**2 * statistic - 80_000) > 2400


def test_what_cannot_be_drawn_exactly_is_refused() -> None:
    with pytest.raises(ParameterError, match="too large"):
        gaussian_sketch(matrix(2) * 2**40, 5)
    with pytest.raises(ParameterError, match="positive definite"):
        gaussian_sketch(-matrix(2), 5)
