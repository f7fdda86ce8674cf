"""Tables in files: Parquet (one file or a folder of parts), CSV (plain or gzip) and Arrow IPC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

from gnomon.errors import DataError
from gnomon.table.base import Source, reading, unique_names
from gnomon.table.fingerprint import fingerprint_files

if TYPE_CHECKING:
    from gnomon.table.schema import Schema

# Cells of a CSV that mean "nothing here", unless the schema declares them as a category.
BLANKS = ("", "#N/A", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "None")
_BLOCK_BYTES = 8 << 20


def _check_names(schema: pa.Schema, label: str) -> None:
    with reading(label):  # names are decoded only now, and a damaged file may hold any bytes
        unique_names(schema.names, label)


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of a file from elsewhere: Arrow trusts offsets and text in it, and would read past its end."""
    batch.validate(full=True)
    return batch


class _FileSource(Source):
    def __init__(self, path: Path) -> None:
        self.path = path
        self.label = f"The {'folder' if path.is_dir() else 'file'} {str(path)!r}"
        self.title = path.name.partition(".")[0] or "table"

    @property
    def parts(self) -> list[Path]:
        return [self.path]

    def fingerprint(self) -> str:
        with reading(self.label):
            return fingerprint_files(self.parts)


class ParquetSource(_FileSource):
    """A Parquet file, or a folder whose Parquet files are parts of one table."""

    kind = "parquet"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        schema = self.arrow_schema
        _check_names(schema, self.label)
        for part in self.parts[1:]:
            with reading(f"The file {str(part)!r}"):
                other = pq.read_schema(part)
            if not other.equals(schema):
                raise DataError(
                    f"The file {part.name!r} in {str(path)!r} has other columns than the first part; "
                    "write the parts with one schema."
                )

    @cached_property
    def parts(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        found = sorted(p for p in self.path.rglob("*") if p.suffix in (".parquet", ".pq") and p.is_file())
        parts = [p for p in found if not p.name.startswith(("_", "."))]
        if not parts:
            raise DataError(
                f"{self.label} holds no .parquet file; give a table, or a folder of Parquet parts."
            )
        return parts

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        with reading(self.label):
            return pq.read_schema(self.parts[0])

    @cached_property
    def _n_rows(self) -> int:
        with reading(self.label):
            return sum(int(pq.read_metadata(part).num_rows) for part in self.parts)

    def n_rows(self) -> int:
        return self._n_rows

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        for part in self.parts:
            # without a pre-buffer, which would hold every row group of the file and grow with its rows
            with pq.ParquetFile(part, pre_buffer=False) as file:
                left = file.metadata.num_rows
                for batch in file.iter_batches(batch_size=rows, columns=columns):
                    left -= batch.num_rows
                    yield _sound(batch)
            if left:
                raise DataError(f"{self.label} holds more or fewer rows than it says; write it again.")


class IpcSource(_FileSource):
    """An Arrow IPC file (Feather version 2), mapped and not loaded."""

    kind = "arrow-ipc"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with reading(self.label), pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            self._schema = reader.schema
        _check_names(self._schema, self.label)

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    @cached_property
    def _n_rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches(self.names[:1]))

    def n_rows(self) -> int:
        return self._n_rows

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        fields = [self.names.index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        with pa.memory_map(str(self.path)) as file, pa.ipc.open_file(file, options=options) as reader:
            for i in range(reader.num_record_batches):
                yield _sound(reader.get_batch(i))


class CsvSource(_FileSource):
    """A CSV file with a header, plain or gzip; the schema says which columns are numbers."""

    kind = "csv"

    def __init__(self, path: Path, schema: Schema | None = None) -> None:
        super().__init__(path)
        self._declared = {} if schema is None else {column.name: column for column in schema.columns}
        with reading(self.label):
            try:
                with self._open(pa.csv.ConvertOptions()) as reader:
                    self._schema = reader.schema
            except pa.ArrowInvalid as error:
                self._refuse(error, [])
        _check_names(self._schema, self.label)

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    @cached_property
    def _n_rows(self) -> int:
        return sum(batch.num_rows for batch in self.batches(self.names[:1], raw=True))

    def n_rows(self) -> int:
        return self._n_rows

    def _open(self, convert: pa.csv.ConvertOptions) -> pa.csv.CSVStreamingReader:
        return pa.csv.open_csv(
            pa.input_stream(str(self.path), compression="detect"),
            read_options=pa.csv.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=convert,
        )

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        types = {name: pa.string() if raw else self._type(name) for name in columns}
        convert = pa.csv.ConvertOptions(
            column_types=types, include_columns=columns, null_values=list(BLANKS), strings_can_be_null=False
        )
        try:
            with self._open(convert) as reader:
                for batch in reader:
                    arrays = [self._blanks_out(n, a) for n, a in zip(columns, batch.columns, strict=True)]
                    yield pa.RecordBatch.from_arrays(arrays, names=columns)
        except pa.ArrowInvalid as error:
            self._refuse(error, self.names)

    def _type(self, name: str) -> pa.DataType:
        column = self._declared.get(name)
        if column is None or column.kind != "number":
            return pa.string()
        # float64 would merge neighbouring integers beyond 2^53, and int64 refuse 5.0 and 1e3, which `check` lets pass
        return pa.string() if column.wide else pa.float64()

    def _blanks_out(self, name: str, array: pa.Array) -> pa.Array:
        if not pa.types.is_string(array.type):
            return array
        column = self._declared.get(name)
        declared = () if column is None else column.values
        blanks = pa.array([blank for blank in BLANKS if blank not in declared], pa.string())
        return pc.if_else(pc.is_in(array, value_set=blanks), pa.scalar(None, pa.string()), array)

    def _refuse(self, error: pa.ArrowInvalid, names: list[str]) -> None:
        # Arrow quotes the cell or the line, which is private; only what and where is passed on.
        message = str(error)
        if message.startswith("Empty CSV file"):
            raise DataError(f"{self.label} is empty; it needs a header line and rows.") from None
        if "Expected" in message and "columns, got" in message:
            raise DataError(
                f"{self.label} has a line with more or fewer cells than its header; repair that line."
            ) from None
        if "UTF8" in message:
            raise DataError(f"{self.label} is not UTF-8 text; save it as UTF-8.") from None
        place = re.match(r"In CSV column #(\d+)", message)
        if place and int(place[1]) < len(names):
            raise DataError(
                f"The number column {names[int(place[1])]!r} of {str(self.path)!r} holds a cell that is not "
                "a number; repair it, or declare another kind (`gnomon check` counts such cells)."
            ) from None
        raise DataError(
            f"{self.label} cannot be read as CSV; check that it is comma-separated text."
        ) from None


def open_file(path: Path, schema: Schema | None) -> Source:
    """The source for a path, by what it is and how its name ends."""
    with reading(f"The file {str(path)[:200]!r}"):
        if not path.exists():
            raise DataError(f"The file {str(path)!r} does not exist; check the path.")
        if path.is_dir():
            return ParquetSource(path)
        if path.stat().st_size == 0:
            raise DataError(f"The file {str(path)!r} is empty; it holds no table.")
    name = path.name.lower()
    openers: Iterable[tuple[tuple[str, ...], type[ParquetSource] | type[IpcSource]]] = (
        ((".parquet", ".pq"), ParquetSource),
        ((".arrow", ".feather", ".ipc"), IpcSource),
    )
    for endings, opener in openers:
        if name.endswith(endings):
            return opener(path)
    if name.endswith((".csv", ".csv.gz")):
        return CsvSource(path, schema)
    raise DataError(
        f"The file {str(path)!r} is of no known format; give .parquet, .csv, .csv.gz, .arrow or .feather, "
        "or a folder of Parquet files."
    )
