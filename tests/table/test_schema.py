from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import SchemaError
from gnomon.table.schema import Column, Schema

WARD = """
[table]
name = "ward"

[columns.age]
kind = "number"
low = 0
high = 110
integer = true
missing = "refuse"

[columns.ward]
kind = "category"
values = ["north", "south", "east"]
ordered = false

[columns.patient]
kind = "identifier"

[columns.outcome]
kind = "category"
values = ["a", "b", "c"]
role = "target"
"""


def test_the_documented_schema_loads() -> None:
    schema = Schema.loads(WARD)
    assert schema.name == "ward"
    assert [column.name for column in schema.columns] == ["age", "ward", "patient", "outcome"]
    assert [column.name for column in schema.features] == ["age", "ward"]
    assert [column.name for column in schema.released] == ["age", "ward", "outcome"]
    assert schema.target == schema["outcome"]
    assert schema["age"] == Column(name="age", kind="number", low=0, high=110, integer=True)


def column(body: str) -> Column:
    return Schema.loads(f"[columns.c]\n{body}").columns[0]


REFUSED = [
    ("low = 0", "The column 'c' of the schema has no kind; add kind = one of number, category"),
    (
        "kind = 'numbr'",
        "The 'kind' of column 'c' in the schema must be one of number, .* Got 'numbr' instead",
    ),
    ("kind = 'number'\nlow = 0\nhigh = 1\nlo = 2", "unknown key 'lo'; its keys may be kind, low"),
    ("kind = 'number'\nname = 'd'\nlow = 0\nhigh = 1", "unknown key 'name'; its name is the one in brackets"),
    ("kind = 'number'", "'c' has no low and high; declare both .* or write estimate = true"),
    ("kind = 'number'\nlow = 0", "'c' has no high; declare it .* or write estimate = true"),
    ("kind = 'date'\nlow = 2020-01-01", "'c' has no high; declare it from public knowledge.$"),
    (
        "kind = 'number'\nlow = 2\nhigh = 2",
        "low of column 'c' must be below its high. Got low = 2 and high = 2",
    ),
    ("kind = 'number'\nlow = nan\nhigh = 2", "low of column 'c' must be a finite number. Got nan"),
    ("kind = 'number'\nlow = 0\nhigh = inf", "high of column 'c' must be a finite number. Got inf"),
    ("kind = 'number'\nlow = 0\nhigh = '9'", "high of column 'c' must be a finite number. Got '9'"),
    ("kind = 'number'\nlow = [0]\nhigh = 9", "'low' of column 'c' in the schema must be a number or a date"),
    ("kind = 'number'\nlow = false\nhigh = 2", "low of column 'c' must be a finite number. Got False"),
    ("kind = 'number'\nlow = 2020-01-01\nhigh = 2", "low of column 'c' must be a finite number"),
    ("kind = 'number'\nlow = -1e308\nhigh = 1e308", "too far apart or too close"),
    ("kind = 'number'\nlow = 0\nhigh = 1e-320", "too far apart or too close"),
    (
        "kind = 'number'\nlow = 0.5\nhigh = 2\ninteger = true",
        "integer column 'c' must be a whole number. Got 0.5",
    ),
    ("kind = 'number'\nlow = 0\nhigh = 1e30\ninteger = true", "must fit 64 bits"),
    ("kind = 'number'\nlow = -1\nhigh = 2\nlog = true", "log = true, which needs low >= 0. Got low = -1"),
    ("kind = 'number'\nlow = 0\nhigh = 2\nestimate = true", "both estimate = true and bounds"),
    ("kind = 'number'\nlog = true\nestimate = true", "both log and estimate = true"),
    ("kind = 'number'\nlow = 0\nhigh = 2\ninteger = 'yes'", "'integer' of column 'c' .* true or false"),
    ("kind = 'number'\nlow = 0\nhigh = 2\nvalues = [1]", "kind number, which takes no 'values'"),
    ("kind = 'boolean'\nlow = 0", "kind boolean, which takes no 'low'; remove it or change the kind"),
    ("kind = 'identifier'\nrole = 'target'", "kind identifier, which takes no 'role'"),
    (
        "kind = 'date'\nlow = 2020-01-01\nhigh = 2021-01-01\nestimate = true",
        "kind date, which takes no 'estimate'",
    ),
    ("kind = 'date'\nlow = 'soon'\nhigh = 2021-01-01", "low of date column 'c' must be a date .* Got 'soon'"),
    ("kind = 'date'\nlow = 3\nhigh = 2021-01-01", "low of date column 'c' must be a date or a time"),
    ("kind = 'date'\nlow = 10:00:00\nhigh = 2021-01-01", "low of date column 'c' must be a date or a time"),
    ("kind = 'date'\nlow = 2021-01-02\nhigh = 2021-01-01", "low of column 'c' must be below its high"),
    (
        "kind = 'date'\nlow = 2020-01-01T00:00:00Z\nhigh = 2021-01-01T00:00:00",
        "all have a time zone or all have none",
    ),
    ("kind = 'category'", "'c' has no values; declare its categories"),
    ("kind = 'category'\nvalues = []", "'c' has no values; declare its categories"),
    ("kind = 'category'\nvalues = 'a'", "'values' of column 'c' .* must be a list of text"),
    ("kind = 'category'\nvalues = ['a', 1]", "all text, all finite numbers or all booleans"),
    ("kind = 'category'\nvalues = [1, true]", "all text, all finite numbers or all booleans"),
    ("kind = 'category'\nvalues = [1, nan]", "all text, all finite numbers or all booleans"),
    ("kind = 'category'\nvalues = ['a', 'b', 'a']", "name 'a' more than once"),
    ("kind = 'category'\nvalues = [1, 1.0]", "name '1' more than once"),
    (
        "kind = 'category'\nvalues = ['a', 'b']\nother = 'z'",
        "other of column 'c' must be one of its values. Got 'z'",
    ),
    ("kind = 'category'\nvalues = ['a']\nrole = 'target'", "target 'c' declares one class only"),
    (
        "kind = 'boolean'\nrole = 'target'\nmissing = 'indicator'",
        "target 'c' cannot have missing = \"indicator\"",
    ),
    ("kind = 'boolean'\nmissing = 'guess'", "must be one of refuse, fill, indicator. Got 'guess'"),
    ("kind = 'boolean'\nmissing = 'fill'", 'missing = "fill" but no fill'),
    ("kind = 'boolean'\nfill = true", "has a fill but missing = 'refuse'"),
    (
        "kind = 'boolean'\nmissing = 'fill'\nfill = 1",
        "fill of column 'c' must be a value that the column declares",
    ),
    ("kind = 'category'\nvalues = ['a']\nmissing = 'fill'\nfill = 'z'", "fill of column 'c' .* Got 'z'"),
    ("kind = 'number'\nlow = 0\nhigh = 1\nmissing = 'fill'\nfill = 2", "fill of column 'c' .* Got 2"),
    ("kind = 'number'\nlow = 0\nhigh = 1\nmissing = 'fill'\nfill = nan", "fill of column 'c' .* Got nan"),
    (
        "kind = 'number'\nlow = 0\nhigh = 9\ninteger = true\nmissing = 'fill'\nfill = 1.5",
        "fill of column 'c'",
    ),
    (
        "kind = 'date'\nlow = 2020-01-01\nhigh = 2020-02-01\nmissing = 'fill'\nfill = 2021-01-01",
        "fill of column 'c' must be",
    ),
]


