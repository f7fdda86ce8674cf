"""Rows kept back: independent coins, written once, readable by the owner only, and neighbours stay neighbours."""

from __future__ import annotations

import hashlib
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.cli import main
from gnomon.errors import DataError, OutputError, ParameterError
from gnomon.release.holdout import Holdout, hold_out, holdout_of, place_of
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

SCHEMA = Schema.loads(
    """
format = 2
[table]
name = "ward"
[table.csv]
delimiter = ";"
decimal = ","
[columns.age]
kind = "number"
low = 0
high = 100
[columns.ill]
kind = "boolean"
true = ["J"]
false = ["N"]
missing = "indicator"
[columns.seen]
kind = "date"
date_format = "%d.%m.%Y"
low = 2020-01-01
high = 2025-12-31
[columns.ward]
kind = "category"
values = ["north", "south"]
other = "south"
"""
)


def rows(n: int, seed: int = 1) -> list[tuple[str, ...]]:
    rng = np.random.default_rng(seed)
    return [
        (
            f"{rng.uniform(0, 100):.3f}".replace(".", ",") if rng.random() > 0.05 else "unknown",
            str(rng.choice(["J", "N", ""])),
            f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.{rng.integers(2020, 2026)}",
            str(rng.choice(["north", "south", "tent"])),
        )
        for _ in range(n)
    ]


def written(path: Path, cells: list[tuple[str, ...]]) -> Path:
    path.write_text("\n".join(";".join(row) for row in [("age", "ill", "seen", "ward"), *cells]) + "\n")
    return path


def split(
    path: Path, out: Path, share: float = 0.2, coins: object = None, schema: Schema = SCHEMA
) -> Holdout:
    source = open_source(path, schema=schema)
    more = {} if coins is None else {"coins": coins}
    return hold_out(source, schema, share, out, "print", **more)  # type: ignore[arg-type]


def encoded(path: Path, schema: Schema) -> Counter[tuple[float, ...]]:
    encoder = Encoder(schema)
    source = open_source(path, schema=schema)
    found: Counter[tuple[float, ...]] = Counter()
    for batch in source.batches(encoder.columns):
        found.update(map(tuple, encoder.matrix(batch).tolist()))
    return found


