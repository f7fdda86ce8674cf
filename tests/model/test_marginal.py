"""Marginals from noisy counts: what they keep of a column, and what they do not believe."""

from dataclasses import replace

import numpy as np
import pytest

from gnomon.model.class_marginals import target_marginals
from gnomon.model.columns import NOWHERE, Attribute
from gnomon.model.marginal import (
    Counts,
    Faint,
    Marginal,
    _thinning,
    combined,
    marginals,
    public_bins,
    refined_bins,
)
from gnomon.model.shrinkage import value_masses
from gnomon.model.tuning import Tuning
from gnomon.table.rows import CELL

T = Tuning()
NUMBER = Attribute("x", "number", slice(0, 1), None, atoms=np.array([-1.0, 0.0, 1.0]), origin=0.0)


def counted(x: np.ndarray, bins, noise: float, rng: np.random.Generator) -> Counts:
    h = np.bincount(np.searchsorted(bins.ends[:-1], np.rint(x * CELL)), minlength=len(bins)).astype(float)
    return Counts(bins, h + noise * rng.standard_normal(len(h)), np.full(len(h), max(noise, 1e-9)), 3.5)


def fitted(x: np.ndarray, noise: float, seed: int = 0) -> Marginal:
    rng = np.random.default_rng(seed)
    first = counted(x, public_bins(NUMBER, T), noise, rng)
    second = counted(x, refined_bins(NUMBER, first, 32, T), noise, rng)
    return marginals([combined(first, second)], len(x), T)[0]


@pytest.mark.parametrize("noise", [0.0, 20.0])
@pytest.mark.parametrize("scale", [0.2, 0.002])
def test_quantiles_of_a_column_are_kept_whatever_its_bounds(scale: float, noise: float) -> None:
    x = np.clip(0.3 + scale * np.random.default_rng(1).standard_normal(20_000), -1, 1)
    found = fitted(x, noise)
    levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    assert found.quantile(levels) == pytest.approx(np.quantile(x, levels), abs=0.12 * scale)
    drawn = found.quantile(np.random.default_rng(2).random(20_000))
    assert 0.8 < drawn.std() / x.std() < 1.25


def test_an_atom_keeps_its_share_and_its_value() -> None:
    rng = np.random.default_rng(3)
    x = np.where(rng.random(20_000) < 0.6, 0.0, rng.uniform(0, 0.5, 20_000))
    found = fitted(x, 20.0)
    assert (found.quantile((np.arange(10_000) + 0.5) / 10_000) == 0).mean() == pytest.approx(0.6, abs=0.02)


def test_nothing_is_believed_at_a_far_bound_that_noise_explains() -> None:
    x = 0.01 * np.random.default_rng(4).standard_normal(5_000)
    at_bound = [fitted(x, 30.0, seed).mass[[0, -1]] for seed in range(40)]
    assert np.mean(np.array(at_bound) > 1e-6) < 0.05


def test_a_constant_column_stays_constant() -> None:
    found = fitted(np.zeros(5_000), 20.0)
    assert np.ptp(found.quantile(np.linspace(0.001, 0.999, 200))) == 0


def test_hidden_rows_of_columns_that_look_constant_are_seen_together() -> None:
    rng = np.random.default_rng(5)
    counts = []
    for _ in range(200):  # 30 rows away from the atom, under one deviation of noise each
        x = np.where(np.arange(5_000) < 30, rng.uniform(0.1, 1, 5_000), 0.0)
        first = counted(x, public_bins(NUMBER, T), 40.0, rng)
        counts.append(counted(x, refined_bins(NUMBER, first, 32, T), 40.0, rng))
    away = [1 - g.mass[(g.left == 0) & (g.right == 0)].sum() for g in marginals(counts, 5_000, T)]
    assert 0.003 < np.mean(away) < 0.012


def test_rare_values_share_what_they_have_together() -> None:
    rng = np.random.default_rng(6)
    true = np.array([6_000.0, 3_000.0, *[50.0] * 20])
    errors = []
    for _ in range(50):
        found = value_masses(true + 60 * rng.standard_normal(22), 60.0, true.sum(), T)
        assert found.sum() == pytest.approx(true.sum(), rel=0.02)
        errors.append(found[2:].mean() - 50)
    assert abs(np.mean(errors)) < 10  # unbiased together, where single ones drown


