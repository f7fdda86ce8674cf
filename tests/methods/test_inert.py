"""Names and categories are text and nothing else: in spreadsheets, terminals, browsers and parsers."""

from __future__ import annotations

import csv
import re
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import gnomon as gn
from gnomon.cli import main
from gnomon.errors import OutputError
from gnomon.privacy.certificate import Certificate
from gnomon.privacy.ledger import Ledger
from gnomon.publish import publish
from gnomon.release.folder import open_release, write_release
from gnomon.table.check import check
from gnomon.table.source import open_source
from gnomon.table.spreadsheet import is_formula

pytestmark = pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")

FORMULAS = [
    "=cmd()",
    "=cmd|' /C calc'!A0",
    "+1+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    '=HYPERLINK("http://x", "y")',
    " =1+1",
    "\t=1+1",
    "\r=1+1",
    "\n@SUM(A1)",
    "＝1+1",
    "\ufeff=1",
    "'=1",
    "--",
    "-A1",
]
STEERING = ["\x1b[2J\x1b[31m", "\x07", "\x00", "\x9b31m", "a\x08b", "a\nb"]
HARMLESS = [
    "+",
    "-",
    "=",
    "@",
    "-1",
    "+4.5e3",
    "A+",
    "a=b",
    "x@y",
    "'",
    "don't",
    'say "a, b"',
    "é",
    "NA",
    "",
    " a ",
]
TURNED = "gnp.\u202egpj\u2066\u200f"


def schema_of(name: str, values: list[str]) -> gn.Schema:
    number = gn.Column(name="n", kind="number", low=0, high=1)
    return gn.Schema(
        name="t", columns=(number, gn.Column(name=name, kind="category", values=tuple(values), role="target"))
    )


