"""The content print sees the multiset of typed rows, and nothing else of a table."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gnomon.table.fingerprint import ContentPrint, content_print, same_columns
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

KEY = bytes(range(32))
KINDS = {
    "number": "low = -10\nhigh = 10",
    "integer": "low = -4000000000000000000\nhigh = 4000000000000000000\ninteger = true",
    "category": 'values = ["a", "b", "1", "true"]',
    "boolean": "",
    "date": "low = 2020-01-01\nhigh = 2026-12-31",
}


def schema_of(kind: str) -> Schema:
    declared = "number" if kind == "integer" else kind
    return Schema.loads(f'[columns.c]\nkind = "{declared}"\n{KINDS[kind]}\n')


def print_of(kind: str, cells: Any, key: bytes = KEY) -> str:
    return content_print(open_source(pa.table({"c": cells})), schema_of(kind), key)


MOMENT = np.array(["2020-02-03T04:05:06"], "datetime64[us]")
SAME: list[tuple[str, list[Any]]] = [
    ("number", [pa.array([5, 1], t) for t in (pa.int8(), pa.uint16(), pa.int64(), pa.float32(), pa.float64())]),
    ("number", [pa.array([5.0, 0.0]), pa.array(["5", "-0"]), pa.array([Decimal("5.0"), Decimal("0")])]),
    ("number", [pa.array([1.5, None]), pa.array([1.5, float("nan")]), pa.array(["1.5", "soon"])]),
    ("number", [pa.array([5, 5, 1]), pa.array([5, 5, 1]).dictionary_encode(), pa.array([1, 5, 5])]),
    ("integer", [pa.array([2**60 + 1, -3]), pa.array([str(2**60 + 1), "-3"])]),
    ("integer", [pa.array([7, None]), pa.array([7.0, float("nan")])]),
    ("category", [pa.array(["a", "b", None]), pa.array(["b", None, "a"], pa.large_string())]),
    ("category", [pa.array(["1", "a"]), pa.array(["1.0", "a"]), pa.array(["a", "1"]).dictionary_encode()]),
    ("category", [pa.array([1, 1]), pa.array([1.0, 1.0]), pa.array(["1", "1"])]),
    ("category", [pa.array(["zebra", "a"]), pa.array(["a", "zebra"]).dictionary_encode()]),
    ("boolean", [pa.array([True, False]), pa.array([0, 1]), pa.array(["true", "False"])]),
    ("date", [pa.array(MOMENT), pa.array(MOMENT.astype("datetime64[s]")), pa.array(["2020-02-03T04:05:06"])]),
    ("date", [pa.array(["2020-02-03"]), pa.array(MOMENT.astype("datetime64[D]")), pa.array(["2020-02-03 00:00:00"])]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "forms"), SAME)
def test_one_content_in_many_forms_has_one_print(kind: str, forms: list[Any]) -> None:
    assert len({print_of(kind, cells) for cells in forms}) == 1


OTHER: list[tuple[str, Any, Any]] = [
    ("number", [1, 2], [1, 3]),
    ("number", [1, 1, 2], [1, 2, 2]),
    ("number", [1, 2], [1, 2, 2]),
    ("number", [0, None], [0, 0]),
    ("number", [1.0, -1.0], [-2.0, 2.0]),
    ("integer", [2**60], [2**60 + 1]),
    ("category", ["ab", "c"], ["a", "bc"]),
    ("category", ["zebra"], ["zebrb"]),
    ("category", ["a", None], ["a", "b"]),
    ("boolean", [True, None], [True, False]),
    ("date", ["2020-02-03"], ["2020-02-04"]),
]


@pytest.mark.parametrize(("kind", "one", "other"), OTHER)
def test_another_content_has_another_print(kind: str, one: Any, other: Any) -> None:
    first, second = print_of(kind, pa.array(one)), print_of(kind, pa.array(other))
    assert first != second
    assert same_columns(first, second)


def test_a_row_is_more_than_its_cells() -> None:
    """The same cells in every column, joined to other rows."""
    schema = Schema.of_arrays(2, (0, 9))
    first = content_print(open_source(pa.table({"x0": [1, 2], "x1": [3, 4]})), schema, KEY)
    second = content_print(open_source(pa.table({"x0": [1, 2], "x1": [4, 3]})), schema, KEY)
    swapped = content_print(open_source(pa.table({"x0": [3, 4], "x1": [1, 2]})), schema, KEY)
    assert len({first, second, swapped}) == 3


def test_columns_are_part_of_it_but_not_their_order_or_those_that_a_release_does_not_read() -> None:
    schema = Schema.of_arrays(2, (0, 9))
    print_ = content_print(open_source(pa.table({"x0": [1, 2], "x1": [3, 4]})), schema, KEY)
    wider = pa.table({"name": ["p", "q"], "x1": [3, 4], "x0": [1, 2]})
    assert content_print(open_source(wider), schema, KEY) == print_
    named = Schema.of_arrays(2, (0, 9), names=["x0", "x9"])
    other = content_print(open_source(pa.table({"x0": [1, 2], "x9": [3, 4]})), named, KEY)
    assert not same_columns(print_, other)
    reordered = Schema(name="t", columns=schema.columns[::-1])
    assert content_print(open_source(wider), reordered, KEY) == print_


def test_without_the_key_a_print_says_nothing() -> None:
    one, other = print_of("number", [1, 2]), print_of("number", [1, 2], key=bytes(32))
    assert one.partition(":")[0] != other.partition(":")[0]
    assert one.partition(":")[2] != other.partition(":")[2]
    assert len(one) == 16 + 1 + 64


def test_cells_of_no_kind_are_missing() -> None:
    lists = pa.array([[1], [2]])
    assert print_of("category", lists) == print_of("category", pa.array([None, None], pa.string()))
    assert print_of("number", lists) == print_of("number", pa.array([None, None], pa.float64()))


@pytest.mark.parametrize("values", [127, 128, 129, 70_000])
def test_many_categories_in_a_narrow_dictionary(values: int) -> None:
    """More than the hashes that are remembered, and as many as an index of 8 bits can count."""
    words = pa.array([f"w{i}" for i in range(values)] + [None])
    found = {print_of("category", words), print_of("category", words[::-1])}
    if values <= 128:
        narrow = pa.DictionaryArray.from_arrays(pa.array([*range(values), None], pa.int8()), words[:-1])
        found.add(print_of("category", narrow))
    assert len(found) == 1


def test_an_empty_table_has_a_print_and_batches_of_none_change_nothing() -> None:
    columns = list(schema_of("number").released)
    running = ContentPrint(columns, KEY)
    empty = running.digest(running.zero())
    assert running.digest(running.of_batch(pa.record_batch({"c": pa.array([], pa.float64())}))) == empty
    assert empty == print_of("number", pa.array([], pa.float64()))


def test_random_tables_never_share_a_print() -> None:
    """Small integers, whose doubles differ in a few bits only: no two of 2,000 multisets of rows collide."""
    rng = np.random.default_rng(1)
    schema, seen = Schema.of_arrays(3, (0, 9)), {}
    for _ in range(2000):
        cells = rng.integers(0, 3, (4, 3))
        rows = tuple(sorted(map(tuple, cells.tolist())))
        found = ContentPrint(list(schema.released), KEY)
        sums = found.of_batch(pa.record_batch({f"x{j}": pa.array(cells[:, j]) for j in range(3)}))
        assert seen.setdefault(found.digest(sums), rows) == rows
    assert len(seen) == len(set(seen.values()))
