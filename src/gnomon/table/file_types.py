"""Which source reads a file: by what it is and how its name ends; a type of file is a class and a line here."""

from __future__ import annotations

from pathlib import Path

from gnomon.errors import DataError
from gnomon.table.base import Source, reading
from gnomon.table.files import TEXT, CsvSource, IpcSource, ParquetSource, unpacked
from gnomon.table.form import TextForm
from gnomon.table.lakes import lake_folder
from gnomon.table.schema import Schema
from gnomon.table.text_files import ExcelSource, JsonLinesSource


def open_file(path: Path, schema: Schema | None, form: TextForm | None = None) -> Source:
    """The source for a path, by what it is and how its name ends; `form` is for a text file without a schema."""
    with reading(f"The file {str(path)[:200]!r}"):
        if not path.exists():
            raise DataError(f"The file {str(path)!r} does not exist; check the path.")
        if path.is_dir():
            return lake_folder(path) or ParquetSource(path)
        if path.stat().st_size == 0:
            raise DataError(f"The file {str(path)!r} is empty; it holds no table.")
    ending = unpacked(path)
    packed = not path.name.lower().endswith(ending)
    if ending in (".parquet", ".pq") and not packed:
        return ParquetSource(path)
    if ending in (".arrow", ".feather", ".ipc") and not packed:
        return IpcSource(path)
    if ending in TEXT:
        declared = None if schema is None else schema.csv
        return CsvSource(path, schema, form or declared or TextForm(delimiter=TEXT[ending]))
    if ending in (".xlsx", ".xlsm") and not packed:
        return ExcelSource(path, schema)
    if ending in (".jsonl", ".ndjson"):
        return JsonLinesSource(path, schema)
    raise DataError(
        f"The file {str(path)!r} is of no known format; give .parquet, .csv, .tsv, .txt or .jsonl (text also "
        "with .gz or .zst), .xlsx, .arrow or .feather, or a folder of Parquet files."
    )
