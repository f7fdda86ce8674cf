"""From cells to [-1, 1] and back, for every kind of column and every way a cell can arrive."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon.errors import DataError, ParameterError, SchemaError
from gnomon.table.encode import Encoder
from gnomon.table.schema import Column, Schema
from gnomon.table.target import NO_TARGET, Target


def encoder(*columns: Column) -> Encoder:
    return Encoder(Schema(columns=columns))


def encoded(column: Column, cells: Any, kind: pa.DataType | None = None) -> np.ndarray:
    array = cells if isinstance(cells, pa.Array) else pa.array(cells, kind)
    return encoder(column).matrix(pa.table({column.name: array}))


NUMBER = Column(name="c", kind="number", low=-2, high=6)
INTEGER = Column(name="c", kind="number", low=0, high=8, integer=True)
DATE = Column(name="c", kind="date", low=date(2020, 1, 1), high=date(2020, 1, 5))
TIME = Column(name="c", kind="date", low=datetime(2020, 1, 1), high=datetime(2020, 1, 2))
FLAG = Column(name="c", kind="boolean")
WARD = Column(name="c", kind="category", values=("n", "s", "e"))
GRADE = Column(name="c", kind="category", values=(3, 2, 1), ordered=True)
ONE = Column(name="c", kind="category", values=("only",))
KINDS = [NUMBER, INTEGER, DATE, TIME, FLAG, WARD, GRADE, ONE]


# Numbers


def test_numbers_go_to_the_interval_by_their_bounds() -> None:
    cells = [-2.0, 2.0, 6.0, 4.0, -0.0, 5e-324]
    assert encoded(NUMBER, cells)[:, 0].tolist() == [-1.0, 0.0, 1.0, 0.5, -0.5, -0.5]


def test_what_lies_outside_is_clipped() -> None:
    cells = [np.inf, -np.inf, 1e308, -1e308, 7.0, -3.0]
    assert encoded(NUMBER, cells)[:, 0].tolist() == [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
    far = Column(name="c", kind="number", low=-1e308, high=-0.5e308)
    assert encoded(far, [1.7e308, -1.7e308])[:, 0].tolist() == [1.0, -1.0]


ARROW_NUMBERS = [
    pa.array([1, 4], pa.int8()),
    pa.array([1, 4], pa.uint8()),
    pa.array([1, 4], pa.int64()),
    pa.array([1, 4], pa.uint64()),
    pa.array(np.array([1, 4], np.float16)),
    pa.array([1, 4], pa.float32()),
    pa.array([Decimal("1"), Decimal("4.00")], pa.decimal128(10, 2)),
    pa.array([Decimal("1"), Decimal("4.00")], pa.decimal256(50, 2)),
    pa.array(["1", " 4.0 "]),
    pa.array(["1", "4e0"], pa.large_string()),
    pa.array(["1", "4"], pa.string_view()),
    pa.array([1.0, 4.0]).dictionary_encode(),
    pa.array([9, 1, 4, 9])[1:3],
]


@pytest.mark.parametrize("cells", ARROW_NUMBERS, ids=lambda cells: str(cells.type))
def test_numbers_of_every_arrow_type(cells: pa.Array) -> None:
    assert encoded(INTEGER, cells)[:, 0].tolist() == [-0.75, 0.0]


def test_booleans_may_stand_in_a_number_column() -> None:
    assert encoded(Column(name="c", kind="number", low=0, high=1), [True, False])[:, 0].tolist() == [
        1.0,
        -1.0,
    ]


def test_a_log_scale() -> None:
    cells = [1.0, 10.0, 100.0, 0.0, -5.0, np.inf]
    logarithmic = Column(name="c", kind="number", low=1, high=100, log=True)
    assert encoded(logarithmic, cells)[:, 0] == pytest.approx([-1, 0, 1, -1, -1, 1], abs=1e-15)
    from_zero = Column(name="c", kind="number", low=0, high=99, log=True)
    assert encoded(from_zero, [0.0, 9.0, 99.0])[:, 0] == pytest.approx([-1, 0, 1], abs=1e-15)
    assert encoder(from_zero).decode(np.array([[-1.0], [0.0], [1.0]]))["c"].to_pylist() == pytest.approx(
        [0, 9, 99]
    )


def test_a_log_scale_may_start_at_the_smallest_number() -> None:
    tiny = Column(name="c", kind="number", low=5e-324, high=1e6, log=True)
    assert encoded(tiny, [5e-324, 1e6])[:, 0] == pytest.approx([-1, 1], abs=1e-15)


def test_integers_beyond_the_reach_of_floats_stay_apart() -> None:
    low = 2**60
    wide = Column(name="c", kind="number", low=low, high=low + 4, integer=True)
    cells = [low, low + 1, low + 3, low + 4, low + 9, 0, -(2**63), 2**63 - 1]
    expected = [-1.0, -0.5, 0.5, 1.0, 1.0, -1.0, -1.0, 1.0]
    assert encoded(wide, cells, pa.int64())[:, 0].tolist() == expected
    assert encoded(wide, [low + 1, 2**64 - 1], pa.uint64())[:, 0].tolist() == [-0.5, 1.0]
    assert encoded(wide, [np.inf, -np.inf])[:, 0].tolist() == [1.0, -1.0]
    decoded = encoder(wide).decode(np.array([[-1.0], [-0.5], [0.5], [3.0]]))["c"].to_pylist()
    assert decoded == [low, low + 1, low + 3, low + 4]
    whole = Column(name="c", kind="number", low=-1, high=2**63 - 2, integer=True)
    assert encoder(whole).decode(np.array([[-1.0], [1.0]]))["c"].to_pylist() == [-1, 2**63 - 2]


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        (NUMBER, ["secret", "1"]),
        (NUMBER, [date(2020, 1, 1)]),
        (NUMBER, [[1.0]]),
        (DATE, [5]),
        (DATE, ["secret"]),
        (DATE, [1.5]),
        (FLAG, ["secret"]),
        (FLAG, [2]),
        (FLAG, [0.5]),
        (WARD, [["n"]]),
    ],
)
def test_cells_of_another_kind_are_missing(column: Column, cells: list[Any]) -> None:
    """Whether there is a release must not depend on a cell."""
    shown = encoded(column.with_(missing="indicator"), cells)
    assert shown[0, -1] == 1
    assert not shown[0, :-1].any()
    assert np.array_equal(encoded(column, cells)[0], encoded(column, pa.nulls(1))[0])
    if column.kind == "category":
        other = encoded(column.with_(other="s"), cells)
        assert np.array_equal(other, encoded(column, ["s"]))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (NUMBER, 2.0),
        (NUMBER.with_(low=1, high=100, log=True), 10.0),
        (INTEGER, 4),
        (INTEGER.with_(high=1), 0),
        (INTEGER.with_(low=2**60, high=2**60 + 2), 2**60 + 1),
        (DATE, date(2020, 1, 3)),
        (TIME, datetime(2020, 1, 1, 12)),
        (FLAG, False),
        (WARD, "n"),
        (GRADE, 3),
        (NUMBER.with_(role="target"), 2.0),
        (WARD.with_(role="target"), "n"),
        (FLAG.with_(role="target"), False),
    ],
)
def test_a_missing_cell_without_a_rule_has_a_public_default(column: Column, value: Any) -> None:
    """The middle of the bounds on the column's scale, false, or the first category: a value that the column can have."""
    one = encoder(column, NUMBER.with_(name="x"))
    empty = one.encode(pa.table({"c": pa.nulls(1), "x": [0.0]}))
    declared = one.encode(pa.table({"c": [value], "x": [0.0]}))
    assert np.allclose(empty.X, declared.X, atol=1e-9)
    assert np.array_equal(empty.codes, declared.codes) if column.role and column.kind != "number" else True
    if column.role and column.kind == "number":
        assert empty.numbers == pytest.approx(declared.numbers)


