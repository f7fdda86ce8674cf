"""Encoded rows: whole numbers on one grid, written once and read by every pass.

A release reads its table once. The encoded cells go to memory or, beyond a limit, to an unnamed temporary file that
only its owner can read and that the operating system deletes when the process ends, however it ends. Every pass reads
these cells, so that no promise rests on two reads of a source returning the same rows in the same order.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

CELL = 2**30  # integer steps to a unit: an encoded cell lies in [-CELL, CELL]
IN_MEMORY = 2**26  # bytes
MOST_ROWS = 2**30  # of a table: a product of two grid steps is below 2^33, and their sums stay within 64 bits
BATCH = 16_384  # rows: a hundred columns of them stay near a processor's cache
BATCH_CELLS = 2**23  # of a batch, so that memory stays flat for thousands of columns

Cells = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Encoded rows: cells (n, m) on the grid CELL with contiguous columns, and the codes or the number of a target."""

    cells: Cells
    codes: Codes | None = None
    target: Cells | None = None

    @classmethod
    def of(cls, X: Floats, codes: Codes | None = None, numbers: Floats | None = None) -> Rows:
        """Rows from numbers in [-1, 1], each rounded to the grid on its own."""
        return cls(on_grid(X), codes, None if numbers is None else on_grid(numbers))

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def X(self) -> Floats:  # noqa: N802 - the field's name for a matrix of rows
        """The cells as numbers in [-1, 1]: exact, since a multiple of 1/CELL is a double."""
        return _numbers(self.cells)

    @property
    def numbers(self) -> Floats:
        """The target as numbers in [-1, 1]."""
        assert self.target is not None
        return _numbers(self.target)

    def take(self, chosen: npt.NDArray[Any]) -> Rows:
        """Some of the rows, by a mask or by places."""
        codes, target = self.codes, self.target
        return Rows(
            self.cells.T[:, chosen].T,
            None if codes is None else codes[chosen],
            None if target is None else target[chosen],
        )


def on_grid(X: Floats) -> Cells:
    """Numbers in [-1, 1] as cells, each rounded on its own."""
    scaled = np.multiply(X, float(CELL))
    return np.rint(scaled, out=scaled).astype(np.int32)


def _numbers(cells: Cells) -> Floats:
    found: Floats = cells.astype(np.float64)
    found *= 1.0 / CELL
    return found


def batch_rows(columns: int) -> int:
    """How many rows of so many columns are read at once."""
    return max(64, min(BATCH, BATCH_CELLS // max(1, columns)))


class Part(Protocol):
    """Some rows of a table that a worker can load by itself."""

    @property
    def rows(self) -> int: ...

    def load(self) -> Any: ...


class RowSource(Protocol):
    """Rows in parts, in any order: a table is a multiset."""

    def parts(self) -> Iterator[Part]: ...


@dataclass(frozen=True)
class Loaded:
    """A part that is in memory."""

    content: Any
    rows: int

    def load(self) -> Any:
        return self.content


@dataclass(frozen=True)
class Layout:
    """How encoded rows stand in a file: column by column, then the codes or the number of the target, 32 bits each."""

    width: int
    classes: bool = False
    number: bool = False

    def size(self, rows: int) -> int:
        """The bytes of some rows."""
        return 4 * rows * (self.width + int(self.classes) + int(self.number))

    def write(self, file: IO[bytes], rows: Rows) -> None:
        """Append rows as one block."""
        file.write(np.ascontiguousarray(rows.cells.T).data)
        if self.classes:
            assert rows.codes is not None
            file.write(rows.codes.astype(np.int32).data)
        if self.number:
            assert rows.target is not None
            file.write(np.ascontiguousarray(rows.target).data)

    def read(self, file: int, offset: int, rows: int) -> Rows:
        """The block at a place; a read of its own, so that threads do not share a position."""
        held = np.empty(self.size(rows) // 4, np.int32)
        view = held.view(np.uint8).data
        while view:
            count = os.preadv(file, [view], offset)
            if count == 0:
                raise OSError("the cache of encoded rows ends early")
            view, offset = view[count:], offset + count
        cells, rest = held[: rows * self.width].reshape(self.width, rows).T, held[rows * self.width :]
        return Rows(
            cells,
            rest[:rows].astype(np.int64) if self.classes else None,
            rest[-rows:] if self.number else None,
        )


@dataclass(frozen=True)
class _Kept:
    """A part in the cache's file."""

    cache: RowCache
    offset: int
    rows: int

    def load(self) -> Rows:
        return self.cache.read(self.offset, self.rows)


class RowCache:
    """The encoded rows of a table: appended once, then read in parts by any number of threads."""

    def __init__(
        self, width: int, *, classes: bool = False, number: bool = False, in_memory: int = IN_MEMORY
    ) -> None:
        self.layout, self._limit = Layout(width, classes, number), in_memory
        self._memory: list[Rows] = []
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._places: list[tuple[int, int]] = []  # byte offset and rows of the parts in the file
        self.n = 0

    def append(self, rows: Rows) -> None:
        self.n += len(rows)
        if self._file is None and self._bytes + rows.cells.nbytes <= self._limit:
            self._memory.append(rows)
            self._bytes += rows.cells.nbytes
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="gnomon-", buffering=0)  # noqa: SIM115 - lives as long as this
            weakref.finalize(self, self._file.close)
        self._places.append((self._file.tell(), len(rows)))
        self.layout.write(self._file, rows)

    def parts(self) -> Iterator[Part]:
        for held in self._memory:
            yield Loaded(held, len(held))
        for offset, rows in self._places:
            yield _Kept(self, offset, rows)

    def read(self, offset: int, rows: int) -> Rows:
        """The rows at a place of the file."""
        assert self._file is not None
        return self.layout.read(self._file.fileno(), offset, rows)
