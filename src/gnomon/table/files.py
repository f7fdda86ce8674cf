"""Tables in files: Parquet (one file or a folder of parts), delimited text (plain or compressed) and Arrow IPC."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

from gnomon.errors import DataError
from gnomon.table import toml
from gnomon.table.base import Source, reading, unique_names
from gnomon.table.column import Column
from gnomon.table.form import PLAIN, TextForm
from gnomon.table.schema import Schema

# Cells of a CSV that mean "nothing here", unless the schema declares them as a category.
BLANKS = ("", "#N/A", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null", "None")
_BLOCK_BYTES = 8 << 20
TEXT = {
    ".csv": ",",
    ".tsv": "\t",
    ".tab": "\t",
    ".txt": ",",
}  # endings, and the delimiter where none is declared
_START_BYTES = 1 << 16
_MARKS = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins
_PACKED = (".gz", ".zst", ".bz2")
_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def _check_names(schema: pa.Schema, label: str) -> None:
    with reading(label):  # names are decoded only now, and a damaged file may hold any bytes
        unique_names(schema.names, label)


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of a file from elsewhere: Arrow trusts offsets and text in it, and would read past its end."""
    batch.validate(full=True)
    return batch


class FileSource(Source):
    """A table that a path names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.label = f"The {'folder' if path.is_dir() else 'file'} {str(path)!r}"
        self.title = path.name.partition(".")[0] or "table"

    @property
    def parts(self) -> list[Path]:
        return [self.path]


@dataclass(frozen=True)
class ParquetFragment:
    """A row group of a Parquet file, which a worker finds under the same path."""

    path: str
    group: int
    rows: int
    columns: tuple[str, ...]
    state: tuple[int, int]  # of the file: bytes and time of the last change

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        label = f"The file {self.path!r}"
        with reading(label):
            if _state(Path(self.path)) != self.state:
                raise DataError(f"{label} is not the same as at the start of the release; keep it as it is.")
            left = self.rows
            with pq.ParquetFile(self.path, pre_buffer=False) as file:
                for batch in file.iter_batches(rows, row_groups=[self.group], columns=list(self.columns)):
                    left -= batch.num_rows
                    yield _sound(batch).select(self.columns)
            if left:
                raise DataError(f"{label} holds more or fewer rows than it says; write it again.")


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


class ParquetSource(FileSource):
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

    def fragments(self, columns: Sequence[str]) -> Sequence[ParquetFragment]:
        found, names = [], tuple(columns)
        for part in self.parts:
            with reading(self.label):
                state, metadata = _state(part), pq.read_metadata(part)
            path = str(part.absolute())
            for group in range(metadata.num_row_groups):
                found.append(ParquetFragment(path, group, metadata.row_group(group).num_rows, names, state))
        return found

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


class IpcSource(FileSource):
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


class _NotANumberError(Exception):
    """A cell of a number column that Arrow does not take for a number."""


def blanks_out(array: pa.Array, column: Column | None, more: tuple[str, ...] = ()) -> pa.Array:
    """Text cells without those that mean "nothing here", unless the column declares them as a category."""
    declared = () if column is None else column.values
    blanks = pa.array([blank for blank in (*BLANKS, *more) if blank not in declared], pa.string())
    return pc.if_else(pc.is_in(array, value_set=blanks), pa.scalar(None, pa.string()), array)


class CsvSource(FileSource):
    """Delimited text with a header, plain or compressed, in the form that the schema declares; nothing is guessed."""

    kind = "csv"

    def __init__(self, path: Path, schema: Schema | None = None, form: TextForm = PLAIN) -> None:
        super().__init__(path)
        self.text_form = form
        self._declared = {} if schema is None else {column.name: column for column in schema.columns}
        with reading(self.label):
            self._diagnose(declared=schema is not None)
            try:
                with self._open(pa.csv.ConvertOptions()) as reader:
                    self._schema = reader.schema
            except (pa.ArrowInvalid, UnicodeError) as error:
                self._refuse(error)
        _check_names(self._schema, self.label)

    def _diagnose(self, declared: bool) -> None:
        """What the first line tells about a form other than the declared one, before a parser stumbles over it."""
        with pa.input_stream(str(self.path), compression="detect") as stream:
            start = stream.read(_START_BYTES)
        form = self.text_form
        if _arrow_name(form.encoding) == "utf8" and start[:2] in _MARKS:
            raise DataError(self._other_encoding(start))
        try:
            header = (
                codecs.getincrementaldecoder(form.encoding)().decode(start).lstrip("\ufeff").splitlines()[:1]
            )
        except UnicodeError:
            raise DataError(self._other_encoding(start)) from None
        cells = next(csv.reader(header, delimiter=form.delimiter, quotechar=form.quote), [])
        if not declared or len(cells) != 1 or cells[0] in self._declared:
            return
        other = max((sign for sign in _NAMES if sign != form.delimiter), key=cells[0].count)
        if other in cells[0]:
            raise DataError(
                f"{self.label} has one column by the delimiter {form.delimiter!r}, but its header has "
                f"{_NAMES[other]}; write delimiter = {toml.value(other)} under [table.csv] in the schema."
            )

    def _other_encoding(self, start: bytes = b"") -> str:
        likely = "utf-16" if start[:2] in _MARKS else "cp1252"
        name = self.text_form.encoding
        return (
            f"{self.label} is not {'UTF-8' if name == 'utf-8' else name} text; write its encoding under [table.csv] in "
            f'the schema, as in encoding = "{likely}", or save it as UTF-8.'
        )

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
            read_options=pa.csv.ReadOptions(
                block_size=_BLOCK_BYTES, encoding=_arrow_name(self.text_form.encoding)
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=self.text_form.delimiter, quote_char=self.text_form.quote, newlines_in_values=True
            ),
            convert_options=convert,
        )

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        done = 0
        try:
            for batch in self._parsed(columns, raw):
                done += batch.num_rows
                yield batch
        except _NotANumberError:
            # Arrow drops a whole block for one cell: the rows from there on are read as text, which refuses nothing
            for batch in self._parsed(columns, raw=True):
                yield batch.slice(min(done, batch.num_rows))
                done = max(0, done - batch.num_rows)

    def _parsed(self, columns: list[str], raw: bool) -> Iterator[pa.RecordBatch]:
        """The rows with numbers as numbers, or with all cells as text."""
        types = {name: pa.string() if raw else self._type(name) for name in columns}
        convert = pa.csv.ConvertOptions(
            column_types=types,
            include_columns=columns,
            null_values=[*BLANKS, *self.text_form.missing_values],
            strings_can_be_null=False,
            decimal_point=self.text_form.decimal,
        )
        try:
            with self._open(convert) as reader:
                for batch in reader:
                    arrays = [self._blanks_out(n, a) for n, a in zip(columns, batch.columns, strict=True)]
                    yield pa.RecordBatch.from_arrays(arrays, names=columns)
        except (pa.ArrowInvalid, UnicodeError) as error:
            if not raw and str(error).startswith("In CSV column #"):
                raise _NotANumberError from None
            self._refuse(error)

    def _type(self, name: str) -> pa.DataType:
        column = self._declared.get(name)
        if column is None or column.kind != "number":
            return pa.string()
        if self.text_form.thousands or any(isinstance(value, str) for value in column.missing_values):
            return pa.string()
        # float64 would merge neighbouring integers beyond 2^53, and int64 refuse 5.0 and 1e3, which `check` lets pass
        return pa.string() if column.wide else pa.float64()

    def _blanks_out(self, name: str, array: pa.Array) -> pa.Array:
        if not pa.types.is_string(array.type):
            return array
        return blanks_out(array, self._declared.get(name), self.text_form.missing_values)

    def _refuse(self, error: Exception) -> None:
        # Arrow quotes the cell or the line, which is private; only what and where is passed on.
        message = str(error)
        if message.startswith("Empty CSV file"):
            raise DataError(f"{self.label} is empty; it needs a header line and rows.") from None
        if "Expected" in message and "columns, got" in message:
            raise DataError(
                f"{self.label} has a line with more or fewer cells than its header; repair that line."
            ) from None
        if "UTF8" in message or isinstance(error, UnicodeError):
            raise DataError(self._other_encoding()) from None
        raise DataError(
            f"{self.label} cannot be read as text with the delimiter {self.text_form.delimiter!r}; check its form, and "
            "[table.csv] in the schema."
        ) from None


def _arrow_name(encoding: str) -> str:
    """Arrow reads its own "utf8" without a detour and takes a mark at its start for what it is."""
    return "utf8" if encoding.lower() in ("utf-8", "utf8", "utf-8-sig", "utf_8") else encoding


def unpacked(path: Path) -> str:
    """The ending of a file's name that says what it is, without that of a compression."""
    name = path.name.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return Path(name).suffix
