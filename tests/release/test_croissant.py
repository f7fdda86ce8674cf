"""`croissant.json` describes every folder, by Croissant 1.1, and loads the rows."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.release.folder import sha256, write_release

SCHEMA = """[table]
name = "ward"
[columns.age]
kind = "number"
low = 0
high = 120
integer = true
unit = "years"
[columns.station]
kind = "category"
values = ["north", "south"]
[columns.dose]
kind = "number"
low = 0
high = 9
[columns.seen]
kind = "date"
low = 2020-01-01
high = 2026-12-31
[columns.home]
kind = "boolean"
role = "target"
"""


def released(tmp_path: Path, method: str, format: str = "parquet") -> Path:
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "age": rng.integers(0, 100, 200),
            "station": rng.choice(["north", "south"], 200),
            "dose": rng.uniform(0, 9, 200),
            "seen": pa.array(rng.integers(18300, 20800, 200), pa.int32()).cast(pa.date32()),
            "home": rng.random(200) < 0.5,
        }
    )
    fitted = getattr(gn, method)(2.0, 1e-5, schema=gn.Schema.loads(SCHEMA)).fit(table)
    write_release(fitted, tmp_path / "out", format=format)
    return tmp_path / "out"


def described(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "croissant.json").read_text())
    return found


@pytest.mark.parametrize(("method", "synthetic"), [("RonGauss", True), ("DpPro", False), ("Dprp", False)])
def test_the_facts(tmp_path: Path, method: str, synthetic: bool) -> None:
    folder = released(tmp_path, method)
    found = described(folder)
    assert "http://mlcommons.org/croissant/1.1" in found["conformsTo"]
    assert found["rai:hasSyntheticData"] is synthetic
    assert "not published" in found["prov:wasDerivedFrom"]["prov:label"]
    assert found["prov:wasGeneratedBy"]["prov:wasAssociatedWith"]["prov:label"].startswith("gnomon")
    for file in found["distribution"]:
        assert sha256(folder / file["@id"]) == file["sha256"]
    assert "rows/home" in [field["@id"] for field in found["recordSet"][0]["field"]]


def test_types_follow_the_schema(tmp_path: Path) -> None:
    fields = described(released(tmp_path, "RonGauss"))["recordSet"][0]["field"]
    assert {field["name"]: field["dataType"] for field in fields} == {
        "age": "sc:Integer",
        "station": "sc:Text",
        "dose": "sc:Float",
        "seen": "sc:Date",
        "home": ["sc:Boolean", "cr:Label"],
    }


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("method", ["RonGauss", "DpPro"])
def test_mlcroissant_validates_it_and_loads_the_rows(tmp_path: Path, method: str, format: str) -> None:
    """The reference implementation finds no error, and what it warns of is the publisher's to say."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlcroissant = pytest.importorskip(
            "mlcroissant", reason="mlcroissant is not installed; it is in the test extra"
        )
        folder = released(tmp_path, method, format)
        dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
        issues = dataset.metadata.ctx.issues
        assert not issues.errors
        assert all("license" in warning for warning in issues.warnings), issues.warnings
        records = list(dataset.records("rows"))
    assert len(records) == 200
    rows = gn.open_release(folder, replay=False).data
    name = rows.column_names[0]
    assert records[0][f"rows/{name}"] == pytest.approx(rows[name][0].as_py())
