"""Updates from noisy sums: recovery without noise, and what the noise law explains is not believed."""

import math

import numpy as np
import pytest

from gnomon.model.rounds import Radius, _cell_weights, cells, class_cells, length_grid, radius, subspace
from gnomon.model.shrinkage import denoised, onto_simplex, pooled, shrunk_to_mean, signal_share, toward
from gnomon.model.sums import Sums
from gnomon.model.tuning import Tuning

T = Tuning()


def goe(p: int, s: float, rng: np.random.Generator) -> np.ndarray:
    A = rng.standard_normal((p, p)) * s
    return (np.triu(A, 1) + np.triu(A, 1).T) + np.diag(rng.standard_normal(p) * s * np.sqrt(2))


def sums_of(X: np.ndarray, codes: np.ndarray, L: int, by_class: bool) -> Sums:
    first = np.stack([X[codes == c].sum(axis=0) for c in range(L)])
    blocks = range(L) if by_class else [None]
    second = np.stack([(Y := X if c is None else X[codes == c]).T @ Y for c in blocks])
    return Sums(second, first, np.bincount(codes, minlength=L) * 1.0, 1e-9, 1e-9, 1e-9)


def whole(r: float, K: int = 1) -> Radius:
    return Radius(np.full(K, r), np.ones(K), np.ones(K))


def test_class_means_and_covariances_are_recovered_without_noise() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 30_000)
    centres = np.array([[2.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 2.0, 0]])
    X = centres[codes] + rng.standard_normal((30_000, 4)) * np.array([1, 0.5, 0.3, 0.2])
    space = subspace(sums_of(X, codes, 3, False), whole(1.0), len(X), 4, T)
    lift = space.basis / space.scale
    assert space.centre + space.means @ lift.T == pytest.approx(centres, abs=0.03)
    around = (X - space.centre) @ (space.basis * space.scale) - space.means[codes]
    sums = sums_of(around, codes, 3, True)
    found = cells(space, *space.cell_centres(1, rng), sums, whole(1.0, 3), T)
    for c in range(3):
        assert lift @ found.covariances[c] @ lift.T == pytest.approx(np.cov(X[codes == c].T), abs=0.02)
    assert class_cells(space).weights == pytest.approx(np.bincount(codes) / len(codes), abs=1e-6)


def test_directions_of_noise_are_not_kept() -> None:
    rng = np.random.default_rng(1)
    m, n = 60, 10_000
    top = np.zeros((m, m))
    top[0, 0] = 20.0
    S = (top + np.eye(m) * 0.1) * n
    noisy = Sums((S + goe(m, 0.05 * n, rng))[None], np.zeros((1, m)), np.array([n * 1.0]), 0.05 * n, 1.0, 1.0)
    space = subspace(noisy, whole(1.0), n, m, T)
    assert space.dimension <= 3
    assert abs(space.basis[0, 0]) > 0.95


def test_a_ball_holds_its_share_of_rows_and_says_what_it_takes() -> None:
    lengths = np.abs(np.random.default_rng(2).standard_normal(50_000)) + 1
    grid = length_grid(2.0)
    h = np.bincount(np.searchsorted(grid[:-1], lengths), minlength=len(grid))[None].astype(float)
    ball = radius(h, 1.0, grid, 0.7, len(lengths))
    assert 0.65 < (lengths <= ball.radii[0]).mean() < 0.9
    assert ball.kept[0] == pytest.approx(np.minimum(1, ball.radii[0] / lengths).mean(), rel=0.05)
    clipped = np.minimum(lengths, ball.radii[0])
    assert ball.kept_square[0] == pytest.approx((clipped**2).mean() / (lengths**2).mean(), rel=0.1)


def test_noise_in_far_bins_of_lengths_is_not_read_as_long_rows() -> None:
    """142 rows of nearly one length behind noise of 19 a bin: clipping at that length takes little from their squares."""
    rng = np.random.default_rng(6)
    grid = length_grid(4.0)
    h = np.zeros(len(grid))
    h[9:11] = 71.0
    kept = [radius((h + 19 * rng.standard_normal(len(h)))[None], 19.0, grid, 0.3, 142.0) for _ in range(40)]
    assert np.mean([ball.kept_square[0] for ball in kept]) > 0.75


