"""Run an experiment: every cell of every trial that is not in its journal yet, then the table and the figure."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gnomon.errors import DataError, GnomonError, ParameterError
from gnomon.reproduce.data import missing
from gnomon.reproduce.experiment import Cell, Experiment
from gnomon.reproduce.program import spent
from gnomon.reproduce.results import Journal, Record, Results
from gnomon.reproduce.table import write_tables

Progress = Callable[[str, int, int | None], None]
MODEST = 5  # trials where the user names no number: a first look, not the paper's hundred


def reproduce(
    experiment: Experiment,
    data: Path,
    out: Path,
    *,
    trials: int | None = None,
    minutes: float | None = None,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    progress: Progress | None = None,
) -> Results:
    """Measure, tabulate and draw one experiment under `out/NAME`; continues what an earlier run began there.

    No trial is begun after so many minutes, so that a long experiment can be run in pieces. `only` and `without` choose
    lines by a part of their name, so that a slow one does not hold back the others; the tables have all that is kept.
    """
    if trials is not None and trials < 1:
        raise ParameterError(f"The option --trials must be a positive integer. Got {trials} instead.")
    if minutes is not None and not minutes > 0:
        raise ParameterError(f"The option --minutes must be a positive number. Got {minutes:g} instead.")
    absent = missing(data, experiment.files)
    if absent:
        raise DataError(
            f"{experiment.name} reads {absent[0]}, which the folder {str(data)!r} lacks; see --data in "
            "'gnomon reproduce --help'."
        )
    count = min(MODEST, experiment.trials) if trials is None else trials
    folder = out / experiment.name
    results = measure(experiment, data, folder, count, progress, minutes, only=only, without=without)
    write_tables(results, folder)
    if experiment.draw is not None:
        experiment.draw(results, folder)
    return results


def measure(
    experiment: Experiment,
    data: Path,
    folder: Path,
    trials: int,
    progress: Progress | None = None,
    minutes: float | None = None,
    *,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Results:
    """The numbers: trial by trial, so that a run that is cut short has all cells at equally many trials."""
    journal = Journal(folder)
    results = Results(experiment, data, experiment.cells(data))
    for record in journal:
        results.add(record)
    cells = chosen(results.cells, only, without)
    work = [(trial, cell) for trial in range(trials) for cell in cells]
    end = math.inf if minutes is None else time.monotonic() + 60 * minutes
    for done, (trial, cell) in enumerate(work):
        if cell is cells[0] and time.monotonic() > end:
            break
        if progress is not None:
            progress(experiment.name, done, len(work))
        if not results.has(cell, trial):
            record = _tried(cell, trial)
            journal.append(record)
            results.add(record)
    if progress is not None:
        progress(experiment.name, len(work), len(work))
    journal.compact(results)
    return results


def chosen(cells: Sequence[Cell], only: Sequence[str], without: Sequence[str]) -> list[Cell]:
    """The cells whose line, "row, column, calibration", has a part of `only` in it and none of `without`."""

    def named(cell: Cell, parts: Sequence[str]) -> bool:
        line = ", ".join(cell.key).lower()
        return any(part.lower() in line for part in parts)

    found = [cell for cell in cells if (not only or named(cell, only)) and not named(cell, without)]
    if not found:
        raise ParameterError("No line has such a name; table.md names them (options --only and --without).")
    return found


def _tried(cell: Cell, trial: int) -> Record:
    """One cell of one trial; what goes wrong is a sentence in the record and stops no other cell."""
    start = _processor()
    value, error = None, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # the paper calibrations warn each time that they hold no guarantee
            found = cell.run(trial)
        value = float(found) if isinstance(found, int | float) else {k: float(v) for k, v in found.items()}
    except GnomonError as refusal:
        error = str(refusal)
    except Exception as problem:
        if os.environ.get("GNOMON_DEBUG"):
            raise
        # the text of a foreign exception may quote a cell of the table
        error = f"unexpected {type(problem).__name__}; GNOMON_DEBUG=1 before the command shows where."
    seconds = round(_processor() - start, 3)
    return Record(*cell.key, trial, value, error, seconds, datetime.now(UTC).strftime("%Y-%m-%d"))


def _processor() -> float:
    """Seconds of processor time, which a busy machine does not stretch: of this process, of those that it waited for, and
    of programs that answer it.
    """
    return sum(os.times()[:4]) + spent()
