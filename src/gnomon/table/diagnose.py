"""Cells that do not fit because they are written in another form: which form, for the custodian to declare."""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.table import toml
from gnomon.table.base import Source
from gnomon.table.cells import is_text, plain
from gnomon.table.check import CheckReport
from gnomon.table.column import Column
from gnomon.table.files import CsvSource
from gnomon.table.form import PLAIN
from gnomon.table.schema import Schema
from gnomon.table.sniff import ROWS, look, number_form


def diagnose(source: Source, schema: Schema, report: CheckReport) -> tuple[str, ...]:
    """A sentence for each column whose cells fit another declared form; it names the form and no cell."""
    wrong = [schema[column.name] for column in report.columns if column.alien]
    return tuple(sentence for column in wrong for sentence in _of_column(source, column))


def _of_column(source: Source, column: Column) -> Iterator[str]:
    if column.missing_values or column.true:
        return
    batch = next(source.batches([column.name], rows=ROWS, raw=True, as_written=True))
    array = plain(batch.column(0))
    if not is_text(array.type):
        return
    cells = [cell.strip() for cell in array.to_pylist() if cell is not None and cell.strip()]
    form = source.text_form if isinstance(source, CsvSource) else None
    where = f"The column {column.name!r} has cells that look like"
    if column.kind == "number" and form is not None:
        found = number_form([cells], form)
        said = [
            (key, item)
            for key, item in found.said()
            if key in ("decimal", "thousands") and (key, item) not in form.said()
        ]
        if said and look(cells, found).kind in ("number", "integer"):
            shown = " and ".join(f"{key} = {toml.value(item)}" for key, item in said)
            yield f"{where} numbers of another form; write {shown} under [table.csv] in the schema."
            return
    seen = look(cells, form or PLAIN)
    if column.kind == "date" and seen.kind == "date":
        formats = " or ".join(f"date_format = {toml.value(one)}" for one in seen.date_formats)
        if column.date_format not in (seen.date_formats or (None,)):
            remedy = (
                f"write {formats} for the column"
                if formats
                else "they are ISO dates, so leave out date_format"
            )
            yield f"{where} dates of another form; {remedy}."
    elif {"integer": "number"}.get(seen.kind, seen.kind) in {"boolean", "date", "number"} - {column.kind}:
        kind = "number" if seen.kind == "integer" else seen.kind
        yield f'{where} those of another kind; write kind = "{kind}" if they are, and what it needs.'
