"""What a person at the terminal sees: plain lines on stdout, progress on stderr; or facts as JSON, for programs."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

PATIENCE = 10.0  # seconds between plain lines where there is no terminal to draw on
WIDTH = 80  # columns that a line of progress fits
_STAGE = 40  # letters of what a pass does


@dataclass
class Output:
    """How one command speaks: as lines, as one JSON object, or not at all beside errors."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    facts: dict[str, Any] = field(default_factory=dict)


_output = Output()


def output() -> Output:
    """How the present command speaks."""
    return _output


def set_output(*, json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
    """Begin a command that speaks so."""
    global _output
    _output = Output(json, quiet, verbose)


def facts(**values: Any) -> None:
    """Keep what a command found, for --json."""
    _output.facts.update(values)


def print_facts() -> None:
    """The one JSON object of a command."""
    print(json.dumps(_plain(_output.facts), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def console() -> Console:
    """Tables and colours for a terminal; plain text, never cut, where the output is piped."""
    from rich.console import Console

    wide = None if sys.stdout.isatty() else 200
    quiet = _output.quiet or _output.json
    return Console(highlight=False, markup=False, width=wide, soft_wrap=not sys.stdout.isatty(), quiet=quiet)


def printable(text: str) -> str:
    """Names come from tables of others: what could steer a terminal is shown as a question mark."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def say(line: str = "") -> None:
    if not (_output.quiet or _output.json):
        print(printable(line))


def detail(line: str) -> None:
    """A line for who asked for more (-v)."""
    if _output.verbose:
        complain(line)


def complain(line: str) -> None:
    """One line on stderr."""
    print(f"gnomon: {printable(' '.join(line.split()))}", file=sys.stderr, flush=True)


class Watch:
    """A progress callback: bars on a terminal, a line now and then elsewhere; expects `passes` passes (0: not told).

    Lines outlive a screen, as in the log of a job. Where the number of rows is `private` they name no number.
    """

    def __init__(
        self,
        passes: int,
        clock: Callable[[], float] = time.monotonic,
        unit: str = "rows",
        *,
        private: bool = False,
    ) -> None:
        self.passes = passes
        self.unit = unit
        self._private = private
        self._clock = clock
        self._stages: dict[str, TaskID | None] = {}
        self._bars: Progress | None = None
        self._last = self._began = clock()

    def __enter__(self) -> Watch:
        if sys.stderr.isatty() and not _output.quiet and not _output.json:
            self._bars = _bars(self.unit)
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
        self._ended()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage not in self._stages:
            self._ended()
            self._stages[stage] = None
            self._began = self._clock()
        if self._bars is not None:
            self._draw(self._bars, stage, done, total)
        elif not _output.quiet and self._clock() - self._last >= PATIENCE:
            self._last = self._clock()
            of = "" if total is None else f" of {total:,}"
            complain(self.label(stage) + ("" if self._private else f": {done:,}{of} {self.unit}"))

    def _ended(self) -> None:
        if self._stages:
            detail(f"{self.label(list(self._stages)[-1])}: {self._clock() - self._began:.1f} seconds")

    def label(self, stage: str) -> str:
        """Which pass over the rows it is, of how many, and what it does; short enough for a line."""
        shown = stage if len(stage) <= _STAGE else f"{stage[: _STAGE - 1].rstrip(' ,')}…"
        if self.passes == 0:
            return shown
        number = list(self._stages).index(stage) + 1
        return f"pass {number} of {max(self.passes, number)}, {shown}"

    def _draw(self, bars: Progress, stage: str, done: int, total: int | None) -> None:
        task = self._stages[stage]
        if task is None:
            task = bars.add_task(self.label(stage), total=total)
            self._stages[stage] = task
        bars.update(task, completed=done, total=total)


def _bars(unit: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    screen = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", table_column=_column(ratio=1)),
        BarColumn(bar_width=10),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True, width=min(WIDTH, screen.width)),
        transient=True,
    )


def _column(ratio: int) -> Any:
    from rich.table import Column

    return Column(ratio=ratio, no_wrap=True, overflow="ellipsis")
