"""The rounded Gaussian: the right law, and every value the rounding that exact arithmetic gives."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ks_2samp, kstest

from gnomon.errors import ParameterError
from gnomon.privacy.noise import gaussian
from gnomon.privacy.noise.discrete import discrete_gaussian
from gnomon.privacy.noise.exact import Uniform
from gnomon.privacy.noise.gaussian import rounded_gaussian
from gnomon.privacy.noise.stream import Stream, fixed_noise


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.3, 1000.0, 2.0**31])
def test_law_over_the_whole_support(sigma: float, judge) -> None:
    values = rounded_gaussian(sigma, 400_000)
    assert judge.chi_square(values, judge.rounded_gaussian_cdf(sigma)) > judge.alpha
    assert judge.chi_square(values, judge.rounded_gaussian_cdf(1.05 * sigma)) < judge.alpha
    assert judge.chi_square(values, judge.rounded_gaussian_cdf(sigma / 1.05)) < judge.alpha


@pytest.mark.parametrize("tail", [3.5, 4.0])
def test_tails(tail: float, judge) -> None:
    n, sigma = 1_000_000, 50.0
    values = rounded_gaussian(sigma, n)
    bound = round(tail * sigma)
    probability = float(judge.rounded_gaussian_cdf(sigma)(np.array(-bound)))
    assert judge.count_test((values <= -bound).sum(), n, probability) > judge.alpha
    assert judge.count_test((values >= bound).sum(), n, probability) > judge.alpha


@pytest.mark.parametrize("zeros", [20, 40, 64])
def test_far_tails(zeros: int, judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given that U starts with so many zero bits, R^2 / 2 is an exponential beyond zeros * ln 2."""

    class Far(Stream):
        def words(self, n: int) -> NDArray[np.uint64]:
            words = super().words(n)
            words[: n // 2] = words[: n // 2] >> np.uint64(zeros) if zeros < 64 else 0
            return words

    monkeypatch.setattr(gaussian, "Stream", Far)
    n, sigma = 4000, 2.0**20
    x, y = np.split(rounded_gaussian(sigma, 2 * n) / sigma, 2)
    excess = (x**2 + y**2) / 2 - zeros * math.log(2)
    assert excess.min() > -1e-4
    assert kstest(excess, "expon").pvalue > judge.alpha
    assert kstest((np.arctan2(y, x) / (2 * np.pi)) % 1, "uniform").pvalue > judge.alpha


def test_the_two_values_of_a_pair_are_independent(judge) -> None:
    pairs = gaussian._PAIRS
    values = np.concatenate([rounded_gaussian(100.0, 2 * pairs).reshape(2, pairs) for _ in range(10)], axis=1)
    signs = (values[0] > 0) & (values[1] > 0)
    positive = 1.0 - float(judge.rounded_gaussian_cdf(100.0)(np.array(0.0)))
    assert judge.count_test(signs.sum(), signs.size, positive**2) > judge.alpha
    large = (np.abs(values[0]) > 150) & (np.abs(values[1]) > 150)
    beyond = 2 * float(judge.rounded_gaussian_cdf(100.0)(np.array(-151.0)))
    assert judge.count_test(large.sum(), large.size, beyond**2) > judge.alpha


def test_agrees_with_the_discrete_gaussian_of_opendp(judge) -> None:
    """At a large sigma the two laws differ by less than the test can see."""
    ours, theirs = rounded_gaussian(500.0, 400_000), discrete_gaussian(500.0, 50_000)
    assert ks_2samp(ours, theirs).pvalue > judge.alpha
    assert judge.spread_test(ours, theirs) > judge.alpha
    assert judge.spread_test(rounded_gaussian(525.0, 400_000), theirs) < judge.alpha


@pytest.mark.parametrize("sigma", [0.4, 12.5, 2.0**30, 2.0**36])
def test_looking_closer_never_changes_a_decided_value(sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    with fixed_noise(5):
        fast = rounded_gaussian(sigma, 10_001)
    monkeypatch.setattr(gaussian, "_ERROR", 1.0 / sigma)  # no value is far enough from a half-integer
    calls = []
    exactly = gaussian._round_exactly
    monkeypatch.setattr(gaussian, "_round_exactly", lambda *args: calls.append(1) or exactly(*args))
    with fixed_noise(5):
        slow = rounded_gaussian(sigma, 10_001)
    assert len(calls) == 10_002
    assert np.array_equal(fast, slow)


def test_float64_error_is_far_below_its_bound() -> None:
    """100,000 values against mpmath, a fifth of them at the ends of the trusted range."""
    for_radius = np.concatenate([Stream().words(40_000), _edge_words(10_000)])
    for_radius = for_radius[for_radius + gaussian._EDGE >= gaussian._EDGE + gaussian._EDGE]
    for_angle = Stream().words(len(for_radius))
    assert len(for_radius) > 49_900
    x, y = np.split(gaussian._polar(for_radius, for_angle, 1.0), 2)
    worst = 0.0
    with mpmath.workprec(90):
        half = mpmath.mpf(1) / 2
        for u, v, cos_value, sin_value in zip(
            for_radius.tolist(), for_angle.tolist(), x.tolist(), y.tolist(), strict=True
        ):
            radius = mpmath.sqrt(-2 * mpmath.ln((u + half) * mpmath.mpf(2) ** -64))
            cos, sin = mpmath.cos_sin(2 * mpmath.pi * ((v + half) * mpmath.mpf(2) ** -64))
            worst = max(worst, abs(radius * cos - cos_value), abs(radius * sin - sin_value))
    assert worst < gaussian._ERROR / 3


def _edge_words(n: int) -> NDArray[np.uint64]:
    """Words just inside both ends of the range: half near 2^46, half near 2^64 - 2^46."""
    offset = (Stream().words(n) >> np.uint64(20)) + gaussian._EDGE
    return np.where(np.arange(n) % 2 == 0, offset, np.uint64(0) - offset)


def test_exact_rounding_against_mpmath() -> None:
    sigma = 2.0**45
    words = Stream().words(200)
    for u, v in words.reshape(-1, 2).tolist():
        lazy_u, lazy_v = Uniform(u, 64, Stream()), Uniform(v, 64, Stream())
        values = [gaussian._round_exactly(Fraction(sigma), lazy_u, lazy_v, which) for which in (0, 1)]
        with mpmath.workprec(400):
            radius = mpmath.sqrt(-2 * mpmath.ln(mpmath.mpf(2 * lazy_u.n + 1) / 2 ** (lazy_u.bits + 1)))
            angle = 2 * mpmath.pi * mpmath.mpf(2 * lazy_v.n + 1) / 2 ** (lazy_v.bits + 1)
            assert values == [int(mpmath.nint(sigma * radius * f(angle))) for f in (mpmath.cos, mpmath.sin)]


def test_a_value_on_a_half_integer_is_looked_at_until_it_is_decided() -> None:
    """sigma R cos 0 straddles 1/2 for the 64 known bits, whatever they continue with."""
    u = Uniform(1 << 63, 64, Stream())
    with mpmath.workprec(300):
        target = mpmath.mpf(0.5) / mpmath.sqrt(2 * mpmath.ln(2))
        sigma = Fraction(int(target * mpmath.mpf(2) ** 66), 1 << 66)
    v = Uniform(0, 64, Stream())
    assert gaussian._round_exactly(sigma, u, v, 0) in (0, 1)
    assert u.bits > 64


@pytest.mark.parametrize("sigma", [0.8, 5.0])
def test_law_when_every_decision_needs_more_bits(sigma: float, judge, coarse_uniform) -> None:
    source = Stream()
    pairs = [(coarse_uniform(source), coarse_uniform(source)) for _ in range(4000)]
    values = [gaussian._round_exactly(Fraction(sigma), u, v, which) for u, v in pairs for which in (0, 1)]
    assert min(u.bits for u, _ in pairs) > 3
    assert judge.chi_square(np.array(values), judge.rounded_gaussian_cdf(sigma)) > judge.alpha


def test_shape_and_type() -> None:
    assert rounded_gaussian(3.0, 0).shape == (0,)
    assert rounded_gaussian(3.0, 1).shape == (1,)
    assert rounded_gaussian(3.0, (3, 0)).shape == (3, 0)
    values = rounded_gaussian(3.0, (3, 5, 7))
    assert values.shape == (3, 5, 7)
    assert values.dtype == np.int64


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf, 2.0**56])
def test_refuses_a_sigma_it_cannot_serve(sigma: float) -> None:
    with pytest.raises(ParameterError, match="'sigma' parameter of rounded_gaussian"):
        rounded_gaussian(sigma, 3)
