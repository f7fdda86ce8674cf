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

# how files of a kind begin, what they are called, and what to do with one whose name says otherwise
_BEGINNINGS = (
    (b"PAR1", "Parquet", "let its name end in .parquet"),
    (b"ARROW1", "an Arrow file", "let its name end in .arrow"),
    (b"\x1f\x8b", "compressed by gzip", "let its name end in .gz after its own ending, as in .csv.gz"),
    (
        b"\x28\xb5\x2f\xfd",
        "compressed by zstd",
        "let its name end in .zst after its own ending, as in .csv.zst",
    ),
    (b"PK\x03\x04", "a workbook or a ZIP archive", "let its name end in .xlsx, or unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save it as .xlsx or as .csv"),
    (b"SQLite format 3\0", "an SQLite database", "give --database sqlite:///PATH and --table or --query"),
)
_ARROW = 1  # whose streams have no such mark
_NAMED = {  # which of them a name promises
    **dict.fromkeys((".parquet", ".pq"), 0),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), _ARROW),
    **{".gz": 2, ".zst": 3, ".xlsx": 4, ".xlsm": 4},
}


def open_file(path: Path, schema: Schema | None, form: TextForm | None = None) -> Source:
    """The source for a path, by what it is and how its name ends; `form` is for a text file without a schema."""
    with reading(f"The file {str(path)[:200]!r}"):
        if not path.exists():
            raise DataError(f"The file {str(path)!r} does not exist; check the path.")
        if path.is_dir():
            return lake_folder(path) or ParquetSource(path)
        if path.stat().st_size == 0:
            raise DataError(f"The file {str(path)!r} is empty; it holds no table.")
        _refuse_misnamed(path)
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


def _refuse_misnamed(path: Path) -> None:
    """Refuse a file that does not begin as its name says, with what it is and what to do."""
    with path.open("rb") as file:
        begins = file.read(16)
    named = _NAMED.get(path.suffix.lower())
    found = next((i for i, (mark, *_) in enumerate(_BEGINNINGS) if begins.startswith(mark)), None)
    if found is not None and found != named:
        _, what, remedy = _BEGINNINGS[found]
        raise DataError(f"The file {str(path)!r} is {what}, whatever its name says; {remedy}.")
    if found is None and named is not None and named != _ARROW:
        what = _BEGINNINGS[named][1]
        raise DataError(
            f"The file {str(path)!r} cannot be read: it is not {what}, as its name says; text ends in .csv, .tsv or .jsonl."
        )
