"""Units: a person with at most k rows, or one row, may be added or removed, and the number of rows is private."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.methods import METHODS

KEY = bytes(range(32))
PERSONS = """\
format = 2
[table]
name = "ward"
rows = 200
person = "patient"
rows_per_person = 3

[columns.patient]
kind = "identifier"
"""
N = 311


@pytest.fixture
def visits(ward_of: Callable[[int], pa.Table]) -> Callable[..., pa.Table]:
    """A ward of visits: some patients come often."""

    def table(n: int = N, seed: int = 3) -> pa.Table:
        patients = [f"patient {i}" for i in np.random.default_rng(seed).integers(0, n // 2, n)]
        return ward_of(n).append_column("patient", pa.array(patients))

    return table


@pytest.fixture
def persons_schema(custodian: Any) -> Path:
    custodian.schema_file.write_text(
        PERSONS + custodian.schema_file.read_text().partition('name = "ward"\n')[2]
    )
    path: Path = custodian.schema_file
    return path


class Exact:
    """An observer that keeps exact answers with the claimed sensitivities, and decides that the noise is zero."""

    def __init__(self, outcomes: list[Any] | None = None) -> None:
        self.seen: list[tuple[Any, Any]] = []
        self.outcomes = outcomes

    def outcome(self, noise: Any, exact: Any, release: Callable[[], Any]) -> Any:
        self.seen.append((noise.sensitivity, np.array(exact, dtype=np.int64)))
        return exact if self.outcomes is None else self.outcomes[len(self.seen) - 1]


def moved(change: Any, norm: str) -> float:
    if norm == "nuclear":
        return float(sum(np.abs(np.linalg.eigvalsh(block)).sum() for block in change))
    if norm == "L1":
        whole = change if change.ndim < 3 else np.triu(change)
        return float(np.abs(whole).sum())
    return float(np.sqrt((change.astype(np.float64) ** 2).sum()))


@pytest.mark.parametrize("name", ["ron-gauss", "pca-gauss", "modips"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("estimate", [False, True], ids=["declared", "estimated"])
def test_a_person_moves_a_whole_release_by_no_more_than_is_claimed(
    custodian: Any,
    persons_schema: Path,
    name: str,
    delta: float,
    estimate: bool,
    monkeypatch: pytest.MonkeyPatch,
    quietly: Any,
    visits: Any,
) -> None:
    """Random neighbours through whole releases, with the outcomes of one table on both: no step exceeds its claim."""
    monkeypatch.setattr("gnomon.table.persons.fresh_key", lambda: KEY)
    if estimate:
        text = persons_schema.read_text().replace("low = 60\nhigh = 220\n", "estimate = true\n")
        persons_schema.write_text(text)
    rng = np.random.default_rng(11)
    table, largest = visits(), 0.0
    for trial in range(12 if name == "ron-gauss" else 4):
        rows = int(rng.integers(1, 60))
        new = visits(rows, seed=trial).set_column(6, "patient", pa.array(["somebody new"] * rows))
        new = new.set_column(0, "age", pa.array(rng.choice([0, 110], rows)))
        more = pa.concat_tables([table.slice(0, 100), new, table.slice(100)])
        method = METHODS[name](1.0, delta, schema=custodian.schema, random_state=trial)
        one = Exact()
        quietly(lambda m=method, w=one: m.fit(table, observer=w))
        other = Exact([exact for _, exact in one.seen])
        quietly(lambda m=method, w=other, t=more: m.fit(t, observer=w))
        assert len(one.seen) == len(other.seen) >= (3 if estimate else 2)
        for (claimed, mine), (_, theirs) in zip(one.seen, other.seen, strict=True):
            assert claimed.neighbours == (gn.Unit.PERSON, gn.Adjacency.ADD_REMOVE, 3)
            share = moved(theirs - mine, claimed.norm.value) / float(claimed.value)
            assert share <= 1 + 1e-9
            largest = max(largest, share)
    assert largest > 0.3


def test_a_release_of_persons_says_who_is_protected_and_never_n(
    custodian: Any, persons_schema: Path, visits: Any
) -> None:
    """Certificate, page and messages carry the measured count alone, and the person's column is not released."""
    n, counted = 5077, 5077
    while counted == n:  # by chance
        outcome = custodian.release(custodian.write(visits(n)), "--delta", "1e-6")
        assert outcome.code == 0, outcome.err
        folder = custodian.last
        counted = folder.rows.num_rows
    public = folder.text("certificate.yaml", "report.html", "schema.toml") + outcome.out + outcome.err
    assert not re.search(r"\b5,?077\b", public)
    said = " ".join(folder.text("certificate.yaml").split())
    assert "one person with all rows, of which at most 3 are used, is in the table or not" in said
    assert "for which it has epsilon = 2 and delta = 3.718e-06" in said
    assert "unit: person" in said
    assert re.search(r"^rows: null$", folder.text("certificate.yaml"), re.MULTILINE)
    assert re.search(rf"^measured_rows: {counted}$", folder.text("certificate.yaml"), re.MULTILINE)
    assert "one person, with at most 3 rows used" in folder.text("report.html")
    assert "by a noisy count" in folder.text("report.html")
    assert "patient" not in folder.rows.column_names
    assert "patient 1" not in public


