"""Categories by the thousand: `values_file = "codes.csv"` beside the schema, one value a line or a column of them."""

from __future__ import annotations

import csv
from pathlib import Path

from gnomon.errors import SchemaError

_HEADS = ("value", "values", "code", "codes", "category", "categories")
_LARGEST = 2**24  # bytes


def read_values(folder: Path | None, file: object, column: str) -> list[str]:
    """The values in the file, which must lie in the schema's own folder: a schema from elsewhere reads nothing else."""
    where = f"The values_file of column {column!r}"
    return _values(read_text(folder, file, where), column, where)


def read_text(folder: Path | None, file: object, where: str) -> str:
    """The text of a file that a schema names, which must lie in the schema's own folder."""
    if not isinstance(file, str) or not file:
        raise SchemaError(f'{where} must be the name of a file beside the schema, as in "codes.csv".')
    if folder is None:
        raise SchemaError(
            f"{where} needs a schema in a file, in whose folder it is; load the schema by its path."
        )
    path = folder / file
    if Path(file).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise SchemaError(f"{where} must lie in the folder of the schema; copy it there.")
    try:
        if path.stat().st_size > _LARGEST:
            raise SchemaError(f"{where} is longer than {_LARGEST} bytes, which no such list is.")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaError(f"{where} is not UTF-8 text; save it as UTF-8.") from None
    except OSError as error:
        raise SchemaError(f"{where} cannot be read ({error.strerror}).") from None


def _values(text: str, column: str, where: str) -> list[str]:
    lines = text.splitlines()
    first = lines[0] if lines else ""
    delimiter = max(",;\t|", key=first.count)
    rows = [row for row in csv.reader(lines, delimiter=delimiter) if any(cell.strip() for cell in row)]
    heads = [cell.strip().lower() for cell in rows[0]] if rows else []
    place = next((heads.index(head) for head in (*_HEADS, column.lower()) if head in heads), None)
    if place is not None:
        return [row[place].strip() for row in rows[1:] if place < len(row)]
    if any(len(row) > 1 for row in rows):
        raise SchemaError(f'{where} has several columns; call the one that holds the categories "value".')
    return [row[0].strip() for row in rows]
