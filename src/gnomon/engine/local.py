"""The engine of one machine: threads that load parts, and fold or map them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock
from typing import Any, TypeVar

from gnomon.engine.base import Integers, OneProcess, Progress, Summed, quiet
from gnomon.engine.memory import reuse_heaps
from gnomon.table.rows import RowSource

Item = TypeVar("Item")
Result = TypeVar("Result")


def workers() -> int:
    return max(1, min(8, os.cpu_count() or 1))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """More would spin beside the other threads and tasks."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra and clustering in one thread: their last bits depend on how many there are, and a replay on another
    machine must give the same bytes.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def in_order(f: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """f of every item, on all processors, a few items ahead of the reader and never more."""
    waiting: deque[Future[Result]] = deque()
    reuse_heaps()
    with one_blas_thread(), ThreadPoolExecutor(workers()) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(f, item))
                if len(waiting) > 2 * workers():
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class _Count:
    """How many rows all threads have done."""

    def __init__(self, total: int | None) -> None:
        self._total, self._done, self._lock = total, 0, Lock()

    def add(self, rows: int, stage: str, progress: Progress) -> None:
        with self._lock:
            self._done += rows
            progress(stage, self._done, self._total)


class LocalEngine(OneProcess):
    """Threads of this process: numpy and pyarrow work outside the interpreter's lock."""

    def fold(
        self, source: RowSource, query: Summed[Any], *, stage: str, progress: Progress = quiet
    ) -> Integers:
        """Every thread adds up the parts that it takes, and the threads' sums are added at the end."""
        parts, taking, done, failed = source.parts(), Lock(), _Count(getattr(source, "n", None)), Event()

        def work() -> Integers:
            total = query.zero()
            try:
                while not failed.is_set():
                    with taking:
                        part = next(parts, None)
                    if part is None:
                        break
                    total += query.of_batch(part.load())
                    done.add(part.rows, stage, progress)
            except BaseException:
                failed.set()
                raise
            return total

        reuse_heaps()
        with one_blas_thread(), ThreadPoolExecutor(workers()) as pool:
            try:
                sums = [future.result() for future in [pool.submit(work) for _ in range(workers())]]
            except BaseException:
                failed.set()
                raise
        total = sums[0]
        for other in sums[1:]:
            total += other
        return total

    def write(
        self,
        source: RowSource,
        row_map: Callable[[Any], Any],
        sink: Callable[[Any], None],
        *,
        stage: str,
        progress: Progress = quiet,
    ) -> None:
        done = _Count(getattr(source, "n", None))
        for rows, mapped in in_order(lambda part: (part.rows, row_map(part.load())), source.parts()):
            done.add(rows, stage, progress)
            sink(mapped)


LOCAL = LocalEngine()
