"""One run in a process group of its own: a limit of time and of memory, and what it used."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 600.0  # of processor time, which a busy machine does not stretch; ten times that by the wall clock
MEGABYTES = 9_000.0
ONE_THREAD = {
    name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
}


@dataclass(frozen=True)
class Outcome:
    """`status` is done, exceeded or failed; `told` is the JSON on the last line that the process printed."""

    status: str
    why: str
    wall: float
    cpu: float
    peak_mb: float
    told: dict[str, Any]


def run(
    command: list[str],
    seconds: float = SECONDS,
    wall_seconds: float = 10 * SECONDS,
    megabytes: float = MEGABYTES,
) -> Outcome:
    """Run to the end or to the limit; the whole group is killed, and only it."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdout=out, stderr=errors, start_new_session=True, env={**os.environ, **ONE_THREAD}
        )
        why = ""
        try:
            pid, status, usage = 0, 0, None
            while pid == 0:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid == 0:
                    time.sleep(0.1)
                    used, wall = _processor(process.pid), time.monotonic() - start
                    if not why and (used > seconds or wall > wall_seconds):
                        why = f"{used:.0f} s of processor time, {wall:.0f} s in all"
                    elif not why and _resident(process.pid) > megabytes:
                        why = f"more than {megabytes / 1000:g} GB"
                    if why:
                        os.killpg(process.pid, signal.SIGKILL)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        wall, cpu = time.monotonic() - start, usage.ru_utime + usage.ru_stime
        texts = []
        for stream in (out, errors):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace").strip().splitlines())
    told: dict[str, Any] = {}
    status_word = "exceeded" if why else "done"
    if not why:
        try:
            told = json.loads(texts[0][-1])
        except (IndexError, ValueError):
            said = [text for text in texts[1] if any(c.isalpha() for c in text)]
            status_word, why = "failed", (said or ["no output"])[-1].strip()[:300]
    return Outcome(status_word, why, wall, cpu, usage.ru_maxrss / 1024, told)


def _processor(pid: int) -> float:
    """Seconds of processor time of the process so far; 0 where it has just ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    """Megabytes of the process now; 0 where it has just ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
