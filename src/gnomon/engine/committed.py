"""Files that workers write once: the committer of every cluster engine.

A worker writes under a name of its own and then links the file to its final name, which succeeds once. Whoever comes
later (a task that ran twice, one that was thought lost) finds the name taken and leaves what is there, so that a record
is counted once and a row has one draw of noise. Files lie in a folder that only its owner can read. It is deleted when
its last user is gone, and after a crash by the next release that uses the same place.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import re
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gnomon.errors import EngineError
from gnomon.table.rows import Layout, Part, Rows, batch_rows

HERE = re.sub(
    r"\W", "", platform.node()
)  # a sweep leaves other machines' folders alone: not every file system shares locks
UNLINKED = (
    errno.EPERM,
    errno.ENOTSUP,
    errno.ENOSYS,
    errno.EMLINK,
)  # what file systems without hard links say
COMMITTER = "1"  # the way of committing, which must be the same on all workers
PREFIX, NEW, LOCK = f"gnomon-rows-{HERE}-", f"gnomon-new-{HERE}-", "lock"


class SharedFolder:
    """A folder of its owner's alone, under a place that the driver and all workers see by the same path."""

    def __init__(self, place: str | None = None) -> None:
        place = tempfile.gettempdir() if place is None else place
        try:
            _sweep(Path(place))
            new = Path(tempfile.mkdtemp(prefix=NEW, dir=place))
            lock = _locked(
                new / LOCK
            )  # before the name that a sweep looks for, so that none takes it for a leftover
            self.path = new.rename(new.with_name(new.name.replace(NEW, PREFIX)))
        except OSError as problem:
            raise EngineError(
                f"The shared folder {place!r} cannot be used: {problem.strerror}; name one that this process and all "
                "workers can write to."
            ) from None
        self._end = weakref.finalize(self, _delete, self.path, lock)

    def delete(self) -> None:
        self._end()


def _locked(path: Path) -> int:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _delete(path: Path, lock: int) -> None:
    """Under a name that a worker which was thought lost does not know, so that it can write nothing meanwhile."""
    gone = path.with_name(f"{path.name}-gone")
    with suppress(OSError):
        path.rename(gone)
    for one in (gone, path):
        shutil.rmtree(one, ignore_errors=True)
    os.close(lock)


def _sweep(place: Path) -> None:
    """Delete what a crashed release has left: nobody holds its lock."""
    for folder in place.glob(f"{PREFIX}*"):
        try:
            if folder.stat().st_uid == os.getuid():
                _delete(folder, _locked(folder / LOCK))
        except OSError:
            continue  # in use, or gone by now


def commit(path: str, write: Callable[[IO[bytes]], None]) -> None:
    """Let `write` fill a file and give it its final name, unless an earlier attempt has: then that one stands."""
    if os.path.exists(path):
        return
    temporary = f"{path}.{uuid.uuid4().hex}"
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        _link_once(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _link_once(temporary: str, path: str) -> None:
    try:
        with suppress(FileExistsError):
            os.link(temporary, path)
    except OSError as problem:
        if problem.errno in UNLINKED:
            raise EngineError(
                "The file system of the shared folder has no hard links, by which a file is committed once and no other "
                "way; name a shared folder on another file system."
            ) from None
        raise


@dataclass(frozen=True)
class Block:
    """Some encoded rows in a committed file: a part that any worker can load."""

    path: str
    layout: Layout
    offset: int
    rows: int

    def load(self) -> Rows:
        with open(self.path, "rb", buffering=0) as file:
            return self.layout.read(file.fileno(), self.offset, self.rows)


@dataclass(frozen=True)
class CommittedRows:
    """Encoded rows in committed files, which live as long as this does."""

    folder: SharedFolder
    blocks: tuple[Block, ...]

    @property
    def n(self) -> int:
        return sum(block.rows for block in self.blocks)

    def parts(self) -> Iterator[Part]:
        return iter(self.blocks)


def blocks_of(path: str, layout: Layout, rows: list[int]) -> list[Block]:
    """The blocks of one file, in their order; refuses a file of another length."""
    found, offset = [], 0
    for count in rows:
        found.append(Block(path, layout, offset, count))
        offset += layout.size(count)
    if not os.path.exists(path) or os.path.getsize(path) != offset:
        raise EngineError(
            "A file of encoded rows is not what its worker reported; check that the shared folder is one file system "
            "that the driver and all workers see."
        )
    return found


def pieces(item: Any) -> Iterator[Any]:
    """The content of a block, or of a fragment batch by batch."""
    if isinstance(item, Block):
        yield item.load()
    else:
        yield from item.batches(batch_rows(len(item.columns)))
