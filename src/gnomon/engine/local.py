"""Run a function over batches of a source and fold the results; the only place that knows about threads."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa

from gnomon.table.source import Source

Result = TypeVar("Result")
Progress = Callable[[str, int, int | None], None]
BATCH = 16_384  # rows: a hundred float64 columns of it stay near a processor's cache
CELLS = 2**23  # of a batch, so that memory stays flat for thousands of columns


def quiet(stage: str, done: int, total: int | None) -> None:
    """The progress of a library call that nobody watches."""


def workers() -> int:
    return max(1, min(8, os.cpu_count() or 1))


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def map_batches(
    source: Source,
    columns: list[str],
    f: Callable[[pa.RecordBatch], Result],
    *,
    stage: str,
    progress: Progress = quiet,
    rows: int | None = None,
) -> Iterator[Result]:
    """f of every batch, in the order of the source, a few batches ahead of the reader and never more."""
    total = source.n_rows()
    size = rows or max(64, min(BATCH, CELLS // max(1, len(columns))))
    done = 0
    waiting: deque[tuple[int, Future[Result]]] = deque()
    with _one_blas_thread(), ThreadPoolExecutor(workers()) as pool:

        def collect() -> Result:
            nonlocal done
            taken, future = waiting.popleft()
            result = future.result()
            done += taken
            progress(stage, done, total)
            return result

        try:
            for batch in source.batches(columns, rows=size):
                waiting.append((batch.num_rows, pool.submit(f, batch)))
                if len(waiting) > 2 * workers():
                    yield collect()
            while waiting:
                yield collect()
        finally:
            for _, future in waiting:
                future.cancel()


def fold(
    source: Source,
    columns: list[str],
    f: Callable[[pa.RecordBatch], Any],
    zero: Any,
    *,
    stage: str,
    progress: Progress = quiet,
) -> Any:
    """zero + f(batch) + f(batch) + ...; sums are exact, so every order gives the same integers."""
    total = zero
    for part in map_batches(source, columns, f, stage=stage, progress=progress):
        total = total + part
    return total
