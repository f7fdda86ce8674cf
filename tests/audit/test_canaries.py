"""No value of the private rows leaves by another door than the release: canaries through every command."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from gnomon.cli import app, main

TEXT = "canary-7f3a9"
NUMBER = 0.9876543210123456
FAR = 31415926.53589793  # out of its bounds
WHOLE = 987654321012345678
DAY = "1987-06-05"

SCHEMA = f"""\
[table]
name = "ward"
[columns.patient]
kind = "identifier"
[columns.share]
kind = "number"
low = 0
high = 1
[columns.far]
kind = "number"
low = 0
high = 1
[columns.whole]
kind = "number"
low = 0
high = {2**62}
integer = true
[columns.day]
kind = "date"
low = 1900-01-01
high = 2100-01-01
[columns.ward]
kind = "category"
values = ["north", "south"]
[columns.outcome]
kind = "category"
values = ["a", "b"]
role = "target"
"""
ESTIMATED = SCHEMA.replace("low = 0\nhigh = 1\n", "estimate = true\n", 2)

# how a canary may look: as text, as a Python number, and as the bytes of a file
SIGNS = [
    TEXT.encode(),
    str(NUMBER)[2:12].encode(),
    str(FAR)[:8].encode(),
    b"3.14159265358",
    str(WHOLE).encode(),
    DAY.encode(),
    np.float64(NUMBER).tobytes(),
    np.float64(FAR).tobytes(),
    np.int64(WHOLE).tobytes(),
]


def table(n: int = 40, **instead: object) -> dict[str, list[object]]:
    cells: dict[str, list[object]] = {
        "patient": [TEXT] * n,
        "share": [NUMBER if i % 3 else 0.5 for i in range(n)],
        "far": [FAR if i == 7 else 0.25 for i in range(n)],
        "whole": [WHOLE if i % 2 else 5 for i in range(n)],
        "day": [DAY if i % 2 else "2001-01-01" for i in range(n)],
        "ward": ["north" if i % 2 else "south" for i in range(n)],
        "outcome": ["a" if i % 4 else "b" for i in range(n)],
        "undeclared": [TEXT] * n,
    }
    for name, cell in instead.items():
        cells[name][n // 2] = cell
    return cells


WRITERS = {
    "csv": lambda data, path: pa.csv.write_csv(data, path),
    "csv.gz": lambda data, path: path.write_bytes(gzip.compress(_csv(data))),
    "parquet": lambda data, path: pq.write_table(data, path),
    "feather": lambda data, path: pa.feather.write_feather(data, str(path), compression="uncompressed"),
}


def _csv(data: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(data, sink)
    return sink.getvalue().to_pybytes()


class House:
    """A folder with private tables, and everything else that commands may have written to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.private = folder, folder / "private"
        self.private.mkdir()
        for name in ("temporary", "home", "out"):
            (folder / name).mkdir()
        (folder / "schema.toml").write_text(SCHEMA)
        (folder / "estimated.toml").write_text(ESTIMATED)

    def data(self, form: str = "parquet", **instead: object) -> Path:
        path = self.private / f"{TEXT[:0]}table.{form}"
        WRITERS[form](
            pa.table({k: [str(c) for c in v] if instead else v for k, v in table(**instead).items()}), path
        )
        return path

    def leaks(self, printed: str) -> list[str]:
        found = [f"printed {sign!r}" for sign in SIGNS if sign in printed.encode()]
        for path in self.folder.rglob("*"):
            if path.is_file() and self.private not in path.parents:
                held = path.read_bytes()
                found += [f"{path.relative_to(self.folder)} holds {sign!r}" for sign in SIGNS if sign in held]
        return found


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    made = House(tmp_path)
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GNOMON_DEBUG", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    return made


