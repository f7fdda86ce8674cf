"""What the content print costs beside the bare read of the same columns, in one run.

python benchmarks/content_print.py [ROWS]
"""

from __future__ import annotations

import secrets
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import gnomon as gn
from gnomon.table.fingerprint import content_print
from gnomon.table.source import Source, open_source

ROUNDS = 5
STATIONS = ["north", "south", "east", "west"]


def table(n: int) -> pa.Table:
    """20 columns: 12 doubles, 4 whole numbers, 2 categories, a boolean and a date."""
    rng = np.random.default_rng(1)
    cells: dict[str, object] = {f"x{j}": rng.normal(size=n) for j in range(12)}
    cells |= {f"k{j}": rng.integers(0, 100, n) for j in range(4)}
    cells |= {f"c{j}": np.array(STATIONS)[rng.integers(0, 4, n)] for j in range(2)}
    cells |= {"b": rng.random(n) < 0.5, "d": rng.integers(15000, 20000, n).astype("datetime64[D]")}
    return pa.table(cells)


def schema() -> gn.Schema:
    columns = [gn.Column(name=f"x{j}", kind="number", low=-9, high=9) for j in range(12)]
    columns += [gn.Column(name=f"k{j}", kind="number", low=0, high=99, integer=True) for j in range(4)]
    columns += [gn.Column(name=f"c{j}", kind="category", values=tuple(STATIONS)) for j in range(2)]
    columns += [gn.Column(name="b", kind="boolean")]
    columns += [gn.Column(name="d", kind="date", low="2010-01-01", high="2026-12-31")]
    return gn.Schema(name="wide", columns=tuple(columns))


def bare_read(source: Source, names: list[str]) -> float:
    start = time.process_time()
    for _ in source.batches(names):
        pass
    return time.process_time() - start


def with_print(source: Source, declared: gn.Schema, key: bytes) -> float:
    start = time.process_time()
    content_print(source, declared, key)
    return time.process_time() - start


def main(n: int) -> None:
    made, declared, key = table(n), schema(), secrets.token_bytes(32)
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(made, Path(folder) / "wide.parquet")
        pyarrow.csv.write_csv(made, Path(folder) / "wide.csv")
        tables = {"parquet": Path(folder) / "wide.parquet", "csv": Path(folder) / "wide.csv", "arrow": made}
        for name, data in tables.items():
            source = open_source(data, schema=declared)
            names = [column.name for column in declared.released]
            reads, prints = [], []
            for _ in range(ROUNDS):  # in turn, so that other work on the machine meets both
                reads.append(bare_read(source, names))
                prints.append(with_print(source, declared, key))
            read, whole = median(reads), median(prints)
            print(
                f"{name:8} {n:,} x {len(names)}: bare read {read:.2f} s, read and print {whole:.2f} s of processor time; "
                f"the print costs {(whole - read) / read:.2f} of the read"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