LOCAL = [
    (NUMBER, ["1", " 2 ", "INF", "NAN", "nan(1)", "1e3", "+4", "\u00a01", None, "", "-.5"], "secret"),
    (INTEGER.with_(low=2**60, high=2**60 + 3), ["1152921504606846977", "+5", "1e3", "NAN", None], "secret"),
    (DATE, ["2020-01-02", "0000-01-01", "2020-01-03 10:20", "9999-12-31", None], "secret"),
    (TIME, ["2020-01-01T10:20:30.5", "0000-01-01", "2020-01-01 10"], "20200101"),
    (FLAG, ["true", "0", "1.0", None], "secret"),
]


@pytest.mark.parametrize(("column", "cells", "beside"), LOCAL)
def test_what_a_cell_says_does_not_depend_on_the_cells_beside_it(column, cells, beside) -> None:
    """A whole column that parses at once, and one that must be read cell by cell because of another cell."""
    kind = column.with_(missing="indicator")
    alone = np.concatenate([encoded(kind, [cell], pa.string()) for cell in cells])
    together = encoded(kind, cells, pa.string())
    disturbed = encoded(kind, [*cells, beside], pa.string())[:-1]
    assert np.array_equal(alone, together)
    assert np.array_equal(alone, disturbed)


def test_a_value_that_python_cannot_hold_is_no_declared_category() -> None:
    far = pa.array([2**31 - 1], pa.int32()).view(pa.date32())
    assert encoded(WARD.with_(missing="indicator"), far)[0].tolist() == [0, 0, 0, 1]


