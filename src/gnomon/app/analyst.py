"""For analysts: a release folder, which may come from anybody."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa

from gnomon.app.actions import action
from gnomon.app.jobs import Job
from gnomon.app.releasing import promise
from gnomon.app.workspace import Workspace
from gnomon.errors import DataError
from gnomon.release.folder import Opened
from gnomon.release.folder import open_release as read_release
from gnomon.release.verify import verify as verify_release

SHOWN = 20  # released rows on the page
LARGEST_PAGE = 2**25  # bytes of a report


@action
def open_folder(work: Workspace, *, path: str) -> dict[str, Any]:
    """gn.open_release, without the replay, which `verify` does."""
    folder = work.places.inside(path)
    opened = read_release(folder)
    id = hashlib.sha256(str(folder).encode("utf-8", "replace")).hexdigest()[:16]
    work.releases[id] = opened
    certificate = opened.certificate
    return {
        "id": id,
        "path": str(folder),
        "title": opened.schema.name,
        "method": certificate.method,
        "rows": certificate.released_rows,
        "columns": [column.name for column in opened.schema.released],
        "synthetic": opened.synthetic,
        "components": opened.map.components_only,
        "files": sorted(certificate.files),
        **promise(certificate),
    }


@action
def view_report(work: Workspace, *, id: str) -> dict[str, Any]:
    """An address for the report of a release, which is shown without scripts or requests."""
    return {"address": work.ticket(_page(work.release(id)))}


def _page(opened: Opened) -> str:
    file = _own(opened, "report.html")
    if file.stat().st_size > LARGEST_PAGE:
        raise DataError("The report of this release is too long to be shown.")
    return file.read_text(encoding="utf-8", errors="replace")


def _own(opened: Opened, name: str) -> Path:
    """A file of the folder itself: a link in a folder from elsewhere could lead anywhere."""
    file = opened.path / name
    if file.is_symlink() or not file.is_file():
        raise DataError(f"The release has no file {name}; ask its publisher for a whole copy.")
    return file


@action
def certificate(work: Workspace, *, id: str) -> dict[str, Any]:
    text = _own(work.release(id), "certificate.yaml").read_text(encoding="utf-8", errors="replace")
    return {"text": text[: 2**20]}


@action
def released_rows(work: Workspace, *, id: str) -> dict[str, Any]:
    """The first released rows."""
    opened = work.release(id)
    _own(opened, opened.data_file)
    return as_cells(opened.data.slice(0, SHOWN))


@action
def draw_rows(work: Workspace, *, id: str, rows: int) -> dict[str, Any]:
    """gnomon sample: fresh rows from the model, which cost nothing; the first are shown."""
    if not 1 <= rows <= SHOWN:
        raise DataError(
            f"The page draws from 1 to {SHOWN} rows; 'gnomon sample' writes any number to a file."
        )
    return as_cells(pa.concat_tables(work.release(id).model.given_batches(rows, secrets.randbits(62), None)))


def as_cells(table: pa.Table) -> dict[str, Any]:
    """Rows as text, for a page."""
    rows = [
        [_text(cell) for cell in row] for row in zip(*(c.to_pylist() for c in table.columns), strict=True)
    ]
    return {"names": table.column_names, "rows": rows}


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


@action
def verify(work: Workspace, *, path: str, key: str | None = None) -> dict[str, Any]:
    """gnomon verify."""
    folder = work.places.inside(path)
    public = None if not key else work.places.inside(key)

    def run(job: Job) -> dict[str, Any]:
        found = verify_release(folder, key=public, progress=job)
        signature = found.signature
        return {
            "path": str(folder),
            "files": len(found.release.certificate.files),
            "replayed": found.replayed,
            "signed": None if signature is None else signature.fingerprint,
            "checked": public is not None,
            "notes": list(found.notes),
            **promise(found.release.certificate),
        }

    return work.jobs.start(Job("verify", None, passes=1), run).status()
