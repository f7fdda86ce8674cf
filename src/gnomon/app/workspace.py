"""What a server remembers: projects, work under way, opened releases, and a file of what was open before."""

from __future__ import annotations

import json
import os
import secrets
import time
from dataclasses import asdict
from pathlib import Path
from threading import RLock
from typing import Any

from gnomon.app.jobs import Jobs
from gnomon.app.places import Places
from gnomon.app.project import Data, Project, project_id
from gnomon.errors import DataError, GnomonError, ParameterError
from gnomon.privacy.ledger import Ledger
from gnomon.release.folder import Opened
from gnomon.release.verify import open_release as open_verified

RECENT = 20
OPENED = 8  # releases at a time
_TICKET_SECONDS = 60.0


class Workspace:
    """The state of one server; what matters of it lies in files: schemas, ledger, releases, journals."""

    def __init__(self, places: Places, ledger: Ledger | None = None) -> None:
        self.places = places
        self.ledger = Ledger() if ledger is None else ledger
        self.jobs = Jobs()
        self.releases: dict[str, Opened] = {}
        self._verified: dict[str, Opened] = {}
        self.touched = time.monotonic()
        self._memory = self.ledger.path.parent / "serve.json"
        self._projects: dict[str, Project] = {}
        self._tickets: dict[str, tuple[float, str]] = {}
        self._lock = RLock()

    def touch(self) -> None:
        self.touched = time.monotonic()

    # Projects

    def open(self, data: Data, schema_path: Path) -> Project:
        with self._lock:
            id = project_id(data, schema_path)
            if id not in self._projects:
                self._projects[id] = Project.open(data, schema_path)
                self._projects[id].settings = self._settings(id)
            self.remember(self._projects[id])
            return self._projects[id]

    def project(self, id: str) -> Project:
        """An open project, or one of those that were open before the server was last ended."""
        with self._lock:
            if id in self._projects:
                return self._projects[id]
            for item in self.recent():
                if item["id"] == id:
                    data = Data(**item["data"])
                    if data.path is not None:
                        self.places.inside(data.path)
                    return self.open(data, self.places.inside(item["schema_path"]))
        raise ParameterError("That table is not open any more; choose it again.")

    def remember(self, project: Project) -> None:
        """Paths and settings, for the next start; nothing of the rows."""
        item = {
            "id": project.id,
            "data": asdict(project.data),
            "words": project.data.words,
            "schema_path": str(project.schema_path),
            "settings": project.settings,
        }
        with self._lock:
            items = [item, *(old for old in self.recent() if old["id"] != project.id)][:RECENT]
            try:
                self._memory.parent.mkdir(parents=True, exist_ok=True)
                beside = self._memory.with_name(f".{self._memory.name}-{secrets.token_hex(4)}")
                with os.fdopen(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
                    json.dump(items, file)
                os.replace(beside, self._memory)
            except OSError:
                pass  # a convenience: without it the next start shows no list

    def recent(self) -> list[dict[str, Any]]:
        try:
            items = json.loads(self._memory.read_text(encoding="utf-8"))
            wanted = {"id", "data", "words", "schema_path", "settings"}
            return [item for item in items if isinstance(item, dict) and wanted <= item.keys()]
        except (OSError, ValueError, RecursionError, TypeError):
            return []

    def _settings(self, id: str) -> dict[str, Any]:
        found = next((item["settings"] for item in self.recent() if item["id"] == id), None)
        return found if isinstance(found, dict) else {}

    # Releases and pages

    def release(self, id: str) -> Opened:
        if id not in self.releases:
            raise ParameterError("That release is not open any more; choose its folder again.")
        return self.releases[id]

    def verified(self, id: str) -> Opened:
        """The same, once its files were found to be what its certificate says: a question trusts them."""
        opened = self.release(id)
        if id not in self._verified:
            if any(one.is_symlink() for one in opened.path.iterdir()):  # which could lead anywhere
                raise DataError(
                    "The release holds links instead of files; ask its publisher for a whole copy."
                )
            self._verified[id] = open_verified(opened.path, replay=False)
        return self._verified[id]

    def keep(self, id: str, opened: Opened) -> None:
        """Remember an opened release; of many the oldest is forgotten."""
        with self._lock:
            self.releases.pop(id, None)
            self._verified.pop(id, None)
            self.releases[id] = opened
            for old in list(self.releases)[:-OPENED]:
                self.releases.pop(old)
                self._verified.pop(old, None)

    def ticket(self, page: str) -> str:
        """An address that shows a page once, within a minute: a frame cannot send the token, and no address may hold it."""
        now = time.monotonic()
        with self._lock:
            self._tickets = {name: item for name, item in self._tickets.items() if item[0] > now}
            name = secrets.token_urlsafe(24)
            self._tickets[name] = (now + _TICKET_SECONDS, page)
        return f"/view/{name}"

    def admitted(self, name: str) -> str | None:
        with self._lock:
            until, page = self._tickets.pop(name, (0.0, ""))
        return page if until > time.monotonic() else None


def in_words(problem: GnomonError) -> dict[str, Any]:
    """A refusal as the page shows it."""
    return {"error": str(problem), "code": problem.exit_code}