def everything(data: Path, schema: str = "schema.toml", method: str = "ron-gauss") -> dict[str, list[str]]:
    """One call of every command that reads a table or a release."""
    spend = ["--epsilon", "1", "--delta", "1e-6", "--method", method]
    return {
        "init": ["init", str(data), "--out", "draft.toml"],
        "check": ["check", str(data), "--schema", schema],
        "release": [
            "release",
            str(data),
            "--schema",
            schema,
            *spend,
            "--even-if-useless",
            "--out",
            "out/release",
        ],
        "release as csv": [
            "release",
            str(data),
            "--schema",
            schema,
            *spend,
            "--format",
            "csv",
            "--out",
            "out/csv",
        ],
        "budget cap": ["budget", "cap", "ward", "--epsilon", "2", "--delta", "1e-5"],
        "release beyond the cap": [
            "release",
            str(data),
            "--schema",
            schema,
            *spend,
            "--even-if-useless",
            "--out",
            "out/third",
        ],
        "budget show": ["budget", "show", "ward"],
        "budget history": ["budget", "history", "ward"],
        "verify": ["verify", "out/release"],
        "export": ["export", "out/release", "--registry", "out/entry.yaml"],
        "transform": ["transform", str(data), "--release", "out/release", "--out", "private/seen.parquet"],
        "transform without a release": [
            "transform",
            str(data),
            "--release",
            "out/none",
            "--out",
            "private/x.csv",
        ],
    }


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_every_command_keeps_the_canaries_inside(
    house: House, capfd: pytest.CaptureFixture[str], form: str
) -> None:
    codes = {name: main(arguments) for name, arguments in everything(house.data(form)).items()}
    printed = "".join(capfd.readouterr())
    assert {codes[name] for name in ("release", "check", "transform", "verify", "export")} == {0}, printed
    assert codes["release beyond the cap"] == 3
    assert house.leaks(printed) == []


@pytest.mark.parametrize("method", ["pca-gauss", "jl-laplace", "dppro", "dprp", "modips", "pca-identity"])
def test_every_method_keeps_the_canaries_inside(
    house: House, capfd: pytest.CaptureFixture[str], method: str
) -> None:
    arguments = everything(house.data(), method=method)["release"]
    assert main(arguments) == 0
    assert house.leaks("".join(capfd.readouterr())) == []


