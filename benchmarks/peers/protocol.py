"""How every peer is asked: the same files in, the same files out, the same clock. Needs numpy and pyarrow only.

FOLDER holds binned.parquet (codes from 0 in columns c0, c1, ...), numbers.parquet (x0, x1, ...: columns with an order
between -1 and 1) and domain.json (name, size, ordered, exact by column; the target is the last). What a peer makes is a
column cJ or xJ for each of them.

A peer that is started without words answers requests instead, a line of JSON each, so that its libraries load once.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Check = Callable[..., None]  # of a model's pairs, the rows, and the sizes of columns where values were merged
FACTS: dict[str, Any] = {}  # what a peer wants to tell beside its rows, such as what an accountant says


class Asked(NamedTuple):
    algorithm: str
    folder: Path
    epsilon: float
    delta: float
    rows: int
    settings: Mapping[str, float] = MappingProxyType({})  # of the algorithm, where they are not its authors'
    check: Check | None = (
        None  # is told the fitted model's pairs and the rows made, where a sampler is looked at
    )

    @property
    def domain(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads((self.folder / "domain.json").read_text())
        return found

    def table(self) -> pa.Table:
        return pq.read_table(self.folder / "binned.parquet")

    def numbers(self) -> dict[int, np.ndarray]:
        """Columns with an order by their place."""
        table = pq.read_table(self.folder / "numbers.parquet")
        return {int(name[1:]): np.array(table[name].to_numpy()) for name in table.column_names}


def serve(synthesise: Callable[[Asked], Any]) -> None:
    """Run `synthesise` as the command line asks, or line after line as standard input does."""
    if len(sys.argv) > 1:
        algorithm, folder, epsilon, delta, rows, out = sys.argv[1:]
        _answer(synthesise, Asked(algorithm, Path(folder), float(epsilon), float(delta), int(rows)), out)
        return
    answers, sys.stdout = sys.stdout, sys.stderr  # what a library prints is no answer
    for line in sys.stdin:
        request = json.loads(line)
        out = request.pop("out")
        _answer(synthesise, Asked(**{**request, "folder": Path(request["folder"])}), out, answers)


def _answer(synthesise: Callable[[Asked], Any], asked: Asked, out: str, answers: Any = None) -> None:
    """Write the columns that are made; print seconds and peak memory as JSON."""
    FACTS.clear()
    start, before = time.perf_counter(), time.process_time()
    made = synthesise(asked)
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    told = {"seconds": seconds, "cpu": cpu, "peak_mb": peak_megabytes(), **FACTS}
    pq.write_table(made if isinstance(made, pa.Table) else pa.table(made), out)
    print(json.dumps(told), flush=True, file=answers)


def peak_megabytes() -> float:
    """The most that this program has held; what `getrusage` says counts the process that started it too."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho-zCDP that is (epsilon, delta)-DP by the conversion of Canonne, Kamath and Steinke."""
    orders = 1 + np.exp(np.linspace(math.log(1e-3), math.log(1e5), 20_000))

    def least(rho: float) -> float:
        logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        return float(np.exp(logs.min()))

    return _largest(lambda rho: least(rho) <= delta, epsilon)


def mu_of(epsilon: float, delta: float) -> float:
    """The largest mu of Gaussian DP that is (epsilon, delta)-DP (Dong, Roth, Su; Balle, Wang): exact for Gaussian noise."""

    def normal(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    def needed(mu: float) -> float:
        return normal(-epsilon / mu + mu / 2) - math.exp(epsilon) * normal(-epsilon / mu - mu / 2)

    return _largest(lambda mu: mu == 0 or needed(mu) <= delta, 10 * (epsilon + 1))


def _largest(fits: Callable[[float], bool], high: float) -> float:
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def within(values: Any, size: int, rng: np.random.Generator) -> np.ndarray:
    """Codes of the domain; what is none (a null that the tool made up) is drawn again from the other rows' values."""
    codes = np.asarray(values, dtype=np.float64)
    good = np.isfinite(codes) & (codes > -0.5) & (codes < size - 0.5)
    pool = codes[good] if good.any() else np.arange(size, dtype=np.float64)
    return np.rint(np.where(good, codes, rng.choice(pool, len(codes)))).astype(np.int64)
