"""What all cluster engines share: tasks that read committed files, and nothing that is drawn or counted twice.

Encoded rows are written once before the first pass, and every fold reads those files: a task that runs again, on
another worker, adds the same integers. Sums come back to the driver, which draws their noise. Noisy rows are drawn by
the task that writes them, committed once, and read by the driver from the committed files only.
"""

from __future__ import annotations

import os
import platform
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from itertools import pairwise
from typing import IO, Any, Self

import numpy as np

from gnomon.engine.base import Encodes, Integers, Progress, Summed, quiet
from gnomon.engine.committed import COMMITTER, Block, CommittedRows, SharedFolder, blocks_of, commit, pieces
from gnomon.engine.local import LOCAL, one_blas_thread
from gnomon.engine.memory import reuse_heaps
from gnomon.engine.shuffle import Gather, Scatter, buckets_for
from gnomon.errors import EngineError, GnomonError
from gnomon.table.persons import Bounding
from gnomon.table.rows import Layout, Rows, RowSource

FILE_BLOCKS = 16  # of a file that the driver writes
LARGE = 2**24  # bytes of a sum
SPLIT_EVERY = 8  # sums that one task adds up
TASKS = 4  # of a fold, for every slot of the cluster: what a lost worker costs is a part of its share


def versions() -> dict[str, str]:
    """What must be equal on all machines for the same cells to become the same integers, committed once."""
    import pyarrow as pa

    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "gnomon": metadata.version("gnomon"),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "the committer": COMMITTER,
    }


def other_versions(worker: dict[str, str], driver: dict[str, str]) -> str | None:
    """What is wrong with a worker's versions, if anything is."""
    for name, version in driver.items():
        if worker.get(name) != version:
            return (
                f"A worker has {name} {worker.get(name)} and the driver {version}; install the same version."
            )
    return None


@dataclass(frozen=True)
class Outcome:
    """What a task came to. Problems are values, so that no cluster logs or ships a traceback that quotes cells."""

    value: Any = None
    problem: str | None = None

    def get(self) -> Any:
        if self.problem is not None:
            raise EngineError(self.problem)
        return self.value


@dataclass(frozen=True)
class Task:
    """A function of one item, as a worker runs it."""

    function: Callable[[Any], Any]
    expected: dict[str, str]

    def __call__(self, item: Any) -> Outcome:
        if problem := other_versions(versions(), self.expected):
            return Outcome(problem=problem)
        try:
            reuse_heaps()
            with one_blas_thread():  # the cluster has a task for every processor
                return Outcome(self.function(item))
        except GnomonError as refusal:
            return Outcome(problem=str(refusal))
        except OSError as error:
            why = error.strerror or "it failed"
            return Outcome(
                problem=f"A worker cannot read or write its files: {why}; the driver and all workers need the same "
                "paths, and one owner."
            )
        except Exception as error:  # its text may quote a cell
            return Outcome(problem=f"A task failed on a worker ({type(error).__name__}).")


def added(outcomes: Sequence[Outcome]) -> Outcome:
    """The sum of what some tasks came to, or the problem of one of them."""
    failed = next((one for one in outcomes if one.problem is not None), None)
    return failed or Outcome(np.sum([one.value for one in outcomes], axis=0, dtype=np.int64))


def commits(folder: str) -> str | None:
    """The path of a file that this worker has committed to a folder; None where it does not see the folder."""
    if not os.path.isdir(folder):
        return None
    path = os.path.join(folder, f"seen-{uuid.uuid4().hex}")
    commit(path, lambda file: None)
    return path


@dataclass(frozen=True)
class Fold:
    """The sum of a query over some blocks or fragments."""

    query: Summed[Any]

    def __call__(self, items: Sequence[Any]) -> Integers:
        total = self.query.zero()
        for item in items:
            for rows in pieces(item):
                total += self.query.of_batch(rows)
        return total


