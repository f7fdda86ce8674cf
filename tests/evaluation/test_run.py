"""An evaluation from end to end: model and row releases, folders and fitted methods, three tasks."""

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.errors import DataError, ParameterError
from gnomon.evaluation import Limits
from gnomon.evaluation.page import summary, worst_sentence
from gnomon.evaluation.result import STAMP
from gnomon.evaluation.shared import shared_rows, warning
from gnomon.table.encode import Encoder
from gnomon.table.schema import Column, Schema
from gnomon.table.source import open_source

QUICK = Limits(train=400, test=300, kernel=100, silhouette=200, pairs=500)


@pytest.fixture(scope="module")
def found(ward):  # type: ignore[no-untyped-def]
    return gn.evaluate(
        ward / "model", ward / "train.parquet", ward / "test.parquet", trials=2, limits=QUICK, random_state=0
    )


def test_every_model_and_metric_has_its_ceiling_and_floor(found) -> None:  # type: ignore[no-untyped-def]
    assert list(found.utility) == ["logistic", "svm", "forest"]
    for metrics in found.utility.values():
        assert list(metrics) == ["accuracy", "balanced accuracy", "AUROC", "AUPRC"]
        for sides in metrics.values():
            assert list(sides) == ["release", "mapped", "real", "floor"]
            assert all(len(measure.values[0]) == 2 for measure in sides.values())
        assert metrics["accuracy"]["real"].mean > 0.9 > metrics["accuracy"]["floor"].mean
        assert metrics["AUROC"]["floor"].mean == 0.5
        assert metrics["accuracy"]["release"].mean > metrics["accuracy"]["floor"].mean


def test_sampling_alone_is_the_best_fidelity_and_uniform_rows_the_worst(found) -> None:  # type: ignore[no-untyped-def]
    for metric in ("one-way marginals", "two-way marginals", "correlations", "pMSE", "spectrum"):
        sides = {side: measure.mean for side, measure in found.fidelity[metric].items()}
        assert sides["real"] < sides["floor"]
        assert sides["release"] < sides["floor"]


def test_subsamples_and_intervals_are_declared(found) -> None:  # type: ignore[no-untyped-def]
    notes = " ".join(found.notes)
    assert "Of 800 real rows, 400 drawn at random" in notes
    assert "Of 400 test rows, 300 drawn at random" in notes
    assert "trained on 100 of them" in notes
    assert "redraws of the rows from the model of one release" in notes


def test_metrics_and_page_are_stamped_and_written_whole(found, tmp_path) -> None:  # type: ignore[no-untyped-def]
    found.save(tmp_path / "out")
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    page = (tmp_path / "out" / "evaluation.html").read_text()
    assert metrics["stamp"] == STAMP
    assert metrics["release"]["method"] == "modips"
    assert metrics["limits"]["train"] == 400
    assert metrics["utility"]["logistic"]["accuracy"]["release"].keys() == {"mean", "values", "interval"}
    assert "no evidence of privacy" in metrics["closest_record"]["warning"].lower()
    assert page.count(STAMP) >= 2
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    with pytest.raises(gn.errors.OutputError, match="exists"):
        found.save(tmp_path / "out")


def test_the_reconstruction_error_is_that_of_the_map(found) -> None:  # type: ignore[no-untyped-def]
    assert found.fidelity["reconstruction error"]["mapped"].mean < 0.5
    assert (
        found.fidelity["mutual information"]["real"].mean < found.fidelity["mutual information"]["floor"].mean
    )


def test_a_row_release_is_compared_in_its_components(ward) -> None:  # type: ignore[no-untyped-def]
    seen = gn.evaluate(
        ward / "rows", ward / "train.parquet", ward / "test.parquet", trials=1, limits=QUICK, random_state=0
    )
    logistic = seen.utility["logistic"]["accuracy"]
    assert logistic["mapped"].mean > 0.85
    assert logistic["release"].mean > logistic["floor"].mean
    assert seen.fidelity["squared distances of records"]["release"].mean < 1.5
    assert list(seen.fidelity["spectrum"]) == ["release", "real"]
    assert logistic["release"].interval is None


def test_several_releases_are_trials_with_a_confidence_interval(ward) -> None:  # type: ignore[no-untyped-def]
    both = gn.evaluate(
        [ward / "model", ward / "model"],
        ward / "train.parquet",
        ward / "test.parquet",
        task="clustering",
        trials=1,
        limits=QUICK,
    )
    assert both.task == "clustering"
    silhouette = both.utility["K-means"]["silhouette"]["release"]
    assert len(silhouette.values) == 2
    assert silhouette.interval is not None
    assert "2 independent releases" in " ".join(both.notes)
    assert "Clusters found in the release" in both.to_html()


def test_arrays_regression_and_no_test_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 3))
    y = X @ [0.5, -0.3, 0.1]
    method = gn.baseline.Modips(
        8.0, 1e-5, bounds=(-1.0, 1.0), task="regression", target_bounds=(-1.0, 1.0), random_state=0
    ).fit(X, y)
    seen = gn.evaluate(method, (X, y), trials=1, limits=QUICK, random_state=0)
    assert list(seen.utility) == ["ridge", "kernel ridge", "forest"]
    assert seen.utility["ridge"]["R2"]["real"].mean == pytest.approx(1, abs=1e-3)
    assert seen.utility["ridge"]["RMSE"]["release"].mean < seen.utility["ridge"]["RMSE"]["floor"].mean
    assert "flatters" in " ".join(seen.notes)
    assert "root mean squared error" in seen.to_html()


