"""Dask: tasks on the workers of a scheduler, or of a local cluster that lives as long as the engine."""

from __future__ import annotations

import logging
import os
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa

from gnomon.engine.cluster import ClusterEngine, Outcome, Task, added, versions
from gnomon.engine.committed import SharedFolder
from gnomon.engine.local import workers
from gnomon.engine.staged import Stage, StagedFragment, StagedSource
from gnomon.errors import EngineError, GnomonError, ParameterError
from gnomon.table.base import unique_names
from gnomon.table.schema import Schema

try:
    import dask
    from distributed import Client, LocalCluster, Security, as_completed, futures_of, get_client
except ImportError:
    raise EngineError("The engine dask is not installed; install gnomon[dask].") from None

ADDRESS = r"([a-z]+://)?[^\s/]+:\d+"
SPLIT_EVERY = 8  # sums that one task adds up


class DaskEngine(ClusterEngine):
    """Folds by trees of tasks.

    cluster    the address of a scheduler (tcp://..., tls://...); by default a local cluster on loopback, by TLS;
    place      a folder that the driver and all workers see; by default that of temporary files, for one machine;
    client     a client of distributed, in place of an address.
    """

    def __init__(
        self,
        cluster: str | None = None,
        *,
        place: str | None = None,
        client: Client | None = None,
        workers: int | None = None,
        processes: bool = True,
    ) -> None:
        if cluster is not None and not re.fullmatch(ADDRESS, cluster):
            raise ParameterError(
                "The address of a Dask scheduler has the form tcp://host:port or tls://host:port."
            )
        self.place = place
        with ExitStack() as started, _problems():
            if client is None:
                own = None if cluster else started.enter_context(_local_cluster(workers, processes))
                client = started.enter_context(Client(own or cluster, set_as_default=False))
            self.client = client
            self.close = weakref.finalize(self, started.pop_all().close)
        self.greet()

    def slots(self) -> int:
        return sum(self.client.nthreads().values()) or 1

    def each(self, task: Task, items: Sequence[Any]) -> Iterator[tuple[int, Outcome]]:
        with _problems(), self._started(task, items) as futures:
            for future, outcome in as_completed(list(futures), loop=self.client.loop, with_results=True):
                yield futures[future], outcome

    def total(self, task: Task, items: Sequence[Any], done: Callable[[int], None], *, large: bool) -> Outcome:
        with _problems(), self._started(task, items) as futures:
            level = list(futures)
            while len(level) > 1:
                level = [
                    self.client.submit(added, level[start : start + SPLIT_EVERY], pure=False)
                    for start in range(0, len(level), SPLIT_EVERY)
                ]
            for future in as_completed(list(futures), loop=self.client.loop):
                done(futures[future])
            outcome: Outcome = level[0].result()
            return outcome

    @contextmanager
    def _started(self, task: Task, items: Sequence[Any]) -> Iterator[dict[Any, int]]:
        """A future for each item; the task itself is a result that workers pass on among themselves."""
        shared = self.client.submit(_same, task, pure=False)
        futures = [self.client.submit(_call, shared, item, pure=False) for item in items]
        try:
            yield {future: i for i, future in enumerate(futures)}
        except BaseException:
            self.client.cancel(futures)
            raise

    def everywhere(self, task: Task, item: Any) -> Iterable[Outcome]:
        with _problems():
            self.client.wait_for_workers(1, timeout=30)
            answers: dict[str, Outcome] = self.client.run(task, item)
        return answers.values()


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
        with _problems():
            before = _losses(client)
            staged = [dask.delayed(_stage_partition)(task, path, part) for path, part in partitions]
            rows = [outcome.get() for outcome in client.gather(client.compute(staged))]
            if _losses(client) != before:
                return None
        return [StagedFragment(path, n, tuple(names)) for (path, _), n in zip(partitions, rows, strict=True)]


@contextmanager
def _problems() -> Iterator[None]:
    """What Dask raises, as one sentence: its text may hold addresses and cells."""
    try:
        yield
    except GnomonError:
        raise
    except (OSError, TimeoutError):
        raise EngineError("The Dask cluster cannot be reached; check its address and its workers.") from None
    except (ImportError, AttributeError):
        raise EngineError(
            "A worker of the Dask cluster lacks gnomon or one of its parts; install the same version there."
        ) from None
    except Exception as problem:
        if os.environ.get("GNOMON_DEBUG"):
            raise
        raise EngineError(f"The Dask cluster could not do its work ({type(problem).__name__}).") from None


@contextmanager
def _local_cluster(count: int | None, processes: bool) -> Iterator[LocalCluster]:
    """On loopback, with TLS of its own, so that nobody else on this machine can give it tasks; no web page."""
    scratch = SharedFolder()  # what workers spill is their owner's alone
    try:
        with dask.config.set({"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}):
            cluster = LocalCluster(
                n_workers=count or workers(),
                threads_per_worker=1,
                processes=processes,
                host="127.0.0.1" if processes else None,
                protocol="tls" if processes else "inproc",
                security=Security.temporary() if processes else None,
                dashboard_address="127.0.0.1:0",
                local_directory=str(scratch.path),
                silence_logs=logging.CRITICAL,  # a worker would log what it failed on, cells and all
            )
        with cluster:
            yield cluster
    finally:
        scratch.delete()


def _same(value: Any) -> Any:
    return value


def _call(task: Task, item: Any) -> Outcome:
    return task(item)


def _stage_partition(task: Task, path: str, partition: Any) -> Outcome:
    schema = task.function.schema  # type: ignore[attr-defined]
    return Task(lambda frame: task.function((path, _batches(frame, schema))), task.expected)(partition)


def _batches(frame: Any, schema: pa.Schema) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = pa.Table.from_pandas(frame, schema, preserve_index=False).to_batches()
    return batches


def _losses(client: Client) -> list[Any]:
    """When workers have left, for whatever reason, by the scheduler's own log."""
    return [time for time, event in client.get_events("all") if event.get("action") == "remove-worker"]
