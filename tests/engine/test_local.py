"""The engine folds batches in parallel, keeps their order, reports progress, and passes errors on."""

import threading

import numpy as np
import pyarrow as pa
import pytest

from gnomon.engine import local
from gnomon.engine.local import fold, map_batches
from gnomon.errors import DataError
from gnomon.table.source import open_source


def source(n: int = 1000):  # type: ignore[no-untyped-def]
    return open_source(pa.table({"a": np.arange(n), "b": np.arange(n) * 2}))


def test_fold_is_the_same_for_every_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 7, 1000, 5000):
        monkeypatch.setattr(local, "BATCH", size)
        monkeypatch.setattr(local, "CELLS", 64 * size)
        total = fold(source(), ["a", "b"], lambda b: sum(b.column("b").to_pylist()), 0, stage="x")
        assert total == 999 * 1000


def test_results_keep_the_order_of_the_rows() -> None:
    first = [b.column("a")[0].as_py() for b in map_batches(source(), ["a"], lambda b: b, stage="x", rows=64)]
    assert first == list(range(0, 1000, 64))


def test_progress_counts_rows() -> None:
    seen: list[tuple[str, int, int | None]] = []
    list(map_batches(source(), ["a"], len, stage="summing", rows=300, progress=lambda *p: seen.append(p)))
    assert seen == [
        ("summing", 300, 1000),
        ("summing", 600, 1000),
        ("summing", 900, 1000),
        ("summing", 1000, 1000),
    ]


def test_an_error_in_a_batch_reaches_the_caller_and_stops_the_pool() -> None:
    before = threading.active_count()

    def fail(batch: pa.RecordBatch) -> int:
        raise DataError("a sentence")

    with pytest.raises(DataError, match="a sentence"):
        fold(source(), ["a"], fail, 0, stage="x")
    assert threading.active_count() == before


def test_wide_tables_come_in_smaller_batches() -> None:
    wide = open_source(pa.table({f"c{j}": np.zeros(3000) for j in range(5000)}))
    sizes = list(map_batches(wide, wide.names, lambda b: b.num_rows, stage="x"))
    assert sum(sizes) == 3000
    assert max(sizes) * 5000 <= local.CELLS
