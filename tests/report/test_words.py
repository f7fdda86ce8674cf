"""The sentences of the page: the chance that they state is the true bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.privacy.meaning import percent_up, reach_by_epsilon
from gnomon.report.words import drawn_from, undrawn


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"), [(1.0, 0.0, "73.2%"), (0.1, 0.0, "52.5%"), (5.0, 0.0, "99.4%")]
)
def test_best_guess_as_the_guide_prints_it(epsilon: float, delta: float, said: str) -> None:
    assert percent_up(reach_by_epsilon(epsilon, delta).right) == said


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 1e-3), (2.0, 0.05)])
def test_randomised_response_attains_the_best_guess_and_nothing_exceeds_it(
    epsilon: float, delta: float
) -> None:
    """The four-point law that is extreme among (epsilon, delta)-DP pairs is told apart exactly that often."""
    high = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    p = np.array([delta, high, 1 - delta - high, 0.0])
    q = p[::-1]
    assert np.maximum(p, q).sum() / 2 == pytest.approx(reach_by_epsilon(epsilon, delta).right, abs=1e-12)


def test_best_guess_at_the_ends() -> None:
    assert reach_by_epsilon(1e-12, 0.0).right == pytest.approx(0.5)
    assert reach_by_epsilon(math.inf, 0.0).right == 1.0
    assert reach_by_epsilon(1.0, 0.999).right <= 1.0


def test_upper_bounds_are_rounded_up() -> None:
    assert percent_up(0.73101) == "73.2%"
    assert percent_up(0.5) == "50.0%"


def test_which_rows_the_pictures_show() -> None:
    assert "the 1,000 released rows" in drawn_from(1000, 1000)
    assert "the first 50,000 of 1,000,000 released rows" in drawn_from(50_000, 1_000_000)


def test_columns_without_a_picture_are_named_but_not_all_of_five_thousand() -> None:
    assert undrawn([]) == ""
    assert "1 column (a)" in undrawn(["a"])
    many = undrawn([f"x{i}" for i in range(5000)])
    assert "5,000 columns" in many
    assert len(many) < 600
