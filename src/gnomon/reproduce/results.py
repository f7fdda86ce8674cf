"""What was measured: a line of JSON a cell and trial, kept in a file that survives a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from gnomon.errors import DataError, OutputError
from gnomon.evaluation.measure import Measure
from gnomon.reproduce.experiment import Cell, Experiment, Key, Numbers

FILE = "trials.jsonl"


@dataclass(frozen=True)
class Record:
    """One cell at one trial: its number or numbers, or the sentence that says why there is none."""

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
                yield Record(**json.loads(line))
            except (ValueError, TypeError):
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


@dataclass
class Results:
    """The records of an experiment beside its cells; the last record of a cell and trial counts."""

    experiment: Experiment
    data: Path
    cells: list[Cell]
    records: dict[tuple[Key, int], Record] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        self.records[record.key, record.trial] = record

    def has(self, cell: Cell, trial: int) -> bool:
        """Measured already; a trial that ended with an error is tried again."""
        record = self.records.get((cell.key, trial))
        return record is not None and record.error is None

    def of(self, key: Key) -> list[Record]:
        """The records of a cell by trial."""
        return [record for (mine, _), record in sorted(self.records.items()) if mine == key]

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
    def last_date(self) -> str:
        return max((record.date for record in self.records.values()), default="")
