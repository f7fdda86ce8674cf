"""The table of an experiment: what the paper printed beside what we measured, as Markdown and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gnomon.evaluation.measure import Measure
from gnomon.reproduce.experiment import Cell
from gnomon.reproduce.results import Results

HEAD = ("what", "printed", "paper calibration", "sound", "trials", "data")
NOTHING = "–"


@dataclass(frozen=True)
class Line:
    """A line of the table; `sweep` is where a best value was found, by calibration."""

    row: str
    column: str
    name: str
    printed: float | None
    paper: Measure | None
    sound: Measure | None
    sweep: Mapping[str, str]
    data: str
    best: bool = False

    @property
    def what(self) -> str:
        return ", ".join(part for part in (self.row, self.column, self.name) if part)

    @property
    def trials(self) -> str:
        counts = sorted({len(m.values) for m in (self.paper, self.sound) if m is not None})
        return "–".join(str(count) for count in counts) or "0"


def lines(results: Results) -> tuple[list[Line], list[Line]]:
    """The lines of the table, and those of the sweeps behind its best values."""
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in results.cells:
        grouped.setdefault((cell.row, cell.column), []).append(cell)
    table, sweeps = [], []
    for cells in grouped.values():
        mine = _named(results, cells)
        if any(cell.best for cell in cells):
            table.append(_best(cells[0], mine))
            sweeps += mine
        else:
            table += mine
    return table, sweeps


def _named(results: Results, cells: list[Cell]) -> list[Line]:
    """A line for each name of a cell's numbers; both calibrations side by side."""
    first = cells[0]
    names = list(dict.fromkeys(name for cell in cells for name in results.names(cell.key)))
    wanted: list[str | None] = [*names] if names else [None]
    return [
        Line(
            first.row,
            first.column,
            name or "",
            _printed(first, name),
            _measured(results, cells, "paper", name),
            _measured(results, cells, "sound", name),
            {},
            first.data,
        )
        for name in wanted
    ]


def _printed(cell: Cell, name: str | None) -> float | None:
    if isinstance(cell.printed, Mapping):
        return cell.printed.get(name or "")
    return None if cell.best else cell.printed


def _measured(results: Results, cells: list[Cell], calibration: str, name: str | None) -> Measure | None:
    """What was measured with one calibration; a cell without noise stands for both."""
    for cell in cells:
        if cell.calibration in (calibration, "none"):
            found = results.measure(*cell.key, name)
            if found is not None:
                return found
    return None


def _best(cell: Cell, sweep: list[Line]) -> Line:
    """The line with the best mean for each calibration, as papers report a sweep."""
    sign = -1.0 if cell.best == "smallest" else 1.0
    found: dict[str, Measure] = {}
    where: dict[str, str] = {}
    for calibration in ("paper", "sound"):
        measured = [(m, line.name) for line in sweep if (m := getattr(line, calibration)) is not None]
        sensible = [pair for pair in measured if not math.isnan(pair[0].mean)]
        if sensible:
            found[calibration], where[calibration] = max(sensible, key=lambda pair: sign * pair[0].mean)
    printed = cell.printed if isinstance(cell.printed, float | int) else None
    paper, sound = found.get("paper"), found.get("sound")
    return Line(cell.row, cell.column, "", printed, paper, sound, where, cell.data, best=True)


def number(value: float) -> str:
    """Four significant digits, no exponent for what a person reads at a glance."""
    if value == 0 or math.isnan(value) or math.isinf(value):
        return f"{value:g}"
    if abs(value) >= 1e6:
        return f"{value:.3g}"
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}" if digits <= 7 else f"{value:.3g}"


def shown(measure: Measure | None, where: str = "") -> str:
    if measure is None:
        return NOTHING
    interval = measure.interval if len(measure.values) > 1 else None
    half = "" if interval is None else f" ± {(interval[1] - interval[0]) / 2:.2g}"
    return f"{number(measure.mean)}{half}" + (f" (at {where})" if where else "")


