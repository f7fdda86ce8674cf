"""The cache of encoded rows: read once, kept by its owner alone, and the same for every pass."""

import os
import pickle
import stat
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gnomon.engine.local import LOCAL
from gnomon.table.base import Source
from gnomon.table.encode import EncodedRows, Encoder
from gnomon.table.rows import CELL, RowCache, Rows
from gnomon.table.schema import Schema


def rows(n: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return Rows.of(rng.uniform(-1, 1, (n, 4)), rng.integers(0, 3, n), rng.uniform(-1, 1, n))


def test_cells_are_the_nearest_multiples_and_numbers_again() -> None:
    X = np.array([[-1.0, 1.0, 0.1, 1e-12]])
    found = Rows.of(X)
    assert found.cells.tolist() == [[-CELL, CELL, round(0.1 * CELL), 0]]
    assert np.allclose(found.X, X, atol=1 / CELL)


@pytest.mark.parametrize("limit", [0, 3000, 2**28])
@pytest.mark.parametrize("target", ["none", "class", "number"])
def test_what_was_appended_is_read_again(limit: int, target: str) -> None:
    cache = RowCache(4, classes=target == "class", number=target == "number", in_memory=limit)
    batches = [rows(n, seed=n) for n in (100, 1, 57)]
    for batch in batches:
        cache.append(batch)
    assert cache.n == 158
    for _ in range(2):
        for kept, batch in zip((part.load() for part in cache.parts()), batches, strict=True):
            assert np.array_equal(kept.cells, batch.cells)
            if target == "class":
                assert np.array_equal(kept.codes, batch.codes)
            if target == "number":
                assert np.array_equal(kept.target, batch.target)


def test_the_file_has_no_name_and_is_its_owners_alone() -> None:
    cache = RowCache(4, in_memory=0)
    cache.append(rows(10))
    assert cache._file is not None
    state = os.fstat(cache._file.fileno())
    assert state.st_nlink == 0  # gone from every folder: nothing is left after a crash
    assert stat.S_IMODE(state.st_mode) & 0o077 == 0


class Reordering(Source):
    """A lazy query: another order, other batches and other dictionary codes at every read."""

    kind, label = "test", "The table"

    def __init__(self, table: pa.Table) -> None:
        self._table, self.reads = table, 0

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._table.schema

    def n_rows(self) -> int:
        return int(self._table.num_rows)

    def _read(self, columns: list[str], size: int, raw: bool) -> Iterable[pa.RecordBatch]:
        return self._shuffled(columns)

    def _shuffled(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        self.reads += 1
        rng = np.random.default_rng(self.reads)
        order = rng.permutation(self._table.num_rows)
        for part in np.array_split(order, int(rng.integers(1, 6))):
            taken = self._table.take(pa.array(part)).select(columns).combine_chunks()
            values = rng.permutation(np.array(["a", "b", "c"])).tolist()
            codes = [values.index(v) for v in taken["kind"].to_pylist()]
            kind = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(values))
            place = taken.schema.get_field_index("kind")
            yield from taken.set_column(place, "kind", kind).to_batches()


def reordering(n: int = 500) -> tuple[Reordering, Schema]:
    rng = np.random.default_rng(0)
    table = pa.table(
        {"x": rng.uniform(0, 9, n), "kind": rng.choice(["a", "b", "c"], n), "y": rng.choice([0, 1], n)}
    )
    text = """[columns.x]
kind = "number"
low = 0
high = 9
[columns.kind]
kind = "category"
values = ["a", "b", "c"]
[columns.y]
kind = "category"
values = [0, 1]
role = "target"
"""
    return Reordering(table), Schema.loads(text)


def test_a_source_is_read_once_for_all_passes() -> None:
    source, schema = reordering()
    encoded = EncodedRows(source, Encoder(schema), LOCAL)
    first = sorted(map(tuple, np.concatenate([p.load().cells for p in encoded.parts()]).tolist()))
    second = sorted(map(tuple, np.concatenate([p.load().cells for p in encoded.parts()]).tolist()))
    assert first == second
    assert source.reads == 1


def test_every_release_sees_a_multiset() -> None:
    """At no noise, sources that return another order at every read give the same measurements."""
    from gnomon.methods.ron_gauss import RonGauss

    def answers(seed: int) -> list[Any]:
        source, schema = reordering()
        source.reads = seed
        method = RonGauss(np.inf, schema=schema, not_private=True, random_state=1)
        return [answer.value.tolist() for answer in method.fit(source).answers_]

    assert answers(0) == answers(10) == answers(20)


def test_rows_survive_a_pickle() -> None:
    some = rows(20)
    again = pickle.loads(pickle.dumps(some))
    assert np.array_equal(again.cells, some.cells)
