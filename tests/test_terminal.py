"""Progress for people who wait: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import io
import sys

import pytest

from gnomon.commands.terminal import PATIENCE, Watch, complain, printable


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_short_work_is_silent_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with Watch(passes=2, clock=Clock()) as watch:
        watch("checking", 10, 100)
        watch("checking", 100, 100)
    assert capsys.readouterr().err == ""


def test_long_work_prints_rows_and_passes_left(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Watch(passes=3, clock=clock) as watch:
        for stage, done in [("checking", 1_000), ("summing", 2_000), ("writing", 3_000), ("polishing", 1)]:
            clock.now += PATIENCE
            watch(stage, done, 5_000 if stage != "writing" else None)
            watch(stage, done + 1, 5_000)
    assert capsys.readouterr().err.splitlines() == [
        "gnomon: checking (2 passes left): 1,000 of 5,000 rows",
        "gnomon: summing (1 pass left): 2,000 of 5,000 rows",
        "gnomon: writing (last pass): 3,000 rows",
        "gnomon: polishing (last pass): 1 of 5,000 rows",
    ]


def test_a_terminal_gets_bars_that_go_away(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with Watch(passes=2) as watch:
        watch("checking", 50, 100)
        watch("writing", 10, None)
    assert "checking (1 pass left)" in screen.getvalue()
    assert "writing (last pass)" in screen.getvalue()
    assert "50/100" in screen.getvalue()


def test_a_complaint_is_one_harmless_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("two\nlines \x1b[31m")
    assert capsys.readouterr().err == "gnomon: two lines \N{REPLACEMENT CHARACTER}[31m\n"
    assert printable("naïve ☀") == "naïve ☀"
