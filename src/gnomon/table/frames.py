"""Tables in memory and in engines: Arrow, pandas, polars, duckdb, arrays, anything that speaks Arrow.

No frame library is imported here: narwhals recognises an object only when its library is already loaded.
"""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from gnomon.errors import DataError
from gnomon.table.base import Source, reading, unique_names
from gnomon.table.column import value_key
from gnomon.table.schema import Schema


@dataclass(frozen=True)
class DatasetFragment:
    """A row group of a dataset, which a worker finds in the same file system."""

    fragment: Any
    schema: pa.Schema
    rows: int
    columns: tuple[str, ...]

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        label, left = "A file of the dataset", self.rows
        with reading(label):
            for batch in self.fragment.to_batches(self.schema, columns=list(self.columns), batch_size=rows):
                left -= batch.num_rows
                yield batch
            if left:
                raise DataError(f"{label} has changed since the start of the release; keep it as it is.")


def _rows_of(fragment: Any) -> int:
    """Of its row groups: `count_rows` counts the whole file."""
    return sum(int(group.num_rows) for group in fragment.row_groups)


def _travels(fragments: Sequence[DatasetFragment]) -> bool:
    """Whether the first can be sent to a worker, which a file system of one process cannot."""
    try:
        pickle.dumps(fragments[:1])
    except Exception:
        return False
    return True


class ArrowSource(Source):
    """A pyarrow Table, a RecordBatch or a Dataset (which may be larger than memory)."""

    kind = "arrow"

    def __init__(self, data: Any) -> None:
        self._data = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
        unique_names(self.names, self.label)

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._data.schema

    def n_rows(self) -> int:
        return int(self._data.num_rows if isinstance(self._data, pa.Table) else self._data.count_rows())

    def fragments(self, columns: Sequence[str]) -> Sequence[DatasetFragment]:
        """The row groups of a dataset of Parquet files; none where it has a filter, which a fragment does not know."""
        if isinstance(self._data, pa.Table) or getattr(self._data, "format", None) is None:
            return ()
        if self._data.format.default_extname != "parquet":
            return ()
        try:
            files = list(self._data.get_fragments())
        except ValueError:  # of a filtered dataset
            return ()
        with reading(self.label):
            schema, names = self._data.schema, tuple(columns)
            groups = [group for file in files for group in file.split_by_row_group()]
            found = [DatasetFragment(one, schema, _rows_of(one), names) for one in groups]
        return found if _travels(found) else ()

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterable[pa.RecordBatch]:
        if isinstance(self._data, pa.Table):
            return self._data.select(columns).to_batches(max_chunksize=rows)  # type: ignore[no-any-return]
        return self._data.to_batches(columns=columns, batch_size=rows)  # type: ignore[no-any-return]


class StreamSource(Source):
    """An object that exports itself as an Arrow stream each time it is asked."""

    kind = "arrow-stream"

    def __init__(self, data: Any) -> None:
        self._data = data
        with reading(self.label):
            self._schema = pa.RecordBatchReader.from_stream(data).schema
        unique_names(self.names, self.label)

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    def n_rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches(self.names[:1]))

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterable[pa.RecordBatch]:
        return pa.RecordBatchReader.from_stream(self._data)  # type: ignore[no-any-return]


class FrameSource(Source):
    """An eager frame of any library that narwhals knows: pandas, polars, modin, cudf."""

    def __init__(self, frame: nw.DataFrame[Any]) -> None:
        self._frame = frame
        self.kind = frame.implementation.value
        unique_names(frame.columns, self.label)
        with reading(self.label):
            # pandas knows the type of an object column only from cells.
            self._schema = _to_arrow(frame.head(1000 if frame.implementation.is_pandas_like() else 0)).schema

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    def n_rows(self) -> int:
        return len(self._frame)

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        frame = self._frame.select(columns)
        for start in range(0, len(frame), rows):
            yield from _to_arrow(frame[start : start + rows]).to_batches()

    def form(self) -> Callable[[pa.Table], Any]:
        return partial(_as_frame, self._frame.implementation)


