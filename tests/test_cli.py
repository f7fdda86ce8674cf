"""The command line as a person meets it: what it says, what it returns, what it leaves on disk."""

from __future__ import annotations

import errno
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gnomon.cli import main
from gnomon.privacy.ledger import Ledger
from gnomon.table.schema import Schema

SCHEMA = """\
[table]
name = "ward"

[columns.patient]
kind = "identifier"

[columns.age]
kind = "number"
low = 0
high = 110
integer = true

[columns.pressure]
kind = "number"
low = 60
high = 220

[columns.smoker]
kind = "boolean"

[columns.outcome]
kind = "category"
values = ["home", "care"]
role = "target"
"""


def ward(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(1)
    outcome = rng.random(n) < 0.4
    age = np.clip(rng.normal(50 + 15 * outcome, 12, n), 1, 105).astype(np.int64)
    return pa.table(
        {
            "patient": [f"p{i}" for i in range(n)],
            "age": age,
            "pressure": np.clip(rng.normal(110 + 0.4 * age, 10), 61, 219),
            "smoker": rng.random(n) < 0.3,
            "outcome": np.where(outcome, "care", "home"),
        }
    )


class Place:
    """An empty folder with a table, a schema and a ledger, and what a refusal must leave untouched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "ward.parquet"
        self.schema = folder / "schema.toml"
        self.ledger = folder / "books" / "ledger.sqlite"
        self.out = folder / "out"
        self.write(ward())
        self.schema.write_text(SCHEMA)

    def write(self, table: pa.Table) -> None:
        pq.write_table(table, self.data)

    def release(self, *more: str, epsilon: str = "1") -> int:
        place = ["--schema", str(self.schema), "--out", str(self.out), "--epsilon", epsilon]
        return main(["release", str(self.data), *place, *more])

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}

    def charges(self) -> int:
        if not self.ledger.exists():
            return 0
        return sum(balance.charges for balance in Ledger(self.ledger).accounts())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    monkeypatch.setenv("GNOMON_LEDGER", str(made.ledger))
    monkeypatch.chdir(tmp_path)
    return made


# --- The road of a first release ---


def test_a_release_from_init_to_transform(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(place.data), "--out", "draft.toml"]) == 0
    assert "5 columns" in capsys.readouterr().out
    assert main(["check", str(place.data), "--schema", "draft.toml"]) == 2
    said = capsys.readouterr()
    assert "'age' has no low and high" in said.err
    assert "(the first of 3 problems, listed above)" in said.err
    assert said.out.count("\n- The column") == 3

    assert main(["check", str(place.data), "--schema", "schema.toml"]) == 0
    assert "300 rows, 4 released columns" in capsys.readouterr().out
    assert main(["plan", "--schema", "schema.toml", "--rows", "300", "--epsilon", "1"]) == 0
    assert "ron-gauss" in capsys.readouterr().out
    assert main(["budget", "cap", "ward", "--epsilon", "2"]) == 0
    assert place.release("--method", "ron-gauss", "--rows", "500") == 0
    said = capsys.readouterr().out
    assert "epsilon = 1" in said
    assert "73.2%" in said
    assert "epsilon 1 and delta 9e-06 left" in said
    described = {"certificate.yaml", "croissant.json", "schema.toml", "report.html"}
    names = {"data.parquet", "map.npz", "measurements.npz", *described}
    assert {path.name for path in place.out.iterdir()} == names
    released = pq.read_table(place.out / "data.parquet")
    assert released.num_rows == 500
    assert released.column_names == ["age", "pressure", "smoker", "outcome"]

    assert main(["transform", str(place.data), "--release", "out", "--out", "seen.csv"]) == 0
    seen = pyarrow.csv.read_csv("seen.csv")
    assert seen.num_rows == 300
    assert seen.column_names == released.column_names
    assert main(["budget", "history", "ward"]) == 0
    said = capsys.readouterr().out
    assert "ron-gauss out from ward" in said
    assert said.count("\n") >= 4


def test_the_private_identifier_is_nowhere_in_the_folder(place: Place) -> None:
    assert place.release() == 0
    for path in place.out.iterdir():
        assert b"p299" not in path.read_bytes()
        assert b"patient" not in path.read_bytes() or path.name in ("schema.toml",)


def test_what_reaches_the_library(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import gnomon.publish

    seen: dict[str, object] = {}

    class StopHereError(Exception):
        pass

    def watch(data: object, method: object, out: Path, **rest: object) -> None:
        seen.update(vars(method), out=out, **rest)
        raise StopHereError

    monkeypatch.setattr(gnomon.publish, "publish", watch)
    monkeypatch.setenv("GNOMON_DEBUG", "1")
    options = ["--delta", "1e-6", "--components", "2", "--rows", "7", "--seed", "5", "--format", "csv"]
    with pytest.raises(StopHereError):
        place.release("--method", "ron-gauss", "--calibration", "sound", *options, epsilon="0.5")
    assert (seen["epsilon"], seen["delta"], seen["n_components"]) == (0.5, 1e-6, 2)
    assert (seen["random_state"], seen["rows"], seen["format"]) == (5, 7, "csv")
    assert seen["out"] == place.out
    assert isinstance(seen["schema"], Schema)


def test_auto_keeps_to_methods_that_protect_the_unit(place: Place) -> None:
    assert place.release("--unit", "attribute", epsilon="4") == 0
    assert "unit: attribute" in (place.out / "certificate.yaml").read_text()


def test_csv_out_and_another_target(place: Place) -> None:
    assert place.release("--format", "csv", "--target", "pressure") == 0
    assert pyarrow.csv.read_csv(place.out / "data.csv").num_rows == 300
    target = Schema.load(place.out / "schema.toml").target
    assert target is not None
    assert target.name == "pressure"


def test_a_task_without_target(place: Place) -> None:
    assert place.release("--task", "clustering") == 0
    assert Schema.load(place.out / "schema.toml").target is None


def test_the_seed_repeats_the_projection_but_never_the_noise(place: Place) -> None:
    released = []
    for i in range(2):
        place.out = place.folder / f"out{i}"
        assert place.release("--method", "ron-gauss", "--seed", "3", "--components", "2") == 0
        with np.load(place.out / "map.npz") as held:
            released.append((held["projection"], pq.read_table(place.out / "data.parquet")))
    assert np.array_equal(released[0][0], released[1][0])
    assert not released[0][1].equals(released[1][1])


# --- Bad input: one sentence, exit code 2, nothing written, nothing charged ---

Spoil = Callable[[Place], list[str]]


def schema_with(old: str, new: str) -> Spoil:
    def spoil(place: Place) -> list[str]:
        assert old in SCHEMA
        place.schema.write_text(SCHEMA.replace(old, new))
        return []

    return spoil


def column_of(name: str, values: Callable[[pa.Table], object]) -> Spoil:
    def spoil(place: Place) -> list[str]:
        table = ward()
        place.write(table.set_column(table.column_names.index(name), name, values(table)))
        return []

    return spoil


def options(*words: str) -> Spoil:
    return lambda place: list(words)


def with_file(content: bytes | None, name: str = "ward.parquet") -> Spoil:
    def spoil(place: Place) -> list[str]:
        place.data.unlink()
        place.data = place.folder / name
        if content is not None:
            place.data.write_bytes(content)
        return []

    return spoil


def one_row(place: Place) -> list[str]:
    place.write(ward().slice(0, 1))
    return []


def torn_parquet(place: Place) -> list[str]:
    whole = place.data.read_bytes()
    place.data.write_bytes(whole[: len(whole) // 2])
    return []


def out_exists(place: Place) -> list[str]:
    place.out.mkdir()
    return []


def torn_pages(place: Place) -> list[str]:
    """The footer, and so names and the number of rows, is whole; the cells are not."""
    content = bytearray(place.data.read_bytes())
    content[8:2000] = bytes(1992)
    place.data.write_bytes(bytes(content))
    return []


def out_under_a_file(place: Place) -> list[str]:
    place.out = place.schema / "out"
    return []


def out_in_a_missing_folder(place: Place) -> list[str]:
    place.out = place.folder / "nowhere" / "out"
    return []


def smoker_not_a_number(place: Place) -> list[str]:
    place.data.unlink()
    place.data = place.folder / "ward.csv"
    pyarrow.csv.write_csv(ward(), place.data)
    place.data.write_text(place.data.read_text().replace('p7",', 'p7",SECRET', 1))
    return []


def strictly(spoil: Spoil) -> Spoil:
    return lambda place: [*spoil(place), "--strict"]


REFUSALS: dict[str, tuple[Spoil, str]] = {
    "missing file": (with_file(None), "does not exist"),
    "empty file": (with_file(b""), "empty"),
    "empty CSV": (with_file(b"", "ward.csv"), "empty"),
    "header only": (with_file(b"patient,age,pressure,smoker,outcome\n", "ward.csv"), "0 rows"),
    "unknown format": (with_file(b"x", "ward.xyz"), "no known format"),
    "unknown column": (
        schema_with("[columns.pressure]", "[columns.presure]"),
        "lacks the column 'presure' that the schema declares; did you mean 'pressure'?",
    ),
    "missing bound": (schema_with("high = 220\n", ""), "'pressure' has no high"),
    "missing bounds of two columns": (
        lambda place: schema_with(SCHEMA, SCHEMA.replace("high = 220\n", "").replace("low = 0\n", ""))(place),
        "'age' has no low; declare it from public knowledge, or write estimate = true, which pays for a private "
        "estimate. (1 more gap of the schema: 'gnomon check' lists all)",
    ),
    "low above high": (schema_with("low = 60", "low = 600"), "'pressure' must be below"),
    "low equals high": (schema_with("low = 60", "low = 220"), "'pressure' must be below"),
    "schema does not parse": (schema_with("[columns.age]", "[columns.age"), "does not parse"),
    "schema missing": (options("--schema", "none.toml"), "'none.toml' does not exist"),
    "one class only in the schema": (schema_with('["home", "care"]', '["home"]'), "one class only"),
    "target not in the schema": (options("--target", "mood"), "no column 'mood'"),
    "target misspelt": (options("--target", "Outcom"), "no column 'Outcom'; did you mean 'outcome'?"),
    "target missing in the table": (schema_with("[columns.outcome]", "[columns.result]"), "'result'"),
    "task without target": (
        lambda place: [*schema_with('role = "target"\n', "")(place), "--task", "classification"],
        "no target",
    ),
    "too many components": (options("--components", "99"), "at most"),
    "zero components": (options("--components", "0"), "'n_components'"),
    "components in words": (options("--components", "many"), "--components"),
    "epsilon zero": (options("--epsilon", "0"), "'epsilon'"),
    "epsilon negative": (options("--epsilon=-1"), "'epsilon'"),
    "epsilon NaN": (options("--epsilon", "nan"), "'epsilon'"),
    "epsilon infinite": (options("--epsilon", "inf"), "--not-private"),
    "epsilon in words": (options("--epsilon", "much"), "--epsilon"),
    "delta negative": (options("--delta=-0.1"), "'delta'"),
    "delta one": (options("--delta", "1"), "'delta'"),
    "delta NaN": (options("--delta", "nan"), "'delta'"),
    "one row": (one_row, "1 row"),
    "out folder exists": (out_exists, "exists"),
    "out folder under a file": (out_under_a_file, "does not exist"),
    "out folder in a missing folder": (out_in_a_missing_folder, "does not exist"),
    "corrupted Parquet": (torn_parquet, "cannot be read"),
    "corrupted pages of a Parquet": (torn_pages, "cannot be read"),
    "not Parquet at all": (with_file(b"hello, world, this is text"), "cannot be read"),
    "unknown method": (options("--method", "magic"), "ron-gauss"),
    "unknown format of output": (options("--format", "xml"), "parquet or csv"),
    "unknown unit": (options("--unit", "person"), "row or attribute"),
    "unit that the method does not protect": (
        options("--method", "ron-gauss", "--unit", "attribute"),
        "attribute",
    ),
    "unknown calibration": (options("--calibration", "hopeful"), "'calibration'"),
    "unknown task": (options("--task", "guessing"), "'task'"),
    "rows zero": (options("--rows", "0"), "number of rows"),
    "rows of a row release": (
        options("--method", "jl-laplace", "--rows", "7"),
        "one row for each row of the table",
    ),
    "unknown option": (options("--espilon", "1"), "--espilon"),
}


MISFITS: dict[str, tuple[Spoil, str]] = {
    "text in a number column": (column_of("age", lambda t: pa.array(["SECRET"] * 300)), "'age'"),
    "text in a number column of a CSV": (smoker_not_a_number, "'age'"),
    "NaN": (
        column_of("pressure", lambda t: pa.array([math.nan, *t["pressure"].to_pylist()[1:]])),
        "'pressure' has missing cells",
    ),
    "null": (
        column_of("pressure", lambda t: pa.array([None, *t["pressure"].to_pylist()[1:]])),
        "'pressure' has missing cells",
    ),
    "a class that the schema lacks": (
        column_of("outcome", lambda t: pa.array(["SECRET", *t["outcome"].to_pylist()[1:]])),
        "'outcome' has cells with a class that the schema lacks",
    ),
}
REFUSALS.update({f"strict: {case}": (strictly(spoil), clue) for case, (spoil, clue) in MISFITS.items()})


@pytest.mark.parametrize("case", MISFITS)
def test_cells_that_do_not_fit_become_valid_ones(
    case: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.release(*MISFITS[case][0](place)) == 0
    out, err = capsys.readouterr()
    assert "SECRET" not in out + err
    assert place.charges() == 1


@pytest.mark.parametrize("case", REFUSALS)
def test_bad_input_is_one_sentence(case: str, place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    spoil, clue = REFUSALS[case]
    more = spoil(place)
    before = place.files()
    assert place.release(*more) == 2
    out, err = capsys.readouterr()
    assert err.startswith("gnomon: ")
    assert err.count("\n") == 1
    assert clue in err
    assert "SECRET" not in out + err
    assert "Traceback" not in err
    assert out == ""
    assert place.files() == before
    assert place.charges() == 0


def test_an_out_folder_that_is_not_writable(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write anywhere, so the refusal of the system is simulated."""

    def refused(*_: object, **__: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("gnomon.release.folder.tempfile.mkdtemp", refused)
    before = place.files()
    assert place.release() == 2
    assert "is not writable (Permission denied)" in capsys.readouterr().err
    assert place.files() == before
    assert place.charges() == 0


def test_check_lists_all_problems_and_counts_them_for_the_custodian_alone(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    table = ward()
    table = table.set_column(1, "age", pa.array([None, *table["age"].to_pylist()[1:]]))
    table = table.set_column(4, "outcome", pa.array(["SECRET", *table["outcome"].to_pylist()[1:]]))
    place.write(table)
    assert main(["check", str(place.data), "--schema", str(place.schema)]) == 2
    out, err = capsys.readouterr()
    assert "For your eyes only" in out
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
    assert lines["age"] == ["1", "-", "-", "-"]
    assert lines["outcome"] == ["-", "-", "1", "-"]
    assert "'age' has missing cells" in out
    assert "'outcome' has cells with a class that the schema lacks" in out
    assert "with --strict it would refuse" in out
    assert err.count("\n") == 1
    assert "SECRET" not in out + err


def test_infinities_and_cells_out_of_bounds_are_clipped_and_counted(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [math.inf, -math.inf, 1e300, *ward()["pressure"].to_pylist()[3:]]
    column_of("pressure", lambda t: pa.array(cells))(place)
    assert main(["check", str(place.data), "--schema", str(place.schema)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("pressure"))
    assert line.split() == ["pressure", "-", "3", "-", "-"]
    assert place.release() == 0


def test_the_plan_says_what_estimated_bounds_would_take(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    schema_with("low = 60\nhigh = 220\n", "estimate = true\n")(place)
    assert main(["plan", "--schema", str(place.schema), "--rows", "300", "--epsilon", "1"]) == 0
    said = capsys.readouterr().out
    assert "30% of the budget goes to what is estimated of: pressure. Bounds are found where about " in said
    assert "within a factor of 4; a number column without such a place is left out." in said
    assert place.release() == 0
    assert "estimated and paid for" in (place.out / "report.html").read_text()


def test_the_plan_names_the_tools_that_keep_more_of_a_narrow_table_of_categories(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(table: str) -> str:
        place.schema.write_text(table)
        assert main(["plan", "--schema", str(place.schema), "--rows", "300", "--epsilon", "1"]) == 0
        return " ".join(capsys.readouterr().out.split())

    head = '[table]\nname = "t"\n'
    categories = "".join(f'[columns.c{j}]\nkind = "category"\nvalues = ["a", "b", "c"]\n' for j in range(4))
    numbers = "".join(f'[columns.x{j}]\nkind = "number"\nlow = 0\nhigh = 1\n' for j in range(4))
    assert "marginal-based tool such as AIM may" in asked(head + categories)
    assert "marginal-based" not in asked(head + categories + numbers)


# --- Budget ---


def test_a_release_beyond_the_cap_is_refused_with_three(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["budget", "cap", "ward", "--epsilon", "1.5"]) == 0
    assert place.release() == 0
    place.out = place.folder / "second"
    before = place.files()
    capsys.readouterr()
    assert place.release() == 3
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    for number in ("requested epsilon 1", "remaining 0.5", "difference 0.5"):
        assert number in err
    assert place.files() == before
    assert place.charges() == 1
    assert place.release(epsilon="0.5") == 0


def test_a_copy_in_another_order_and_format_has_the_same_budget(place: Place) -> None:
    assert main(["budget", "cap", "ward", "--epsilon", "0.5"]) == 0
    place.data = place.folder / "copy.csv"
    pyarrow.csv.write_csv(ward().take(list(range(299, -1, -1))), place.data)
    assert place.release() == 3


def test_an_account_is_named_by_the_option_the_schema_or_the_table(place: Place) -> None:
    def spent() -> dict[str, float]:
        return {balance.account: balance.epsilon_spent for balance in Ledger(place.ledger).accounts()}

    assert place.release() == 0
    place.schema.write_text(SCHEMA.replace('name = "ward"', 'name = "ward"\naccount = "ward-2026"'))
    place.out = place.folder / "second"
    assert place.release() == 0
    place.out = place.folder / "third"
    assert place.release("--account", "study 7") == 0
    assert spent() == {"ward": 1.0, "ward-2026": 1.0, "study 7": 1.0}
    assert place.release("--account", " ") == 2


def test_one_table_on_two_accounts_and_two_tables_on_one_are_pointed_out_on_the_console_only(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert place.release() == 0
    assert "gnomon: note: This table" not in capsys.readouterr().err
    place.out = place.folder / "second"
    assert place.release("--account", "other") == 0
    assert "released from the account 'ward' before, and now from 'other'" in capsys.readouterr().err
    place.write(ward(200))
    place.out = place.folder / "third"
    assert place.release() == 0
    assert "'ward' was charged for other rows before" in capsys.readouterr().err
    prints = [entry.content for name in ("ward", "other") for entry in Ledger(place.ledger).history(name)]
    assert len(set(prints)) == 2
    for path in place.folder.rglob("*"):
        if path.is_file() and path != place.ledger:
            content = path.read_bytes()
            assert not any(part.encode() in content for one in prints for part in one.split(":"))


def test_a_ledger_locked_by_another_process(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["budget", "cap", "ward", "--epsilon", "5"]) == 0
    monkeypatch.setitem(Ledger.__init__.__kwdefaults__, "wait", 0.05)  # type: ignore[arg-type]
    other = sqlite3.connect(place.ledger, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    capsys.readouterr()
    try:
        assert place.release() == 2
    finally:
        other.close()
    err = capsys.readouterr().err
    assert "locked by another process" in err
    assert err.count("\n") == 1
    assert not place.out.exists()
    assert place.charges() == 0


def test_budget_show_cap_history(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = str(place.folder / "other.sqlite")
    assert main(["budget", "show", "ward", "--ledger", elsewhere]) == 0
    assert "no cap is set" in capsys.readouterr().out
    assert main(["budget", "history", "ward", "--ledger", elsewhere]) == 0
    assert "Nothing was spent" in capsys.readouterr().out
    assert main(["budget", "cap", "ward", "--epsilon", "2", "--delta", "1e-5", "--ledger", elsewhere]) == 0
    assert "epsilon 2 and delta 1e-05 left" in capsys.readouterr().out
    assert not place.ledger.exists()
    assert main(["budget", "cap", "ward", "--epsilon=-2"]) == 2
    assert "'epsilon'" in capsys.readouterr().err


def test_budget_export_and_import(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    there = ["--ledger", str(place.folder / "there.sqlite")]
    assert main(["budget", "export", "ward", "--out", "ward.json"]) == 2
    assert "no account 'ward'" in capsys.readouterr().err
    assert main(["budget", "cap", "ward", "--epsilon", "2"]) == 0
    assert place.release() == 0
    assert main(["budget", "export", "ward", "--out", "ward.json"]) == 0
    assert "2 entries of ward" in capsys.readouterr().out
    assert (place.folder / "ward.json").stat().st_mode & 0o077 == 0
    assert main(["budget", "import", "ward", "--from", "ward.json", *there]) == 0
    assert "Added 2 entries. Budget of ward: epsilon 1 and delta 1e-06 spent" in capsys.readouterr().out
    place.out = place.folder / "second"
    assert place.release(*there) == 0
    place.out = place.folder / "third"
    assert place.release(*there) == 3
    assert main(["budget", "export", "ward", "--out", "back.json", *there]) == 0
    assert main(["budget", "import", "ward", "--from", "back.json"]) == 0
    assert main(["budget", "show"]) == 0
    assert "epsilon 2 and delta 2e-06 spent in 2 releases" in capsys.readouterr().out
    for words, clue in (
        (["import", "other", "--from", "back.json"], "holds the account 'ward'"),
        (["import", "ward", "--from", "none.json"], "cannot be read"),
        (["import", "ward", "--from", "schema.toml"], "not an exported account"),
        (["export", "ward", "--out", "back.json"], "exists"),
    ):
        assert main(["budget", *words]) == 2
        err = capsys.readouterr().err
        assert clue in err
        assert err.count("\n") == 1


def test_an_account_is_no_file(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A cap on the name of a file would bind nothing."""
    assert main(["budget", "cap", "ward.parquet", "--epsilon", "2"]) == 2
    assert "is a file, and an account is a name" in capsys.readouterr().err
    assert not place.ledger.exists()


def test_a_cap_in_another_unit(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", "show"]) == 0
    assert "no account" in capsys.readouterr().out
    person = ["--unit", "person", "--rows-per-person", "3"]
    assert main(["budget", "cap", "clinic", "--epsilon", "2", *person]) == 0
    assert "persons with at most 3 rows, added or removed" in capsys.readouterr().out
    assert main(["budget", "cap", "ward", "--epsilon", "2", "--adjacency", "add-remove"]) == 0
    capsys.readouterr()
    assert place.release() == 3
    err = capsys.readouterr().err
    assert "it makes the number of rows public" in err
    assert err.count("\n") == 1
    assert main(["budget", "cap", "ward", "--epsilon", "2"]) == 2
    assert main(["budget", "cap", "ward", "--epsilon", "2", "--unit", "ward"]) == 2


def test_an_edited_ledger_is_a_sentence(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.release() == 0
    assert main(["budget", "history", "ward"]) == 0
    assert Ledger(place.ledger).history("ward")[-1].hash in capsys.readouterr().out
    connection = sqlite3.connect(place.ledger)
    connection.execute("DROP TRIGGER no_update_of_entries")
    connection.execute("UPDATE entries SET epsilon = 0.01")
    connection.commit()
    connection.close()
    place.out = place.folder / "second"
    for command in (place.release, lambda: main(["budget", "show", "ward"])):
        assert command() == 2
        err = capsys.readouterr().err
        assert "entry 1 of the account 'ward' is not what was written" in err
        assert err.count("\n") == 1
    assert not place.out.exists()


# --- When things go wrong halfway ---


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on file sizes")
def test_a_full_disk_leaves_no_folder_and_says_that_the_budget_is_spent(place: Place) -> None:
    """A real limit on the size of files, in a process of its own, in place of a disk that is full."""
    program = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)); "
        "from gnomon.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    place_of = ["--schema", str(place.schema), "--out", str(place.out), "--epsilon", "1", "--rows", "200000"]
    done = subprocess.run(
        [sys.executable, "-c", program, "release", str(place.data), *place_of],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "could not be written" in done.stderr
    assert "without another charge" in done.stderr
    left = {path.name for path in place.folder.iterdir()}
    assert left == {"ward.parquet", "schema.toml", "books", ".out.resume"}
    assert place.charges() == 1
    assert main(["release", str(place.data), *place_of]) == 0
    assert place.charges() == 1
    assert not (place.folder / ".out.resume").exists()


def test_not_private_is_shouted(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.release("--not-private", epsilon="inf") == 0
    out = capsys.readouterr().out
    assert "NOT PRIVATE" in out
    page = (place.out / "report.html").read_text()
    assert "not private" in page.lower()


def test_printed_noise_is_not_called_private_and_no_cap_covers_it(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["budget", "cap", "ward", "--epsilon", "10"]) == 0
    assert place.release("--method", "ron-gauss", "--calibration", "paper") == 3
    assert "requested epsilon inf" in capsys.readouterr().err
    place.ledger.unlink()
    assert place.release("--method", "ron-gauss", "--calibration", "paper") == 0
    assert "NOT PRIVATE as declared" in capsys.readouterr().out


def test_an_interrupt_is_quiet(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gnomon.table.check.check", interrupted)
    assert main(["check", str(place.data), "--schema", str(place.schema)]) == 130
    err = capsys.readouterr().err
    assert err.startswith("gnomon: interrupted")
    assert err.count("\n") == 1


def test_a_bug_shows_its_kind_but_not_its_text(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("cannot parse SECRET")

    monkeypatch.setattr("gnomon.table.check.check", broken)
    monkeypatch.delenv("GNOMON_DEBUG", raising=False)
    command = ["check", str(place.data), "--schema", str(place.schema)]
    assert main(command) == 70
    err = capsys.readouterr().err
    assert "ValueError" in err
    assert "GNOMON_DEBUG=1" in err
    assert "SECRET" not in err
    monkeypatch.setenv("GNOMON_DEBUG", "1")
    with pytest.raises(ValueError, match="SECRET"):
        main(command)


def test_names_cannot_steer_the_terminal(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    table = ward().append_column("\x1b[31mred\x07", pa.array([1] * 300))
    place.write(table)
    assert main(["check", str(place.data), "--schema", str(place.schema)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_init_writes_a_new_file_or_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(place.data), "--out", str(place.schema)]) == 2
    assert "exists" in capsys.readouterr().err
    assert place.schema.read_text() == SCHEMA
    assert main(["init", str(place.data), "--out", "none/schema.toml"]) == 2
    assert main(["init", str(place.data), "--out", str(place.schema / "x.toml")]) == 2
    assert main(["init", "nothing.csv"]) == 2


@pytest.mark.parametrize(
    ("words", "clue"),
    [
        (["--release", "none", "--out", "seen.csv"], "'none' does not exist"),
        (["--release", "out", "--out", "seen.txt"], ".parquet or .csv"),
        (["--release", "out", "--out", "ward.parquet"], ""),
    ],
)
def test_transform_refuses(
    words: list[str], clue: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    before = place.files()
    assert main(["transform", str(place.data), *words]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert clue in err
    assert place.files() == before


# --- Help, version, speed ---


def test_every_command_teaches_by_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    commands = [
        "init",
        "check",
        "plan",
        "release",
        "transform",
        "distances",
        "neighbours",
        "query",
        "marginal",
    ]
    for command in [[name] for name in commands] + [
        ["budget", name] for name in ("show", "cap", "history", "export", "import")
    ]:
        assert main([*command, "--help"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert f"Example: gnomon {' '.join(command)}" in said


@pytest.mark.parametrize("command", [["budget"], ["budget", "cap"], ["release"], ["plan"], ["audit"]])
def test_help_keeps_the_names_of_tables_in_a_schema(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Square brackets are markup to the terminal, which would leave the word out."""
    assert main([*command, "--help"]) == 0
    assert "[table]" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from gnomon import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Commands" in capsys.readouterr().out


@pytest.mark.parametrize("program", ["import gnomon", "from gnomon.cli import main; main(['--help'])"])
def test_nothing_heavy_is_imported_for_help(program: str) -> None:
    """In place of a stopwatch: what takes long to import is not imported."""
    heavy = "{'numpy', 'pyarrow', 'sklearn', 'scipy', 'opendp', 'pydantic', 'jinja2', 'mpmath'}"
    code = f"{program}; import sys; print('HEAVY', sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout


def test_the_entry_point_exits_with_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from gnomon.cli import entry

    monkeypatch.setattr(sys, "argv", ["gnomon", "check"])
    with pytest.raises(SystemExit) as stop:
        entry()
    assert stop.value.code == 2
