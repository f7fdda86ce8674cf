"""A program with libraries of its own that is started once and answers requests, one line of JSON each.

Torch takes longer to start than a GAN of a small table to train.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
from contextlib import suppress
from typing import Any

from gnomon.errors import DataError

PATIENCE = 5.0  # seconds for a program to end by itself


def _of_children() -> float:
    """Seconds of processor time of programs that ended."""
    times = os.times()
    return times.children_user + times.children_system


class Program:
    """A command that reads a request a line and answers in a line; it is started by the first request."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.spent = 0.0  # seconds of processor time that its answers name
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self.close)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; a program that ends instead is started again by the next one."""
        process = self._process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
            told: dict[str, Any] = json.loads(line) if line else {}
        except BaseException:  # its next answer would be this one's
            process.kill()
            self.close()
            raise
        if not line:
            code = self.close()
            raise DataError(
                f"{request['algorithm']} ended with the exit code {code} in its environment."
            )  # its own words may quote a cell
        self.spent += float(told["cpu"])
        return told

    def _started(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        return self._process

    def close(self) -> int:
        """Ends the program, by the end of what it reads or where it takes long; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        before = _of_children()
        try:
            code = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        self.spent -= _of_children() - before  # counted with this process from now on
        return code


def program(command: tuple[str, ...]) -> Program:
    """The one program of a command."""
    if command not in PROGRAMS:
        PROGRAMS[command] = Program(command)
    return PROGRAMS[command]


PROGRAMS: dict[tuple[str, ...], Program] = {}


def spent() -> float:
    """Seconds of processor time of all programs, beside those of this process."""
    return sum(one.spent for one in PROGRAMS.values())
