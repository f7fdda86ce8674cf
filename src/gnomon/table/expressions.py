"""Tables of ibis: expressions that a database evaluates.

Those of PostgreSQL, SQLite and DuckDB are read as a query of it, in bounded memory and by cells that stand for
themselves, which ibis would not do. Others come in the batches of their own library.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import pyarrow as pa

from gnomon.table.base import Source, reading, unique_names
from gnomon.table.database import open_database
from gnomon.table.schema import Schema


def ibis_table(table: Any, schema: Schema | None) -> Source:
    """The source for a table of ibis."""
    backend = table.get_backend()
    if backend.name in ("postgres", "sqlite", "duckdb"):
        with reading("The table"):
            query = str(backend.compile(table))
        return open_database(backend.con, query=query, schema=schema)
    return IbisSource(table)


class IbisSource(Source):
    """A table of ibis in the batches of its database."""

    kind = "ibis"

    def __init__(self, table: Any) -> None:
        self._table = table
        with reading(self.label):
            self._schema = table.schema().to_pyarrow()
        unique_names(self.names, self.label)

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    @cached_property
    def _n_rows(self) -> int:
        with reading(self.label):
            return int(self._table.count().execute())

    def n_rows(self) -> int:
        return self._n_rows

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterable[pa.RecordBatch]:
        return self._table.select(*columns).to_pyarrow_batches(chunk_size=rows)  # type: ignore[no-any-return]
