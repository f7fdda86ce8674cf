"""A file that appears whole or not at all, and never over another one."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gnomon.errors import OutputError, ParameterError

if TYPE_CHECKING:
    import pyarrow as pa


@contextmanager
def new_file(out: Path, *, mode: int = 0o644) -> Iterator[Path]:
    """A path beside `out` to write to; it becomes `out` when all went well, and disappears otherwise."""
    parent = out.absolute().parent
    try:
        if out.exists() or out.is_symlink():
            raise OutputError(f"The file {str(out)!r} exists; choose another name or remove it first.")
        if not parent.is_dir():
            raise OutputError(f"The folder {str(parent)!r} does not exist; create it first.")
        handle, name = tempfile.mkstemp(prefix=f".{out.name}-", suffix=".partial", dir=parent)
    except OSError as problem:
        raise OutputError(f"The folder {str(parent)!r} is not writable ({problem.strerror}).") from None
    beside = Path(name)
    try:
        os.close(handle)
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.chmod(mode)
        beside.rename(out)
    except OSError as problem:
        raise OutputError(
            f"The file {str(out)!r} could not be written ({problem.strerror or type(problem).__name__}); "
            "nothing was left there."
        ) from None
    finally:
        beside.unlink(missing_ok=True)


def format_of(out: Path) -> str:
    """The format of a file of rows, by its ending."""
    if out.suffix not in (".parquet", ".csv"):
        raise ParameterError(
            f"The file {str(out)!r} must end in .parquet or .csv; give it one of these endings."
        )
    return out.suffix[1:]


def write_tables(file: Path, tables: Iterator[pa.Table], format: str) -> int:
    """Stream rows to a file; returns how many they were."""
    from gnomon.release.formats import FORMATS

    first = next(tables)
    rows = 0
    writer = FORMATS[format].writer(file, first.schema)
    try:
        for table in itertools.chain([first], tables):
            writer.write_table(table)
            rows += table.num_rows
    finally:
        writer.close()
    return rows
