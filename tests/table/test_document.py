"""A schema under way: edits of many columns leave the rest of its file as it stands, comments included."""

from __future__ import annotations

import pytest

from gnomon.errors import SchemaError
from gnomon.table.codebook import of_lines
from gnomon.table.document import Document
from gnomon.table.draft import draft

NAMES = ["id", "age", "sex", "lab_a", "lab_b", "lab_c", "born"]
TEXT = """\
# ours, by hand
format = 2

[table]
name = "ward"  # the second floor

[table.csv]
delimiter = ";"

# after the blood tests
[columns.id]
kind = "identifier"

[columns.age]
# in years
kind = "number"
# low = 0
high = 110

[columns.sex]
kind = "category"

[columns."lab_*"]
kind = "number"

[columns.born]
kind = "date"
"""


def read() -> Document:
    return Document.parse(TEXT)


def test_what_nobody_changes_is_written_as_it_was() -> None:
    changed = read().edited({"age": {"low": "0"}}, NAMES)
    text = changed.dumps()
    assert Document.parse(text) == changed
    assert "# ours, by hand" in text
    assert 'name = "ward"  # the second floor' in text
    assert "# in years\n" in text
    assert "# low" not in text
    assert 'delimiter = ";"' in text
    assert changed.columns["age"] == {"kind": "number", "low": 0, "high": 110}


def test_a_draft_survives_a_change(tmp_path: object) -> None:
    import pandas as pd

    table = pd.DataFrame({"a_1": [1.5], "a_2": [2.5], "a_3": [1.0], 'x"]\n[y': ["z"]})
    names = list(table.columns)
    document = Document.parse(draft(table)).edited({"a_1": {"low": "0", "high": "1"}}, names)
    assert Document.parse(document.dumps()) == document
    assert document.columns["a_1"] == {"kind": "number", "low": 0, "high": 1}


def test_a_pattern_changes_when_all_its_columns_do_and_only_then() -> None:
    some = read().edited({name: {"low": "0", "high": "9"} for name in ("lab_a", "lab_b")}, NAMES)
    assert "low" not in some.columns["lab_*"]
    assert some.columns["lab_a"]["high"] == 9
    whole = read().edited({name: {"low": "0", "high": "9"} for name in ("lab_a", "lab_b", "lab_c")}, NAMES)
    assert whole.columns["lab_*"] == {"kind": "number", "low": 0, "high": 9}
    assert "lab_a" not in whole.columns
    one = read().edited({name: {"role": "target"} for name in ("lab_a",)}, NAMES)
    assert one.columns["lab_a"]["role"] == "target"


def test_there_is_one_target() -> None:
    first = read().edited({"sex": {"values": ["f", "m"], "role": "target"}}, NAMES)
    second = first.edited({"age": {"role": "target"}}, NAMES)
    assert "role" not in second.columns["sex"]
    assert second.columns["age"]["role"] == "target"


def test_problems_name_the_columns_that_a_pattern_leaves_open() -> None:
    rows = {row.name: row for row in read().declarations([*NAMES, "new"])}
    assert rows["lab_b"].by == "lab_*"
    assert "no low and high" in str(rows["lab_b"].problem)
    assert rows["new"].by is None
    assert rows["new"].problem is None
    assert rows["id"].problem is None
    gone = {row.name: row for row in read().declarations(["age"])}
    assert "no column 'born'" in str(gone["born"].problem)


def test_a_kind_takes_its_own_keys_only() -> None:
    changed = read().edited({"age": {"kind": "category", "values": ["1", "2"]}}, NAMES)
    assert changed.columns["age"] == {"kind": "category", "values": [1, 2]}
    with pytest.raises(SchemaError, match="takes no 'low'"):
        read().edited({"sex": {"low": "1"}}, NAMES)
    with pytest.raises(SchemaError, match="must be number, category"):
        read().edited({"sex": {"kind": "colour"}}, NAMES)


@pytest.mark.parametrize("text", ["1,000", "inf", "nan", "a lot", "12-13-2020"])
def test_a_bound_that_can_be_misread_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="age"):
        read().edited({"age": {"low": text}}, NAMES)


def test_dates_numbers_and_codes_are_read_as_what_they_are() -> None:
    found = read().edited({"born": {"low": "1900-01-01", "high": "2020-12-31"}, "age": {"low": "0,5"}}, NAMES)
    assert "low = 1900-01-01\n" in found.dumps()
    assert found.columns["age"]["low"] == 0.5
    codes = read().edited({"sex": {"values": ["007", "1"]}}, NAMES)
    assert codes.columns["sex"]["values"] == ["007", "1"]
    filled = read().edited({"sex": {"values": "a|b", "missing": "fill", "fill": "b"}}, NAMES)
    assert filled.columns["sex"]["fill"] == "b"
    assert "fill" not in filled.edited({"sex": {"missing": None}}, NAMES).columns["sex"]


def test_a_new_pattern_takes_the_place_of_single_declarations() -> None:
    some = read().edited({"lab_a": {"low": "0", "high": "9"}}, NAMES)
    found = some.with_pattern("lab_*", {"low": "1", "high": "2"}, NAMES)
    assert "lab_a" not in found.columns
    assert found.columns["lab_*"] == {"kind": "number", "low": 1, "high": 2}
    assert found.table["columns"] == NAMES
    for bad in ("lab_a", "nobody_*"):
        with pytest.raises(SchemaError, match="star"):
            read().with_pattern(bad, {}, NAMES)


def test_a_codebook_fills_in_and_what_it_leaves_open_stays() -> None:
    book = of_lines("name\ttype\tmin\tmax\tlabel\nage\tint\t0\t120\tAge\nnobody\tint\t0\t1\t", "\t", "It")
    found, known = read().with_codebook(book, NAMES)
    assert known == ["age"]
    assert found.columns["age"] == {"kind": "number", "high": 120, "low": 0, "integer": True, "label": "Age"}
    assert found.columns["sex"] == {"kind": "category"}


def test_a_codebook_that_is_no_text_is_refused_in_a_sentence() -> None:
    with pytest.raises(SchemaError, match="not delimited text"):
        of_lines("name,low\n" + "x" * 200_000 + ",1\n", ",", "It")


def test_suggestions_come_from_names_and_never_replace_what_is_said() -> None:
    found, filled = read().with_suggestions(NAMES, NAMES)
    assert filled == ["age", "born"] or filled == ["age"]
    assert found.columns["age"]["high"] == 110
    assert found.columns["age"]["low"] == 0


def test_persons_are_identifiers_and_go_with_their_kind() -> None:
    found = read().with_person("id", 3, NAMES)
    assert found.table["person"] == "id"
    assert found.table["rows_per_person"] == 3
    back = found.edited({"id": {"kind": "ignored"}}, NAMES)
    assert "person" not in back.table
    assert "rows_per_person" not in found.with_person(None, None, NAMES).table


def test_facts_of_the_table_its_form_and_the_defaults() -> None:
    found = read().with_facts("csv", {"encoding": "cp1252"}).with_facts("defaults", {"missing": "indicator"})
    assert found.table["csv"] == {"delimiter": ";", "encoding": "cp1252"}
    assert found.with_facts("defaults", {"missing": None}).defaults == {}
    assert Document.parse(found.dumps()) == found
    with pytest.raises(SchemaError, match="no part"):
        read().with_facts("secrets", {})


def test_a_file_that_is_no_schema_is_refused() -> None:
    for text in ("columns = 3", "[columns]\nage = 3", "[table"):
        with pytest.raises(SchemaError):
            Document.parse(text)
