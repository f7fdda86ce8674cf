"""What was measured: a line of JSON a cell and trial, kept in a file that survives a kill.

When a run ends, the trials of a cell become one line, so that the file of many trials stays small and can be committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gnomon.errors import DataError, OutputError
from gnomon.evaluation.measure import Measure
from gnomon.reproduce.experiment import Cell, Experiment, Key, Numbers

FILE = "trials.jsonl"
DIGITS = 6  # significant ones of a number in a cell's one line


@dataclass(frozen=True)
class Record:
    """One cell at one trial: its number or numbers, or the sentence that says why there is none.

    seconds: of processor time. Trials that the clock had timed got the mean of later ones of the same cell.
    """

    row: str
    column: str
    calibration: str
    trial: int
    value: Numbers | None
    error: str | None
    seconds: float
    date: str

    @property
    def key(self) -> Key:
        return (self.row, self.column, self.calibration)


class Journal:
    """The records of one experiment on disk. A line is written and synced whole; a torn last line is cut off."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                self._cut_torn_line()
        except OSError as problem:
            raise OutputError(f"The folder {str(folder)!r} is not writable ({problem.strerror}).") from None

    def _cut_torn_line(self) -> None:
        with self.path.open("r+b") as file:
            text = file.read()
            file.truncate(text.rfind(b"\n") + 1)

    def __iter__(self) -> Iterator[Record]:
        if not self.path.exists():
            return
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                yield from _records(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError):
                raise DataError(
                    f"Line {number} of {str(self.path)!r} is no record of a trial; remove that line and run again."
                ) from None

    def append(self, record: Record) -> None:
        try:
            with self.path.open("ab") as file:
                file.write(json.dumps(asdict(record)).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise OutputError(f"{str(self.path)!r} could not be written ({problem.strerror}).") from None

    def compact(self, results: Results) -> None:
        """Rewrite the file with one line a cell; what failed, and trials with gaps before them, keep their own lines."""
        lines = []
        for key in dict.fromkeys(key for key, _ in results.records):
            records = results.of(key)
            good = [record for record in records if record.error is None]
            count = next((n for n, record in enumerate(good) if record.trial != n), len(good))
            if count:
                lines.append(_together(key, good[:count]))
            lines += [
                asdict(record) for record in records if record.error is not None or record.trial >= count
            ]
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        fresh = self.path.with_suffix(".new")
        try:
            with fresh.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
        except OSError as problem:
            raise OutputError(f"{str(self.path)!r} could not be written ({problem.strerror}).") from None


def _together(key: Key, records: list[Record]) -> dict[str, object]:
    """The trials 0, 1, ... of one cell: a list of numbers, or one for each name (None where a trial lacks it)."""
    values: list[float | None] | dict[str, list[float | None]]
    if any(isinstance(record.value, Mapping) for record in records):
        named = [record.value if isinstance(record.value, Mapping) else {} for record in records]
        names = dict.fromkeys(name for value in named for name in value)
        values = {name: [_rounded(value.get(name)) for value in named] for name in names}
    else:
        values = [_rounded(record.value) for record in records]  # type: ignore[arg-type]
    row, column, calibration = key
    return {
        "row": row,
        "column": column,
        "calibration": calibration,
        "trials": len(records),
        "values": values,
        "seconds": round(sum(record.seconds for record in records), 3),
        "date": max(record.date for record in records),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def _records(line: dict[str, Any]) -> Iterator[Record]:
    """The record of a line, or the records of a cell's one line."""
    if "trials" not in line:
        yield Record(**line)
        return
    values, count = line["values"], line["trials"]
    key = (line["row"], line["column"], line["calibration"])
    for trial in range(count):
        if isinstance(values, dict):
            value: Any = {name: of[trial] for name, of in values.items() if of[trial] is not None}
        else:
            value = values[trial]
        yield Record(*key, trial, value, None, line["seconds"] / count, line["date"])


@dataclass
class Results:
    """The records of an experiment beside its cells; the last record of a cell and trial counts."""

    experiment: Experiment
    data: Path
    cells: list[Cell]
    records: dict[tuple[Key, int], Record] = field(default_factory=dict)
    _trials: dict[Key, dict[int, Record]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        self.records[record.key, record.trial] = record
        self._trials.setdefault(record.key, {})[record.trial] = record

    def has(self, cell: Cell, trial: int) -> bool:
        """Measured already; a trial that ended with an error is tried again."""
        record = self.records.get((cell.key, trial))
        return record is not None and record.error is None

    def of(self, key: Key) -> list[Record]:
        """The records of a cell by trial."""
        return [record for _, record in sorted(self._trials.get(key, {}).items())]

    def measure(self, row: str, column: str, calibration: str, name: str | None = None) -> Measure | None:
        """Mean and 95% interval over trials of a cell, or of one of its named numbers; None where there is none."""
        values: list[float] = []
        for record in self.of((row, column, calibration)):
            value = record.value.get(name or "") if isinstance(record.value, Mapping) else record.value
            if value is not None and isinstance(record.value, Mapping) == (name is not None):
                values.append(value)
        return Measure(tuple((value,) for value in values)) if values else None

    def names(self, key: Key) -> list[str]:
        """The names of a cell's numbers, in the order in which they were given; empty for a plain number."""
        found: dict[str, None] = {}
        for record in self.of(key):
            if isinstance(record.value, Mapping):
                found.update(dict.fromkeys(record.value))
        return list(found)

    @property
    def errors(self) -> list[Record]:
        return [record for _, record in sorted(self.records.items()) if record.error is not None]

    @property
    def counts(self) -> dict[Key, int]:
        """How many trials each cell has."""
        found = {cell.key: 0 for cell in self.cells}
        for (key, _), record in self.records.items():
            if key in found and record.error is None:
                found[key] += 1
        return found

    @property
    def trials(self) -> int:
        """How many trials every cell has, at least."""
        return min(self.counts.values(), default=0)

    def seconds(self, key: Key) -> float:
        """A cell's mean time for a trial; 0 before the first."""
        spent = [record.seconds for record in self.of(key)]
        return sum(spent) / len(spent) if spent else 0.0

    @property
    def last_date(self) -> str:
        return max((record.date for record in self.records.values()), default="")
