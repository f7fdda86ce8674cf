"""Tables of other systems, by their own libraries: Delta Lake, Iceberg, ibis, and connections of databases."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.cli import main
from gnomon.engine.committed import CommittedRows
from gnomon.engine.local import LOCAL
from gnomon.errors import DataError
from gnomon.methods import METHODS
from gnomon.table.encode import EncodedRows, Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries themselves
COLUMNS = ["x", "z", "kind", "y"]


@pytest.fixture
def rows(table: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(table[COLUMNS], preserve_index=False)


def answers(data: Any, schema: Schema) -> list[Any]:
    method = METHODS["ron-gauss"](epsilon=np.inf, not_private=True, random_state=1, schema=schema).fit(data)
    return [answer.value for answer in method.answers_]


def same(data: Any, rows: pa.Table, schema: Schema) -> bool:
    return all(
        np.array_equal(*pair) for pair in zip(answers(data, schema), answers(rows, schema), strict=True)
    )


# --- lakes ---


@pytest.fixture
def delta(rows: pa.Table, tmp_path: Path) -> Any:
    """A Delta table of some rows, whose files hold the deleted ones too."""
    deltalake = pytest.importorskip("deltalake", reason="the extra gnomon[lake] is not installed")
    for part in (rows.slice(0, 1500), rows.slice(1500)):
        deltalake.write_deltalake(str(tmp_path / "ward"), part, mode="append")
    found = deltalake.DeltaTable(str(tmp_path / "ward"))
    found.delete("x > 5")
    return found


def test_a_delta_table_holds_the_rows_of_its_version(
    delta: Any, rows: pa.Table, schema: Schema, tmp_path: Path
) -> None:
    kept = rows.filter(ds.field("x") <= 5)
    source = open_source(delta)
    assert source.n_rows() == kept.num_rows
    assert same(delta, kept, schema)
    delta.delete("x > 2")
    assert source.n_rows() == kept.num_rows
    assert sum(batch.num_rows for batch in source.batches(["x"])) == kept.num_rows


def test_a_folder_that_is_a_delta_table_is_read_by_its_log(
    delta: Any, rows: pa.Table, schema: Schema, tmp_path: Path
) -> None:
    (tmp_path / "schema.toml").write_text(schema.dumps())
    told = ["release", str(tmp_path / "ward"), "--schema", str(tmp_path / "schema.toml"), "-e", "1"]
    told += ["--method", "jl-laplace", "--ledger", str(tmp_path / "ledger"), "--out", str(tmp_path / "out")]
    assert main(told) == 0
    assert pq.read_metadata(tmp_path / "out" / "data.parquet").num_rows == sum(
        x <= 5 for x in rows["x"].to_pylist()
    )


def test_files_of_a_delta_table_are_read_by_workers(
    dask: Any, leftovers: Path, delta: Any, rows: pa.Table, schema: Schema
) -> None:
    source = open_source(delta)
    assert source.fragments(["x"])
    here, there = (EncodedRows(source, Encoder(schema), one) for one in (LOCAL, dask.engine_in(leftovers)))
    assert isinstance(there.kept, CommittedRows)
    cells = [np.concatenate([part.load().cells for part in one.parts()]) for one in (here, there)]
    assert np.array_equal(*cells)
    del there


def test_a_filter_of_a_dataset_is_never_lost_on_the_way_to_workers(rows: pa.Table, tmp_path: Path) -> None:
    pq.write_table(rows, tmp_path / "t.parquet", row_group_size=500)
    whole = ds.dataset(tmp_path / "t.parquet")
    fragments = open_source(whole).fragments(["x", "kind"])
    assert [one.rows for one in fragments] == [500] * 8
    read = pa.Table.from_batches([batch for one in fragments for batch in one.batches(200)])
    assert read.cast(rows.select(["x", "kind"]).schema).equals(rows.select(["x", "kind"]))
    assert not open_source(whole.filter(ds.field("x") > 5)).fragments(["x"])


def test_an_iceberg_table_holds_the_rows_of_its_snapshot(
    rows: pa.Table, schema: Schema, tmp_path: Path
) -> None:
    catalogs = pytest.importorskip("pyiceberg.catalog.sql", reason="the extra gnomon[lake] is not installed")
    catalog = catalogs.SqlCatalog(
        "c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/warehouse"
    )
    catalog.create_namespace("n")
    table = catalog.create_table("n.ward", schema=rows.schema)
    table.append(rows)
    table.delete("x > 5")
    kept = rows.filter(ds.field("x") <= 5)
    source = open_source(table)
    assert same(source, kept, schema)
    table.delete("x > 2")
    assert source.n_rows() == sum(batch.num_rows for batch in source.batches(["x"])) == kept.num_rows
    folder = next((tmp_path / "warehouse").rglob("metadata")).parent
    with pytest.raises(DataError, match=r"also hold deleted rows \(Iceberg or Hudi\)"):
        open_source(folder)


# --- ibis ---


def test_tables_of_ibis(rows: pa.Table, schema: Schema, tmp_path: Path) -> None:
    ibis = pytest.importorskip("ibis", reason="ibis is not installed")
    duckdb = pytest.importorskip("duckdb")
    with sqlite3.connect(tmp_path / "t.db") as connection:
        rows.to_pandas().to_sql("ward", connection, index=False)
    connection.close()
    with duckdb.connect(tmp_path / "t.duckdb") as own:
        own.register("given", rows)
        own.execute("CREATE TABLE ward AS SELECT * FROM given")
    kept = rows.filter(ds.field("x") > 5)
    backends = {
        "sqlite": ibis.sqlite.connect(tmp_path / "t.db"),
        "duckdb": ibis.duckdb.connect(tmp_path / "t.duckdb"),
        "polars": ibis.polars.connect(),
    }
    backends["polars"].create_table("ward", rows)
    for name, backend in backends.items():
        table = backend.table("ward")
        chosen = table.filter(table.x > 5)
        assert open_source(chosen).n_rows() == kept.num_rows, name
        assert same(chosen, kept, schema), name


# --- connections ---


def test_connections_of_other_libraries(rows: pa.Table, schema: Schema, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "it's.db"
    own = sqlite3.connect(path)
    rows.to_pandas().to_sql("ward", own, index=False)
    own.commit()
    assert same(gn.open_database(own, table="ward", schema=schema), rows, schema)
    own.execute("DELETE FROM ward")  # not committed, so not seen
    assert gn.open_database(own, table="ward").n_rows() == rows.num_rows
    own.close()
    with duckdb.connect() as connection:
        connection.register("ward", rows)
        assert same(gn.open_database(connection, query="SELECT * FROM ward;"), rows, schema)
        with pytest.raises(DataError, match="cannot be read"):
            gn.open_database(connection, table="nowhere")
    memory = sqlite3.connect(":memory:")
    with pytest.raises(DataError, match="in memory has one connection only"):
        gn.open_database(memory, table="ward")
    memory.close()
