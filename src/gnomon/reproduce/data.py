"""The papers' tables in a folder that the user names: one folder a table, `data.parquet` in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.errors import DataError


def missing(data: Path, files: Sequence[str]) -> list[str]:
    """The files that the data folder lacks."""
    return [name for name in files if not (data / name).is_file()]


@lru_cache(maxsize=4)
def read(
    data: Path, table: str, columns: tuple[str, ...] | None = None, file: str = "data.parquet"
) -> pa.Table:
    """A table of the data folder, kept in memory for the next cell; refuses with the file or column that is missing."""
    path = data / table / file
    if not path.is_file():
        raise DataError(f"The folder {str(data)!r} lacks {table}/{file}.")
    try:
        found = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError):
        raise DataError(f"The file {str(path)!r} is not a readable Parquet file.") from None
    absent = [name for name in columns or () if name not in found.schema_arrow.names]
    if absent:
        raise DataError(f"The table {str(path)!r} lacks the column {absent[0]!r}.")
    return found.read(columns=None if columns is None else list(columns))
