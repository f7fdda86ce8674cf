"""Rows under a condition: all of them fit, their law is that of the model, and what the model lacks is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.cli import main
from gnomon.errors import ParameterError
from gnomon.model import conditional
from gnomon.model.conditional import Condition, conditional_batches
from gnomon.release.folder import write_release
from gnomon.table.schema import Schema

SCHEMA = Schema.loads(
    """
format = 2
[table]
name = "ward"
[columns.ward]
kind = "category"
values = ["north", "south", "tent"]
[columns.age]
kind = "number"
low = 0
high = 100
integer = true
[columns.stay]
kind = "number"
low = 0
high = 30
missing = "indicator"
[columns.ill]
kind = "boolean"
role = "target"
"""
)


def drawn(n: int, seed: int) -> Iterator[pa.Table]:
    """A law that is known: ward and age decide the share of the ill; nobody lies in a tent."""
    rng = np.random.default_rng(seed)
    north = rng.random(n) < 0.3
    age = rng.integers(0, 101, n)
    ill = rng.random(n) < np.where(north, 0.8, 0.2) * (age >= 50)
    yield pa.table(
        {
            "ward": np.where(north, "north", "south"),
            "age": age,
            "stay": pa.array(rng.uniform(0, 30, n), mask=rng.random(n) < 0.1),
            "ill": ill,
        }
    )


def rows(given: dict[str, object], n: int = 20_000, seed: int = 1) -> pa.Table:
    return pa.concat_tables(conditional_batches(drawn, Condition.of(SCHEMA, given), n, seed))


def test_rows_fit_and_keep_the_law_of_the_model() -> None:
    north = rows({"ward": "north"})
    assert set(north["ward"].to_pylist()) == {"north"}
    assert np.mean(north["ill"].to_pylist()) == pytest.approx(0.8 * 51 / 101, abs=0.025)  # 7 sigma
    old = rows({"ward": ["north"], "age": (50, None)})
    assert min(old["age"].to_pylist()) == 50
    assert np.mean(old["ill"].to_pylist()) == pytest.approx(0.8, abs=0.02)
    sick = rows({"ill": True})
    expected = 0.3 * 0.8 / (0.3 * 0.8 + 0.7 * 0.2)
    assert np.mean([ward == "north" for ward in sick["ward"].to_pylist()]) == pytest.approx(
        expected, abs=0.025
    )
    assert rows({"stay": None}, 100)["stay"].null_count == 100
    assert rows({"stay": (10, 12)}, 100)["stay"].null_count == 0


def test_the_same_seed_gives_the_same_rows_and_the_number_is_kept() -> None:
    assert rows({"ward": "north"}, 333).equals(rows({"ward": "north"}, 333))
    assert not rows({"ward": "north"}, 333).equals(rows({"ward": "north"}, 333, seed=2))
    assert rows({"ward": "north"}, 333).num_rows == 333


def test_what_the_model_lacks_is_refused_with_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditional, "MOST", 2**14)
    with pytest.raises(ParameterError, match=r"no rows with ward = 'tent', or too few to draw: 0 in"):
        rows({"ward": "tent"}, 1)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"bed": 3}, "has no column 'bed'"),
        ({"ward": "west"}, "names 'west', which is no declared value of 'ward'"),
        ({"age": 200}, "no declared value of 'age'"),
        ({"age": (60, 50)}, "a low above its high"),
        ({}, "must map columns to values"),
        ({"ward": []}, "names no value of 'ward'"),
    ],
)
def test_what_cannot_be_given_is_a_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        Condition.of(SCHEMA, given)
    assert sentence in str(refusal.value)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = pa.concat_tables(drawn(3000, 4))
    out = tmp_path_factory.mktemp("given") / "out"
    ledger = gn.Ledger(out.with_name("ledger.sqlite"))
    method = gn.Synthesizer(5.0, 1e-6, schema=SCHEMA, random_state=3).fit(table, ledger=ledger)
    write_release(method, out)
    assert set(method.sample(50, given={"ward": "north"})["ward"].to_pylist()) == {"north"}
    return out


def test_an_analyst_draws_from_the_folder(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = gn.open_release(release)
    assert opened.sample(70, random_state=1, given={"ward": "north", "ill": True}).num_rows == 70
    out = tmp_path / "north.parquet"
    options = ["--rows", "40", "--given", "ward=north", "--given", "age=60..80", "--given", "ill=true"]
    assert main(["sample", str(release), *options, "--out", str(out)]) == 0, capsys.readouterr()
    table = pq.read_table(out)
    assert set(table["ward"].to_pylist()) == {"north"}
    assert all(60 <= age <= 80 for age in table["age"].to_pylist())
    assert (
        main(["sample", str(release), "--rows", "9", "--given", "bed=1", "--out", str(tmp_path / "x.csv")])
        == 2
    )
    assert "--given must be NAME=VALUE with a column of the release" in capsys.readouterr().err
    assert main(["sample", str(release), "--rows", "9", "--out", str(tmp_path / "x.csv")]) == 0
    assert len((tmp_path / "x.csv").read_text().splitlines()) == 10
