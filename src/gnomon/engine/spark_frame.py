"""A Spark DataFrame as a source: its partitions are committed as files, and compared with a second evaluation."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pyarrow as pa
import pyarrow.ipc
from pyspark import TaskContext
from pyspark.sql import functions as sql
from pyspark.sql import types

from gnomon.engine.cluster import Task, versions
from gnomon.engine.committed import SharedFolder
from gnomon.engine.spark import COLUMNS, SparkEngine, row_of
from gnomon.engine.spark_session import problems
from gnomon.engine.staged import Stage, StagedFragment, StagedSource
from gnomon.errors import DataError, EngineError
from gnomon.table.base import unique_names
from gnomon.table.schema import Schema

PLAIN = (
    *(types.BooleanType, types.NumericType, types.StringType, types.BinaryType, types.NullType),
    *(types.DateType, types.TimestampType, types.TimestampNTZType, types.DayTimeIntervalType),
)


class SparkSource(StagedSource):
    """A Spark DataFrame.

    An executor that is lost may have its partitions computed again, with other rows in them where the frame has no fixed
    result. So the content of what was committed, as a sum of row hashes, is compared with a second evaluation.
    """

    kind, runs_on = "spark", SparkEngine

    def __init__(self, frame: Any, schema: Schema | None = None) -> None:
        with problems():
            unique_names(names := frame.columns, self.label)
            if frame.isStreaming:
                raise DataError(
                    "A streaming frame has no end; write it to a table or to files, and release those."
                )
            self._frame = frame.toDF(*map(_place, range(len(names))))  # in SQL, two names may be one
            foreign = {f.name: f.dataType.typeName() for f in frame.schema if not _known(f.dataType)}
            known = [name for name in names if name not in foreign]
            read = self._frame.select(*(_place(names.index(name)) for name in known)).limit(0).toArrow()
        kinds = dict(zip(known, read.schema.types, strict=True))
        super().__init__(pa.schema([(name, kinds.get(name, pa.null())) for name in names]), schema, foreign)

    def _start(self) -> SparkEngine:
        return SparkEngine(session=self._frame.sparkSession)

    def _persisted(self) -> bool:
        """By the plan of the frame, which also tells of frames that it is made from; Spark prints it and no more."""
        with problems(), redirect_stdout(StringIO()) as plan:
            self._frame.select("*").explain()
        return any(scan in plan.getvalue() for scan in ("InMemoryTableScan", "InMemoryRelation"))

    def _evaluated(self, schema: pa.Schema, folder: SharedFolder) -> list[StagedFragment]:
        names = tuple(schema.names)
        columns = [_place(self.names.index(name)) for name in names]
        with problems():
            hashed = self._frame.select(*columns, sql.xxhash64(*columns).alias("hash"))
        last = pa.field(max(names, key=len, default="") + " hash", pa.int64())  # a name that no column has
        task = Task(_Staged(schema.append(last), str(folder.path)), versions())
        told = pickle.dumps(task)

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            place = TaskContext.get().partitionId()
            yield row_of(place, 0, pickle.loads(told)((place, batches)))

        with problems():
            rows = hashed.mapInArrow(run, COLUMNS).collect()
            again = hashed.agg(sql.count("*"), sql.sum(sql.col("hash").cast("decimal(38,0)"))).first()
        found = sorted((row["place"], pickle.loads(row["outcome"]).get()) for row in rows)
        if (sum(n for _, (n, _) in found), sum(h for _, (_, h) in found)) != (again[0], int(again[1] or 0)):
            raise EngineError(
                "The frame gives other rows at every evaluation, so that a record might be counted twice; write it to a "
                "table or to files, and release those."
            )
        return [StagedFragment(_part(str(folder.path), place), n, names) for place, (n, _) in found]


class _Staged:
    """A partition as a committed file; returns its rows and the sum of their hashes, as the file has them."""

    def __init__(self, schema: pa.Schema, folder: str) -> None:
        self._stage, self._folder = Stage(schema), folder

    def __call__(self, item: tuple[int, Iterator[pa.RecordBatch]]) -> tuple[int, int]:
        path = _part(self._folder, item[0])
        rows = self._stage((path, item[1]))
        with pa.memory_map(path) as file, pa.ipc.open_file(file) as reader:
            parts = (reader.get_batch(i).columns[-1] for i in range(reader.num_record_batches))
            return rows, sum(sum(part.to_pylist()) for part in parts)


def _known(kind: Any) -> bool:
    """Whether Arrow has a form for a type, and Spark a hash."""
    if isinstance(kind, types.ArrayType):
        return _known(kind.elementType)
    if isinstance(kind, types.StructType):
        return all(_known(field.dataType) for field in kind)
    return isinstance(kind, PLAIN)


def _part(folder: str, place: int) -> str:
    return os.path.join(folder, f"part-{place:06}")


def _place(i: int) -> str:
    return f"c{i}"
