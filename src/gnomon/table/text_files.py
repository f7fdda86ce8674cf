"""Workbooks and JSON lines: read as a stream, every cell as text, which the schema then gives its meaning."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from gnomon.errors import DataError
from gnomon.table.base import reading, unique_names
from gnomon.table.files import FileSource, blanks_out
from gnomon.table.schema import Schema

_ROWS = 4096  # of a batch


def cell_text(cell: Any) -> str | None:
    """A cell of a typed file as text that reads back as the same value."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else repr(cell)
    if isinstance(cell, datetime):
        return (cell.date() if not (cell.hour or cell.minute or cell.second) else cell).isoformat()
    if isinstance(cell, date):
        return cell.isoformat()
    return json.dumps(cell) if isinstance(cell, dict | list) else str(cell)


class _CellSource(FileSource):
    """A file whose rows come one by one as Python objects."""

    def __init__(self, path: Path, schema: Schema | None) -> None:
        super().__init__(path)
        self._declared = {} if schema is None else {column.name: column for column in schema.columns}

    @property
    def arrow_schema(self) -> pa.Schema:
        return pa.schema([(name, pa.string()) for name in self.names])

    def _cells(self, columns: list[str]) -> Iterator[list[Any]]:
        raise NotImplementedError

    @cached_property
    def _n_rows(self) -> int:
        with reading(self.label):
            return sum(1 for _ in self._cells([]))

    def n_rows(self) -> int:
        return self._n_rows

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        held: list[list[str | None]] = []
        for cells in self._cells(columns):
            held.append([cell_text(cell) for cell in cells])
            if len(held) == _ROWS:
                yield self._batch(columns, held)
                held = []
        if held:
            yield self._batch(columns, held)

    def _batch(self, columns: list[str], rows: list[list[str | None]]) -> pa.RecordBatch:
        arrays = [
            blanks_out(pa.array(list(cells), pa.string()), self._declared.get(name))
            for name, cells in zip(columns, zip(*rows, strict=True), strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=columns)


class ExcelSource(_CellSource):
    """A sheet of a workbook with a header in its first row."""

    kind = "excel"

    def __init__(self, path: Path, schema: Schema | None, sheet: str | None = None) -> None:
        super().__init__(path, schema)
        self._open = _openpyxl()
        with self._workbook() as sheets:
            wanted = sheet or (None if schema is None else schema.sheet)
            self.sheets = sheets.names
            if wanted is None and len(self.sheets) > 1 and schema is not None:
                raise DataError(
                    f"{self.label} has the sheets {', '.join(map(repr, self.sheets))}; say which, as in "
                    f'sheet = "{self.sheets[0]}" under [table.excel] in the schema.'
                )
            self.sheet = wanted or self.sheets[0]
            if self.sheet not in self.sheets:
                raise DataError(
                    f"{self.label} has no sheet {self.sheet!r}; its sheets are {', '.join(map(repr, self.sheets))}."
                )
            header = next(sheets.rows(self.sheet), ())
        while header and header[-1] is None:
            header = header[:-1]
        if not header:
            raise DataError(f"{self.label} is empty; it needs a header row and rows.")
        if None in header:
            raise DataError(f"{self.label} has a column without a name; name it in the header row.")
        self._names = [str(cell_text(cell)) for cell in header]
        unique_names(self._names, self.label)

    @property
    def names(self) -> list[str]:
        return list(self._names)

    def _workbook(self) -> _Workbook:
        with reading(self.label):
            try:
                return _Workbook(self._open(self.path, read_only=True, data_only=True))
            except (ValueError, KeyError, TypeError, OSError) as error:
                if isinstance(error, OSError) and error.strerror:
                    raise
                raise DataError(
                    f"{self.label} cannot be read as a workbook; save it as .xlsx again."
                ) from None
            except Exception as error:
                if type(error).__module__.partition(".")[0] not in ("openpyxl", "zipfile", "xml"):
                    raise
                raise DataError(
                    f"{self.label} cannot be read as a workbook; save it as .xlsx again."
                ) from None

    def _cells(self, columns: list[str]) -> Iterator[list[Any]]:
        places = [self._names.index(name) for name in columns]
        with self._workbook() as sheets:
            rows = sheets.rows(self.sheet)
            next(rows, None)
            for row in rows:
                if any(cell is not None for cell in row):
                    yield [row[place] if place < len(row) else None for place in places]


class _Workbook:
    def __init__(self, book: Any) -> None:
        self._book = book

    def __enter__(self) -> _Workbook:
        return self

    def __exit__(self, *problem: object) -> None:
        self._book.close()

    @property
    def names(self) -> list[str]:
        return [sheet.title for sheet in self._book.worksheets]

    def rows(self, sheet: str) -> Iterator[tuple[Any, ...]]:
        return self._book[sheet].iter_rows(values_only=True)  # type: ignore[no-any-return]


def _openpyxl() -> Callable[..., Any]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise DataError(
            "Workbooks are read by openpyxl, which is not installed; run pip install 'gnomon[excel]', or save as CSV."
        ) from None
    return load_workbook  # type: ignore[no-any-return]


class JsonLinesSource(_CellSource):
    """One JSON object a line, plain or compressed; a key that a line lacks is a missing cell."""

    kind = "json-lines"

    def __init__(self, path: Path, schema: Schema | None) -> None:
        super().__init__(path, schema)
        # a declared column that no line has is one of missing cells: no single line decides whether there is a release
        names = dict.fromkeys([] if schema is None else [column.name for column in schema.columns])
        rows = 0
        with reading(self.label):
            for record in self._records():
                names.update(dict.fromkeys(record))
                rows += 1
        self._names, self.__dict__["_n_rows"] = list(names), rows

    @property
    def names(self) -> list[str]:
        return list(self._names)

    def _records(self) -> Iterator[dict[str, Any]]:
        with pa.input_stream(str(self.path), compression="detect") as stream:
            for line in io.TextIOWrapper(stream, encoding="utf-8-sig"):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    record = None
                if not isinstance(record, dict):
                    raise DataError(
                        f"{self.label} has a line that is not a JSON object; write one object a line."
                    )
                yield record

    def _cells(self, columns: list[str]) -> Iterator[list[Any]]:
        for record in self._records():
            yield [record.get(name) for name in columns]
