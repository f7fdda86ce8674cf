"""JTree and PriView: graphs, cliques and views, tables that agree, and rows and tables that keep what depends."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import ParameterError
from gnomon.methods.baseline.joint import Coded, JointCounts
from gnomon.methods.baseline.jtree import Pairs, cliques, junction_tree, merged, useful_pairs
from gnomon.methods.baseline.priview import LOW, ripple, views
from gnomon.methods.baseline.tables import consistent, drawn, fitted, projected
from gnomon.methods.charging import unaccounted
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.sensitivity import Norm
from gnomon.release.analyst.estimates import COUNTED
from gnomon.release.folder import write_release
from gnomon.statistics.frame import Binning
from gnomon.statistics.queries import NoisyMax
from gnomon.table.rows import Rows

RNG = np.random.default_rng(0)


# --- JTree: graph, cliques, tree ---


def test_a_cycle_is_triangulated_and_its_tree_keeps_what_is_shared_together() -> None:
    sizes = [2] * 6
    pairs = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]
    found = cliques(range(6), pairs, sizes)
    assert all(any({i, j} <= set(one) for one in found) for i, j in pairs)
    assert max(len(one) for one in found) == 3  # a cycle of four needs one chord
    assert (5,) in found
    assert not any(set(a) < set(b) for a, b in itertools.permutations(found, 2))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_shared_with_earlier_cliques_is_shared_with_the_parent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 12))
    sizes = rng.integers(2, 5, d).tolist()
    pairs = [pair for pair in itertools.combinations(range(d), 2) if rng.random() < 0.3]
    tree = junction_tree(cliques(range(d), pairs, sizes))
    for place, (one, parent) in enumerate(tree[1:], 1):
        assert parent is not None
        assert parent < place
        before = set().union(*(set(other) for other, _ in tree[:place]))
        assert set(one) & before <= set(tree[parent][0])
    sets = merged(tree, sizes)
    assert set().union(*sets) == set(range(d))
    assert all(any({i, j} <= set(one) for one in sets) for i, j in pairs)

    def noise(these: Any) -> int:
        return len(these) ** 2 * sum(math.prod(sizes[i] for i in one) for one in these)

    assert noise(sets) <= noise([one for one, _ in tree])
    # rows drawn along merged cliques still follow every one of them
    for place, one in enumerate(sets[1:], 1):
        before = set().union(*(set(other) for other in sets[:place]))
        assert any(set(one) & before <= set(other) for other in sets[:place])


def test_pairs_whose_cliques_grow_too_large_are_no_candidates() -> None:
    assert useful_pairs([], [2, 2, 9], 10) == [(0, 1)]
    assert useful_pairs([(0, 1), (1, 2)], [2, 2, 2], 4) == []  # the third side makes a clique of eight cells
    assert useful_pairs([(0, 1), (1, 2)], [2, 2, 2], 8) == [(0, 2)]


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_no_neighbour_moves_the_score_of_a_pair_or_of_none_farther_than_it_is_charged(n: int) -> None:
    attributes = (Coded(3, Binning((0, 1, 2), None)), Coded(2))
    rng, worst = np.random.default_rng(n), 0
    query = Pairs(JointCounts("pairs", attributes, ((0, 1),)), n)
    for _ in range(400):
        codes, y = rng.integers(0, 3, n), rng.integers(0, 2, n)
        if rng.random() < 0.5:
            codes = y.copy()
        other, label = codes.copy(), y.copy()
        other[0], label[0] = rng.integers(3), rng.integers(2)
        one, two = (
            query.finish(query.of_batch(Rows.of(np.eye(3)[a], b))) for a, b in ((codes, y), (other, label))
        )
        worst = max(worst, int(np.abs(one - two).max()))
    assert worst <= query.change
    assert NoisyMax(query, query.change, (0, 0)).noise(PureDP(1.0)).scale == pytest.approx(2 * query.change)
    assert query.finish(query.zero())[-1] == 0


# --- PriView: views ---


@pytest.mark.parametrize(
    ("d", "cover", "cells"), [(12, 2, 256), (9, 3, 64), (5, 1, 16), (2, 3, 256), (1, 2, 4)]
)
def test_views_hold_every_few_attributes_and_are_small(d: int, cover: int, cells: int) -> None:
    sizes = np.random.default_rng(d).integers(2, 5, d).tolist()
    found = views(sizes, cover, cells)
    for some in itertools.combinations(range(d), min(cover, d)):
        assert any(set(some) <= set(one) for one in found)
    assert all(math.prod(sizes[i] for i in one) <= cells for one in found)


def test_two_large_attributes_have_a_view_of_their_own() -> None:
    assert (0, 1) in views([40, 40, 2], 2, 256)


def test_a_view_costs_what_a_histogram_of_as_many_columns_costs() -> None:
    query = JointCounts("views", (Coded(2), Coded(3), Coded(4)), ((0, 1), (0, 2), (1, 2)))
    assert float(query.sensitivity(Norm.L1, PureDP(1.0)).value) == 6


def test_tables_agree_on_all_that_they_share_and_stay_where_they_agreed() -> None:
    sets = ((0, 1), (1, 2), (2, 0, 3))
    sizes = (2, 3, 4, 2)
    noisy = [RNG.normal(20, 5, [sizes[i] for i in one]) for one in sets]
    found = consistent(sets, noisy)
    for (a, one), (b, other) in itertools.combinations(zip(sets, found, strict=True), 2):
        common = tuple(set(a) & set(b))
        assert projected(one, a, common) == pytest.approx(projected(other, b, common))
    again = consistent(sets, found)
    assert all(np.allclose(x, y) for x, y in zip(found, again, strict=True))
    true = RNG.integers(0, 50, sizes).astype(float)
    exact = [projected(true, (0, 1, 2, 3), one) for one in sets]
    assert all(np.allclose(x, y) for x, y in zip(exact, consistent(sets, exact), strict=True))


def test_shared_tables_are_averaged_by_their_noise() -> None:
    """(0, 1) sums 2 cells to a count of attribute 0, (0, 2) sums 8: the first weighs four times as much."""
    found = consistent(((0, 1), (0, 2)), [np.full((1, 2), 5.0), np.full((1, 8), 2.5)])
    assert found[0].sum() == pytest.approx((4 * 10 + 20) / 5)


def test_a_ripple_keeps_the_sum_and_leaves_nothing_far_below_zero() -> None:
    table = RNG.normal(2, 6, (2, 3, 4))
    smoothed = ripple(table)
    assert smoothed.sum() == pytest.approx(table.sum())
    assert smoothed.min() >= -LOW
    assert ripple(np.array([[-4.0, 20.0], [20.0, 20.0]])).tolist() == [[0.0, 18.0], [18.0, 20.0]]
    assert ripple(np.full((2, 2), -3.0)).shape == (2, 2)  # ends although no count can give


def test_the_table_of_most_entropy_has_the_tables_that_are_known() -> None:
    true = RNG.integers(1, 50, (2, 3, 4)).astype(float)
    sets = ((0, 1), (1, 2))
    found = fitted((2, 3, 4), (0, 1, 2), sets, [true.sum(axis=2), true.sum(axis=0)])
    assert found.sum(axis=2) * true.sum() == pytest.approx(true.sum(axis=2))
    assert found.sum(axis=0) * true.sum() == pytest.approx(true.sum(axis=0))
    middle = true.sum(axis=(0, 2))
    apart = true.sum(axis=2)[:, :, None] * true.sum(axis=0)[None] / middle[None, :, None]
    assert found * true.sum() == pytest.approx(apart)  # independent given what both share


def test_rows_are_drawn_along_the_sets() -> None:
    P = RNG.dirichlet(np.ones(24)).reshape(2, 3, 4)
    sets, d, n = ((1, 0), (2, 0, 1)), 3, 200_000
    codes = drawn(sets, [P.sum(axis=2).T, P.transpose(2, 0, 1)], d, n, np.random.default_rng(1))
    shares = np.bincount(np.ravel_multi_index(codes.T, P.shape), minlength=24).reshape(P.shape) / n
    assert np.abs(shares - P).max() < 6 * np.sqrt(0.25 / n)


# --- whole releases ---


def table(n: int = 4000) -> tuple[pa.Table, gn.Schema]:
    rng = np.random.default_rng(1)
    ill = rng.random(n) < 0.3
    columns = {
        "age": np.where(ill, 70, 40) + rng.integers(-10, 10, n),
        "ward": np.where(rng.random(n) < 0.9, np.where(ill, "north", "south"), "east"),
        "smoker": pa.array([None if r < 0.1 else bool(r < 0.4) for r in rng.random(n)]),
        "ill": ill,
    }
    schema = gn.Schema(
        name="t",
        columns=(
            gn.Column(name="age", kind="number", low=0, high=100, integer=True),
            gn.Column(name="ward", kind="category", values=("north", "south", "east")),
            gn.Column(name="smoker", kind="boolean", missing="indicator"),
            gn.Column(name="ill", kind="boolean", role="target"),
        ),
    )
    return pa.table(columns), schema


@pytest.mark.parametrize(
    ("method", "given"),
    [
        (gn.baseline.JTree, {"epsilon": 8.0}),
        (gn.baseline.PriView, {"epsilon": 8.0, "delta": 0.0}),
        (gn.baseline.PriView, {"epsilon": 2.0, "delta": 1e-6}),
        (gn.baseline.PriView, {"epsilon": 4.0, "adjacency": "add-remove", "expected_rows": 3000}),
    ],
)
def test_rows_keep_what_depends_on_each_other(method: Any, given: dict[str, Any]) -> None:
    data, schema = table()
    fit = method(schema=schema, random_state=0, **given).fit(data, charge=unaccounted)
    rows = fit.sample(4000)
    ill = np.asarray(rows["ill"].to_numpy(zero_copy_only=False), dtype=bool)
    age = rows["age"].to_numpy()
    assert 0.2 < ill.mean() < 0.4
    assert age[ill].mean() - age[~ill].mean() > 20
    assert 0.05 < rows["smoker"].null_count / 4000 < 0.16
    assert fit.certificate_.holds
    assert 3700 < fit.n_rows_ < 4300


def test_the_budget_is_fixed_before_the_first_answer() -> None:
    data, schema = table()
    fit = gn.baseline.JTree(8.0, schema=schema, edges=3, beta=0.25).fit(data, charge=unaccounted)
    spent = [event.loss.epsilon for event in fit.events_]
    assert spent == pytest.approx([2 / 3, 2 / 3, 2 / 3, 6.0])
    assert gn.baseline.JTree(8.0, schema=schema)._guarantee(4000).delta == 0


def test_independent_attributes_get_no_edge() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, (20_000, 4))
    fit = gn.baseline.JTree(4.0, bounds=(0, 1), bins=4, random_state=0).fit(X, charge=unaccounted)
    assert fit.edges_ == []


def test_priview_answers_tables_that_no_view_holds() -> None:
    rng = np.random.default_rng(6)
    first = rng.integers(0, 2, 20_000)
    cells = {f"c{j}": np.where(rng.random(20_000) < 0.9, first, 1 - first).astype(bool) for j in range(12)}
    schema = gn.Schema(name="t", columns=tuple(gn.Column(name=name, kind="boolean") for name in cells))
    fit = gn.baseline.PriView(4.0, 0.0, schema=schema, cells=16).fit(pa.table(cells), charge=unaccounted)
    asked = ["c11", "c0", "c5", "c7", "c3", "c9"]
    counts = fit.marginal(asked)
    true = np.zeros((2,) * 6)
    np.add.at(true, tuple(np.asarray(cells[name]).astype(int) for name in asked), 1)
    assert counts.sum() == pytest.approx(20_000)
    assert np.abs(counts - true).sum() / 40_000 < 0.15
    assert np.abs(20_000 / 64 - true).sum() / 40_000 > 0.4  # what equal shares would miss


@pytest.mark.parametrize("method", [gn.baseline.JTree, gn.baseline.PriView, gn.baseline.PrivBayes])
def test_whoever_receives_the_folder_asks_for_what_was_counted(method: Any, tmp_path: Path) -> None:
    data, schema = table()
    write_release(method(8.0, 0.0, schema=schema).fit(data, charge=unaccounted), tmp_path / "out")
    opened = gn.open_release(tmp_path / "out")  # which replays it
    for name, values in (("ward", ("north", "south", "east")), ("ill", (False, True))):
        counts = opened.marginal(name).counts
        true = [int(np.sum(np.asarray(data[name]) == value)) for value in values]
        assert counts.about == COUNTED
        assert 0 < max(counts.standard_error) < 60
        assert np.all(np.abs(counts.value - true) < 7 * counts.standard_error)


@pytest.mark.parametrize(
    ("method", "given", "words"),
    [
        (gn.baseline.JTree, {"edges": 0}, "'edges' parameter of JTree must be an integer from 1"),
        (gn.baseline.JTree, {"phi": 1.5}, "'phi' parameter of JTree must be from 0.01"),
        (gn.baseline.JTree, {"beta": 0.0}, "'beta' parameter of JTree"),
        (gn.baseline.JTree, {"theta": -1.0}, "'theta' parameter of JTree"),
        (gn.baseline.JTree, {"adjacency": "add-remove"}, "adjacency='replace-one'"),
        (gn.baseline.PriView, {"cover": 4}, "'cover' parameter of PriView must be an integer from 1 to 3"),
        (gn.baseline.PriView, {"cells": 1}, "'cells' parameter of PriView must be an integer from 2"),
        (gn.baseline.PriView, {"bins": 0}, "'bins' parameter of PriView"),
        (gn.baseline.PriView, {"calibration": "paper"}, "use calibration='sound'"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(method: Any, given: dict[str, Any], words: str) -> None:
    data, schema = table(50)
    with pytest.raises(ParameterError, match=words):
        method(1.0, schema=schema, **given).fit(data, charge=unaccounted)


def test_a_table_that_cannot_be_is_refused() -> None:
    data, schema = table(200)
    fit = gn.baseline.PriView(1.0, schema=schema).fit(data, charge=unaccounted)
    with pytest.raises(ParameterError, match="no column 'wards'; it has age, ward, smoker, ill"):
        fit.marginal(["wards"])
    with pytest.raises(ParameterError, match="different columns"):
        fit.marginal(["ward", "ward"])