@pytest.mark.parametrize(("body", "sentence"), REFUSED)
def test_a_wrong_column_is_refused_in_one_sentence(body: str, sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence) as caught:
        column(body)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[columns.c\nkind = 1", "does not parse as TOML: .*line 1.*; repair that place"),
        ("", "declares no column"),
        ("[other]\na = 1", "unknown part 'other'"),
        (
            "[table]\ncolour = 5\n[columns.c]\nkind = 'boolean'",
            r"\[table\] of the schema has the unknown key 'colour'",
        ),
        ("[table]\nname = 5\n[columns.c]\nkind = 'boolean'", "name of the .* must be text"),
        ("columns = 3", "must have tables"),
        ("[columns]\nc = 3", "column 'c' of the schema must be a table"),
        ("[columns.c]\nkind = 'ignored'", "releases no column"),
        ("[columns.'']\nkind = 'boolean'", "empty name"),
        (
            "[columns.a]\nkind = 'boolean'\nrole = 'target'\n[columns.b]\nkind = 'boolean'\nrole = 'target'",
            "the targets 'a', 'b'; keep one",
        ),
    ],
)
def test_a_wrong_document_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        Schema.loads(text)


def test_a_schema_file_that_is_missing_or_not_text(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SchemaError, match="does not exist; check the path"):
        Schema.load(tmp_path / "none.toml")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(SchemaError, match="not UTF-8"):
        Schema.load(tmp_path / "latin.toml")


