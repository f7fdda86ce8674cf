"""The tail of a projected length, against closed forms, a second computation and samples."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.errors import ParameterError
from gnomon.privacy.tails import projected_l1_quantile, projected_l1_tail


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
