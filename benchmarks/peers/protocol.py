"""How every peer is asked: the same files in, the same files out, the same clock. Needs numpy and pyarrow only.

FOLDER holds binned.parquet (codes from 0 in columns c0, c1, ...) and domain.json (name, size, ordered by column).
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


class Asked(NamedTuple):
    algorithm: str
    folder: Path
    epsilon: float
    delta: float
    rows: int

    @property
    def domain(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / "domain.json").read_text())
        return found

    def table(self) -> pa.Table:
        return pq.read_table(self.folder / "binned.parquet")


def serve(synthesise: Callable[[Asked], dict[str, np.ndarray]]) -> None:
    """Run `synthesise` as the command line asks, write its columns, print seconds and peak memory as JSON."""
    algorithm, folder, epsilon, delta, rows, out = sys.argv[1:]
    asked = Asked(algorithm, Path(folder), float(epsilon), float(delta), int(rows))
    start, before = time.perf_counter(), time.process_time()
    columns = synthesise(asked)
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pq.write_table(pa.table(columns), out)
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak}))


def within(values: Any, size: int, rng: np.random.Generator) -> np.ndarray:
    """Codes of the domain; what is none (a null that the tool made up) is drawn again from the other rows' values."""
    codes = np.asarray(values, dtype=np.float64)
    good = np.isfinite(codes) & (codes > -0.5) & (codes < size - 0.5)
    pool = codes[good] if good.any() else np.arange(size, dtype=np.float64)
    return np.rint(np.where(good, codes, rng.choice(pool, len(codes)))).astype(np.int64)