def test_a_row_may_be_added_or_removed(custodian: Any, ward: pa.Table) -> None:
    custodian.schema_file.write_text(
        custodian.schema_file.read_text().replace('name = "ward"\n', 'name = "ward"\nrows = 400\n')
    )
    outcome = custodian.release(custodian.write(ward), "--adjacency", "add-remove")
    assert outcome.code == 0, outcome.err
    said = " ".join(custodian.last.text("certificate.yaml").split())
    assert "whether one row of the table, its label included, is in the table or not" in said
    assert (
        "To replace one row by another is to remove one and to add one, for which it has epsilon = 2" in said
    )
    lines = custodian.last.text("certificate.yaml").splitlines()
    exact = [
        line for line in lines if not re.match("measured_rows|released_rows", line)
    ]  # noisy, and equal by chance
    assert not re.search(rf"\b{ward.num_rows}\b", "\n".join(exact))


def test_a_large_delta_is_weak_by_the_declared_number_of_rows(
    custodian: Any, persons_schema: Path, visits: Any, quietly: Any
) -> None:
    """The true number is private, so the public order of magnitude, 200, is what delta is held against."""
    for delta, weak in ((0.006, 1), (0.004, 0)):
        method = gn.RonGauss(1.0, delta, schema=custodian.schema)
        quietly(lambda m=method: m.fit(visits()))
        assert len(method.certificate_.weak) == weak
        assert str(N) not in "".join(method.certificate_.weak)
        assert (
            "not below one over the declared number of rows, 200" in "".join(method.certificate_.weak)
        ) == weak


def test_without_persons_the_promise_is_for_one_row(custodian: Any, ward: pa.Table) -> None:
    assert custodian.release(custodian.write(ward)).code == 0
    public = " ".join(custodian.last.text("certificate.yaml", "report.html").split())
    assert (
        "whether one row of the table, its label included, is as it is or is replaced by any other" in public
    )
    assert "one person's" not in public


@pytest.mark.parametrize("method", ["jl-laplace", "dppro", "dprp", "pca-identity"])
@pytest.mark.parametrize("persons", [True, False])
def test_row_releases_refuse_persons_and_private_n_in_a_sentence(
    custodian: Any, method: str, persons: bool, request: pytest.FixtureRequest, visits: Any
) -> None:
    if persons:
        request.getfixturevalue("persons_schema")
    words = [] if persons else ["--adjacency", "add-remove"]
    outcome = custodian.release(custodian.write(visits()), "--method", method, "--delta", "1e-6", *words)
    assert outcome.code == 2
    assert "publishes one row for each record, so the number of rows is public" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_private_n_asks_for_its_order_of_magnitude(custodian: Any, ward: pa.Table) -> None:
    outcome = custodian.release(custodian.write(ward), "--adjacency", "add-remove")
    assert outcome.code == 2
    assert "write rows = ... into the [table] of the schema" in outcome.err
    assert str(ward.num_rows) not in outcome.err


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_any_number_of_rows_can_be_released_where_it_is_private(
    custodian: Any, persons_schema: Path, rows: int, quietly: Any, visits: Any
) -> None:
    """Whether there is a release must not tell how many rows there are."""
    for strict in (False, True):
        method = gn.RonGauss(1.0, schema=custodian.schema, strict=strict)
        quietly(lambda m=method: m.fit(visits().slice(0, rows)))
        assert method.certificate_.holds
        assert method.sample(5).num_rows == 5