def test_the_script_runs_on_real_and_released_rows(ward, tmp_path) -> None:  # type: ignore[no-untyped-def]
    script = tmp_path / "mine.py"
    script.write_text(
        "import pyarrow.compute as pc\n"
        "def analyse(table):\n    return {'mean age': pc.mean(table['age']).as_py(), 'rows': table.num_rows}\n"
    )
    seen = gn.evaluate(
        ward / "model", ward / "train.parquet", ward / "test.parquet", trials=1, limits=QUICK, script=script
    )
    real = pq.read_table(ward / "train.parquet")["age"].to_numpy().mean()
    assert seen.script["mean age"]["real"].mean == pytest.approx(real)
    assert seen.script["mean age"]["release"].mean == pytest.approx(real, abs=15)
    assert seen.script["rows"]["real"].mean == 800
    assert "mean age" in seen.to_html()


def test_refusals(ward, tmp_path) -> None:  # type: ignore[no-untyped-def]
    train, test = ward / "train.parquet", ward / "test.parquet"
    with pytest.raises(ParameterError, match="at least one release"):
        gn.evaluate([], train, test)
    with pytest.raises(ParameterError, match="'clustering' or None"):
        gn.evaluate(ward / "model", train, test, task="dancing")
    with pytest.raises(ParameterError, match="from 1 to 1000"):
        gn.evaluate(ward / "model", train, test, trials=0)
    with pytest.raises(ParameterError, match="not fitted"):
        gn.evaluate(gn.RonGauss(1.0), train, test)
    with pytest.raises(ParameterError, match="'train' parameter of Limits"):
        Limits(train=3)
    with pytest.raises(ParameterError, match="one by one"):
        gn.evaluate([ward / "model", ward / "rows"], train, test, trials=1, task="clustering", limits=QUICK)
    with pytest.raises(DataError, match="lacks the column 'age'"):
        gn.evaluate(ward / "model", pa.table({"x": [1.0, 2.0]}), test)
    (tmp_path / "half").mkdir()
    for name in ("certificate.yaml", "schema.toml", "map.npz"):
        (tmp_path / "half" / name).write_bytes((ward / "model" / name).read_bytes())
    with pytest.raises(DataError, match="has no data"):
        gn.evaluate(tmp_path / "half", train, test)
    assert isinstance(Schema.load(ward / "model" / "schema.toml"), Schema)


def test_the_worst_columns_are_named_and_drawn_under_the_stamp(found) -> None:  # type: ignore[no-untyped-def]
    names = [column.name for column in found.columns]
    assert sorted(names) == ["age", "dose", "outcome", "smoker", "ward"]
    distances = [column.distance for column in found.columns]
    assert distances == sorted(distances, reverse=True)
    for column in found.columns:
        assert sum(column.real) == pytest.approx(1)
        assert sum(column.released) == pytest.approx(1)
        apart = sum(abs(a - b) for a, b in zip(column.real, column.released, strict=True)) / 2
        assert apart == pytest.approx(column.distance)
    far = dataclasses.replace(found, columns=(dataclasses.replace(found.columns[0], distance=0.4),))
    assert f"{names[0]} (0.40)" in str(worst_sentence(far))
    page = far.to_html()
    assert page.count('class="bars"') == 1
    assert page.count(STAMP) == 4  # title, top, bottom, and the plot itself
    near = dataclasses.replace(found, columns=(dataclasses.replace(found.columns[0], distance=0.01),))
    assert "No column is far" in str(worst_sentence(near))


def test_intervals_of_a_model_are_over_redraws(found) -> None:  # type: ignore[no-untyped-def]
    drawn = [sides["release"] for sides in found.fidelity.values() if "release" in sides]
    assert all(len(one.values[0]) == 2 for one in drawn)
    assert any(len(set(one.values[0])) == 2 for one in drawn)  # two tables may agree in one measure by chance
    assert found.fidelity["one-way marginals"]["release"].interval is not None
    assert found.fidelity["one-way marginals"]["floor"].interval is None


def test_where_a_class_is_rare_the_headline_weighs_classes_equally(found) -> None:  # type: ignore[no-untyped-def]
    assert "classes weighted equally" not in summary(found)
    rare = dataclasses.replace(found, rarest=0.03)
    balanced = found.utility["logistic"]["balanced accuracy"]
    assert "classes weighted equally" in summary(rare)
    assert f"{100 * balanced['release'].mean:.1f}%" in summary(rare)
    assert f"{100 * balanced['floor'].mean:.1f}% and 0.50" in summary(rare)
    assert "3.0%" in summary(rare)


def test_rows_that_train_and_test_share_are_pointed_out(ward, tmp_path) -> None:  # type: ignore[no-untyped-def]
    train, test = (pq.read_table(ward / f"{name}.parquet") for name in ("train", "test"))
    assert not any("Warning" in note for note in _quick(ward, test).notes)
    mixed = pa.concat_tables([train.slice(0, 100), test.slice(0, 200)])
    assert any(
        "33% of the test rows are rows of the released table" in note for note in _quick(ward, mixed).notes
    )


def test_equal_rows_by_chance_are_no_warning() -> None:
    """A table of few distinct rows shares them with any other of its kind."""
    schema = Schema(name="few", columns=(Column(name="a", kind="boolean"), Column(name="b", kind="boolean")))
    rng = np.random.default_rng(0)
    one, two = (pa.table({name: rng.random(500) < 0.4 for name in "ab"}) for _ in range(2))
    shared, twins = shared_rows(open_source(one), open_source(two), Encoder(schema))
    assert shared == 1.0
    assert warning(shared, twins, 500) is None
    assert warning(0.9, 0.1, 500) is not None


def _quick(ward, test):  # type: ignore[no-untyped-def]
    return gn.evaluate(
        ward / "model",
        ward / "train.parquet",
        test,
        trials=1,
        task="clustering",
        limits=QUICK,
        random_state=0,
    )
