"""Frames: integers that stay in their ball, whatever a row holds, and depend on that row alone."""

from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.projection.orthonormal import haar
from gnomon.statistics.frame import SCORE, Binning, BinTables, Frame, ScoreMap, ScoreTables, projected_length
from gnomon.statistics.grid import GRID
from gnomon.table.rows import CELL, Rows

KINDS = ["identity", "normalised", "projected", "zoomed", "classes", "cells", "scored"]


def rows(n: int, m: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, m))
    X[::7] *= 1e-9
    X[1::11] = np.sign(X[1::11])
    return Rows.of(np.asfortranarray(X), rng.integers(0, 3, n))


def frame(m: int, kind: str) -> Frame:
    p = max(1, m // 2)
    W = haar(m, p, np.random.default_rng(1))
    if kind == "identity":
        return Frame.identity(m, radius=0.7 * m**0.5)
    if kind == "normalised":
        return Frame.identity(m, radius=1.0, normalise=True)
    if kind == "projected":
        return Frame.identity(m, radius=1.0, normalise=True).project(W, radius=0.8)
    start = Frame(np.linspace(-0.5, 0.5, m), np.linspace(0.1, 9, m), np.zeros((1, m)), np.ones(1))
    if kind == "zoomed":
        return start.project(W, radius=3.0).zoom(np.full(p, 0.1), 2.0)
    if kind == "scored":
        ends = np.array([-CELL // 2, 0, CELL])
        table = ScoreMap(ends, np.array([-3, -1, 0]) * SCORE, np.array([-2, 0, 3]) * SCORE)
        scores = tuple(table if j % 2 else None for j in range(m))
        return Frame(start.centre, start.weight, np.zeros((1, m)), np.full(1, 2.0), scores=scores)
    centres = np.random.default_rng(2).uniform(-2, 2, (3 if kind == "classes" else 12, p))
    return start.project(W, radius=3.0).zoom(centres, np.linspace(0.5, 3, len(centres)), classes=3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("m", [1, 2, 9, 33])
def test_no_integer_row_leaves_the_ball(kind: str, m: int) -> None:
    Q, _ = frame(m, kind).integers(rows(500, m))
    assert np.array_equal(Q, np.rint(Q))
    assert max(sum(int(v) ** 2 for v in row) for row in Q) <= GRID**2


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_is_the_same_in_every_batch_order_and_place(kind: str) -> None:
    all_rows, f = rows(257, 9), frame(9, kind)
    whole, blocks = f.integers(all_rows)
    for size in (1, 5, 200):
        parts = [f.integers(all_rows.take(np.arange(s, min(s + size, 257)))) for s in range(0, 257, size)]
        assert np.array_equal(np.concatenate([Q for Q, _ in parts]), whole)
        if blocks is not None:
            assert np.array_equal(np.concatenate([b for _, b in parts]), blocks)
    order = np.random.default_rng(3).permutation(257)
    shuffled, _ = f.integers(all_rows.take(order))
    assert np.array_equal(shuffled, whole[order])


def test_components_follow_the_formula() -> None:
    f = frame(8, "zoomed")
    some = rows(40, 8)
    assert f.projection is not None
    expected = (((some.X - f.centre) * f.weight) @ f.projection - f.offset) / f.radius
    assert np.allclose(f.components(some), expected, atol=1e-5)


def test_lift_is_a_right_inverse() -> None:
    W = haar(8, 3, np.random.default_rng(0))
    f = Frame(np.full(8, 0.1), np.full(8, 2.0), np.full((1, 3), 0.2), np.array([1.7]), projection=W)
    C = np.random.default_rng(1).uniform(-0.3, 0.3, (40, 3))
    assert np.allclose(f.components(Rows.of(f.lift(C))), C, atol=1e-5)


def test_normalised_rows_forget_their_length() -> None:
    f = Frame.identity(8, radius=1.0, normalise=True).project(
        haar(8, 3, np.random.default_rng(0)), radius=0.9
    )
    X = np.random.default_rng(3).uniform(-0.1, 0.1, (20, 8))
    assert np.allclose(f.components(Rows.of(X)), f.components(Rows.of(X * 7)), atol=1e-4)
    assert np.allclose(f.components(Rows.of(np.zeros((1, 8)))), 0)


def test_blocks_are_classes_and_the_nearest_of_their_cells() -> None:
    f, some = frame(9, "cells"), rows(300, 9)
    _, found = f.integers(some)
    assert f.projection is not None
    Y = ((some.X - f.centre) * f.weight) @ f.projection
    assert some.codes is not None
    for y, c, block in zip(Y, some.codes, np.asarray(found), strict=True):
        own = f.offset[4 * c : 4 * c + 4]
        assert block == 4 * c + np.argmin(((own - y) ** 2).sum(axis=1))


def test_squared_lengths_are_those_before_clipping() -> None:
    f, some = frame(9, "classes"), rows(100, 9)
    squares, unit, _ = f.squared_lengths(some)
    assert np.allclose(squares / unit, (f.components(some) ** 2).sum(axis=1))
    assert (squares > unit).any()  # some rows are longer than their ball


@given(st.lists(st.integers(-CELL, CELL), min_size=1, max_size=50), st.integers(0, 10))
@settings(max_examples=60, deadline=None)
def test_a_score_map_is_monotone_and_keeps_to_its_ends(cells: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.append(np.unique(rng.integers(-CELL, CELL, 6)), CELL)
    knots = np.sort(rng.integers(-3 * SCORE, 3 * SCORE, 2 * len(ends)))
    table = ScoreMap(ends, knots[::2], knots[1::2])
    values = np.sort(np.array(cells, dtype=np.int32))
    tables = ScoreTables([table, table])
    scores = tables.of(np.stack([values, values]))[1] * SCORE
    assert (np.diff(scores) >= 0).all()
    assert (np.abs(scores) <= table.largest * SCORE).all()
    at_ends = tables.of(np.stack([ends, ends]).astype(np.int32))[1][1:] * SCORE
    expected = np.where(np.diff(ends) == 1, table.low[1:], table.high[1:])
    assert ((expected - 1 < at_ends) & (at_ends <= expected)).all()


@given(st.lists(st.integers(-CELL, CELL), min_size=1, max_size=50), st.integers(0, 10))
@settings(max_examples=60, deadline=None)
def test_scores_are_exact_and_within_a_step_of_the_line_through_their_bin(
    cells: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    ends = np.append(np.unique(rng.integers(-CELL, CELL, 6)), CELL)
    knots = np.sort(rng.integers(-7 * SCORE, 7 * SCORE, 2 * len(ends)))
    table = ScoreMap(ends, knots[::2], knots[1::2])
    for buckets in (2**20, 2**6):  # of 2^19 and of 2^25 cells
        with mock.patch("gnomon.statistics.frame.BUCKETS", buckets):
            found = ScoreTables([table]).of(np.array([cells], dtype=np.int32))[0]
        for cell, score in zip(cells, found.tolist(), strict=True):
            k = next(i for i, end in enumerate(ends.tolist()) if cell <= end)
            first = -CELL if k == 0 else int(ends[k - 1]) + 1
            steps = max(int(ends[k]) - first, 1)
            line = Fraction(int(table.low[k])) + Fraction(
                (cell - first) * int(table.high[k] - table.low[k]), steps
            )
            assert -1 < Fraction(score) * SCORE - line <= 0


@pytest.mark.parametrize("columns", [1, 3, 700])
def test_bins_by_tables_are_those_of_a_search(columns: int) -> None:
    rng = np.random.default_rng(columns)
    ends = [np.append(np.unique(rng.integers(-CELL, CELL, 9) >> 18), CELL) for _ in range(columns)]
    cells = (rng.integers(-CELL, CELL + 1, (columns, 500)) >> rng.integers(0, 20, (columns, 1))).astype(
        np.int32
    )
    cells[:, :4] = [-CELL, CELL, 0, -1]
    tables, bins = BinTables(ends), np.cumsum([0, *map(len, ends)])
    expected = [np.searchsorted(one[:-1], some) for one, some in zip(ends, cells, strict=True)]
    assert np.array_equal(tables.of(cells), np.stack(expected) + bins[:-1, None])
    last = np.stack(expected[-1:])
    assert np.array_equal(tables.of(cells[-1:], columns - 1), last)


def test_every_row_has_one_bin_and_an_atom_has_its_own() -> None:
    cells = np.array([-CELL, -5, 4, 5, 6, CELL], dtype=np.int32)[:, None]
    numbers = Binning((0,), np.array([-1, 4, 5, CELL]))
    assert numbers.of(Rows(cells)).tolist() == [0, 0, 1, 2, 3, 3]
    assert numbers.bins == 4
    one_hot = np.array([[CELL, 0, 0], [0, CELL, 0], [0, 0, CELL]], dtype=np.int32)
    category = Binning((0, 1), None, 2)
    assert category.of(Rows(one_hot)).tolist() == [0, 1, 2]
    assert category.bins == 3


def test_projected_length_holds_nearly_all_rows() -> None:
    rng = np.random.default_rng(4)
    lengths = np.array([np.linalg.norm(haar(40, 6, rng)[0]) for _ in range(3000)])
    assert (lengths <= projected_length(6, 40)).mean() > 0.93
