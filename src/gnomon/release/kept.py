"""A source that is read once and kept in memory while it is small, for methods that pass over a table several times."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from gnomon.table.base import Source

LARGEST = 2**29  # bytes that are kept; a larger table is read again for each pass, so memory stays flat


class KeptSource(Source):
    """The batches of another source, kept as Arrow columns after the first pass over the same columns."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._asked: tuple[list[str], int] | None = None
        self._batches: list[pa.RecordBatch] = []
        self.kind, self.label = source.kind, source.label

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._source.arrow_schema

    def n_rows(self) -> int:
        return self._source.n_rows()

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterable[pa.RecordBatch]:
        if self._asked == (columns, rows):
            yield from self._batches
            return
        kept: list[pa.RecordBatch] | None = []
        size = 0
        for batch in self._source.batches(columns, rows, raw=raw):
            size += batch.nbytes
            kept = [*kept, batch] if kept is not None and size <= LARGEST else None
            yield batch
        if kept is not None and not raw:
            self._asked, self._batches = (columns, rows), kept
