"""For analysts: a release folder, which may come from anybody."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from gnomon.app.actions import action
from gnomon.app.jobs import Job
from gnomon.app.releasing import promise
from gnomon.app.workspace import Workspace
from gnomon.commands.output import format_of, new_file, write_tables
from gnomon.commands.sample import conditions
from gnomon.errors import DataError, ParameterError
from gnomon.release.folder import Opened
from gnomon.release.folder import open_release as read_release
from gnomon.release.formats import FORMATS
from gnomon.release.verify import verify as verify_release
from gnomon.table.base import reading

SHOWN = 20  # released rows on the page
LARGEST_PAGE = 2**25  # bytes of a report


@action
def open_folder(work: Workspace, *, path: str) -> dict[str, Any]:
    """gn.open_release, without the replay, which `verify` does."""
    folder = work.places.inside(path)
    opened = read_release(folder)
    id = hashlib.sha256(str(folder).encode("utf-8", "replace")).hexdigest()[:16]
    work.keep(id, opened)
    certificate = opened.certificate
    return {
        "id": id,
        "path": str(folder),
        "title": opened.schema.name,
        "method": certificate.method,
        "rows": certificate.released_rows,
        "columns": [{"name": column.name, "kind": column.kind} for column in opened.schema.released],
        "synthetic": opened.synthetic,
        "records": opened.map.row_law is not None,
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
    """The first released rows; the file may be large, and no more of it is read."""
    opened = work.release(id)
    file = _own(opened, opened.data_file)
    with reading(f"The file {file.name} of the release"):
        if file.suffix == ".parquet":
            opened_file = pq.ParquetFile(file)
            first, schema = next(opened_file.iter_batches(batch_size=SHOWN), None), opened_file.schema_arrow
        else:
            stream = pyarrow.csv.open_csv(file)
            first, schema = next(iter(stream), None), stream.schema
        return as_cells(pa.Table.from_batches([] if first is None else [first.slice(0, SHOWN)], schema))


@action
def draw_rows(work: Workspace, *, id: str, rows: int, given: list[str] | None = None) -> dict[str, Any]:
    """gnomon sample: fresh rows from the model, which cost nothing; a few are shown."""
    if not 1 <= rows <= SHOWN:
        raise DataError(f"The page shows from 1 to {SHOWN} rows; write more of them to a file.")
    model = work.verified(id).model
    drawn = model.given_batches(rows, secrets.randbits(62), _conditions(model, given))
    return as_cells(pa.concat_tables(drawn))


@action
def draw_file(
    work: Workspace, *, id: str, rows: int, out: str, given: list[str] | None = None
) -> dict[str, Any]:
    """gnomon sample --out FILE."""
    if rows < 1:
        raise ParameterError("The number of rows must be at least 1.")
    path = work.places.new(out)
    format = format_of(path)
    model = work.verified(id).model
    FORMATS[format].check(model.data_schema_)
    condition = _conditions(model, given)

    def run(job: Job) -> dict[str, Any]:
        def told() -> Iterator[pa.Table]:
            count = 0
            for table in model.given_batches(rows, secrets.randbits(62), condition):
                count += table.num_rows
                job("drawing rows", count, rows)
                yield table

        with new_file(path) as file:
            write_tables(file, told(), format)
        return {"out": str(path), "rows": rows}

    return work.jobs.start(Job("draw", None, passes=1), run).status()


def _conditions(model: Any, given: list[str] | None) -> dict[str, Any] | None:
    return conditions(given or [], {c.name: c.kind for c in model.data_schema_.released}) or None


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