def test_two_rounds_are_combined_by_their_precision() -> None:
    bins = public_bins(Attribute("one", "one-hot", slice(0, 1), None, np.zeros(1)), T)
    first = Counts(bins, np.array([10.0]), np.full(1, 3.0), 3.0, missing=10.0)
    second = Counts(bins, np.array([20.0]), np.full(1, 1.0), 3.0, missing=20.0)
    both = combined(first, second)
    assert both.values[0] == pytest.approx(19.0)
    assert both.missing == pytest.approx(19.0)
    assert both.noise == pytest.approx(np.hypot(0.3, 0.9))


def test_an_atom_needs_both_rounds_to_vanish_and_to_appear() -> None:
    """A bin that both rounds have is their mean; one that only the second has stays as it is."""
    x = np.random.default_rng(8).uniform(0.2, 0.6, 20_000)
    first = counted(x, public_bins(NUMBER, T), 30.0, np.random.default_rng(9))
    bins = refined_bins(NUMBER, first, 16, T)
    second = counted(x, bins, 30.0, np.random.default_rng(10))
    both = combined(first, second)
    assert bins.atom.sum() >= 2
    at, before = np.flatnonzero(bins.atom), np.flatnonzero(first.bins.atom)  # type: ignore[union-attr]
    assert both.values[at] == pytest.approx((first.values[before] + second.values[at]) / 2)
    assert both.noise[at] == pytest.approx(30 / np.sqrt(2))
    core = (~bins.atom) & (bins.left > bins.core[0]) & (bins.right < bins.core[1])
    alone = core & (both.noise == second.noise)
    assert alone.sum() > 5
    assert (both.values[alone] == second.values[alone]).all()
    shared = ~bins.atom & (both.noise < second.noise)  # octaves far away
    assert shared.any()
    assert both.rows == pytest.approx(20_000, abs=30 * 5 * np.sqrt(len(bins)))


def test_scores_are_conditional_means_of_a_normal() -> None:
    two = Marginal(np.array([-1.0, 1.0]), np.array([-1.0, 1.0]), np.array([0.5, 0.5]))
    assert two.score == pytest.approx([-np.sqrt(2 / np.pi), np.sqrt(2 / np.pi)])
    assert two.variance == pytest.approx(2 / np.pi)
    smooth = Marginal(np.array([-1.0]), np.array([1.0]), np.ones(1))
    assert smooth.variance == pytest.approx(1.0)


