"""One release by one of gnomon's methods, in a process of its own: time, memory, and what it is worth.

    python benchmarks/comparison/release.py METHOD FOLDER EPSILON DELTA TRIAL

FOLDER holds train.parquet, test.parquet and schema.toml. Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from score import LIMITS, likeness, utility

import gnomon as gn
from gnomon.errors import GnomonError
from gnomon.evaluation.sides import load
from gnomon.methods import METHODS


def peak_megabytes() -> float:
    """The most that this program has held; what `getrusage` says counts the process that started it too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    method, folder, epsilon, delta, trial = sys.argv[1:]
    here, seed = Path(folder), int(trial)
    schema = gn.Schema.load(here / "schema.toml")
    warnings.simplefilter("ignore")
    before = time.process_time()
    start = time.perf_counter()
    made = METHODS[method]
    pure = method in ("exponential", "bernoulli-identity")
    try:
        fitted = made(float(epsilon), 0.0 if pure else float(delta), schema=schema).fit(
            str(here / "train.parquet")
        )
        rows = sum(batch.num_rows for batch in fitted.sample_batches(fitted.n_rows_))
    except GnomonError as refused:
        print(json.dumps({"refused": str(refused)}))
        return
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    peak = peak_megabytes()
    train, test = (pq.read_table(here / f"{name}.parquet") for name in ("train", "test"))
    sides = load(fitted, train, test, LIMITS, np.random.default_rng([20, seed]))
    told = {
        "seconds": seconds,
        "cpu": cpu,
        "peak_mb": peak,
        "rows": rows,
        "guarantee": str(fitted.guarantee_),
        "components": int(getattr(fitted, "n_components_", 0)),
        "utility": utility(sides.task, sides.released, sides.mapped_test, seed),
    }
    if not sides.published.map.components_only:
        released, real = (pa.table(side.table) for side in (sides.released, sides.real))
        told |= likeness(released, real, schema, seed)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