def _row(line: Line) -> tuple[str, ...]:
    printed = NOTHING if line.printed is None else f"{line.printed:g}"
    return (
        line.what,
        printed,
        shown(line.paper, line.sweep.get("paper", "")),
        shown(line.sound, line.sweep.get("sound", "")),
        line.trials,
        line.data,
    )


def markdown(results: Results) -> str:
    """The page of one experiment."""
    experiment = results.experiment
    table, sweeps = lines(results)
    parts = [
        f"# {experiment.name}: {experiment.title}",
        f"{experiment.paper}. The paper says: {experiment.says}",
        f"`gnomon reproduce {experiment.name} --data DIR --out DIR --trials {_trials(results)}`, {results.last_date}. "
        f"The paper ran {experiment.trials} trial{'s' if experiment.trials != 1 else ''}. Values are means over "
        "trials ± half a 95% Student interval. *Paper calibration* is the noise as the paper prints it. *Sound* is ours "
        "at the same declared epsilon, with a guarantee that holds. What needs no noise shows one value in both."
        + _to_come(results),
        _rows(table),
    ]
    if any(line.best for line in table):
        parts.append(
            "A value *(at ...)* is the best mean of a sweep, chosen after the fact as in the paper; the whole sweep is "
            "below. Choosing so on private rows would cost budget."
        )
    notes = [f"- {note}" for note in experiment.notes]
    notes += [f"- no value: {record.row}, {record.column}: {record.error}" for record in results.errors]
    if notes:
        parts.append("\n".join(notes))
    if experiment.draw is not None:
        parts.append(f"![{experiment.title}](figure.png)")
    if sweeps:
        parts += ["## The whole sweep", _rows(sweeps)]
    return "\n\n".join(parts) + "\n"


def _trials(results: Results) -> int:
    return max((trial for _, trial in results.records), default=-1) + 1


def _to_come(results: Results) -> str:
    """What the paper's number of trials would still take, by what those here took."""
    experiment = results.experiment
    missing = {key: experiment.trials - count for key, count in results.counts.items()}
    left = max(missing.values(), default=0)
    if left <= 0:
        return ""
    seconds = sum(count * results.seconds(key) for key, count in missing.items() if count > 0)
    took = f"{seconds / 60:.0f} minutes" if seconds >= 60 else "less than a minute"
    how_many = (
        f"{left} trials are" if len(set(missing.values())) == 1 else f"Up to {left} trials of a line are"
    )
    return (
        f" {how_many} missing: the same command with `--trials {experiment.trials}` continues, about {took} of one "
        "processor."
    )


def _rows(table: list[Line]) -> str:
    rows = [HEAD, ("---",) * len(HEAD), *(_row(line) for line in table)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def write_tables(results: Results, folder: Path) -> None:
    """table.md for people, table.csv with every number in full, sweeps included."""
    (folder / "table.md").write_text(markdown(results), encoding="utf-8")
    table, sweeps = lines(results)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    numbers = [
        f"{calibration} {part}" for calibration in ("paper", "sound") for part in ("mean", "half width")
    ]
    writer.writerow(["row", "column", "name", "printed", *numbers, "trials", "data"])
    for line in [*(one for one in table if not one.best), *sweeps]:
        values = [v for measure in (line.paper, line.sound) for v in _csv(measure)]
        printed = "" if line.printed is None else line.printed
        writer.writerow([line.row, line.column, line.name, printed, *values, line.trials, line.data])
    (folder / "table.csv").write_text(text.getvalue(), encoding="utf-8")


def _csv(measure: Measure | None) -> tuple[float | str, float | str]:
    if measure is None:
        return "", ""
    interval = measure.interval if len(measure.values) > 1 else None
    return measure.mean, "" if interval is None else (interval[1] - interval[0]) / 2
