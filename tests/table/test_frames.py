"""Tables in memory and in engines: the same rows in, the same type out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from gnomon.errors import DataError
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

SCHEMA = Schema.loads("""
[columns."a b"]
kind = "number"
low = -5
high = 5
missing = "indicator"

[columns.ward]
kind = "category"
values = ["north", "south"]

[columns.when]
kind = "date"
low = 2020-01-01T00:00:00
high = 2020-12-31T00:00:00

[columns.y]
kind = "boolean"
role = "target"
""")
N = 500
RNG = np.random.default_rng(1)
TABLE = pa.table(
    {
        "a b": pa.array(RNG.normal(size=N), mask=RNG.random(N) < 0.1),
        "ward": RNG.choice(["north", "south"], N).tolist(),
        "when": pa.array(np.datetime64("2020-01-01", "us") + np.arange(N) * 10**9),
        "y": RNG.random(N) < 0.5,
        "key": np.arange(N),
    }
)


class Stream:
    """An object of no known library that exports itself as Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


MAKERS: dict[str, tuple[Callable[[], Any], type]] = {
    "arrow": (lambda: TABLE, pa.Table),
    "record batch": (lambda: TABLE.combine_chunks().to_batches()[0], pa.Table),
    "dataset": (lambda: pa.dataset.dataset(TABLE), pa.Table),
    "stream": (Stream, pa.Table),
    "pandas": (lambda: TABLE.to_pandas(), pd.DataFrame),
    "pandas arrow": (lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype), pd.DataFrame),
    "polars": (lambda: pl.from_arrow(TABLE), pl.DataFrame),
    "polars lazy": (lambda: pl.from_arrow(TABLE).lazy(), pl.LazyFrame),  # type: ignore[union-attr]
    "duckdb": (lambda: duckdb.from_arrow(TABLE), duckdb.DuckDBPyRelation),
}


@pytest.mark.parametrize("name", MAKERS)
def test_every_frame_gives_the_same_rows_and_its_own_type_back(name: str) -> None:
    make, kind = MAKERS[name]
    source = open_source(make(), schema=SCHEMA)
    assert source.names == TABLE.column_names
    assert source.n_rows() == N
    encoder = Encoder(SCHEMA)
    expected = encoder.encode(TABLE)
    for rows in (64, 65536):  # a source can be read again
        batches = list(source.batches(encoder.columns, rows))
        assert all(batch.num_rows <= rows for batch in batches)
        encoded = [encoder.encode(batch) for batch in batches]
        assert np.array_equal(np.vstack([part.X for part in encoded]), expected.X)
        assert np.array_equal(np.concatenate([part.y for part in encoded]), expected.y)
    assert isinstance(source.like(encoder.decode(*expected)), kind)
    assert open_source(make()).fingerprint() == source.fingerprint()
    with pytest.raises(DataError, match="no column 'height'; its columns are a b, ward"):
        list(source.batches(["height"]))


def test_what_goes_back_holds_what_was_decoded() -> None:
    decoded = pa.table({"n": [1, 2], "w": ["x", None]})
    assert open_source(pl.DataFrame({"q": [1]})).like(decoded).to_dict(as_series=False) == decoded.to_pydict()
    assert (
        open_source(pl.LazyFrame({"q": [1]})).like(decoded).collect().to_dict(as_series=False)
        == decoded.to_pydict()
    )
    assert open_source(duckdb.sql("select 1 as q")).like(decoded).fetchall() == [(1, "x"), (2, None)]
    assert open_source(pd.DataFrame({"q": [1]})).like(decoded)["n"].tolist() == [1, 2]


def test_fingerprints_see_content_and_not_chunks() -> None:
    table = TABLE.combine_chunks()
    chunked = pa.concat_tables([table.slice(0, 7), table.slice(7)])
    print_of = open_source(table).fingerprint()
    assert open_source(chunked).fingerprint() == print_of
    coded = table.set_column(1, "ward", table["ward"].dictionary_encode())
    assert open_source(coded).fingerprint() == print_of
    swapped = table.take(pa.array([1, 0, *range(2, N)]))
    assert open_source(swapped).fingerprint() != print_of
    assert open_source(table.rename_columns(["c", "ward", "when", "y", "key"])).fingerprint() != print_of
    # Moving a cell boundary or a null keeps the bytes and changes the content.
    left, right = pa.table({"s": ["ab", "c"]}), pa.table({"s": ["a", "bc"]})
    assert open_source(left).fingerprint() != open_source(right).fingerprint()
    left, right = pa.table({"s": [1, None, 2]}), pa.table({"s": [1, 2, None]})
    assert open_source(left).fingerprint() != open_source(right).fingerprint()
    odd = pa.table({"l": [[1, 2], None], "d": pa.array([1, 2], pa.duration("s")), "b": [b"x", b"yz"]})
    assert open_source(odd).fingerprint() == open_source(odd.slice(0)).fingerprint()


