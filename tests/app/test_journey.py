"""The journey by the actions of the page: every step, a mistake at each, and files that outlive the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.app.project import Project
from gnomon.app.workspace import Workspace
from gnomon.release.verify import verify
from gnomon.table.schema import Schema


def edited(page: Any, state: dict[str, Any], names: list[str], **keys: Any) -> dict[str, Any]:
    found: dict[str, Any] = page(
        "edit", id=state["id"], revision=state["revision"], changes=[{"names": names, "set": keys}]
    )
    return found


def test_a_table_is_opened_and_its_draft_is_a_file(page: Any, ward: Path) -> None:
    place = page("schemas_for", path=str(ward))
    assert place["new"].endswith("/schema.toml")
    state = page("open_table", path=str(ward), schema_path=place["new"])
    assert state["order"] == ["patient", "age", "weight", "sex", "smoker"]
    assert state["gaps"] == 3
    kinds = {one["name"]: one["keys"]["kind"] for one in state["columns"]}
    assert kinds["patient"] == "identifier"
    assert kinds["smoker"] == "boolean"
    assert next(one["hint"] for one in state["columns"] if one["name"] == "age") == {
        "low": "0",
        "high": "120",
    }
    assert Path(place["new"]).read_text().startswith("# A draft.")
    again = page("schemas_for", path=str(ward))
    assert again["before"] == place["new"]
    assert again["new"] != place["new"]


def test_another_table_of_the_folder_gets_a_schema_of_its_own(page: Any, ward: Path) -> None:
    place = page("schemas_for", path=str(ward))
    assert place["before"] is None
    page("open_table", path=str(ward), schema_path=place["new"])
    other = ward.with_name("visits.csv")
    other.write_text("day,cost\n1,2\n2,3\n")
    found = page("schemas_for", path=str(other))
    assert (found["before"], found["new"]) == (None, str(ward.with_name("visits.schema.toml")))
    made = page("open_table", path=str(other), schema_path=found["new"])
    assert [one["name"] for one in made["columns"]] == ["day", "cost"]
    assert page("schemas_for", path=str(ward))["before"] == place["new"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"path": "nobody.parquet"}, "does not exist"),
        ({"path": "/etc/passwd"}, "outside the folders"),
        ({"path": "../private"}, "outside the folders"),
        ({}, "Choose a file"),
        ({"database": "mysql://x", "query": "select 1"}, "postgresql:// or sqlite"),
        ({"database": "sqlite:////etc/x.sqlite", "query": "select 1"}, "outside the folders"),
        ({"database": "postgresql://u:secret@h/d", "query": "select 1"}, "password"),
    ],
)
def test_a_mistake_at_the_table(page: Any, ward: Path, given: dict[str, str], words: str) -> None:
    said = page.refused("open_table", schema_path=str(ward.parent / "new.toml"), **given)
    assert words in said
    assert "secret" not in said
    assert not (ward.parent / "new.toml").exists()


def test_a_file_that_is_no_table_and_a_schema_that_is_none(page: Any, ward: Path) -> None:
    bad = ward.parent / "bad.parquet"
    bad.write_bytes(b"PAR1 nothing")
    assert "cannot be read" in page.refused(
        "open_table", path=str(bad), schema_path=str(ward.parent / "b.toml")
    )
    (ward.parent / "c.toml").write_text("[columns.age\n")
    assert "TOML" in page.refused("open_table", path=str(ward), schema_path=str(ward.parent / "c.toml"))
    assert ".toml" in page.refused(
        "open_table", path=str(ward), schema_path=str(ward.parent / "ward.parquet")
    )
    assert ward.read_bytes()[:4] == b"PAR1"


def test_a_query_of_a_database(page: Any, ward: Path) -> None:
    import sqlite3

    file = ward.parent / "ward.sqlite"
    with sqlite3.connect(file) as book:
        book.execute("CREATE TABLE visits (age INTEGER, ward TEXT)")
        book.executemany("INSERT INTO visits VALUES (?, ?)", [(i, "north") for i in range(20)])
    state = page(
        "open_table",
        database=f"sqlite:///{file}",
        query="SELECT age, ward FROM visits WHERE age > 3",
        schema_path=str(ward.parent / "visits.toml"),
    )
    assert state["order"] == ["age", "ward"]
    done = edited(page, state, ["age"], low="0", high="100")
    done = edited(page, done, ["ward"], values=["north", "south"])
    assert done["gaps"] == 0
    assert page("plan", id=state["id"], epsilon=1.0, delta=1e-6)["rows"] == 16


def test_edits_are_written_and_undone(page: Any, complete: dict[str, Any]) -> None:
    assert complete["gaps"] == 0
    assert complete["general"] == []
    schema = Schema.load(complete["schema_path"])
    assert schema["age"].high == 120
    assert schema.target is not None
    wrong = edited(page, complete, ["age"], high="-1")
    assert "below its high" in next(one["problem"] for one in wrong["columns"] if one["name"] == "age")
    assert wrong["gaps"] == 1
    back = page("undo", id=wrong["id"], revision=wrong["revision"])
    assert back["gaps"] == 0
    assert Schema.load(back["schema_path"])["age"].high == 120
    assert page("redo", id=back["id"], revision=back["revision"])["gaps"] == 1


def test_a_refused_edit_changes_nothing(page: Any, complete: dict[str, Any]) -> None:
    before = Path(complete["schema_path"]).read_text()
    said = page.refused(
        "edit",
        id=complete["id"],
        revision=complete["revision"],
        changes=[{"names": ["age"], "set": {"low": "1,000"}}],
    )
    assert "age" in said
    assert Path(complete["schema_path"]).read_text() == before


def test_two_tabs_do_not_overwrite_each_other(page: Any, complete: dict[str, Any]) -> None:
    edited(page, complete, ["age"], unit="years")
    answer = page.post(
        "edit",
        id=complete["id"],
        revision=complete["revision"],
        changes=[{"names": ["age"], "set": {"high": "5"}}],
    )
    assert answer.status_code == 409
    assert "another tab" in answer.json()["error"]
    assert Schema.load(complete["schema_path"])["age"].high == 120


def test_a_change_on_the_disk_is_seen_and_kept(page: Any, complete: dict[str, Any]) -> None:
    file = Path(complete["schema_path"])
    file.write_text(file.read_text().replace("high = 120", "high = 111  # by hand"))
    answer = page.post(
        "edit",
        id=complete["id"],
        revision=complete["revision"],
        changes=[{"names": ["age"], "set": {"unit": "years"}}],
    )
    assert answer.status_code == 409
    state = page("project", id=complete["id"])
    assert next(one["keys"]["high"] for one in state["columns"] if one["name"] == "age") == 111
    edited(page, state, ["weight"], unit="kg")
    assert "# by hand" in file.read_text()


def test_codebook_paste_pattern_suggestions_and_a_public_table(page: Any, ward: Path) -> None:
    folder = ward.parent
    wide = folder / "wide.parquet"
    pq.write_table(
        pa.table({f"lab_{j:02d}": [0.5, 1.5] for j in range(12)} | {"ward": ["a", "b"], "age": [1, 2]}), wide
    )
    state = page("open_table", path=str(wide), schema_path=str(folder / "wide.toml"))
    id = state["id"]
    state = page("pattern", id=id, revision=state["revision"], pattern="lab_*", set={"low": "0", "high": "9"})
    assert state["gaps"] == 2
    assert "lab_03" not in Path(state["schema_path"]).read_text().split("[columns")[1]
    state = page("suggest", id=id, revision=state["revision"], names=["age", "ward"])
    assert state["filled"] == ["age"]
    state = page(
        "paste",
        id=id,
        revision=state["revision"],
        text="Name\tType\tValues\nward\tcategory\ta|b\nnone\tint\t\n",
    )
    assert (state["filled"], state["unknown"]) == (["ward"], ["none"])
    assert state["gaps"] == 0
    book = folder / "book.csv"
    book.write_text("variable,min,max\nlab_00,-5,5\n")
    state = page("codebook", id=id, revision=state["revision"], path=str(book))
    assert state["filled"] == ["lab_00"]
    public = folder / "public.parquet"
    pq.write_table(pa.table({"age": [0, 99]}), public)
    state = page("public_table", id=id, revision=state["revision"], path=str(public))
    assert next(one["keys"]["high"] for one in state["columns"] if one["name"] == "age") == 99
    assert "must not be learned" in page.refused(
        "public_table", id=id, revision=state["revision"], path=str(wide)
    )
    assert "no column 'name'" in page.refused("paste", id=id, revision=state["revision"], text="a\tb\n1\t2")
    assert "[columns.lab_00]" in page("schema_text", id=id)["text"]


def test_persons_defaults_and_declarations_without_a_column(page: Any, complete: dict[str, Any]) -> None:
    id = complete["id"]
    state = page("person", id=id, revision=complete["revision"], name="patient", rows=2)
    assert state["table"]["person"] == "patient"
    assert "order of magnitude" in page.refused("plan", id=id, epsilon=1.0, delta=0.0)
    state = page("facts", id=id, revision=state["revision"], part="table", set={"rows": 300})
    plan = page("plan", id=id, epsilon=1.0, delta=0.0)
    assert plan["private_rows"]
    state = page("facts", id=id, revision=state["revision"], part="defaults", set={"missing": "indicator"})
    file = Path(state["schema_path"])
    file.write_text(file.read_text() + '\n[columns.nobody]\nkind = "boolean"\n')
    state = page("project", id=id)
    assert state["absent"] == ["nobody"]
    assert page("remove", id=id, revision=state["revision"], names=["nobody"])["absent"] == []


def test_what_an_attacker_reaches_is_told_rounded_up(page: Any) -> None:
    found = page("reach", epsilon=1.0, delta=0.0)
    assert found["bound_words"] == "73.2%"
    assert found["exact"] is None
    assert page("reach", epsilon=1.0, delta=1e-6)["exact_words"].startswith("54.7")
    assert "Epsilon" in page.refused("reach", epsilon=0.0, delta=0.0)


def test_a_budget_a_release_and_its_folder(page: Any, complete: dict[str, Any], ward: Path) -> None:
    id, out = complete["id"], ward.parent / "out"
    assert page("balance", account="ward")["epsilon_cap"] is None
    assert page("cap", account="ward", epsilon=2.0, delta=1e-5)["epsilon_left"] == 2.0
    verdicts = page("verdicts", id=id, epsilon=1.0, delta=1e-6)
    assert {one["name"] for one in verdicts["columns"]} >= {"age", "weight", "smoker"}
    assert page("place", out=str(out))["ok"]
    job = page.done(page("release", id=id, epsilon=1.0, delta=1e-6, out=str(out)))
    assert job["state"] == "done", job
    assert job["charged"]
    assert job["result"]["balance"]["epsilon_left"] == 1.0
    assert verify(out).replayed
    assert not page("place", out=str(out))["ok"]
    assert "exists" in page.refused("release", id=id, epsilon=1.0, out=str(out))
    over = page.done(page("release", id=id, epsilon=1.5, delta=1e-6, out=str(out) + "-2"))
    assert over["state"] == "failed"
    assert "does not cover" in over["error"]
    assert not over["charged"]
    opened = page("open_folder", path=str(out))
    assert "A private release" in page.view(page("view_report", id=opened["id"])["address"])
    assert len(page("released_rows", id=opened["id"])["rows"]) == 20
    assert "epsilon" in page("certificate", id=opened["id"])["text"]
    assert page.done(page("verify", path=str(out)))["result"]["replayed"]
    entries = page("history", account="ward")["entries"]
    assert [entry["kind"] for entry in entries] == ["cap", "charge"]
    assert "content" not in entries[1]
    assert page("accounts")["accounts"][0]["epsilon_spent"] == 1.0


def test_a_changed_folder_is_not_in_order(page: Any, complete: dict[str, Any], ward: Path) -> None:
    out = ward.parent / "out"
    page.done(page("release", id=complete["id"], epsilon=1.0, delta=1e-6, out=str(out)))
    (out / "report.html").write_text("<p>changed</p>")
    job = page.done(page("verify", path=str(out)))
    assert job["state"] == "failed"
    assert "report.html" in job["error"]
    assert "does not exist" in page.refused("open_folder", path=str(ward.parent / "nowhere"))


def test_a_release_is_stopped_before_and_after_the_charge_and_resumed(
    page: Any, complete: dict[str, Any], ward: Path, held: Any
) -> None:
    id, out = complete["id"], str(ward.parent / "out")
    held["when"] = lambda job: True
    wanted = {"id": id, "epsilon": 1.0, "delta": 1e-6, "out": out}
    job = page("release", **wanted)
    assert "under way" in page.refused("release", **{**wanted, "out": out + "-2"})
    page("stop", id=job["id"])
    stopped = page.done(job)
    assert stopped["state"] == "stopped"
    assert "Nothing was charged" in stopped["error"]
    held["when"] = lambda job: job.charged
    job = page("release", **wanted)
    while not page("job", id=job["id"])["charged"]:
        pass
    page("stop", id=job["id"])
    stopped = page.done(job)
    assert stopped["state"] == "stopped"
    assert "without another charge" in stopped["error"]
    assert page("place", out=out)["resumes"]
    assert page("balance", account="ward")["epsilon_spent"] == 1.0
    held["when"] = lambda job: False
    done = page.done(page("release", **wanted))
    assert done["state"] == "done"
    assert page("balance", account="ward")["epsilon_spent"] == 1.0
    assert list(ward.parent.glob(".*")) == []


def test_a_killed_server_loses_nothing(page: Any, complete: dict[str, Any], ward: Path) -> None:
    page("remember", id=complete["id"], settings={"epsilon": 0.5, "out": "somewhere"})
    page("cap", account="ward", epsilon=2.0)
    reborn = type(page)(Workspace(page.work.places, page.work.ledger))
    assert [one["id"] for one in reborn("hello")["recent"]] == [complete["id"]]
    state = reborn("project", id=complete["id"])
    assert state["gaps"] == 0
    assert state["settings"]["epsilon"] == 0.5
    assert reborn("balance", account="ward")["epsilon_cap"] == 2.0


def test_settings_that_somebody_damaged_are_no_obstacle(page: Any, complete: dict[str, Any]) -> None:
    memory = page.work.ledger.path.parent / "serve.json"
    assert memory.stat().st_mode & 0o077 == 0
    for text in ("{", "[1, 2]", '[{"id": 1}]', "null"):
        memory.write_text(text)
        assert page("hello")["recent"] == []


def test_the_worth_of_a_release_is_on_a_stamped_page(page: Any, complete: dict[str, Any], ward: Path) -> None:
    out, held = str(ward.parent / "out"), ward.parent / "held.parquet"
    pq.write_table(pq.read_table(ward).slice(0, 80), held)
    page.done(page("release", id=complete["id"], epsilon=1.0, delta=1e-6, out=out))
    assert "those of the released table" in page.refused(
        "evaluate", id=complete["id"], release=out, test=str(ward)
    )
    job = page.done(page("evaluate", id=complete["id"], release=out, test=str(held), trials=1))
    assert job["state"] == "done", job
    assert "not for release" in job["result"]["stamp"]
    assert "not for release" in page.view(page("view_job", id=job["id"])["address"]).lower()


def test_the_cells_are_checked_on_a_stamped_page(page: Any, complete: dict[str, Any]) -> None:
    narrow = edited(page, complete, ["age"], high="50")
    job = page.done(page("check", id=narrow["id"]))
    assert "your eyes only" in job["result"]["stamp"]
    assert [one["name"] for one in job["result"]["columns"]] == ["age"]


def test_a_schema_that_cannot_be_written_is_refused(
    page: Any, complete: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gnomon.app.project.os.replace", full)
    said = page.refused(
        "edit",
        id=complete["id"],
        revision=complete["revision"],
        changes=[{"names": ["age"], "set": {"high": "99"}}],
    )
    assert "No space left" in said
    monkeypatch.undo()
    assert page("project", id=complete["id"])["revision"] == complete["revision"]
    assert Schema.load(complete["schema_path"])["age"].high == 120


def test_of_several_questions_only_the_last_is_answered(page: Any, complete: dict[str, Any]) -> None:
    found: Project = page.work.project(complete["id"])
    with found.asked() as first:
        assert first()
        found._last += 1  # another came
        assert not first()
