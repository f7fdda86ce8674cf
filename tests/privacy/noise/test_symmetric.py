"""Symmetric noise: right law, right variances, exact roundings."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import ks_2samp, norm

from gnomon.errors import ParameterError
from gnomon.privacy.noise import symmetric
from gnomon.privacy.noise.gram import GramDifference
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.privacy.noise.symmetric import goe, matrix_laplace, upper_laplace


def rounded_laplace_cdf(k: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """P(round(L) <= k) for an ordinary Laplace variable L."""
    x = (k + 0.5) / scale
    return np.where(x < 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2)


def test_matrix_laplace_of_one_dimension_is_ordinary_laplace(judge) -> None:
    """G'G of a 2 x 1 matrix is twice an exponential: the difference is Laplace of scale 2 * scale."""
    values = matrix_laplace(1, Fraction(7, 2), 40_000)[:, 0, 0]
    assert judge.chi_square(values, lambda k: rounded_laplace_cdf(k, 7.0), cells=60) > judge.alpha
    assert judge.chi_square(values, lambda k: rounded_laplace_cdf(k, 8.4), cells=60) < judge.alpha
    magnitude = np.abs(values).mean()
    expected = sum(1 - 2 * (rounded_laplace_cdf(np.array(float(k)), 7.0) - 0.5) for k in range(400))
    assert abs(magnitude / expected - 1) < 6.2 / math.sqrt(len(values))


def test_matrix_laplace_of_one_dimension_is_purely_private_on_the_grid() -> None:
    """Rows of squared norm <= T, scale T / epsilon: no output is more than e^epsilon times as likely."""
    T, epsilon = 9, 0.7
    k = np.abs(np.arange(-400, 401))
    scale = 2 * T / epsilon
    mass = np.where(k == 0, -np.expm1(-0.5 / scale), np.exp(-k / scale) * np.sinh(0.5 / scale))
    assert np.allclose(np.cumsum(mass), rounded_laplace_cdf(np.arange(-400.0, 401.0), scale), atol=1e-6)
    for moved in range(1, 2 * T + 1):  # replacing a row moves the sum by at most 2 T in nuclear norm
        ratio = np.abs(np.log(mass[moved:] / mass[:-moved])).max()
        assert ratio <= epsilon * moved / (2 * T) * (1 + 1e-9)
    assert np.abs(np.log(mass[2 * T :] / mass[: -2 * T])).max() == pytest.approx(epsilon)


def test_matrix_laplace_diagonal_of_three_dimensions(judge) -> None:
    """A diagonal entry of q = 3 is 2 * scale * (Gamma(2) - Gamma(2)): density (1 + |x|) exp(-|x|) / 4."""
    scale = Fraction(25)
    values = matrix_laplace(3, scale, 25_000)[:, range(3), range(3)].ravel()

    def cdf(k: NDArray[np.float64]) -> NDArray[np.float64]:
        x = (k + 0.5) / 50.0
        tail = np.exp(-np.abs(x)) * (2 + np.abs(x)) / 4
        return np.where(x < 0, tail, 1 - tail)

    assert judge.chi_square(values, cdf, cells=60) > judge.alpha
    assert judge.chi_square(values, lambda k: cdf(k / 1.2), cells=60) < judge.alpha


@pytest.mark.parametrize("q", [2, 3, 4, 5])
def test_matrix_laplace_moments(q: int) -> None:
    """In units of scale: variances 4 (q + 1) on, 2 (q + 1) off the diagonal, E |Z|_F^2 = 2 q (q + 1)^2."""
    n, scale = 20_000, 1000
    Z = matrix_laplace(q, scale, n) / scale
    assert np.array_equal(Z, Z.transpose(0, 2, 1))
    squares = (Z**2).sum(axis=(1, 2))
    assert abs(squares.mean() - 2 * q * (q + 1) ** 2) < 8 * squares.std() / math.sqrt(n)
    off = Z[:, 0, 1]
    assert abs((off**2).mean() - 2 * (q + 1)) < 8 * (off**2).std() / math.sqrt(n)
    on = Z[:, 0, 0]
    assert abs((on**2).mean() - 4 * (q + 1)) < 8 * (on**2).std() / math.sqrt(n)
    assert np.abs(Z.mean(axis=0)).max() < 6.5 * math.sqrt(4 * (q + 1) / n)


