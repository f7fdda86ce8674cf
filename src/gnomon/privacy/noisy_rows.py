"""Noisy rows, kept once: in memory while they are few, in an unnamed temporary file when they are many.

A row release draws the noise of a row once; drawing it again for a second reading of the release would be a second
release. So the noisy integers are kept from `fit` on, and every later use reads them back. A batch is kept column by
column, as it was made and as it will be written, so that nothing is turned around on the way.

When all rows are there, `shuffle` puts them into a uniformly random order by the operating system's randomness, so that
the place of a released row says nothing of its record: post-processing, and free.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gnomon.privacy.noise.stream import random_uint64

Integers = npt.NDArray[np.int64]
IN_MEMORY = 2**26  # bytes
CHUNK = 2**16  # rows
BUCKETS = 2**7  # pairs of files that rows are scattered to, where they are too many for the memory
SCATTERED = 2**18  # rows at a time


class NoisyRows:
    """Integer rows (n, width), appended once and read as often as wanted; what does not fit 32 bits is kept in 64."""

    def __init__(self, width: int, largest: float, in_memory: int | None = None) -> None:
        self.width = width
        # `largest` bounds all but a chance below e^-40 of the values; those few are clipped, which is post-processing
        self._type: np.dtype[Any] = np.dtype(np.int32 if largest < 2**31 - 1 else np.int64)
        self._ends = [0]  # of the batches, in rows
        self._parts: list[npt.NDArray[Any]] = []
        self._file: IO[bytes] | None = None
        self._closing: weakref.finalize[[], NoisyRows] | None = None
        self._in_memory = in_memory  # bytes, IN_MEMORY where not said
        self._order: NoisyRows | None = (
            None  # the places that shuffled rows had; for the custodian, in no pickle
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._type

    @property
    def rows(self) -> int:
        return self._ends[-1]

    @property
    def size(self) -> int:
        """Bytes."""
        return self.rows * self.width * self._type.itemsize

    def append(self, rows: npt.NDArray[Any]) -> None:
        end = 2 ** (8 * self._type.itemsize - 1) - 1
        kept = np.ascontiguousarray(np.clip(rows.T, -end, end), self._type)
        self._ends.append(self.rows + len(rows))
        most = IN_MEMORY if self._in_memory is None else self._in_memory
        if self._file is None and self.size <= most:
            self._parts.append(kept)
            return
        if self._file is None:
            self._hold(tempfile.TemporaryFile(prefix="gnomon-"))  # noqa: SIM115 - lives as long as this
            assert self._file is not None
            for part in self._parts:
                self._file.write(part.data)
            self._parts = []
        self._file.write(kept.data)

    def chunks(self, rows: int = CHUNK) -> Iterator[npt.NDArray[Any]]:
        """The rows in order, `rows` at a time and a last chunk of those that are left.

        Where a chunk ends follows from the number of rows alone, because releases show it (the row groups of a file, the
        draws of a chunk), and a replay keeps the same rows in other batches.
        """
        parts: list[npt.NDArray[Any]] = []
        lacking = rows
        for batch in self._batches():
            start = 0
            while start < batch.shape[1]:
                part = batch[:, start : start + lacking]
                parts.append(part)
                start += part.shape[1]
                lacking -= part.shape[1]
                if lacking == 0:
                    yield np.concatenate(parts, axis=1).T
                    parts, lacking = [], rows
        if parts:
            yield np.concatenate(parts, axis=1).T

    def shuffle(self) -> None:
        """Put the rows into a uniformly random order, which `permutation` tells; nobody can seed it.

        Few rows are sorted by independent random keys, drawn again should two be equal: given that all differ, every
        order is as likely. Many rows are scattered, each to an independent uniform bucket, and each bucket is shuffled.
        Uniform too: numbering the rows otherwise beforehand changes nothing in the law of what is done, so every order is
        as likely as every other.
        """
        numbers = NoisyRows(1, 2.0**62, self._in_memory)
        shuffled = NoisyRows(self.width, self._largest, self._in_memory)
        for rows, places in _shuffled(_numbered(self.chunks(SCATTERED)), self.size, self.rows, self._like):
            shuffled.append(rows)
            numbers.append(places[:, None])
        self._close()
        self._ends, self._parts = shuffled._ends, shuffled._parts
        if shuffled._file is not None and shuffled._closing is not None:
            shuffled._closing.detach()
            self._hold(shuffled._file)
        self._order = numbers

    def permutation(self) -> Integers | None:
        """The place that each shuffled row had in the table; None where that is not known (or nothing was shuffled)."""
        if self._order is None:
            return None
        places = [chunk[:, 0] for chunk in self._order.chunks()]
        return np.concatenate(places) if places else np.zeros(0, dtype=np.int64)

    @property
    def _largest(self) -> float:
        return 1.0 if self._type == np.int32 else 2.0**62

    def _like(self) -> NoisyRows:
        """Rows of this kind in a file, for a bucket."""
        return NoisyRows(self.width, self._largest, in_memory=0)

    def _hold(self, file: IO[bytes]) -> None:
        self._file, self._closing = file, weakref.finalize(self, file.close)

    def _close(self) -> None:
        if self._closing is not None:
            self._closing()
        self._file = self._closing = None

    def take(self, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Some rows by their places."""
        held, found = list(self._batches()), np.empty((len(places), self.width), self._type)
        batch = np.searchsorted(self._ends, places, side="right") - 1
        for b in np.unique(batch):
            asked = batch == b
            found[asked] = held[b][:, places[asked] - self._ends[b]].T
        return found

    def _batches(self) -> Iterator[npt.NDArray[Any]]:
        """The batches (width, rows), read from the file only where they are used."""
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
            "_closing": None,
            "_in_memory": self._in_memory,
            "_order": None,
        }