def test_repeated_columns_and_strange_names_are_refused() -> None:
    one = Column(name="a", kind="boolean")
    with pytest.raises(SchemaError, match="declares the column 'a' more than once"):
        Schema(columns=(one, one))
    with pytest.raises(SchemaError, match="not valid Unicode"):
        Column(name="\ud800", kind="boolean")
    with pytest.raises(SchemaError, match="must have a name"):
        Column(kind="boolean")
    with pytest.raises(SchemaError, match="'columns' of the schema"):
        Schema(columns=3)


def test_nothing_can_be_changed_in_place() -> None:
    schema = Schema.loads(WARD)
    with pytest.raises(ValueError, match="frozen"):
        schema.name = "other"
    with pytest.raises(ValueError, match="frozen"):
        schema["age"].low = 5


def test_dates_are_read_as_toml_and_as_text() -> None:
    assert column("kind = 'date'\nlow = '2020-01-01'\nhigh = 2020-12-31").low == date(2020, 1, 1)
    mixed = column("kind = 'date'\nlow = 2020-01-01\nhigh = '2020-12-31T12:00:00'")
    assert (mixed.low, mixed.high) == (datetime(2020, 1, 1), datetime(2020, 12, 31, 12))
    zoned = column("kind = 'date'\nlow = 2020-01-01T02:00:00+02:00\nhigh = 2021-01-01T00:00:00Z")
    assert zoned.low == datetime(2020, 1, 1, tzinfo=UTC)


def test_log_may_start_at_zero() -> None:
    assert column("kind = 'number'\nlow = 0\nhigh = 9\nlog = true").log


def test_another_target() -> None:
    schema = Schema.loads(WARD)
    assert schema.with_target("age").target == schema["age"].with_(role="target")
    assert [c.name for c in schema.with_target("age").features] == ["ward", "outcome"]
    assert schema.with_target(None).target is None
    assert schema.with_target(None).with_target("outcome") == schema
    with pytest.raises(SchemaError, match="no column 'x'; its columns are age, ward, patient, outcome"):
        schema.with_target("x")
    wide = Schema.of_arrays(300, (0, 1))
    with pytest.raises(SchemaError, match=r"no column 'lab'; its columns are x0, .*, x19 and 280 more\.$"):
        wide["lab"]
    with pytest.raises(SchemaError, match="kind identifier and cannot be the target"):
        schema.with_target("patient")


def test_bounds_that_were_paid_for() -> None:
    body = "[columns.c]\nkind = 'number'\nestimate = true\ninteger = true\nmissing = 'fill'\nfill = 50"
    schema = Schema.loads(body)
    assert schema.estimated == (schema["c"],)
    assert not schema["c"].bounded
    paid = schema.with_bounds({"c": (0.5, 9.5)})
    assert paid.estimated == ()
    assert (paid["c"].low, paid["c"].high, paid["c"].fill) == (0, 10, 10)
    with pytest.raises(SchemaError, match="does not say estimate = true"):
        paid.with_bounds({"c": (0, 1)})


def test_schema_of_arrays() -> None:
    schema = Schema.of_arrays(2, ([0, 1], 5), classes=["a", "b"])
    assert [(c.name, c.low, c.high) for c in schema.features] == [("x0", 0.0, 5.0), ("x1", 1.0, 5.0)]
    assert schema.target is not None
    assert schema.target.values == ("a", "b")
    regression = Schema.of_arrays(1, (0, 1), target_bounds=(-1, 2), names=["age"])
    assert regression["age"].high == 1.0
    assert (regression["y"].low, regression["y"].role) == (-1.0, "target")
    with pytest.raises(SchemaError, match=r"'bounds' must be .low, high., each a number or 3 numbers"):
        Schema.of_arrays(3, ([0, 1], 5))
    with pytest.raises(SchemaError, match="'bounds' must be"):
        Schema.of_arrays(3, 5)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"one per column: 3. Got 1"):
        Schema.of_arrays(3, (0, 1), names=["a"])
    with pytest.raises(SchemaError, match="'x0' must be below its high"):
        Schema.of_arrays(3, (1, 0))
    with pytest.raises(SchemaError, match="classes or bounds, not both"):
        Schema.of_arrays(1, (0, 1), classes=[0, 1], target_bounds=(0, 1))


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
numbers = st.floats(-1e12, 1e12) | st.integers(-(10**12), 10**12)
moments = st.datetimes(min_value=datetime(1, 1, 3)) | st.datetimes(
    min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29), timezones=st.just(UTC)
)


@st.composite
def number_columns(draw: st.DrawFn, name: str) -> Column:
    low = draw(numbers)
    fill = {"missing": "fill", "fill": low} if draw(st.booleans()) else {}
    high = low + draw(st.integers(1, 10**6))
    return Column(name=name, kind="number", low=low, high=high, unit=draw(st.none() | names), **fill)


