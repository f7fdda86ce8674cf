"""The experiments of DPRP: each for one small trial on generated tables, and what its lines mean."""

from __future__ import annotations

import csv
import json
import sys
from dataclasses import astuple
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.errors import DataError
from gnomon.methods.dprp_paper import Shares
from gnomon.reproduce import dprp, dprp_gans, dprp_printed, dprp_tuned, named, reproduce
from gnomon.table.column import Column

TABLE = "caesarian"


def cells(column: Column, rows: int, rng: np.random.Generator) -> pa.Array:
    if column.kind == "category":
        return pa.array([column.values[i] for i in rng.integers(0, len(column.values), rows)])
    if column.kind == "boolean":
        return pa.array(rng.random(rows) < 0.5)
    assert column.low is not None
    assert column.high is not None
    return pa.array(np.rint(rng.uniform(float(column.low), float(column.high), rows)))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    for folder in dprp_printed.NAMES:
        (tmp_path / folder).mkdir()
        columns = {c.name: cells(c, 40, rng) for c in dprp.declared(folder).released}
        pq.write_table(pa.table(columns), tmp_path / folder / "data.parquet")
    monkeypatch.setattr(dprp_printed, "NAMES", {TABLE: "Caesarian"})
    monkeypatch.setattr(dprp_printed, "KEPT", (40, 100))
    monkeypatch.setattr(dprp, "ROWS", (0.2, 0.8))
    monkeypatch.setattr(dprp, "ROW_SHARES", (0.03, 1.0))
    monkeypatch.setattr(dprp, "GUESSES", 2)
    return tmp_path