# Missing cells

PAYLOAD_NAN = np.array([0x7FF8DEADBEEF0001, 0x7FF0000000000001, 0xFFF8000000000000], np.uint64).view(
    np.float64
)
NOTHING = [
    (NUMBER, pa.array([None], pa.float64())),
    (NUMBER, pa.array([np.nan])),
    (NUMBER, pa.array([np.nan], pa.float32())),
    (NUMBER, pa.array(PAYLOAD_NAN)),
    (NUMBER, pa.array(["nan", None])),
    (NUMBER, pa.array([None], pa.int32())),
    (INTEGER, pa.array([None], pa.uint64())),
    (INTEGER.with_(low=2**60, high=2**60 + 3), pa.array([None], pa.int64())),
    (INTEGER.with_(low=2**60, high=2**60 + 3), pa.array([np.nan])),
    (NUMBER.with_(low=1, log=True), pa.array([np.nan, None])),
    (DATE, pa.array([None], pa.date32())),
    (TIME, pa.array([None], pa.timestamp("ns"))),
    (TIME, pa.array([None], pa.string())),
    (FLAG, pa.array([None], pa.bool_())),
    (FLAG, pa.array([np.nan])),
    (WARD, pa.array([None], pa.string())),
    (WARD, pa.array([None], pa.string()).dictionary_encode()),
    (GRADE, pa.array([np.nan])),
    (ONE, pa.array([None], pa.string())),
    *((column, pa.nulls(2)) for column in KINDS),
]


@pytest.mark.parametrize(
    ("column", "cells"), NOTHING, ids=lambda x: getattr(x, "kind", str(getattr(x, "type", "")))
)
def test_a_missing_cell_is_filled_or_shown(column: Column, cells: pa.Array) -> None:
    by_default = encoder(column).decode(encoded(column, cells))["c"]
    assert by_default.null_count == 0
    assert len(by_default.unique()) == 1
    fill = {"boolean": True, "category": column.values[-1:][0] if column.values else None}.get(
        column.kind, column.low
    )
    filled = encoded(column.with_(missing="fill", fill=fill), cells)
    assert np.array_equal(filled, encoded(column, [fill] * len(cells)))
    shown = encoder(column.with_(missing="indicator"))
    X = shown.matrix(pa.table({"c": cells}))
    assert np.array_equal(X[:, -1], np.ones(len(cells)))
    assert not X[:, :-1].any()
    assert shown.feature_names[-1] == "c (missing)"
    decoded = shown.decode(X)["c"]
    assert decoded.null_count == len(cells)
    assert decoded.type == encoder(column).decode(encoded(column, [fill]))["c"].type


def test_cells_beside_a_missing_one_are_untouched() -> None:
    X = encoded(NUMBER.with_(missing="indicator"), [6.0, None, -2.0])
    assert X.tolist() == [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    X = encoded(WARD.with_(missing="indicator"), ["n", None, "e"])
    assert X.tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]


