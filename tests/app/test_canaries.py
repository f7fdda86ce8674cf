"""No private cell reaches the browser: canaries in every column, and every answer of the whole journey is searched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.app.actions import ACTIONS

TEXT = "canary-7f3a9"
NUMBER = 0.9876543210123456
FAR = 31415926.53589793
DAY = "1987-06-05"
SIGNS = [TEXT.encode(), str(NUMBER)[2:10].encode(), str(FAR)[:8].encode(), b"3.14159265358", DAY.encode()]
ROWS = 4217


def write(folder: Path, name: str, n: int) -> Path:
    table = pa.table(
        {
            "patient": [f"{TEXT}-{i // 2}" for i in range(n)],
            "share": [NUMBER if i % 3 else 0.5 for i in range(n)],
            "far": [FAR if i == 7 else 0.25 for i in range(n)],
            "day": [DAY if i % 2 else "2001-01-01" for i in range(n)],
            "ward": [TEXT if i % 5 == 0 else "north" if i % 2 else "south" for i in range(n)],
            "outcome": ["a" if i % 4 else "b" for i in range(n)],
            "remark": [f"a long remark of {TEXT} that nobody may read, number {i}" for i in range(n)],
        }
    )
    path = folder / name
    pq.write_table(table, path)
    return path


def test_no_cell_in_any_answer_of_the_journey(page: Any, tmp_path: Path) -> None:
    folder = page.work.places.roots[0]
    table, held = write(folder, "ward.parquet", ROWS), write(folder, "held.parquet", 211)
    (folder / "book.csv").write_text("name,min,max\nshare,0,1\n")
    public = folder / "public.parquet"
    pq.write_table(pa.table({"far": [0.0, 1.0]}), public)
    out = str(folder / "out")
    page("hello")
    page("list_folder", path=str(folder), purpose="table")
    page("schemas_for", path=str(table))
    state = page("open_table", path=str(table), schema_path=str(folder / "schema.toml"))
    id = state["id"]

    def change(action: str, **given: Any) -> None:
        nonlocal state
        state = page(action, id=id, revision=state["revision"], **given)

    change("codebook", path=str(folder / "book.csv"))
    change("public_table", path=str(public))
    change("paste", text="name\tlow\thigh\nday\t1900-01-01\t2100-01-01")
    change("edit", changes=[{"names": ["ward"], "set": {"values": ["north", "south"], "other": "south"}}])
    change("edit", changes=[{"names": ["outcome"], "set": {"values": ["a", "b"], "role": "target"}}])
    change("pattern", pattern="sha*", set={"low": "0", "high": "1"})
    change("suggest", names=state["order"] or ["share"])
    change("undo")
    change("redo")
    change("facts", part="table", set={"rows": 4000})
    change("person", name="patient", rows=2)
    change("remove", names=["nobody"])
    page("project", id=id)
    page("schema_text", id=id)
    page("plan", id=id, epsilon=1.0, delta=1e-6)
    private = [body for _, _, body in page.answers]
    assert not [body for body in private if str(ROWS).encode() in body or f"{ROWS:,}".encode() in body]
    change("person", name=None)
    page("verdicts", id=id, epsilon=1.0, delta=1e-6)
    page("reach", epsilon=1.0, delta=1e-6)
    page("cap", account="ward", epsilon=3.0, delta=1e-4)
    page("balance", account="ward")
    page("accounts")
    page("place", out=out)
    page("remember", id=id, settings={"out": out})
    checked = page.done(page("check", id=id))
    assert checked["result"]["columns"]
    released = page("release", id=id, epsilon=1.0, delta=1e-6, out=out)
    page("stop", id=page("hello")["running"][0]["id"])
    page.done(released)
    released = page.done(page("release", id=id, epsilon=1.0, delta=1e-6, out=out))
    assert released["state"] == "done", released
    page("history", account="ward")
    opened = page("open_folder", path=out)
    page("released_rows", id=opened["id"])
    page("draw_rows", id=opened["id"], rows=5)
    page("certificate", id=opened["id"])
    page("marginal", id=opened["id"], columns=["ward"])
    page("query", id=opened["id"], terms=["share", "ward=north"])
    drawn = page.done(page("draw_file", id=opened["id"], rows=9, out=str(folder / "drawn.csv")))
    assert drawn["state"] == "done", drawn
    page("cap", account="ward", epsilon=300.0, delta=1e-4)
    settings = {"epsilon": 200.0, "delta": 0.0, "method": "jl-laplace", "even_if_useless": True}
    rows = page.done(page("release", id=id, out=str(folder / "records"), **settings))
    assert rows["state"] == "done", rows
    records = page("open_folder", path=str(folder / "records"))
    page("released_rows", id=records["id"])
    page("distances", id=records["id"], row=0, others=[1, 2])
    page("neighbours", id=records["id"], row=7, count=3)
    page.view(page("view_report", id=opened["id"])["address"])
    assert page.done(page("verify", path=out))["state"] == "done"
    worth = page.done(page("evaluate", id=id, release=out, test=str(held), trials=1))
    assert worth["state"] == "done", worth
    page.view(page("view_job", id=worth["id"])["address"])
    page.refused(
        "edit", id=id, revision=state["revision"], changes=[{"names": ["share"], "set": {"low": "x"}}]
    )

    tried = {action for action, status, _ in page.answers if status == 200}
    assert tried >= ACTIONS.keys(), f"no canary flew through {sorted(ACTIONS.keys() - tried)}"
    for action, _, body in page.answers:
        for sign in SIGNS:
            assert sign not in body, f"{sign!r} in an answer to {action}"


def test_counts_of_private_cells_come_with_a_stamp_only(page: Any) -> None:
    """1,409 cells are missing: the number stands in the stamped check, and nowhere else."""
    folder = page.work.places.roots[0]
    path = folder / "gaps.parquet"
    pq.write_table(pa.table({"a": [None if i % 3 == 0 else 0.5 for i in range(ROWS - 1)] + [None] * 3}), path)
    missing = -(-(ROWS - 1) // 3) + 3
    state = page("open_table", path=str(path), schema_path=str(folder / "gaps.toml"))
    change = {"names": ["a"], "set": {"low": "0", "high": "1", "missing": "indicator"}}
    page("edit", id=state["id"], revision=state["revision"], changes=[change])
    page("project", id=state["id"])
    page("plan", id=state["id"], epsilon=1.0, delta=1e-6)
    before = list(page.answers)
    job = page.done(page("check", id=state["id"]))
    assert job["result"]["columns"][0]["missing"] == missing
    assert str(missing).encode() in page.answers[-1][2]
    assert b'"stamp"' in page.answers[-1][2]
    whole = re.compile(rb"(?<![\d.])%d(?![\d.])" % missing)  # and not some digits of a figure of the plan
    assert whole.search(page.answers[-1][2])
    assert not [action for action, _, body in before if whole.search(body)]
    assert page("hello")["running"] == []
    assert str(missing).encode() not in page.answers[-1][2]


def test_a_refusal_of_a_file_does_not_quote_it(page: Any) -> None:
    folder = page.work.places.roots[0]
    (folder / "bad.csv").write_text(f'a,b\n1,"{TEXT}\n2,3\n{TEXT},{TEXT},{TEXT}\n')
    (folder / "bad.jsonl").write_text(f'{{"a": "{TEXT}"}}\n{{"a": {TEXT}\n')
    for name in ("bad.csv", "bad.jsonl"):
        answer = page.post("open_table", path=str(folder / name), schema_path=str(folder / f"{name}.toml"))
        assert TEXT not in answer.text