def test_what_the_joint_round_knows_stays_where_classes_are_noise() -> None:
    rng = np.random.default_rng(7)
    codes, spread = rng.integers(0, 3, 30_000), np.array([1, 0.5, 0.3, 0.2])
    X = np.eye(4)[codes] + rng.standard_normal((30_000, 4)) * spread
    space = subspace(sums_of(X, codes, 3, False), whole(1.0), len(X), 4, T)
    noise, alike = 0.3 * len(X), []
    for _ in range(40):
        second = space.counts[:, None, None] * space.within + [goe(4, noise, rng) for _ in range(3)]
        sums = Sums(second, np.zeros((3, 4)), space.counts, noise, 1e-9, 1e-9)
        found = cells(space, *space.cell_centres(1, rng), sums, whole(1.0, 3), T).covariances
        alike += [np.linalg.norm(S - space.within) / np.linalg.norm(space.within) for S in found]
    alone = np.linalg.norm(goe(4, noise, rng)) / space.counts[0] / np.linalg.norm(space.within)
    assert np.median(alike) < alone / 2


def test_pure_noise_is_shrunk_to_the_prior_and_signal_is_kept() -> None:
    rng = np.random.default_rng(3)
    p, prior = 40, np.eye(40)
    noise = toward(prior, prior + goe(p, 0.1, rng), 0.1, T)
    assert np.linalg.norm(noise - prior) < 0.5 * np.linalg.norm(goe(p, 0.1, rng))
    strong = prior.copy()
    strong[0, 0] = 8.0
    kept = toward(prior, strong + goe(p, 0.1, rng), 0.1, T)
    assert kept[0, 0] == pytest.approx(8.0, rel=0.1)
    assert np.linalg.eigvalsh(kept).min() > 0
    alone = goe(p, 0.1, rng)
    assert np.linalg.norm(denoised(alone, 0.1)) < 0.35 * np.linalg.norm(alone)


def test_small_shrinkages() -> None:
    assert onto_simplex(np.array([5.0, -1.0, 2.0]), 6.0).sum() == pytest.approx(6.0)
    assert (onto_simplex(np.array([5.0, -1.0, 2.0]), 6.0) >= 0).all()
    assert signal_share(4.0, 1.0) == 0.75
    assert signal_share(0.5, 1.0) == 0.0
    assert shrunk_to_mean(np.array([1.0, 3.0]), 10.0) == pytest.approx([2.0, 2.0])
    assert shrunk_to_mean(np.array([1.0, 3.0]), 0.0) == pytest.approx([1.0, 3.0])
    assert pooled(np.full(25, 7.0), 10.0)[1] == pytest.approx(2.0)  # alike: the noise of the mean of 25
    half, left = pooled(np.array([-20.0, 20.0]), math.sqrt(200.0))  # half of the spread is noise
    assert half == pytest.approx([-10.0, 10.0])
    assert left == pytest.approx(math.sqrt(200.0 * (1 / 2 + 1 / 2 / 2)))
    assert pooled(np.array([-1e3, 1e3]), 10.0)[1] == pytest.approx(
        10.0, rel=1e-3
    )  # unlike: each keeps its own


def test_a_class_keeps_its_count_whichever_cells_noise_hides() -> None:
    """Cells of a rare class lie below their noise more often: dropping them must not shrink the class."""
    counts = np.array([4000.0, 400.0])
    cells = np.array([1500.0, 1000.0, 900.0, 600.0, 250.0, 90.0, 40.0, 20.0])
    sums = Sums(np.zeros((2, 1, 1)), np.zeros((8, 1)), cells, 1.0, 1.0, 60.0)
    weights = _cell_weights(sums, counts, 4, Tuning()).reshape(2, 4)
    assert np.allclose(weights.sum(axis=1), counts)
    assert (weights[1] > 0).tolist() == [True, False, False, False]
    hidden = Sums(np.zeros((2, 1, 1)), np.zeros((8, 1)), np.zeros(8), 1.0, 1.0, 60.0)
    assert np.allclose(_cell_weights(hidden, counts, 4, Tuning()).reshape(2, 4).sum(axis=1), counts)


def test_a_small_variance_of_the_prior_is_not_raised_to_the_noise() -> None:
    prior = np.diag([1.0, 1.0, 1.0, 0.01])
    assert toward(prior, prior, 0.1, T)[3, 3] == pytest.approx(0.01, rel=0.1)