def test_two_parts_hold_every_row_once_and_only_the_owner_reads_them(tmp_path: Path) -> None:
    table = written(tmp_path / "ward.csv", rows(1000))
    kept = split(table, tmp_path / "out")
    parts = [encoded(path, SCHEMA.as_released()) for path in (kept.released, kept.held)]
    assert parts[0] + parts[1] == encoded(
        table, SCHEMA
    )  # the form of the file is gone, the cells are the same
    assert 120 < parts[1].total() < 280  # 6 sigma
    for path in (kept.folder, *kept.folder.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert kept.folder == place_of(tmp_path / "out")
    assert kept.folder.parent == tmp_path


def test_neighbours_stay_neighbours_with_the_same_coins(tmp_path: Path) -> None:
    """The proof's coupling, on files: one record replaced, wherever it is stored, changes one row of one part."""
    cells = rows(400)
    fixed = np.random.default_rng(3).integers(0, 2**63, 400, dtype=np.uint64) * np.uint64(2)
    for place in (0, 17, 399):
        other = list(cells)
        other[place] = ("99,9", "J", "01.02.2023", "north")
        folder = tmp_path / str(place)
        folder.mkdir()
        parts = []
        for name, table in (("a", cells), ("b", other)):
            kept = split(written(folder / f"{name}.csv", table), folder / name, coins=lambda n: fixed[:n])
            parts.append([encoded(path, SCHEMA.as_released()) for path in (kept.released, kept.held)])
        (one, held), (two, held_too) = parts
        assert one.total() == two.total()  # what is published as n
        differing = sum(((one - two) + (held - held_too)).values())
        assert differing <= 1
        assert (one == two) or (held == held_too)


def test_a_coin_by_content_would_change_the_number_of_released_rows() -> None:
    """Why the coin may not look at the record: this pair would be told apart by n alone."""

    def by_content(values: list[int]) -> int:
        return sum(hashlib.blake2b(str(value).encode()).digest()[0] % 5 != 0 for value in values)

    base = list(range(50))
    counts = {by_content([*base[1:], x]) for x in range(50, 90)}
    assert len(counts) > 1


def test_coins_are_fresh_fair_and_independent_of_order(tmp_path: Path) -> None:
    """Where a row stands says nothing: over many splits each row is kept back as often as any other."""
    cells = [(f"{i},0", "J", "01.01.2021", "north") for i in range(40)]
    table = written(tmp_path / "ward.csv", cells)
    counts = np.zeros(40)
    repeats = 200
    for i in range(repeats):
        kept = split(table, tmp_path / f"out{i}", 0.5)
        for value in pq.read_table(kept.held)["age"].to_pylist():
            counts[int(float(value))] += 1
    assert abs(counts - repeats / 2).max() < 6.5 * (repeats / 4) ** 0.5


def test_persons_fall_together_whoever_else_is_there(tmp_path: Path) -> None:
    text = SCHEMA.dumps().replace(
        'name = "ward"\n', 'name = "ward"\nrows = 1000\nperson = "patient"\nrows_per_person = 5\n', 1
    )
    schema = Schema.loads(text + '\n[columns.patient]\nkind = "identifier"\n')
    rng = np.random.default_rng(2)
    persons = rng.integers(0, 200, 1000)
    table = pa.table(
        {
            "age": rng.uniform(0, 100, 1000),
            "ill": rng.random(1000) < 0.5,
            "seen": pa.array(["01.02.2021"] * 1000),
            "ward": rng.choice(["north", "south"], 1000),
            "patient": persons,
        }
    )
    pq.write_table(table, tmp_path / "ward.parquet")
    kept = split(tmp_path / "ward.parquet", tmp_path / "out", schema=schema)
    one, two = (set(pq.read_table(path)["patient"].to_pylist()) for path in (kept.released, kept.held))
    assert not one & two
    assert one | two == set(persons.tolist())
    assert 10 < len(two) < 80


def test_cells_of_two_types_are_text_in_both_parts(tmp_path: Path) -> None:
    """A text file whose column is numbers until a cell is none, past the first batch."""
    n = 70_000
    schema = gn.Schema.of_arrays(1, (0.0, 1e6))
    lines = [*map(str, range(n)), "none", *map(str, range(5))]
    (tmp_path / "x.csv").write_text("x0\n" + "\n".join(lines) + "\n")
    source = open_source(tmp_path / "x.csv", schema=schema)
    kept = hold_out(source, schema, 0.3, tmp_path / "out", "print")
    total = sum(pq.read_metadata(path).num_rows for path in (kept.released, kept.held))
    assert total == len(lines)


def test_a_split_is_found_again_and_another_is_refused(tmp_path: Path) -> None:
    table = written(tmp_path / "ward.csv", rows(300))
    kept = split(table, tmp_path / "out")
    assert split(table, tmp_path / "out") == kept == holdout_of(tmp_path / "out")
    with pytest.raises(OutputError, match="holds another split"):
        split(table, tmp_path / "out", 0.3)
    with pytest.raises(ParameterError, match="share between 0 and 1"):
        split(table, tmp_path / "other", 1.5)
    with pytest.raises(DataError, match="too few rows"):
        split(written(tmp_path / "two.csv", rows(2)), tmp_path / "two")
    assert not place_of(tmp_path / "two").exists()


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_private_number_of_rows_refuses_no_split(
    n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under add/remove whether there is a release would tell two tables of few rows apart."""
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    table = pa.table({"age": np.full(n, 50.0)})
    schema = Schema.loads(
        '[table]\nname = "w"\nrows = 50\n[columns.age]\nkind = "number"\nlow = 0\nhigh = 99\n'
    )
    named = {"schema": schema, "epsilon": 1.0, "method": "ron-gauss", "even_if_useless": True, "holdout": 0.5}
    done = gn.publish(table, tmp_path / "out", **named, adjacency="add-remove")
    assert done.method.certificate_.holds
    kept = holdout_of(tmp_path / "out")
    assert kept is not None
    assert sum(pq.read_metadata(part).num_rows for part in (kept.released, kept.held)) == n
    with pytest.raises(DataError, match=r"too few rows|at least 2"):
        gn.publish(table, tmp_path / "public", **named)


def test_a_release_with_a_holdout_and_its_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    table = written(tmp_path / "ward.csv", rows(600))
    SCHEMA.with_target("ward").save(tmp_path / "schema.toml")
    out = tmp_path / "out"
    options = [
        "--schema",
        str(tmp_path / "schema.toml"),
        "--epsilon",
        "2",
        "--delta",
        "1e-5",
        "--out",
        str(out),
    ]
    assert main(["release", str(table), *options, "--holdout", "0.2"]) == 0, capsys.readouterr()
    told = capsys.readouterr().out
    assert "Kept back for you alone" in told
    kept = holdout_of(out)
    assert kept is not None
    opened = gn.open_release(out)
    assert opened.certificate.rows == pq.read_metadata(kept.released).num_rows < 600
    assert not any("holdout" in path.name for path in out.iterdir())
    assert main(["evaluate", "--release", str(out), "--out", str(tmp_path / "worth"), "--trials", "2"]) == 0
    assert gn.Ledger().show("ward").epsilon_spent == 2.0


def test_a_refusal_leaves_no_rows_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    table = written(tmp_path / "ward.csv", rows(600))
    SCHEMA.save(tmp_path / "schema.toml")
    ledger = gn.Ledger()
    ledger.cap("ward", 0.5)
    options = ["--schema", str(tmp_path / "schema.toml"), "--epsilon", "2", "--out", str(tmp_path / "out")]
    assert main(["release", str(table), *options, "--holdout", "0.2"]) == 3
    assert not place_of(tmp_path / "out").exists()
