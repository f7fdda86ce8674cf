"""The pieces of an evaluation against values that can be worked out by hand."""

import numpy as np
import pyarrow as pa
import pytest

from gnomon.errors import DataError, ParameterError
from gnomon.evaluation import classify, cluster, fidelity, regress
from gnomon.evaluation.closest import closest_records
from gnomon.evaluation.limits import Limits
from gnomon.evaluation.measure import Measure, gathered
from gnomon.evaluation.script import analysed, load_script
from gnomon.evaluation.sides import Side, take
from gnomon.table.column import Column
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

LIMITS = Limits(kernel=200, silhouette=200, pairs=2000)


def side(X: np.ndarray, y: np.ndarray | None = None) -> Side:
    return Side(pa.table({}), np.asarray(X, dtype=float), y)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.parametrize("model", classify.MODELS)
def test_classifiers_learn_what_is_there_and_score_a_chance_where_nothing_is(model: str) -> None:
    X = rng().uniform(-1, 1, (400, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    good = classify.score(model, side(X, y), side(X, y), LIMITS, rng())
    assert min(good.values()) > 0.75
    shuffled = classify.score(model, side(X, rng().permutation(y)), side(X, y), LIMITS, rng())
    assert abs(shuffled["AUROC"] - 0.5) < 0.25
    floor = classify.floor(side(X, y), side(X, y))
    shares = np.bincount(y) / len(y)
    assert floor["accuracy"] == pytest.approx(shares.max())
    assert floor["balanced accuracy"] == pytest.approx(1 / 3)
    assert floor["AUPRC"] == pytest.approx((shares**2).sum())


def test_a_release_with_one_class_predicts_that_class() -> None:
    X, y = rng().uniform(-1, 1, (50, 2)), np.arange(50) % 2
    found = classify.score("svm", side(X, np.ones(50, int)), side(X, y), LIMITS, rng())
    assert found["accuracy"] == 0.5
    assert found["AUROC"] == 0.5


@pytest.mark.parametrize("model", regress.MODELS)
def test_regressions_learn_a_line_with_its_level(model: str) -> None:
    X = rng().uniform(-1, 1, (400, 2))
    y = 0.4 * X[:, 0] + 0.5
    found = regress.score(model, side(X, y), side(X, y), LIMITS, rng())
    assert found["R2"] > 0.9
    assert regress.floor(side(X, y), side(X, y)) == {
        "RMSE": pytest.approx(y.std()),
        "R2": pytest.approx(0),
    }


def test_clusters_are_counted_and_agree_with_themselves() -> None:
    centres = np.array([[-1, -1], [1, 1], [1, -1], [-1, 1]])
    X = centres[np.arange(200) % 4] + 0.05 * rng().standard_normal((200, 2))
    model, silhouette = cluster.best_clusters(X, LIMITS, rng())
    assert model.n_clusters == 4
    assert silhouette > 0.9
    found = cluster.score(side(X), side(X), model, LIMITS, rng())
    assert found["agreement with real clusters"] == 1
    assert abs(cluster.floor(side(X), model, LIMITS, rng())["silhouette"]) < 0.2
    assert cluster.silhouette(X, np.zeros(200), LIMITS, rng()) == 0


def test_marginals_are_total_variation_distances() -> None:
    schema = Schema(
        name="t",
        columns=(
            Column(name="c", kind="category", values=("a", "b")),
            Column(name="x", kind="number", low=0.0, high=1.0, missing="indicator"),
        ),
    )
    first = pa.table({"c": ["a"] * 3 + ["b"], "x": [0.01, 0.01, None, 0.99]})
    real = pa.table({"c": ["a", "b"] * 2, "x": [0.01, 0.01, 0.01, 0.99]})
    assert fidelity.marginals(first, real, schema) == [pytest.approx(0.25), pytest.approx(0.25)]
    (pair,) = fidelity.joint_codes(first, real, schema, LIMITS, rng())
    assert fidelity.mutual_information(*pair[0]) >= 0
    joint = fidelity.joint_marginals(first, real, schema, LIMITS, rng())
    # first: (a, low) 1/2, (a, none) 1/4, (b, high) 1/4; real: (a, low) 1/2, (b, low) 1/4, (b, high) 1/4
    assert joint == [pytest.approx(0.25)]


def test_likeness_of_equal_and_of_different_rows() -> None:
    X = rng().standard_normal((500, 3))
    assert fidelity.correlations(X, X) == 0
    assert fidelity.spectrum(X, X) == 0
    assert fidelity.spectrum(np.sqrt(2) * X, X) == pytest.approx(1)
    assert fidelity.squared_distances(2 * X, X, LIMITS, rng()) == pytest.approx(3, rel=0.1)
    same, ratio = fidelity.propensity(X[:250], X[250:])
    assert ratio < 4
    wide, wide_ratio = fidelity.propensity(3 * X[:250], X[250:])
    assert wide > 10 * same
    assert wide_ratio > 10


def test_distances_of_records_are_recovered_without_the_noise() -> None:
    X = rng().standard_normal((300, 4))
    noisy = X + 0.5 * np.random.default_rng(5).standard_normal(X.shape)
    right = fidelity.record_distances(side(noisy), side(X), 0.5, LIMITS, rng())
    wrong = fidelity.record_distances(side(noisy), side(X), 0.0, LIMITS, rng())
    assert right < wrong
    assert fidelity.record_distances(side(X), side(X), 0.0, LIMITS, rng()) == 0


def test_copies_of_records_are_closer_to_them() -> None:
    X, other = rng().standard_normal((2, 300, 3))
    copied = closest_records(side(X), side(X), side(other), LIMITS, rng())
    assert copied["share closer to the training records"] > 0.75
    assert copied["share that equals a training record"] > 0.6
    fresh = closest_records(
        side(np.random.default_rng(9).standard_normal((300, 3))), side(X), side(other), LIMITS, rng()
    )
    assert abs(fresh["share closer to the training records"] - 0.5) < 0.15
    assert fresh["share that equals a training record"] == 0


def test_intervals_of_one_release_and_of_several() -> None:
    assert Measure(((0.5,),)).interval is None
    one = Measure(((0.4, 0.5, 0.6),))
    assert one.mean == pytest.approx(0.5)
    assert one.interval == pytest.approx((0.5 - 4.3027 * 0.1, 0.5 + 4.3027 * 0.1), abs=1e-4)
    several = Measure(((0.4, 0.4), (0.5, 0.5), (0.6, 0.6)))
    assert several.interval == pytest.approx(
        (0.5 - 4.3027 * 0.1 / 3**0.5, 0.5 + 4.3027 * 0.1 / 3**0.5), abs=1e-4
    )
    found = gathered([[{"a": {"b": 1.0}}, {"a": {"b": 2.0}}]])
    assert found["a"]["b"].values == ((1.0, 2.0),)


def test_rows_are_taken_by_their_places_across_batches() -> None:
    table = pa.table({"x": np.arange(200_000)})
    places = np.array([0, 65_535, 65_536, 199_999])
    assert take(open_source(table), ["x"], places)["x"].to_pylist() == places.tolist()


def test_a_script_must_be_there_and_return_numbers(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DataError, match="does not exist"):
        load_script(tmp_path / "none.py")
    (tmp_path / "bad.py").write_text("raise ValueError('cell 17')")
    with pytest.raises(ParameterError, match="ValueError when it was loaded") as problem:
        load_script(tmp_path / "bad.py")
    assert "17" not in str(problem.value)
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(ParameterError, match=r"must define a function analyse"):
        load_script(tmp_path / "empty.py")
    with pytest.raises(ParameterError, match="KeyError on the real rows"):
        analysed(lambda table: table["nothing"], pa.table({"x": [1]}), "real")


def test_mutual_information_is_that_of_the_shares() -> None:
    a = np.array([0, 0, 1, 1])
    assert fidelity.mutual_information(a, a) == pytest.approx(np.log(2))
    assert fidelity.mutual_information(a, np.array([0, 1, 0, 1])) == pytest.approx(0)


def test_the_reconstruction_error_is_relative_to_the_spread() -> None:
    X = np.random.default_rng(0).standard_normal((500, 4)) + 3
    assert fidelity.reconstruction_error(X, X) == 0
    assert fidelity.reconstruction_error(np.tile(X.mean(axis=0), (500, 1)), X) == pytest.approx(1)
