"""A file that appears whole or not at all, and never over another one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gnomon.errors import OutputError


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
