"""Frames of a cluster as a source: evaluated once, and read from the files that this one evaluation has committed.

A lazy frame may give other rows at every evaluation (`rand()`, a lost worker, a shuffle without order). So its released
columns are written once, partition by partition, when the first of its rows is needed. The check, the count, estimated
bounds and the encoding all read these files: what was checked is what is released.

A persisted frame is refused. Where a worker is lost, the parts that it held are computed again, beside parts that are
left of the first evaluation. If the frame has no fixed result, a record may then be in two parts, at every later read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from gnomon.engine.base import Engine
from gnomon.engine.cluster import ClusterEngine
from gnomon.engine.committed import SharedFolder, commit
from gnomon.errors import DataError, EngineError
from gnomon.table.base import Source, reading, unique_names
from gnomon.table.rows import BATCH
from gnomon.table.schema import Schema

EVALUATIONS = 3  # of a frame, when workers are lost during the first ones


@dataclass(frozen=True)
class StagedFragment:
    """A partition of a frame in its committed file."""

    path: str
    rows: int
    columns: tuple[str, ...]

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(self.path) as file, pa.ipc.open_file(file) as reader:
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i).select(self.columns)
                for start in range(0, batch.num_rows, rows):
                    yield batch.slice(start, rows)


@dataclass(frozen=True)
class Stage:
    """A partition as a committed file; returns its number of rows, as the file has it."""

    schema: pa.Schema

    def __call__(self, item: tuple[str, Iterable[pa.RecordBatch]]) -> int:
        path, batches = item

        def write(file: Any) -> None:
            with pa.ipc.new_file(file, self.schema) as writer:
                for batch in batches:
                    named = pa.Table.from_batches([batch]).rename_columns(self.schema.names)
                    writer.write_table(named.cast(self.schema), max_chunksize=BATCH)

        commit(path, write)
        with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
            return sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))


class StagedSource(Source):
    """A frame whose rows live on a cluster."""

    runs_on: type[ClusterEngine]

    def __init__(self, columns: pa.Schema, schema: Schema | None, foreign: dict[str, str]) -> None:
        """`foreign` names the columns that Arrow has no form for, and their types: nobody reads them."""
        unique_names(columns.names, self.label)
        self._all, self._foreign = columns, foreign
        declared = None if schema is None else {*(column.name for column in schema.released), schema.person}
        self._staged = [name for name in columns.names if declared is None or name in declared]
        self._engine: ClusterEngine | None = None

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._all

    @abstractmethod
    def _start(self) -> ClusterEngine:
        """An engine on the cluster that holds the frame."""

    @abstractmethod
    def _evaluated(self, schema: pa.Schema, folder: SharedFolder) -> list[StagedFragment] | None:
        """Evaluate the frame and commit its partitions; None where parts of two evaluations may have met."""

    @abstractmethod
    def _persisted(self) -> bool:
        """Whether parts of an earlier evaluation are kept on the cluster."""

    @cached_property
    def _files(self) -> tuple[SharedFolder, list[StagedFragment]]:
        if self._persisted():
            raise EngineError(
                "A persisted frame cannot be released: a part that is lost is computed again beside the others, so that a "
                "record might be counted twice; give the frame as it was before, or write it to files and release those."
            )
        for name in self._staged:
            if name in self._foreign:
                raise DataError(
                    f"{self.label} has a column {name!r} of the type {self._foreign[name]}, which cannot be read; cast it "
                    "to text or to a number, or leave it out."
                )
        schema = pa.schema([self._all.field(name) for name in self._staged])
        for _ in range(EVALUATIONS):
            folder, found = SharedFolder(self._own().place), None
            try:
                with reading(self.label):
                    found = self._evaluated(schema, folder)
                if found is not None:
                    return folder, found
            finally:
                if found is None:
                    folder.delete()
        raise EngineError(
            "Workers were lost at each of several evaluations of the frame, whose rows might have been counted twice; "
            "write it to files, and release those."
        )

    def engine(self, asked: Engine | None = None) -> Engine:
        if isinstance(asked, self.runs_on):
            self._engine = asked
        return asked or self._own()

    def _own(self) -> Any:
        self._engine = self._engine or self._start()
        return self._engine

    def n_rows(self) -> int:
        return sum(fragment.rows for fragment in self._files[1])

    def fragments(self, columns: Sequence[str]) -> list[StagedFragment]:
        return [StagedFragment(one.path, one.rows, tuple(columns)) for one in self._files[1]]

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        for fragment in self.fragments(columns):
            yield from fragment.batches(rows)
