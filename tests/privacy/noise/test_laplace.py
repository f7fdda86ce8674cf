"""The discrete Laplace: the right law, and every value what exact arithmetic gives."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from gnomon.errors import ParameterError
from gnomon.privacy.noise import laplace
from gnomon.privacy.noise.discrete import discrete_laplace_reference
from gnomon.privacy.noise.laplace import discrete_laplace
from gnomon.privacy.noise.stream import Stream, fixed_noise

SCALES = [Fraction(1, 3), 1, 7.3, Fraction(1000, 3), 2.0**31]


@pytest.mark.parametrize("scale", SCALES)
def test_law_over_the_whole_support(scale: Fraction | int | float, judge) -> None:
    values = discrete_laplace(scale, 400_000)
    assert judge.chi_square(values, judge.laplace_cdf(float(scale))) > judge.alpha
    assert judge.chi_square(values, judge.laplace_cdf(1.05 * float(scale))) < judge.alpha
    assert judge.chi_square(values, judge.laplace_cdf(float(scale) / 1.05)) < judge.alpha


@pytest.mark.parametrize("scale", [Fraction(1, 2), 4, 300])
def test_tails_and_middle(scale: Fraction | int, judge) -> None:
    n = 1_000_000
    values = discrete_laplace(scale, n)
    cdf = judge.laplace_cdf(float(scale))
    for probability in (1e-3, 1e-4):
        bound = math.ceil(-float(scale) * math.log(probability))
        tail = float(cdf(np.array(-float(bound))))
        assert judge.count_test((values <= -bound).sum(), n, tail) > judge.alpha
        assert judge.count_test((values >= bound).sum(), n, tail) > judge.alpha
    q = math.exp(-1 / scale)
    assert judge.count_test((values == 0).sum(), n, (1 - q) / (1 + q)) > judge.alpha
    assert judge.count_test((values > 0).sum(), n, q / (1 + q)) > judge.alpha


@pytest.mark.parametrize("zeros", [20, 40, 63])
def test_far_tails(zeros: int, judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given that U < 2^-zeros, P(|K| >= k) is 2^zeros times its plain value, or 1."""

    class Far(Stream):
        def words(self, n: int) -> NDArray[np.uint64]:
            words = super().words(n)
            sign = words & np.uint64(1 << 63)
            far = (words & np.uint64((1 << 63) - 1)) >> np.uint64(zeros)
            return np.where(sign > 0, ~far, far)

    monkeypatch.setattr(laplace, "Stream", Far)
    scale = Fraction(21, 2)
    values = discrete_laplace(scale, 10_000)
    q = math.exp(-1 / scale)

    def cdf(k: NDArray[np.float64]) -> NDArray[np.float64]:
        tail = 2.0**zeros * 2 * np.exp(-(k + 1) / float(scale)) / (1 + q)
        return 1 - np.minimum(1.0, tail)

    assert judge.chi_square(np.abs(values), cdf) > judge.alpha
    assert judge.count_test((values > 0).sum(), len(values), 0.5) > judge.alpha


@pytest.mark.parametrize("scale", [1.5, 1e6])
def test_agrees_with_opendp(scale: float, judge) -> None:
    theirs = discrete_laplace_reference(scale, 100_000)
    assert judge.chi_square(theirs, judge.laplace_cdf(scale)) > judge.alpha
    ours = discrete_laplace(scale, 400_000)
    assert ks_2samp(ours, theirs).pvalue > judge.alpha
    assert judge.spread_test(ours, theirs) > judge.alpha
    assert judge.spread_test(discrete_laplace(1.05 * scale, 400_000), theirs) < judge.alpha


