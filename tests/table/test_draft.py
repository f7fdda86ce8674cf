from __future__ import annotations

import tomllib
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from gnomon.errors import DataError, SchemaError
from gnomon.table.schema import Schema

TABLE = pa.table(
    {
        "age": pa.array([41], pa.uint8()),
        "weight": [71.25],
        "cost": [Decimal("12.50")],
        "alive": [True],
        "born": [date(1961, 5, 17)],
        "ward": ["harbour"],
        "code": pa.array(["zeta"]).dictionary_encode(),
        "visits": [[3, 4]],
        'a "quoted".name\n': [1.0],
    }
)


def test_a_draft_has_names_and_kinds_and_no_value_of_the_rows() -> None:
    text = Schema.draft(TABLE)
    columns = tomllib.loads(text)["columns"]
    assert {name: body["kind"] for name, body in columns.items()} == {
        "age": "number",
        "weight": "number",
        "cost": "number",
        "alive": "boolean",
        "born": "date",
        "ward": "category",
        "code": "category",
        "visits": "ignored",
        'a "quoted".name\n': "number",
    }
    assert columns["age"] == {"kind": "number", "integer": True}
    for value in ("41", "71.25", "12.5", "1961", "harbour", "zeta"):
        assert value not in text


def test_drafts_of_two_tables_with_the_same_types_are_the_same() -> None:
    other = pa.table({"a": [1, None], "b": ["x", "y"]})
    same = pa.table({"a": [-99, 7], "b": [None, "z"]})
    assert Schema.draft(other) == Schema.draft(same)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"age": [1.5]}, "'age' has no low and high; declare .* or write estimate = true"),
        ({"ward": ["x"]}, "'ward' has no values; declare its categories"),
        ({"born": [date(2000, 1, 1)]}, "'born' has no low and high; declare"),
    ],
)
def test_an_unfilled_draft_says_what_is_lacking(data: dict[str, list[object]], sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        Schema.loads(Schema.draft(pa.table(data)))


def test_a_draft_of_nothing() -> None:
    with pytest.raises(DataError, match="no columns"):
        Schema.draft(pa.table({}))
