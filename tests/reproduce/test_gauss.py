"""RON-Gauss's and PCA-Gauss's experiments, each from end to end for one trial on tiny tables."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from gnomon.cli import main
from gnomon.errors import DataError, ParameterError
from gnomon.evaluation import cluster
from gnomon.methods import METHODS
from gnomon.methods.baseline import exponential
from gnomon.methods.charging import unaccounted
from gnomon.reproduce import experiments, named, pca_gauss, ron_gauss, ron_gauss_attack, tasks
from gnomon.reproduce.compared import EncodedOnce, Method, worth
from gnomon.reproduce.data import read
from gnomon.reproduce.run import reproduce
from gnomon.reproduce.table import lines

NAMES = [one.name for one in (*ron_gauss.EXPERIMENTS, *pca_gauss.EXPERIMENTS)]


@pytest.fixture(name="data")
def _data(gauss_data: Path) -> Path:
    return gauss_data


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponential, "CELLS", 2**14)
    monkeypatch.setattr(cluster, "MOST", 3)
    monkeypatch.setattr(ron_gauss, "SWEPT", (1, 4))
    monkeypatch.setattr(ron_gauss, "EPSILONS", (1.0,))
    monkeypatch.setattr(ron_gauss_attack, "EPSILONS", (1.0,))
    monkeypatch.setattr(ron_gauss_attack, "SHADOWS", 2)
    monkeypatch.setattr(pca_gauss, "SWEPT", (4,))
    monkeypatch.setattr(pca_gauss, "WIDE", (4,))
    monkeypatch.setattr(pca_gauss, "SHARES", (0.5,))
    monkeypatch.setattr(pca_gauss, "FEW", (4,))
    monkeypatch.setattr(pca_gauss, "DRAWN", (1, 4))
    monkeypatch.setattr(pca_gauss, "EPSILONS", (1.0,))


def test_the_papers_tables_and_figures_are_all_there() -> None:
    wanted = [f"ron-gauss-{part}" for part in ("table3", "table4", "table5", "figure1", "figure2", "figure3")]
    wanted += [f"pca-gauss-{part}" for part in ("table2", "table3", "table4", "figure1", "alpha", "figure2")]
    assert wanted == NAMES
    assert set(NAMES) <= set(experiments())
    assert named("all") == list(experiments().values())
    with pytest.raises(ParameterError, match="There is no experiment 'ron-gauss-table9'"):
        named("ron-gauss-table9")


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_runs_from_end_to_end(name: str, data: Path, tmp_path: Path) -> None:
    experiment = named(name)[0]
    results = reproduce(experiment, data, tmp_path, trials=1)
    assert [record.error for record in results.errors] == []
    table, sweeps = lines(results)
    assert all(line.paper is not None or line.sound is not None for line in (*table, *sweeps))
    pictures = [(tmp_path / name / f"figure.{kind}").exists() for kind in ("png", "svg")]
    assert pictures == [experiment.draw is not None] * 2
    assert experiment.says in (tmp_path / name / "table.md").read_text()


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("ron-gauss-table3", [0.286, 0.123, 0.123, 0.026, 0.092, 0.274]),
        ("ron-gauss-table4", [89.61, 65.04, 54.51, 51.24, 61.31, 87.16]),
        ("ron-gauss-table5", [0.0021, 0.572, 0.0068, 0.0068, 0.0062, 0.01, 0.0021]),
        ("pca-gauss-table2", [0.286, 0.123, 0.123, 0.026, 0.092, 0.003, 0.22]),
        (
            "pca-gauss-table3",
            [82.56, 62.71, 65.04, 55.06, 66.37, 51.24, 61.31, 60.13, 76.36, 71.4, 74.08, 79.09],
        ),
        (
            "pca-gauss-table4",
            [0.0021, 0.578, 0.07, 0.4527, 0.472, 0.4805, 0.01, 0.4716, 0.0021, 0.0024, 0.0023],
        ),
    ],
)
def test_printed_values_stand_beside_their_methods_once(name: str, printed: list[float], data: Path) -> None:
    cells = {(cell.row, cell.column): cell.printed for cell in named(name)[0].cells(data)}
    assert [value for value in cells.values() if value is not None] == printed


def test_the_model_learns_where_the_noise_is_small(data: Path) -> None:
    split = tasks.SPORTS.split(data, 0)
    found = worth(tasks.SPORTS, split, Method("", "ron-gauss"), {}, "sound", 1000.0, 0)
    floor = tasks.SPORTS.floor(split)
    assert found["accuracy, %"] > floor["accuracy, %"] + 20


def test_a_trial_draws_its_own_split_and_the_same_one_again(data: Path) -> None:
    for task in (tasks.GFE, tasks.SPORTS, tasks.BUZZ_LOG):
        first, second = task.split(data, 0), task.split(data, 1)
        task.split.cache_clear()  # type: ignore[attr-defined]
        assert np.array_equal(task.split(data, 0).X_test, first.X_test)
        assert not np.array_equal(second.X_test, first.X_test)
        assert np.abs(first.X).max() <= 1


def test_no_row_is_both_released_and_tested_on_or_public(data: Path) -> None:
    for task in (tasks.GFE, tasks.SPORTS, tasks.BUZZ_LOG):
        split = task.split(data, 0)
        parts = [
            {row.tobytes() for row in np.ascontiguousarray(X)}
            for X in (split.X, split.X_test, split.X_public)
        ]
        assert not parts[0] & parts[1]
        assert not parts[0] & parts[2]
        assert not parts[1] & parts[2]


def test_a_column_or_file_that_is_missing_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lacks the column 'smile'"):
        read(data, "gfe", ("smile",))
    with pytest.raises(DataError, match=r"lacks mnist/data\.parquet"):
        read(tmp_path, "mnist")
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "data.parquet").write_text("no")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read(tmp_path, "mnist")


def test_the_command_runs_one_and_names_what_it_lacks(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert main(["reproduce", "pca-gauss-figure2", "--data", str(data), "--out", out]) == 0
    assert "pca-gauss-figure2/table.md" in capsys.readouterr().out
    assert main(["reproduce", "ron-gauss-figure3", "--data", str(tmp_path), "--out", out]) == 2
    assert "ron-gauss-figure3 reads mnist/data.parquet" in capsys.readouterr().err
    assert main(["reproduce", "--data", str(data)]) == 2
    assert "needs a NAME" in capsys.readouterr().err
    assert main(["reproduce", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in NAMES)


def test_rows_of_a_split_are_encoded_once_and_alike(data: Path) -> None:
    split, engine = tasks.movements(data, 0), EncodedOnce()
    settings = {"epsilon": math.inf, "not_private": True, "n_components": 4, "random_state": 0, **split.told}
    fits = [
        METHODS["ron-gauss"](**settings).fit(split.X, split.y, charge=unaccounted, engine=one)
        for one in (None, engine, engine)
    ]
    alone, first, again = (fitted.sample(50)[0] for fitted in fits)
    np.testing.assert_array_equal(first, alone)
    np.testing.assert_array_equal(again, alone)
    assert len(engine._kept) == 1
    other = {**settings, "bounds": (-2.0, 2.0)}
    METHODS["ron-gauss"](**other).fit(split.X, split.y, charge=unaccounted, engine=engine)
    assert len(engine._kept) == 2


@pytest.mark.parametrize(("name", "direct"), [("synthesizer", True), ("ron-gauss", False)])
def test_only_the_synthesizers_columns_meet_real_rows_as_they_are(
    name: str, direct: bool, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split, seen = tasks.SPORTS.split(data, 0), []

    def score(*told: object) -> dict[str, float]:
        seen.append(told[4])
        return {"accuracy, %": 0.0}

    monkeypatch.setattr(tasks.Task, "score", score)
    worth(tasks.SPORTS, split, Method("one", name, delta=0.0), {}, "sound", 1.0, 0)
    assert (seen[0] is split.X_test) == direct
