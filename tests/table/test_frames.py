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

import gnomon as gn
from gnomon.errors import DataError
from gnomon.table.encode import Encoder
from gnomon.table.fingerprint import content_print
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
KEY = bytes(range(32))
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
        assert np.array_equal(np.concatenate([part.codes for part in encoded]), expected.codes)
    assert isinstance(source.like(encoder.decode(expected.X, expected.codes)), kind)
    assert content_print(source, SCHEMA, KEY) == content_print(open_source(TABLE), SCHEMA, KEY)
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
    declared = Schema.of_arrays(3, (-9, 9), classes=["a", "b"])
    print_of = content_print(source, declared, KEY)
    assert content_print(open_source((X, y)), declared, KEY) == print_of
    assert content_print(open_source(np.asfortranarray(X), y), declared, KEY) == print_of
    assert open_source(X[:0]).n_rows() == 0
    assert open_source(X[:0]).names == ["x0", "x1", "x2"]


def test_arrays_take_their_names_from_the_schema() -> None:
    schema = Schema.of_arrays(2, (0, 1), classes=[0, 1], names=["age", "height"])
    assert open_source([[1, 2], [3, 4]], [0, 1], schema).names == ["age", "height", "y"]
    with pytest.raises(DataError, match="X has 3 features, but gnomon is expecting 2"):
        open_source(np.zeros((4, 3)), schema=schema)


def test_masked_cells_of_an_array_are_missing() -> None:
    masked = np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]])
    batch = next(open_source(masked).batches(["x0", "x1"]))
    assert np.isnan(batch["x1"].to_numpy()[0])


@pytest.mark.parametrize(
    ("data", "y", "sentence"),
    [
        (np.zeros(5), None, r"2D array, rows and columns, got the shape .5,. instead"),
        (np.zeros((5, 0)), None, "0 feature"),
        (np.zeros((5, 2)), np.zeros(4), r"one value per row, the shape .5,.. Got .4,. instead"),
        (pa.table({"a": [1]}), [1], "argument y is for arrays and frames"),
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


def test_one_cell_does_not_keep_a_frame_or_an_array_from_being_read() -> None:
    """Objects of several types are read as text, each cell as it would be alone; cells of an array as numbers."""
    mixed = pd.DataFrame({"a": [1, 2.5, True, None, "x", 3.0] * 400, "b": 1}, dtype=object)
    cells = [
        cell for batch in open_source(mixed).batches(["a"], rows=1000) for cell in batch["a"].to_pylist()
    ]
    assert cells == ["1", "2.5", "1", None, "x", "3"] * 400
    X, y = np.array([[1, "x"], [2.5, None]], dtype=object), np.array([1, "b"], dtype=object)
    batch = next(open_source(X, y).batches(["x0", "x1", "y"]))
    assert batch["x0"].to_pylist() == [1.0, 2.5]
    assert np.isnan(batch["x1"].to_numpy()).all()
    assert batch["y"].to_pylist() == ["1", "b"]


def test_failures_of_a_library_do_not_quote_a_cell() -> None:
    failing = [
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
from gnomon.table.fingerprint import content_print
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

schema = Schema.of_arrays(1, (0, 1), classes=["a", "b"])
source = open_source(sys.argv[1], schema=schema)
encoder = Encoder(schema)
for batch in source.batches(encoder.columns):
    decoded = encoder.decode(encoder.matrix(batch), encoder.encode_target(batch))
    print(source.like(decoded).to_pylist(), len(content_print(source, schema, bytes(32))))
"""


def test_frame_libraries_are_optional(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x0": [0.5], "y": ["b"]}), tmp_path / "t.parquet")
    command = [sys.executable, "-c", WITHOUT_LIBRARIES, str(tmp_path / "t.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[{'x0': 0.5, 'y': 'b'}] 81\n", "")


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


def numbers(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"a": rng.random(n), "b": rng.random(n)}, index=np.arange(n)[::-1])


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")  # a small class may drown
@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_frames_work_where_arrays_do(make: Callable[[pd.DataFrame], Any]) -> None:
    """The same table as an array and as a frame: the same rows, the frame with its own names."""
    frame = numbers()
    y = pd.Series(np.where(frame["a"] > 0.5, "yes", "no"), index=np.arange(len(frame)))
    method = gn.RonGauss(epsilon=1.0, bounds=(0, 1), classes=["no", "yes"], random_state=0).fit(
        make(frame), y
    )
    released = method.sample(20)
    assert list(released.columns) == ["a", "b", "y"]
    source = open_source((make(frame), y), schema=method.schema_)
    as_array = open_source(frame.to_numpy(), y, Schema.of_arrays(2, (0, 1), classes=["no", "yes"]))
    for name, other in (("a", "x0"), ("b", "x1"), ("y", "y")):
        assert next(source.batches([name]))[0].to_pylist() == next(as_array.batches([other]))[0].to_pylist()


def test_a_target_that_a_frame_has_already_is_not_given_twice() -> None:
    with pytest.raises(DataError, match="target 'y' is in the table already; leave out y"):
        open_source(pd.DataFrame({"y": [1.0]}), [1])
    with pytest.raises(DataError, match="y is for arrays and frames"):
        open_source(pa.table({"a": [1]}), [1])
    with pytest.raises(DataError, match="one value per row"):
        open_source(pd.DataFrame({"a": [1.0]}), [1, 2])
