"""Codebooks in the forms that people have, and public tables to learn from: they fill a draft, the rows never do."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from gnomon.errors import SchemaError
from gnomon.table.codebook import read_codebook
from gnomon.table.draft import draft
from gnomon.table.learn import learn
from gnomon.table.schema import Schema

TABLE = pa.table(
    {
        "age": [41, 42],
        "sex": [1, 2],
        "smoker": ["ja", "nein"],
        "weight": [71.25, 80.5],
        "born": [date(1961, 5, 17), date(1999, 1, 1)],
        "ward": ["harbour", "hill"],
        "patient": ["k1", "k2"],
    }
)
FILLED = {
    "age": {"kind": "number", "integer": True, "low": 0, "high": 110, "label": "Age at visit"},
    "sex": {"kind": "category", "values": [1, 2]},
    "smoker": {"kind": "boolean", "missing": "indicator", "missing_values": ["?"]},
    "weight": {"kind": "number", "low": 0.5, "high": 300, "unit": "kg"},
    "born": {"kind": "date", "low": date(1900, 1, 1), "high": date(2030, 1, 1)},
    "ward": {"kind": "category", "values": ["north", "south"], "role": "target"},
    "patient": {"kind": "identifier"},
}
CSV = """\
Variable;Type;Min;Max;Values;Description;Missing;Unit;Role
age;integer;0;110;;Age at visit;;;
sex;;;;1=male|2=female;;;;
smoker;boolean;;;yes|no;;?;;
weight;continuous;0,5;300;;;;kg;
born;date;1900-01-01;2030-01-01;;;;;
ward;categorical;;;north, south;;;;target
patient;id;;;;;;;
other;number;0;1;;;;;
"""
FRICTIONLESS: dict[str, Any] = {
    "primaryKey": "patient",
    "fields": [
        {
            "name": "age",
            "type": "integer",
            "title": "Age at visit",
            "constraints": {"minimum": 0, "maximum": 110},
        },
        {"name": "sex", "type": "integer", "constraints": {"enum": [1, 2]}},
        {"name": "weight", "type": "number", "constraints": {"minimum": 0.5, "maximum": 300}},
        {
            "name": "born",
            "type": "date",
            "format": "%d.%m.%Y",
            "constraints": {"minimum": "1900-01-01", "maximum": "2030-01-01"},
        },
        {"name": "smoker", "type": "boolean", "trueValues": ["J"], "falseValues": ["N"]},
        {
            "name": "ward",
            "type": "string",
            "categories": [{"value": "north", "label": "N"}, {"value": "south"}],
        },
        {"name": "patient", "type": "string"},
    ],
    "missingValues": ["", "-"],
}
SDV = {
    "tables": {
        "ward": {
            "primary_key": "patient",
            "columns": {
                "age": {"sdtype": "numerical", "computer_representation": "Int64"},
                "weight": {"sdtype": "numerical"},
                "born": {"sdtype": "datetime", "datetime_format": "%d.%m.%Y"},
                "ward": {"sdtype": "categorical", "order": ["north", "south"]},
                "smoker": {"sdtype": "boolean"},
                "patient": {"sdtype": "id"},
                "mail": {"sdtype": "email", "pii": True},
            },
        }
    },
    "METADATA_SPEC_VERSION": "V1",
}
CROISSANT = {
    "@type": "sc:Dataset",
    "name": "ward",
    "recordSet": [
        {
            "@id": "wards",
            "dataType": "sc:Enumeration",
            "data": [{"wards/name": "north"}, {"wards/name": "south"}],
        },
        {
            "@id": "visits",
            "field": [
                {
                    "@id": "visits/age",
                    "description": "Age at visit",
                    "dataType": "sc:Integer",
                    "minValue": 0,
                    "maxValue": 110,
                },
                {"@id": "visits/weight", "dataType": ["sc:Float"]},
                {"@id": "visits/born", "dataType": "sc:Date"},
                {"@id": "visits/smoker", "dataType": "https://schema.org/Boolean"},
                {"@id": "visits/ward", "dataType": "sc:Text", "references": {"field": {"@id": "wards/name"}}},
            ],
        },
    ],
}


def bodies(text: str) -> dict[str, dict[str, Any]]:
    return Schema.parse(text)["columns"]  # type: ignore[no-any-return]


def drafted(folder: Path, name: str, content: Any) -> dict[str, dict[str, Any]]:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    found = draft(TABLE, read_codebook(path))
    for value in ("41", "harbour", "k1", "71.25", "1961"):
        assert value not in found
    return bodies(found)


def test_a_csv_fills_everything(tmp_path: Path) -> None:
    found = drafted(tmp_path, "book.csv", CSV)
    assert found == FILLED
    text = draft(TABLE, read_codebook(tmp_path / "book.csv"))
    assert text.gaps() == ()
    assert "# 1 = male, 2 = female" in text
    assert any("describes 7 of 7 columns" in remark for remark in text.remarks)


def test_a_frictionless_schema_or_package(tmp_path: Path) -> None:
    found = drafted(tmp_path, "schema.json", FRICTIONLESS)
    assert found["age"] == FILLED["age"]
    assert found["sex"] == FILLED["sex"]
    assert found["weight"] == {"kind": "number", "low": 0.5, "high": 300}
    assert found["born"] == {**FILLED["born"], "date_format": "%d.%m.%Y"}
    assert found["smoker"] == {"kind": "boolean", "true": ["J"], "false": ["N"]}
    assert found["ward"]["values"] == ["north", "south"]
    assert found["patient"] == {"kind": "identifier"}
    package = {"resources": [{"schema": FRICTIONLESS, "dialect": {"delimiter": ";"}, "encoding": "cp1252"}]}
    assert drafted(tmp_path, "datapackage.json", package) == found
    assert read_codebook(tmp_path / "datapackage.json").form == {
        "delimiter": ";",
        "encoding": "cp1252",
        "missing_values": ["-"],
    }


def test_the_file_tells_its_own_form_and_a_package_the_rest(tmp_path: Path) -> None:
    package = {"resources": [{"schema": FRICTIONLESS, "dialect": {"delimiter": "|"}, "encoding": "latin-1"}]}
    (tmp_path / "datapackage.json").write_text(json.dumps(package))
    (tmp_path / "t.csv").write_text("age;weight\n1;?\n2;3\n")
    text = draft(tmp_path / "t.csv", read_codebook(tmp_path / "datapackage.json"))
    assert Schema.parse(text)["table"]["csv"] == {"delimiter": ";", "missing_values": ["?", "-"]}


def test_a_declared_category_is_no_mark_for_missing_cells(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("name,values\nward,a|?\n")
    found = bodies(draft(pa.table({"ward": ["a", "?"]}), read_codebook(tmp_path / "b.csv")))
    assert found["ward"] == {"kind": "category", "values": ["a", "?"]}


def test_sdv_metadata(tmp_path: Path) -> None:
    found = drafted(tmp_path, "metadata.json", SDV)
    assert found["age"] == {"kind": "number", "integer": True}
    assert found["born"] == {"kind": "date", "date_format": "%d.%m.%Y"}
    assert found["ward"] == {"kind": "category", "values": ["north", "south"], "ordered": True}
    assert found["patient"] == {"kind": "identifier"}


def test_a_schema_from_sdv_metadata(tmp_path: Path) -> None:
    class Metadata:
        def to_dict(self) -> dict[str, Any]:
            return SDV["tables"]["ward"]  # type: ignore[index,return-value]

    (tmp_path / "m.json").write_text(json.dumps(SDV))
    for given in (Metadata(), SDV, tmp_path / "m.json"):
        text = Schema.from_sdv(given)
        schema = text.fill(
            {"age": (0, 110), "weight": (0, 300), "born": (date(1900, 1, 1), date(2030, 1, 1))}, name="ward"
        )
        assert schema["mail"].kind == "identifier"
        assert schema["age"].integer
        assert schema["ward"].ordered
    with pytest.raises(SchemaError, match="must have columns or tables"):
        Schema.from_sdv({})


def test_a_croissant_field_may_have_a_slash_in_its_name(tmp_path: Path) -> None:
    """Only the name of its record set is no part of it."""
    field = {"@id": "ward/packs/year", "dataType": "sc:Float", "minValue": 0, "maxValue": 40}
    document = {"@type": "sc:Dataset", "name": "ward", "recordSet": [{"@id": "ward", "field": [field]}]}
    (tmp_path / "book.json").write_text(json.dumps(document))
    assert list(read_codebook(tmp_path / "book.json").entries) == ["packs/year"]


def test_croissant(tmp_path: Path) -> None:
    found = drafted(tmp_path, "croissant.json", CROISSANT)
    assert found["age"] == FILLED["age"]
    assert found["weight"] == {"kind": "number"}
    assert found["born"] == {"kind": "date"}
    assert found["smoker"] == {"kind": "boolean"}
    assert found["ward"]["values"] == ["north", "south"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("b.csv", "a,b\n1,2\n", "has no column 'name'; its header may have name, kind, low"),
        ("b.csv", "name,kind\nage,thing\n", "gives the column 'age' an unknown kind; write one of number"),
        ("b.csv", "name,low\nage,soon\n", "gives the column 'age' a low that is neither a number nor a date"),
        ("b.csv", "name,kind\nage,number\nage,number\n", "describes the column 'age' more than once"),
        ("b.csv", "name,kind\n", "describes no column"),
        ("b.csv", "name,low,high\nage,9,1\n", "low of column 'age' must be below its high"),
        ("b.json", "{", "does not parse as JSON"),
        ("b.json", "{}", "of no known form; give a CSV with a column 'name'"),
        ("b.json", "[1]", "of no known form"),
        ("b.json", '{"fields": 3}', "lacks what its form promises"),
        ("b.json", '{"recordSet": []}', "describes no column"),
        ("b.docx", "x", "must be .csv, .tsv, .txt or .json"),
    ],
)
def test_a_wrong_codebook_is_one_sentence(tmp_path: Path, name: str, content: str, sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        drafted(tmp_path, name, content)


def test_a_codebook_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="does not exist"):
        read_codebook(tmp_path / "none.csv")


def test_codes_for_true_and_false(tmp_path: Path) -> None:
    found = drafted(tmp_path, "b.csv", "name,kind,values\nsex,boolean,1=yes|2=no\nsmoker,boolean,a|b\n")
    assert found["sex"] == {"kind": "boolean", "true": [1], "false": [2]}
    assert found["smoker"] == {"kind": "category", "values": ["a", "b"]}


PUBLIC = pa.table(
    {
        "age": [0, 99, 7],
        "sex": [0, 1, 1],
        "smoker": ["yes", None, "no"],
        "weight": [1.5, None, 220.5],
        "born": [date(1920, 1, 1), date(2020, 2, 2), None],
        "ward": ["south", "north", "north"],
        "seen": [datetime(2020, 1, 1, 10), None, datetime(2021, 1, 1)],
    }
)
LEARNED = {
    "age": {"kind": "number", "integer": True, "low": 0, "high": 99},
    "sex": {"kind": "boolean"},
    "smoker": {"kind": "boolean"},
    "weight": {"kind": "number", "low": 1.5, "high": 220.5},
    "born": {"kind": "date", "low": date(1920, 1, 1), "high": date(2020, 2, 2)},
    "ward": {"kind": "category", "values": ["north", "south"]},
    "seen": {"kind": "date", "low": datetime(2020, 1, 1, 10), "high": datetime(2021, 1, 1)},
}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_public_table_teaches_bounds_and_categories(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"public.{ending}"
    pq.write_table(PUBLIC, path) if ending == "parquet" else pyarrow.csv.write_csv(PUBLIC, path)
    book = learn(path)
    assert {name: entry.keys for name, entry in book.entries.items()} == LEARNED
    text = draft(TABLE, None, book)
    assert "were learned from the file" in text
    assert "which needs no protection" in text
    assert bodies(text)["ward"]["values"] == ["north", "south"]
    assert "harbour" not in text


def test_a_codebook_goes_before_a_public_table(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("name,kind,low,high\nage,integer,0,120\nweight,number,,\n")
    found = bodies(draft(TABLE, read_codebook(tmp_path / "b.csv"), learn(PUBLIC)))
    assert found["age"] == {"kind": "number", "integer": True, "low": 0, "high": 120}
    assert found["weight"] == {"kind": "number", "low": 1.5, "high": 220.5}


def test_thousands_of_public_categories_are_left_to_a_file() -> None:
    book = learn(pa.table({"code": [f"c{i}" for i in range(2000)]}))
    assert book.entries["code"].keys == {"kind": "category"}
    assert "values_file" in book.entries["code"].notes[0]
