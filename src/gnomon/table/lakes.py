"""Tables of files with a log of their own: Delta Lake and Iceberg. A folder of them also holds rows that were deleted.

Each is read at the snapshot that it has when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from gnomon.errors import DataError
from gnomon.table.base import Source, reading, unique_names
from gnomon.table.frames import ArrowSource


def lake_table(data: Any) -> Source | None:
    """The source for a table of deltalake or pyiceberg; None for anything else."""
    library = type(data).__module__.partition(".")[0]
    if library == "deltalake" and hasattr(data, "to_pyarrow_dataset"):
        with reading("The Delta table"):
            return ArrowSource(data.to_pyarrow_dataset())
    if library == "pyiceberg" and hasattr(data, "scan"):
        return IcebergSource(data)
    return None


def lake_folder(path: Path) -> Source | None:
    """The source for a folder that is a Delta table; None for a folder of plain files."""
    label = f"The folder {str(path)!r}"
    if (path / "_delta_log").is_dir():
        try:
            from deltalake import DeltaTable
        except ImportError:
            raise DataError(
                f"{label} is a Delta table, whose files also hold deleted rows; install gnomon[lake] to read it."
            ) from None
        with reading(label):
            found = ArrowSource(DeltaTable(str(path)).to_pyarrow_dataset())
        found.label, found.title = label, path.name
        return found
    if any(path.glob("metadata/*.metadata.json")) or (path / ".hoodie").is_dir():
        raise DataError(
            f"{label} is a table whose files also hold deleted rows (Iceberg or Hudi); open it by its own library, and "
            "give gnomon the table, in Python."
        )
    return None


class IcebergSource(Source):
    """A table of pyiceberg, scanned batch by batch."""

    kind = "iceberg"
    label = "The Iceberg table"

    def __init__(self, table: Any) -> None:
        self._table = table
        self._snapshot = table.metadata.current_snapshot_id
        with reading(self.label):
            self._schema = table.schema().as_arrow().remove_metadata()
        unique_names(self.names, self.label)

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    @cached_property
    def _n_rows(self) -> int:
        with reading(self.label):
            return int(self._table.scan(snapshot_id=self._snapshot).count())

    def n_rows(self) -> int:
        return self._n_rows

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterable[pa.RecordBatch]:
        scan = self._table.scan(selected_fields=tuple(columns), snapshot_id=self._snapshot)
        return scan.to_arrow_batch_reader()  # type: ignore[no-any-return]
