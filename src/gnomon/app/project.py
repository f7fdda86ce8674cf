"""A table and its schema under way: the file on the disk is what counts, and every edit writes it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from gnomon.commands.options import opened
from gnomon.errors import GnomonError, OutputError, SchemaError
from gnomon.table.base import Source
from gnomon.table.column import Column
from gnomon.table.document import Declaration, Document, suggestion
from gnomon.table.draft import draft
from gnomon.table.file_types import open_file
from gnomon.table.form import TextForm
from gnomon.table.looked import look_at
from gnomon.table.schema import Schema

_UNDONE = 100  # steps that can be undone


class Stale(GnomonError):  # noqa: N818 - a state, and no fault
    """An edit of a schema that was changed in another tab, or on the disk."""


@dataclass(frozen=True)
class Data:
    """Where a table lies: a file or folder, or a query or a table of a database."""

    path: str | None = None
    database: str | None = None
    query: str | None = None
    table: str | None = None

    def source(self, schema: Schema | None = None) -> Source:
        path = None if self.path is None else Path(self.path)
        return opened(path, self.database, self.query, self.table, schema)

    @property
    def words(self) -> str:
        return self.path or f"{self.database}: {self.query or self.table}"

    def names(self, document: Document | None) -> list[str]:
        """The columns, as the form that a schema declares shows them."""
        if self.path is None:
            return self.source().names
        path, facts = Path(self.path), {} if document is None else document.table
        if isinstance(facts.get("csv"), dict):
            return open_file(path, None, TextForm(**facts["csv"])).names
        if isinstance(facts.get("excel"), dict):
            some = Column(name="x", kind="boolean")
            return open_file(path, Schema(columns=(some,), sheet=facts["excel"].get("sheet"))).names
        return look_at(path).source.names

    def draft(self) -> Any:
        return draft(Path(self.path) if self.path is not None else self.source())


@dataclass
class Project:
    """One table with its schema; edits are refused where they were made to an older state of it."""

    data: Data
    schema_path: Path
    document: Document
    names: list[str]
    remarks: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(
        default_factory=dict
    )  # what the page last asked of a budget and a release
    revision: int = 1
    lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        self._undo: list[Document] = []
        self._redo: list[Document] = []
        self._problems: dict[str, tuple[Any, str | None]] = {}
        self._written = _digest(self.schema_path)
        self._asking, self._last = Lock(), 0

    @property
    def id(self) -> str:
        return project_id(self.data, self.schema_path)

    @classmethod
    def open(cls, data: Data, schema_path: Path) -> Project:
        """Go on with the schema at the path, or draft one there from names, types and the form of the file."""
        remarks: Sequence[str] = ()
        if not schema_path.exists():
            drafted = data.draft()
            remarks = drafted.remarks
            _write(schema_path, str(drafted))
        document = Document.parse(Schema.text(schema_path))
        return cls(data, schema_path, document, data.names(document), list(remarks))

    # Asking

    @property
    def folder(self) -> Path:
        return self.schema_path.parent

    def schema(self) -> Schema:
        """The complete schema, with a column for each name that its patterns serve."""
        self.reload()
        return self.document.schema(self.folder).expand(self.names)

    def rows(self) -> list[Declaration]:
        return self.document.declarations(self.names, self.folder, self._problems)

    def _shown(self) -> dict[str, Declaration]:
        return {row.name: row for row in self.rows()}

    def state(self, since: dict[str, Declaration] | None = None) -> dict[str, Any]:
        """All that the page shows of the schema; of the columns only those that differ from `since`."""
        rows = self.rows()
        shown = [_row(row) for row in rows if since is None or since.get(row.name) != row]
        table = {key: item for key, item in self.document.table.items() if key != "columns"}
        return {
            "id": self.id,
            "data": asdict(self.data),
            "words": self.data.words,
            "schema_path": str(self.schema_path),
            "revision": self.revision,
            "partial": since is not None,
            "columns": shown,
            "order": [row.name for row in rows]
            if since is None or since.keys() != {r.name for r in rows}
            else None,
            "count": len(self.names),
            "absent": [row.name for row in rows[len(self.names) :]],
            "gaps": sum(row.problem is not None for row in rows),
            "general": self._general(rows),
            "table": _plain(table),
            "defaults": _plain(self.document.defaults),
            "account": str(table.get("account", table.get("name", "table"))),
            "can_undo": bool(self._undo),
            "can_redo": bool(self._redo),
            "remarks": self.remarks,
            "settings": self.settings,
        }

    def _general(self, rows: list[Declaration]) -> list[str]:
        """What is wrong with the schema as a whole, once every declaration is complete."""
        if any(row.problem for row in rows):
            return []
        try:
            self.document.schema(self.folder).expand(self.names)
        except SchemaError as problem:
            return [str(problem)]
        return []

    @contextmanager
    def asked(self) -> Iterator[Callable[[], bool]]:
        """One long question at a time; what is yielded tells whether another was asked meanwhile."""
        self._last += 1
        number = self._last
        with self._asking:
            yield lambda: number == self._last

    # Changing

    def change(self, revision: int, edit: Callable[[Document], Document]) -> dict[str, Any]:
        """Apply an edit, write the file, and return what changed."""
        with self.lock:
            self._fresh(revision)
            before, shown, after = self.document, self._shown(), edit(self.document)
            if after != before:
                self._become(after)
                self._undo, self._redo = [*self._undo[-_UNDONE:], before], []
            return self.state(since=shown)

    def undo(self, revision: int, *, redo: bool = False) -> dict[str, Any]:
        with self.lock:
            self._fresh(revision)
            before, shown = self.document, self._shown()
            source, sink = (self._redo, self._undo) if redo else (self._undo, self._redo)
            if source:
                self._become(source[-1])
                source.pop()
                sink.append(before)
            return self.state(since=shown)

    def reload(self) -> bool:
        """Read the file again where something else has written it."""
        with self.lock:
            if _digest(self.schema_path) == self._written:
                return False
            document = Document.parse(Schema.text(self.schema_path))
            self._undo, self._redo = [*self._undo[-_UNDONE:], self.document], []
            self.document, self.names = document, self.data.names(document)
            self._written, self.revision = _digest(self.schema_path), self.revision + 1
            return True

    def _fresh(self, revision: int) -> None:
        if self.reload() or revision != self.revision:
            raise Stale(
                "The schema was changed in another tab or by another program; the page now shows it, and your last "
                "change was not made."
            )

    def _become(self, document: Document) -> None:
        text = document.dumps()
        if Document.parse(text) != document:  # never write what would be read as something else
            raise SchemaError(
                "This change cannot be written to the schema; undo it, and edit the file by hand."
            )
        _write(self.schema_path, text)
        if document.table.get("csv") != self.document.table.get("csv") or document.table.get(
            "excel"
        ) != self.document.table.get("excel"):
            self.names = self.data.names(document)
        self.document, self._written, self.revision = document, _digest(self.schema_path), self.revision + 1


def project_id(data: Data, schema_path: Path) -> str:
    """The same after a restart, so that an address of the page stays good."""
    return hashlib.sha256(repr((data, str(schema_path))).encode("utf-8", "replace")).hexdigest()[:16]


def _row(row: Declaration) -> dict[str, Any]:
    return {
        "name": row.name,
        "by": row.by,
        "keys": _plain(row.keys),
        "problem": row.problem,
        "hint": suggestion(row.name, row.keys),
    }


def _plain(item: Any) -> Any:
    if isinstance(item, date):
        return item.isoformat()
    if isinstance(item, dict):
        return {key: _plain(part) for key, part in item.items()}
    return [_plain(part) for part in item] if isinstance(item, list | tuple) else item


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    """The whole file or the old one, whatever happens in between."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".partial", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)
            os.replace(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as problem:
        raise OutputError(f"The schema {str(path)!r} cannot be written ({problem.strerror}).") from None