def test_arrays() -> None:
    X = RNG.normal(size=(100, 3)).astype(np.float32)
    y = RNG.choice(["a", "b"], 100)
    source = open_source(X, y)
    assert source.names == ["x0", "x1", "x2", "y"]
    assert source.n_rows() == 100
    table = pa.Table.from_batches(list(source.batches(source.names, rows=30)))
    assert np.array_equal(table["x1"].to_numpy(), X[:, 1])
    assert table["y"].to_pylist() == y.tolist()
    back_X, back_y = source.like(table)
    assert np.array_equal(back_X, X)
    assert back_X.dtype == np.float32
    assert back_y.tolist() == y.tolist()
    assert np.array_equal(open_source(X).like(table.drop_columns("y")), X)
    assert open_source((X, y)).fingerprint() == source.fingerprint()
    assert open_source(np.asfortranarray(X), y).fingerprint() == source.fingerprint()
    assert open_source(X[:0]).n_rows() == 0
    assert open_source(X[:0]).names == ["x0", "x1", "x2"]


def test_arrays_take_their_names_from_the_schema() -> None:
    schema = Schema.of_arrays(2, (0, 1), classes=[0, 1], names=["age", "height"])
    assert open_source([[1, 2], [3, 4]], [0, 1], schema).names == ["age", "height", "y"]
    with pytest.raises(DataError, match="The array has 3 columns and the schema 2 features"):
        open_source(np.zeros((4, 3)), schema=schema)


def test_masked_cells_of_an_array_are_missing() -> None:
    masked = np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]])
    batch = next(open_source(masked).batches(["x0", "x1"]))
    assert np.isnan(batch["x1"].to_numpy()[0])


@pytest.mark.parametrize(
    ("data", "y", "sentence"),
    [
        (np.zeros(5), None, r"rows and columns .n, d.. Got the shape .5,. instead"),
        (np.zeros((5, 0)), None, "rows and columns"),
        (np.zeros((5, 2)), np.zeros(4), r"one value per row, the shape .5,.. Got .4,. instead"),
        (np.array([["a", "b"]]), None, "must hold numbers only"),
        (pd.DataFrame({"a": [1]}), [1], "argument y is for arrays"),
        (pd.DataFrame([[1, 2]]), None, "column name that is not text .0."),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            None,
            "two columns of the same name|more than one column 'a'",
        ),
        (pa.table([[1], [2]], names=["a", "a"]), None, "more than one column 'a'"),
        (pa.RecordBatchReader.from_batches(TABLE.schema, []), None, "can be read only once"),
        (3, None, "table of type 'int' cannot be read; give a path"),
        (None, None, "table of type 'NoneType' cannot be read; give a path"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(data: Any, y: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        open_source(data, y)


def test_failures_of_a_library_do_not_quote_a_cell() -> None:
    mixed = pd.DataFrame({"a": [1] * 2000 + ["secret"]}, dtype=object)
    failing = [
        open_source(mixed),
        open_source(pl.LazyFrame({"a": ["secret"]}).select(pl.col("a").cast(pl.Int64))),
        open_source(duckdb.sql("select cast(a as integer) as a from (values ('secret')) t(a)")),
    ]
    for source in failing:
        with pytest.raises(DataError, match="cannot be read as Arrow data") as caught:
            list(source.batches(["a"]))
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


WITHOUT_LIBRARIES = """
import sys



class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "duckdb"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Absent())
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

schema = Schema.of_arrays(1, (0, 1), classes=["a", "b"])
source = open_source(sys.argv[1], schema=schema)
encoder = Encoder(schema)
for batch in source.batches(encoder.columns):
    print(source.like(encoder.decode(*encoder.encode(batch))).to_pylist(), len(source.fingerprint()))
"""


def test_frame_libraries_are_optional(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x0": [0.5], "y": ["b"]}), tmp_path / "t.parquet")
    command = [sys.executable, "-c", WITHOUT_LIBRARIES, str(tmp_path / "t.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[{'x0': 0.5, 'y': 'b'}] 64\n", "")


def test_opening_a_file_loads_no_frame_library(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x0": [0.5]}), tmp_path / "t.parquet")
    code = (
        "import sys, gnomon.table.encode; from gnomon.table.source import open_source;"
        "list(open_source(sys.argv[1]).batches(['x0']));"
        "print([m for m in ('pandas', 'polars', 'duckdb') if m in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "t.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_polars_too_old_to_read_queries_in_batches_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    query = pl.LazyFrame({"a": [1.0]})
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    with pytest.raises(DataError, match=r"from polars 1\.34 on"):
        open_source(query)
