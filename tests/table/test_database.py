"""Databases without a server: SQLite by ADBC."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("adbc_driver_sqlite", reason="the extra gnomon[sql] is not installed")

import gnomon as gn
from gnomon.cli import main
from gnomon.errors import DataError, ParameterError
from gnomon.table.encode import Encoder


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    path = tmp_path / "a ward?.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE ward (age INTEGER, weight REAL, kind TEXT)")
        rows = [(i % 90, 50 + i % 7, "ab"[i % 2]) for i in range(5000)]
        connection.executemany("INSERT INTO ward VALUES (?, ?, ?)", rows)
    connection.close()
    return path


def test_a_table_and_a_query(ward: Path) -> None:
    table = gn.open_database(f"sqlite:///{ward}", table="ward")
    assert table.title == "ward"
    assert table.n_rows() == 5000
    assert pa.Table.from_batches(table.batches(["age"]))["age"][100].as_py() == 10
    query = gn.open_database(f"sqlite:///{ward}", query="SELECT kind, age FROM ward WHERE age < 10 ; ")
    assert query.names == ["kind", "age"]
    assert query.n_rows() == len([i for i in range(5000) if i % 90 < 10])


def test_a_change_between_two_reads_is_not_seen(ward: Path) -> None:
    with sqlite3.connect(ward) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        source = gn.open_database(f"sqlite:///{ward}", table="ward")
        before = pa.Table.from_batches(source.batches(["age", "kind"]))
        connection.execute("DELETE FROM ward WHERE age < 50")
        connection.commit()
        assert source.n_rows() == 5000
        assert pa.Table.from_batches(source.batches(["age", "kind"])).equals(before)
    connection.close()


def test_a_column_of_two_types_is_a_sentence_without_the_cell(tmp_path: Path) -> None:
    path = tmp_path / "mixed.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [(i,) for i in range(3000)] + [("1-800-SECRET",)])
    connection.close()
    with pytest.raises(DataError, match="cannot be read") as caught:
        list(gn.open_database(f"sqlite:///{path}", table="t").batches(["x"]))
    assert "SECRET" not in str(caught.value)


def test_a_cell_of_another_type_moves_no_other_row(tmp_path: Path) -> None:
    schema = gn.Schema.loads('[columns.x]\nkind = "number"\nlow = -10\nhigh = 10\nmissing = "indicator"\n')
    encoder = Encoder(schema)

    def encoded(*odd: object) -> np.ndarray:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t (x)")
            cells = [*np.random.default_rng(0).uniform(-10, 10, 2000).tolist(), 3, 2**62 + 1, *odd]
            connection.executemany("INSERT INTO t VALUES (?)", [(cell,) for cell in cells])
        connection.close()
        source = gn.open_database(f"sqlite:///{path}", table="t", schema=schema)
        return np.concatenate([encoder.encode(batch).cells for batch in source.batches(encoder.columns)])

    alone = encoded()
    for odd in ("oops", b"\xff", None, 2.5, float("inf"), "3"):
        assert (encoded(odd)[:-1] == alone).all(), repr(odd)


def test_from_the_command_line(ward: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"sqlite:///{ward}"
    assert main(["init", "--database", url, "--table", "ward", "--out", str(tmp_path / "draft.toml")]) == 0
    assert "[columns.weight]" in (tmp_path / "draft.toml").read_text()
    schema = tmp_path / "schema.toml"
    schema.write_text('[columns.age]\nkind = "number"\nlow = 0\nhigh = 90\n')
    assert main(["check", "--schema", str(schema), "--database", url, "--table", "ward"]) == 0
    told = [
        "release",
        "--schema",
        str(schema),
        "-e",
        "1",
        "--ledger",
        str(tmp_path / "l"),
        "--out",
        str(tmp_path / "o"),
    ]
    for wrong in (
        [],
        ["x.parquet", "--database", url],
        ["x.parquet", "--table", "ward"],
        ["--database", url],
    ):
        assert main([*told, *wrong]) == 2
    assert main([*told, "--database", url, "--table", "nope"]) == 2
    assert str(ward) not in capsys.readouterr().err
    assert main([*told, "--method", "ron-gauss", "--database", url, "--table", "ward"]) == 0


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://x/y", "must begin with postgresql:// or sqlite:///"),
        ("sqlite:////nowhere/x.db", "does not exist"),
        ("postgresql://u:p@[x", "cannot be read"),
        ("postgresql://u:hunter2@x/y", "holds a password"),
        ("postgresql://u:hunter2/3@x/y", "holds a password"),
        ("postgresql://u:hunter2#3@x/y", "holds a password"),
        ("postgresql://u@x/y?sslpassword=hunter2", "holds a password"),
        ("postgresql://u@x/y?%70assword=hunter2", "holds a password"),
        ("postgresql://u@x/y?oauth_client_secret=hunter2", "holds a password"),
        ("host=x password=hunter2", "must begin with postgresql:// or sqlite:///"),
    ],
)
def test_urls_that_cannot_be_used(url: str, sentence: str) -> None:
    with pytest.raises((ParameterError, DataError), match=sentence) as caught:
        gn.open_database(url, table="t")
    assert "hunter2" not in str(caught.value)


def test_a_sqlalchemy_engine(ward: Path) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    engine = sqlalchemy.create_engine(sqlalchemy.URL.create("sqlite", database=str(ward)))
    assert gn.open_database(engine, table="ward").n_rows() == 5000
    engine.dispose()


def test_cells_are_read_as_the_schema_says_that_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Codes for missing cells and words for true and false, as in a file."""
    path, schema = tmp_path / "coded.db", tmp_path / "schema.toml"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (x REAL, ill TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(1.0, "ja"), (-9.0, "nein")] * 50)
    connection.close()
    schema.write_text(
        '[columns.x]\nkind = "number"\nlow = 0\nhigh = 3\nmissing = "indicator"\nmissing_values = [-9]\n'
        '[columns.ill]\nkind = "boolean"\n'
    )
    url = f"sqlite:///{path}"
    assert main(["check", "--schema", str(schema), "--database", url, "--table", "t"]) == 0, (
        capsys.readouterr()
    )
    declared = gn.Schema.load(schema)
    method = gn.RonGauss(epsilon=np.inf, not_private=True, random_state=1, schema=declared)
    there = method.fit(gn.open_database(url, table="t", schema=declared)).answers_[0].value
    cells = pa.table({"x": [1.0, None] * 50, "ill": [True, False] * 50})
    assert np.array_equal(there, method.fit(cells).answers_[0].value)
