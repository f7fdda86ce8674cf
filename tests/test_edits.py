"""How many lines a custodian edits between `gnomon init` and a first release, on three real tables and a wide one.

The tables come from the folder that GNOMON_DATA names; without it, stand-ins with the same columns are made from the
schemas that the papers' experiments use, which are also the source of the codebooks.
"""

from __future__ import annotations

import csv
import difflib
import json
import os
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gnomon.cli import main
from gnomon.table.schema import Column, Schema

SCHEMAS = Path(__file__).parents[1] / "src/gnomon/reproduce/schemas"
MOST = 20
Edit = tuple[str, str]


def edits(before: str, after: str) -> int:
    """Lines that were changed, added or removed."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")


def declared(name: str) -> Schema:
    """The public knowledge about a table; "Never-worked" is in its published list and not in the complete rows."""
    text = (SCHEMAS / f"{name}.toml").read_text(encoding="utf-8")
    return Schema.loads(text.replace('"Without-pay",', '"Without-pay", "Never-worked",'))


def rows(name: str) -> pa.Table:
    """The real table, or a stand-in."""
    folder = os.environ.get("GNOMON_DATA")
    path = None if folder is None else Path(folder) / name / "data.parquet"
    if path is not None and path.is_file():
        return pq.read_table(path)
    rng = np.random.default_rng(7)
    columns = declared(name).columns  # the last is the target
    return pa.table({c.name: stand_in(c, 200, rng, 0.1 if c != columns[-1] else 0) for c in columns})


def stand_in(column: Column, n: int, rng: np.random.Generator, share: float) -> pa.Array:
    missing = rng.random(n) < share
    if column.kind == "category":
        return pa.array(rng.choice([str(value) for value in column.values], n), mask=missing)
    if column.kind == "boolean":
        return pa.array(rng.integers(0, 2, n).astype(np.float64), mask=missing)
    values = rng.uniform(float(column.low), float(column.high), n)  # type: ignore[arg-type]
    return pa.array(values.round() if column.integer else values, mask=missing)


def csv_codebook(schema: Schema, path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["variable", "type", "min", "max", "values", "description"])
        for column in schema.columns:
            kind = "integer" if column.integer else column.kind
            bounds = ["" if bound is None else str(bound) for bound in (column.low, column.high)]
            values = "|".join(map(str, column.values))
            writer.writerow([column.name, kind, *bounds, values, f"{column.name}, as asked"])
    return path


def frictionless(schema: Schema, path: Path) -> Path:
    fields = []
    for column in schema.columns:
        kind = {"number": "integer" if column.integer else "number", "category": "string"}.get(column.kind)
        rules = {"minimum": column.low, "maximum": column.high} if column.low is not None else {}
        more = {"enum": list(column.values)} if column.values else {}
        fields.append({"name": column.name, "type": kind or column.kind, "constraints": {**rules, **more}})
    path.write_text(json.dumps({"fields": fields}))
    return path


def cervical(folder: Path) -> tuple[Path, list[str], list[Edit]]:
    """With keys, dates and remarks added; kinds and bounds from a codebook in a spreadsheet."""
    table = rows("cervical_cancer_risk")
    n = table.num_rows
    table = table.append_column("patient id", pa.array([f"P{i:05d}" for i in range(n)]))
    table = table.append_column(
        "seen", pa.array([date(2012, 1, 1) + timedelta(days=i % 900) for i in range(n)])
    )
    table = table.append_column("remarks", pa.array(["came with her sister and left early"] * n))
    pq.write_table(table, folder / "cervical.parquet")
    book = csv_codebook(declared("cervical_cancer_risk"), folder / "book.csv")
    return (
        folder / "cervical.parquet",
        ["--codebook", str(book)],
        [
            ('# missing = "indicator"', 'missing = "indicator"'),
            ('[columns.Biopsy]\nkind = "category"', '[columns.Biopsy]\nkind = "category"\nrole = "target"'),
            (
                '[columns.seen]\nkind = "date"\n# low = \n# high = ',
                '[columns.seen]\nkind = "date"\nlow = 2010-01-01\nhigh = 2020-01-01 #',
            ),
        ],
    )


def adult(folder: Path) -> tuple[Path, list[str], list[Edit]]:
    """As a German office exports it: semicolons, cp1252; kinds and bounds from a Frictionless schema."""
    written = folder / "comma.csv"
    table = rows("adult")
    if "split" not in table.column_names:
        table = table.append_column("split", pa.array(["train"] * table.num_rows))
    pyarrow.csv.write_csv(table, written)
    with (
        written.open(encoding="utf-8", newline="") as source,
        (folder / "adult.csv").open("w", encoding="cp1252", newline="") as out,
    ):
        csv.writer(out, delimiter=";").writerows(csv.reader(source))
    book = frictionless(declared("adult"), folder / "schema.json")
    return (
        folder / "adult.csv",
        ["--codebook", str(book)],
        [
            ('# missing = "indicator"', 'missing = "indicator"'),
            ('[columns.income]\nkind = "category"', '[columns.income]\nkind = "category"\nrole = "target"'),
            ('[columns.split]\nkind = "category"', '[columns.split]\nkind = "ignored"'),
        ],
    )


def hcc(folder: Path) -> tuple[Path, list[str], list[Edit]]:
    """A workbook with a tenth of its cells empty; kinds and bounds from a codebook in a spreadsheet."""
    table = rows("hcc_survival")
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(table.column_names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        sheet.append([None if cell != cell else cell for cell in row])
    book.save(folder / "hcc.xlsx")
    described = csv_codebook(declared("hcc_survival"), folder / "book.csv")
    return (
        folder / "hcc.xlsx",
        ["--codebook", str(described)],
        [
            ('# missing = "indicator"', 'missing = "indicator"'),
            (
                '[columns.survived]\nkind = "category"',
                '[columns.survived]\nkind = "category"\nrole = "target"',
            ),
        ],
    )


def wide(folder: Path) -> tuple[Path, list[str], list[Edit]]:
    """Sixty columns of a laboratory without a codebook: patterns and hints alone."""
    rng = np.random.default_rng(3)
    columns: dict[str, object] = {"patient_id": np.arange(200), "age": rng.integers(18, 90, 200)}
    columns |= {f"lab_{i}": rng.gamma(2.0, 5.0, 200) for i in range(40)}
    columns |= {f"score{i}": rng.integers(0, 11, 200) for i in range(18)}
    columns["smoker"] = rng.choice(["ja", "nein"], 200)
    pyarrow.csv.write_csv(pa.table(columns), folder / "lab.csv")
    open_number = "# low = \n# high =   # or estimate = true, which pays for a private estimate"
    return (
        folder / "lab.csv",
        [],
        [
            ("# low = 0  # an age in years\n# high = 120", "low = 0  # an age in years\nhigh = 120"),
            (
                f'[columns."lab_*"]\n# 40 columns\nkind = "number"\n{open_number}',
                '[columns."lab_*"]\nkind = "number"\nlow = 0\nhigh = 200',
            ),
            (
                f'[columns."score*"]\n# 18 columns\nkind = "number"\ninteger = true\n{open_number}',
                '[columns."score*"]\nkind = "number"\ninteger = true\nlow = 0\nhigh = 10',
            ),
        ],
    )


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
@pytest.mark.parametrize("table", [cervical, adult, hcc, wide])
def test_few_edits_lead_from_a_draft_to_a_release(
    table: Callable[[Path], tuple[Path, list[str], list[Edit]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    data, options, changes = table(tmp_path)
    schema = tmp_path / "draft.toml"
    assert main(["init", str(data), "--out", str(schema), *options]) == 0
    before = after = schema.read_text(encoding="utf-8")
    for old, new in changes:
        assert after.count(old) == 1, old
        after = after.replace(old, new)
    assert edits(before, after) <= MOST
    print(f"{data.name}: {edits(before, after)} edits")
    schema.write_text(after, encoding="utf-8")
    assert main(["check", str(data), "--schema", str(schema)]) == 0, capsys.readouterr()
    out = [
        "--method",
        "ron-gauss",
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
        "--even-if-useless",
        "--out",
        str(tmp_path / "release"),
    ]
    assert main(["release", str(data), "--schema", str(schema), *out]) == 0, capsys.readouterr()
    released = Schema.load(tmp_path / "release" / "schema.toml")
    assert not {"patient id", "patient_id", "remarks", "split"} & {
        column.name for column in released.released
    }
