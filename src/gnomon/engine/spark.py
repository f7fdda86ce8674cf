"""Spark, classic and Connect: tasks run in `mapInArrow`, one row of bytes a task; nothing uses the RDD API."""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from gnomon.engine.cluster import ClusterEngine, Outcome, Task, added, versions
from gnomon.engine.committed import SharedFolder
from gnomon.engine.staged import Stage, StagedFragment, StagedSource
from gnomon.errors import EngineError
from gnomon.table.base import unique_names
from gnomon.table.schema import Schema

try:
    from pyspark import TaskContext
    from pyspark.sql import SparkSession, types
    from pyspark.sql import functions as sql

    from gnomon.engine.spark_session import problems, session_of, stop, watched
except ImportError:
    raise EngineError("The engine spark is not installed; install gnomon[spark].") from None

WAVE = 4  # tasks of one job, for every slot
SPLIT_EVERY = 8  # sums that one task adds up
PLAIN = (
    *(types.BooleanType, types.NumericType, types.StringType, types.BinaryType, types.NullType),
    *(types.DateType, types.TimestampType, types.TimestampNTZType, types.DayTimeIntervalType),
)
COLUMNS = "place long, bucket long, outcome binary"
HASH = "gnomon row hash"


class SparkEngine(ClusterEngine):
    """Folds by jobs whose tasks are the partitions of a range: a task is known by its number, wherever it runs.

    cluster    a master (spark://..., local[2]) or a Connect server (sc://...); by default local[*], on loopback;
    place      a folder that the driver and all workers see; by default that of temporary files, for one machine;
    session    a SparkSession, in place of an address.
    """

    def __init__(
        self, cluster: str | None = None, *, place: str | None = None, session: SparkSession | None = None
    ) -> None:
        self.place = place
        with problems():
            self.session = session or session_of(cluster)
        self.close = weakref.finalize(self, stop, None if session else self.session)
        self._slots = 0
        self.greet()

    def slots(self) -> int:
        if not self._slots:
            with problems():
                parts = self.session.range(0, 100_000).select(sql.spark_partition_id().alias("part"))
                self._slots = int(parts.agg(sql.countDistinct("part")).first()[0])
        return self._slots

    def each(self, task: Task, items: Sequence[Any]) -> Iterator[tuple[int, Outcome]]:
        wave = WAVE * self.slots()
        for start in range(0, len(items), wave):
            with problems():
                rows = self._job(task, items[start : start + wave]).collect()
            for row in rows:
                yield start + row["place"], pickle.loads(row["outcome"])

    def total(self, task: Task, items: Sequence[Any], done: Callable[[int], None], *, large: bool) -> Outcome:
        told = 0

        def report(tasks: int) -> None:
            nonlocal told
            for place in range(told, min(tasks, len(items))):
                done(place)
            told = max(told, tasks)

        with problems():
            job, left = self._job(task, items), len(items)
            while left > (
                1 if large else SPLIT_EVERY
            ):  # a shuffle by key: the same sums, however often they are made
                job, left = job.groupBy("bucket").applyInArrow(_added, COLUMNS), -(-left // SPLIT_EVERY)
            with watched(self.session, report):
                rows = job.collect()
        report(len(items))
        return added([pickle.loads(row["outcome"]) for row in rows])

    def everywhere(self, task: Task, item: Any) -> Iterable[Outcome]:
        return [outcome for _, outcome in self.each(task, [item] * self.slots())]

    def _job(self, task: Task, items: Sequence[Any]) -> Any:
        """A lazy frame with the outcome of every item; tasks and items travel with the function."""
        told = pickle.dumps((task, items))

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            function, known = pickle.loads(told)
            for batch in batches:
                for place in batch.column(0).to_pylist():
                    yield _row(place, place // SPLIT_EVERY, function(known[place]))

        return self.session.range(0, len(items), 1, len(items)).mapInArrow(run, COLUMNS)


class SparkSource(StagedSource):
    """A Spark DataFrame.

    An executor that is lost may have its partitions computed again, with other rows in them where the frame has no fixed
    result. So the content of what was committed, as a sum of row hashes, is compared with a second evaluation.
    """

    kind, runs_on = "spark", SparkEngine

    def __init__(self, frame: Any, schema: Schema | None = None) -> None:
        self._frame = frame
        unique_names(frame.columns, self.label)
        with problems():
            foreign = {f.name: f.dataType.typeName() for f in frame.schema if not _known(f.dataType)}
            known = [sql.col(_quoted(name)) for name in frame.columns if name not in foreign]
            columns = frame.select(*known).limit(0).toArrow().schema
        kinds = [(n, pa.null() if n in foreign else columns.field(n).type) for n in frame.columns]
        super().__init__(pa.schema(kinds), schema, foreign)

    def _start(self) -> SparkEngine:
        return SparkEngine(session=self._frame.sparkSession)

    def _persisted(self) -> bool:
        """By the plan of the frame, which also tells of frames that it is made from; Spark prints it and no more."""
        with problems(), redirect_stdout(StringIO()) as plan:
            self._frame.select("*").explain()
        return "InMemoryTableScan" in plan.getvalue()

    def _evaluated(self, schema: pa.Schema, folder: SharedFolder) -> list[StagedFragment]:
        names = tuple(schema.names)
        columns = [sql.col(_quoted(name)) for name in names]
        with problems():
            hashed = self._frame.select(*columns, sql.xxhash64(*columns).alias(HASH))
        task = Task(_Staged(schema.append(pa.field(HASH, pa.int64())), str(folder.path)), versions())
        told = pickle.dumps(task)

        def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            place = TaskContext.get().partitionId()
            yield _row(place, 0, pickle.loads(told)((place, batches)))

        with problems():
            rows = hashed.mapInArrow(run, COLUMNS).collect()
            again = hashed.agg(sql.count("*"), sql.sum(sql.col(HASH).cast("decimal(38,0)"))).first()
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
            parts = (reader.get_batch(i).column(HASH) for i in range(reader.num_record_batches))
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


def _row(place: int, bucket: int, outcome: Outcome) -> pa.RecordBatch:
    found = [pa.array([place]), pa.array([bucket]), pa.array([pickle.dumps(outcome)], pa.binary())]
    return pa.RecordBatch.from_arrays(found, names=["place", "bucket", "outcome"])


def _added(table: pa.Table) -> pa.Table:
    bucket = table["bucket"][0].as_py()
    sums = added([pickle.loads(cell) for cell in table["outcome"].to_pylist()])
    return pa.Table.from_batches([_row(bucket, bucket // SPLIT_EVERY, sums)])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
