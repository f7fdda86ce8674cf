"""Shapes of columns: normal cells moved to where noisy counts say that rows are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from gnomon.model.marginals import (
    FEWEST,
    MOST,
    Counts,
    Shape,
    bins_clear_of,
    edges_of,
    give_shapes,
    shape_of,
)
from gnomon.table.codec.base import evenly

N = 40_000


def counted(cells: np.ndarray, edges: np.ndarray, noise: float = 0.0, seed: int = 0) -> Counts:
    exact = np.bincount(np.searchsorted(edges, cells), minlength=len(edges) + 1)
    return Counts(edges, exact + noise * np.random.default_rng(seed).standard_normal(len(exact)), noise)


def one_class(cells: np.ndarray, noise: float = 0.0, bins: int = 32) -> Shape | None:
    """The shape of a column of one class whose model has its true mean and spread."""
    mean, spread = float(cells.mean()), float(cells.std())
    overall = counted(cells, edges_of(mean, spread, bins, None), noise)
    laws = np.array([mean]), np.array([spread]), np.array([float(len(cells))])
    return shape_of(0, *laws, overall, [])


def drawn(shape: Shape, n: int = N, c: int = 0, seed: int = 3) -> np.ndarray:
    normal = np.random.default_rng(seed).standard_normal(n)
    return shape.of_class(c, shape.means[c] + shape.spreads[c] * normal)


def distance(a: np.ndarray, b: np.ndarray, bins: int = 20) -> float:
    """Total variation of two samples on equal bins of [-1, 1]."""
    ends = np.linspace(-1, 1, bins + 1)
    return 0.5 * float(np.abs(np.histogram(a, ends)[0] / len(a) - np.histogram(b, ends)[0] / len(b)).sum())


def humps(n: int = N, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(np.where(rng.random(n) < 0.3, -0.6, 0.4) + 0.1 * rng.standard_normal(n), -1, 1)


def test_counts_that_say_what_the_model_says_leave_cells_where_they_are() -> None:
    mean, spread = 0.1, 0.2
    edges = edges_of(mean, spread, 32, None)
    heights = N * np.diff(ndtr((edges - mean) / spread), prepend=0.0, append=1.0)
    laws = np.array([mean]), np.array([spread]), np.array([float(N)])
    shape = shape_of(0, *laws, Counts(edges, heights, 10.0), [])
    assert shape is not None
    cells = np.linspace(-0.6, 0.8, 200)
    assert np.allclose(shape.of_class(0, cells), cells, atol=0.003)


def test_two_humps_come_back_and_order_is_kept() -> None:
    real = humps()
    shape = one_class(real, noise=30.0)
    assert shape is not None
    normal = real.mean() + real.std() * np.random.default_rng(3).standard_normal(N)
    assert distance(normal, real) > 0.3
    assert distance(drawn(shape), real) < 0.08
    cells = np.linspace(-2, 2, 500)
    assert (np.diff(shape.of_class(0, cells)) >= 0).all()


def test_cells_at_a_bound_are_exactly_there_and_as_many() -> None:
    rng = np.random.default_rng(2)
    real = np.where(rng.random(N) < 0.6, -1.0, np.clip(rng.exponential(0.3, N) - 0.9, -0.95, 1.0))
    shape = one_class(real, noise=30.0)
    assert shape is not None
    assert abs(float(np.mean(drawn(shape) == -1.0)) - 0.6) < 0.02


def test_few_values_come_back_by_their_shares() -> None:
    values = np.linspace(-1, 1, 7)
    shares = np.array([0.3, 0.02, 0.25, 0.03, 0.05, 0.3, 0.05])
    real = np.random.default_rng(4).choice(values, N, p=shares)
    mean, spread = float(real.mean()), float(real.std())
    edges = edges_of(mean, spread, 32, (values[1:] + values[:-1]) / 2)
    assert len(edges) == 6
    laws = np.array([mean]), np.array([spread]), np.array([float(N)])
    shape = shape_of(0, *laws, counted(real, edges, 20.0), [], evenly(7))
    assert shape is not None
    nearest = np.rint((drawn(shape) + 1) * 3).astype(int)
    assert np.abs(np.bincount(nearest, minlength=7) / N - shares).max() < 0.02


def test_whole_numbers_stay_heaped() -> None:
    """Hours a week: forty is an hour that a third of all people work, thirty-nine is not."""
    rng = np.random.default_rng(5)
    hours = np.where(rng.random(N) < 0.35, 40, np.clip(np.rint(40 + 12 * rng.standard_normal(N)), 1, 99))
    values = np.linspace(-1, 1, 99)
    real = values[hours.astype(int) - 1]
    mean, spread = float(real.mean()), float(real.std())
    edges = edges_of(mean, spread, 32, (values[1:] + values[:-1]) / 2)
    laws = np.array([mean]), np.array([spread]), np.array([float(N)])
    shape = shape_of(0, *laws, counted(real, edges, 30.0), [], evenly(99))
    assert shape is not None
    released = np.rint((drawn(shape) + 1) * 49).astype(int) + 1
    assert float(released.std() / hours.std()) == pytest.approx(1, abs=0.08)
    for hour in (39, 40, 41):
        assert abs(float(np.mean(released == hour) - np.mean(hours == hour))) < 0.02


def test_many_values_have_edges_between_them() -> None:
    edges = edges_of(0.0, 0.3, 16, np.linspace(-0.99, 0.99, 100))  # more than four times as many
    assert len(edges) <= 16
    assert np.allclose((edges * 100) % 2, 1.0, atol=1e-6)  # halfway between values that are 0.02 apart


def test_noise_alone_moves_little() -> None:
    """Real rows as the model has them: counts are noise beside it, and most of it is seen to be."""
    rng = np.random.default_rng(5)
    real = np.clip(0.2 * rng.standard_normal(2_000), -1, 1)
    moved = []
    for seed in range(20):
        overall = counted(real, edges_of(0.0, 0.2, 16, None), noise=25.0, seed=seed)
        laws = np.array([0.0]), np.array([0.2]), np.array([2_000.0])
        shape = shape_of(0, *laws, overall, [])
        assert shape is not None
        moved.append(distance(drawn(shape), 0.2 * rng.standard_normal(N)))
    raw = 0.5 * 16 * 25.0 * np.sqrt(2 / np.pi) / 2_000
    assert np.mean(moved) < 0.6 * raw


def test_a_spread_that_comes_from_few_far_rows_keeps_the_models_shape() -> None:
    rng = np.random.default_rng(6)
    real = np.where(rng.random(N) < 0.0005, 1.0, -0.9)
    assert one_class(real, noise=200.0, bins=16) is None
    assert one_class(real, noise=0.0, bins=16) is not None


def test_counts_tell_the_spread_of_a_class_whose_model_lacks_some() -> None:
    """Rows that were shortened to their ball: the model's spread is too small, the counts are right."""
    rng = np.random.default_rng(4)
    real = np.where(rng.random(N) < 0.3, -1.0, np.clip(0.25 * rng.standard_normal(N), -1, 1))
    mean, spread = float(real.mean()), 0.8 * float(real.std())
    laws = np.array([mean]), np.array([spread]), np.array([float(N)])
    shape = shape_of(0, *laws, counted(real, edges_of(mean, spread, 32, None)), [])
    assert shape is not None
    cells = drawn(shape)
    assert abs(float((cells == -1.0).mean()) - 0.3) < 0.01
    assert abs(float(cells.std() / real.std()) - 1) < 0.03
    assert abs(float(cells.mean()) - mean) < 0.01