# Dates


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([date(2020, 1, 2)]),
        pa.array([date(2020, 1, 2)], pa.date64()),
        pa.array([datetime(2020, 1, 2, 23, 59)]),
        pa.array([datetime(2020, 1, 2, 1)], pa.timestamp("s")),
        pa.array([datetime(2020, 1, 2, 1)], pa.timestamp("ns")),
        pa.array([datetime(2020, 1, 2, 1, tzinfo=UTC)], pa.timestamp("us", "Europe/Paris")),
        pa.array(["2020-01-02"]),
        pa.array(["2020-01-02T10:00:00"], pa.large_string()),
        pa.array(["2020-01-02T10:00:00Z"]),
        pa.array(["2020-01-03T01:00:00+02:00"]),
        pa.array(["2020-01-02"]).dictionary_encode(),
    ],
    ids=lambda cells: f"{cells.type} {cells[0]}",
)
def test_dates_of_every_arrow_type(cells: pa.Array) -> None:
    assert encoded(DATE, cells)[:, 0].tolist() == [-0.5]


def test_dates_outside_are_clipped_however_far() -> None:
    assert encoded(DATE, [date(1, 1, 1), date(9999, 12, 31)])[:, 0].tolist() == [-1.0, 1.0]
    for unit in ("s", "ms", "us", "ns"):
        far = pa.array([-(2**63), 2**63 - 1], pa.int64()).cast(pa.timestamp(unit))
        assert encoded(TIME, far)[:, 0].tolist() == [-1.0, 1.0]
    assert encoded(DATE, pa.array([-(2**31), 2**31 - 1], pa.int32()).cast(pa.date32()))[:, 0].tolist() == [
        -1.0,
        1.0,
    ]


def test_times_before_1970_round_down_to_their_day() -> None:
    old = Column(name="c", kind="date", low=date(1960, 1, 1), high=date(1960, 1, 5))
    assert encoded(old, [datetime(1960, 1, 2, 23, 59, 59)])[:, 0].tolist() == [-0.5]


def test_times_come_back_in_the_zone_of_their_bounds() -> None:
    noon = np.array([[0.0]])
    assert encoder(TIME).decode(noon)["c"].to_pylist() == [datetime(2020, 1, 1, 12)]
    east = timezone(timedelta(hours=2))
    zoned = Column(
        name="c", kind="date", low=datetime(2020, 1, 1, 2, tzinfo=east), high=datetime(2020, 1, 2, tzinfo=UTC)
    )
    assert encoder(zoned).decode(noon)["c"].to_pylist() == [datetime(2020, 1, 1, 12, tzinfo=UTC)]
    assert encoder(DATE).decode(noon)["c"].to_pylist() == [date(2020, 1, 3)]


# Booleans and categories


@pytest.mark.parametrize(
    "cells",
    [
        [True, False],
        [1, 0],
        [1.0, 0.0],
        ["true", "false"],
        ["TRUE", "False"],
        ["1", "0"],
        [Decimal(1), Decimal(0)],
    ],
    ids=str,
)
def test_booleans_in_every_spelling(cells: list[Any]) -> None:
    assert encoded(FLAG, cells)[:, 0].tolist() == [1.0, -1.0]
    assert encoded(FLAG, pa.array(cells).dictionary_encode())[:, 0].tolist() == [1.0, -1.0]


