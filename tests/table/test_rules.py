"""Rules of a schema hold in every released row, and rules that contradict each other are refused at load."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import SchemaError, VerificationError
from gnomon.release.folder import certificate_text, read_certificate, sha256, write_release
from gnomon.release.verify import verify
from gnomon.table.schema import Schema

COLUMNS = """
[columns.admitted]
kind = "date"
low = 2020-01-01
high = 2024-12-31
missing = "indicator"

[columns.left]
kind = "date"
low = 2020-06-01
high = 2025-12-31

[columns.relation]
kind = "category"
values = ["husband", "wife", "child"]

[columns.sex]
kind = "category"
values = ["male", "female"]

[columns.school]
kind = "category"
values = ["none", "basic", "high"]

[columns.years]
kind = "number"
low = 0
high = 20
integer = true

[columns.north]
kind = "number"
low = 0
high = 50

[columns.south]
kind = "number"
low = 0
high = 50

[columns.total]
kind = "number"
low = 10
high = 60
"""
RULES = """
[[rules]]
ascending = ["admitted", "left"]

[[rules]]
if = { relation = "husband" }
then = { sex = "male" }

[[rules]]
if = { relation = ["wife"] }
then = { sex = "female", years = { low = 4 } }

[[rules]]
determines = ["school", "years"]
by = { none = 4, basic = 9, high = 13 }

