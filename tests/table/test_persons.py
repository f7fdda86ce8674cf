"""Bounding: at most k rows of a person are used, whatever the order, the batches, or the memory."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.engine import base
from gnomon.engine.local import LOCAL
from gnomon.table import persons
from gnomon.table import rows as table_rows
from gnomon.table.encode import EncodedRows, Encoder, RawNumbers
from gnomon.table.persons import BoundedRecords, Bounding
from gnomon.table.schema import Column, Schema
from gnomon.table.source import open_source

KEY = bytes(range(32))
X = Column(name="x", kind="number", low=0, high=1)
WARD = Column(name="ward", kind="category", values=("n", "s"))
PATIENT = Column(name="patient", kind="identifier")


def schema(most: int = 2, target: Column | None = None) -> Schema:
    columns = (PATIENT, X, WARD) if target is None else (PATIENT, X, WARD, target)
    return Schema(columns=columns, person="patient", rows_per_person=most, rows=100)


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice can be compared between tables only under one key."""
    monkeypatch.setattr(persons, "fresh_key", lambda: KEY)


def used(table: pa.Table, declared: Schema) -> Counter[tuple[int, ...]]:
    """The encoded rows that a release would see, as a multiset."""
    rows = EncodedRows(open_source(table), Encoder(declared), LOCAL)
    found: Counter[tuple[int, ...]] = Counter()
    for part in rows.parts():
        loaded = part.load()
        beside = [p[:, None] for p in (loaded.codes, loaded.target) if p is not None]
        found.update(map(tuple, np.concatenate([loaded.cells, *beside], axis=1).tolist()))
    return found


def table_of(rows: list[tuple[Any, float, str]]) -> pa.Table:
    names = pa.array([row[0] for row in rows], pa.string())
    return pa.table({"patient": names, "x": [r[1] for r in rows], "ward": [r[2] for r in rows]}).cast(
        pa.schema({"patient": pa.string(), "x": pa.float64(), "ward": pa.string()})
    )


def others(n: int, seed: int = 0) -> list[tuple[Any, float, str]]:
    rng = np.random.default_rng(seed)
    return [(f"p{rng.integers(n // 3)}", float(rng.random()), str(rng.choice(["n", "s"]))) for _ in range(n)]


# --- an adversary ---

row = st.tuples(
    st.sampled_from(["a", "b", None]), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from("ns")
)


@settings(max_examples=60, deadline=None)
@given(st.lists(row, max_size=30), st.lists(row, max_size=12), st.integers(1, 4), st.randoms())
def test_a_person_more_adds_at_most_k_rows_and_moves_no_other(
    rows: list[Any], theirs: list[Any], most: int, random: Any
) -> None:
    """Whatever the rows are and wherever the new ones stand: also equal rows, and persons without a name."""
    added = [("new", x, ward) for _, x, ward in theirs]
    together = [*rows, *added]
    random.shuffle(together)
    before, after = used(table_of(rows), schema(most)), used(table_of(together), schema(most))
    assert not before - after
    assert (after - before).total() == min(most, len(added))


@pytest.mark.parametrize("most", [1, 3])
def test_a_hundred_rows_of_one_person_move_any_sum_by_k_rows(most: int) -> None:
    base = others(300)
    crowd = [("crowd", 1.0 - 0.001 * i, "n") for i in range(100)]
    before = used(table_of(base), schema(most))
    for place in (0, 150, 300):
        after = used(table_of([*base[:place], *crowd, *base[place:]]), schema(most))
        assert not before - after
        assert (after - before).total() == most
    interleaved = [row for pair in zip(base, [*crowd, *[None] * 200], strict=True) for row in pair if row]
    assert used(table_of(interleaved), schema(most)) == after


def test_nobody_has_more_than_k_rows() -> None:
    rows = [(f"p{i % 7}", i / 1000, "n") for i in range(1000)]
    chosen = used(table_of(rows), schema(3))
    assert chosen.total() == 21
    by_person = Counter(round((cells[0] / 2**30 + 1) / 2 * 1000) % 7 for cells in chosen)
    assert set(by_person.values()) == {3}


