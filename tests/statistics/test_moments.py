"""Moment matrices are exact integers: the same to the bit for every batch size and row order."""

import numpy as np
import pytest

from gnomon.projection.orthonormal import haar
from gnomon.release.map import PublicMap
from gnomon.statistics.grid import GRID
from gnomon.statistics.moments import BLOCK, Moments, ball

LAM = GRID // 2


def rows(n: int, m: int, seed: int = 0) -> np.ndarray:
    X = np.random.default_rng(seed).uniform(-1, 1, (n, m))
    X[::7] *= 1e-300
    X[1::11] = np.sign(X[1::11])
    return np.asfortranarray(X)


def chart(m: int, kind: str) -> PublicMap:
    W = haar(m, max(1, m // 2), np.random.default_rng(1))
    if kind == "identity":
        return PublicMap.identity(m, radius=0.7 * m**0.5)
    if kind == "normalised":
        return PublicMap.identity(m, radius=1.0, normalise=True)
    if kind == "projected":
        return PublicMap.identity(m, radius=1.0, normalise=True).project(W, radius=0.8)
    start = PublicMap(np.linspace(-0.5, 0.5, m), np.linspace(0.1, 9, m), False, None, np.zeros(m), 1.0)
    return start.project(W, radius=3.0).zoom(np.full(W.shape[1], 0.1), 2.0)


def python_moments(Q: np.ndarray) -> list[list[int]]:
    whole = [[int(v) for v in row] for row in Q]
    q = len(whole[0])
    return [[sum(r[i] * r[j] for r in whole) for j in range(q)] for i in range(q)]


@pytest.mark.parametrize("kind", ["identity", "normalised", "projected", "zoomed"])
@pytest.mark.parametrize("m", [2, 9, 33])
def test_same_to_the_bit_for_any_batch_and_order(kind: str, m: int) -> None:
    X, f = rows(257, m), chart(m, kind)
    codes = np.random.default_rng(2).integers(0, 3, len(X))
    whole = Moments.of_batch(f.integers(X, LAM), codes, 3)
    for size in (1, 2, 5, 64, 200):
        parts = Moments.zero(f.n_components + 1, 3)
        for start in range(0, len(X), size):
            piece = np.asfortranarray(X[start : start + size])
            parts = parts + Moments.of_batch(f.integers(piece, LAM), codes[start : start + size], 3)
        assert np.array_equal(parts.matrix, whole.matrix)
        assert parts.rows == whole.rows
    order = np.random.default_rng(3).permutation(len(X))
    shuffled = Moments.of_batch(f.integers(np.ascontiguousarray(X[order]), LAM), codes[order], 3)
    assert np.array_equal(shuffled.matrix, whole.matrix)


def test_equal_to_python_integers() -> None:
    Q = chart(6, "projected").integers(rows(60, 6), LAM)
    assert Moments.of_batch(Q).matrix[0].tolist() == python_moments(Q)


def test_every_row_is_inside_the_declared_ball() -> None:
    for kind in ("identity", "normalised", "projected", "zoomed"):
        Q = chart(9, kind).integers(rows(500, 9), LAM)
        assert max(sum(int(v) ** 2 for v in row) for row in Q) <= ball(LAM)


def test_partial_sums_stay_below_two_to_the_53() -> None:
    assert BLOCK * ball(GRID) <= 2**53


def test_a_coordinate_beside_the_row_is_bounded() -> None:
    beside = np.array([-9.0, 0.5, 1.0])
    Q = PublicMap.identity(2, radius=2**0.5).integers(np.ones((3, 2)), LAM, beside, 100)
    assert Q[:, 2].tolist() == [-100, 50, 100]
    assert Q[:, 3].tolist() == [LAM] * 3
