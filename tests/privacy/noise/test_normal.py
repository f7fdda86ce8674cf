"""Exact normals: the right law, digits that never change, and decisions that exact arithmetic confirms."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import kstest, norm

from gnomon.privacy.noise import normal
from gnomon.privacy.noise.exact import Uniform
from gnomon.privacy.noise.normal import Normals
from gnomon.privacy.noise.stream import Stream, fixed_noise


def as_floats(normals: Normals) -> NDArray[np.float64]:
    magnitude = normals.integer + normals.words[0] * 2.0**-64
    return np.where(normals.negative, -magnitude, magnitude)


def test_law(judge) -> None:
    x = as_floats(Normals(200_000))
    assert kstest(x, "norm").pvalue > judge.alpha
    assert kstest(x / 1.05, "norm").pvalue < judge.alpha
    assert kstest(x * 1.05, "norm").pvalue < judge.alpha
    cells = np.floor(x * 64).astype(np.int64)
    assert judge.chi_square(cells, lambda k: norm.cdf((k + 1) / 64)) > judge.alpha


def test_moments() -> None:
    """Mean of x^m within 6.2 standard errors of 0, 1, 0, 3, 0, 15 (1e-9 two-sided each)."""
    n = 400_000
    x = as_floats(Normals(n))
    moments = {1: 0, 2: 1, 3: 0, 4: 3, 5: 0, 6: 15}
    double = {1: 1, 2: 3, 3: 15, 4: 105, 5: 945, 6: 10395}
    for m, expected in moments.items():
        error = math.sqrt((double[m] - expected**2) / n)
        assert abs((x**m).mean() - expected) < 6.2 * error


def test_tails(judge) -> None:
    n = 1_000_000
    x = np.abs(as_floats(Normals(n)))
    for bound in (3.0, 4.0, 4.5):
        assert judge.count_test((x > bound).sum(), n, 2 * norm.sf(bound)) > judge.alpha


def test_later_digits_are_uniform_and_fresh(judge) -> None:
    normals = Normals(50_000)
    digits = normals.bits(40, 53).astype(float) * 2.0**-53
    assert kstest(digits, "uniform").pvalue > judge.alpha
    normals.extend()
    assert len(normals.words) == 3
    assert kstest(normals.words[2] * 2.0**-64, "uniform").pvalue > judge.alpha
    assert len(np.unique(np.concatenate(normals.words))) == 150_000


def test_bits_are_those_of_the_magnitude() -> None:
    normals = Normals(50)
    for start, count in [(0, 1), (0, 64), (5, 20), (60, 8), (63, 2), (64, 64), (70, 64), (127, 64)]:
        got = normals.bits(start, count)
        for i in range(50):
            fraction = normals.magnitude(i, 4) & ((1 << 256) - 1)
            assert int(got[i]) == fraction >> (256 - start - count) & ((1 << count) - 1)


def test_magnitude_is_the_value() -> None:
    normals = Normals(100)
    assert np.allclose([normals.magnitude(i, 3) / 2.0**192 for i in range(100)], np.abs(as_floats(normals)))


def test_looking_closer_never_changes_a_decided_value(monkeypatch: pytest.MonkeyPatch) -> None:
    with fixed_noise(5):
        fast = Normals(5000)
    monkeypatch.setattr(normal, "_ERROR", 1e9)
    with fixed_noise(5):
        slow = Normals(5000)
    assert np.array_equal(fast.negative, slow.negative)
    assert np.array_equal(fast.integer, slow.integer)
    assert np.array_equal(fast.words[0], slow.words[0])


def test_law_when_every_decision_needs_more_bits(judge, coarse_uniform) -> None:
    source = Stream()
    accepted = []
    for _ in range(10_000):
        e, u, x = coarse_uniform(source), coarse_uniform(source), coarse_uniform(source)
        k, accept = normal._decide(e, u, x)
        if accept:  # digits that no decision looked at are uniform: finish with float64's
            accepted.append(k + (x.n + source.spare_word() * 2.0**-64) * 2.0**-x.bits)
    assert len(accepted) > 4000
    assert kstest(accepted, lambda x: 2 * norm.cdf(x) - 1).pvalue > judge.alpha


def test_exact_decisions_against_mpmath() -> None:
    for words in Stream().words(900).reshape(-1, 3).tolist():
        e, u, x = words[0] >> 1, words[1], words[2]
        source = Stream()
        k, accept = normal._decide(Uniform(e, 63, source), Uniform(u, 64, source), Uniform(x, 64, source))
        with mpmath.workprec(300):
            assert k == int(mpmath.floor(-2 * mpmath.ln(mpmath.mpf(2 * e + 1) / 2**64)))
            fraction = mpmath.mpf(2 * x + 1) / 2**65
            t = mpmath.mpf(k * (k - 1)) / 2 + k * fraction + fraction**2 / 2
            assert accept == (-mpmath.ln(mpmath.mpf(2 * u + 1) / 2**65) > t)


def test_words_that_a_decision_drew_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The further words that decided an acceptance are the digits of the accepted number."""
    drawn: dict[int, int] = {}
    decide = normal._decide

    def curious(e: Uniform, u: Uniform, x: Uniform) -> tuple[int, bool]:
        leading = x.n
        x.extend()
        x.extend()
        drawn[leading] = x.n
        return decide(e, u, x)

    monkeypatch.setattr(normal, "_decide", curious)
    monkeypatch.setattr(normal, "_ERROR", 1e9)
    normals = Normals(200)
    for i, leading in enumerate(normals.words[0].tolist()):
        assert normals.magnitude(i, 3) & (1 << 192) - 1 == drawn[leading]
    normals.extend()
    assert len(np.unique(normals.words[3])) == 200


def test_none_is_none() -> None:
    assert len(Normals(0).integer) == 0
