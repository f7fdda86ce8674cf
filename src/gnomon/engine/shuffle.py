"""Rows of persons on a cluster: brought together by a shuffle through committed files, then bounded.

Every fragment becomes one file of records, in runs that are sorted by the bucket of their person. Then a task for every
bucket reads its records from all files, chooses the rows that are used, and commits them. A person is in one bucket, and
which of a person's rows are used depends on these rows alone (`table/persons.py`), so that a task that runs again, on
another worker, commits the same rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gnomon.engine.base import Encodes
from gnomon.engine.committed import commit, pieces
from gnomon.errors import EngineError
from gnomon.table.persons import CHUNK, IDENTITY, BoundedMap, Bounding, Records, as_rows, by_person
from gnomon.table.rows import Layout

BUCKET = 2**25  # bytes of records, as a rule
_NUMBER = np.dtype("<i8")


def buckets_for(rows: int, layout: Layout, tasks: int) -> int:
    """Enough for every slot of the cluster, and for one bucket to fit into a worker's memory."""
    size = layout.size(rows) + 4 * IDENTITY * rows
    return max(1, min(rows, max(tasks, -(-size // BUCKET))))


@dataclass(frozen=True)
class Scatter:
    """The records of a fragment as one committed file; returns the rows that were read, and the records that were kept.

    The file ends with where the buckets of every run end, counted in records, the rows, and the number of runs.
    """

    bounding: Bounding
    encoder: Encodes
    buckets: int

    def __call__(self, item: tuple[str, Any]) -> tuple[int, int]:
        path, fragment = item
        commit(path, lambda file: self._write(file, fragment))
        runs = Runs.of(path, self.buckets)  # of the file that stands, whoever has written it
        return runs.rows, runs.records

    def _write(self, file: IO[bytes], fragment: Any) -> None:
        record_map, rows, done = BoundedMap(self.bounding, self.encoder.encode), 0, 0
        ends = []
        for batch in pieces(fragment):
            together, places = by_person(record_map(batch), self.buckets)
            file.write(np.ascontiguousarray(together).data)
            ends.append(done + places)
            done, rows = done + len(together), rows + batch.num_rows
        file.write(np.concatenate([*ends, [rows, len(ends)]]).astype(_NUMBER).data)


@dataclass(frozen=True)
class Runs:
    """What the end of a file of records says."""

    rows: int
    ends: npt.NDArray[np.int64]  # (runs, buckets + 1), in records

    @classmethod
    def of(cls, path: str, buckets: int) -> Runs:
        with open(path, "rb") as file:
            size = _NUMBER.itemsize
            file.seek(-2 * size, os.SEEK_END)
            rows, runs = np.frombuffer(file.read(), _NUMBER).tolist()
            file.seek(-(2 + runs * (buckets + 1)) * size, os.SEEK_END)
            ends = np.frombuffer(file.read(runs * (buckets + 1) * size), _NUMBER)
        return cls(rows, ends.reshape(runs, buckets + 1))

    @property
    def records(self) -> int:
        return int(self.ends[-1, -1]) if len(self.ends) else 0


@dataclass(frozen=True)
class Gather:
    """The rows of one bucket that are used, as a committed file; returns the records read, and the rows of its blocks."""

    bounding: Bounding
    layout: Layout
    buckets: int
    paths: Sequence[str]

    def __call__(self, item: tuple[str, int]) -> tuple[int, list[int]]:
        path, bucket = item
        found, held, read = np.zeros((0, self._width), np.int32), [], 0
        for records in self._records(bucket):
            held.append(records)
            read += len(records)
            if sum(one.nbytes for one in held) > CHUNK:
                found, held = self.bounding.chosen(np.concatenate([found, *held])), []
        used = list(as_rows(self.bounding.chosen(np.concatenate([found, *held])), self.layout))

        def write(file: IO[bytes]) -> None:
            for rows in used:
                self.layout.write(file, rows)

        commit(path, write)
        return read, [len(rows) for rows in used]

    @property
    def _width(self) -> int:
        return IDENTITY + self.layout.size(1) // 4

    def _records(self, bucket: int) -> Iterator[Records]:
        for path in self.paths:
            ends = Runs.of(path, self.buckets).ends
            with open(path, "rb", buffering=0) as file:
                for start, end in ends[:, bucket : bucket + 2].tolist():
                    if end > start:
                        yield self._read(file.fileno(), start, end - start)

    def _read(self, file: int, start: int, records: int) -> Records:
        row = 4 * self._width
        content = os.pread(file, row * records, row * start)
        if len(content) != row * records:
            raise EngineError("A file of a person's rows ends early; check the shared folder, and run again.")
        return np.frombuffer(content, np.int32).reshape(records, self._width)
