"""Files as people have them: the same rows whatever the delimiter, encoding, decimal sign, words and compression."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from gnomon.errors import DataError
from gnomon.table.check import check
from gnomon.table.encode import Encoder
from gnomon.table.fingerprint import content_print
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

COLUMNS = """
[columns."größe"]
kind = "number"
low = 0
high = 5000
missing = "indicator"
missing_values = [-9]
[columns.smoker]
kind = "boolean"
missing = "indicator"
[columns.born]
kind = "date"
low = 1900-01-01
high = 2030-01-01
[columns.ward]
kind = "category"
values = ["Köln", "Bonn; am Rhein"]
[columns.key]
kind = "identifier"
"""
ROWS: list[tuple[float | None, bool | None, date, str]] = [
    (1234.5, True, date(1961, 5, 7), "Köln"),
    (0.25, False, date(1999, 12, 31), "Bonn; am Rhein"),
    (None, None, date(1970, 2, 3), "Köln"),
    (3.0, False, date(2004, 2, 29), "Köln"),
]
TRUTH = pa.table(
    {
        "größe": [row[0] for row in ROWS],
        "smoker": [row[1] for row in ROWS],
        "born": [row[2] for row in ROWS],
        "ward": [row[3] for row in ROWS],
    }
)


def text(
    delimiter: str = ",",
    decimal: str = ".",
    written: str = "%Y-%m-%d",
    words: str = "true false",
    mark: str = "",
) -> str:
    yes, no = words.split()

    def number(value: float | None) -> str:
        if value is None:
            return "-9"
        shown = f"{value:,}" if mark else str(value)
        return shown.replace(",", "T").replace(".", decimal).replace("T", mark)

    lines = [["größe", "smoker", "born", "ward", "key"]]
    for value, flag, born, ward in ROWS:
        word = "" if flag is None else yes if flag else no
        lines.append([number(value), word, born.strftime(written), f'"{ward}"', "k"])
    return "\n".join(delimiter.join(line) for line in lines) + "\n"


Case = tuple[str, bytes, str]
FORMS: dict[str, Case] = {
    "comma": ("t.csv", text().encode(), ""),
    "semicolon, cp1252, decimal comma, German dates and words": (
        "t.csv",
        text(";", ",", "%d.%m.%Y", "ja nein").encode("cp1252"),
        'delimiter = ";"\nencoding = "cp1252"\ndecimal = ","\ndate_format = "%d.%m.%Y"',
    ),
    "thousands": (
        "t.csv",
        text(";", ",", mark=".").encode(),
        'delimiter = ";"\ndecimal = ","\nthousands = "."',
    ),
    "tsv": ("t.tsv", text("\t", words="Y N").encode(), ""),
    "tab said": ("t.txt", text("\t", words="J N").encode(), 'delimiter = "\\t"'),
    "pipe": ("t.txt", text("|", words="yes no").encode(), 'delimiter = "|"'),
    "utf-8 with a mark": ("t.csv", text().encode("utf-8-sig"), ""),
    "utf-16": ("t.csv", text().encode("utf-16"), 'encoding = "utf-16"'),
    "latin-1": ("t.csv", text(words="YES NO").encode("latin-1"), 'encoding = "latin-1"'),
    "American dates": ("t.csv", text(written="%m/%d/%Y").encode(), 'date_format = "%m/%d/%Y"'),
    "gzip": ("t.csv.gz", gzip.compress(text(words="1 0").encode()), ""),
    "zstd": ("t.tsv.zst", pa.Codec("zstd").compress(text("\t").encode(), asbytes=True), ""),
}


def expected() -> np.ndarray:
    return Encoder(Schema.loads(COLUMNS)).encode(TRUTH).X


def encoded(path: Path, schema: Schema) -> np.ndarray:
    source = open_source(path, schema=schema)
    assert check(source, schema).ok
    encoder = Encoder(schema)
    return np.vstack([encoder.encode(batch).X for batch in source.batches(encoder.columns, 3)])


@pytest.mark.parametrize("form", FORMS)
def test_text_files_of_any_form_give_the_same_rows(tmp_path: Path, form: str) -> None:
    name, content, said = FORMS[form]
    (tmp_path / name).write_bytes(content)
    schema = Schema.loads((f"[table.csv]\n{said}\n" if said else "") + COLUMNS)
    assert np.array_equal(encoded(tmp_path / name, schema), expected())


def workbook(path: Path, *more: str) -> Path:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Data"
    sheet.append(["größe", "smoker", "born", "ward", "key"])
    for value, flag, born, ward in ROWS:
        sheet.append([value, flag, born, ward, 7])
    for title in more:
        book.create_sheet(title)
    book.save(path)
    return path


def json_lines(path: Path) -> Path:
    names = TRUTH.column_names
    lines = [json.dumps(dict(zip(names, row, strict=True)), default=str) for row in ROWS]
    content = ("\n".join(lines) + "\n\n").encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("write", [lambda f: workbook(f / "t.xlsx"), lambda f: json_lines(f / "t.jsonl")])
def test_workbooks_and_json_lines_give_the_same_rows(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    assert np.array_equal(encoded(write(tmp_path), Schema.loads(COLUMNS)), expected())


def test_packed_json_lines_may_lack_keys(tmp_path: Path) -> None:
    source = open_source(json_lines(tmp_path / "t.ndjson.gz"))
    assert source.names == TRUTH.column_names
    assert source.n_rows() == len(ROWS)
    path = tmp_path / "gaps.jsonl"
    path.write_text('{"a": 1}\n{"b": [1, 2], "a": 1152921504606846977}\n')
    table = pa.Table.from_batches(list(open_source(path).batches(["a", "b"])))
    assert table.to_pydict() == {"a": ["1", "1152921504606846977"], "b": [None, "[1, 2]"]}


def test_a_workbook_of_several_sheets_needs_the_name_of_one(tmp_path: Path) -> None:
    path = workbook(tmp_path / "t.xlsx", "Legend")
    with pytest.raises(DataError, match="has the sheets 'Data', 'Legend'; say which, as in sheet = \"Data\""):
        open_source(path, schema=Schema.loads(COLUMNS))
    named = Schema.loads('[table.excel]\nsheet = "Data"\n' + COLUMNS)
    assert np.array_equal(encoded(path, named), expected())
    with pytest.raises(DataError, match="has no sheet 'Other'; its sheets are 'Data', 'Legend'"):
        open_source(path, schema=Schema.loads('[table.excel]\nsheet = "Other"\n' + COLUMNS))


@pytest.mark.parametrize(
    ("name", "content", "said", "sentence"),
    [
        (
            "t.csv",
            text(";").encode(),
            "",
            r"one column by the delimiter ',', but its header has semicolons; write delimiter = \";\" under",
        ),
        ("t.csv", text("\t").encode(), "", r"header has tabs; write delimiter = \"\\t\""),
        ("t.csv", text().encode(), 'delimiter = ";"', "but its header has commas"),
        ("t.csv", text().encode("cp1252"), "", 'not UTF-8 text; write its encoding .* encoding = "cp1252"'),
        ("t.csv", text().encode("utf-16"), "", 'not UTF-8 text; write its encoding .* encoding = "utf-16"'),
        ("t.csv", text().encode(), 'encoding = "ascii"', "not ascii text; write its encoding"),
        ("t.xlsx", b"PK\3\4 nothing of it", "", "cannot be read as a workbook; save it as .xlsx again"),
        ("t.xlsx", text().encode(), "", "it is not a workbook .*, as its name says; text ends in .csv"),
        ("t.parquet", text().encode(), "", "it is not Parquet, as its name says; text ends in .csv"),
        ("t.csv.gz", text().encode(), "", "it is not compressed by gzip, as its name says"),
        ("t.csv", gzip.compress(text().encode()), "", "is compressed by gzip, .* as in .csv.gz"),
        ("t.csv", b"\x28\xb5\x2f\xfd secret", "", "is compressed by zstd, .* as in .csv.zst"),
        ("t.csv", b"PK\3\4 secret", "", "is a workbook or a ZIP archive, whatever its name says; .* .xlsx"),
        ("t.csv", b"PAR1 secret", "", "is Parquet, whatever its name says; let its name end in .parquet"),
        (
            "t.xlsx",
            b"\xd0\xcf\x11\xe0 secret",
            "",
            "is an old Excel workbook, .* save it as .xlsx or as .csv",
        ),
        ("t.csv", b"SQLite format 3\0 secret", "", "is an SQLite database, .* --database sqlite:///PATH"),
        ("t.jsonl", b'{"a": 1}\nsecret\n', "", "a line that is not a JSON object; write one object a line"),
        ("t.jsonl", b"[1]\n", "", "a line that is not a JSON object"),
    ],
)
def test_a_wrong_form_gets_the_right_diagnosis(
    tmp_path: Path, name: str, content: bytes, said: str, sentence: str
) -> None:
    (tmp_path / name).write_bytes(content)
    schema = Schema.loads((f"[table.csv]\n{said}\n" if said else "") + COLUMNS)
    with pytest.raises(DataError, match=sentence) as caught:
        check(open_source(tmp_path / name, schema=schema), schema)
    for private in ("secret", "Köln", "1234"):
        assert private not in str(caught.value)


def one(kind: str, cells: list[object], **form: str) -> list[float]:
    schema = Schema.loads(f"[columns.c]\n{kind}\nmissing = 'indicator'")
    source = open_source(pa.table({"c": cells}), schema=schema)
    report = check(source, schema).columns[0]
    return [report.missing, report.alien, len(cells) - report.missing - report.alien]


@pytest.mark.parametrize(
    ("kind", "cells", "counts"),
    [
        ("kind = 'boolean'", ["Yes", "no", "JA", "nein", "T", "0", "1.0", "maybe", None], [1, 1, 7]),
        ("kind = 'boolean'\ntrue = ['on']\nfalse = ['off']", ["on", "off", "true", "1", ""], [0, 3, 2]),
        ("kind = 'boolean'\ntrue = [1]\nfalse = [2]\nmissing_values = [9]", [1, 2, 9, 3], [1, 1, 2]),
        ("kind = 'boolean'\ntrue = [1]\nfalse = [2]", [1.0, 2.0, 0.0], [0, 1, 2]),
        ("kind = 'boolean'\ntrue = ['J']\nfalse = ['N']", [True, False, None], [1, 0, 2]),
        ("kind = 'number'\nlow = 0\nhigh = 9\nmissing_values = [-9]", [-9.0, 3.0, 4.0], [1, 0, 2]),
        ("kind = 'number'\nlow = 0\nhigh = 9\nmissing_values = ['?']", ["?", "3", "x"], [1, 1, 1]),
        ("kind = 'number'\nlow = 0\nhigh = 9\nmissing_values = [-9]", ["-9.0", "3"], [1, 0, 1]),
        (
            "kind = 'date'\nlow = 1900-01-01\nhigh = 2030-01-01\ndate_format = '%d.%m.%Y'",
            ["01.02.2020", "31.02.2020", "2020-02-01", "1.2.20", "1.2.2020"],
            [0, 3, 2],
        ),
    ],
)
def test_cells_of_frames_are_read_as_declared(kind: str, cells: list[object], counts: list[int]) -> None:
    assert one(kind, cells) == counts


@pytest.mark.parametrize("cell", ["3.5", "1.2345,0", "1.234.5", "12.34", "1,5,5"])
def test_a_number_in_another_form_does_not_fit(tmp_path: Path, cell: str) -> None:
    schema = Schema.loads(
        "[table.csv]\ndelimiter = ';'\ndecimal = ','\nthousands = '.'\n[columns.c]\nkind = 'number'\nlow = 0\nhigh = 9"
    )
    (tmp_path / "t.csv").write_text(f"c;d\n1.234,5;1\n{cell};1\n")
    report = check(open_source(tmp_path / "t.csv", schema=schema), schema)
    assert report.columns[0].alien == 1


def test_the_form_of_cells_does_not_change_the_identity_of_a_table() -> None:
    frame = pd.DataFrame({"c": ["on", "off"]})
    schema = Schema.loads("[columns.c]\nkind = 'boolean'\ntrue = ['on']\nfalse = ['off']")
    other = pd.DataFrame({"c": [False, True]})
    prints = [content_print(open_source(one, schema=schema), schema, b"key") for one in (frame, other)]
    assert prints[0] == prints[1]


def test_dates_come_back_as_dates_in_a_frame() -> None:
    table = pa.table({"born": [date(1961, 5, 7), None], "n": [1, 2]})
    back = open_source(pd.DataFrame({"a": [1]})).like(table)
    assert pd.api.types.is_datetime64_any_dtype(back["born"])
    assert back["born"][0] == pd.Timestamp("1961-05-07")


def test_patterns_are_expanded_by_the_names_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("lab_a;lab_b\n1,5;2\n2;x\n")
    schema = Schema.loads(
        "[table.csv]\ndelimiter = ';'\ndecimal = ','\n[columns.'lab_*']\nkind = 'number'\nlow = 0\nhigh = 9"
    )
    source = open_source(tmp_path / "t.csv", schema=schema)
    assert [c.alien for c in check(source, schema.expand(source.names)).columns] == [0, 1]


def test_no_single_json_line_decides_whether_a_declared_column_is_there(tmp_path: Path) -> None:
    schema = Schema.loads(
        '[columns.a]\nkind = "boolean"\n[columns.b]\nkind = "boolean"\nmissing = "indicator"\n'
    )
    path = tmp_path / "t.jsonl"
    for lines in ('{"a": true}\n{"a": true, "b": true}\n', '{"a": true}\n{"a": true}\n'):
        path.write_text(lines)
        assert set(open_source(path, schema=schema).names) == {"a", "b"}
