"""Queries: the same integers for every partition, order and engine, and no more moved than the sensitivity allows."""

import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.engine.local import LOCAL
from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import Adjacency, GaussianDP, PureDP, Spendable, Unit
from gnomon.privacy.mechanism import vector_norm
from gnomon.privacy.sensitivity import Norm
from gnomon.projection.orthonormal import haar
from gnomon.statistics.frame import Binning, Frame
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import (
    BLOCK,
    CellMoments,
    ClassHistogram,
    Count,
    Histogram,
    Lengths,
    Location,
    Moments,
    Query,
    RowSum,
    TargetAsColumn,
    VectorQuery,
)
from gnomon.table.rows import CELL, Loaded, Rows
from gnomon.table.target import Target

M, CLASSES = 6, Target("y", 3)
W = haar(M, 3, np.random.default_rng(1))
CENTRES = np.random.default_rng(2).uniform(-1, 1, (6, 3))
FRAME = Frame.identity(M, radius=1.5)
PROJECTED = FRAME.project(W, radius=1.2)
CELLS = PROJECTED.zoom(CENTRES, np.linspace(0.4, 1.4, 6), classes=3)
NUMBER = Binning((0,), np.array([-CELL // 2, -1, 0, CELL]))
QUERIES: dict[str, Query] = {
    "count": Count("count"),
    "histogram": Histogram("histogram", (NUMBER, Binning((1, 2, 3)), Binning((4,), np.array([0, CELL]), 5))),
    "histogram by class": Histogram("by class", (NUMBER, NUMBER), CLASSES, by_class=True),
    "lengths": Lengths("lengths", PROJECTED, (0.3, 0.6, 1.0, 2.0)),
    "lengths by cell": Lengths("lengths by cell", CELLS, (0.3, 0.6, 1.0, 2.0)),
    "row sum": RowSum("row sum", FRAME),
    "row sum by class": RowSum("by class", PROJECTED, 2**15, CLASSES, by_class=True),
    "row sum by cell": RowSum("by cell", CELLS, 2**15),
    "location": Location("location", PROJECTED, constant=2**15),
    "moments": Moments("moments", FRAME),
    "moments by class": Moments("by class", PROJECTED, CLASSES, constant=2**15, by_class=True),
    "moments by cell": Moments("by cell", CELLS, constant=2**15),
    "moments with label": Moments("with label", FRAME, CLASSES, 2**15, 2**14),
    "moments with number": Moments("with number", FRAME, Target("y"), 2**15, 2**14),
    "counts by class": ClassHistogram(
        "own bins", ((NUMBER, Binning((1, 2, 3))), (Binning((4,), np.array([0, CELL])), NUMBER))
    ),
    "cell moments": CellMoments("cell moments", CELLS, 2**15),
    "number as column": TargetAsColumn(
        Moments("as column", Frame.identity(M + 1, radius=1.5), CLASSES, 2**15),
        np.array([-CELL // 2, CELL // 3, CELL]),
    ),
}
MU_ONLY = {"cell moments"}


def table(n: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, M))
    X[::5] = np.sign(X[::5])
    return Rows.of(np.asfortranarray(X), rng.integers(0, 3, n), rng.uniform(-1, 1, n))


class Parts:
    """A table in any partition and order."""

    def __init__(self, rows: Rows, cuts: list[int], seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(rows))
        self._parts = [rows.take(part) for part in np.split(order, sorted(c % len(rows) for c in cuts))]

    def parts(self) -> Iterator[Loaded]:
        for part in self._parts:
            yield Loaded(part, len(part))


@pytest.mark.parametrize("name", QUERIES)
@given(st.lists(st.integers(0, 10**6), max_size=12), st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_every_partition_and_order_folds_to_the_same_integers(name: str, cuts: list[int], seed: int) -> None:
    query, rows = QUERIES[name], table(120)
    folded = LOCAL.fold(Parts(rows, cuts, seed), query, stage="")
    assert np.array_equal(folded, query.of_batch(rows))
    assert folded.dtype == np.int64


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_survives_a_pickle(name: str) -> None:
    query, rows = QUERIES[name], table(50)
    again = pickle.loads(pickle.dumps(query))
    assert np.array_equal(again.of_batch(rows), query.of_batch(rows))
    assert np.array_equal(query.of_batch(rows.take(np.arange(0))), query.zero())


@pytest.mark.parametrize("name", QUERIES)
def test_no_query_evaluates_a_transcendental_function(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their last bits differ between processors, and a fold must not: score maps travel as integer tables."""
    query, rows = QUERIES[name], table(50)
    expected = query.of_batch(rows)
    for function in (
        "exp",
        "expm1",
        "log",
        "log1p",
        "log2",
        "sin",
        "cos",
        "tan",
        "tanh",
        "arctan2",
        "power",
        "cbrt",
    ):
        monkeypatch.setattr(np, function, None)
    assert np.array_equal(query.of_batch(rows), expected)


def test_moments_equal_python_integers() -> None:
    query, rows = QUERIES["moments by class"], table(60)
    assert isinstance(query, Moments)
    Q, _ = query.frame.integers(rows)
    whole = [[int(v) for v in row] + [query.constant] for row in Q]
    q = len(whole[0])
    found = query.of_batch(rows)
    assert rows.codes is not None
    for c in range(3):
        mine = [row for row, code in zip(whole, rows.codes, strict=True) if code == c]
        assert found[c].tolist() == [[sum(r[i] * r[j] for r in mine) for j in range(q)] for i in range(q)]


def test_partial_sums_stay_below_two_to_the_53() -> None:
    assert BLOCK * 2 * GRID**2 <= 2**53


def test_histograms_count_every_row_once_an_attribute() -> None:
    query, rows = QUERIES["histogram by class"], table(200)
    assert isinstance(query, Histogram)
    assert rows.codes is not None
    for counts in query.split(query.of_batch(rows)):
        assert counts.sum(axis=1).tolist() == np.bincount(rows.codes, minlength=3).tolist()


LOSSES = [
    PureDP(1.0),
    GaussianDP(1.0),
    PureDP(1.0, Unit.ROW, Adjacency.ADD_REMOVE),
    GaussianDP(1.0, Unit.ROW, Adjacency.ADD_REMOVE),
    PureDP(1.0, Unit.PERSON, Adjacency.ADD_REMOVE, 3),
    GaussianDP(1.0, Unit.PERSON, Adjacency.ADD_REMOVE, 3),
]
ENDS = (-1.0, 0.0, 1.0)


def extreme_rows(n: int, rng: np.random.Generator) -> Rows:
    """Corners, single columns and the directions of the frame, where changes are largest."""
    X = rng.choice(ENDS, (n, M))
    X[2::6] *= rng.uniform(0, 0.5, (len(X[2::6]), 1))
    X[::3] = np.sign(rng.standard_normal((len(X[::3]), 3)) @ W.T)
    X[1::3] = np.eye(M)[rng.integers(0, M, len(X[1::3]))] * rng.choice([-1, 1], (len(X[1::3]), 1))
    return Rows.of(X, rng.integers(0, 3, n), rng.choice([-1.0, 1.0], n))


def change(query: Query, loss: Spendable, rng: np.random.Generator) -> np.ndarray:
    """How a neighbouring table moves the sum: one row replaced, or up to k equal rows added."""
    first, second = (extreme_rows(9, rng).take(rng.integers(0, 9, 1)) for _ in range(2))
    if loss.adjacency is Adjacency.REPLACE_ONE:
        return query.of_batch(second) - query.of_batch(first)
    return loss.rows * query.of_batch(first)


@pytest.mark.parametrize(
    "loss", LOSSES, ids=lambda loss: f"{type(loss).__name__} {loss.unit.value} {loss.adjacency.value}"
)
@pytest.mark.parametrize("name", QUERIES)
def test_no_neighbour_moves_a_sum_beyond_its_sensitivity(name: str, loss: Spendable) -> None:
    query, rng = QUERIES[name], np.random.default_rng(5)
    if name == "count" and loss.adjacency is Adjacency.REPLACE_ONE:
        return  # a replaced row leaves the count as it is
    if name in MU_ONLY and isinstance(loss, PureDP):
        with pytest.raises(ParameterError, match="mechanism"):
            query.noise(loss)
        return
    noise = query.noise(loss)
    assert noise.sensitivity.neighbours == loss.neighbours
    weights = np.ones(1) if noise.weights is None else np.array(noise.weights)
    largest = max(size(change(query, loss, rng) / weights, noise.sensitivity.norm) for _ in range(400))
    assert largest <= float(noise.sensitivity.value) * (1 + 1e-12)
    assert largest >= 0.5 * float(noise.sensitivity.value)  # the search comes near


def size(moved: np.ndarray, norm: Norm) -> float:
    moved = moved.astype(np.float64)
    if norm is Norm.NUCLEAR:
        return float(np.abs(np.linalg.eigvalsh(moved)).sum())
    if norm is Norm.FROBENIUS or norm is Norm.L2:
        return float(np.sqrt(np.square(moved).sum()))
    if moved.ndim == 3 and moved.shape[1] == moved.shape[2]:
        return float(np.abs(moved[:, *np.triu_indices(moved.shape[1])]).sum())
    return float(np.abs(moved).sum())


@pytest.mark.parametrize("name", [name for name, query in QUERIES.items() if isinstance(query, VectorQuery)])
def test_noise_is_known_before_it_is_paid(name: str) -> None:
    query = QUERIES[name]
    assert isinstance(query, VectorQuery)
    for loss in LOSSES:
        sensitivity = query.sensitivity(vector_norm(loss), loss)
        assert query.noise(loss).scale == pytest.approx(float(sensitivity.value), rel=1e-12)


def test_cell_moments_attain_their_sensitivity_at_two_classes() -> None:
    query = CellMoments("cells", FRAME.zoom(np.zeros((4, M)), np.full(4, 0.5), classes=2), 2**15)
    X = np.ones((2, M))
    one, two = (Rows.of(X[:1], np.array([c])) for c in (0, 1))
    noise = query.noise(GaussianDP(1.0))
    moved = (query.of_batch(one) - query.of_batch(two)) / np.array(noise.weights)
    assert 0.999 < np.linalg.norm(moved) / float(noise.sensitivity.value) <= 1


def test_cell_moments_hold_class_moments_and_cell_sums() -> None:
    query, rows = QUERIES["cell moments"], table(90)
    assert isinstance(query, CellMoments)
    Q, cell = query.frame.integers(rows)
    assert cell is not None
    second, first, counts = query.split(query.of_batch(rows))
    unit = query.frame.unit
    for c in range(3):
        mine = Q[cell // 2 == c]
        assert second[c] == pytest.approx(mine.T @ mine / unit**2)
    for b in range(6):
        assert first[b] == pytest.approx(Q[cell == b].sum(axis=0) / unit)
    assert counts.tolist() == np.bincount(cell, minlength=6).tolist()
