"""The integer functions against mpmath, and the lazy uniform."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.privacy.noise.exact import Uniform, cos_sin, exp_minus, log, round_bounds, sqrt_bounds
from gnomon.privacy.noise.stream import Stream, fixed_noise

precisions = st.sampled_from([8, 64, 96, 161, 400])


@st.composite
def dyadic(draw: st.DrawFn) -> tuple[int, int]:
    bits = draw(st.sampled_from([4, 63, 64, 128, 192, 320]))
    edge = st.sampled_from([1, 2, 3, (1 << bits) - 1, 1 << bits, 1 << (bits - 1), (1 << (bits - 3)) + 1])
    return draw(st.one_of(edge, st.integers(1, 1 << bits))), bits


@given(dyadic(), precisions)
@settings(max_examples=300, deadline=None)
def test_log_is_within_one_unit(u: tuple[int, int], p: int) -> None:
    n, bits = u
    with mpmath.workprec(p + 500):
        assert abs(log(n, bits, p) - mpmath.log(mpmath.mpf(n) / 2**bits) * 2**p) <= 1


@given(dyadic(), precisions)
@settings(max_examples=300, deadline=None)
def test_cos_and_sin_are_within_one_unit(u: tuple[int, int], p: int) -> None:
    n, bits = u
    with mpmath.workprec(p + 500):
        angle = 2 * mpmath.pi * n / mpmath.mpf(2) ** bits
        cos, sin = cos_sin(n, bits, p)
        assert abs(cos - mpmath.cos(angle) * 2**p) <= 1
        assert abs(sin - mpmath.sin(angle) * 2**p) <= 1


@given(st.fractions(0, 300, max_denominator=10**12), precisions)
@settings(max_examples=300, deadline=None)
def test_exp_is_within_one_unit(x: Fraction, p: int) -> None:
    with mpmath.workprec(p + 500):
        assert abs(exp_minus(x, p) - mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * 2**p) <= 1


@given(st.integers(0, 2**200), precisions)
def test_square_roots_are_enclosed(x: int, p: int) -> None:
    low, high = sqrt_bounds(x, x, p)
    assert low**2 <= x << p < high**2


@pytest.mark.parametrize(
    ("low", "high", "rounded"),
    [
        (14, 16, None),
        (15, 16, 2),
        (14, 15, None),
        (-16, -14, None),
        (-15, -6, -1),
        (-26, -24, None),
        (-2, 2, 0),
    ],
)
def test_rounding_bounds(low: int, high: int, rounded: int | None) -> None:
    """In tenths: 1.4 .. 1.6 straddles 1.5 and cannot be rounded."""

    assert round_bounds(low, high, 10) == rounded


def test_a_uniform_only_ever_narrows() -> None:
    with fixed_noise(1):
        u = Uniform(5, 4, Stream())
        low, high = Fraction(5, 16), Fraction(6, 16)
        for _ in range(5):
            u.extend()
            now_low, now_high = Fraction(u.n, 1 << u.bits), Fraction(u.n + 1, 1 << u.bits)
            assert low <= now_low < now_high <= high
            low, high = now_low, now_high


def test_a_uniform_of_zeros_is_looked_at_until_it_has_a_logarithm() -> None:
    u = Uniform(0, 64, Stream())
    low, high = u.minus_log(200)
    assert u.n > 0
    assert u.bits >= 128
    assert 44 << 200 < low <= high
    with mpmath.workprec(600):
        exact_high = -mpmath.log(mpmath.mpf(u.n) / 2**u.bits) * mpmath.mpf(2) ** 200
        exact_low = -mpmath.log(mpmath.mpf(u.n + 1) / 2**u.bits) * mpmath.mpf(2) ** 200
        assert low <= exact_low <= exact_high <= high


def test_a_uniform_that_may_be_one_has_a_logarithm_that_may_be_zero() -> None:
    assert Uniform((1 << 64) - 1, 64, Stream()).minus_log(100)[0] == 0
