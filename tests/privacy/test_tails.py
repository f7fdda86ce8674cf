"""The tail of a projected length, against closed forms, a second computation and samples."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from gnomon.errors import ParameterError
from gnomon.privacy.tails import FADDEEVA, _moment, _saddle, projected_l1_quantile, projected_l1_tail


@pytest.mark.parametrize("k", [3, 6])
def test_the_tail_equals_a_convolution(k: int) -> None:
    """Half-normals on a fine grid, once rounded down and once up, enclose the truth."""
    step, wide = 0.004, 3000
    edges = step * np.arange(wide + 1)
    mass = np.diff([math.erf(e / math.sqrt(2)) for e in edges])
    law = np.array([1.0])
    for _ in range(k):
        law = np.convolve(law, mass)
    for length in (2.5, 3.5):
        t = length * math.sqrt(k)
        below, above = law[math.ceil(t / step) :].sum(), law[max(0, math.floor(t / step) - k) :].sum()
        assert below <= projected_l1_tail(k, length) <= above * (1 + 1e-9)
        assert above < 1.15 * below


def exact_tail(k: int, length: float) -> mpmath.mpf:
    """The inversion integral to 20 digits, along a line that bends to the right, where it falls exponentially."""
    with mpmath.workdps(25):
        t, root = mpmath.mpf(length) * mpmath.sqrt(k), mpmath.sqrt(2)
        s0, turn = mpmath.mpf(_saddle(k, float(t))), mpmath.expjpi(mpmath.mpf(1) / 3)

        def log_size(s: mpmath.mpc) -> mpmath.mpc:
            return k * mpmath.log(mpmath.exp(s * s / 2) * mpmath.erfc(-s / root)) - s * t

        top = log_size(s0)
        ends = [0, *(2**j / mpmath.sqrt(k) for j in range(7))]

        def height(u: mpmath.mpf) -> mpmath.mpf:
            s = s0 + u * turn
            return (turn * mpmath.exp(log_size(s) - top) / s).imag

        return mpmath.quad(height, ends) / mpmath.pi * mpmath.exp(top)


@pytest.mark.parametrize("k", [3, 6, 10, 40, 200])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-60])
def test_the_tail_is_an_upper_bound_and_close(k: int, delta: float) -> None:
    """Never below the tail to high precision, and above it by less than 1e-9 of it."""
    length = projected_l1_quantile(k, delta)
    exact = exact_tail(k, length)
    assert 0 <= mpmath.mpf(projected_l1_tail(k, length)) / exact - 1 < 1e-9
    assert exact <= delta


def test_a_tail_of_two_terms_is_an_upper_bound() -> None:
    """Closed forms in one and two dimensions."""
    for length in (0.3, 1.0, 4.0, 20.0):
        with mpmath.workdps(30):
            one = mpmath.erfc(mpmath.mpf(length) / mpmath.sqrt(2))
            side = mpmath.erfc(mpmath.mpf(length) * mpmath.sqrt(2) / 2)
        for k, exact in ((1, one), (2, side * (2 - side))):
            assert 0 <= mpmath.mpf(projected_l1_tail(k, length)) / exact - 1 < 1e-9


def test_the_faddeeva_function_is_as_exact_as_the_bound_grants() -> None:
    rng = np.random.default_rng(3)
    s = rng.uniform(0.01, 25, 150) + 1j * np.exp(rng.uniform(-5, 9, 150))
    with mpmath.workdps(40):
        for at, found in zip(s, _moment(s), strict=True):
            z = mpmath.mpc(at)
            exact = mpmath.exp(z * z / 2) * mpmath.erfc(-z / mpmath.sqrt(2))
            argument = 1e-15 * abs(at) * (abs(at) + 1 / abs(found))
            assert abs(mpmath.mpc(found) / exact - 1) < FADDEEVA / 5 + argument


def test_known_values() -> None:
    assert projected_l1_tail(1, 1.0) == pytest.approx(math.erfc(1 / math.sqrt(2)))
    assert projected_l1_tail(2, 2.0) == pytest.approx(1 - math.erf(math.sqrt(2)) ** 2)
    assert projected_l1_tail(10, 1.0) == 1.0
    assert projected_l1_tail(200, 2 * math.sqrt(200)) < 1e-100
    for k, c in ((2, 4.57), (3, 4.71), (10, 5.56), (20, 6.49)):
        assert projected_l1_quantile(k, 1e-5) == pytest.approx(c, abs=0.006)


@pytest.mark.parametrize("k", [2, 8, 20])
@pytest.mark.parametrize("delta", [0.3, 1e-6, 1e-12])
def test_the_quantile_is_safe_and_close(k: int, delta: float) -> None:
    c = projected_l1_quantile(k, delta)
    assert projected_l1_tail(k, c) <= delta
    assert projected_l1_tail(k, c * (1 - 1e-6)) > delta


@pytest.mark.parametrize(
    "call",
    [
        lambda: projected_l1_tail(0, 1.0),
        lambda: projected_l1_tail(3, math.nan),
        lambda: projected_l1_quantile(3, 0.0),
        lambda: projected_l1_quantile(3, 1.0),
    ],
)
def test_bad_questions_get_one_sentence(call) -> None:
    with pytest.raises(ParameterError, match="needs k of at least 1"):
        call()


@pytest.mark.parametrize("delta", [0.4, 0.45, 0.5, 0.999999999])
@pytest.mark.parametrize("k", [1, 3, 40])
def test_a_large_delta_has_a_quantile_too(k: int, delta: float) -> None:
    assert projected_l1_tail(k, projected_l1_quantile(k, delta)) <= delta