@pytest.mark.parametrize("heavy", [1.0, 1.5, 1.9, 2.2])
def test_a_tail_beyond_the_last_bin_reaches_about_as_far_as_the_model_says(heavy: float) -> None:
    """Bins see how many rows it has, not how far they are: laid evenly up to the bound, they would be too far."""
    real = np.clip(-0.9 + 0.05 * np.random.default_rng(5).standard_exponential(N) ** heavy, -1, 1)
    shape = one_class(real)
    assert shape is not None
    assert 0.9 < float(drawn(shape).std() / real.std()) < 1.3


def test_a_spread_that_counts_lack_is_the_models() -> None:
    """Some rows far away, in a bin that seems to be near: the mean alone would leave them there."""
    real = np.clip(-0.9 + 0.05 * np.random.default_rng(5).standard_exponential(N) ** 1.9, -1, 1)
    mean, spread = float(real.mean()), float(real.std())
    overall = counted(real, edges_of(mean, spread, 32, None))
    only = Counts(overall.edges[:-4], np.r_[overall.heights[:-5], overall.heights[-5:].sum()], 0.0)
    shape = shape_of(0, np.array([mean]), np.array([spread]), np.array([float(N)]), only, [])
    assert shape is not None
    assert float(drawn(shape).std()) > 0.85 * spread