Numbered = tuple[npt.NDArray[Any], Integers]  # rows, and their places before


def _numbered(chunks: Iterator[npt.NDArray[Any]]) -> Iterator[Numbered]:
    done = 0
    for chunk in chunks:
        yield chunk, np.arange(done, done + len(chunk))
        done += len(chunk)


def _shuffled(
    parts: Iterator[Numbered], size: int, rows: int, empty: Callable[[], NoisyRows]
) -> Iterator[Numbered]:
    """The same rows in a random order; `size` bytes that exceed the memory are scattered first."""
    if size <= IN_MEMORY:
        held = list(parts)
        if held:
            order = random_order(rows)
            yield (
                np.concatenate([part for part, _ in held])[order],
                np.concatenate([n for _, n in held])[order],
            )
        return
    needed = -(-4 * size // IN_MEMORY)  # buckets of a quarter of the memory, about
    buckets = [
        (empty(), NoisyRows(1, 2.0**62, in_memory=0)) for _ in range(min(BUCKETS, 1 << needed.bit_length()))
    ]
    for part, places in parts:
        bucket = random_uint64(len(part)) % np.uint64(len(buckets))  # a power of two, so uniform
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(1, len(buckets), dtype=np.uint64))
        for mine, (kept, numbers) in zip(np.split(order, ends), buckets, strict=True):
            if len(mine):
                kept.append(part[mine])
                numbers.append(places[mine][:, None])
    for kept, numbers in buckets:
        pairs = zip(kept.chunks(SCATTERED), numbers.chunks(SCATTERED), strict=True)
        scattered = ((part, places[:, 0]) for part, places in pairs)
        yield from _shuffled(scattered, kept.size, kept.rows, empty)
        kept._close()
        numbers._close()


def random_order(n: int) -> Integers:
    """A uniformly random permutation of 0 .. n - 1, from no seed."""
    while True:
        keys = random_uint64(n)
        order = np.argsort(keys)
        if n < 2 or bool((np.diff(keys[order]) > 0).all()):
            return order
