"""PrivBayes: joint counts, the score of an edge and its sensitivity, and rows that keep what the network keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import ParameterError
from gnomon.methods.baseline import joint
from gnomon.methods.baseline.joint import FINE, Coded, Dependence, JointCounts
from gnomon.methods.baseline.privbayes import edges
from gnomon.methods.baseline.tables import conditional, drawn
from gnomon.methods.charging import unaccounted
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.sensitivity import Norm
from gnomon.statistics.frame import Binning
from gnomon.table.rows import Rows

CATEGORY = Coded(3, Binning((0, 1, 2), None))
CLASS = Coded(2)


def rows(codes: np.ndarray, y: np.ndarray) -> Rows:
    return Rows.of(np.eye(3)[codes], y)


def score(codes: np.ndarray, y: np.ndarray) -> int:
    counts = JointCounts("edge", (CATEGORY, CLASS), ((0, 1),))
    query = Dependence(counts, len(codes))
    return int(query.finish(query.of_batch(rows(codes, y)))[0])


def test_joint_counts_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    query = JointCounts("both", (CATEGORY, CLASS), ((0, 1), (1,)))
    both, alone = query.split(query.of_batch(rows(codes, y)))
    assert both.tolist() == [[int(np.sum((codes == a) & (y == b))) for b in (0, 1)] for a in range(3)]
    assert alone.tolist() == np.bincount(y).tolist()
    assert float(query.sensitivity(Norm.L1, PureDP(1.0)).value) == 4


def test_many_pairs_are_counted_at_once_and_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "CHUNK", 7)
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, (50, 3)), rng.integers(0, 2, 50)
    bins = [Coded(4, Binning((j,), joint.even_ends(4))) for j in range(3)]
    pairs = ((0, 1), (2, 0), (1, 2), (0, 3), (3, 1), (2, 3))
    found = JointCounts("pairs", (*bins, CLASS), pairs).of_batch(Rows.of(X, y))
    each = [JointCounts("pair", (*bins, CLASS), (pair,)).of_batch(Rows.of(X, y)) for pair in pairs]
    assert found.tolist() == np.concatenate(each).tolist()


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 300])
def test_tables_counted_by_bits_are_those_counted_by_places(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(n)
    X, y = rng.uniform(-1, 1, (n, 3)), rng.integers(0, 2, n)
    bins = [Coded(4, Binning((j,), joint.even_ends(4))) for j in range(3)]
    query = JointCounts("tables", (*bins, CLASS), ((0,), (2, 0, 1), (3, 1), (0, 3, 2, 1)))
    found = query.of_batch(Rows.of(X, y))
    monkeypatch.setattr(joint, "MOST_BITS", 0)
    assert found.tolist() == query.of_batch(Rows.of(X, y)).tolist()


def test_the_score_is_the_distance_from_independence() -> None:
    y = np.arange(400) % 2
    assert score(y.copy(), y) / FINE == pytest.approx(400)  # 2 n R with R = 1/2
    assert score(np.arange(400) // 200, y) == 0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 60])
def test_no_neighbour_moves_a_score_farther_than_it_is_charged(n: int) -> None:
    """An adversary over tables and records, by random restarts and steps; and the stated worst pair."""
    rng, worst = np.random.default_rng(n), 0
    change = Dependence(JointCounts("edge", (CATEGORY, CLASS), ((0, 1),)), n).change
    for _ in range(60):
        codes, y = rng.integers(0, 3, n), rng.integers(0, 2, n)
        for _ in range(25):
            other, label, here = codes.copy(), y.copy(), codes.copy()
            other[0], label[0] = rng.integers(3), rng.integers(2)
            worst = max(worst, abs(score(codes, y) - score(other, label)))
            if n > 1:
                here[rng.integers(1, n)] = rng.integers(3)
                codes = here
    assert worst <= change


@pytest.mark.parametrize(("n", "c"), [(200, 15), (1000, 50), (4000, 80)])
def test_the_stated_worst_pair_almost_attains_the_charge(n: int, c: int) -> None:
    counts = np.array([[1, 0, 0], [0, 1, c], [0, c, n - 2 * c - 2]])
    moved = counts.copy()
    moved[1, 1], moved[0, 0] = 0, 2
    query = Dependence(JointCounts("edge", (CATEGORY, Coded(3)), ((0, 1),)), n)
    change = abs(int(query.finish(counts.ravel())[0]) - int(query.finish(moved.ravel())[0]))
    assert 0.9 * query.change <= change <= query.change


def test_candidates_are_useful_and_never_empty() -> None:
    attributes = (CATEGORY, CLASS, Coded(10), Coded(2))
    assert set(edges(attributes, [0, 1], 30, 2)) == {(2, 0), (2, 1), (3, 0, 1)}
    assert edges(attributes, [0, 1], 1, 2) == [(2,), (3,)]


def test_tables_become_distributions_and_rows_follow_them() -> None:
    table = conditional(np.array([[30, 10], [-4, 0]]), 1)  # parent by x
    assert table[0] == pytest.approx([0.75, 0.25])
    assert table[1] == pytest.approx([0.75, 0.25])  # nothing is left of this parent: the margin
    codes = drawn(((0,), (1, 0)), [np.array([3.0, 7.0]), np.eye(2)], 2, 20_000, np.random.default_rng(0))
    assert np.array_equal(codes[:, 0], codes[:, 1])
    assert codes[:, 0].mean() == pytest.approx(0.7, abs=0.02)


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


def test_rows_keep_what_depends_on_each_other() -> None:
    data, schema = table()
    method = gn.baseline.PrivBayes(8.0, schema=schema, random_state=0).fit(data, charge=unaccounted)
    drawn = method.sample(4000)
    ill = np.asarray(drawn["ill"].to_numpy(zero_copy_only=False), dtype=bool)
    age = drawn["age"].to_numpy()
    assert 0.2 < ill.mean() < 0.4
    assert age[ill].mean() - age[~ill].mean() > 20
    assert 0.05 < drawn["smoker"].null_count / 4000 < 0.16
    assert method.certificate_.holds
    spent = [event.loss.epsilon for event in method.events_]
    assert spent == pytest.approx([0.8, 0.8, 0.8, 5.6])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"degree": 0}, "'degree' parameter of PrivBayes must be an integer from 1"),
        ({"bins": 1000}, "'bins' parameter of PrivBayes"),
        ({"beta": 0.0}, "'beta' parameter of PrivBayes"),
        ({"theta": -1.0}, "'theta' parameter of PrivBayes"),
        ({"calibration": "paper"}, "use calibration='sound'"),
        ({"adjacency": "add-remove"}, "adjacency='replace-one'"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(given: dict[str, Any], words: str) -> None:
    data, schema = table(50)
    with pytest.raises(ParameterError, match=words):
        gn.baseline.PrivBayes(1.0, schema=schema, **given).fit(data, charge=unaccounted)
