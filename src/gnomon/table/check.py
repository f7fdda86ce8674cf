"""Does a table fit its schema: counts by column for the custodian, and what every method needs to start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.errors import DataError
from gnomon.table.cells import UNKNOWN, Mask
from gnomon.table.codec import Codec, codec, target_codec
from gnomon.table.column import Column
from gnomon.table.schema import Schema
from gnomon.table.source import Source

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class ColumnCheck:
    """Counts of one column's cells; they are private and stay with the custodian."""

    name: str
    missing: int = 0
    out_of_bounds: int = 0  # clipped by a release
    unknown: int = 0  # categories that the schema does not declare
    alien: int = 0  # text in a number column, a number in a date column, ...
    problem: str | None = None  # why a release would refuse the column
    remark: str | None = None  # what a custodian should know, and a release must not depend on

    def __add__(self, other: ColumnCheck) -> ColumnCheck:
        return ColumnCheck(
            self.name,
            self.missing + other.missing,
            self.out_of_bounds + other.out_of_bounds,
            self.unknown + other.unknown,
            self.alien + other.alien,
        )


@dataclass(frozen=True)
class CheckReport:
    """What `check` found; not for release."""

    rows: int
    columns: tuple[ColumnCheck, ...]
    problems: tuple[str, ...]  # sentences: why a release would refuse the table
    undeclared: tuple[str, ...]  # columns of the table that the schema does not name; never read
    remarks: tuple[str, ...] = ()  # sentences that do not keep a table from being released

    @property
    def ok(self) -> bool:
        """Whether a release would accept the table (cells out of bounds are clipped, not refused)."""
        return not self.problems


def require_usable(source: Source, schema: Schema) -> None:
    """Refuse what no method can work with, by the names and the number of rows, which are public."""
    for problem in _lacking(source, schema):
        raise DataError(problem)
    rows = source.n_rows()
    if rows < 2:
        raise DataError(_too_few(source, rows))


def check(source: Source, schema: Schema, progress: Progress | None = None) -> CheckReport:
    """Read every released cell once and count those that do not fit."""
    problems = list(_lacking(source, schema))
    present = [column for column in schema.released if column.name in source.names]
    tallies = [_Tally(column) for column in present]
    total = source.n_rows() if progress else None
    rows = 0
    for batch in source.batches([column.name for column in present], raw=True) if present else ():
        for tally, array in zip(tallies, batch.columns, strict=True):
            tally.add(array)
        rows += batch.num_rows
        if progress:
            progress("checking", rows, total)
    if present and rows < 2:
        problems.append(_too_few(source, rows))
    reports = tuple(tally.report() for tally in tallies)
    problems += [report.problem for report in reports if report.problem]
    declared = {column.name for column in schema.columns}
    remarks = tuple(report.remark for report in reports if report.remark)
    undeclared = tuple(n for n in source.names if n not in declared)
    return CheckReport(rows, reports, tuple(problems), undeclared, remarks)


class _Tally:
    """The counts of one column while batches come in."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.counts = ColumnCheck(column.name)
        self.seen: set[int] = set()
        self.merged = False  # whole numbers that came as floats, which cannot tell them apart
        self._codec = _reader(column)

    def add(self, array: pa.Array) -> None:
        values, missing, alien = self._codec.read(array)
        self.merged |= self.column.wide and values.dtype.kind == "f"
        absent = np.zeros(len(values), dtype=bool) if missing is None else missing.copy()
        if values.dtype.kind == "f":
            absent |= np.isnan(values)
        foreign = np.zeros(len(values), dtype=bool) if alien is None else alien
        absent &= ~foreign
        good = ~(absent | foreign)
        category = self.column.kind == "category"
        unknown = int(np.count_nonzero((values == UNKNOWN) & good)) if category else 0
        if self._codec.kind == "class":
            self.seen.update(np.unique(values[good]).tolist())
        self.counts += ColumnCheck(
            self.column.name,
            missing=int(np.count_nonzero(absent)),
            out_of_bounds=self._outside(values, good),
            unknown=unknown,
            alien=int(np.count_nonzero(foreign)),
        )

    def _outside(self, values: NDArray[Any], good: Mask) -> int:
        limits = self._codec.limits
        if limits is None or self.column.estimate:
            return 0
        return int(np.count_nonzero(((values < limits[0]) | (values > limits[1])) & good))

    def report(self) -> ColumnCheck:
        return replace(self.counts, problem=next(self._problems(), None), remark=self._remark())

    def _remark(self) -> str | None:
        """Properties of the whole table: a refusal here would tell one record's label by whether there is a release."""
        if self._codec.kind == "class" and len(self.seen) == 1:
            return f"The target {self.column.name!r} has one class only in this table; there is little to learn from it."
        return None

    def _problems(self) -> Iterator[str]:
        counts, name = self.counts, self.column.name
        if self.merged:
            yield (
                f"The column {name!r} is declared beyond 2^51 and holds floating-point numbers, which cannot tell such "
                "integers apart (pandas turns integers beside a missing cell into them); store it as integers, in "
                "pandas as Int64, or leave out integer = true."
            )
        if counts.alien:
            yield (
                f"The column {name!r} has {counts.alien} cells that are not {self._codec.cells_are}; "
                "repair them, or declare another kind."
            )
        if counts.unknown and self.column.other is None:
            what = "class" if self.column.role == "target" else "category"
            yield (
                f"The column {name!r} has {counts.unknown} cells with a {what} that the schema lacks; "
                "add it to values, or declare other."
            )
        if counts.missing and self.column.missing == "refuse":
            yield (
                f"The column {name!r} has {counts.missing} missing cells; repair them, or declare "
                'missing = "fill" or "indicator".'
            )


def _reader(column: Column) -> Codec:
    if column.estimate:
        # Reading needs no bounds, so any will do in place of those that are still to be paid for.
        column = Column(name=column.name, kind="number", low=0, high=1, role=column.role)
    return target_codec(column) if column.role == "target" else codec(column)


def _lacking(source: Source, schema: Schema) -> Iterator[str]:
    for column in schema.released:
        if column.name not in source.names:
            role = "target" if column.role == "target" else "column"
            yield (
                f"{source.label} has no {role} {column.name!r}; its columns are {', '.join(source.names)}: "
                "correct the schema or the table."
            )


def _too_few(source: Source, rows: int) -> str:
    return f"{source.label} has {rows} row{'' if rows == 1 else 's'}; a release needs at least 2."
