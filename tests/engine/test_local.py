"""The engine of one machine: exact folds, mapped parts in order and once each, progress, and errors passed on."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gnomon.engine.local import LOCAL
from gnomon.errors import DataError
from gnomon.table import rows
from gnomon.table.encode import RawRows
from gnomon.table.rows import Loaded
from gnomon.table.source import open_source


@dataclass(frozen=True)
class Numbers:
    """0, 1, ..., n - 1 in parts."""

    n: int
    size: int

    def parts(self) -> Iterator[Loaded]:
        for start in range(0, self.n, self.size):
            part = np.arange(start, min(start + self.size, self.n))
            yield Loaded(part, len(part))


class Total:
    def zero(self) -> Any:
        return np.zeros(1, dtype=np.int64)

    def of_batch(self, rows: Any) -> Any:
        return np.array([rows.sum()])


class Failing(Total):
    def of_batch(self, rows: Any) -> Any:
        if rows[0] >= 50:
            raise DataError("a sentence")
        return super().of_batch(rows)


@pytest.mark.parametrize("size", [1, 7, 1000, 5000])
def test_a_fold_is_the_same_for_every_partition(size: int) -> None:
    assert LOCAL.fold(Numbers(1000, size), Total(), stage="x").tolist() == [999 * 500]


def test_a_fold_of_nothing_is_zero() -> None:
    assert LOCAL.fold(Numbers(0, 5), Total(), stage="x").tolist() == [0]


def test_mapped_parts_reach_the_sink_in_order_and_once() -> None:
    found: list[int] = []
    LOCAL.write(Numbers(1000, 64), lambda rows: rows * 2, lambda rows: found.extend(rows.tolist()), stage="x")
    assert found == list(range(0, 2000, 2))


@pytest.mark.parametrize("verb", ["fold", "write"])
def test_progress_counts_rows(verb: str) -> None:
    seen: list[tuple[str, int, int | None]] = []
    source, watch = Numbers(1000, 300), lambda *p: seen.append(p)
    if verb == "fold":
        LOCAL.fold(source, Total(), stage="summing", progress=watch)
    else:
        LOCAL.write(source, len, lambda found: None, stage="summing", progress=watch)
    assert len(seen) == 4
    assert seen[-1] == ("summing", 1000, 1000)


def test_an_error_in_a_part_reaches_the_caller_and_stops_the_threads() -> None:
    before = threading.active_count()
    with pytest.raises(DataError, match="a sentence"):
        LOCAL.fold(Numbers(10**6, 10), Failing(), stage="x")
    with pytest.raises(DataError, match="a sentence"):
        LOCAL.write(Numbers(1000, 10), Failing().of_batch, lambda found: None, stage="x")
    assert threading.active_count() == before


def test_an_interrupted_fold_stops() -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        LOCAL.fold(Numbers(10**6, 10), Total(), stage="x", progress=interrupt)
    assert threading.active_count() == before


def test_wide_tables_come_in_smaller_parts() -> None:
    wide = open_source(pa.table({f"c{j}": np.zeros(3000) for j in range(5000)}))
    sizes = [part.rows for part in RawRows(wide, tuple(wide.names)).parts()]
    assert sum(sizes) == 3000
    assert max(sizes) * 5000 <= rows.BATCH_CELLS
