"""Noisy rows, kept once: in memory while they are few, in an unnamed temporary file when they are many.

A row release draws the noise of a row once; drawing it again for a second look at the release would be a second
release. So the noisy integers are kept from `fit` on, and every later use reads them back.
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
        self.rows = 0
        # `largest` bounds all but a chance below e^-40 of the values; those few are clipped, which is post-processing
        self._type: np.dtype[Any] = np.dtype(np.int32 if largest < 2**31 - 1 else np.int64)
        self._parts: list[npt.NDArray[Any]] = []
        self._file: IO[bytes] | None = None

    def append(self, rows: Integers) -> None:
        end = 2 ** (8 * self._type.itemsize - 1) - 1
        kept = np.clip(rows, -end, end).astype(self._type, order="C")
        self.rows += len(kept)
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
        """The rows in order, at most `rows` at a time."""
        held = self._held()
        for start in range(0, self.rows, rows):
            yield np.array(held[start : start + rows])

    def take(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Some rows by their places."""
        return np.array(self._held()[places])

    def _held(self) -> npt.NDArray[Any]:
        if self._file is not None:
            self._file.flush()
            return np.memmap(self._file, self._type, "r", shape=(self.rows, self.width))
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0] if self._parts else np.zeros((0, self.width), self._type)

    def __getstate__(self) -> dict[str, Any]:
        """A pickled release carries its rows, whether they were in memory or in a file."""
        return {
            "width": self.width,
            "rows": self.rows,
            "_type": self._type,
            "_parts": [np.array(self._held())],
            "_file": None,
        }
