"""Row releases over a table larger than memory: wall time and memory, against plain numpy written by the same path.

python benchmarks/row_streaming.py [--rows 10000000] [--columns 50] [--components 20] [--out docs/results/row-streaming.md]

The plain road reads the same Parquet batches, encodes them by the same schema, multiplies by the same projection, adds
`Generator.laplace` and writes Parquet; it is not private (its noise is neither exact nor unseeded). Both roads write into
the same temporary folder; each runs in its own process, whose largest memory is reported.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gnomon as gn
from gnomon.engine.local import map_batches
from gnomon.release.folder import _writer
from gnomon.release.spool import CHUNK
from gnomon.table.encode import Encoder
from gnomon.table.source import open_source

EPSILON = 4.0


def schema_of(columns: int) -> gn.Schema:
    return gn.Schema(
        name="rows",
        columns=tuple(gn.Column(name=f"x{j}", kind="number", low=-1, high=1) for j in range(columns)),
    )


def make_table(path: Path, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, 2**17):
        block = rng.uniform(-1, 1, (columns, min(2**17, rows - start))).astype(np.float32)
        table = pa.table(list(block), names=[f"x{j}" for j in range(columns)])
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def write(out: Path, batches) -> None:  # type: ignore[no-untyped-def]
    """The writer of release folders, for both roads."""
    writer = None
    for table in batches:
        writer = writer or _writer(out, table.schema, "parquet")
        writer.write_table(table)
    writer.close()


def release(data: Path, out: Path, columns: int, k: int, method: str) -> None:
    """What gnomon does: one pass that draws exact noise, then the released rows to Parquet."""
    parameters = {"schema": schema_of(columns), "n_components": k, "random_state": 0}
    if method == "jl-laplace":
        fitted = gn.JlLaplace(EPSILON, **parameters).fit(data)
    elif method == "dppro":
        fitted = gn.DpPro(EPSILON, 1e-6, **parameters).fit(data)
    else:
        fitted = gn.Dprp(EPSILON, 1e-6, schema=schema_of(columns), random_state=0).fit(data)
    write(out, fitted.sample_batches())


def plain(data: Path, out: Path, columns: int, k: int, method: str) -> None:
    """The same road without exactness: a float projection and numpy's Laplace noise."""
    schema = schema_of(columns)
    encoder, source = Encoder(schema), open_source(data, schema=schema)
    rng = np.random.default_rng(0)
    R = rng.standard_normal((columns, k)) / np.sqrt(k)
    names = [f"c{j}" for j in range(k)]
    seeds = itertools.count(1)

    def noisy(batch: pa.RecordBatch) -> pa.Table:
        Y = encoder.encode(batch).X @ R
        Y += np.random.default_rng(next(seeds)).laplace(0.0, 10.0, Y.shape)
        return pa.table(list(np.ascontiguousarray(Y.T)), names=names)

    write(out, map_batches(source, schema_names(schema), noisy, stage="plain", rows=CHUNK))


def schema_names(schema: gn.Schema) -> list[str]:
    return [column.name for column in schema.released]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--methods", nargs="*", default=["jl-laplace", "dppro", "dprp"])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--road", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.road is not None:
        return run_road(options)
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        make_table(Path(folder) / "data.parquet", options.rows, options.columns)
        found = {road: in_process(road, folder, options) for road in ["plain", *options.methods]}
    base = found["plain"][0]
    lines = [
        f"| {road} | {seconds:.1f} | {seconds / base:.2f} | {processor:.1f} | {memory:.0f} |"
        for road, (seconds, processor, memory) in found.items()
    ]
    text = "\n".join(
        [
            "# Row releases, streaming",
            "",
            f"`python benchmarks/row_streaming.py --rows {options.rows}`: {options.rows:,} x {options.columns} float32 "
            f"Parquet to {options.components} components (DPRP: to all columns, two passes), Parquet out, one run each.",
            "",
            "| road | seconds | against plain numpy | seconds of processors | largest memory, MB |",
            "|---|---|---|---|---|",
            *lines,
            "",
        ]
    )
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    return 0


def in_process(road: str, folder: str, options: argparse.Namespace) -> tuple[float, float, float]:
    """Seconds, seconds of processors and largest megabytes of one road in a process of its own."""
    command = [
        sys.executable,
        __file__,
        "--road",
        road,
        "--folder",
        folder,
        "--columns",
        str(options.columns),
    ]
    done = subprocess.run(
        [*command, "--components", str(options.components)], check=True, capture_output=True, text=True
    )
    seconds, processor, memory = map(float, done.stdout.split())
    return seconds, processor, memory


class Peak(threading.Thread):
    """The largest memory of this process that no file stands behind, looked at ten times a second (Linux)."""

    megabytes = 0.0

    def __init__(self) -> None:
        super().__init__(daemon=True)

    def run(self) -> None:
        while True:
            status = Path("/proc/self/status").read_text(encoding="ascii")
            held = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            self.megabytes = max(self.megabytes, int(held.split()[1]) / 1024)
            time.sleep(0.1)


def run_road(options: argparse.Namespace) -> int:
    data, out = options.folder / "data.parquet", options.folder / f"{options.road}.parquet"
    peak = Peak()
    peak.start()
    started = time.perf_counter()
    (plain if options.road == "plain" else release)(
        data, out, options.columns, options.components, options.road
    )
    seconds = time.perf_counter() - started
    out.unlink()
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(seconds, used.ru_utime + used.ru_stime, peak.megabytes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