def test_a_targets_bins_have_the_parts_of_its_marginal() -> None:
    whole = Marginal(np.array([-1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    parts = target_marginals(whole, np.array([0.0, 0.25, 1.0]), 7)
    assert set(parts) == {(0, 7), (1, 7)}
    assert parts[0, 7].quantile(np.array([0.0, 1.0])) == pytest.approx([-1.0, -0.5])
    assert parts[1, 7].quantile(np.array([0.0, 1.0])) == pytest.approx([-0.5, 1.0])


@pytest.mark.parametrize("n", [1.0, 3.0, 10.0])
def test_a_few_rows_behind_much_noise_have_a_law_all_the_same(n: float) -> None:
    """Counts of noise alone, in bins with a core and octaves beyond it: a law, whatever came out."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        first = counted(rng.uniform(-0.2, 0.2, int(n)), public_bins(NUMBER, T), 30.0, rng)
        second = refined_bins(NUMBER, first, 8, T)
        values = 30.0 * rng.standard_normal(len(second))
        for some in (values, -np.abs(values), np.abs(values)):
            (found,) = marginals([Counts(second, some, np.full(len(some), 30.0), 3.5)], n, T)
            assert np.isfinite(found.mass).all()
            assert found.mass.sum() == pytest.approx(1.0)


def test_a_core_whose_bins_all_drown_is_kept() -> None:
    """The first counts saw rows there: a column does not become constant because each finer bin is noise."""
    first = counted(np.zeros(1), public_bins(NUMBER, T), 0.0, np.random.default_rng(7))
    assert first.bins is not None
    peak = (~first.bins.atom) & (first.bins.left >= 0.5)
    seen = Counts(
        first.bins, np.where(peak, 100.0, np.where(first.bins.left == 0, 400.0, 0.0)), first.noise + 20, 3.5
    )
    bins = refined_bins(NUMBER, seen, 32, T)
    noise = np.where(bins.atom & (bins.left == 0), 4_000.0, 5.0 * (-1.0) ** np.arange(len(bins)))
    found = marginals([Counts(bins, noise, np.full(len(noise), 20.0), 3.5)], 5_000, T)[0]
    assert found.quantile(np.array([0.9, 0.99])).max() > 0.5


def test_what_both_counts_show_has_its_sides_although_the_first_alone_showed_nothing() -> None:
    """Two bins stand out, and those beside them together: a column is not narrowed to the two."""
    noise = 100.0
    first = Counts(public_bins(NUMBER, T), *2 * (np.full(len(public_bins(NUMBER, T)), noise),), 6.0)
    bins = refined_bins(NUMBER, first, 32, T)
    middle = np.abs(bins.left + bins.right) / 2
    rows = np.where(bins.atom, 0.0, np.where(middle < 0.05, 1_000.0, np.where(middle < 0.4, 250.0, 0.0)))
    found = marginals([Counts(bins, rows, np.full(len(rows), noise), 6.0)], rows.sum(), T)[0]
    low, high = found.quantile(np.array([0.05, 0.95]))
    assert -0.4 < low < -0.15 < 0.15 < high < 0.4


def test_where_no_bin_shows_any_row_there_is_no_support_although_all_together_do() -> None:
    bins = public_bins(NUMBER, T)
    size = len(bins)
    assert Counts(bins, np.full(size, 300.0), np.full(size, 100.0), 6.0).support(T) == NOWHERE
    one = np.full(size, 300.0)
    one[np.flatnonzero(~bins.atom)[3]] = 1_000.0
    assert Counts(bins, one, np.full(size, 100.0), 6.0).support(T) == (-1.0, 1.0)


def columns_of(shares: float, columns: int, n: int = 20_000, noise: float = 300.0) -> list[Marginal]:
    """Columns whose rows lie in a narrow core, and a share of them far above it, each behind noise."""
    rng, both = np.random.default_rng(11), []
    for _ in range(columns):
        x = rng.uniform(-0.02, 0.02, n)
        x[: int(shares * n)] = rng.uniform(0.3, 0.5, int(shares * n))
        first = counted(x, public_bins(NUMBER, T), noise, rng)
        bins = refined_bins(NUMBER, first, 12, T)
        both.append(combined(first, counted(x, bins, noise, rng)))
    return marginals(both, n, T)


def beyond(found: list[Marginal], cell: float) -> np.ndarray:
    return np.array([one.mass[one.left >= cell].sum() for one in found])


def test_rows_that_no_column_shows_are_seen_in_all_of_them_together() -> None:
    """300 of 20,000 rows in two bins behind noise of 260 each: single columns do not tell, a hundred columns do."""
    assert 0.5 < np.mean(beyond(columns_of(0.015, 100), 0.18)) / 0.015 < 2
    assert np.mean(beyond(columns_of(0.0, 100), 0.18)) < 0.004


def test_a_single_column_does_not_believe_its_noise() -> None:
    assert np.median([beyond(columns_of(0.0, 1, noise=noise), 0.18) for noise in (20.0, 60.0, 180.0)]) < 0.001


def test_far_octaves_that_rise_by_noise_alone_are_pooled() -> None:
    """Tails thin out: a far octave of few columns whose mean noise lifts is worth what the octaves before it are worth."""

    def octave(values: list[float]) -> list[Faint]:
        return [Faint(j, np.array([0]), np.ones(1), value, 100.0) for j, value in enumerate(values)]

    near, far = octave([0.0] * 100), octave([100.0] * 4)
    assert _thinning({"up 0": near, "up 1": far}, T)["up 1"] < 5
    lump = octave([100.0] * 100)  # ten deviations: rows that really lie there
    assert _thinning({"up 0": near, "up 1": lump}, T)["up 1"] == pytest.approx(100)


def test_few_columns_do_not_believe_a_bound_of_under_three_deviations() -> None:
    """Among four columns some bin is noise of 2.7 deviations in many releases: no rows are put at that far cell."""
    rng, n = np.random.default_rng(12), 20_000
    both = []
    for x in rng.normal(0, 0.05, (4, n)):
        bins = refined_bins(NUMBER, counted(x, public_bins(NUMBER, T), 0.0, rng), 12, T)
        both.append(counted(x, bins, 0.0, rng))
    values = [one.values + np.where(one.bins.left == 1, 270.0 * (j == 0), 0.0) for j, one in enumerate(both)]
    noisy = [
        replace(one, values=v, noise=np.full(len(v), 100.0)) for one, v in zip(both, values, strict=True)
    ]
    assert marginals(noisy, n, T)[0].mass[-1] < 1e-4
