"""The exponential mechanism over a public net of databases."""

import numpy as np
import pytest

from gnomon.baseline import ExponentialMechanism
from gnomon.errors import ParameterError
from gnomon.methods import METHODS
from gnomon.methods.baseline.exponential import BestDatabase
from gnomon.methods.baseline.net import Net, Queries
from gnomon.methods.public import Public
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.table.encode import Encoder
from gnomon.table.rows import Rows
from gnomon.table.schema import Column, Schema


def clusters(n: int = 3000, m: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return np.clip(0.6 * np.outer(2 * y - 1, np.ones(m)) + 0.2 * rng.standard_normal((n, m)), -1, 1), y


def fitted(X: np.ndarray, y: np.ndarray | None = None, **parameters: object) -> ExponentialMechanism:
    settings = {"epsilon": 2.0, "bounds": (-1.0, 1.0), "random_state": 3, "candidates": 500, **parameters}
    if y is not None and settings.get("task") != "regression":
        settings.setdefault("classes", sorted(set(y.tolist())))
    return ExponentialMechanism(**settings).fit(X, y)


def public(m: int = 4, classes: list[int] | None = None) -> Public:
    schema = Schema.of_arrays(m, (-1.0, 1.0), classes=classes)
    return Public(schema, Encoder(schema), 10, 10, PureDP(1.0), 0)


def test_the_chosen_database_resembles_the_table() -> None:
    X, y = clusters()
    with fixed_noise(1):
        method = fitted(X, y)
    Xs, ys = method.sample(500)
    for c in range(2):
        assert np.sign(Xs[ys == c].mean(axis=0)).tolist() == [2 * c - 1] * 3
    assert len(np.unique(Xs, axis=0)) <= 100
    assert method.guarantee_ == PureDP(2.0)


def test_clustering_and_regression_run() -> None:
    X, _ = clusters(500)
    assert fitted(X).sample(7).shape == (7, 3)
    Xs, ys = fitted(X, X[:, 0], task="regression", target_bounds=(-1.0, 1.0)).sample(7)
    assert (Xs.shape, ys.shape) == ((7, 3), (7,))


def test_categories_come_out_as_declared() -> None:
    columns = (
        Column(name="a", kind="category", values=("u", "v", "w")),
        Column(name="b", kind="boolean"),
        Column(name="c", kind="number", low=0.0, high=9.0, missing="indicator"),
    )
    import pyarrow as pa

    table = pa.table({"a": ["u", "v"] * 20, "b": [True, False] * 20, "c": [1.0, None] * 20})
    method = ExponentialMechanism(1.0, schema=Schema(name="t", columns=columns), candidates=50).fit(table)
    found = method.sample(30)
    assert set(found["a"].to_pylist()) <= {"u", "v", "w"}


@pytest.mark.parametrize("classes", [None, [0, 1, 2]])
def test_no_neighbour_moves_a_score_by_more_than_the_charged_sensitivity(classes: list[int] | None) -> None:
    """Random records with random labels, and the record on the other side of every threshold."""
    known, rng = public(classes=classes), np.random.default_rng(0)
    queries = Queries.drawn(20, known, rng)
    best = BestDatabase(queries, Net(known, 40, 7, 1), 10)
    X, y = rng.uniform(-1, 1, (10, 4)), rng.integers(0, 3, 10)

    def errors(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        counts = best.of_batch(Rows.of(X, y if classes else None))
        found = [np.abs(7 * counts - 10 * queries.counts_each(*d)).max(axis=1) for d in best.net.databases()]
        assert np.array_equal(best.finish(counts), np.concatenate(found) - np.concatenate(found).min())
        return np.concatenate(found)

    before = errors(X, y)
    farthest = 0
    for _ in range(300):
        other, labels = X.copy(), y.copy()
        other[0], labels[0] = rng.choice([-1.0, 1.0], 4), rng.integers(0, 3)
        farthest = max(farthest, int(np.abs(errors(other, labels) - before).max()))
    assert farthest == 7  # s rows: attained, never exceeded
    assert best.noise(PureDP(1.0)).sensitivity.value == 7


def test_the_choice_prefers_small_errors_by_the_stated_odds() -> None:
    known = public()
    best = BestDatabase(Queries.drawn(3, known, np.random.default_rng(0)), Net(known, 2, 50, 1), 10)
    noise = best.noise(PureDP(1.0))
    assert noise.scale == pytest.approx(100)
    with fixed_noise(2):
        chosen = [int(best.release(np.array([0, 100]), noise)) for _ in range(3000)]
    odds = np.mean(np.array(chosen) == 0)  # e^(100/(2*50)) = e : 1
    assert odds == pytest.approx(np.e / (1 + np.e), abs=0.05)


def test_counts_do_not_depend_on_batches_and_a_candidate_can_be_drawn_again() -> None:
    known = public(classes=[0, 1])
    queries = Queries.drawn(9, known, np.random.default_rng(1))
    X, y = clusters(101, 4)
    parts = sum(queries.counts(Rows.of(X[i : i + 7], y[i : i + 7])) for i in range(0, 101, 7))
    assert np.array_equal(parts, queries.counts(Rows.of(X, y)))
    assert queries.counts(Rows.of(X, y))[[0, 10]].tolist() == np.bincount(y).tolist()
    net = Net(known, 30, 5, 9)
    net._step = 7
    every = np.concatenate([part for part, _ in net.databases()])
    assert len(every) == 30
    assert np.array_equal(every[23], net.database(23)[0])


def test_without_noise_the_best_candidate_is_taken() -> None:
    X, y = clusters()
    method = fitted(X, y, epsilon=float("inf"), not_private=True)
    assert not method.certificate_.holds
    assert method.events_[0].mechanism == "none"


def test_it_is_a_method_by_name() -> None:
    assert METHODS["exponential"] is ExponentialMechanism


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"calibration": "paper"}, "No paper prints"),
        ({"candidates": 0}, "'candidates' parameter"),
        ({"database_rows": 1.5}, "'database_rows' parameter"),
        ({"queries": 0}, "'queries' parameter"),
        ({"n_components": 2}, "does not reduce"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        fitted(clusters(50)[0], **parameters)
