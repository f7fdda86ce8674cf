"""What row releases share: one noisy row for each record, in one streaming pass, published in the order of the table."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from threadpoolctl import threadpool_limits

from gnomon.engine.local import map_batches, workers
from gnomon.engine.memory import share_heaps
from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.mechanism import Event, NoiseLaw, Released, release_vector, vector_noise
from gnomon.privacy.sensitivity import Attribute, Sensitivity
from gnomon.release.base import Release, Table
from gnomon.release.spool import Spool
from gnomon.table.encode import Encoder, Rows

Integers = npt.NDArray[np.int64]
TAIL = 60.0  # scales of noise that hardly any value exceeds (e^-60 for Laplace)


class RowRelease(Release):
    """A release of n rows, one for each record; there is no model to draw more of them from."""

    spool_: Spool

    def sample_batches(self, n: int | None = None) -> Iterator[pa.Table]:
        """The released rows as Arrow tables, a batch at a time."""
        self._refuse_other(n)
        yield from in_order(self._released, self.spool_.chunks())

    def sample(self, n: int | None = None) -> Any:
        """The released rows in the frame type of the input; the same rows at every call."""
        return self._like(pa.concat_tables(self.sample_batches(n)))

    def _refuse_other(self, n: int | None) -> None:
        if n is not None and n != self.n_rows_:
            raise ParameterError(
                f"{type(self).__name__} releases one noisy row for each record, not a model to draw from, so it "
                f"has {self.n_rows_} rows and no other number. Got {n!r} instead: leave n out, or use a method that "
                "fits a model."
            )

    def _released(self, chunk: npt.NDArray[Any]) -> pa.Table:
        """A batch of released rows from the noisy integers of the records."""
        raise NotImplementedError


def release_rows(
    table: Table,
    f: Callable[[Rows], npt.NDArray[Any]],
    width: int,
    bound: float,
    sensitivity: Sensitivity,
    loss: Spendable,
    statistic: str = "one row for each record",
) -> tuple[Spool, NoiseLaw, Event]:
    """Integer rows f(rows) plus noise, kept in a spool: one pass, a few batches of memory.

    A replaced record changes one row of f and no other, because f works row by row; its change is at most
    `sensitivity`, so the noise of one row covers the whole release. `bound` is on the values of f, without noise.
    """
    spool, law, event, _ = release_rows_and_sum(
        table, f, width, bound, sensitivity, loss, statistic, lambda rows: 0, 0
    )
    return spool, law, event


def release_rows_and_sum(
    table: Table,
    f: Callable[[Rows], npt.NDArray[Any]],
    width: int,
    bound: float,
    sensitivity: Sensitivity,
    loss: Spendable,
    statistic: str,
    summed: Callable[[npt.NDArray[Any]], Any],
    zero: Any,
) -> tuple[Spool, NoiseLaw, Event, Any]:
    """As `release_rows`, and in the same pass the exact sum of summed(f(rows)), which is not yet private.

    f may have columns beyond the `width` that are released, for the sum alone.
    """
    share_heaps()
    _, scale, law = vector_noise(sensitivity, loss)
    spool = Spool(width, bound + TAIL * scale)

    def noisy(batch: pa.RecordBatch) -> tuple[Released, Any]:
        rows = f(table.encoder.encode(batch))
        shown = rows.T[:width].astype(np.int64)  # columns stay together, from the sum to the file
        return release_vector(shown, sensitivity, loss, statistic=statistic), summed(rows)

    event, total = None, zero
    for released, part in map_batches(
        table.source,
        [column.name for column in table.schema.released],
        noisy,
        stage="releasing the rows",
        progress=table.progress,
    ):
        spool.append(released.value.T)
        event, total = released.event, total + part
    assert event is not None
    return spool, law, event, total


def in_order(f: Callable[[Any], pa.Table], items: Iterable[Any]) -> Iterator[pa.Table]:
    """f of every item, on all processors, a few items ahead of the reader and never more."""
    waiting: deque[Future[pa.Table]] = deque()
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers()) as pool:
        for item in items:
            waiting.append(pool.submit(f, item))
            if len(waiting) > workers():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def attributes_of(encoder: Encoder) -> list[Attribute]:
    """The encoded columns of every declared attribute, and the corners of what they can hold."""
    found = []
    for group in encoder.groups:
        columns = range(group.place.start, group.place.stop)
        if group.kind == "one-hot":
            found.append(Attribute.category(columns))
        elif group.indicator:
            found.append(Attribute.number_or_missing(columns[0], columns[1]))
        else:
            found.append(Attribute.number(columns[0]))
    return found


def even_spread(encoder: Encoder) -> float:
    """The mean squared distance of two rows that are spread evenly over what the schema declares; public."""
    numbers = sum(group.kind != "one-hot" for group in encoder.groups)
    categories = [group.place.stop - group.place.start for group in encoder.groups if group.kind == "one-hot"]
    return float(2 / 3 * numbers + sum(2 * (1 - 1 / k) for k in categories))
