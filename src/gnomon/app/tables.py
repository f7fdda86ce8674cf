"""Choosing a table, and saying what everyone may know of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from gnomon import __version__
from gnomon.app.actions import action
from gnomon.app.jobs import Job
from gnomon.app.project import Data
from gnomon.app.workspace import Workspace
from gnomon.commands.check import grouped
from gnomon.errors import DataError, ParameterError
from gnomon.table.check import check as check_table
from gnomon.table.codebook import of_lines, read_codebook
from gnomon.table.diagnose import diagnose
from gnomon.table.document import Document
from gnomon.table.gaps import find_gaps
from gnomon.table.learn import learn

EYES_ONLY = "For your eyes only: counts of private cells, not for release."


class Change(BaseModel):
    """Columns, and what becomes of their keys: texts, lists, flags, or None to remove one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    names: list[str]
    set: dict[str, str | bool | int | float | list[str] | None]


@action
def hello(work: Workspace) -> dict[str, Any]:
    """What the page shows first."""
    recent = [{key: item[key] for key in ("id", "words", "schema_path")} for item in work.recent()]
    running = [job.status() for job in work.jobs.running]
    return {
        "version": __version__,
        "roots": [str(root) for root in work.places.roots],
        "ledger": str(work.ledger.path),
        "recent": recent,
        "running": running,
    }


@action
def list_folder(
    work: Workspace, *, path: str | None = None, purpose: str, search: str = ""
) -> dict[str, Any]:
    """The server-side path chooser."""
    return work.places.listing(path, purpose, search)


@action
def schemas_for(work: Workspace, *, path: str | None = None) -> dict[str, Any]:
    """Where a schema of a table may lie: the one it had, or schema.toml beside it, and a free name for a new one.

    A schema.toml that another table of the folder was opened with is not offered.
    """
    table = work.places.roots[0] if path is None else work.places.inside(path)
    folder = table if path is None else table.parent
    if not any(folder.is_relative_to(root) for root in work.places.roots):  # the root itself was picked
        folder = work.places.roots[0]
    found = [one for one in work.places.listing(str(folder), "schema")["entries"] if not one["folder"]]
    stem = "schema" if path is None else table.name.partition(".")[0] or "schema"
    names = ["schema.toml", f"{stem}.schema.toml", *(f"{stem}-{i}.schema.toml" for i in range(2, 1000))]
    free = next(folder / name for name in names if not (folder / name).exists())
    used = [(item["data"].get("path"), item["schema_path"]) for item in work.recent()]
    anothers = {schema for data, schema in used if data not in (None, str(table))}
    beside = [str(folder / "schema.toml")] if str(folder / "schema.toml") not in anothers else []
    before = [schema for data, schema in used if data == str(table)]
    kept = next((one for one in (*before, *beside) if Path(one).exists()), None)
    return {
        "existing": [one["path"] for one in found],
        "new": str(free),
        "before": kept,
        "writable": os.access(folder, os.W_OK),
    }


@action
def open_table(
    work: Workspace,
    *,
    path: str | None = None,
    database: str | None = None,
    query: str | None = None,
    table: str | None = None,
    schema_path: str,
) -> dict[str, Any]:
    """gnomon init, or the schema that is there already."""
    if path is not None:
        data = Data(path=str(work.places.inside(path)))
    else:
        if database is None:
            raise ParameterError("Choose a file, a folder or a database.")
        data = Data(database=_confined(work, database), query=query or None, table=table or None)
    place = work.places.new(schema_path)
    if place.suffix != ".toml":
        raise DataError("The name of the schema must end in .toml; give it this ending.")
    return work.open(data, place).state()


