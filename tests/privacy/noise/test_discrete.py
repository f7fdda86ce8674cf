"""OpenDP behind our interface."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.noise.discrete import discrete_gaussian, discrete_laplace_reference


@pytest.mark.parametrize("sigma", [0.8, 30.0])
def test_discrete_gaussian_law(sigma: float, judge) -> None:
    support = np.arange(-int(12 * sigma) - 12, int(12 * sigma) + 13)
    mass = np.exp(-(support**2) / (2 * sigma**2))
    below = np.cumsum(mass) / mass.sum()

    def cdf(k: NDArray[np.float64]) -> NDArray[np.float64]:
        return below[k.astype(np.int64) - support[0]]

    values = discrete_gaussian(sigma, 20_000)
    assert values.dtype == np.int64
    assert judge.chi_square(values, cdf) > judge.alpha


def test_shapes() -> None:
    assert discrete_gaussian(3.0, (2, 3)).shape == discrete_laplace_reference(3.0, (2, 3)).shape == (2, 3)
    assert discrete_gaussian(3.0, 0).shape == (0,)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, 2.0**56])
def test_refusals(value: float) -> None:
    with pytest.raises(ParameterError, match="'sigma' parameter of discrete_gaussian"):
        discrete_gaussian(value, 3)
    with pytest.raises(ParameterError, match="'scale' parameter of discrete_laplace_reference"):
        discrete_laplace_reference(value, 3)
