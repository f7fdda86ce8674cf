"""What an engine does: encode rows once, fold queries over them, write mapped rows. Nothing else knows of threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from gnomon.table.persons import BoundedMap, BoundedRecords, Bounding, as_rows
from gnomon.table.rows import Layout, RowCache, Rows, RowSource

Integers = npt.NDArray[np.int64]
Progress = Callable[[str, int, int | None], None]
Batch = TypeVar("Batch", contravariant=True)


def quiet(stage: str, done: int, total: int | None) -> None:
    """The progress of a library call that nobody watches."""


class Summed(Protocol[Batch]):
    """What can be folded: integers that add up, so that every order and partition gives the same."""

    def zero(self) -> Integers: ...

    def of_batch(self, rows: Batch) -> Integers: ...


class Encodes(Protocol):
    """What turns the cells of a batch into rows on the grid."""

    @property
    def layout(self) -> Layout: ...

    @property
    def portable(self) -> bool: ...

    def encode(self, batch: Any) -> Rows: ...


class Kept(RowSource, Protocol):
    """Rows that were written once: every pass reads the same."""

    @property
    def n(self) -> int: ...


class Engine(Protocol):
    """Three verbs. Queries, encoders and row maps are plain values that can be pickled and sent to a worker."""

    def encode(
        self,
        source: RowSource,
        encoder: Encodes,
        *,
        bounding: Bounding | None = None,
        stage: str,
        progress: Progress = quiet,
    ) -> Kept:
        """The encoded rows of every part, read once and written once, where every later pass finds them.

        `bounding` says how many rows of a person are used; the others are left out.

        Parameters
        ----------
        source : the rows, in parts.
        encoder : how cells become integers.
        stage : the name of the pass, for progress.
        progress : called as parts are done.
        """
        ...

    def fold(
        self, source: RowSource, query: Summed[Any], *, stage: str, progress: Progress = quiet
    ) -> Integers:
        """zero + of_batch(rows) + of_batch(rows) + ... over all parts, exactly.

        Parameters
        ----------
        source : the rows, in parts.
        query : what is summed.
        stage : the name of the pass, for progress.
        progress : called as parts are done.
        """
        ...

    def write(
        self,
        source: RowSource,
        row_map: Callable[[Any], Any],
        sink: Callable[[Any], None],
        *,
        stage: str,
        progress: Progress = quiet,
    ) -> None:
        """Hand row_map(rows) of every part to the sink, once each.

        Parameters
        ----------
        source : the rows, in parts.
        row_map : what becomes of the rows of a part.
        sink : takes the result of a part.
        stage : the name of the pass, for progress.
        progress : called as parts are done.
        """
        ...


class OneProcess:
    """An engine whose parts never leave this process: what it encodes is kept in memory or in an unnamed file."""

    def encode(
        self: Any,
        source: RowSource,
        encoder: Encodes,
        *,
        bounding: Bounding | None = None,
        stage: str,
        progress: Progress = quiet,
    ) -> Kept:
        layout = encoder.layout
        cache = RowCache(layout.width, classes=layout.classes, number=layout.number)
        self.encode_into(cache.append, source, encoder, bounding, stage=stage, progress=progress)
        return cache

    def encode_into(
        self: Any,
        sink: Callable[[Rows], None],
        source: RowSource,
        encoder: Encodes,
        bounding: Bounding | None,
        *,
        stage: str,
        progress: Progress = quiet,
    ) -> None:
        """Hand the encoded rows to the sink; those of persons when all have been read."""
        if bounding is None:
            self.write(source, encoder.encode, sink, stage=stage, progress=progress)
            return
        records = BoundedRecords(bounding)
        self.write(
            source, BoundedMap(bounding, encoder.encode), records.append, stage=stage, progress=progress
        )
        for chosen in records.partitions():
            for rows in as_rows(chosen, encoder.layout):
                sink(rows)
