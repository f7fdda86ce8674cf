"""The utility harness on a table that needs no folder: it runs, resumes and shows."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


@pytest.fixture
def utility(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    return import_module("utility")


def test_it_runs_resumes_and_shows(utility: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, real = tmp_path / "made.jsonl", tmp_path / "real.jsonl"
    asked = ["run", "--tables", "wine", "--method", "ron-gauss", "--epsilon", "1,inf", "--out", str(out)]
    assert utility.main([*asked, "--splits", "2"]) == 0
    lines = out.read_text().splitlines()
    assert len(lines) == 4
    assert utility.main([*asked, "--splits", "3"]) == 0
    assert out.read_text().splitlines()[:4] == lines
    assert len(out.read_text().splitlines()) == 6
    line = json.loads(lines[0])
    assert set(line["direct"]) == set(line["transform"]) == {"linear", "forest"}
    assert len(line["tv"]) == 3
    assert utility.main(["run", "--tables", "wine", "--method", "real", "--out", str(real)]) == 0
    assert json.loads(real.read_text().splitlines()[0])["direct"]["forest"] > 0.9
    capsys.readouterr()
    assert utility.main(["show", str(out), "--against", str(out), "--real", str(real)]) == 0
    shown = capsys.readouterr().out
    assert "| wine | accuracy | 3 |" in shown
    assert "+0.000 ± 0.000" in shown


def test_a_release_of_components_is_seen_through_transform_alone(utility: Any, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    utility.main(["run", "--tables", "wine", "--method", "jl-laplace", "--splits", "1", "--out", str(out)])
    line = json.loads(out.read_text())
    assert "transform" in line
    assert "direct" not in line
    assert "tv" not in line


def test_a_refusal_is_a_line_too(utility: Any, tmp_path: Path) -> None:
    out = tmp_path / "refused.jsonl"
    asked = ["run", "--tables", "wine", "--splits", "1", "--method", "ron-gauss", "--out", str(out)]
    utility.main([*asked, "--epsilon", "1e-9"])
    assert "epsilon" in json.loads(out.read_text())["refused"]


def test_real_rows_against_themselves_differ_in_nothing(utility: Any) -> None:
    tables = import_module("harness.tables")
    table = tables.TABLES["wine"]
    rows = table.load(None)
    found = import_module("harness.likeness").Real(rows, table.declare(rows)).compare(rows)
    assert found["tv"] == [0.0, 0.0, 0.0]
    assert found["spread"] == [1.0, 1.0, 1.0]
    assert found["at_bound"] == [0.0, 0.0]
    assert found["correlation"] == [1.0, 1.0, 1.0]


def test_the_kernel_machine_is_scikit_learns(utility: Any) -> None:
    tables, learners = import_module("harness.tables"), import_module("harness.learners")
    table = tables.TABLES["wine"]
    rows = import_module("harness.arrays").Rows.of(table.load(None), table.declare(table.load(None)))
    scaled = StandardScaler().fit_transform(rows.X)
    plain = SVC().fit(scaled, rows.y).predict(scaled)
    np.testing.assert_array_equal(learners.Rbf("classes").fit(rows.X, rows.y).predict(rows.X), plain)