def test_categories_are_one_hot_and_ordered_ones_evenly_spaced() -> None:
    assert encoded(WARD, ["s", "n"]).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert encoder(WARD).feature_names == ("c=n", "c=s", "c=e")
    assert encoded(GRADE, [3, 2, 1])[:, 0].tolist() == [-1.0, 0.0, 1.0]
    assert encoded(ONE, ["only"]).tolist() == [[1.0]]
    assert encoded(ONE.with_(ordered=True), ["only"]).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ((0, 1), [True, False]),
        ((0, 1), [1, 0]),
        ((0, 1), [1.0, 0.0]),
        ((0, 1), ["1", "0"]),
        ((0, 1), ["1.0", "0.0"]),
        ((0, 1), [Decimal("1.00"), Decimal("0.00")]),
        ((False, True), [1, 0]),
        ((False, True), ["True", "False"]),
        (("0", "1"), [1, 0]),
        (("false", "true"), [True, False]),
        ((0.5, 1.5), [1.5, 0.5]),
        ((0.5, 1.5), ["1.5", "0.50"]),
        (("2020-01-01", "2021-01-01"), [date(2021, 1, 1), date(2020, 1, 1)]),
    ],
)
def test_category_values_are_recognised_in_the_type_of_the_data(
    values: tuple[Any, ...], cells: list[Any]
) -> None:
    column = Column(name="c", kind="category", values=values)
    assert encoded(column, cells).tolist() == [[0, 1], [1, 0]]
    decoded = encoder(column).decode(np.array([[0.1, 0.9], [0.9, 0.1]]))["c"].to_pylist()
    assert decoded == [values[1], values[0]]
    assert [type(cell) for cell in decoded] == [type(value) for value in values[::-1]]


