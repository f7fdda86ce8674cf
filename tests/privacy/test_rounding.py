"""Rounding is exact and to the safe side."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.privacy.rounding import ROOT_BITS, float_down, float_up, fraction, root_up

RATIONALS = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(RATIONALS)
def test_a_root_is_never_below_the_truth_and_hardly_above(square: Fraction) -> None:
    root = root_up(square)
    assert root**2 >= square
    assert root**2 <= square * (1 + Fraction(4, 2**ROOT_BITS))


@given(RATIONALS)
def test_rational_roots_are_exact(root: Fraction) -> None:
    assert root_up(root * root) == root


@given(RATIONALS)
def test_doubles_enclose_the_fraction(value: Fraction) -> None:
    low, high = float_down(value), float_up(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))


def test_edges() -> None:
    assert root_up(0) == 0
    assert float_up(Fraction(10) ** 400) == math.inf
    assert fraction(0.1) == Fraction(0.1)
    assert fraction(np.int64(2**60 + 1)) == 2**60 + 1
    with pytest.raises(ValueError, match="negative"):
        root_up(-1)
