"""The formats of released rows by their names, which are also the endings of their files; a format is a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from gnomon.table.schema import Schema
from gnomon.table.spreadsheet import refuse_in_csv


def _anything(schema: Schema) -> None:
    """Every schema can be written."""


def _parquet(path: str, schema: pa.Schema) -> Any:
    # a dictionary of noisy numbers is larger than the numbers, and most of the time of writing them
    repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, use_dictionary=repeated)


@dataclass(frozen=True)
class Format:
    """How rows are written: a writer with `write_table` and `close`, and what it must refuse beforehand."""

    open: Callable[[str, pa.Schema], Any]
    check: Callable[[Schema], None] = _anything

    def writer(self, path: Path, schema: pa.Schema) -> Any:
        return self.open(str(path), schema)


FORMATS = {
    "parquet": Format(_parquet),
    "csv": Format(pyarrow.csv.CSVWriter, refuse_in_csv),
}
