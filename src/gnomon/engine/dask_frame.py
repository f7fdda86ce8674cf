"""A Dask DataFrame as a source: its partitions are committed as files, in one evaluation."""

from __future__ import annotations

from typing import Any

import dask
import pyarrow as pa
from distributed import Client, futures_of, get_client

from gnomon.engine.cluster import Outcome, Task, versions
from gnomon.engine.committed import SharedFolder
from gnomon.engine.dask import DaskEngine
from gnomon.engine.dask_session import problems
from gnomon.engine.staged import Stage, StagedFragment, StagedSource
from gnomon.table.base import unique_names
from gnomon.table.schema import Schema


class DaskSource(StagedSource):
    """A Dask DataFrame."""

    kind, runs_on = "dask", DaskEngine

    def __init__(self, frame: Any, schema: Schema | None = None) -> None:
        self._frame, meta = frame, frame._meta
        unique_names(meta.columns, self.label)
        fields, foreign = [], {}
        for name in meta.columns:
            try:
                kind = pa.Schema.from_pandas(meta[[name]], preserve_index=False).field(name).type
            except (pa.ArrowException, TypeError):
                kind, foreign[name] = pa.null(), str(meta[name].dtype)
            fields.append((name, pa.string() if pa.types.is_null(kind) else kind))
        super().__init__(pa.schema(fields), schema, foreign)

    def _start(self) -> DaskEngine:
        try:
            return DaskEngine(client=get_client())
        except ValueError:  # nobody has started a client: threads of this process, as Dask itself would use
            return DaskEngine(processes=False)

    def _persisted(self) -> bool:
        return bool(futures_of(self._frame))

    def _evaluated(self, schema: pa.Schema, folder: SharedFolder) -> list[StagedFragment] | None:
        """None where a worker was lost: a recomputed shuffle may move rows between partitions."""
        client, task, names = self._own().client, Task(Stage(schema), versions()), schema.names
        partitions = [
            (str(folder.path / f"part-{i:06}"), part)
            for i, part in enumerate(self._frame[names].to_delayed())
        ]
        with problems():
            before = _losses(client)
            staged = [dask.delayed(_stage_partition)(task, path, part) for path, part in partitions]
            rows = [outcome.get() for outcome in client.gather(client.compute(staged))]
            if _losses(client) != before:
                return None
        return [StagedFragment(path, n, tuple(names)) for (path, _), n in zip(partitions, rows, strict=True)]


def _stage_partition(task: Task, path: str, partition: Any) -> Outcome:
    schema = task.function.schema  # type: ignore[attr-defined]
    return Task(lambda frame: task.function((path, _batches(frame, schema))), task.expected)(partition)


def _batches(frame: Any, schema: pa.Schema) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = pa.Table.from_pandas(frame, schema, preserve_index=False).to_batches()
    return batches


def _losses(client: Client) -> list[Any]:
    """When workers have left, for whatever reason, by the scheduler's own log."""
    return [time for time, event in client.get_events("all") if event.get("action") == "remove-worker"]
