from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gnomon.errors import DataError
from gnomon.table.check import ColumnCheck, check, refuse_misfits, require_usable
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

SCHEMA = Schema.loads("""
[columns.age]
kind = "number"
low = 0
high = 110
integer = true

[columns.pay]
kind = "number"
estimate = true
missing = "indicator"

[columns.ward]
kind = "category"
values = ["north", "south"]

[columns.born]
kind = "date"
low = 1900-01-01
high = 2020-01-01

[columns.alive]
kind = "boolean"

[columns.key]
kind = "identifier"

[columns.outcome]
kind = "category"
values = ["a", "b"]
role = "target"
""")
GOOD: dict[str, list[Any]] = {
    "age": [1, 2, 3],
    "pay": [1e9, None, -1e9],
    "ward": ["north", "south", "north"],
    "born": [date(2000, 1, 1)] * 3,
    "alive": [True, False, True],
    "outcome": ["a", "b", "a"],
}


def report(**changes: list[Any]) -> Any:
    table = pa.table({**GOOD, **changes})
    return check(open_source(table), SCHEMA)


def test_a_table_that_fits() -> None:
    found = report()
    assert found.ok
    assert found.problems == ()
    assert found.rows == 3
    assert found.columns[0] == ColumnCheck("age")
    assert found.columns[1] == ColumnCheck("pay", missing=1)
    assert found.undeclared == ()


def test_undeclared_columns_are_named_and_harmless() -> None:
    found = report(height=[1, 2, 3])
    assert found.undeclared == ("height",)
    assert found.ok


def test_cells_out_of_bounds_are_counted_and_clipped() -> None:
    found = report(age=[-1, 200, 5], born=[date(1800, 1, 1), date(2019, 1, 1), date(2021, 1, 1)])
    counts = {column.name: column.out_of_bounds for column in found.columns}
    assert (counts["age"], counts["born"], counts["pay"]) == (2, 2, 0)
    assert found.ok
    assert report(age=[float("inf"), 5.0, 6.0]).columns[0].out_of_bounds == 1


@pytest.mark.parametrize(
    ("changes", "expected", "sentence"),
    [
        ({"age": [1, None, None]}, {"missing": 2}, "'age' has missing cells"),
        ({"age": [1.0, float("nan"), 2.0]}, {"missing": 1}, "'age' has missing cells"),
        ({"age": ["1", "secret", "x"]}, {"alien": 2}, "'age' has cells that are not numbers"),
        (
            {"ward": ["north", "secret", None]},
            {"unknown": 1, "missing": 1},
            "with a category that the schema lacks",
        ),
        (
            {"born": ["2000-01-01", "secret", None]},
            {"alien": 1, "missing": 1},
            "'born' has cells that are not dates",
        ),
        ({"alive": ["true", "secret", "0"]}, {"alien": 1}, "'alive' has cells that are not true or false"),
        (
            {"outcome": ["a", "b", "secret"]},
            {"unknown": 1},
            "'outcome' has cells with a class that the schema lacks",
        ),
    ],
)
def test_what_a_strict_release_would_refuse(
    changes: dict[str, Any], expected: dict[str, int], sentence: str
) -> None:
    found = report(**changes)
    (name,) = changes
    (column,) = (one for one in found.columns if one.name == name)
    counts = {key: getattr(column, key) for key in ("missing", "out_of_bounds", "unknown", "alien")}
    assert {key: count for key, count in counts.items() if count} == expected
    assert not found.ok
    assert len(found.problems) == 1
    assert sentence in found.problems[0]
    assert "secret" not in found.problems[0]
    assert not any(letter.isdigit() for letter in found.problems[0])
    with pytest.raises(DataError) as refused:
        refuse_misfits(open_source(pa.table({**GOOD, **changes})), SCHEMA)
    assert found.problems[0] in str(refused.value)


def test_columns_and_rows_that_are_not_there() -> None:
    table = pa.table(GOOD).drop_columns(["outcome", "age"])
    source = open_source(table)
    found = check(source, SCHEMA)
    assert [problem.split(";")[0] for problem in found.problems] == [
        "The table has no column 'age'",
        "The table has no target 'outcome'",
    ]
    with pytest.raises(DataError, match="no column 'age'; its columns are pay, ward"):
        require_usable(source, SCHEMA)
    for rows, words in ((0, "0 rows"), (1, "1 row")):
        short = open_source(pa.table(GOOD).slice(0, rows))
        assert (
            f"has {words}; a release needs at least 2"
            in check(short, SCHEMA).problems[-1 if rows == 0 else 0]
        )
        with pytest.raises(DataError, match=f"The table has {words}; a release needs at least 2"):
            require_usable(short, SCHEMA)
    require_usable(open_source(pa.table(GOOD)), SCHEMA)


def test_a_csv_is_checked_cell_by_cell_across_batches(tmp_path: Path) -> None:
    n = 200_000
    ages = np.arange(n) % 100
    lines = [f"{'secret' if i % 1000 == 0 else a},{'x' if i % 10 else ''}" for i, a in enumerate(ages)]
    (tmp_path / "t.csv").write_text("age,ward\n" + "\n".join(lines) + "\n")
    schema = Schema(columns=(SCHEMA["age"], SCHEMA["ward"]))
    source = open_source(tmp_path / "t.csv", schema=schema)
    seen: list[tuple[str, int, int | None]] = []
    found = check(source, schema, lambda *step: seen.append(step))
    assert found.rows == n
    assert found.columns[0].alien == n // 1000
    assert (found.columns[1].missing, found.columns[1].unknown) == (n // 10, n - n // 10)
    assert seen[-1] == ("checking", n, n)
    assert len(seen) > 1


def test_a_header_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,ward\n")
    schema = Schema(columns=(SCHEMA["age"], SCHEMA["ward"]))
    source = open_source(tmp_path / "t.csv", schema=schema)
    with pytest.raises(DataError, match=r"t.csv' has 0 rows; a release needs at least 2"):
        require_usable(source, schema)
    assert not check(source, schema).ok


def test_one_class_only_is_a_remark_because_a_refusal_would_tell_a_label() -> None:
    found = report(outcome=["a", "a", "a"])
    assert found.ok
    assert "one class only" in found.remarks[0]


@pytest.mark.parametrize("most", [2**23, 50], ids=["all values", "a sample"])
def test_repeats_of_an_identifier_are_seen_among_many_values(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.table.check.MOST_HASHES", most)
    ages = [1] * 3000
    columns = (SCHEMA["age"], SCHEMA["key"])
    for keys, repeats in ((range(3000), False), ([i // 3 for i in range(3000)], True)):
        table = pa.table({"age": ages, "key": list(keys)})
        found = check(open_source(table), Schema(columns=columns))
        assert found.ok
        assert bool(found.remarks) == repeats
        bounded = Schema(columns=columns, person="key", rows_per_person=1, rows=3000)
        remarks = check(open_source(table), bounded).remarks
        assert [remark.split(":")[1] for remark in remarks] == (
            [" a release would leave out about 66.7% of the rows."] if repeats else []
        )
