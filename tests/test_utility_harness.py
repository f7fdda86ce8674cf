"""The utility harness on a table that needs no folder: it runs, resumes and shows."""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import gnomon as gn


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


def _mixed() -> tuple[pa.Table, gn.Schema]:
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "gain": np.where(rng.random(500) < 0.9, 0.0, rng.uniform(0, 100, 500)),
            "years": rng.integers(1, 17, 500),
            "kind": rng.choice(["a", "b", "c"], 500),
            "lab": pa.array([None if gone else 3.5 for gone in rng.random(500) < 0.3]),
            "label": rng.integers(0, 2, 500),
        }
    )
    columns = (
        gn.Column(name="gain", kind="number", low=0, high=100),
        gn.Column(name="years", kind="number", low=1, high=16, integer=True),
        gn.Column(name="kind", kind="category", values=("a", "b", "c")),
        gn.Column(name="lab", kind="number", low=0, high=10, missing="indicator"),
        gn.Column(name="label", kind="category", values=(0, 1), role="target"),
    )
    return table, gn.Schema(name="mixed", columns=columns)


def test_codes_for_other_tools_lose_nothing_that_is_compared(utility: Any) -> None:
    bins, likeness = import_module("harness.bins"), import_module("harness.likeness")
    table, schema = _mixed()
    again = bins.restored(bins.binned(table, schema), schema, np.random.default_rng(1))
    assert again["years"].to_pylist() == table["years"].to_pylist()
    assert again["kind"].to_pylist() == table["kind"].to_pylist()
    assert again["lab"].null_count == table["lab"].null_count
    zero = np.asarray(table["gain"]) == 0
    assert np.array_equal(np.asarray(again["gain"]) == 0, zero)  # a cell at a bound stays there
    found = likeness.Real(table, schema).compare(again)
    assert found["tv"][:2] == [0.0, 0.0]  # bins for tools are parts of those that are compared
    numbers = bins.restored(
        bins.numbers(table, schema)
        .append_column("c2", bins.binned(table, schema)["c2"])
        .append_column("c4", bins.binned(table, schema)["c4"]),
        schema,
        np.random.default_rng(1),
    )
    assert np.allclose(np.asarray(numbers["gain"]), np.asarray(table["gain"]))


def test_fewer_bins_are_the_same_bins_there_and_back(utility: Any) -> None:
    bins = import_module("harness.bins")
    table, schema = _mixed()
    codes = bins.binned(table, schema, 8)
    assert [cut.size for cut in bins.cuts(schema, 8)] == [10, 10, 3, 11, 2]
    again = bins.restored(codes, schema, np.random.default_rng(1), 8)
    assert bins.binned(again, schema, 8).drop_columns("c1") == codes.drop_columns(
        "c1"
    )  # years are whole again


