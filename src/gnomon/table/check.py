"""Does a table fit its schema: counts by column for the custodian, and what every method needs to start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.errors import DataError, columns_instead
from gnomon.table.cells import UNKNOWN, Mask
from gnomon.table.codec import Codec, codec, target_codec
from gnomon.table.column import Column
from gnomon.table.persons import Bounding
from gnomon.table.schema import Schema
from gnomon.table.source import Source

Progress = Callable[[str, int, int | None], None]
MOST_HASHES = 2**23  # of the values of an identifier: 64 MB


@dataclass(frozen=True)
class ColumnCheck:
    """Counts of one column's cells; they are private and stay with the custodian."""

    name: str
    missing: int = 0
    out_of_bounds: int = 0  # clipped by a release
    unknown: int = 0  # categories that the schema does not declare
    alien: int = 0  # text in a number column, a number in a date column, ...
    problem: str | None = None  # why a strict release would refuse the column; never with a count
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
    problems: tuple[str, ...]  # sentences: why a strict release would refuse the table
    undeclared: tuple[str, ...]  # columns of the table that the schema does not name; never read
    remarks: tuple[str, ...] = ()  # sentences that do not keep a table from being released

    @property
    def ok(self) -> bool:
        """Whether a strict release would accept the table (cells out of bounds are clipped, not refused)."""
        return not self.problems


def require_usable(source: Source, schema: Schema) -> None:
    """Refuse what no method can work with, by the names and the number of rows, which are public."""
    for problem in _lacking(source, schema):
        raise DataError(problem)
    rows = source.n_rows()
    if rows < 2:
        raise DataError(_too_few(source, rows))


def refuse_misfits(source: Source, schema: Schema, progress: Progress | None = None) -> None:
    """For strict releases: refuse a table with a cell that does not fit, by its column and the rule, without a count."""
    for column in check(source, schema, progress).columns:
        if column.problem is not None:
            raise DataError(
                f"{column.problem} The release was asked to be strict; 'gnomon check' lists all problems."
            )


def check(source: Source, schema: Schema, progress: Progress | None = None) -> CheckReport:
    """Read every released cell once and count those that do not fit."""
    problems = list(_lacking(source, schema))
    present = [column for column in schema.released if column.name in source.names]
    keys = [c.name for c in schema.columns if c.kind == "identifier" and c.name in source.names]
    tallies, repeats = [_Tally(column) for column in present], [_Repeats(name) for name in keys]
    total = source.n_rows() if progress else None
    rows = 0
    names = [*(column.name for column in present), *keys]
    for batch in source.batches(names, raw=True) if present else ():
        for tally, array in zip(tallies, batch.columns, strict=False):
            tally.add(array)
        for repeated, array in zip(repeats, batch.columns[len(tallies) :], strict=True):
            repeated.add(array)
        rows += batch.num_rows
        if progress:
            progress("checking", rows, total)
    if present and rows < 2 and schema.person is None:
        problems.append(_too_few(source, rows))
    reports = tuple(tally.report() for tally in tallies)
    problems += [report.problem for report in reports if report.problem]
    declared = {column.name for column in schema.columns}
    remarks = [report.remark for report in reports if report.remark]
    remarks += [remark for one in repeats for remark in one.remarks(schema)]
    undeclared = tuple(n for n in source.names if n not in declared)
    return CheckReport(rows, reports, tuple(problems), undeclared, tuple(remarks))


class _Repeats:
    """How often the values of an identifier stand in the table, by their hashes; of many values, those of a sample."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._hashing = Bounding(name, 1)
        self._held: list[NDArray[np.int64]] = []
        self._size = 0
        self._level = 0  # only hashes with so many zero bits at their end are held
        self._missing = False

    def add(self, array: pa.Array) -> None:
        self._missing |= bool(array.null_count)
        hashes = np.ascontiguousarray(self._hashing.identities(array)).view(np.int64)[:, 0]
        self._held.append(self._thinned(hashes))
        self._size += len(self._held[-1])
        while self._size > MOST_HASHES:
            self._level += 1
            self._held = [self._thinned(np.concatenate(self._held))]
            self._size = len(self._held[0])

    def _thinned(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        return hashes[hashes & ((1 << self._level) - 1) == 0] if self._level else hashes

    def remarks(self, schema: Schema) -> Iterator[str]:
        counts = (
            np.unique(np.concatenate(self._held), return_counts=True)[1]
            if self._held
            else np.zeros(0, np.int64)
        )
        if self.name == schema.person:
            most = schema.rows_per_person or 1
            if self._missing:
                yield f"The person {self.name!r} is missing in some rows; all these rows count as one person."
            if (counts > most).any():
                left_out = float(np.maximum(counts - most, 0).sum() / max(1, counts.sum()))
                yield (
                    f"Some values of {self.name!r} stand in more than {most} row{'' if most == 1 else 's'}: "
                    f"a release would leave out about {left_out:.1%} of the rows."
                )
        elif schema.person is None and (counts > 1).any():
            yield (
                f"Values of the identifier {self.name!r} stand in more than one row, and the promise is for one row: if "
                f"they name persons, write person = {self.name!r} and rows_per_person into the [table] of the schema."
            )


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
        category = self.column.kind == "category" and not self.column.estimate
        unknown = int(np.count_nonzero((values == UNKNOWN) & good)) if category else 0
        if self._codec.kind == "class" and not self.column.estimate:
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
                f"The column {name!r} has cells that are not {self._codec.cells_are}; "
                "repair them, or declare another kind."
            )
        if counts.unknown and self.column.other is None:
            what = "class" if self.column.role == "target" else "category"
            yield (
                f"The column {name!r} has cells with a {what} that the schema lacks; "
                "add it to values, or declare other."
            )
        if counts.missing and self.column.missing == "refuse":
            yield (
                f"The column {name!r} has missing cells and no rule for them; repair them, or declare "
                'missing = "fill" or "indicator".'
            )


def _reader(column: Column) -> Codec:
    if column.estimate:
        # Reading needs no bounds, so any will do in place of those that are still to be paid for.
        column = Schema(columns=(column,)).with_any_estimates().columns[0]
    return target_codec(column) if column.role == "target" else codec(column)


def _lacking(source: Source, schema: Schema) -> Iterator[str]:
    if schema.person is not None and schema.person not in source.names:
        yield f"{source.label} has no column {schema.person!r}, which tells persons apart; correct the schema or the table."
    for column in schema.released:
        if column.name not in source.names:
            role = "target" if column.role == "target" else "column"
            instead = columns_instead(column.name, source.names)
            yield f"{source.label} has no {role} {column.name!r}; {instead}"


def _too_few(source: Source, rows: int) -> str:
    return f"{source.label} has {rows} row{'' if rows == 1 else 's'}; a release needs at least 2."
