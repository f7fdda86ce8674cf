"""A table whose form was looked at, for a draft: the kinds that names, types and the form of first cells suggest."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.types as is_type

from gnomon.errors import DataError
from gnomon.table.base import Source
from gnomon.table.cells import is_text, plain
from gnomon.table.file_types import open_file
from gnomon.table.files import BLANKS
from gnomon.table.form import PLAIN, TextForm
from gnomon.table.sniff import ROWS, Look, look, missing_marks, number_form, sniff
from gnomon.table.source import open_source


@dataclass(frozen=True)
class Looked:
    """A source, the form of its file if that is text, and what each column looks like."""

    source: Source
    form: TextForm | None
    looks: dict[str, Look]


def look_at(table: Any) -> Looked:
    """Open a table of any kind and look at its form."""
    path = Path(table) if isinstance(table, str | PathLike) else None
    form = None if path is None or not path.exists() else sniff(path)
    source = open_source(table) if form is None or path is None else open_file(path, None, form)
    if not source.names:
        raise DataError(f"{source.label} has no columns, so there is nothing to draft a schema from.")
    cells = _first_texts(source)
    if form is not None:
        marks = missing_marks(list(cells.values()), form)
        if marks:
            form = TextForm(**{**dict(form.said()), "missing_values": marks})
            cells = {name: [cell for cell in column if cell not in marks] for name, column in cells.items()}
        form = number_form(list(cells.values()), form)
        assert path is not None
        source = open_file(path, None, form)
    looks = {
        field.name: _of_cells(cells[field.name], form) if field.name in cells else _of_type(field.type)
        for field in source.arrow_schema
    }
    return Looked(source, form, looks)


def _of_cells(cells: list[str], form: TextForm | None) -> Look:
    if form is not None:
        return look(cells, form)
    marks = missing_marks([cells], PLAIN)
    return look([cell for cell in cells if cell not in marks])._replace(marks=marks)


def _first_texts(source: Source) -> dict[str, list[str]]:
    """The first cells of text columns, trimmed and without blanks."""
    batch = next(source.batches(source.names, rows=ROWS, raw=True), None)
    if batch is None:
        return {}
    found = {}
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        array = plain(array)
        if is_type.is_dictionary(array.type) and is_text(plain(array.dictionary).type):
            array = plain(array.dictionary_decode())
        if is_text(array.type):
            cells = (cell.strip() for cell in array.to_pylist() if cell is not None)
            found[name] = [cell for cell in cells if cell not in BLANKS]
    return found


def _of_type(kind: pa.DataType) -> Look:
    if is_type.is_boolean(kind):
        return Look("boolean")
    if is_type.is_integer(kind):
        return Look("integer")
    if is_type.is_floating(kind) or is_type.is_decimal(kind):
        return Look("number")
    if is_type.is_date(kind) or is_type.is_timestamp(kind):
        return Look("date")
    if is_text(kind) or is_type.is_string_view(kind) or is_type.is_dictionary(kind):
        return Look("category")
    return Look("empty" if is_type.is_null(kind) else "other")
