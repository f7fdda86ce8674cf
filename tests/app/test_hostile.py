"""Folders and names of others: links that lead out, markup, formulas, ten thousand columns, bytes that are no text."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.app.places import MOST, Places
from gnomon.errors import DataError

NAMES = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '=HYPERLINK("http://evil.example";"x")',
    "@SUM(1)",
    'quote " and \\ back',
    "line\nbreak",
    "tab\tin it",
    "\u202eright to left",
    "a.b.c.d",
    "[columns.x]",
    "*",
    "é 中文 🌞",
    " spaces ",
    "constructor",
    "__proto__",
]


def test_names_of_any_kind_are_declared_released_and_read_back(page: Any) -> None:
    folder = page.work.places.roots[0]
    table = folder / "<b>hostile<img src=x>.parquet"
    pq.write_table(pa.table({name: [0.25, 0.5, 0.75] * 10 for name in NAMES}), table)
    state = page("open_table", path=str(table), schema_path=str(folder / "s.toml"))
    assert [one["name"] for one in state["columns"]] == NAMES
    for name in NAMES:
        change = {"names": [name], "set": {"kind": "number", "low": "0", "high": "1"}}
        state = page("edit", id=state["id"], revision=state["revision"], changes=[change])
    assert state["gaps"] == 0
    assert state["general"] == []
    out = folder / "out"
    job = page.done(page("release", id=state["id"], epsilon=1.0, delta=1e-6, out=str(out), format="csv"))
    assert "formula" in job["error"]
    job = page.done(page("release", id=state["id"], epsilon=1.0, delta=1e-6, out=str(out)))
    assert job["state"] == "done", job
    opened = page("open_folder", path=str(out))
    assert page("released_rows", id=opened["id"])["names"] == NAMES
    report = page.view(page("view_report", id=opened["id"])["address"])
    assert "<img src=x" not in report


def test_ten_thousand_columns_stay_workable(page: Any) -> None:
    folder = page.work.places.roots[0]
    table = folder / "wide.parquet"
    names = [f"{'abcdefghij'[i % 10]}_{i}" for i in range(10_000)]
    pq.write_table(pa.table({name: pa.array([0.5, 0.25], pa.float32()) for name in names}), table)
    start = time.monotonic()
    state = page("open_table", path=str(table), schema_path=str(folder / "s.toml"))
    assert state["count"] == state["gaps"] == 10_000
    state = page(
        "edit",
        id=state["id"],
        revision=state["revision"],
        changes=[{"names": names, "set": {"low": "0", "high": "1"}}],
    )
    assert state["gaps"] == 0
    one = page(
        "edit", id=state["id"], revision=state["revision"], changes=[{"names": ["a_0"], "set": {"high": "2"}}]
    )
    assert [row["name"] for row in one["columns"]] == ["a_0"]
    assert time.monotonic() - start < 60


def test_links_do_not_lead_out(page: Any, tmp_path: Path) -> None:
    folder = page.work.places.roots[0]
    secret = tmp_path / "secret.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), secret)
    (folder / "link.parquet").symlink_to(secret)
    (folder / "way").symlink_to(tmp_path)
    for path in (
        folder / "link.parquet",
        folder / "way" / "secret.parquet",
        folder / ".." / "secret.parquet",
    ):
        said = page.refused("open_table", path=str(path), schema_path=str(folder / "s.toml"))
        assert "outside the folders" in said
    assert "outside" in page.refused("list_folder", path=str(folder / "way"), purpose="table")
    for out in (folder / "way" / "out", tmp_path / "out", Path("/out")):
        assert "outside" in page.refused("place", out=str(out))
    for name in ("", "/", "..", str(folder) + "/.."):
        assert page.post("place", out=name).status_code == 400


def test_a_release_folder_with_links_shows_nothing_of_elsewhere(
    page: Any, complete: dict[str, Any], ward: Path, tmp_path: Path
) -> None:
    out = ward.parent / "out"
    page.done(page("release", id=complete["id"], epsilon=1.0, delta=1e-6, out=str(out)))
    opened = page("open_folder", path=str(out))
    secret = tmp_path / "secret.html"
    secret.write_text("canary-7f3a9")
    for name, action in (
        ("report.html", "view_report"),
        ("certificate.yaml", "certificate"),
        ("data.parquet", "released_rows"),
    ):
        (out / name).unlink()
        (out / name).symlink_to(secret)
        answer = page.post(action, id=opened["id"])
        assert answer.status_code == 400
        assert "canary" not in answer.text


def test_a_listing_shows_names_of_tables_and_folders_only(page: Any) -> None:
    folder = page.work.places.roots[0]
    for name in ("a.parquet", "b.CSV", "c.exe", ".hidden.csv", "d.csv.gz"):
        (folder / name).write_text("x")
    (folder / "sub").mkdir()
    found = page("list_folder", path=None, purpose="table")
    assert [one["name"] for one in found["entries"]] == ["sub", "a.parquet", "b.CSV", "d.csv.gz"]
    assert found["above"] is None
    assert [
        one["name"] for one in page("list_folder", path=None, purpose="table", search="B.c")["entries"]
    ] == ["b.CSV"]
    assert page("list_folder", path=str(folder / "nowhere" / "x"), purpose="table")["path"] == str(folder)


def test_a_name_that_is_no_text_and_a_folder_of_thousands(page: Any) -> None:
    folder = page.work.places.roots[0]
    odd = os.fsencode(str(folder)) + b"/\xff\xfe.csv"
    try:
        with open(odd, "w") as file:
            file.write("a,b\n1,2\n3,4\n")
    except OSError:
        pytest.skip("This file system takes no such names.")
    found = page("list_folder", path=None, purpose="table")
    path = found["entries"][0]["path"]
    assert os.fsencode(path) == odd
    assert "cannot be read" in page.refused("open_table", path=path, schema_path=str(folder / "s.toml"))
    for i in range(MOST + 5):
        (folder / f"{i}.csv").touch()
    many = page("list_folder", path=None, purpose="table")
    assert len(many["entries"]) == MOST
    assert many["left_out"] == 6


def test_a_root_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        Places.of([tmp_path / "nowhere"])
    with pytest.raises(DataError, match="outside"):
        Places.of([tmp_path]).inside("~/x" if str(Path.home()) not in str(tmp_path) else "/etc")
    with pytest.raises(DataError, match="cannot be read"):
        Places.of([tmp_path]).inside("a\0b")
