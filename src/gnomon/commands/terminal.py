"""What a person at the terminal sees: plain lines on stdout, progress on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

PATIENCE = 10.0  # seconds between plain lines where there is no terminal to draw on


def console() -> Console:
    """Tables and colours for a terminal; plain text, never cut, where the output is piped."""
    from rich.console import Console

    wide = None if sys.stdout.isatty() else 200
    return Console(highlight=False, markup=False, width=wide, soft_wrap=not sys.stdout.isatty())


def printable(text: str) -> str:
    """Names come from tables of others: what could steer a terminal is shown as a question mark."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def say(line: str = "") -> None:
    print(printable(line))


def complain(line: str) -> None:
    """One line on stderr."""
    print(f"gnomon: {printable(' '.join(line.split()))}", file=sys.stderr, flush=True)


class Watch:
    """A progress callback: bars on a terminal, a line now and then elsewhere; expects `passes` passes (0: not told)."""

    def __init__(self, passes: int, clock: Callable[[], float] = time.monotonic, unit: str = "rows") -> None:
        self.passes = passes
        self.unit = unit
        self._clock = clock
        self._stages: dict[str, TaskID | None] = {}
        self._bars: Progress | None = None
        self._last = clock()

    def __enter__(self) -> Watch:
        if sys.stderr.isatty():
            self._bars = _bars(self.unit)
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        new = stage not in self._stages
        if new:
            self._stages[stage] = None
        if self._bars is not None:
            self._draw(self._bars, stage, done, total)
        elif self._clock() - self._last >= PATIENCE:
            self._last = self._clock()
            of = "" if total is None else f" of {total:,}"
            complain(f"{self.label(stage)}: {done:,}{of} {self.unit}")

    def label(self, stage: str) -> str:
        """The stage, and how many passes over the rows are left after it."""
        if self.passes == 0:
            return stage
        number = list(self._stages).index(stage) + 1
        left = max(0, self.passes - number)
        return (
            f"{stage} ({'last pass' if left == 0 else f'{left} passes left' if left > 1 else '1 pass left'})"
        )

    def _draw(self, bars: Progress, stage: str, done: int, total: int | None) -> None:
        task = self._stages[stage]
        if task is None:
            task = bars.add_task(self.label(stage), total=total)
            self._stages[stage] = task
        bars.update(task, completed=done, total=total)


def _bars(unit: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