def table_of(name: str, values: list[str]) -> pa.Table:
    return pa.table({"n": [0.25, 0.5, 0.75] * len(values), name: values * 3})


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_told(text: str) -> None:
    assert is_formula(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_not_taken_for_one(text: str) -> None:
    assert not is_formula(text)


@pytest.mark.parametrize("text", FORMULAS + STEERING)
@pytest.mark.parametrize("place", ["name", "category"])
def test_a_csv_with_text_that_acts_is_refused_before_the_charge(
    tmp_path: Path, text: str, place: str
) -> None:
    name, values = (text, ["a", "b"]) if place == "name" else ("y", ["a", text])
    book = Ledger(tmp_path / "ledger.sqlite")
    method = gn.RonGauss(1.0, schema=schema_of(name, values))
    with pytest.raises(OutputError, match=r"write parquet, or rename"):
        publish(table_of(name, values), method, tmp_path / "out", ledger=book, format="csv")
    assert book.accounts() == []
    assert not (tmp_path / "out").exists()


def test_parquet_keeps_such_text_as_it_is(tmp_path: Path) -> None:
    values = [*FORMULAS, *STEERING, *HARMLESS]
    write_release(
        gn.RonGauss(1.0, schema=schema_of("=y()", values)).fit(table_of("=y()", values)), tmp_path / "out"
    )
    seen = pq.read_table(tmp_path / "out" / "data.parquet")
    assert set(seen["=y()"].to_pylist()) <= set(values)
    assert open_release(tmp_path / "out").schema == schema_of("=y()", values)


def test_the_library_refuses_too(tmp_path: Path) -> None:
    values = ["a", "=b()"]
    method = gn.RonGauss(1.0, schema=schema_of("y", values)).fit(table_of("y", values))
    with pytest.raises(OutputError, match="run as a formula"):
        write_release(method, tmp_path / "out", format="csv")


def test_a_hostile_release_writes_no_formula_into_an_analysts_csv(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The names of the columns that `transform` writes come from the release."""
    values = ["a", "b"]
    write_release(
        gn.RonGauss(1.0, schema=schema_of("=y()", values)).fit(table_of("=y()", values)), tmp_path / "out"
    )
    pq.write_table(table_of("=y()", values), tmp_path / "own.parquet")
    arguments = ["transform", str(tmp_path / "own.parquet"), "--release", str(tmp_path / "out"), "--out"]
    assert main([*arguments, str(tmp_path / "seen.csv")]) == 2
    assert "run as a formula" in capfd.readouterr().err
    assert not (tmp_path / "seen.csv").exists()
    assert main([*arguments, str(tmp_path / "seen.parquet")]) == 0


@pytest.mark.parametrize("name", ["y", 'say "a, b"', "é", "a=b", "'y", TURNED])
def test_a_csv_release_reads_back_as_the_same_table(tmp_path: Path, name: str) -> None:
    values = [*HARMLESS, TURNED]
    method = gn.RonGauss(1.0, schema=schema_of(name, values), random_state=0).fit(table_of(name, values))
    write_release(method, tmp_path / "out", rows=400, format="csv")
    wanted = method.sample(400)[name].to_pylist()
    path = tmp_path / "out" / "data.csv"
    source = open_source(path, schema=method.schema_)
    assert check(source, method.schema_).ok
    assert [cell for batch in source.batches([name]) for cell in batch.column(0).to_pylist()] == wanted
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row[name] for row in rows] == wanted


def _raw(text: str) -> list[str]:
    """Characters that act on whoever shows the text."""
    return [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n"]


@pytest.mark.parametrize(
    "text", [*STEERING, TURNED, "<script>alert(1)</script>", "{{ 7 * 7 }}", "!!python/x"]
)
def test_the_other_files_show_every_character_and_obey_none(tmp_path: Path, text: str) -> None:
    schema = gn.Schema(
        name=text,
        columns=(
            gn.Column(name="n", kind="number", low=0, high=1, unit=text),
            gn.Column(name=text, kind="category", values=("a", text), role="target"),
        ),
    )
    method = gn.RonGauss(1.0, schema=schema).fit(pa.table({"n": [0.25, 0.5], text: ["a", text]}))
    write_release(method, tmp_path / "out")
    for name in ("certificate.yaml", "schema.toml", "report.html"):
        held = (tmp_path / "out" / name).read_text(encoding="utf-8")
        assert _raw(held) == [], name
    held = (tmp_path / "out" / "certificate.yaml").read_text(encoding="utf-8")
    assert Certificate.from_yaml(held).table == yaml.safe_load(held)["table"] == text
    assert open_release(tmp_path / "out").schema == schema
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|javascript:|\son\w+=", page, re.IGNORECASE)
    assert "{{ 7 * 7 }}" in page or "{{" not in text


@pytest.mark.parametrize("text", [*STEERING, TURNED])
def test_a_terminal_shows_every_character_and_obeys_none(
    tmp_path: Path, text: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    pq.write_table(table_of(text, ["a", "b"]), tmp_path / "t.parquet")
    schema_of(text, ["a", "b"]).save(tmp_path / "s.toml")
    gn.Schema(
        name=text, columns=(*schema_of(text, ["a", "c"]).columns, gn.Column(name=text + "x", kind="boolean"))
    ).save(tmp_path / "other.toml")  # fmt: skip
    data, where = str(tmp_path / "t.parquet"), str(tmp_path)
    for arguments in (
        ["init", data, "--out", f"{where}/draft.toml"],
        ["check", data, "--schema", f"{where}/s.toml"],
        ["check", data, "--schema", f"{where}/other.toml"],
        ["plan", "--schema", f"{where}/s.toml", "--rows", "50", "--epsilon", "1"],
        ["release", data, "--schema", f"{where}/s.toml", "--epsilon", "1", "--out", f"{where}/out"],
        ["release", data, "--schema", f"{where}/s.toml", "--epsilon", "1", "--out", f"{where}/x", "--format", "csv"],
        ["release", data, "--schema", f"{where}/other.toml", "--epsilon", "1", "--out", f"{where}/o2"],
        ["transform", data, "--release", f"{where}/out", "--out", f"{where}/seen.parquet"],
        ["budget", "history", data],
    ):  # fmt: skip
        main(arguments)
    printed = capfd.readouterr()
    assert _raw(printed.out + printed.err) == []
    assert _raw((tmp_path / "draft.toml").read_text()) == []