@dataclass(frozen=True)
class Encode:
    """The encoded rows of a fragment, committed as one file; returns its rows, and those of each block."""

    encoder: Encodes

    def __call__(self, item: tuple[str, Any]) -> tuple[int, list[int]]:
        path, fragment = item
        layout, counts = self.encoder.layout, []

        def write(file: IO[bytes]) -> None:
            for batch in pieces(fragment):
                layout.write(file, self.encoder.encode(batch))
                counts.append(batch.num_rows)

        commit(path, write)
        # an earlier attempt has committed the same rows in the same blocks, since a fragment does not change
        found = counts or [batch.num_rows for batch in pieces(fragment)]
        return sum(found), found


@dataclass(frozen=True)
class Write:
    """The mapped rows of some blocks, committed as one file of arrays. Only here do workers meet noise."""

    row_map: Callable[[Any], Any]

    def __call__(self, item: tuple[str, Sequence[Block]]) -> int:
        path, blocks = item

        def write(file: IO[bytes]) -> None:
            for block in blocks:
                np.save(file, self.row_map(block.load()), allow_pickle=False)

        commit(path, write)
        return sum(block.rows for block in blocks)


class ClusterEngine(ABC):
    """An engine whose tasks run on workers that share a folder with the driver."""

    place: str | None = None  # of the shared folder
    close: Callable[[], object]  # ends what this engine has started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def slots(self) -> int:
        """How many tasks the cluster runs at once."""

    @abstractmethod
    def each(self, task: Task, items: Sequence[Any]) -> Iterator[tuple[int, Outcome]]:
        """The outcome of every item, with its place, as they come."""

    @abstractmethod
    def total(self, task: Task, items: Sequence[Any], done: Callable[[int], None], *, large: bool) -> Outcome:
        """The outcomes of all items added up; `done` is called with the place of each as it comes.

        Where a sum is `large`, the driver is sent one and no more.
        """

    @abstractmethod
    def everywhere(self, task: Task, item: Any) -> Iterable[Outcome]:
        """The outcome of one item on every worker that there is, as far as the cluster tells workers apart."""

    def greet(self) -> None:
        """Refuse workers of other versions, and a folder that is not one for all, before any row is read."""
        folder = SharedFolder(self.place)
        try:
            for outcome in self.everywhere(self._task(commits), str(folder.path)):
                path = outcome.get()
                if path is None or not os.path.exists(path):
                    raise EngineError(
                        f"A worker does not see the folder {str(folder.path.parent)!r}; name a shared folder that this "
                        "process and all workers can write to."
                    )
        finally:
            folder.delete()

    def encode(
        self,
        source: RowSource,
        encoder: Encodes,
        *,
        bounding: Bounding | None = None,
        stage: str,
        progress: Progress = quiet,
    ) -> CommittedRows:
        folder = SharedFolder(self.place)
        fragments = _fragments(source) if encoder.portable else ()
        n = sum(fragment.rows for fragment in fragments)

        def done(rows: int) -> None:
            progress(stage, rows, n)

        try:
            if not fragments:
                blocks = _encoded_here(source, encoder, bounding, folder, stage, progress)
            elif bounding is None:
                blocks = self._committed(Encode(encoder), fragments, folder, encoder.layout, n, done)
            else:
                blocks = self._bounded(fragments, encoder, bounding, folder, n, done)
        except BaseException:
            folder.delete()
            raise
        return CommittedRows(folder, tuple(blocks))

    def _committed(
        self,
        function: Callable[[tuple[str, Any]], tuple[int, list[int]]],
        parts: Sequence[Any],
        folder: SharedFolder,
        layout: Layout,
        expected: int,
        done: Callable[[int], None],
    ) -> list[Block]:
        """The blocks of the files that tasks commit, one for each part; together they must have read `expected` rows."""
        items = [(str(folder.path / f"rows-{i:06}"), part) for i, part in enumerate(parts)]
        counts, read = [list[int]() for _ in items], 0
        for i, outcome in self.each(self._task(function), items):
            some, counts[i] = outcome.get()
            read += some
            done(read)
        _check_rows(read, expected)
        return [b for (path, _), c in zip(items, counts, strict=True) for b in blocks_of(path, layout, c)]

    def _bounded(
        self,
        fragments: Sequence[Any],
        encoder: Encodes,
        bounding: Bounding,
        folder: SharedFolder,
        n: int,
        done: Callable[[int], None],
    ) -> list[Block]:
        """The rows of persons that are used, by a shuffle: fragments to buckets of persons, buckets to rows."""
        layout = encoder.layout
        buckets = buckets_for(n, layout, TASKS * self.slots())
        moved = SharedFolder(self.place)
        try:
            scatter = [(str(moved.path / f"moved-{i:06}"), fragment) for i, fragment in enumerate(fragments)]
            read, records = 0, 0
            for _, outcome in self.each(self._task(Scatter(bounding, encoder, buckets)), scatter):
                rows, some = outcome.get()
                read, records = read + rows, records + some
                done(read // 2)  # half of the way
            _check_rows(read, n)
            gather = Gather(bounding, layout, buckets, [path for path, _ in scatter])
            return self._committed(
                gather,
                range(buckets),
                folder,
                layout,
                records,
                lambda found: done(n // 2 + found * (n - n // 2) // max(1, records)),
            )
        finally:
            moved.delete()

    def fold(
        self, source: RowSource, query: Summed[Any], *, stage: str, progress: Progress = quiet
    ) -> Integers:
        kept = getattr(source, "kept", source)
        items = kept.blocks if isinstance(kept, CommittedRows) else _fragments(source)
        if not items:
            return LOCAL.fold(source, query, stage=stage, progress=progress)
        groups, rows, n = self._groups(items), 0, sum(item.rows for item in items)

        def done(place: int) -> None:
            nonlocal rows
            rows += sum(item.rows for item in groups[place])
            progress(stage, rows, n)

        large = query.zero().nbytes > LARGE
        total: Integers = self.total(self._task(Fold(query)), groups, done, large=large).get()
        return total

    def write(
        self,
        source: RowSource,
        row_map: Callable[[Any], Any],
        sink: Callable[[Any], None],
        *,
        stage: str,
        progress: Progress = quiet,
    ) -> None:
        kept = getattr(source, "kept", source)
        if not isinstance(kept, CommittedRows):
            return LOCAL.write(source, row_map, sink, stage=stage, progress=progress)
        folder, groups = SharedFolder(self.place), self._groups(kept.blocks)
        items = [(str(folder.path / f"mapped-{i:06}"), group) for i, group in enumerate(groups)]
        try:
            rows = 0
            for _, outcome in self.each(self._task(Write(row_map)), items):
                rows += outcome.get()
                progress(stage, rows, kept.n)
            for path, group in items:  # only when all are committed does a reader see the first
                with open(path, "rb") as file:
                    for block in group:
                        mapped = np.load(file, allow_pickle=False)
                        _check_rows(len(mapped), block.rows)
                        sink(mapped)
        finally:
            folder.delete()

    def _task(self, function: Callable[[Any], Any]) -> Task:
        return Task(function, versions())

    def _groups(self, items: Sequence[Any]) -> list[Sequence[Any]]:
        """Neighbouring items together, a few groups for every slot."""
        count = min(len(items), max(1, TASKS * self.slots()))
        ends = [len(items) * i // count for i in range(count + 1)]
        return [items[start:end] for start, end in pairwise(ends)]


def _fragments(source: RowSource) -> Sequence[Any]:
    return source.fragments() if hasattr(source, "fragments") else ()


def _check_rows(found: int, expected: int) -> None:
    if found != expected:
        raise EngineError("The table gave another number of rows than it has; nothing was counted.")


def _encoded_here(
    source: RowSource,
    encoder: Encodes,
    bounding: Bounding | None,
    folder: SharedFolder,
    stage: str,
    progress: Progress,
) -> list[Block]:
    """Rows that only this process can read, or encode to the bit: the driver writes them for the workers."""
    layout = encoder.layout
    found: list[Block] = []
    held: list[Rows] = []

    def write_held(file: IO[bytes]) -> None:
        for rows in held:
            layout.write(file, rows)

    def commit_held() -> None:
        path = str(folder.path / f"rows-{len(found):06}")
        commit(path, write_held)
        found.extend(blocks_of(path, layout, [len(rows) for rows in held]))
        held.clear()

    def keep(rows: Rows) -> None:
        held.append(rows)
        if len(held) == FILE_BLOCKS:
            commit_held()

    LOCAL.encode_into(keep, source, encoder, bounding, stage=stage, progress=progress)
    if held:
        commit_held()
    return found