def test_too_few_rows_for_the_noise_have_no_shape() -> None:
    laws = np.zeros(1), np.array([0.1]), np.array([100.0])
    assert shape_of(0, *laws, counted(np.zeros(100), edges_of(0.0, 0.1, 8, None), 50.0), []) is None
    nobody = np.zeros(1), np.array([0.1]), np.zeros(1)
    assert shape_of(0, *nobody, counted(np.zeros(0), edges_of(0.0, 0.1, 8, None), 50.0), []) is None


def test_classes_that_are_not_counted_add_no_edges() -> None:
    many = 500
    laws = np.linspace(-0.5, 0.5, many), np.full(many, 0.1), np.full(many, 100.0)
    real = np.clip(0.3 * np.random.default_rng(9).standard_normal(50_000), -1, 1)
    shape = shape_of(0, *laws, counted(real, edges_of(0.0, 0.3, 32, None), 20.0), [])
    assert shape is not None
    assert len(shape.edges) < 50


def two_classes(sizes: tuple[int, int], noise: float, seed: int = 0) -> tuple[Shape, list[np.ndarray]]:
    rng = np.random.default_rng(7)
    real = [humps(sizes[0]), np.clip(0.5 + 0.1 * rng.standard_normal(sizes[1]), -1, 1)]
    means, spreads = (np.array([f(cells) for cells in real]) for f in (np.mean, np.std))
    every = np.concatenate(real)
    overall = counted(every, edges_of(float(every.mean()), float(every.std()), 32, None), noise)
    classes = [
        counted(cells, edges_of(float(m), float(s), 32, None), noise, seed=c + 2 * seed)
        for c, (cells, m, s) in enumerate(zip(real, means, spreads, strict=True))
    ]
    shape = shape_of(0, means, spreads, np.array(sizes, dtype=float), overall, classes)
    assert shape is not None
    return shape, real


