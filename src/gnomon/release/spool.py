"""Noisy rows, kept once: in memory while they are few, in an unnamed temporary file when they are many.

A row release draws the noise of a row once; drawing it again for a second look at the release would be a second
release. So the noisy integers are kept from `fit` on, and every later use reads them back. A batch is kept column by
column, as it was made and as it will be written, so that nothing is turned around on the way.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
IN_MEMORY = 2**26  # bytes
CHUNK = 2**16  # rows


class Spool:
    """Integer rows (n, width), appended once and read as often as wanted; what does not fit 32 bits is kept in 64."""

    def __init__(self, width: int, largest: float) -> None:
        self.width = width
        # `largest` bounds all but a chance below e^-40 of the values; those few are clipped, which is post-processing
        self._type: np.dtype[Any] = np.dtype(np.int32 if largest < 2**31 - 1 else np.int64)
        self._ends = [0]  # of the batches, in rows
        self._parts: list[npt.NDArray[Any]] = []
        self._file: IO[bytes] | None = None

    @property
    def rows(self) -> int:
        return self._ends[-1]

    def append(self, rows: Integers) -> None:
        end = 2 ** (8 * self._type.itemsize - 1) - 1
        kept = np.ascontiguousarray(np.clip(rows.T, -end, end), self._type)
        self._ends.append(self.rows + len(rows))
        if self._file is None and self.rows * self.width * self._type.itemsize <= IN_MEMORY:
            self._parts.append(kept)
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="gnomon-")  # noqa: SIM115 - lives as long as the spool
            weakref.finalize(self, self._file.close)
            for part in self._parts:
                self._file.write(part.data)
            self._parts = []
        self._file.write(kept.data)

    def chunks(self, rows: int = CHUNK) -> Iterator[npt.NDArray[Any]]:
        """The rows in order, in whole batches: as many as fit into `rows`, at least one."""
        batches: list[npt.NDArray[Any]] = []
        for batch in self._batches():
            if batches and sum(one.shape[1] for one in batches) + batch.shape[1] > rows:
                yield np.concatenate(batches, axis=1).T
                batches = []
            batches.append(batch)
        if batches:
            yield np.concatenate(batches, axis=1).T

    def take(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Some rows by their places."""
        held, found = list(self._batches()), np.empty((len(places), self.width), self._type)
        batch = np.searchsorted(self._ends, places, side="right") - 1
        for b in np.unique(batch):
            asked = batch == b
            found[asked] = held[b][:, places[asked] - self._ends[b]].T
        return found

    def _batches(self) -> Iterator[npt.NDArray[Any]]:
        """The batches (width, rows), read from the file only where they are looked at."""
        if self._file is None:
            yield from self._parts
            return
        self._file.flush()
        held = np.memmap(self._file, self._type, "r", shape=(self.rows * self.width,))
        for start, end in zip(self._ends, self._ends[1:], strict=False):
            yield held[start * self.width : end * self.width].reshape(self.width, end - start)

    def __getstate__(self) -> dict[str, Any]:
        """A pickled release carries its rows, whether they were in memory or in a file."""
        return {
            "width": self.width,
            "_type": self._type,
            "_ends": self._ends,
            "_parts": [np.array(batch) for batch in self._batches()],
            "_file": None,
        }