@pytest.mark.parametrize("scale", [*SCALES, 2.0**38])
def test_looking_closer_never_changes_a_decided_value(
    scale: Fraction | int | float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fixed_noise(5):
        fast = discrete_laplace(scale, 10_001)
    monkeypatch.setattr(laplace, "_ERROR", 1.0)  # no value is far enough from an integer
    calls = []
    exactly = laplace._floor_exactly
    monkeypatch.setattr(laplace, "_floor_exactly", lambda *args: calls.append(1) or exactly(*args))
    with fixed_noise(5):
        slow = discrete_laplace(scale, 10_001)
    assert len(calls) == 10_001
    assert np.array_equal(fast, slow)


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(9, 7), 2**35])
def test_float64_error_is_far_below_its_bound(scale: Fraction | int) -> None:
    """100,000 values against mpmath in all, a fifth of them at the lower end of the trusted range."""
    plain = (Stream().words(28_000) >> np.uint64(1)) | np.uint64(1 << 45)
    edge = (Stream().words(7_000) >> np.uint64(20)) + np.uint64(1 << 45)
    words = np.concatenate([plain, edge])
    value = words.astype(np.float64)
    assert value.min() >= laplace._EDGE
    laplace._log_affine(value, Fraction(scale))
    worst = 0.0
    with mpmath.workprec(120):
        s = mpmath.mpf(Fraction(scale).numerator) / Fraction(scale).denominator
        b = -s * mpmath.ln((1 + mpmath.exp(-1 / s)) / 2)
        half = mpmath.mpf(1) / 2
        for word, got in zip(words.tolist(), value.tolist(), strict=True):
            worst = max(worst, abs(-s * mpmath.ln((word + half) * mpmath.mpf(2) ** -63) + b - half - got))
    assert worst < laplace._ERROR * (float(scale) + 1) / 3


@pytest.mark.parametrize("scale", [Fraction(1, 50), Fraction(1, 3), 1, Fraction(70001, 13), 2**50])
@pytest.mark.parametrize("p", [64, 96, 160])
def test_shift_is_within_two_units(scale: Fraction | int, p: int) -> None:
    with mpmath.workprec(400):
        s = mpmath.mpf(Fraction(scale).numerator) / Fraction(scale).denominator
        b = -s * mpmath.ln((1 + mpmath.exp(-1 / s)) / 2)
        assert abs(laplace._shift(Fraction(scale), p) - b * 2**p) < 2


def test_neighbouring_counts_are_hard_to_tell_apart() -> None:
    """The ratio of neighbouring probabilities, from the sampler's own thresholds, is exp(1 / scale)."""
    scale = Fraction(3, 2)
    with mpmath.workprec(200):
        s = mpmath.mpf(3) / 2
        b = mpmath.mpf(laplace._shift(scale, 160)) / mpmath.mpf(2) ** 160
        at_least = [mpmath.mpf(1), *[mpmath.exp((b - k) / s) for k in range(1, 30)]]
        mass = [at_least[0] - at_least[1], *[(at_least[k] - at_least[k + 1]) / 2 for k in range(1, 28)]]
        for near, far in pairwise(mass):
            assert abs(mpmath.ln(near / far) - 1 / s) < 1e-30


@pytest.mark.parametrize("scale", [Fraction(4, 5), Fraction(11, 2)])
def test_law_when_every_decision_needs_more_bits(scale: Fraction, judge, coarse_uniform) -> None:
    source = Stream()
    values = np.array([laplace._floor_exactly(scale, coarse_uniform(source)) for _ in range(10_000)])
    q = math.exp(-1 / scale)
    assert judge.chi_square(values, lambda k: 1 - 2 * np.exp(-(k + 1) / float(scale)) / (1 + q)) > judge.alpha


def test_shape_and_type() -> None:
    assert discrete_laplace(3, 0).shape == (0,)
    assert discrete_laplace(3, (3, 0)).shape == (3, 0)
    values = discrete_laplace(3, (3, 5, 7))
    assert values.shape == (3, 5, 7)
    assert values.dtype == np.int64


@pytest.mark.parametrize("scale", [0, -1.0, math.nan, math.inf, Fraction(-1, 3), 2**56])
def test_refuses_a_scale_it_cannot_serve(scale: Fraction | int | float) -> None:
    with pytest.raises(ParameterError, match="'scale' parameter of discrete_laplace"):
        discrete_laplace(scale, 3)
