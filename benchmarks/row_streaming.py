"""Row releases over a table larger than memory: wall time and memory, against plain numpy written by the same path.

python benchmarks/row_streaming.py --folder DIR [--rows 10000000] [--roads ...] [--out docs/results/row-streaming.md]

A plain road reads the same Parquet batches, encodes them by the same schema, multiplies by a matrix, adds numpy's noise
(`Generator.laplace` beside JL + Laplace, `Generator.normal` beside the Gaussian methods) and writes Parquet by the same
writer; it is not private (its noise is neither exact nor unseeded). DPRP publishes all columns of the table, so it is
compared with a plain road that writes as many, and with the short one too. Every road runs in a process of its own,
whose largest memory is reported. The table and what was measured stay in DIR, so that roads may be run one at a time and
again; the page shows medians.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gnomon as gn
from gnomon.engine.local import map_batches
from gnomon.privacy.noisy_rows import CHUNK
from gnomon.release.folder import _writer
from gnomon.table.encode import Encoder
from gnomon.table.source import open_source

EPSILON = 4.0
DELTA = 1e-6
PLAIN = {"plain laplace": "laplace", "plain normal": "normal", "plain normal, all columns": "normal"}
AGAINST = {
    "jl-laplace": ("plain laplace",),
    "dppro": ("plain normal", "plain laplace"),
    "dprp": ("plain normal, all columns", "plain normal", "plain laplace"),
    "dprp, no projection": ("plain normal, all columns", "plain normal", "plain laplace"),
}


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
    """The writer of release folders, for all roads."""
    writer = None
    for table in batches:
        writer = writer or _writer(out, table.schema, "parquet")
        writer.write_table(table)
    writer.close()


def release(data: Path, out: Path, columns: int, k: int, method: str) -> None:
    """What gnomon does: noisy rows in one pass (DPRP: after a first look at where they lie), then Parquet."""
    parameters = {"schema": schema_of(columns), "n_components": k, "random_state": 0}
    if method == "jl-laplace":
        fitted = gn.JlLaplace(EPSILON, **parameters).fit(data)
    elif method == "dppro":
        fitted = gn.DpPro(EPSILON, DELTA, **parameters).fit(data)
    else:
        k1 = "auto" if method.endswith("no projection") else k
        fitted = gn.Dprp(EPSILON, DELTA, k1=k1, **parameters).fit(data)
    write(out, fitted.sample_batches())


def plain(data: Path, out: Path, columns: int, k: int, road: str) -> None:
    """The same road without exactness: a float projection and numpy's noise."""
    schema = schema_of(columns)
    encoder, source = Encoder(schema), open_source(data, schema=schema)
    k = columns if road.endswith("all columns") else k
    R = np.random.default_rng(0).standard_normal((columns, k)) / np.sqrt(k)
    names = [f"c{j}" for j in range(k)]
    seeds = itertools.count(1)

    def noisy(batch: pa.RecordBatch) -> pa.Table:
        Y = encoder.encode(batch).X @ R
        Y += getattr(np.random.default_rng(next(seeds)), PLAIN[road])(0.0, 10.0, Y.shape)
        return pa.table(list(np.ascontiguousarray(Y.T)), names=names)

    columns_read = [column.name for column in schema.released]
    write(out, map_batches(source, columns_read, noisy, stage="plain", rows=CHUNK))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--roads", nargs="*", default=[*PLAIN, *AGAINST])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--road", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.road is not None:
        return run_road(options)
    options.folder.mkdir(exist_ok=True)
    data, results = options.folder / f"{options.rows}.parquet", options.folder / f"{options.rows}.json"
    if not data.exists():
        make_table(data, options.rows, options.columns)
    found = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    for road in options.roads:
        found.setdefault(road, []).append(in_process(road, options))
        print(road, found[road][-1], flush=True)
        results.write_text(json.dumps(found), encoding="utf-8")
    if options.out is not None:
        options.out.write_text(page(found, options), encoding="utf-8")
    return 0


def page(found: dict[str, list[dict[str, float]]], options: argparse.Namespace) -> str:
    def middle(road: str, what: str) -> float:
        return statistics.median(one[what] for one in found[road])

    lines = []
    for road in [road for road in [*PLAIN, *AGAINST] if road in found]:
        ratios = "; ".join(
            f"{middle(road, 'seconds') / middle(base, 'seconds'):.2f} ({base}; of processors "
            f"{middle(road, 'processors') / middle(base, 'processors'):.2f})"
            for base in AGAINST.get(road, ())
            if base in found
        )
        lines.append(
            f"| {road} | {len(found[road])} | {middle(road, 'seconds'):.1f} | {middle(road, 'processors'):.1f} "
            f"| {middle(road, 'megabytes'):.0f} | {middle(road, 'written'):.0f} | {ratios} |"
        )
    slower = [
        middle(road, "processors") / middle(AGAINST[road][0], "processors")
        for road in AGAINST
        if road in found
    ]
    return "\n".join(
        [
            "# Row releases, streaming",
            "",
            f"JL + Laplace, DPPro and DPRP take {min(slower):.1f} to {max(slower):.1f} times the processor time "
            "of a plain way that writes as many columns.",
            "",
            "| way | runs | seconds | seconds of processors | largest memory, MB | written, MB | times the seconds of |",
            "|---|---|---|---|---|---|---|",
            *lines,
            "",
            "![Seconds of processors](row-streaming.png)",
            "",
            NOTES,
            "## Made by",
            "",
            f"```text\npython benchmarks/row_streaming.py --folder DIR --rows {options.rows}\n```",
            "",
            f"One way after the other: {options.rows:,} x {options.columns} float32 Parquet to {options.components} "
            "components (DPRP: and back into all columns), Parquet out; medians of the runs.",
            "",
        ]
    )


NOTES = """- A *plain* way encodes the same batches, multiplies by a matrix, adds numpy's noise, and writes alike.
  *Plain normal, all columns* writes fifty columns, as DPRP does. The other two write twenty.
- DPRP reads the table twice, because no column of this schema declares a `fill` value. The first read finds where the rows
  lie, the second has the rows and their moments. *No projection* is DPRP as it is by default: fifty noisy columns in place
  of twenty.
- Memory is the largest that no file stands behind.
"""


def in_process(road: str, options: argparse.Namespace) -> dict[str, float]:
    """What one road takes in a process of its own."""
    given = {"folder": options.folder, "rows": options.rows, "columns": options.columns, "road": road}
    command = [sys.executable, __file__, "--components", str(options.components)]
    command += [word for name, value in given.items() for word in (f"--{name}", str(value))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


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
    data, out = options.folder / f"{options.rows}.parquet", options.folder / "written.parquet"
    peak = Peak()
    peak.start()
    started = time.perf_counter()
    (plain if options.road in PLAIN else release)(
        data, out, options.columns, options.components, options.road
    )
    seconds = time.perf_counter() - started
    used, written = resource.getrusage(resource.RUSAGE_SELF), out.stat().st_size / 1e6
    out.unlink()
    measured = {
        "seconds": seconds,
        "processors": used.ru_utime + used.ru_stime,
        "megabytes": peak.megabytes,
        "written": written,
    }
    print(json.dumps(measured))
    return 0


if __name__ == "__main__":
    sys.exit(main())