class PolarsLazySource(Source):
    """A polars query, run batch by batch."""

    kind = "polars-lazy"

    def __init__(self, native: Any) -> None:
        if not hasattr(native, "collect_batches"):
            raise DataError(
                "A polars query can be read in batches from polars 1.34 on; update polars, or give its collect()."
            )
        self._lazy = native
        with reading(self.label):
            self._schema = native.head(0).collect().to_arrow().schema
        unique_names(self.names, self.label)

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    def n_rows(self) -> int:
        with reading(self.label):
            return int(nw.from_native(self._lazy).select(nw.len()).collect().item())

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        for frame in self._lazy.select(columns).collect_batches(chunk_size=rows, maintain_order=True):
            yield from frame.to_arrow().to_batches()

    def form(self) -> Callable[[pa.Table], Any]:
        return _as_lazy


class DuckdbSource(Source):
    """A duckdb relation, streamed."""

    kind = "duckdb"

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        with reading(self.label):
            self._schema = pa.RecordBatchReader.from_stream(relation.limit(0)).schema
        unique_names(self.names, self.label)

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    def n_rows(self) -> int:
        with reading(self.label):
            return int(self._relation.aggregate("count(*)").fetchall()[0][0])

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterable[pa.RecordBatch]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        chosen = self._relation.project(quoted)
        # The name changed between versions of duckdb.
        reader = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        return reader(rows)  # type: ignore[no-any-return]

    def form(self) -> Callable[[pa.Table], Any]:
        return _as_relation


class ArraySource(Source):
    """An array X (n, d), with or without y (n,), named by the schema or x0, x1, ... and y."""

    kind = "array"
    label = "The array"

    def __init__(self, X: Any, y: Any, schema: Schema | None) -> None:
        self._X = _matrix(X)
        n, d = self._X.shape
        self._y = None if y is None else _vector(y, n)
        self._features = [f"x{j}" for j in range(d)] if schema is None else [c.name for c in schema.features]
        if len(self._features) != d:
            raise DataError(
                f"X has {d} features, but gnomon is expecting {len(self._features)} features as input, one for each "
                "column of its schema."
            )
        target = None if schema is None else schema.target
        self._target = "y" if target is None else target.name
        if y is not None and self._target in self._features:
            raise DataError(f"The target {self._target!r} is also a feature; name the target in the schema.")

    @property
    def arrow_schema(self) -> pa.Schema:
        return next(iter(self._read(self.names, 1, False)), pa.RecordBatch.from_pylist([])).schema

    @property
    def names(self) -> list[str]:
        return self._features if self._y is None else [*self._features, self._target]

    def n_rows(self) -> int:
        return int(self._X.shape[0])

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        places = {name: j for j, name in enumerate(self._features)}
        for start in range(0, self.n_rows(), rows):
            block = np.ascontiguousarray(self._X[start : start + rows].T)
            y = None if self._y is None else self._y[start : start + rows]
            arrays = [pa.array(block[places[name]]) if name in places else _array(y) for name in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=columns)

    def form(self) -> Callable[[pa.Table], Any]:
        dtype = self._X.dtype if self._X.dtype.kind == "f" else np.dtype(np.float64)
        return partial(_as_array, dtype, self._target, self._y is not None)


def _as_frame(implementation: Any, table: pa.Table) -> Any:
    if implementation.is_pandas_like():  # which has no dates of its own, and would hold objects
        fields = [
            field.with_type(pa.timestamp("s")) if pa.types.is_date(field.type) else field
            for field in table.schema
        ]
        table = table.cast(pa.schema(fields))
    return nw.from_arrow(table, backend=implementation).to_native()


def _as_lazy(table: pa.Table) -> Any:
    return nw.from_arrow(table, backend=nw.Implementation.POLARS).lazy().to_native()


def _as_relation(table: pa.Table) -> Any:
    import duckdb

    return duckdb.from_arrow(table)


def _as_array(dtype: Any, target: str, labelled: bool, table: pa.Table) -> Any:
    features = [name for name in table.column_names if name != target]
    X = np.empty((table.num_rows, len(features)), dtype=dtype)
    for j, name in enumerate(features):
        X[:, j] = table[name].to_numpy()
    return (X, table[target].to_numpy()) if labelled else X


def _to_arrow(frame: nw.DataFrame[Any]) -> pa.Table:
    """The frame in Arrow. A column of objects becomes text cell by cell: a type inferred over a batch would let one cell
    decide how its neighbours are read, and then one row could move every row of a release."""
    untyped = [name for name in frame.columns if _is_untyped(frame[name])]
    typed = frame.select([name for name in frame.columns if name not in untyped])
    table = typed.to_arrow()  # to which pandas adds its index
    columns = {name: table[name] for name in typed.columns}
    columns |= {name: _texts(frame[name].to_numpy()) for name in untyped}
    return pa.table({name: columns[name] for name in frame.columns})


