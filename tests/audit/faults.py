"""Faults by command: kill -9, a disk that fills up, a race for the last of a budget. Short in the tests, long by hand:

    python tests/audit/faults.py kills 200
    python tests/audit/faults.py disk 100
    python tests/audit/faults.py race 100
    python tests/audit/faults.py soak 1000

Each round runs the real command in a child process that was forked after all imports, so that most of the time goes
to the release and not to starting Python. Prints one line of counts; any broken promise is an AssertionError.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import gnomon.cli
import gnomon.publish
from gnomon.errors import BudgetError
from gnomon.methods.ron_gauss import RonGauss
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.ledger import Ledger
from gnomon.release.folder import open_release

SCHEMA = '[table]\nname = "t"\n' + "".join(
    f'[columns.c{j}]\nkind = "number"\nlow = 0\nhigh = 1\n' for j in range(6)
)


class Place:
    """A folder with a table, a ledger, and a mark that a child leaves when it begins to read for a release."""

    def __init__(self, folder: Path, rows: int = 3000) -> None:
        self.folder = folder
        self.data, self.schema = folder / "table.csv", folder / "schema.toml"
        self.ledger, self.mark, self.out = folder / "ledger.sqlite", folder / "reading", folder / "out"
        self.journal = folder / ".out.resume"
        cells = np.random.default_rng(0).random((rows, 6))
        lines = [",".join(f"c{j}" for j in range(6)), *(",".join(f"{v:.6f}" for v in row) for row in cells)]
        self.data.write_text("\n".join(lines) + "\n")
        self.schema.write_text(SCHEMA)

    def release(self) -> int:
        where = ["--schema", str(self.schema), "--out", str(self.out), "--ledger", str(self.ledger)]
        return gnomon.cli.main(
            [
                "release",
                str(self.data),
                "--method",
                "ron-gauss",
                "--epsilon",
                "0.001",
                "--even-if-useless",
                *where,
            ]
        )

    def charges(self) -> int:
        return sum(balance.charges for balance in Ledger(self.ledger).accounts())

    def check(self, charged_before: int) -> str:
        """What is left after a fault; asserts every promise."""
        charged = self.charges() - charged_before
        assert charged in (0, 1)
        if self.mark.exists():
            assert charged == 1, "rows were read for a release that was not charged"
        if self.out.exists():
            assert charged == 1, "a release without a charge"
            assert {path.name for path in self.out.iterdir()} == {
                "data.parquet",
                "certificate.yaml",
                "map.npz",
                "measurements.npz",
                "croissant.json",
                "schema.toml",
                "report.html",
            }
            open_release(self.out)
            return "whole"
        return "charged, absent" if charged else "nothing"

    def clear(self) -> None:
        self.mark.unlink(missing_ok=True)
        self.journal.unlink(missing_ok=True)
        for path in [self.out, *self.folder.glob(".out-*")]:
            if path.exists():
                for file in path.iterdir():
                    file.unlink()
                path.rmdir()


def child(place: Place, limit: int | None = None) -> int:
    """Fork a child that releases the table; its output is dropped, its exit code is the command's."""
    pid = os.fork()
    if pid:
        return pid
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    right = RonGauss._release

    def marked(self: RonGauss, *arguments: Any) -> None:
        place.mark.touch()
        right(self, *arguments)

    RonGauss._release = marked  # type: ignore[method-assign]
    if limit is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    os._exit(place.release())


def finished(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kills(rounds: int, folder: Path) -> Counter[str]:
    """Kill a release at random instants between its start and a little after its usual end, and resume it.

    What was charged is not charged again, but for a release that died between the charge and its journal: that one had
    read nothing yet.
    """
    place, found = Place(folder), Counter[str]()
    began = time.monotonic()
    assert finished(child(place)) == 0
    usual = time.monotonic() - began
    assert place.check(0) == "whole"
    place.clear()
    for _ in range(rounds):
        before = place.charges()
        pid = child(place)
        time.sleep(random.uniform(0, 1.1 * usual))
        os.kill(pid, signal.SIGKILL)
        finished(pid)
        left, read = place.check(before), place.mark.exists()
        if left != "whole":
            assert finished(child(place)) == 0, "a release that was resumed"
            charges = place.charges() - before
            assert charges == 1 or (charges == 2 and left == "charged, absent" and not read)
            assert not place.journal.exists(), "a journal was left behind"
        found[left] += 1
        place.clear()
    return found


def disk(rounds: int, folder: Path) -> Counter[str]:
    """No file may grow beyond a random size: what a full disk does, to the ledger and to the release."""
    place, found = Place(folder), Counter[str]()
    assert finished(child(place)) == 0
    largest = max(path.stat().st_size for path in place.out.iterdir())
    place.clear()
    for _ in range(rounds):
        before = place.charges()
        code = finished(child(place, random.randrange(largest + 2048)))
        left = place.check(before)
        assert code == (0 if left == "whole" else 2), f"exit code {code} with {left}"
        found[left] += 1
        assert not list(folder.glob(".out-*")), "half a release was left behind"
        place.clear()
    return found


def race(rounds: int, folder: Path, processes: int = 16) -> Counter[str]:
    """All processes ask for a tenth of a budget at once, twice each: ten charges and not one more."""
    found = Counter[str]()
    for turn in range(rounds):
        book, account = Ledger(folder / f"race{turn}.sqlite", wait=60), f"race {turn}"
        book.cap(account, 1.0)
        go = time.monotonic() + 0.05
        pids = []
        for _ in range(processes):
            pid = os.fork()
            if not pid:
                got = 0
                time.sleep(max(0.0, go - time.monotonic()))
                for _ in range(2):
                    try:
                        book.charge(account, PureDP(0.1), method="race")
                        got += 1
                    except BudgetError:
                        pass
                os._exit(got)
            pids.append(pid)
        granted = sum(finished(pid) for pid in pids)
        balance = book.show(account)
        assert granted == balance.charges == 10, f"{granted} granted, {balance.charges} on record"
        assert balance.epsilon_spent == 1.0
        found["never overspent"] += 1
    return found


def soak(rounds: int, folder: Path) -> Counter[str]:
    """Releases in a row in one process: memory and open files must not grow with them."""
    place = Place(folder, rows=200)
    quiet, shown = os.open(os.devnull, os.O_WRONLY), os.dup(1)
    os.dup2(quiet, 1)
    warm = rounds // 5
    memory = files = 0
    for turn in range(rounds):
        assert place.release() == 0
        place.clear()
        if turn == warm:
            memory, files = _memory(), len(os.listdir("/proc/self/fd"))
    os.dup2(shown, 1)
    assert len(os.listdir("/proc/self/fd")) <= files + 1
    grown = _memory() - memory
    assert grown < 32 << 20, f"{grown >> 20} MiB more after {rounds - warm} releases"
    return Counter({"releases": rounds, "KiB grown": grown >> 10})


def _memory() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    what, rounds = {"kills": kills, "disk": disk, "race": race, "soak": soak}[sys.argv[1]], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as place:
        print(dict(what(rounds, Path(place))))