def test_a_tools_sampler_gets_what_the_tool_gets(
    utility: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samplers, seen = import_module("peers.samplers"), []

    def run(words: list[str], **_: Any) -> SimpleNamespace:
        seen.extend(sorted(path.name for path in Path(words[-1]).iterdir()))
        return SimpleNamespace(returncode=0, stdout=json.dumps({"one": 0.0}), stderr="")

    monkeypatch.setattr(samplers.subprocess, "run", run)
    out = tmp_path / "samplers.json"
    samplers.run(Namespace(table="wine", data=None, tools="aim", out=out))
    assert json.loads(out.read_text()) == {"tool": "aim", "table": "wine", "one": 0.0}
    assert {"binned.parquet", "domain.json", "numbers.parquet", "train.parquet"} <= set(seen)


CODES = """
import json, shutil, sys
from pathlib import Path
algorithm, folder, epsilon, delta, rows, out = sys.argv[1:]
shutil.copy(Path(folder) / "binned.parquet", out)
shutil.copy(Path(folder) / "domain.json", Path(__file__).parent)
print(json.dumps({"cpu": 0.0, "seconds": 0.0, "peak_mb": 1, "rows_with_none": 0.25}))
"""


@pytest.mark.parametrize("few", [True, False])
def test_tools_that_take_codes_get_fewer_bins_of_few_rows(
    few: bool, utility: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a number that is the target too, and its cells come back through the same bins."""
    bins, peers = import_module("harness.bins"), import_module("harness.peers")
    (tmp_path / "codes.py").write_text(CODES)
    monkeypatch.setattr(peers, "SCRIPTS", tmp_path)
    monkeypatch.setattr(peers, "interpreter", lambda name: sys.executable)
    monkeypatch.setitem(peers.PEERS, "codes", peers.Peer("other", "codes.py", "none", "replace"))
    monkeypatch.setattr(bins, "FEW_ROWS", 500 if few else 0)
    train = utility.Split(utility.TABLES["diabetes"], utility.TABLES["diabetes"].load(None), 0)
    made = peers.release("codes", train.train, train.test, train.schema, 1.0, 1e-6, 10, 0)
    size = bins.FEW_BINS if few else bins.BINS
    sizes = {one["size"] for one in json.loads((tmp_path / "domain.json").read_text())}
    assert sizes == {size + 2}
    assert bins.binned(made.rows, train.schema, size) == bins.binned(train.train, train.schema, size)
    assert made.cost["rows_with_none"] == 0.25
    assert bins.of_table(0) == size


def test_another_tool_is_a_method_with_its_cost_and_its_limit(
    utility: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "made.jsonl"
    asked = ["run", "--tables", "wine", "--splits", "1", "--out", str(out), "--method", "gnomon-add-remove"]
    assert utility.main(asked) == 0
    line = json.loads(out.read_text())
    assert line["adjacency"] == "add/remove"
    assert line["fit_cpu"] > 0
    assert line["peak_mb"] > 50
    assert set(line["direct"]) == {"linear", "forest"}
    process = import_module("harness.process")
    run = process.run
    monkeypatch.setattr(process, "run", lambda command: run(command, seconds=0.05))
    slow = tmp_path / "slow.jsonl"
    asked = ["run", "--tables", "wine", "--out", str(slow), "--method", "gnomon"]
    assert utility.main([*asked, "--splits", "1"]) == 0
    assert json.loads(slow.read_text())["refused"].startswith("exceeded")
    assert utility.main([*asked, "--splits", "3"]) == 0
    assert len(slow.read_text().splitlines()) == 1  # it is not tried again on that table


def test_budgets_of_other_tools_are_the_largest_that_keep_the_promise(
    utility: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks" / "peers"))
    protocol = import_module("protocol")
    mu = protocol.mu_of(1.0, 1e-6)
    kept = norm.cdf(-1 / mu + mu / 2) - math.e * norm.cdf(-1 / mu - mu / 2)
    assert kept == pytest.approx(1e-6, rel=1e-3)
    rho = protocol.rho_of(1.0, 1e-6)
    assert rho < mu**2 / 2  # the conversion of zCDP gives a little away
    assert rho == pytest.approx(mu**2 / 2, rel=0.2)


@pytest.mark.usefixtures("utility")
def test_exact_gaussians_have_the_moments_of_the_rows() -> None:
    Rows, gaussian_rows = import_module("harness.arrays").Rows, import_module("limits").gaussian_rows

    rng = np.random.default_rng(0)
    X = rng.exponential(size=(400, 2)) @ np.array([[1.0, 0.5], [0.0, 0.2]])
    y = np.repeat([0, 1], [100, 300])
    drawn = gaussian_rows(Rows(X, y), False, 1, 40_000, rng)
    assert np.bincount(drawn.y).tolist() == [10_000, 30_000]
    for c in (0, 1):
        real, found = X[y == c], drawn.X[drawn.y == c]
        assert np.allclose(found.mean(axis=0), real.mean(axis=0), atol=0.05)
        assert np.allclose(np.cov(found.T), np.cov(real.T), rtol=0.1)
    number = gaussian_rows(Rows(X, X[:, 0] * 2), True, 4, 1_000, rng)
    assert np.corrcoef(number.X[:, 0], number.y)[0, 1] > 0.999
