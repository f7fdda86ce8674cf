"""The papers' numbers, and the factors by which they miss."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from gnomon.privacy import printed
from gnomon.privacy.printed import (
    paper_dppro,
    paper_dppro_sigma,
    paper_dprp_covariance,
    paper_dprp_rows,
    paper_jl_cell_delta,
    paper_jl_row_delta,
    paper_lap_pca,
    paper_pca_gauss_class_covariance,
    paper_pca_gauss_class_mean,
    paper_pca_gauss_eigenvalues,
    paper_pca_gauss_supervised,
    paper_ron_gauss_classes,
    paper_ron_gauss_covariance,
    paper_ron_gauss_mean,
    paper_ron_gauss_supervised,
    ron_gauss_caveats,
    ron_gauss_delivered,
)
from gnomon.privacy.sensitivity import Attribute


def test_ron_gauss_mean_is_right() -> None:
    assert paper_ron_gauss_mean(30).holds
    assert paper_ron_gauss_mean(30).factor == pytest.approx(1)


@pytest.mark.parametrize(("p", "factor"), [(4, 1.41), (8, 2.0), (16, 2.83), (32, 4.0), (64, 5.66)])
def test_ron_gauss_covariance_costs_the_root_of_half_p(p: int, factor: float) -> None:
    claim = paper_ron_gauss_covariance(p)
    assert not claim.holds
    assert claim.real_epsilon(1.0) == pytest.approx(factor, abs=0.006)
    assert claim.factor == pytest.approx(math.sqrt(p / 2))


@pytest.mark.parametrize(("p", "factor"), [(8, 1.13), (16, 1.51), (32, 2.06), (64, 2.87)])
def test_mirrored_noise_misses_by_less(p: int, factor: float) -> None:
    assert paper_ron_gauss_covariance(p, mirrored=True).factor == pytest.approx(factor, abs=0.006)


def test_ron_gauss_covariance_holds_for_few_components() -> None:
    assert [p for p in range(1, 9) if paper_ron_gauss_covariance(p).holds] == [1, 2]
    assert [p for p in range(1, 9) if paper_ron_gauss_covariance(p, mirrored=True).holds] == [1, 2, 3, 4, 5]


def _labelled_change(p: int, a: float) -> float:
    """The whole-matrix change of the pair that breaks Lemma 5: T2's pair beside opposite labels, angle
    searched.
    """
    best = 0.0
    side = np.repeat([1.0, 0.0], [p // 2, p - p // 2]) / math.sqrt(p // 2)
    other = np.repeat([0.0, 1.0], [p // 2, p - p // 2]) / math.sqrt(p - p // 2)
    for phi in np.linspace(0, math.pi / 2, 400):
        x = math.cos(phi) * side + math.sin(phi) * other
        y = -math.sin(phi) * side + math.cos(phi) * other
        for sign in (-1, 1):
            u, v = np.r_[x, a], np.r_[y, sign * a]
            best = max(best, float(np.abs(np.outer(u, u) - np.outer(v, v)).sum()))
    return best


def test_ron_gauss_supervised_is_broken_where_its_first_term_dominates() -> None:
    for p, a in ((8, 0.25), (16, 0.25), (32, 1.0)):
        claim = paper_ron_gauss_supervised(p, a)
        change = _labelled_change(p, a)
        assert claim.printed < change <= claim.true
        assert not claim.holds
    assert paper_ron_gauss_supervised(2, 1.0).printed == pytest.approx(6 * math.sqrt(2) + 1)


def test_ron_gauss_caveats_name_the_cost() -> None:
    assert ron_gauss_caveats(2, epsilon_mean=0.3, epsilon=0.7) == []
    assert ron_gauss_delivered(2, epsilon_mean=0.3, epsilon=0.7) == pytest.approx(1.0)
    (sentence,) = ron_gauss_caveats(16, epsilon_mean=0.3, epsilon=0.7)
    for part in ("Lemma 4", "16 components", "epsilon 1.98 instead of 0.7", "2.28 instead of 1"):
        assert part in sentence
    assert ron_gauss_delivered(16, epsilon_mean=0.3, epsilon=0.7) == pytest.approx(0.3 + 0.7 * math.sqrt(8))
    assert "Lemma 5" in ron_gauss_caveats(16, epsilon_mean=0.3, epsilon=0.7, label=1.0)[0]
    classes = ron_gauss_caveats(2, epsilon_mean=0.3, epsilon=0.7, classes=3)
    assert "label is not protected by any epsilon" in classes[0]
    assert ron_gauss_delivered(2, epsilon_mean=0.3, epsilon=0.7, classes=3) == math.inf
    assert paper_ron_gauss_classes().real_epsilon(0.1) == math.inf


def test_pca_gauss_true_mean_centring() -> None:
    """All rows are 1, then one becomes -1: the centred second moment goes from 0 to 3.996."""
    changed = np.r_[-1, np.ones(999)]
    moved = float(((changed - changed.mean()) ** 2).sum())
    assert moved == pytest.approx(3.996, abs=1e-9)
    assert paper_pca_gauss_eigenvalues(1, 1000).true == pytest.approx(3.996)
    assert moved <= paper_pca_gauss_eigenvalues(1, 1000).true * (1 + 1e-12)
    short = [P for P in range(1, 9) if not paper_pca_gauss_eigenvalues(P, 1000).holds]
    assert short == [1, 2, 3, 4]
    assert all(paper_pca_gauss_eigenvalues(P, 1000, centred=False).holds for P in range(1, 9))


def test_box_rows_centred_by_their_mean_move_the_nuclear_norm_by_eight_over_root_three() -> None:
    """x, y, m in the box: x and y differ in two thirds of the coordinates and agree, against m, in the
    rest.
    """
    M = 30
    x = np.r_[np.ones(20), np.ones(10)]
    y = np.r_[-np.ones(20), np.ones(10)]
    m = np.r_[np.tile([1.0, -1.0], 10), -np.ones(10)]
    D = np.outer(x - m, x - m) - np.outer(y - m, y - m)
    nuclear = np.abs(np.linalg.eigvalsh(D)).sum()
    assert nuclear == pytest.approx(8 / math.sqrt(3) * M)
    rng = np.random.default_rng(8)
    for _ in range(300):
        x, y, m = np.sign(rng.normal(size=(3, M)))
        D = np.outer(x - m, x - m) - np.outer(y - m, y - m)
        assert np.abs(np.linalg.eigvalsh(D)).sum() <= 8 / math.sqrt(3) * M * (1 + 1e-9)


def test_pca_gauss_other_claims() -> None:
    assert paper_pca_gauss_supervised(10).holds
    assert 1 / paper_pca_gauss_supervised(10).factor == pytest.approx(5.1, abs=0.06)
    assert 1 / paper_pca_gauss_class_mean(9).factor == pytest.approx(3)
    factors = [paper_pca_gauss_class_covariance(P, 10**6).factor for P in (1, 2, 3, 4)]
    assert factors == pytest.approx([4, 2, 4 / 3, 1], rel=1e-5)
    assert not paper_pca_gauss_class_covariance(3, 1000).holds
    assert paper_pca_gauss_class_covariance(4, 1000).holds
    assert paper_lap_pca(117).factor == pytest.approx(117)
    assert paper_lap_pca(117, mirrored=True).factor == pytest.approx(59)


def test_centred_class_covariance_search_does_not_pass_four() -> None:
    """sum_ij |a_i a_j - b_i b_j| for a = x - m, b = y - m in the unit ball: a search for a pair above 4p."""
    rng = np.random.default_rng(9)
    for p in (2, 3, 4):
        z = rng.normal(size=(150, 3, p))

        def clip(z):
            return z / np.maximum(1, np.linalg.norm(z, axis=2, keepdims=True))

        def change(z):
            a, b = z[:, 0] - z[:, 2], z[:, 1] - z[:, 2]
            return np.abs(np.einsum("ri,rj->rij", a, a) - np.einsum("ri,rj->rij", b, b)).sum((1, 2))

        z = clip(z)
        best = change(z)
        for step in range(400):
            new = clip(z + 0.5 * 0.98**step * rng.normal(size=z.shape))
            value = change(new)
            z[value > best], best = new[value > best], np.maximum(best, value)
        assert 3.9 * p < best.max() <= 4 * p * (1 + 1e-9)


def test_jl_laplace_real_deltas() -> None:
    for k, delta in ((2, 9.3e-3), (3, 2.1e-3), (10, 1.1e-7), (20, 1.3e-13)):
        assert paper_jl_cell_delta(k) == pytest.approx(delta, rel=0.02)
    # t at the paper's threshold, where the printed delta is 1
    for k, delta in ((2, 0.037), (3, 0.0041), (10, 5e-12)):
        assert paper_jl_row_delta(k, math.sqrt(2 * math.log(2 * k) / k)) == pytest.approx(delta, rel=0.05)


def test_dprp_and_dppro() -> None:
    assert paper_dprp_rows(1.0).factor == 2
    assert paper_dprp_rows(2.0).holds
    assert paper_dprp_covariance(1.0).factor == pytest.approx(math.sqrt(2))
    assert 1 / paper_dprp_covariance(2.0).factor == pytest.approx(2.83, abs=0.01)
    # the printed sigma of Theorem B with Z = 1, at epsilon 1 and delta 1e-4, costs more than it says
    sigma = math.sqrt(2 * math.log(1.25 / 1e-4))
    assert paper_dprp_covariance(1.0).real_gaussian_epsilon(sigma, 1e-4) > 1.04
    R = np.random.default_rng(10).normal(size=(50, 20)) / math.sqrt(20)
    category = paper_dppro(R, [Attribute.category(range(50))])
    assert 1.3 < category.factor < 1.8
    assert paper_dppro(R, [Attribute.number(i, 0.0, 1.0) for i in range(50)]).factor == pytest.approx(1)
    assert paper_dppro(R, [Attribute.number(i) for i in range(50)]).factor == pytest.approx(2)
    assert paper_dppro_sigma(1.0, 1e-5) == pytest.approx(13.57, abs=0.01)


def test_every_printed_claim_says_what_is_wrong_with_it() -> None:
    for name, function in inspect.getmembers(printed, inspect.isfunction):
        if name.startswith("paper_"):
            assert function.__doc__, name