def test_paid_bounds_keep_the_canaries_inside(house: House, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(everything(house.data(), schema="estimated.toml")["release"]) == 0
    assert house.leaks("".join(capfd.readouterr())) == []


BAD_CELLS = {
    "text in a number column": {"share": TEXT},
    "text in an estimated column": {"far": TEXT},
    "text among whole numbers": {"whole": TEXT},
    "text in a date column": {"day": TEXT},
    "an undeclared category": {"ward": TEXT},
    "an undeclared class": {"outcome": TEXT},
    "a missing cell": {"share": ""},
    "control characters": {"ward": f"{TEXT}\x1b[31m\x07"},
}


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("schema", ["schema.toml", "estimated.toml"])
@pytest.mark.parametrize("why", sorted(BAD_CELLS))
def test_refusals_quote_no_cell(
    house: House, capfd: pytest.CaptureFixture[str], form: str, schema: str, why: str
) -> None:
    data = house.data(form, **BAD_CELLS[why])
    commands = everything(data, schema)
    strict = [*commands["release as csv"], "--strict"]
    codes = [
        main(arguments) for arguments in (commands["init"], commands["check"], strict, commands["release"])
    ]
    printed = "".join(capfd.readouterr())
    assert codes[1:] == [2, 2, 0], (
        printed
    )  # any cell becomes a valid one, unless the custodian asks for a refusal
    assert house.leaks(printed) == []
    assert not (house.folder / "out" / "csv").exists()


def _broken(house: House, how: str) -> Path:
    path = house.data("csv" if how.startswith("csv") else "parquet")
    held = path.read_bytes()
    if how == "csv with a line that is too long":
        path.write_bytes(held + f'"{TEXT}",1,2,3,4,5,6,7,8,9,10\n'.encode())
    elif how == "csv that is not UTF-8":
        path.write_bytes(held.replace(b"north", b"\xff\xfe\xfa", 1))
    elif how == "parquet cut short":
        path.write_bytes(held[: len(held) // 2])
    elif how == "parquet with a torn page":
        middle = len(held) // 3
        path.write_bytes(held[:middle] + bytes(64) + held[middle + 64 :])
    return path


@pytest.mark.parametrize(
    "how",
    [
        "csv with a line that is too long",
        "csv that is not UTF-8",
        "parquet cut short",
        "parquet with a torn page",
    ],
)
def test_damaged_tables_quote_no_cell(house: House, capfd: pytest.CaptureFixture[str], how: str) -> None:
    data = _broken(house, how)
    for arguments in everything(data).values():
        main(arguments)
    assert house.leaks("".join(capfd.readouterr())) == []


def test_a_bug_quotes_no_cell(house: House, capfd: pytest.CaptureFixture[str], monkeypatch) -> None:
    def bug(*_: object, **__: object) -> None:
        raise ValueError(f"{TEXT} {NUMBER}")

    monkeypatch.setattr("gnomon.methods.gaussian_model.mixture_of", bug)
    assert main(everything(house.data())["release"]) == 70
    assert house.leaks("".join(capfd.readouterr())) == []


def test_a_leak_would_be_seen(house: House) -> None:
    (house.folder / "home" / "cache").write_bytes(b"..." + np.float64(FAR).tobytes())
    assert len(house.leaks(f"could not parse {TEXT!r}")) == 2


def _evaluate(data: Path, out: str, *more: str) -> list[str]:
    where = ["--release", "out/release", "--real", str(data), "--test", str(data), "--out", out]
    return ["evaluate", *where, "--trials", "1", "--rows", "40", *more]


@pytest.mark.parametrize("method", ["ron-gauss", "jl-laplace"])
def test_evaluate_tells_the_canaries_to_nobody_but_its_folder(
    house: House, capfd: pytest.CaptureFixture[str], method: str
) -> None:
    """Its folder compares with the real rows and is private by definition; what it prints is not."""
    data = house.data()
    assert main(everything(data, method=method)["release"]) == 0
    (house.folder / "script.py").write_text(
        "def analyse(table):\n    return {'rows': table.num_rows if hasattr(table, 'num_rows') else len(table)}\n"
    )
    assert main(_evaluate(data, "private/worth", "--script", "script.py")) == 0
    printed = "".join(capfd.readouterr())
    assert {path.name for path in (house.private / "worth").iterdir()} >= {"metrics.json", "evaluation.html"}
    assert house.leaks(printed) == []


@pytest.mark.parametrize("why", sorted(BAD_CELLS))
def test_evaluate_refuses_without_quoting_a_cell(
    house: House, capfd: pytest.CaptureFixture[str], why: str
) -> None:
    assert main(everything(house.data())["release"]) == 0
    main(_evaluate(house.data("csv", **BAD_CELLS[why]), "private/worth"))
    assert house.leaks("".join(capfd.readouterr())) == []
    assert list(house.private.glob(".worth*")) == []


def test_a_script_that_quotes_a_cell_is_not_repeated(house: House, capfd: pytest.CaptureFixture[str]) -> None:
    data = house.data()
    assert main(everything(data)["release"]) == 0
    (house.folder / "script.py").write_text("def analyse(table):\n    raise ValueError(str(table))\n")
    assert main(_evaluate(data, "private/worth", "--script", "script.py")) == 2
    assert house.leaks("".join(capfd.readouterr())) == []


def test_commands_that_read_no_table_know_no_canary(house: House, capfd: pytest.CaptureFixture[str]) -> None:
    house.data()
    spend = ["--epsilon", "1", "--delta", "1e-6"]
    assert main(["plan", "--schema", "schema.toml", "--rows", "40", *spend]) == 0
    assert main(["plan", "--schema", "private/table.parquet", "--rows", "40", *spend]) == 2
    assert main(["audit", "--method", "ron-gauss", *spend, "--components", "2", "--runs", "40"]) in (0, 1)
    assert main(["audit", "--method", TEXT[:3], *spend, "--runs", "40"]) == 2
    assert house.leaks("".join(capfd.readouterr())) == []


@pytest.mark.parametrize("name", ["ron-gauss-table3", "ron-gauss-table4", "pca-gauss-table2"])
def test_reproduce_quotes_no_cell(house: House, capfd: pytest.CaptureFixture[str], name: str) -> None:
    """Its tables are public; a custodian may still name the wrong folder."""
    from gnomon.reproduce import experiments

    for file in experiments()[name].files:
        path = house.private / file
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(table()), path)
    main(["reproduce", name, "--data", str(house.private), "--out", "out/again", "--trials", "1"])
    assert house.leaks("".join(capfd.readouterr())) == []


def test_no_command_is_left_out() -> None:
    known = {"init", "check", "plan", "release", "transform", "audit", "evaluate", "reproduce"} | {
        "verify",
        "export",
        "serve",  # tests/app has its own canaries
        *("sample", "distances", "neighbours", "query", "marginal"),  # which read a release alone
    }
    assert {command.name for command in app.registered_commands} == known
    assert {group.name for group in app.registered_groups} == {"budget"}


def test_temporary_files_are_gone(house: House) -> None:
    main(everything(house.data(), method="jl-laplace")["release"])
    assert os.listdir(house.folder / "temporary") == []
    assert [name for name in os.listdir(house.folder / "out") if name != "release"] == []
