"""What format 2 of a schema adds: patterns, defaults, the form of a file, atoms; each contradiction is a sentence."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from gnomon.errors import SchemaError
from gnomon.table.pattern import matches
from gnomon.table.schema import Column, Schema

LABS = """
format = 2

[columns."lab_*"]
kind = "number"
low = 0
high = 500
atoms = [0]

[columns."lab_blood_*"]
kind = "number"
low = 0
high = 20

[columns.lab_code]
kind = "identifier"

[columns.age]
kind = "number"
low = 0
high = 110
"""
NAMES = ["lab_k", "age", "lab_blood_na", "lab_code", "remark"]


def test_exact_names_win_over_patterns_and_longer_patterns_over_shorter() -> None:
    schema = Schema.loads(LABS).expand(NAMES)
    assert [column.name for column in schema.columns] == ["lab_k", "age", "lab_blood_na", "lab_code"]
    assert (schema["lab_k"].high, schema["lab_k"].atoms) == (500, (0,))
    assert schema["lab_blood_na"].high == 20
    assert schema["lab_code"].kind == "identifier"
    assert schema.expand(["other"]) is schema


def test_a_schema_that_lists_its_columns_needs_no_table() -> None:
    listed = LABS.replace("format = 2\n", f"format = 2\n[table]\ncolumns = {NAMES}\n".replace("'", '"'))
    assert Schema.loads(listed) == Schema.loads(LABS).expand(NAMES)


def test_patterns_without_names_are_refused_where_columns_are_needed() -> None:
    schema = Schema.loads(LABS)
    for ask in (
        lambda: schema.released,
        lambda: schema.target,
        lambda: schema["age"],
        lambda: schema.features,
    ):
        with pytest.raises(
            SchemaError, match=r"pattern 'lab_\*' and no table to name the columns; list them"
        ):
            ask()


@pytest.mark.parametrize("listed", ["", '[table]\ncolumns = ["a*", "ab"]\n'])
def test_patterns_survive_writing(listed: str) -> None:
    text = listed + "[columns.'a*']\nkind = 'boolean'\n[columns.ab]\nkind = 'boolean'"
    schema = Schema.loads(text)
    assert bool(schema.patterns) != bool(listed)  # a star in a listed name is part of the name
    assert Schema.loads(schema.to_toml()) == schema


def with_columns(text: str) -> str:
    return text + "\n[columns.c]\nkind = 'boolean'\n"


WRONG = [
    ("format = 1", "must be 2. Got 1 instead"),
    ("[defaults]\nlow = 0", r"\[defaults\] of the schema hold 'low', but only a policy \(missing\)"),
    ("[defaults]\nmissing = 'guess'", "must be one of refuse, fill, indicator. Got 'guess'"),
    ("defaults = 3", r"must be a table \[defaults\]"),
    ("[table]\ncsv = 3", r"csv of the \[table\] in the schema must be a table \[table.csv\]"),
    ("[table.csv]\nseparator = ';'", r"\[table.csv\] .* unknown key 'separator'; its keys may be delimiter"),
    ("[table.csv]\ndelimiter = ';;'", "'delimiter' of .* must be one character"),
    ("[table.csv]\ndelimiter = 3", "'delimiter' of .* must be one character"),
    ("[table.csv]\ndelimiter = '\\n'", "must be one character"),
    ("[table.csv]\nencoding = 'klingon'", "encoding 'klingon' of .* is not known"),
    ("[table.csv]\nencoding = 'base64'", "encoding 'base64' of .* is not known"),
    ("[table.csv]\ndecimal = ';'", "'decimal' of .* must be"),
    ("[table.csv]\ndecimal = ','", "gives ',' as delimiter and as decimal"),
    ("[table.csv]\nthousands = '.'", "gives '.' as decimal and as thousands"),
    ("[table.csv]\nthousands = 'x'", "'thousands' of .* must be one of"),
    ("[table.csv]\ndate_format = 'dd.mm'", "date_format of .* must say year, month and day"),
    ("[table.csv]\ndate_format = '%d.%m'", "date_format of .* must say year, month and day"),
    ("[table.csv]\nmissing_values = [3]", "'missing_values' of .* must be a list of text"),
    ("[table.excel]\nrow = 3", "must hold the name of a sheet"),
    ("[table]\ncolumns = [3]", "must be a list of text"),
    ("[table]\ncolumns = ['c', 'c']", "name 'c' more than once"),
    ("[table]\ncolumns = ['a']", "declares the column 'c', which the columns of its .* lack"),
]


@pytest.mark.parametrize(("text", "sentence"), WRONG)
def test_a_contradiction_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence) as caught:
        Schema.loads(with_columns(text))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("kind = 'number'\nlow = 0\nhigh = 9\natoms = [10]", "atoms of column 'c' must be values .* Got 10"),
        (
            "kind = 'number'\nlow = 0\nhigh = 9\natoms = [nan]",
            "atoms of column 'c' must be values .* Got nan",
        ),
        (
            "kind = 'number'\nlow = 0\nhigh = 9\ninteger = true\natoms = [0.5]",
            "atoms of column 'c' .* Got 0.5",
        ),
        (
            "kind = 'number'\nlow = 0\nhigh = 9\natoms = [1, 1.0]",
            "atoms of column 'c' name a value more than",
        ),
        ("kind = 'number'\nlow = 0\nhigh = 9\natoms = ['a']", "'atoms' of column 'c' .* a list of numbers"),
        ("kind = 'number'\nestimate = true\natoms = [0]", "both atoms and estimate = true"),
        ("kind = 'boolean'\natoms = [0]", "kind boolean, which takes no 'atoms'"),
        ("kind = 'boolean'\ntrue = ['J']", "words for true but none for false"),
        ("kind = 'boolean'\ntrue = ['J']\nfalse = ['J']", "'J' both in true and in false"),
        (
            "kind = 'category'\nvalues = ['a', '?']\nmissing_values = ['?']",
            "both in missing_values and in val",
        ),
        (
            "kind = 'category'\nvalues = ['a']\ntrue = ['a']\nfalse = ['b']",
            "category, which takes no 'false'",
        ),
        (
            "kind = 'date'\nlow = 2020-01-01\nhigh = 2021-01-01\ndate_format = '%H'",
            "date_format of column 'c'",
        ),
        ("kind = 'category'\nvalues = ['a']\nvalues_file = 'b'", "both values and values_file"),
        ("kind = 'category'\nvalues_file = 'b'", "needs a schema in a file"),
    ],
)
def test_a_contradictory_column_is_one_sentence(body: str, sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        Schema.loads(f"[columns.c]\n{body}")


def test_patterns_that_contradict_or_fit_nothing() -> None:
    two = Schema.loads("[columns.'a*']\nkind = 'boolean'\n[columns.'*b']\nkind = 'boolean'")
    with pytest.raises(SchemaError, match=r"'ab' fits the patterns 'a\*' and '\*b', which are equally long"):
        two.expand(["ab"])
    with pytest.raises(SchemaError, match=r"pattern '\*b' fits no column of the table"):
        two.expand(["ac"])


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("a*", "a", True),
        ("a*", "ba", False),
        ("*a", "ba", True),
        ("*", "", True),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "acb", False),
        ("ab*bc", "abc", False),
        ("a*b*b", "ab", False),
        ("a.*", "axb", False),
        ("a*", "a\nb", True),
    ],
)
def test_a_star_stands_for_any_text(pattern: str, name: str, fits: bool) -> None:
    assert matches(pattern, name) is fits


def test_defaults_are_policies_that_a_column_may_override() -> None:
    schema = Schema.loads("""