def test_every_class_has_its_own_shape_and_together_they_have_that_of_all() -> None:
    shape, real = two_classes((N, N // 2), 40.0)
    found = [drawn(shape, len(cells), c) for c, cells in enumerate(real)]
    for mine, cells in zip(found, real, strict=True):
        assert distance(mine, cells) < 0.1
    assert distance(np.concatenate(found), np.concatenate(real)) < 0.06


def test_a_class_too_small_for_its_counts_is_not_moved_by_their_noise() -> None:
    assert bins_clear_of(60.0, 50) == 0
    away = []
    for seed in range(8):
        shape, (_, cells) = two_classes((N, 50), 60.0, seed)
        away.append(distance(drawn(shape, N, 1), cells))
    assert np.mean(away) < 0.25  # 50 rows are themselves 0.1 from their law


def test_shapes_are_given_by_class_and_column() -> None:
    shape, _ = two_classes((N, N // 2), 40.0)
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 2, 1_000)
    cells = rng.standard_normal((1_000, 3))
    before = cells.copy()
    give_shapes([shape], cells, codes)
    assert np.array_equal(cells[:, 1:], before[:, 1:])
    for c in (0, 1):
        assert np.array_equal(cells[codes == c, 0], shape.of_class(c, before[codes == c, 0]))


@pytest.mark.parametrize("size", [0.0, 1e-6, 1.0])
def test_an_empty_class_has_a_shape_of_numbers(size: float) -> None:
    edges = edges_of(0.0, 0.3, 16, None)
    rng = np.random.default_rng(9)
    counts = [Counts(edges, 50 * rng.standard_normal(len(edges) + 1), 50.0) for _ in range(2)]
    overall = counted(humps(), edges, 50.0)
    sizes = np.array([float(N), size])
    shape = shape_of(0, np.zeros(2), np.full(2, 0.4), sizes, overall, counts)
    assert shape is not None
    assert np.isfinite(shape.knots).all()
    assert (np.diff(shape.knots, axis=1) > 0).all()
    assert np.isfinite(drawn(shape, 100, 1)).all()


def test_bins_are_as_many_as_noise_leaves_clear() -> None:
    assert bins_clear_of(0.0, 10) == MOST
    assert bins_clear_of(1.0, 1e9) == MOST
    assert bins_clear_of(100.0, 100) == 0
    assert bins_clear_of(10.0, 50 * FEWEST) == FEWEST


@pytest.mark.parametrize("spread", [1e-13, 1e-6, 0.3, 30.0])
@pytest.mark.parametrize("mean", [-1.0, 0.0, 0.7, 3.0])
def test_any_model_gives_numbers_within_the_bounds(mean: float, spread: float) -> None:
    """Models that noise has made absurd: no spread, a mean outside of the bounds, one class without rows."""
    rng = np.random.default_rng(10)
    means, spreads = np.array([mean, 0.0]), np.array([spread, 0.3])
    for sizes in ([1_000.0, 0.0], [500.0, 500.0]):
        edges = [edges_of(float(m), float(s), 16, None) for m, s in zip(means, spreads, strict=True)]
        classes = [Counts(e, rng.normal(0, 20, len(e) + 1), 20.0) for e in edges]
        shape = shape_of(0, means, spreads, np.array(sizes), counted(humps(1_000), edges[1], 20.0), classes)
        if shape is not None:
            found = np.concatenate([drawn(shape, 500, c) for c in (0, 1)])
            assert np.isfinite(found).all()
            assert np.abs(found).max() <= 1


def narrow(n: int = 4_000, at_bound: float = 0.0) -> np.ndarray:
    """A column of a tenth of its declared width, a part of whose rows is at the upper bound."""
    rng = np.random.default_rng(5)
    return np.where(rng.random(n) < at_bound, 1.0, np.clip(0.15 * rng.standard_normal(n), -0.99, 0.99))


def with_noise_at_the_bound(cells: np.ndarray, deviations: float, classes: int = 0, seed: int = 3) -> Shape:
    """Its shape where noise put so many deviations at the bound; by the model, rows far away were shortened."""
    mean, spread = float(np.mean(cells)), 0.7 * float(np.std(cells)) if (cells == 1).any() else 0.15
    edges, noise = edges_of(mean, spread, 12, None), 60.0
    overall = counted(cells, edges, noise, seed)
    overall.heights[-1] = counted(cells, edges).heights[-1] + deviations * noise
    codes = np.arange(len(cells)) % max(classes, 1)
    parts = [counted(cells[codes == c], edges)._replace(noise=noise) for c in range(classes)]
    law = np.full(max(classes, 1), mean), np.full(max(classes, 1), spread), np.bincount(codes).astype(float)
    shape = shape_of(0, *law, overall._replace(noise=noise), parts)
    assert shape is not None
    return shape


def test_noise_at_a_bound_that_no_row_reaches_hardly_widens_a_narrow_column() -> None:
    real = narrow()
    wide = [drawn(with_noise_at_the_bound(real, 3.5, seed=seed)).std() / real.std() for seed in range(10)]
    assert max(wide) < 1.2


def test_rows_at_a_far_bound_stay_there_where_they_are_beyond_noise() -> None:
    found = drawn(with_noise_at_the_bound(narrow(at_bound=0.1), 0.0))
    assert abs(float(np.mean(found == 1.0)) - 0.1) < 0.02


def test_classes_speak_of_a_bound_together_with_all_rows() -> None:
    """By the counts of all rows alone, 3.3 deviations at the bound are in doubt."""
    real = narrow(at_bound=0.05)
    alone, together = (
        np.mean(drawn(with_noise_at_the_bound(real, 0.0, classes)) == 1.0) for classes in (0, 2)
    )
    assert alone < 0.03 < together


def two_values(part: float, n: int = N) -> np.ndarray:
    """A column of two values whose rare one is at the upper bound."""
    return np.where(np.arange(n) < part * n, 1.0, -1.0)


def with_a_mean_that_lost_a_third(noise: float) -> Shape:
    """By the model, whose rows far away were shortened, the rare value is rarer than it is."""
    real = two_values(0.1)
    mean, spread = -1 + 2 * 0.067, 2 * math.sqrt(0.067 * 0.933)
    overall = counted(real, edges_of(mean, spread, 16, None))._replace(noise=noise)
    shape = shape_of(0, np.array([mean]), np.array([spread]), np.array([float(N)]), overall, [])
    assert shape is not None
    return shape


def test_counts_that_contradict_the_models_mean_beyond_noise_are_believed() -> None:
    assert abs(float(np.mean(drawn(with_a_mean_that_lost_a_third(30.0)) == 1.0)) - 0.1) < 0.006


def test_within_noise_the_models_mean_is_kept() -> None:
    found = drawn(with_a_mean_that_lost_a_third(400.0))
    assert abs(float(found.mean()) - (-1 + 2 * 0.067)) < 0.02


def test_no_more_rows_are_at_a_bound_than_were_counted_there() -> None:
    """A bound a hundred deviations away weighs most in a straight line through the counts."""
    real = np.minimum(np.random.default_rng(4).exponential(0.02, N) - 0.999, 1.0)
    shape = one_class(real)
    assert shape is not None
    assert not (drawn(shape) == 1.0).any()
    assert 0.8 < drawn(shape).std() / real.std() < 1.1
