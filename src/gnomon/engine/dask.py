"""Dask: tasks on the workers of a scheduler, or of a local cluster that lives as long as the engine."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from distributed import Client, as_completed

from gnomon.engine.cluster import SPLIT_EVERY, ClusterEngine, Outcome, Task, added
from gnomon.engine.dask_session import client_of, local_cluster, problems
from gnomon.errors import ParameterError

ADDRESS = r"([a-z]+://)?[^\s/]+:\d+"


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
        with ExitStack() as started, problems():
            if client is None:
                own = None if cluster else started.enter_context(local_cluster(workers, processes))
                client = started.enter_context(client_of(own or cluster))
            self.client = client
            self.close = weakref.finalize(self, started.pop_all().close)
        self.greet()

    def slots(self) -> int:
        return sum(self.client.nthreads().values()) or 1

    def each(self, task: Task, items: Sequence[Any]) -> Iterator[tuple[int, Outcome]]:
        with problems(), self._started(task, items) as futures:
            for future, outcome in as_completed(list(futures), loop=self.client.loop, with_results=True):
                yield futures[future], outcome

    def total(self, task: Task, items: Sequence[Any], done: Callable[[int], None], *, large: bool) -> Outcome:
        with problems(), self._started(task, items) as futures:
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
        with problems():
            self.client.wait_for_workers(1, timeout=30)
            answers: dict[str, Outcome] = self.client.run(task, item)
        return answers.values()


def _same(value: Any) -> Any:
    return value


def _call(task: Task, item: Any) -> Outcome:
    return task(item)
