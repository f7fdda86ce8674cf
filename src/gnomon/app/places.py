"""Files and folders on this machine that the page may see: those below the folders that the server was given."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.errors import DataError
from gnomon.table.files import TEXT

MOST = 2000  # entries of a folder that are listed
PARQUET = (".parquet", ".pq")
ENDINGS = {
    "table": (
        *PARQUET,
        *TEXT,
        ".jsonl",
        ".ndjson",
        ".xlsx",
        ".xlsm",
        ".arrow",
        ".feather",
        ".ipc",
        ".gz",
        ".zst",
    ),
    "schema": (".toml",),
    "codebook": (".csv", ".tsv", ".txt", ".json", ".jsonld"),
    "database": (".sqlite", ".sqlite3", ".db"),
    "key": (".pem",),
    "folder": (),
}


@dataclass(frozen=True)
class Places:
    """The folders that were given, and nothing outside them, whatever a link or `..` says."""

    roots: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Iterable[Path]) -> Places:
        found = dict.fromkeys(folder.expanduser().resolve() for folder in folders)
        for folder in found:
            if not folder.is_dir():
                raise DataError(f"The folder {str(folder)!r} does not exist; check the path.")
        return cls(tuple(found))

    def inside(self, text: str) -> Path:
        """The real path behind a text, refused where it lies elsewhere; it need not exist."""
        try:
            path = Path(text).expanduser()
            real = (path if path.is_absolute() else self.roots[0] / path).resolve()
        except (OSError, RuntimeError, ValueError):
            raise DataError("That path cannot be read; check it.") from None
        if not any(real.is_relative_to(root) for root in self.roots):
            raise DataError(
                f"The path {str(real)!r} lies outside the folders that this page may see; start 'gnomon serve' with "
                "its folder."
            )
        return real

    def new(self, text: str) -> Path:
        """A path for something new: its folder is checked, and the name may not lead elsewhere."""
        path = Path(text).expanduser()
        if path.name in ("", ".", ".."):
            raise DataError("Give the new file or folder a name.")
        return self.inside(str(path.parent)) / path.name

    def listing(self, text: str | None, purpose: str, search: str = "") -> dict[str, Any]:
        """Folders, and files that may serve the purpose; names only."""
        folder = self.roots[0] if text is None else self.inside(text)
        if not folder.is_dir():
            folder = folder.parent if folder.parent.is_dir() else self.roots[0]
            folder = self.inside(str(folder))
        try:
            entries = list(os.scandir(folder))
        except OSError as problem:
            raise DataError(f"The folder {str(folder)!r} cannot be read ({problem.strerror}).") from None
        kept = [one for one in entries if not one.name.startswith(".") and search.lower() in one.name.lower()]
        shown = sorted(filter(None, (_entry(one, purpose) for one in kept)), key=_order)
        above = folder.parent if any(folder.parent.is_relative_to(root) for root in self.roots) else None
        return {
            "path": str(folder),
            "above": None if above is None else str(above),
            "roots": [str(root) for root in self.roots],
            "entries": shown[:MOST],
            "left_out": max(0, len(shown) - MOST),
        }


def _entry(entry: os.DirEntry[str], purpose: str) -> dict[str, Any] | None:
    try:
        is_folder = entry.is_dir()
    except OSError:
        return None
    if is_folder:
        path = Path(entry.path)
        release = os.access(path / "certificate.yaml", os.R_OK)
        return {"name": entry.name, "path": entry.path, "folder": True, "release": release}
    if not entry.name.lower().endswith(ENDINGS.get(purpose, ())) or purpose == "folder":
        return None
    return {"name": entry.name, "path": entry.path, "folder": False, "release": False}


def _order(entry: dict[str, Any]) -> tuple[bool, str]:
    return (not entry["folder"], entry["name"].lower())
