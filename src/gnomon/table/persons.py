"""Rows of persons: at most k rows of each reach a release, by a choice that depends on that person's rows alone.

Every encoded row has a rank, a keyed hash of its person and its content; the k rows of a person with the smallest ranks
are used. The key comes fresh from the operating system for each release and is never published.

Claim. For every key, the bounded rows of a table with a person more are those of the table without, and at most k rows
of that person. Proof: the rank of a row depends on its person and its content, and rows of equal rank are equal (ties
are broken by content), so that the multiset chosen of a person's rows is a function of the multiset of that person's
rows. It depends neither on the order of rows, nor on batches or partitions, nor on other persons: the k smallest of a
union are the k smallest of the k smallest of its parts, which lets every part be bounded on its own first. Two persons
are taken for one only if their 128-bit keyed hashes collide, with probability below 2^-68 for 2^30 persons. All rows
without a person (a missing cell) count as one person.

A table that does not fit into memory is partitioned by the hash of the person into unnamed temporary files, which only
their owner can read and which vanish with the process; then it is bounded partition by partition. A cluster does the
same with committed files (`engine/shuffle.py`).
"""

from __future__ import annotations

import hashlib
import re
import secrets
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.table.cells import value_codes
from gnomon.table.column import value_key
from gnomon.table.rows import IN_MEMORY, Layout, Rows, batch_rows

Records = npt.NDArray[np.int32]  # (n, IDENTITY + m + ...): the hash of the person, then cells and target
IDENTITY = 4  # 32-bit numbers of a person's hash
PARTITIONS = 256
CHUNK = 2**26  # bytes of a partition that are bounded at a time
BUFFER = 2**16  # bytes
_FRACTION = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")


def fresh_key() -> bytes:
    """The key of one release."""
    return secrets.token_bytes(32)


@dataclass(frozen=True)
class Bounding:
    """Which column names the person of a row, and how many rows of a person are used."""

    person: str
    most: int
    key: bytes = field(default_factory=lambda: fresh_key(), repr=False)

    def identities(self, array: pa.Array) -> Records:
        """The keyed hashes (n, IDENTITY) of the persons: the same for 7, 7.0, "7" and "7.00", one for all missing cells."""
        values, places = value_codes(array)
        hashed = b"".join(self._hash(b"person", _identity(value)) for value in values)
        found: Records = np.frombuffer(hashed, np.int32).reshape(-1, IDENTITY)[places]
        return found

    def chosen(self, records: Records) -> Records:
        """At most `most` rows of every person, those of the smallest ranks."""
        if len(records) <= self.most:
            return records
        persons = np.ascontiguousarray(records[:, :IDENTITY]).view(np.int64)
        order = np.lexsort((persons[:, 1], persons[:, 0]))
        sorted_ = persons[order]
        starts = np.flatnonzero(np.r_[True, (sorted_[1:] != sorted_[:-1]).any(axis=1)])
        sizes = np.diff(np.r_[starts, len(records)])
        crowded = sizes > self.most
        if not crowded.any():
            return records
        kept = [order[np.repeat(~crowded, sizes)]]
        for start, size in zip(starts[crowded], sizes[crowded], strict=True):
            mine = order[start : start + size]
            content = [records[place].tobytes() for place in mine]
            ranked = sorted(
                (self._hash(b"row", row), row, place) for row, place in zip(content, mine, strict=True)
            )
            kept.append(np.array([place for _, _, place in ranked[: self.most]]))
        found: Records = records[np.concatenate(kept)]
        return found

    def _hash(self, purpose: bytes, content: bytes) -> bytes:
        return hashlib.blake2b(content, digest_size=4 * IDENTITY, key=self.key, person=purpose).digest()


def _identity(value: Any) -> bytes:
    if value is None or value != value:
        return b""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, Decimal) and value.is_finite():
        value = format(value, "f")
    text = value_key(value)
    if _FRACTION.fullmatch(text):  # the type of a batch must not decide who is who
        text = text.rstrip("0").rstrip(".")
    return b"=" + text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class BoundedMap:
    """Batches to records of which a batch holds at most k a person: the row map of an engine."""

    bounding: Bounding
    encode: Callable[[Any], Rows]

    def __call__(self, batch: pa.RecordBatch) -> Records:
        rows = self.encode(batch)
        beside = [part[:, None] for part in (rows.codes, rows.target) if part is not None]
        persons = self.bounding.identities(batch.column(self.bounding.person))
        return self.bounding.chosen(np.concatenate([persons, rows.cells, *beside], axis=1, dtype=np.int32))


class BoundedRecords:
    """Records of persons, appended in any order; afterwards the bounded ones, partition by partition."""

    def __init__(self, bounding: Bounding, in_memory: int = IN_MEMORY) -> None:
        self._bounding, self._limit = bounding, in_memory
        self._held: list[Records] = []
        self._bytes = 0
        self._files: list[IO[bytes]] = []
        self._width = IDENTITY

    def append(self, records: Records) -> None:
        self._width = records.shape[1]
        if not self._files:
            self._held.append(records)
            self._bytes += records.nbytes
            if self._bytes <= self._limit:
                return
            self._files = [
                tempfile.TemporaryFile(prefix="gnomon-", buffering=BUFFER)  # noqa: SIM115 - they live as long as this
                for _ in range(PARTITIONS)
            ]
            weakref.finalize(self, _close, self._files)
            for part in self._held:
                self._spill(part)
            self._held = []
            return
        self._spill(records)

    def _spill(self, records: Records) -> None:
        together, ends = by_person(records, PARTITIONS)
        for file, start, end in zip(self._files, ends, ends[1:], strict=False):
            if end > start:
                file.write(together[start:end].data)

    def partitions(self) -> Iterator[Records]:
        """The rows that are used."""
        if not self._files:
            if self._held:
                yield self._bounding.chosen(np.concatenate(self._held))
            return
        for file in self._files:
            file.seek(0)
            held = np.zeros((0, self._width), np.int32)
            rows = max(1, CHUNK // (4 * self._width))
            while content := file.read(4 * self._width * rows):
                more = np.frombuffer(content, np.int32).reshape(-1, self._width)
                held = self._bounding.chosen(np.concatenate([held, more]))
            file.close()
            yield held


def _close(files: list[IO[bytes]]) -> None:
    for file in files:
        file.close()


def by_person(records: Records, partitions: int) -> tuple[Records, npt.NDArray[np.int64]]:
    """The records, partition after partition, and where each begins and ends; one person is in one partition."""
    place = np.ascontiguousarray(records[:, 0]).view(np.uint32) % partitions
    order = np.argsort(place, kind="stable")
    return records[order], np.searchsorted(place[order], np.arange(partitions + 1))


def as_rows(records: Records, layout: Layout) -> Iterator[Rows]:
    """Records as encoded rows, some at a time."""
    m, rows = layout.width, batch_rows(layout.width)
    for start in range(0, len(records), rows):
        some = records[start : start + rows, IDENTITY:]
        beside = np.ascontiguousarray(some[:, -1])
        yield Rows(
            np.ascontiguousarray(some[:, :m].T).T,
            beside.astype(np.int64) if layout.classes else None,
            beside if layout.number else None,
        )
