"""Spark, classic and Connect: tasks run in `mapInArrow`, one row of bytes a task; nothing uses the RDD API."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from gnomon.engine.cluster import SPLIT_EVERY, ClusterEngine, Outcome, Task, added
from gnomon.errors import EngineError

try:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as sql

    from gnomon.engine.spark_session import problems, session_of, stop, watched
except ImportError:
    raise EngineError("The engine spark is not installed; install gnomon[spark].") from None

WAVE = 4  # tasks of one job, for every slot
COLUMNS = "place long, bucket long, outcome binary"


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
                    yield row_of(place, place // SPLIT_EVERY, function(known[place]))

        return self.session.range(0, len(items), 1, len(items)).mapInArrow(run, COLUMNS)


def row_of(place: int, bucket: int, outcome: Outcome) -> pa.RecordBatch:
    found = [pa.array([place]), pa.array([bucket]), pa.array([pickle.dumps(outcome)], pa.binary())]
    return pa.RecordBatch.from_arrays(found, names=["place", "bucket", "outcome"])


def _added(table: pa.Table) -> pa.Table:
    bucket = table["bucket"][0].as_py()
    sums = added([pickle.loads(cell) for cell in table["outcome"].to_pylist()])
    return pa.Table.from_batches([row_of(bucket, bucket // SPLIT_EVERY, sums)])
