"""The experiments of DPPro: each for one small trial on generated tables, and what its lines mean."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.reproduce import dppro, dppro_adult, named, reproduce
from gnomon.table.schema import Schema

EXPERIMENTS = [*dppro.EXPERIMENTS, *dppro_adult.EXPERIMENTS]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    (tmp_path / "retail").mkdir()
    items = {f"item_{j}": (rng.random(120) < 0.3).astype(np.uint8) for j in range(8)}
    pq.write_table(pa.table(items), tmp_path / "retail" / dppro.FILE)
    (tmp_path / "adult").mkdir()
    cells: dict[str, object] = {"complete": rng.random(200) < 0.9}
    for column in Schema.load(dppro_adult.SCHEMA).columns:
        if column.kind == "category":
            cells[column.name] = rng.choice(list(column.values), 200)
        else:
            assert column.low is not None
            assert column.high is not None
            cells[column.name] = rng.integers(int(column.low), int(column.high), 200)
    pq.write_table(pa.table(cells), tmp_path / "adult" / "data.parquet")
    for module, name, value in (
        (dppro, "PAIRS", 40),
        (dppro, "SWEPT_PAIRS", 30),
        (dppro, "K", 4),
        (dppro, "COMPONENTS", (2, 8)),
        (dppro, "SIGMAS", (0.1, 0.5)),
        (dppro, "BUDGETS", (1.0,)),
        (dppro, "EPSILONS", (0.4, 1.6)),
        (dppro_adult, "EPSILONS", (0.2, 1.0)),
        (dppro_adult, "COMPONENTS", (5,)),
        (dppro_adult, "K", 5),
        (dppro_adult, "QUESTIONS", {"adult": {"education": dppro_adult.QUESTIONS["adult"]["education"]}}),
    ):
        monkeypatch.setattr(module, name, value)
    return tmp_path


@pytest.mark.parametrize("name", [experiment.name for experiment in EXPERIMENTS])
def test_every_experiment_runs_and_fills_its_table(name: str, data: Path, tmp_path: Path) -> None:
    (experiment,) = named(name)
    results = reproduce(experiment, data, tmp_path / "out", trials=1)
    assert not results.errors
    with (tmp_path / "out" / name / "table.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert lines
    assert all(line["sound mean"] or line["paper mean"] for line in lines)
    assert (tmp_path / "out" / name / "figure.png").exists()
    assert "Not measured: " in (tmp_path / "out" / name / "table.md").read_text()


def test_a_captioned_sigma_is_the_noise_of_a_cell_of_0_and_1(data: Path) -> None:
    X = dppro.some(data, 40, 0)
    method = dppro.release(X, 1.0, 4, "paper", 0, sigma=0.2)
    assert method.noise_std_ / 2 == pytest.approx(0.2, rel=1e-3)  # encoded cells are 2 apart
    delivered = method.certificate_.delivered
    assert delivered is not None
    assert delivered > 30


def test_the_l2_error_is_equation_12(data: Path) -> None:
    X = dppro.some(data, 40, 0)
    whole = dppro.release(X, math.inf, 8, "none", 0)
    R = whole.projection_
    seen = np.sum(((X[:40] - X[40:]) @ R) ** 2, axis=1)
    true = np.sum((X[:40] - X[40:]) ** 2, axis=1)
    assert dppro.l2_error(whole, X) == pytest.approx(np.sum((seen - true) ** 2) / np.sum(true**2), rel=1e-3)


def test_the_marginals_of_the_table_itself_are_at_distance_zero(data: Path) -> None:
    _, true = dppro_adult.shares(data / "adult")
    assert dppro_adult.total_variation(data / "adult", true) == pytest.approx(0.0, abs=1e-12)
    assert dppro_adult.counts(data / "adult", 50.0, 0) < 0.02
    assert dppro_adult.uniform(data / "adult", 0) > 0.05


def test_a_question_leaves_out_the_columns_that_answer_it(data: Path) -> None:
    table, schema = dppro_adult.asked(data / "adult", "education")
    assert {"education", "education-num"}.isdisjoint(table.column_names)
    assert schema.target is not None
    assert schema.target.name == "answer"
    whole = dppro_adult.complete(data / "adult")
    degrees = [value in dppro_adult.DEGREES for value in whole["education"].to_pylist()]
    assert table["answer"].to_pylist() == degrees


def test_tables_that_a_user_has_are_measured_too(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    for folder, top in (("nltcs", 2), ("br2000", 5)):
        (data / folder).mkdir()
        names = ("outside", "money", "bathing", "traveling")
        pq.write_table(
            pa.table({name: rng.integers(0, top, 150) for name in names}), data / folder / "data.parquet"
        )
    monkeypatch.setitem(dppro_adult.QUESTIONS, "nltcs", {"money": dppro_adult.Question("money", (1,))})
    for figure, row in (("dppro-figure4", "BR2000, PrivBayes"), ("dppro-figure5", "NLTCS, Y=money, JTree")):
        (experiment,) = named(figure)
        results = reproduce(experiment, data, tmp_path / "out", trials=1)
        assert not results.errors
        assert results.measure(row, "epsilon 1", "sound") is not None


def test_no_synthetic_row_beats_the_mean_distance(data: Path) -> None:
    """Rows that belong to nobody can but tell the mean, which is the best constant."""
    best = dppro.one_for_all(data, 0)
    for name in ("PrivBayes", "JTree", "PriView"):
        assert dppro.by_synthetic_rows(data, name, 1000.0, 0) >= best
        assert dppro.by_synthetic_rows(data, name, 1000.0, 0) < best + 0.1
