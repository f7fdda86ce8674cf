"""What every source of rows can do: a table is a stream of Arrow batches that can be read again."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from gnomon.errors import DataError, columns_instead

if TYPE_CHECKING:
    from gnomon.engine.base import Engine

BATCH_ROWS = 65536

# Libraries whose own exceptions may quote a cell, so that only their kind is passed on.
_GUESTS = {
    "pyarrow",
    "polars",
    "pandas",
    "duckdb",
    "_duckdb",
    "narwhals",
    "ibis",
    "deltalake",
    "_internal",
    "pyiceberg",
}


class Fragment(Protocol):
    """Some rows of a source that a worker reads by itself: a plain value, and the same rows at every read."""

    @property
    def rows(self) -> int: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]: ...


class Source(ABC):
    """A table that is read in batches, as often as needed and never whole."""

    kind: str  # "parquet", "csv", "arrow", "pandas", ...
    label: str = "The table"  # how error sentences call it
    title: str = "table"  # the name that a drafted schema gives it
    converters: Mapping[
        str, Callable[[pa.Array], pa.Array]
    ] = {}  # by column: how a schema says that cells are written

    @property
    @abstractmethod
    def arrow_schema(self) -> pa.Schema:
        """Names and Arrow types of the columns."""

    @property
    def names(self) -> list[str]:
        """The columns, in the order of the table."""
        return list(self.arrow_schema.names)

    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows, which is public."""

    @abstractmethod
    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterable[pa.RecordBatch]:
        """Batches with at least these columns, in any order and of any size."""

    def batches(
        self,
        columns: Sequence[str],
        rows: int = BATCH_ROWS,
        *,
        raw: bool = False,
        as_written: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of some columns in order, in batches of `rows` and a last one of those that are left.

        Where a batch ends follows from the number of rows alone, because releases show it (the row groups of a file,
        the draws of a batch): a text file is read in blocks of bytes, which end where its cells make them end.
        `raw` leaves the cells of a text format as text, so that `check` can count those that do not parse;
        `as_written` gives them as they stand, whatever the schema says of their form.
        """
        columns = list(columns)
        present = set(self.names)
        lacking = [name for name in columns if name not in present]
        if lacking:
            instead = columns_instead(lacking[0], self.names)
            raise DataError(f"{self.label} has no column {lacking[0]!r}; {instead}")
        with reading(self.label):
            found = (batch.select(columns) for batch in self._read(columns, rows, raw))
            yield from _of_equal_length(found if as_written else map(self._converted, found), rows)

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if not any(name in self.converters for name in batch.schema.names):
            return batch
        arrays = [
            self.converters[name](array) if name in self.converters else array
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

    def fragments(self, columns: Sequence[str]) -> Sequence[Fragment]:
        """The rows of some columns for workers of a cluster; none where only this process can read them."""
        return ()

    def engine(self, asked: Engine | None = None) -> Engine | None:
        """The engine that was asked for, or else the one that holds the rows, if any does."""
        return asked

    def like(self, table: pa.Table) -> Any:
        """A table in the form in which this one came."""
        return self.form()(table)

    def form(self) -> Callable[[pa.Table], Any]:
        """`like`, without the rows: a fitted method keeps it, and a pickle of the method must not hold them."""
        return _as_it_is


def _as_it_is(table: pa.Table) -> pa.Table:
    return table


def _of_equal_length(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of `rows`; copied only where two batches meet."""
    held: list[pa.RecordBatch] = []
    lacking = rows
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            part = batch.slice(start, lacking)
            held.append(part)
            start += part.num_rows
            lacking -= part.num_rows
            if lacking == 0:
                yield _joined(held)
                held, lacking = [], rows
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    columns = [
        pa.concat_arrays(_of_one_type([_decoded(part) for part in parts]))
        for parts in zip(*batches, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batches[0].schema.names)


def _of_one_type(parts: list[pa.Array]) -> list[pa.Array]:
    """As text where a source goes over to it, from a cell on that is not of the column's type; numbers stay exact."""
    return parts if len({part.type for part in parts}) == 1 else [part.cast(pa.string()) for part in parts]


def _decoded(array: pa.Array) -> pa.Array:
    """Without a dictionary: those of two batches may hold more values together than their codes can count."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


@contextmanager
def reading(label: str) -> Iterator[None]:
    """Turn a failure to read into one sentence, without the cell that a library may have quoted."""
    try:
        yield
    except DataError:
        raise
    except (EOFError, OSError, UnicodeError, zlib.error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "its content is damaged"
        raise DataError(f"{label} cannot be read: {why}; check the file, or write it again.") from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _GUESTS:
            raise
        raise DataError(
            f"{label} cannot be read as Arrow data ({type(error).__name__}); check that it is complete "
            "and that each column holds one type."
        ) from None


def unique_names(names: Iterable[Any], label: str) -> None:
    """Refuse names that cannot be told apart, or that are not text."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"{label} has a column name that is not text ({name!r}); rename it to text.")
        if name in seen:
            raise DataError(f"{label} has more than one column {name!r}; rename or remove one of them.")
        seen.add(name)