def test_the_choice_is_fair() -> None:
    """Each of a person's four rows is as likely to be used, and persons with the same rows are not treated alike."""
    rows = [(f"p{i}", x, "n") for i in range(4000) for x in (0.0, 0.25, 0.75, 1.0)]
    counts = list(used(table_of(rows), schema(1)).values())
    assert sum(counts) == 4000
    assert np.abs(np.array(counts) - 1000).max() < 6 * np.sqrt(4000 * 0.25 * 0.75)


def test_fresh_keys_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert len({Bounding("patient", 1).key for _ in range(5)}) == 5
    assert "key" not in repr(Bounding("patient", 1))


# --- larger than memory ---


@pytest.mark.parametrize(
    "target",
    [
        None,
        Column(name="y", kind="boolean", role="target"),
        Column(name="y", kind="number", low=0, high=1, role="target"),
    ],
    ids=["no target", "class", "number"],
)
@pytest.mark.parametrize("batch", [64, 16_384])
def test_a_table_larger_than_memory_has_the_same_rows(
    target: Column | None, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    table = table_of(
        [*others(5000), *[(None, 0.5, "n")] * 50, *[("one", float(x), "s") for x in rng.random(900)]]
    )
    if target is not None:
        y = rng.random(len(table)) < 0.5 if target.kind == "boolean" else rng.random(len(table))
        table = table.append_column("y", pa.array(y))
    expected = used(table, schema(2, target))
    monkeypatch.setattr(table_rows, "BATCH", batch)
    monkeypatch.setattr(persons, "PARTITIONS", 16)
    monkeypatch.setattr(persons, "CHUNK", 4096)
    monkeypatch.setattr(base, "BoundedRecords", lambda bounding: BoundedRecords(bounding, in_memory=10_000))
    assert used(table, schema(2, target)) == expected
    shuffled = table.take(rng.permutation(len(table)))
    assert used(shuffled, schema(2, target)) == expected


def test_what_is_spilled_has_no_name_and_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    records = BoundedRecords(Bounding("patient", 1, KEY), in_memory=0)
    rng = np.random.default_rng(0)
    records.append(rng.integers(0, 9, (1000, 6), dtype=np.int32))
    files = list(records._files)
    assert all(isinstance(file.name, int) for file in files)  # a number and no path
    del records
    assert all(file.closed for file in files)


def test_no_rows_at_all() -> None:
    assert used(table_of([]), schema()) == Counter()


# --- who a person is ---


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([7, 7, 8]),
        pa.array([7.0, 7.0, 8.0]),
        pa.array(["7", "7", "8"]),
        pa.array(["7", "7", "8"]).dictionary_encode(),
        pa.array([Decimal("7.00"), Decimal("7.00"), Decimal("8.00")]),
        pa.array(["7", "7", "8"], pa.string_view()),
    ],
    ids=str,
)
def test_persons_are_the_same_however_their_names_are_stored(cells: pa.Array) -> None:
    found = Bounding("patient", 1, KEY).identities(cells)
    assert np.array_equal(found, Bounding("patient", 1, KEY).identities(pa.array([7, 7, 8], pa.int16())))
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_rows_without_a_person_count_as_one() -> None:
    found = Bounding("patient", 1, KEY).identities(pa.array([None, float("nan"), 0.0]))
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    rows = [(None, i / 100, "n") for i in range(50)]
    assert used(table_of(rows), schema(2)).total() == 2


def test_numbers_before_encoding_are_bounded_too() -> None:
    values = np.random.default_rng(0).standard_normal(500) * 1e9
    values[7] = np.nan
    table = pa.table({"patient": np.arange(500) % 20, "a": values, "b": pa.array([str(v) for v in values])})
    rows = RawNumbers(open_source(table), ("a", "b"), Bounding("patient", 3, KEY), LOCAL)
    found = pa.Table.from_batches([part.load() for part in rows.parts()])
    assert found.num_rows == 60
    assert set(found["a"].drop_null().to_pylist()) <= set(values.tolist())
    assert found["a"].to_numpy().tobytes() == found["b"].to_numpy().tobytes()


def test_a_schema_may_have_persons_and_patterns() -> None:
    text = """
    [table]
    person = "id"
    rows_per_person = 2
    columns = ["id", "lab_1", "lab_2"]
    [columns.id]
    kind = "identifier"
    [columns."lab_*"]
    kind = "boolean"
    """
    assert [column.name for column in Schema.loads(text).released] == ["lab_1", "lab_2"]