def test_unknown_categories_go_to_other_or_are_missing() -> None:
    for column in (WARD, WARD.with_(ordered=True), WARD.with_(role="target")):
        one = encoder(column, NUMBER.with_(name="x"))
        unknown, missing = (one.encode(pa.table({"c": ["s", c], "x": [1.0, 1.0]})) for c in ("secret", None))
        assert np.array_equal(unknown.cells, missing.cells)
        assert unknown.codes is None or unknown.codes.tolist() == missing.codes.tolist() == [1, 0]
    assert encoded(WARD.with_(missing="fill", fill="e"), ["n", "secret"]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert encoded(WARD.with_(other="e"), ["n", "secret"]).tolist() == [[1, 0, 0], [0, 0, 1]]
    case = Column(name="c", kind="category", values=("a", "A"))
    assert encoded(case, ["A", "a"]).tolist() == [[0, 1], [1, 0]]


# The whole row

TABLE_SCHEMA = Schema(
    columns=(WARD.with_(name="w"), NUMBER.with_(name="n", missing="indicator"), FLAG.with_(name="f"))
)


def test_groups_cover_the_width() -> None:
    one = Encoder(TABLE_SCHEMA)
    assert [tuple(group) for group in one.groups] == [
        ("w", "one-hot", slice(0, 3), False),
        ("n", "number", slice(3, 5), True),
        ("f", "boolean", slice(5, 6), False),
    ]
    assert one.width == 6 == len(one.feature_names)
    assert one.columns == ["w", "n", "f"]


def test_columns_of_the_matrix_are_contiguous() -> None:
    table = pa.table({"w": ["n", "s"], "n": [1, None], "f": [True, False]})
    rows = Encoder(TABLE_SCHEMA).encode(table)
    for X, kind in (
        (rows.cells, np.int32),
        (rows.X, np.float64),
        (Encoder(TABLE_SCHEMA).matrix(table), np.float64),
    ):
        assert X.flags.f_contiguous
        assert X.dtype == kind
        assert X.shape == (2, 6)
    assert rows.codes is None
    assert rows.target is None
    assert Encoder(TABLE_SCHEMA).encode(table.slice(0, 0)).X.shape == (0, 6)


def test_a_row_is_encoded_the_same_wherever_it_stands() -> None:
    rng = np.random.default_rng(3)
    columns = (
        NUMBER.with_(name="a", low=0.1, high=0.7),
        NUMBER.with_(name="b", low=0, high=9, log=True),
        NUMBER.with_(name="c", low=1, high=9, log=True),
    )
    table = pa.table({name: rng.random(257) * 10 for name in "abc"})
    one = encoder(*columns)
    whole = one.encode(table).X
    for start in range(0, 257, 5):
        assert np.array_equal(one.encode(table.slice(start, 13)).X, whole[start : start + 13])
        assert np.array_equal(one.encode(table.slice(start, 1)).X, whole[start : start + 1])


def test_targets() -> None:
    x = NUMBER.with_(name="x")
    table = pa.table({"x": [1.0, 2.0], "c": ["e", "n"]})
    classes = encoder(x, WARD.with_(role="target", ordered=True))
    assert (classes.target, classes.classes) == (Target("c", 3), ("n", "s", "e"))
    rows = classes.encode(table)
    assert rows.codes is not None
    assert rows.codes.tolist() == [2, 0]
    assert rows.codes.dtype == np.int64
    assert classes.decode(classes.matrix(table), classes.encode_target(table)) == table
    flag = encoder(x, FLAG.with_(role="target", missing="fill", fill=True))
    assert (flag.target, flag.classes) == (Target("c", 2), (False, True))
    assert flag.encode(pa.table({"x": [1.0, 2.0], "c": [None, False]})).codes.tolist() == [1, 0]  # type: ignore[union-attr]
    assert flag.decode(np.zeros((2, 1)), np.array([0, 1]))["c"].to_pylist() == [False, True]
    for column, cells in ((NUMBER, [2.0, 99.0]), (DATE, [date(2020, 1, 3), date(2021, 1, 1)])):
        number = encoder(x, column.with_(role="target"))
        assert (number.target, number.classes) == (Target("c"), None)
        assert number.encode(table.set_column(1, "c", pa.array(cells))).numbers.tolist() == [0.0, 1.0]
        assert number.decode(np.zeros((2, 1)), np.array([0.0, 7.0]))["c"].to_pylist() == [
            cells[0],
            column.high,
        ]
    assert encoder(x).target == NO_TARGET


def test_a_table_without_the_target() -> None:
    one = encoder(NUMBER.with_(name="x"), WARD.with_(role="target"))
    table = pa.table({"x": [1.0]})
    with pytest.raises(DataError, match="no target 'c'; add it to the table, or change the schema"):
        one.encode(table)
    assert one.encode(table, target=False).codes is None
    with pytest.raises(DataError, match="no column 'x'"):
        one.encode(pa.table({"c": ["n"]}))


def test_bounds_must_be_there_before_encoding() -> None:
    schema = Schema.loads("[columns.c]\nkind = 'number'\nestimate = true")
    with pytest.raises(SchemaError, match="'c' has estimate = true and no bounds yet"):
        Encoder(schema)
    assert Encoder(schema.with_bounds({"c": (0, 1)})).width == 1
    with pytest.raises(SchemaError, match="no released column beside its target"):
        encoder(FLAG.with_(role="target"))


def test_decoding_takes_anything_finite_and_gives_the_order_of_the_schema() -> None:
    schema = Schema(columns=(FLAG.with_(name="y", role="target"), INTEGER, WARD.with_(name="w")))
    one = Encoder(schema)
    X = np.array([[9.0, 0.2, 0.1, 0.3], [0.24, -7.0, -8.0, -9.0]])
    table = one.decode(np.asfortranarray(X), np.array([1, 0]))
    assert table.to_pydict() == {"y": [True, False], "c": [8, 5], "w": ["e", "n"]}
    assert one.decode(X).column_names == ["c", "w"]


@pytest.mark.parametrize(
    ("X", "y", "sentence"),
    [
        (np.zeros((2, 3)), None, r"shape .n, 1.. Got the shape .2, 3. instead"),
        (np.array([[np.nan]]), None, "must be finite"),
        (np.zeros(3), None, "Got the shape"),
        (np.zeros((2, 1)), np.zeros(3), r"must have the shape .2,.. Got .3,. instead"),
        (np.zeros((2, 1)), np.array([0, 3]), "codes of the 3 classes, from 0"),
        (np.zeros((2, 1)), np.array([-1, 0]), "codes of the 3 classes, from 0"),
    ],
)
def test_what_cannot_be_decoded(X: Any, y: Any, sentence: str) -> None:
    one = encoder(NUMBER.with_(name="x"), WARD.with_(role="target"))
    with pytest.raises(ParameterError, match=sentence):
        one.decode(X, y)
    with pytest.raises(ParameterError, match="schema has no target"):
        encoder(NUMBER).decode(np.zeros((1, 1)), np.zeros(1))


# There and back

WIDE = 2**62


@st.composite
def columns_and_cells(draw: st.DrawFn, name: str, n: int) -> tuple[Column, pa.Array, bool]:
    """A declared column, n cells within its bounds, and whether they come back exactly."""
    missing = draw(st.sampled_from(["refuse", "indicator"]))
    rest: dict[str, Any] = {"name": name, "missing": missing}

    def array(cell: st.SearchStrategy[Any], kind: pa.DataType) -> pa.Array:
        cells = st.none() | cell if missing == "indicator" else cell
        return pa.array(draw(st.lists(cells, min_size=n, max_size=n)), kind)

    match draw(st.sampled_from(["number", "log", "integer", "date", "time", "boolean", "text", "code"])):
        case "number":
            low = draw(st.floats(-1e6, 1e6))
            column = Column(kind="number", low=low, high=low + draw(st.floats(0.001, 1e6)), **rest)
            return column, array(st.floats(low, float(column.high)), pa.float64()), False  # type: ignore[arg-type]
        case "log":
            low = draw(st.floats(0, 1e3))
            column = Column(kind="number", low=low, high=low + draw(st.floats(1, 1e6)), log=True, **rest)
            return column, array(st.floats(low, float(column.high)), pa.float64()), False  # type: ignore[arg-type]
        case "integer":
            low = draw(st.integers(-WIDE, WIDE - 2**51))
            column = Column(
                kind="number", low=low, high=low + draw(st.integers(1, 2**51)), integer=True, **rest
            )
            return column, array(st.integers(low, int(column.high)), pa.int64()), True  # type: ignore[arg-type]
        case "date":
            low, high = sorted(draw(st.lists(st.dates(), min_size=2, max_size=2, unique=True)))
            return (
                Column(kind="date", low=low, high=high, **rest),
                array(st.dates(low, high), pa.date32()),
                True,
            )
        case "time":
            first = draw(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)))
            last = first + timedelta(microseconds=draw(st.integers(1, 2**50)))
            column = Column(kind="date", low=first, high=last, **rest)
            return column, array(st.datetimes(first, last), pa.timestamp("us")), True
        case "boolean":
            return Column(kind="boolean", **rest), array(st.booleans(), pa.bool_()), True
        case "text":
            values = draw(st.lists(st.text(min_size=1), min_size=1, max_size=6, unique=True))
            column = Column(kind="category", values=values, ordered=draw(st.booleans()), **rest)
            return column, array(st.sampled_from(values), pa.string()), True
        case _:
            codes = draw(st.lists(st.integers(-99, 99), min_size=1, max_size=6, unique=True))
            column = Column(kind="category", values=codes, ordered=draw(st.booleans()), **rest)
            return column, array(st.sampled_from(codes), pa.int64()), True