def _confined(work: Workspace, url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        return f"sqlite:///{work.places.inside(rest.removeprefix('/'))}"
    return url


@action
def project(work: Workspace, *, id: str) -> dict[str, Any]:
    found = work.project(id)
    found.reload()
    return found.state()


@action
def edit(work: Workspace, *, id: str, revision: int, changes: list[Change]) -> dict[str, Any]:
    found = work.project(id)
    merged: dict[str, dict[str, Any]] = {}
    for change in changes:
        for name in change.names:
            merged.setdefault(name, {}).update(change.set)
    return found.change(revision, lambda document: document.edited(merged, found.names))


@action
def pattern(
    work: Workspace,
    *,
    id: str,
    revision: int,
    pattern: str,
    set: dict[str, str | bool | int | float | list[str] | None],
) -> dict[str, Any]:
    found = work.project(id)
    return found.change(revision, lambda document: document.with_pattern(pattern.strip(), set, found.names))


@action
def facts(
    work: Workspace,
    *,
    id: str,
    revision: int,
    part: str,
    set: dict[str, str | int | list[str] | None],
) -> dict[str, Any]:
    """[table], [table.csv], [table.excel] and [defaults]."""
    return work.project(id).change(revision, lambda document: document.with_facts(part, set))


@action
def person(
    work: Workspace, *, id: str, revision: int, name: str | None, rows: int | None = None
) -> dict[str, Any]:
    found = work.project(id)
    return found.change(revision, lambda document: document.with_person(name, rows, found.names))


@action
def remove(work: Workspace, *, id: str, revision: int, names: list[str]) -> dict[str, Any]:
    return work.project(id).change(revision, lambda document: document.without(names))


@action
def suggest(work: Workspace, *, id: str, revision: int, names: list[str]) -> dict[str, Any]:
    """Bounds by the words of the names."""
    found, filled = work.project(id), list[str]()

    def change(document: Document) -> Document:
        changed, got = document.with_suggestions(names, found.names)
        filled.extend(got)
        return changed

    return {**found.change(revision, change), "filled": filled}


@action
def undo(work: Workspace, *, id: str, revision: int) -> dict[str, Any]:
    return work.project(id).undo(revision)


@action
def redo(work: Workspace, *, id: str, revision: int) -> dict[str, Any]:
    return work.project(id).undo(revision, redo=True)


@action
def codebook(work: Workspace, *, id: str, revision: int, path: str) -> dict[str, Any]:
    """gnomon init --codebook, for a schema under way."""
    return _with_book(work, id, revision, read_codebook(work.places.inside(path)))


@action
def public_table(work: Workspace, *, id: str, revision: int, path: str) -> dict[str, Any]:
    """gnomon init --from-public, for a schema under way."""
    place, own = work.places.inside(path), work.project(id).data.path
    if own is not None and place == Path(own).resolve():
        raise ParameterError(
            "This is the table that you want to protect, so its bounds must not be learned from it; choose a public one."
        )
    return _with_book(work, id, revision, learn(place))


@action
def paste(work: Workspace, *, id: str, revision: int, text: str) -> dict[str, Any]:
    """A codebook from the clipboard: a header, then a line per column."""
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = max("\t;,|", key=first.count)
    return _with_book(work, id, revision, of_lines(text.strip("\n"), delimiter, "What was pasted"))


def _with_book(work: Workspace, id: str, revision: int, book: Any) -> dict[str, Any]:
    found, filled = work.project(id), list[str]()

    def change(document: Document) -> Document:
        changed, known = document.with_codebook(book, found.names)
        filled.extend(known)
        return changed

    state = found.change(revision, change)
    unknown = [name for name in book.entries if name not in set(found.names)]
    return {**state, "filled": filled, "unknown": unknown}


@action
def schema_text(work: Workspace, *, id: str) -> dict[str, Any]:
    """The file as it stands: it is public."""
    found = work.project(id)
    return {"text": found.schema_path.read_text(encoding="utf-8"), "path": str(found.schema_path)}


@action
def check(work: Workspace, *, id: str) -> dict[str, Any]:
    """gnomon check: on a stamped page, because its counts come from the rows."""
    found = work.project(id)
    found.reload()
    gaps = find_gaps(found.document.dumps(), found.folder)
    if gaps.schema is None:
        raise DataError(gaps.sentences[0])
    schema = gaps.schema.expand(found.names)

    def run(job: Job) -> dict[str, Any]:
        source = found.data.source(schema)
        report = check_table(source, schema, job)
        counted = ("missing", "out_of_bounds", "unknown", "alien")
        return {
            "stamp": EYES_ONLY,
            "columns": [
                {"name": one.name, "problem": one.problem, **{key: getattr(one, key) for key in counted}}
                for one in report.columns
                if one.problem or any(getattr(one, key) for key in counted)
            ],
            "plain": sum(not any(getattr(one, key) for key in counted) for one in report.columns),
            "remarks": grouped([*report.remarks, *diagnose(source, schema, report)]),
            "problems": grouped(report.problems),
            "gaps": len(gaps.sentences),
            "undeclared": [name for name in report.undeclared if not gaps.cover(name)],
            "ok": report.ok and not gaps.sentences,
        }

    return work.jobs.start(Job("check", id, passes=1), run).status()