def test_a_table_past_what_exact_sums_hold_is_refused_before_the_charge(
    custodian: Any, persons_schema: Path, visits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An overflow would move a sum by 2^64: that there are fewer than 2^30 rows is an assumption of the threat model."""
    monkeypatch.setattr("gnomon.table.encode.MOST_ROWS", 100)
    outcome = custodian.release(custodian.write(visits()))
    assert outcome.code == 2
    assert "2^30 rows or more" in outcome.err
    assert str(N) not in outcome.err
    assert custodian._ledger().show("ward").charges == 0


def test_a_released_folder_of_persons_replays(
    custodian: Any, persons_schema: Path, tmp_path: Path, quietly: Any, visits: Any
) -> None:
    from gnomon.release.folder import write_release
    from gnomon.release.measurements import read_measurements

    assert custodian.release(custodian.write(visits()), "--delta", "1e-6").code == 0
    again = quietly(lambda: read_measurements(custodian.last.path).replay())
    write_release(again, tmp_path / "again")
    for name in ("certificate.yaml", "data.parquet", "report.html", "schema.toml", "measurements.npz"):
        assert (tmp_path / "again" / name).read_bytes() == (custodian.last.path / name).read_bytes()


def test_plan_speaks_of_persons_and_takes_rows_from_the_schema(custodian: Any, persons_schema: Path) -> None:
    outcome = custodian.run("plan", "--schema", persons_schema, "--epsilon", "1")
    assert outcome.code == 0, outcome.err
    assert (
        "200 rows, epsilon = 1 (delta = 1e-06) for one person, with at most 3 rows used (add-remove)"
        in outcome.out
    )
    assert "jl-laplace" not in outcome.out
    other = custodian.run("plan", "--schema", persons_schema, "--epsilon", "1", "--rows", "5000")
    assert "5,000 rows" in other.out


def test_check_points_out_identifiers_that_repeat(custodian: Any, ward: pa.Table, visits: Any) -> None:
    """Without `person` the promise is for a row; somebody must notice that persons have several."""
    text = custodian.schema_file.read_text() + '\n[columns.patient]\nkind = "identifier"\n'
    custodian.schema_file.write_text(text)
    once = ward.append_column("patient", pa.array(range(ward.num_rows)))
    for table, repeats in ((once, False), (visits(), True)):
        outcome = custodian.run("check", custodian.write(table), "--schema", custodian.schema_file)
        assert outcome.code == 0, outcome.err
        assert ("identifier 'patient' stand in more than one row" in outcome.out) == repeats


def test_check_says_what_the_bound_on_persons_leaves_out(
    custodian: Any, persons_schema: Path, visits: Any
) -> None:
    table = visits()
    crowd = table.slice(0, 40).set_column(6, "patient", pa.array(["crowd"] * 39 + [None]))
    outcome = custodian.run(
        "check", custodian.write(pa.concat_tables([table, crowd])), "--schema", persons_schema
    )
    assert outcome.code == 0, outcome.err
    assert "stand in more than 3 rows: a release would leave out about" in outcome.out
    assert "missing in some rows; all these rows count as one person" in outcome.out


BAD = {
    'person = "patient"\nrows_per_person = 3': ('person = "patient"', "but no rows_per_person"),
    'person = "patient"': ("", "has rows_per_person but no person"),
    'kind = "identifier"': ('kind = "ignored"', "must be a column of kind identifier. Got 'patient'"),
    "rows_per_person = 3": ("rows_per_person = 0", "must be a whole number from 1 to 65536. Got 0 instead"),
    "rows = 200": ('rows = "many"', "rows of the [table] in the schema must be a whole number from 1"),
    "format = 2": ("format = 3", "The format of the schema must be 2. Got 3 instead"),
}


@pytest.mark.parametrize("right", BAD)
def test_a_schema_of_persons_is_consistent(
    custodian: Any, persons_schema: Path, right: str, refusal: type[Exception]
) -> None:
    wrong, sentence = BAD[right]
    text = persons_schema.read_text()
    assert gn.Schema.loads(gn.Schema.loads(text).dumps()) == gn.Schema.loads(text)
    with pytest.raises(refusal, match=re.escape(sentence)):
        gn.Schema.loads(text.replace(right, wrong, 1))


def test_the_column_of_persons_must_be_there(custodian: Any, persons_schema: Path, ward: pa.Table) -> None:
    outcome = custodian.release(custodian.write(ward))
    assert outcome.code == 2
    assert "'patient'" in outcome.err


def test_auto_chooses_by_the_declared_number_of_rows(
    custodian: Any, persons_schema: Path, visits: Any, quietly: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From Python as from the command line: which method is taken must not depend on a private number of rows."""
    from gnomon import publish

    asked: list[tuple[int, Any]] = []

    def choose(schema: Any, rows: int, guarantee: Any) -> str:
        asked.append((rows, guarantee.unit))
        return "ron-gauss"

    monkeypatch.setattr(publish, "choose", choose)
    monkeypatch.setattr(sys.modules["gnomon.plan"], "choose", choose)
    out = custodian.new_folder()
    quietly(lambda: gn.publish(visits(), out, schema=custodian.schema_file, epsilon=1.0))
    assert custodian.release(custodian.write(visits())).code == 0
    assert asked == [(200, gn.Unit.PERSON)] * 2
