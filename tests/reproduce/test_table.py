"""How numbers are shown in a table."""

from __future__ import annotations

import math

import pytest

from gnomon.reproduce.table import number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.97834, "0.9783"),
        (14.507, "14.51"),
        (-0.0112, "-0.01120"),
        (805_021.4, "805021"),
        (52_705_297_885.0, "5.27e+10"),
        (math.inf, "inf"),
    ],
)
def test_four_digits_and_an_exponent_only_where_digits_would_not_be_read(value: float, text: str) -> None:
    assert number(value) == text