@st.composite
def category_columns(draw: st.DrawFn, name: str) -> Column:
    scalars = st.sampled_from([names, st.integers(-9, 9), st.floats(-9, 9).map(lambda x: x + 0.0)])
    key = lambda v: str(int(v)) if isinstance(v, float) and v.is_integer() else str(v)  # noqa: E731
    values = draw(scalars.flatmap(lambda s: st.lists(s, min_size=1, max_size=4, unique_by=key)))
    other = draw(st.none() | st.sampled_from(values))
    return Column(name=name, kind="category", values=values, other=other, ordered=draw(st.booleans()))


@st.composite
def date_columns(draw: st.DrawFn, name: str) -> Column:
    low, high = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2, unique=True)))
    if draw(st.booleans()):
        zone = draw(st.none() | st.just(UTC))
        low = datetime(low.year, low.month, low.day, 1, 2, 3, 450, tzinfo=zone)
        high = datetime(high.year, high.month, high.day, 23, 0, 1, tzinfo=zone)
    return Column(name=name, kind="date", low=low, high=high, missing="indicator")


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    kinds = st.sampled_from([number_columns, category_columns, date_columns])
    columns = [draw(draw(kinds)(name)) for name in draw(st.lists(names, min_size=1, max_size=5, unique=True))]
    columns.append(
        Column(name="another key", kind=draw(st.sampled_from(["identifier", "ignored", "boolean"])))
    )
    return Schema(name=draw(st.text(st.characters(exclude_categories=["Cs"]))), columns=tuple(columns))


@given(schemas())
@settings(deadline=None, derandomize=True, max_examples=150)
def test_writing_and_reading_back_gives_the_same_schema(schema: Schema) -> None:
    again = Schema.loads(schema.dumps())
    assert again == schema
    assert again.dumps() == schema.dumps()


def test_an_offset_that_toml_cannot_write_becomes_utc() -> None:
    odd = datetime(2020, 1, 1, tzinfo=timezone(timedelta(seconds=30)))
    schema = Schema(columns=(Column(name="c", kind="date", low=odd, high=odd + timedelta(days=1)),))
    assert Schema.loads(schema.dumps()) == schema


def test_saved_and_loaded(tmp_path) -> None:  # type: ignore[no-untyped-def]
    schema = Schema.loads(WARD)
    schema.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml") == schema


@given(st.floats(allow_nan=False, allow_infinity=False), names)
@settings(deadline=None, derandomize=True)
def test_floats_and_names_survive_to_the_bit(number: float, name: str) -> None:
    high = number + max(1.0, abs(number))
    if high - number == float("inf") or high == float("inf"):
        return
    again = Schema.loads(Schema(columns=(Column(name=name, kind="number", low=number, high=high),)).dumps())
    assert again.columns[0].name == name
    assert float(again[name].low).hex() == number.hex()  # type: ignore[arg-type]


def test_a_target_may_leave_its_classes_to_a_paid_selection() -> None:
    target = Column(name="y", kind="category", estimate=True, role="target")
    schema = Schema(columns=(Column(name="a", kind="number", estimate=True), target))
    assert schema.estimated == schema.columns
    assert Schema.loads(schema.dumps()) == schema
    known = schema.with_any_estimates()
    assert not known.estimated
    assert len(known["y"].values) == 2
    assert schema.with_values("y", ["a", "b", "c"])["y"].values == ("a", "b", "c")
    for wrong in ({"ordered": True}, {"values": ("a", "b")}):
        with pytest.raises(SchemaError, match="which takes no values and no order"):
            target.with_(**wrong)


def test_persons_and_rows_survive_every_change_of_a_schema() -> None:
    columns = (
        Column(name="who", kind="identifier"),
        Column(name="a", kind="number", estimate=True),
        Column(name="b", kind="boolean"),
    )
    schema = Schema(columns=columns, person="who", rows_per_person=2, rows=500)
    for changed in (
        schema.with_target("b"),
        schema.with_bounds({"a": (0.0, 1.0)}),
        Schema.loads(schema.dumps()),
    ):
        assert (changed.person, changed.rows_per_person, changed.rows) == ("who", 2, 500)
    with pytest.raises(
        SchemaError, match="classes of 'y' cannot be estimated beside person; declare its values"
    ):
        Schema(
            columns=(*columns, Column(name="y", kind="category", estimate=True, role="target")),
            person="who",
            rows_per_person=2,
        )