def test_matrix_laplace_moments_reject_a_scale_five_per_cent_off() -> None:
    """At q = 80 the squared norm of one draw is known to about 2 per cent."""
    q, n, scale = 80, 12, 2**34
    ratios = [
        (matrix_laplace(q, scale).astype(float) ** 2).sum() / (2 * q * (q + 1) ** 2 * float(scale) ** 2)
        for _ in range(n)
    ]
    assert abs(np.mean(ratios) - 1) < 0.05


@pytest.mark.parametrize(
    ("q", "scale"), [(1, Fraction(7, 3)), (6, Fraction(2**33) / Fraction(0.37)), (9, 5.5)]
)
def test_looking_closer_never_changes_a_decided_entry(
    q: int, scale: Fraction | float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fixed_noise(5):
        fast = matrix_laplace(q, scale, 3)
    upper = GramDifference.upper

    def vague(self: GramDifference, limbs: int) -> tuple[NDArray[np.object_], int, int]:
        entries, _, f = upper(self, limbs)
        return entries, int(2 / Fraction(scale) * (1 << f)), f

    monkeypatch.setattr(GramDifference, "upper", vague)
    calls = []
    exactly = symmetric._round_entry
    monkeypatch.setattr(symmetric, "_round_entry", lambda *args: calls.append(1) or exactly(*args))
    with fixed_noise(5):
        slow = matrix_laplace(q, scale, 3)
    assert len(calls) == 3 * q * (q + 1) // 2
    assert np.array_equal(fast, slow)


def test_matrix_laplace_is_the_rounding_of_its_exact_value(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    init = GramDifference.__init__

    def keeping(self: GramDifference, q: int, blocks: int) -> None:
        init(self, q, blocks)
        made.append(self)

    monkeypatch.setattr(GramDifference, "__init__", keeping)
    monkeypatch.setattr(symmetric, "_NORMALS_AT_ONCE", 4 * 30)  # so that seven blocks take two batches
    scale = Fraction(10**9, 7)
    noise = matrix_laplace(5, scale, 7)
    assert [gram.blocks for gram in made] == [4, 3]
    exact = [gram for gram in made for _ in range(gram.blocks)]
    for (block, i, j), rounded in np.ndenumerate(noise):
        total, _, f = exact[block].entry(block % 4, i, j, 6)
        assert rounded == round(scale * Fraction(total, 1 << f))


def test_one_matrix_is_a_batch_of_one() -> None:
    for draw in (goe, upper_laplace, matrix_laplace):
        with fixed_noise(8):
            one = draw(4, 1000.5)
        with fixed_noise(8):
            batch = draw(4, 1000.5, 1)
        assert batch.shape == (1, 4, 4)
        assert np.array_equal(one, batch[0])


def test_blocks_of_a_batch_are_independent(judge) -> None:
    """Noise is as likely as its opposite, so the signs of two independent entries agree in half of all pairs."""
    n = 60_000
    for draw in (goe, upper_laplace, matrix_laplace):
        Z = draw(2, 5000.0, n)
        assert len(np.unique(Z.reshape(n, -1), axis=0)) > 0.99 * n
        for i, j in ((0, 0), (0, 1), (1, 1)):
            for apart in (1, n // 2):
                product = np.sign(Z[:-apart:2, i, j]) * np.sign(Z[apart::2, i, j])
                agree = int((product > 0).sum())
                assert judge.count_test(agree, int((product != 0).sum()), 0.5) > judge.alpha


@pytest.mark.parametrize("q", [2, 3, 5])
def test_eigenvalues_of_a_batch_are_those_of_the_law(q: int, judge) -> None:
    """All of them together, against the definition in floating point."""
    n, scale = 40_000, 10.0**6
    rng = np.random.default_rng(q)
    G, H = rng.standard_normal((2, n, q + 1, q))
    law = np.linalg.eigvalsh(G.transpose(0, 2, 1) @ G - H.transpose(0, 2, 1) @ H)
    found = np.linalg.eigvalsh(matrix_laplace(q, scale, n) / scale)
    for k in range(q):
        assert ks_2samp(found[:, k], law[:, k]).pvalue > judge.alpha
    sizes = [np.abs(values).sum(axis=1) for values in (found, law)]
    assert ks_2samp(*sizes).pvalue > judge.alpha
    assert ks_2samp(sizes[0], 1.1 * sizes[1]).pvalue < judge.alpha


def test_goe_variances(judge) -> None:
    noise = np.array([goe(40, 300.0) for _ in range(60)])
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    rows, columns = np.triu_indices(40, 1)
    diagonal, beside = noise[:, range(40), range(40)].ravel(), noise[:, rows, columns].ravel()
    for values, sigma in ((diagonal, 300.0), (beside, 300.0 / math.sqrt(2))):
        cdf = judge.rounded_gaussian_cdf(sigma)
        assert judge.chi_square(values, cdf) > judge.alpha
        spread = np.abs(values).mean() / (sigma * math.sqrt(2 / math.pi))
        assert abs(spread - 1) < norm.isf(judge.alpha / 2) * 0.7555 / math.sqrt(len(values))
    assert judge.chi_square(beside, judge.rounded_gaussian_cdf(300.0)) < judge.alpha


@pytest.mark.parametrize("sigma", [1.0, 0.3, 12345.678, 2.0**40])
def test_goe_never_rounds_its_noise_down(sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        symmetric, "rounded_gaussian", lambda s, n: asked.append(s) or np.zeros(n, dtype=np.int64)
    )
    goe(3, sigma)
    assert asked[0] == sigma
    assert 2 * Fraction(asked[1]) ** 2 >= Fraction(sigma) ** 2
    assert asked[1] < sigma / math.sqrt(2) * (1 + 1e-15)


def test_goe_rounds_up_whatever_the_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        symmetric, "rounded_gaussian", lambda s, n: asked.append(s) or np.zeros(n, dtype=np.int64)
    )
    for sigma in np.linspace(1.0, 2.0, 3001).tolist():
        goe(2, sigma)
        assert 2 * Fraction(asked.pop()) ** 2 >= Fraction(asked.pop()) ** 2


def test_upper_laplace(judge) -> None:
    noise = np.array([upper_laplace(20, Fraction(90, 7)) for _ in range(100)])
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    rows, columns = np.triu_indices(20)
    assert judge.chi_square(noise[:, rows, columns].ravel(), judge.laplace_cdf(90 / 7)) > judge.alpha


def test_large_matrix_is_exact_too() -> None:
    """Many limbs, wide matrix: float64 products stay exact whatever the order in which they are added."""
    with fixed_noise(3):
        noise = matrix_laplace(120, Fraction(2**40, 3))
    with fixed_noise(3):
        gram = GramDifference(120)
    for i, j in [(0, 0), (3, 77), (118, 119), (119, 119)]:
        total, _, f = gram.entry(0, i, j, 4)
        assert noise[i, j] == noise[j, i] == round(Fraction(2**40, 3) * Fraction(total, 1 << f))


@pytest.mark.parametrize("scale", [0, -1.0, math.nan, math.inf, 2**60])
def test_matrix_laplace_refuses_a_scale_it_cannot_serve(scale: float) -> None:
    with pytest.raises(ParameterError, match="'scale' parameter of matrix_laplace"):
        matrix_laplace(3, scale)


def test_sizes_below_one_are_refused() -> None:
    for draw in (goe, upper_laplace, matrix_laplace):
        with pytest.raises(ParameterError, match="'q' parameter of"):
            draw(0, 1.0)
        with pytest.raises(ParameterError, match="'blocks' parameter of"):
            draw(2, 1.0, 0)


def test_a_single_entry() -> None:
    assert goe(1, 5.0).shape == upper_laplace(1, 5).shape == matrix_laplace(1, 5).shape == (1, 1)


def test_a_tiny_scale_is_served() -> None:
    assert not matrix_laplace(3, Fraction(1, 10**400)).any()
