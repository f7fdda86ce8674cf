"""Progress for people who wait: bars on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import io
import re
import sys

import pytest

from gnomon.cli import main
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


def test_long_work_prints_the_pass_the_total_and_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Watch(passes=3, clock=clock) as watch:
        for stage, done in [("checking", 1_000), ("summing", 2_000), ("writing", 3_000), ("polishing", 1)]:
            clock.now += PATIENCE
            watch(stage, done, 5_000 if stage != "writing" else None)
            watch(stage, done + 1, 5_000)
    assert capsys.readouterr().err.splitlines() == [
        "gnomon: pass 1 of 3, checking: 1,000 of 5,000 rows",
        "gnomon: pass 2 of 3, summing: 2,000 of 5,000 rows",
        "gnomon: pass 3 of 3, writing: 3,000 rows",
        "gnomon: pass 4 of 4, polishing: 1 of 5,000 rows",
    ]


def test_a_private_number_of_rows_is_in_no_line_of_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    with Watch(passes=2, clock=clock, private=True) as watch:
        clock.now += PATIENCE
        watch("encoding the rows", 1_000, 5_077)
    assert capsys.readouterr().err == "gnomon: pass 1 of 2, encoding the rows\n"


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
    assert "pass 1 of 2, checking" in screen.getvalue()
    assert "pass 2 of 2, writing" in screen.getvalue()
    assert "50%" in screen.getvalue()


def test_a_complaint_is_one_harmless_line(capsys: pytest.CaptureFixture[str]) -> None:
    complain("two\nlines \x1b[31m")
    assert capsys.readouterr().err == "gnomon: two lines \N{REPLACEMENT CHARACTER}[31m\n"
    assert printable("naïve ☀") == "naïve ☀"


LONG = "sum, squared length and original length of the projected rows of every class"


def test_progress_fits_eighty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    with Watch(passes=12, clock=clock) as watch:
        clock.now += PATIENCE
        watch(LONG, 1_000, 5_000)
    assert all(len(line) <= 110 for line in capsys.readouterr().err.splitlines())
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with Watch(passes=12) as watch:
        watch(LONG, 494_000, 494_021)
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert "pass 1 of 12, sum, squared length" in drawn
    assert max(len(line) for line in re.split(r"[\r\n]", drawn)) <= 80


def test_a_wrong_command_is_asked_about_in_whole_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inti"]) == 2
    assert (
        capsys.readouterr().err
        == "gnomon: No such command 'inti'. Did you mean 'init'? See 'gnomon --help'.\n"
    )