[defaults]
missing = "indicator"
[columns.a]
kind = "boolean"
[columns.b]
kind = "boolean"
missing = "refuse"
[columns.c]
kind = "boolean"
role = "target"
[columns.d]
kind = "ignored"
""")
    assert [column.missing for column in schema.columns] == ["indicator", "refuse", "refuse", "refuse"]


def test_the_form_of_a_file_survives_writing() -> None:
    schema = Schema.loads(
        with_columns("""
[table.csv]
delimiter = ";"
encoding = "cp1252"
decimal = ","
thousands = "."
date_format = "%d.%m.%Y"
missing_values = ["?"]
[table.excel]
sheet = "Data"
""")
    )
    assert schema.csv is not None
    assert (schema.csv.delimiter, schema.csv.missing_values, schema.sheet) == (";", ("?",), "Data")
    again = Schema.loads(schema.to_toml())
    assert again == schema
    assert again.with_target("c").csv == schema.csv
    assert schema.as_released().csv is None


def test_released_rows_have_no_form_of_their_own() -> None:
    schema = Schema.loads(
        "[columns.c]\nkind = 'boolean'\ntrue = ['J']\nfalse = ['N']\nmissing_values = ['?']"
    )
    assert schema.as_released()["c"] == Column(name="c", kind="boolean")


def test_categories_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "codes.csv").write_text("code;meaning\nA00;Cholera\nA01;Typhoid\n")
    (tmp_path / "plain.txt").write_text("north\n\nsouth, by the sea\n".replace(", ", " "))
    (tmp_path / "two.csv").write_text("A00,Cholera\n")
    (tmp_path / "latin.csv").write_bytes(b"\xe9\n")
    text = "[columns.icd]\nkind = 'category'\nvalues_file = '{}'\n"

    def load(file: str) -> Column:
        (tmp_path / "schema.toml").write_text(text.format(file))
        return Schema.load(tmp_path / "schema.toml")["icd"]

    assert load("codes.csv").values == ("A00", "A01")
    assert load("plain.txt").values == ("north", "south by the sea")
    for file, sentence in {
        "two.csv": 'has several columns; call the one that holds the categories "value"',
        "latin.csv": "not UTF-8",
        "none.csv": "cannot be read",
        "../codes.csv": "must lie in the folder of the schema",
        "/etc/hosts": "must lie in the folder of the schema",
    }.items():
        with pytest.raises(SchemaError, match=sentence):
            load(file)


def test_a_draft_is_filled_in_python() -> None:
    draft = Schema.draft(pa.table({"age": [1], "ward": ["x"], "key": ["k"], "w": [1.5]}))
    schema = draft.fill(
        {"age": (0, 110), "ward": ["n", "s"], "key": "identifier", "w": {"estimate": True}}, name="ward"
    )
    assert schema.name == "ward"
    assert schema["age"] == Column(name="age", kind="number", integer=True, low=0, high=110)
    assert schema["ward"].values == ("n", "s")
    assert [column.name for column in schema.released] == ["age", "ward", "w"]
    with pytest.raises(SchemaError, match="no column 'x'; check the name"):
        draft.fill({"x": (0, 1)})


def test_the_example_of_the_reference_loads(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/reference/schema.md").read_text(encoding="utf-8")
    blocks = [part.split("```")[0] for part in guide.split("```toml\n")[1:]]
    example = next(block for block in blocks if "[table.csv]" in block)
    (tmp_path / "icd.csv").write_text("code,meaning\nA00,Cholera\n")
    schema = Schema.loads(example, tmp_path)
    assert schema.csv is not None
    assert schema.csv.encoding == "cp1252"
    assert schema.expand(["seen", "lab_k"])["lab_k"].atoms == (0,)