def _is_untyped(series: nw.Series[Any]) -> bool:
    """Whether a column has no type of its own; narwhals guesses one for pandas from the cells, so pandas is asked."""
    if not series.implementation.is_pandas_like():
        return bool(series.dtype == nw.Object)
    dtype = series.to_native().dtype
    return bool(getattr(getattr(dtype, "categories", None), "dtype", dtype) == np.dtype(object))


def _array(cells: Any) -> pa.Array:
    """Cells in Arrow: of their own type, or cell by cell as text."""
    cells = np.asarray(cells)
    return _texts(cells) if cells.dtype == np.dtype(object) else pa.array(cells)


def _texts(cells: Any) -> pa.Array:
    """Every cell as the text by which a codec reads it, whatever stands beside it."""
    return pa.array([_text(cell) for cell in cells], pa.string())


def _text(cell: Any) -> str | None:
    if isinstance(cell, str):
        text = str(cell)
    elif cell is None or (not isinstance(cell, (list, tuple, dict, set, np.ndarray)) and _is_missing(cell)):
        return None
    elif isinstance(cell, (bool, np.bool_)):
        return "1" if cell else "0"  # a number and a boolean both read it so
    elif isinstance(cell, bytes):
        text = cell.decode("utf-8", "replace")
    else:
        text = value_key(cell.item() if isinstance(cell, np.generic) else cell)
    return text.encode("utf-8", "replace").decode()


def _is_missing(cell: Any) -> bool:
    """NaN, NaT and NA: nothing else differs from itself, and pandas' NA says neither."""
    try:
        return bool(cell != cell)
    except TypeError:
        return True


def _matrix(X: Any) -> Any:
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    X = np.asarray(X)
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported; give real and imaginary parts as two columns.")
    if X.dtype.kind not in "fiub":
        X = np.vectorize(_number, otypes=[np.float64])(X)
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, rows and columns, got the shape {X.shape} instead. Reshape your data, for one column by "
            "X.reshape(-1, 1)."
        )
    if X.shape[1] == 0:
        raise DataError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    return X


def as_array(data: Any) -> Any:
    """Whatever can only be an array as one; anything else, and an array with masked cells, as it is."""
    if isinstance(data, np.ndarray):
        return data
    if isinstance(data, list) or (hasattr(data, "__array__") and not _speaks(data)):
        return np.asarray(data)
    return data


def _speaks(data: Any) -> bool:
    """Whether it is a table of its own kind. Lazy ones are: to become an array, a Dask DataFrame would be computed here."""
    if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader) or hasattr(
        data, "__arrow_c_stream__"
    ):
        return True
    try:
        return isinstance(nw.from_native(data, pass_through=True), nw.DataFrame | nw.LazyFrame)
    except nw.exceptions.DuplicateError:
        return True  # refused with a sentence where it is opened


def refuse_sparse(data: Any) -> None:
    """A matrix of scipy.sparse, which is not a table."""
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(data):
        raise DataError("A sparse matrix cannot be released; give it dense, as X.toarray().")


def _number(cell: Any) -> float:
    """A cell of an array as a number; what is none is missing."""
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _vector(y: Any, n: int) -> Any:
    y = np.asarray(y)
    if y.shape != (n,):
        raise DataError(f"The target y must have one value per row, the shape ({n},). Got {y.shape} instead.")
    return y


def eager_frame(data: Any) -> nw.DataFrame[Any] | None:
    """The object as a frame in memory, if it is one of pandas, polars or another library that narwhals knows."""
    if isinstance(data, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return None
    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        return None  # refused with a sentence where it is opened
    return frame if isinstance(frame, nw.DataFrame) else None


def beside(frame: nw.DataFrame[Any], y: Any, name: str) -> Any:
    """A frame with the target y as its last column."""
    if name in frame.columns:
        raise DataError(f"The target {name!r} is in the table already; leave out y.")
    series = nw.new_series(name, _vector(y, len(frame)), backend=frame.implementation)
    return frame.with_columns(series).to_native()