@pytest.mark.parametrize("name", [experiment.name for experiment in dprp.EXPERIMENTS])
def test_every_experiment_runs_and_fills_its_table(name: str, data: Path, tmp_path: Path) -> None:
    (experiment,) = named(name)
    results = reproduce(experiment, data, tmp_path / "out", trials=1)
    assert not results.errors
    with (tmp_path / "out" / name / "table.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert lines
    for line in lines:
        measured = bool(line["sound mean"] or line["paper mean"])
        assert measured != line["row"].endswith("the better GAN as printed")
    assert (tmp_path / "out" / name / "figure.png").exists() == (experiment.draw is not None)


def test_the_line_of_a_gan_holds_the_larger_printed_value(data: Path) -> None:
    printed = {(cell.row, cell.column): cell.printed for cell in dprp.table2(data)}
    assert printed["Caesarian, the better GAN as printed", "epsilon 8, accuracy"] == 0.53
    assert printed["Caesarian, the better GAN as printed", "epsilon 1, AUPRC"] == 0.49
    assert printed["Caesarian", "epsilon 8"] == {"accuracy": 0.56, "AUPRC": 0.71}


def test_a_split_changes_the_noise_of_the_rows(data: Path) -> None:
    train, _ = dprp.split(data, TABLE, 0)
    few, many = (dprp.printed_split(share, 0, dprp.declared(TABLE)) for share in (0.2, 0.8))
    assert (many.b1, many.b2, many.b3) == pytest.approx(astuple(Shares()))
    scales = []
    for method in (few, many):
        method.k1 = 8
        method.fit(train)
        scales.append(method.events_[0].scale)
    assert scales[0] > 3 * scales[1]  # a quarter of the budget


def test_what_is_kept_is_a_share_of_columns_and_labels() -> None:
    schema = dprp.declared(TABLE)  # 7 encoded columns and 2 labels
    assert dprp.keeping(40, "paper", 0, schema).n_components == 4
    assert dprp.keeping(40, "sound", 0, schema).n_components == 3
    assert dprp.keeping(100, "paper", 0, schema).n_components == 7


def test_a_trial_splits_the_same_rows_for_every_method(data: Path) -> None:
    first, second = (dprp.split(data, TABLE, 3) for _ in range(2))
    assert first[0].equals(second[0])
    assert (first[0].num_rows, first[1].num_rows) == (32, 8)
    assert not dprp.split(data, TABLE, 4)[1].equals(first[1])


def test_the_printed_noise_tells_which_epsilon_it_delivers(data: Path) -> None:
    paper, sound = (
        dprp.scored(data, TABLE, partial(dprp.as_described, 8.0, calibration), 0)
        for calibration in ("paper", "sound")
    )
    assert isinstance(paper, dict)
    assert isinstance(sound, dict)
    assert paper["epsilon delivered"] > 8
    assert "epsilon delivered" not in sound


STUB = """
import json, shutil, sys
for line in sys.stdin:
    asked = json.loads(line)
    domain = json.load(open(asked["folder"] + "/domain.json"))
    assert [one["size"] for one in domain] == [1001] * (len(domain) - 1) + [2]
    assert asked["delta"] == 1e-4
    shutil.copy(asked["folder"] + "/binned.parquet", asked["out"])  # a generator that has learnt everything
    print(json.dumps({"epsilon": asked["epsilon"], "noise_multiplier": 1.0, "cpu": 100.5}), flush=True)
"""


def test_the_gans_get_encoded_rows_and_a_forest_learns_from_theirs(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stub.py").write_text(STUB)
    monkeypatch.setattr(dprp_gans, "command", lambda: [sys.executable, str(tmp_path / "stub.py")])
    (experiment,) = named("dprp-gans")
    results = reproduce(experiment, data, tmp_path / "out", trials=1)
    assert not results.errors
    for epsilon in dprp_printed.EPSILONS:
        said = results.measure("Caesarian, DP-CGAN", f"epsilon {epsilon}", "sound", dprp_gans.ACCOUNTED)
        assert said is not None
        assert said.mean == epsilon
    learnt = results.measure("Caesarian, DPGAN", "epsilon 1", "sound", "accuracy")
    real = dprp.without_privacy(data, TABLE, 0)
    assert learnt is not None
    assert learnt.mean == pytest.approx(real["accuracy"])  # the rows came through the grid and back
    seconds = results.of(("Caesarian, DPGAN", "epsilon 1", "sound"))[0].seconds
    assert 100 < seconds < 150  # the program's own time counts


def test_tuned_gans_share_the_budget_and_the_best_setting_counts(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = STUB.replace(
        'assert asked["delta"] == 1e-4', f"open({str(tmp_path / 'asked')!r}, 'a').write(line)"
    )
    (tmp_path / "stub.py").write_text(told)
    monkeypatch.setattr(dprp_gans, "command", lambda: [sys.executable, str(tmp_path / "stub.py")])
    found = dprp_tuned.tuned(data, TABLE, "dpgan", 0)
    assert isinstance(found, dict)
    assert found["accuracy"] == pytest.approx(dprp.without_privacy(data, TABLE, 0)["accuracy"])
    asked = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    assert sum(one["epsilon"] for one in asked) == pytest.approx(dprp.EPSILON)
    assert sum(one["delta"] for one in asked) == pytest.approx(dprp.DELTA)
    assert [one["settings"]["epochs"] for one in asked] == [epochs for epochs, _ in dprp_tuned.SEARCHED]


def test_gans_without_their_environment_are_refused_before_anything_runs(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNOMON_PEERS", str(tmp_path / "nowhere"))
    (experiment,) = named("dprp-gans")
    with pytest.raises(DataError, match=r"environments\.py opacus' makes it"):
        reproduce(experiment, data, tmp_path / "out", trials=1)


def test_a_gan_that_fails_is_said_without_its_words(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stub.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(dprp_gans, "command", lambda: [sys.executable, str(tmp_path / "stub.py")])
    with pytest.raises(DataError, match="dpgan ended with the exit code 3"):
        dprp_gans.gan(data, TABLE, "dpgan", 1.0, 0)


@pytest.mark.parametrize("algorithm", ["dpgan", "dp-cgan"])
def test_opacus_keeps_the_epsilon_that_is_asked(algorithm: str, data: Path) -> None:
    try:
        dprp_gans.command()
    except DataError:
        pytest.skip(
            "the environment of Opacus is not installed: python benchmarks/peers/environments.py opacus"
        )
    found = dprp_gans.gan(data, TABLE, algorithm, 2.0, 0)
    assert 1.9 < found[dprp_gans.ACCOUNTED] <= 2.0
    assert found["noise multiplier"] > 1
