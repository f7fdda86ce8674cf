"""The exponential mechanism's choice: exact where floats would do, and where they would not."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from gnomon.errors import ParameterError
from gnomon.privacy.noise.choice import _below, exponential_choice
from gnomon.privacy.noise.exact import Uniform
from gnomon.privacy.noise.stream import Stream, fixed_noise

GAPS = np.array([0, 1, 2, 5, 9])


def counts(rate: Fraction, draws: int = 4000) -> np.ndarray:
    return np.bincount([exponential_choice(GAPS, rate) for _ in range(draws)], minlength=5)


def test_the_law_is_met_and_another_is_refused() -> None:
    with fixed_noise(5):
        seen = counts(Fraction(1, 2))
    for rate, meets in [(0.5, True), (0.65, False)]:
        expected = np.exp(-rate * GAPS)
        found = stats.chisquare(seen, 4000 * expected / expected.sum()).pvalue
        assert bool(found > 1e-3) is meets


def test_the_best_is_certain_when_all_others_are_hopeless() -> None:
    assert exponential_choice(np.array([10**6, 0, 10**7]), Fraction(1)) == 1


def test_one_candidate_is_chosen() -> None:
    assert exponential_choice(np.array([0]), Fraction(1)) == 0


def test_a_close_call_is_decided_by_further_bits() -> None:
    """The first 64 bits of u equal those of exp(-1/3): only more of them can tell."""
    leading = math.floor(Fraction(math.exp(-1 / 3)) * 2**64)
    asked = []

    class Told(Stream):
        def spare_word(self) -> int:
            asked.append(1)
            return 0

    from gnomon.privacy.noise.exact import exp_minus

    exact = exp_minus(Fraction(1, 3), 64)
    assert abs(exact - leading) < 2**14
    assert _below(Uniform(exact - 1, 64, Told()), Fraction(1, 3)) in (True, False)
    assert asked
    assert _below(Uniform(exact - 2**20, 64, Told()), Fraction(1, 3))
    assert not _below(Uniform(exact + 2**20, 64, Told()), Fraction(1, 3))


@pytest.mark.parametrize("gaps", [[], [1, 2], [-1, 0]])
def test_gaps_must_start_at_zero(gaps: list[int]) -> None:
    with pytest.raises(ParameterError, match="best candidate at 0"):
        exponential_choice(np.array(gaps, dtype=np.int64), Fraction(1))