@given(st.data(), st.integers(0, 5), st.integers(1, 4))
@settings(deadline=None, derandomize=True, max_examples=150)
def test_a_table_within_its_bounds_comes_back(data: st.DataObject, n: int, width: int) -> None:
    drawn = [data.draw(columns_and_cells(f"c{j}", n)) for j in range(width)]
    table = pa.table({column.name: cells for column, cells, _ in drawn})
    one = encoder(*(column for column, _, _ in drawn))
    rows = one.encode(table)
    assert np.isfinite(rows.X).all()
    assert (np.abs(rows.X) <= 1).all()
    back = one.decode(one.matrix(table), one.encode_target(table))
    assert back.schema.equals(table.schema)
    for column, cells, exact in drawn:
        decoded = back[column.name].to_pylist()
        if exact:
            assert decoded == cells.to_pylist()
        else:
            assert [cell is None for cell in decoded] == [cell is None for cell in cells.to_pylist()]
            assert [c for c in decoded if c is not None] == pytest.approx(
                cells.drop_null().to_pylist(),
                rel=1e-12,
                abs=1e-12 * max(abs(float(column.low)), abs(float(column.high))),  # type: ignore[arg-type]
            )


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True) | st.none(), max_size=9), st.booleans())
@settings(deadline=None, derandomize=True)
def test_every_float_becomes_a_number_in_the_interval(cells: list[float | None], log: bool) -> None:
    column = Column(name="c", kind="number", low=0, high=1e6, log=log, missing="indicator")
    X = encoded(column, cells, pa.float64())
    assert (np.abs(X) <= 1).all()
    assert X[:, 1].tolist() == [cell is None or cell != cell for cell in cells]
