"""How noise is judged here: against exact probabilities, at a false-alarm rate of 1e-9 a test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2, norm

from gnomon.privacy.noise.exact import Uniform
from gnomon.privacy.noise.stream import Stream

ALPHA = 1e-9


Cdf = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def chi_square(values: NDArray[np.int64], cdf: Cdf, cells: int = 400) -> float:
    """p-value of integers against P(K <= k) = cdf(k): the whole support, in cells of 50 values or more."""
    n, smallest = len(values), max(50.0, len(values) / cells)
    candidates = np.unique(np.linspace(values.min(), values.max(), 8000).astype(np.int64))
    below = cdf(candidates.astype(float)) * n
    edges, expected, last = [], [], 0.0
    for edge, mass in zip(candidates, below, strict=True):
        if mass - last >= smallest and n - mass >= smallest:
            edges.append(edge)
            expected.append(mass - last)
            last = mass
    expected.append(n - last)
    up_to = np.searchsorted(np.sort(values), edges, side="right")
    observed = np.diff(np.concatenate([[0], up_to, [n]]))
    assert len(edges) >= 2
    return float(chi2.sf(((observed - expected) ** 2 / expected).sum(), len(edges)))


def count_test(hits: int, trials: int, probability: float) -> float:
    """p-value of a count of independent events of known probability."""
    return float(binomtest(int(hits), trials, probability).pvalue)


def spread_test(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """p-value of two samples having the same mean absolute value."""
    x, y = np.abs(a).astype(float), np.abs(b).astype(float)
    return float(2 * norm.sf(abs(x.mean() - y.mean()) / np.sqrt(x.var() / len(x) + y.var() / len(y))))


def laplace_cdf(scale: float) -> Cdf:
    """P(K <= k) of the discrete Laplace law."""
    q = np.exp(-1.0 / scale)

    def cdf(k: NDArray[np.float64]) -> NDArray[np.float64]:
        magnitude = np.where(k < 0, -k, k + 1.0)
        tail = np.exp(-magnitude / scale) / (1.0 + q)
        return np.where(k < 0, tail, 1.0 - tail)

    return cdf


def rounded_gaussian_cdf(sigma: float) -> Cdf:
    """P(K <= k) of a rounded Gaussian."""
    return lambda k: norm.cdf((k + 0.5) / sigma)


class CoarseUniform(Uniform):
    """A uniform that starts with three bits and learns one at a time: every decision needs more."""

    def __init__(self, stream: Stream) -> None:
        super().__init__(stream.spare_word() >> 61, 3, stream)

    def extend(self) -> None:
        self.n, self.bits = self.n << 1 | self._stream.spare_word() & 1, self.bits + 1


@pytest.fixture(scope="session")
def coarse_uniform() -> type[CoarseUniform]:
    return CoarseUniform


@pytest.fixture(scope="session")
def judge() -> type[Judge]:
    return Judge


class Judge:
    """The functions above, for test modules."""

    alpha = ALPHA
    chi_square = staticmethod(chi_square)
    count_test = staticmethod(count_test)
    spread_test = staticmethod(spread_test)
    laplace_cdf = staticmethod(laplace_cdf)
    rounded_gaussian_cdf = staticmethod(rounded_gaussian_cdf)