[[rules]]
sum = ["north", "south"]
is = "total"
"""


def schema(rules: str = RULES, columns: str = COLUMNS) -> Schema:
    return Schema.loads(f'format = 2\n[table]\nname = "ward"\n{columns}\n{rules}')


def rows(n: int, seed: int = 5) -> pa.Table:
    """Rows that break every rule about half of the time."""
    rng = np.random.default_rng(seed)
    start = np.datetime64("2020-01-01", "D").astype(int)
    days = rng.integers(0, 1826, (2, n)) + start
    return pa.table(
        {
            "admitted": pa.array(days[0].astype(np.int32), mask=rng.random(n) < 0.1).cast(pa.date32()),
            "left": pa.array(np.maximum(days[1], start + 152).astype(np.int32)).cast(pa.date32()),
            "relation": rng.choice(["husband", "wife", "child"], n),
            "sex": rng.choice(["male", "female"], n),
            "school": rng.choice(["none", "basic", "high"], n),
            "years": rng.integers(0, 21, n),
            "north": rng.uniform(0, 50, n),
            "south": rng.uniform(0, 50, n),
            "total": rng.uniform(10, 60, n),
        }
    )


def breaks(table: pa.Table) -> dict[str, bool]:
    """Whether a row breaks a rule, written a second time, in plain Python."""
    found = dict.fromkeys(("dates", "husbands", "wives", "school", "sums"), False)
    years = {"none": 4, "basic": 9, "high": 13}
    for row in table.to_pylist():
        found["dates"] |= row["admitted"] is not None and row["admitted"] > row["left"]
        found["husbands"] |= row["relation"] == "husband" and row["sex"] != "male"
        found["wives"] |= row["relation"] == "wife" and row["sex"] != "female"
        found["school"] |= row["years"] != years[row["school"]]
        found["sums"] |= row["north"] + row["south"] != row["total"]
    return found


def test_every_row_keeps_every_rule() -> None:
    table, declared = rows(3000), schema()
    assert all(breaks(table).values())
    mended = declared.mender(table.column_names)(table)
    assert not any(breaks(mended).values())
    assert mended.schema == table.schema
    for column in declared.columns:  # what was mended is still what the schema declares
        values = [value for value in mended[column.name].to_pylist() if value is not None]
        if column.values:
            assert set(values) <= set(column.values)
        else:
            assert min(values) >= column.low
            assert max(values) <= column.high  # type: ignore[operator]


def test_rows_that_keep_the_rules_are_not_changed() -> None:
    mender = schema().mender(rows(1).column_names)
    mended = mender(rows(2000))
    assert mender(mended).equals(mended)
    assert not mender.broken(mended).any()
    assert mender.broken(rows(2000)).any()


def test_a_missing_cell_breaks_no_rule_and_stays_missing() -> None:
    table = rows(1000)
    mended = schema().mender(table.column_names)(table)
    assert mended["admitted"].is_null().equals(table["admitted"].is_null())


def test_chains_of_numbers_of_two_kinds() -> None:
    whole = "".join(f'[columns.{n}]\nkind = "number"\nlow = 0\nhigh = 9\ninteger = true\n' for n in "ac")
    declared = schema(
        '[[rules]]\nascending = ["a", "b", "c"]', whole + '[columns.b]\nkind = "number"\nlow = 1\nhigh = 8'
    )
    rng = np.random.default_rng(1)
    table = pa.table(
        {"a": rng.integers(0, 10, 500), "c": rng.integers(0, 10, 500), "b": rng.uniform(1, 8, 500)}
    )
    mended = declared.mender(table.column_names)(table).to_pydict()
    assert all(a <= b <= c for a, b, c in zip(mended["a"], mended["b"], mended["c"], strict=True))
    assert min(mended["a"]) >= 0
    assert max(mended["b"]) <= 8


def test_rules_survive_toml_and_other_changes() -> None:
    declared = schema()
    assert Schema.loads(declared.dumps()) == declared
    assert declared.with_target("sex").rules == declared.rules
    assert declared.as_released().rules == declared.rules


def test_a_public_table_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "school.csv").write_text("school;years\nnone;4\nbasic;9\nhigh;13\n")
    text = '[[rules]]\ndetermines = ["school", "years"]\nby_file = "school.csv"'
    (tmp_path / "schema.toml").write_text(f'format = 2\n[table]\nname = "ward"\n{COLUMNS}\n{text}')
    declared = Schema.load(tmp_path / "schema.toml")
    again = Schema.loads(declared.dumps())  # the file's values travel with the schema
    table = rows(200)
    mended = again.mender(table.column_names)(table)
    assert not breaks(mended)["school"]


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (
            '[[rules]]\nif = { relation = "wife" }\nthen = { sex = "female" }\n'
            '[[rules]]\nif = { relation = ["wife", "child"] }\nthen = { sex = "male" }',
            "Rule 1 of the schema contradicts rule 2 where relation is 'wife'",
        ),
        (
            '[[rules]]\nif = { sex = "male" }\nthen = { relation = "husband" }\n'
            '[[rules]]\nif = { relation = "husband" }\nthen = { sex = "female" }',
            "contradicts rule 2 where sex is 'male'",
        ),
        (
            '[[rules]]\nascending = ["left", "admitted"]\n[[rules]]\nascending = ["admitted", "left"]',
            None,  # equal dates keep both
        ),
        ('[[rules]]\nascending = ["total", "years"]', None),
        ('[[rules]]\nascending = ["north", "sex"]', "all numbers or all dates"),
        ('[[rules]]\nsum = ["north", "south"]\nis = "years"', "whole totals of parts that are not"),
        (
            '[[rules]]\nif = { sex = "mail" }\nthen = { relation = "wife" }',
            "names 'mail', which is no declared value",
        ),
        (
            '[[rules]]\nif = { sox = "male" }\nthen = { relation = "wife" }',
            "names the column 'sox', which the schema lacks",
        ),
        ('[[rules]]\nascending = ["admitted"]', "must name two or more different columns"),
        ("[[rules]]\nwhatever = 1", "Rule 1 of the schema is none that is known"),
        ('[[rules]]\nif = { sex = "male" }', "needs both if and then"),
        ('[[rules]]\ndetermines = ["school", "years"]', "needs by = {...}"),
        (
            '[[rules]]\ndetermines = ["school", "years"]\nby = { none = 40 }',
            "names 40, which is no declared value of 'years'",
        ),
        (
            '[[rules]]\nif = { years = { low = 9, high = 4 } }\nthen = { sex = "male" }',
            "a low above its high",
        ),
        ('[[rules]]\nif = { years = { low = 9 } }\nthen = { sex = "male" }', None),
    ],
)
def test_what_a_rule_cannot_mean_is_a_sentence(rules: str, sentence: str | None) -> None:
    if sentence is None:
        assert schema(rules).rules
        return
    with pytest.raises(SchemaError) as refusal:
        schema(rules)
    assert sentence in str(refusal.value)


def test_bounds_that_contradict_a_rule_are_refused() -> None:
    narrow = (
        '[columns.a]\nkind = "number"\nlow = 5\nhigh = 9\n[columns.b]\nkind = "number"\nlow = 0\nhigh = 4\n'
    )
    with pytest.raises(SchemaError, match="'b' is never so large"):
        schema('[[rules]]\nascending = ["a", "b"]', narrow)
    third = '[columns.c]\nkind = "number"\nlow = 20\nhigh = 30\n'
    with pytest.raises(SchemaError, match="never add up to the total"):
        schema('[[rules]]\nsum = ["a", "b"]\nis = "c"', narrow + third)


def test_rules_about_columns_without_bounds_or_release_are_refused() -> None:
    columns = (
        '[columns.a]\nkind = "number"\nestimate = true\n[columns.b]\nkind = "number"\nlow = 0\nhigh = 4\n'
    )
    with pytest.raises(SchemaError, match="a rule needs declared bounds"):
        schema('[[rules]]\nascending = ["a", "b"]', columns)
    hidden = '[columns.a]\nkind = "identifier"\n[columns.b]\nkind = "number"\nlow = 0\nhigh = 4\n'
    with pytest.raises(SchemaError, match="of kind identifier and not released"):
        schema('[[rules]]\nascending = ["a", "b"]', hidden)


def test_a_row_that_cannot_be_mended_takes_the_next_that_keeps_the_rules() -> None:
    """school decides years, and years decide school by another table: few pairs come to rest."""
    rules = (
        '[[rules]]\ndetermines = ["school", "years"]\nby = { none = 4, basic = 9, high = 13 }\n'
        '[[rules]]\nif = { sex = "female" }\nthen = { years = 9 }'
    )
    declared = schema(rules)
    table = rows(500)
    mended = declared.mender(table.column_names)(table)
    assert not declared.mender(table.column_names).broken(mended).any()
    assert set(mended["sex"].to_pylist()) == {"male", "female"}


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
@pytest.mark.parametrize("method", [gn.Synthesizer, gn.RonGauss, gn.Dprp])
def test_a_release_keeps_its_rules_and_is_replayed_byte_for_byte(method: type, tmp_path: Path) -> None:
    declared = schema()
    table = declared.mender(rows(1).column_names)(rows(400))
    fitted = method(2.0, 1e-5, schema=declared.with_target("sex")).fit(table)
    write_release(fitted, tmp_path / "out")
    verified = verify(tmp_path / "out")
    assert verified.replayed
    assert not any(breaks(verified.release.data).values())
    assert "declared rules between columns" in " ".join(verified.release.certificate.public)


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
def test_verify_notices_a_row_that_breaks_a_rule(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    fitted = gn.Synthesizer(2.0, 1e-5, schema=schema()).fit(rows(400))
    out = tmp_path / "out"
    write_release(fitted, out)
    table = pq.read_table(out / "data.parquet")
    row = table.column_names.index("admitted")
    table = table.set_column(row, "admitted", pa.array([date(2024, 12, 31)] * table.num_rows))
    pq.write_table(table, out / "data.parquet")
    certificate, _ = read_certificate(out)
    files = {**certificate.files, "data.parquet": sha256(out / "data.parquet")}
    (out / "certificate.yaml").write_text(
        certificate_text(certificate.with_files(files, released_rows=table.num_rows))
    )
    with pytest.raises(VerificationError, match="break a rule"):
        verify(out, replay=False)
