"""Moments of a wide Parquet table against a bare loop, and a whole RON-Gauss release against its plain parts.

    python benchmarks/moments.py --rows 5000000 --columns 100

Prints ratios of processor times measured in this one run, and peak memory at two sizes; absolute times are noise.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from gnomon.engine.local import LOCAL
from gnomon.methods.ron_gauss import RonGauss
from gnomon.privacy.ledger import Ledger
from gnomon.publish import publish
from gnomon.statistics.frame import Frame
from gnomon.statistics.queries import Moments
from gnomon.table.check import check
from gnomon.table.encode import EncodedRows, Encoder
from gnomon.table.fingerprint import content_print
from gnomon.table.schema import Schema
from gnomon.table.source import open_source


def make_table(path: Path, rows: int, columns: int, **form: object) -> None:
    """Correlated numbers, written as a stream; `form` is for the Parquet writer."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(columns)]
    mix = rng.standard_normal((columns, columns)).astype(np.float32) / columns**0.5
    with pq.ParquetWriter(path, pa.schema([(n, pa.float32()) for n in names]), **form) as writer:
        for start in range(0, rows, 131_072):
            size = min(131_072, rows - start)
            X = np.asfortranarray(rng.standard_normal((size, columns), dtype=np.float32) @ mix)
            writer.write_table(pa.table({n: X[:, j] for j, n in enumerate(names)}))


def bare_moments(path: Path) -> np.ndarray:
    """One BLAS thread: more would spin, and count as processor time, while the next batch is read."""
    total: np.ndarray | float = 0.0
    for batch in pq.ParquetFile(path).iter_batches(65_536):
        X = np.stack([column.to_numpy() for column in batch.columns], axis=0).astype(np.float64).T
        total = total + X.T @ X
    assert isinstance(total, np.ndarray)
    return total


def plain_release(path: Path, out: Path, rows: int) -> None:
    """Reading, plain moments, numpy's multivariate normal, writing."""
    S = bare_moments(path)
    n = pq.ParquetFile(path).metadata.num_rows
    X = np.random.default_rng(0).multivariate_normal(np.zeros(len(S)), S / n, size=rows, method="cholesky")
    table = pa.table({f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])})
    pq.write_table(table, out, compression="zstd", compression_level=1)


def encoded(path: Path, columns: int) -> EncodedRows:
    """The cache of encoded rows, filled: read, checked, printed and encoded."""
    schema = make_schema(columns)
    source = open_source(path, schema=schema)
    rows = EncodedRows(source, Encoder(schema), LOCAL)
    assert rows.n
    return rows


def before_the_charge(path: Path, columns: int) -> None:
    """What a release does with the table before it measures anything, beside the encoding."""
    schema = make_schema(columns)
    source = open_source(path, schema=schema)
    assert check(source, schema).ok
    content_print(source, schema, bytes(32))


def sum_moments(rows: EncodedRows, columns: int) -> None:
    frame = Frame.identity(columns, radius=columns**0.5)
    LOCAL.fold(rows, Moments("moments", frame, constant=2**15), stage="moments")


def our_moments(path: Path, columns: int) -> None:
    sum_moments(encoded(path, columns), columns)


def our_release(path: Path, out: Path, rows: int, columns: int) -> None:
    method = RonGauss(1.0, 1e-6, schema=make_schema(columns))
    publish(path, method, out, ledger=Ledger(out.parent / "ledger.sqlite"), rows=rows)


def make_schema(columns: int) -> Schema:
    return Schema.of_arrays(columns, (-6.0, 6.0))


def timed(f: Callable[[], object]) -> float:
    """Processor time of all threads, which other work on the machine changes little."""
    start = time.process_time()
    f()
    return time.process_time() - start


def peak_of(action: str, path: Path, columns: int) -> float:
    """Peak resident memory in GB of our moments in a process of its own."""
    code = f"import sys; sys.argv=['x']; sys.path.insert(0, {str(Path(__file__).parent)!r}); import moments as b; "
    code += f"from pathlib import Path; b.{action}(Path({str(path)!r}), {columns}); b.print_peak()"
    return float(
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    )


def print_peak() -> None:
    """VmHWM of this process; ru_maxrss would count the process that started it, too."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    print(int(line.split()[1]) / 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--synthetic", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        big, small = Path(folder) / "big.parquet", Path(folder) / "small.parquet"
        make_table(big, args.rows, args.columns)
        make_table(small, args.rows // 5, args.columns)
        with threadpool_limits(1, user_api="blas"):
            bare = min(timed(lambda: bare_moments(big)) for _ in range(args.repeats))
        rows: list[EncodedRows] = []
        encoding = timed(lambda: rows.append(encoded(big, args.columns)))
        ours = min(timed(lambda: sum_moments(rows[0], args.columns)) for _ in range(args.repeats))
        checking = timed(lambda: before_the_charge(big, args.columns))
        size = f"{args.rows} x {args.columns}"
        print(f"moments, {size}: {ours / bare:.2f} times the bare loop (target 0.8)")
        print(
            f"encoding: {encoding / bare:.2f}, check and print: {checking / bare:.2f} times (target 1.0 together)"
        )
        rows.clear()
        for name, path in (("a fifth of the rows", small), ("all rows", big)):
            print(
                f"peak memory of our moments, {name}: {peak_of('our_moments', path, args.columns):.2f} GB (target 0.8)"
            )
        with threadpool_limits(1, user_api="blas"):
            plain = timed(lambda: plain_release(big, Path(folder) / "plain.parquet", args.synthetic))
        release = timed(lambda: our_release(big, Path(folder) / "release", args.synthetic, args.columns))
        print(
            f"whole release, {args.synthetic} rows out: {release / plain:.2f} times its plain parts (target 2.5)"
        )
        print(f"(processors: {os.cpu_count()}, bare loop {bare:.1f} s, plain release {plain:.1f} s)")


if __name__ == "__main__":
    main()
