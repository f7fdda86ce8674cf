"""Engines beside the bare loop of the same engine, how cost grows, and row releases on every engine.

    python benchmarks/engines.py moments --rows 1000000 5000000 20000000 --engines local dask spark
    python benchmarks/engines.py moments --rows 1000000 5000000 --engines postgresql --database postgresql://...
    python benchmarks/engines.py synthesizer --rows 1000000 5000000 20000000
    python benchmarks/engines.py rows --rows 10000000 --columns 50
    python benchmarks/engines.py growth --by rows columns classes cells

Processor times are of this process and of all that it has started (a database server is not one of these), in one run;
workers are warmed up first. Memory is what no file stands behind, looked at five times a second (Linux): the largest of
the driver, of each of the two workers, and of any Java process. The bare loop sums X'X over the same row groups, in
tasks of the same engine. With --folder, tables stay there for another run.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
from moments import make_schema
from threadpoolctl import threadpool_limits

from gnomon.engine.base import Engine
from gnomon.engine.cluster import ClusterEngine, Task, versions
from gnomon.engine.local import LOCAL
from gnomon.methods import METHODS
from gnomon.statistics.frame import Frame
from gnomon.statistics.queries import Moments
from gnomon.table.base import Source
from gnomon.table.encode import EncodedRows, Encoder
from gnomon.table.rows import Loaded, Rows, batch_rows
from gnomon.table.source import open_source
from gnomon.table.target import Target

PLAIN = {"compression": "none", "use_dictionary": False}  # tables that are written fast
CLUSTERS = ("dask", "spark")


def table_in(folder: str | Path, rows: int, columns: int) -> Path:
    """Written as a stream, in a process of its own, whose memory is not measured here, unless it is there."""
    path = Path(folder) / f"{rows}x{columns}.parquet"
    if not path.exists():
        code = f"from moments import *; make_table(Path({str(path)!r}), {rows}, {columns}, **{PLAIN!r})"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)
    return path


@contextmanager
def tables(args: argparse.Namespace, rows: Sequence[int]) -> Iterator[Iterator[Path]]:
    """One table after the other; each is deleted before the next, unless a folder was named."""
    with tempfile.TemporaryDirectory(dir=args.folder) as own:

        def one_by_one() -> Iterator[Path]:
            for n in rows:
                path = table_in(args.folder or own, n, args.columns)
                yield path
                if args.folder is None:
                    path.unlink()

        yield one_by_one()


# --- what is measured ---


def processor_time() -> float:
    """Of this process and its descendants; those that have ended count with their parents."""
    me = psutil.Process()
    found = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        found += times.user + times.system + times.children_user + times.children_system
    return found


class Peak(threading.Thread):
    """The largest memory of this process, and of each that it has started, in megabytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.mine, self.java, self.others, self.over = 0.0, 0.0, dict[int, float](), threading.Event()

    def run(self) -> None:
        me = psutil.Process()
        while not self.over.wait(0.2):
            self.mine = max(self.mine, _held(me.pid))
            for one in me.children(recursive=True):
                if "java" in _name(one):
                    self.java = max(self.java, _held(one.pid))
                else:
                    self.others[one.pid] = max(self.others.get(one.pid, 0.0), _held(one.pid))


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def _held(process: int) -> float:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    held = [line for line in status.splitlines() if line.startswith("RssAnon")]
    return int(held[0].split()[1]) / 1024 if held else 0.0


@dataclass
class Cost:
    """What a piece of work took."""

    processors: float = 0.0
    seconds: float = 0.0
    driver: float = 0.0  # megabytes
    workers: tuple[float, ...] = ()  # the two largest
    java: float = 0.0


@contextmanager
def measured() -> Iterator[Cost]:
    cost, peak = Cost(), Peak()
    peak.start()
    used, started = processor_time(), time.perf_counter()
    yield cost
    cost.processors, cost.seconds = processor_time() - used, time.perf_counter() - started
    peak.over.set()
    peak.join()
    cost.driver, cost.java = peak.mine, peak.java
    cost.workers = tuple(sorted(peak.others.values(), reverse=True)[:2])


def memory(*costs: Cost) -> str:
    """The driver; each worker; Java."""
    told = [f"{max(cost.driver for cost in costs):.0f}"]
    largest = [max(some) for some in zip(*(cost.workers for cost in costs), strict=False)]
    told += [", ".join(f"{one:.0f}" for one in largest), f"{max(cost.java for cost in costs):.0f}"]
    return " | ".join("" if one == "0" else one for one in told)


# --- the bare loop ---


@dataclass(frozen=True)
class BareLoop:
    """X'X of some row groups: what the engine costs without gnomon."""

    path: str

    def __call__(self, groups: Sequence[int]) -> Any:
        total: Any = 0.0
        with threadpool_limits(1, user_api="blas"), pq.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(16_384, row_groups=list(groups)):
                X = np.stack([column.to_numpy() for column in batch.columns]).astype(np.float64)
                total = total + X @ X.T
        return total


def bare(engine: Engine, path: Path) -> Any:
    loop, groups = _importable(BareLoop(str(path))), range(pq.read_metadata(path).num_row_groups)
    if not isinstance(engine, ClusterEngine):
        return loop(groups)
    parts = engine._groups(list(groups))
    return sum(outcome.get() for _, outcome in engine.each(Task(loop, versions()), parts))


def _importable(loop: BareLoop) -> Any:
    """Workers do not have this file, so the class travels with its code."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[BareLoop.__module__])
    return _Told(cloudpickle.dumps(loop))


class _Told:
    def __init__(self, told: bytes) -> None:
        self._told = told

    def __reduce__(self) -> Any:
        import cloudpickle

        return cloudpickle.loads, (self._told,)

    def __call__(self, item: Any) -> Any:
        import cloudpickle

        return cloudpickle.loads(self._told)(item)


def bare_database(url: str) -> Any:
    from adbc_driver_postgresql import dbapi

    total: Any = 0.0
    with (
        dbapi.connect(url) as connection,
        connection.cursor() as cursor,
        threadpool_limits(1, user_api="blas"),
    ):
        cursor.execute("SELECT * FROM gnomon_benchmark")
        for batch in cursor.fetch_record_batch():
            X = np.stack([column.to_numpy() for column in batch.columns]).astype(np.float64)
            total = total + X @ X.T
    return total


def load_database(url: str, path: Path) -> None:
    from adbc_driver_postgresql import dbapi

    columns = ", ".join(f"{name} real" for name in pq.read_schema(path).names)
    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS gnomon_benchmark")
        cursor.execute(f"CREATE UNLOGGED TABLE gnomon_benchmark ({columns})")  # no log of what is loaded
        for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches(65_536):
            cursor.adbc_ingest("gnomon_benchmark", batch, mode="append")
        connection.commit()


# --- engines ---


@contextmanager
def engine_of(name: str) -> Iterator[Engine]:
    """Two workers, each with one processor."""
    if name in ("local", "postgresql"):
        yield LOCAL
    elif name == "dask":
        from gnomon.engine.dask import DaskEngine

        with DaskEngine(workers=2) as dask:
            yield dask
    else:
        from gnomon.engine.spark import SparkEngine

        with SparkEngine("local-cluster[2,1,1024]") as spark:
            yield spark


def ours(engine: Engine, source: Source, columns: int) -> tuple[Cost, Cost]:
    """What the encoding costs, and the moments."""
    rows = EncodedRows(source, Encoder(make_schema(columns)), engine)
    query = Moments("moments", Frame.identity(columns, radius=columns**0.5), constant=2**15)
    with measured() as encoding:
        assert rows.n
    with measured() as moments:
        engine.fold(rows, query, stage="moments")
    return encoding, moments


def compare(name: str, path: Path, tiny: Path, columns: int, database: str | None) -> None:
    with engine_of(name) as engine:
        if name == "postgresql":
            from gnomon.table.database import open_database

            assert database is not None
            load_database(database, path)
            with measured() as loop:
                bare_database(database)
            encoding, moments = ours(LOCAL, open_database(database, table="gnomon_benchmark"), columns)
        else:
            bare(engine, tiny)
            ours(engine, open_source(tiny), columns)
            with measured() as loop:
                bare(engine, path)
            encoding, moments = ours(engine, open_source(path), columns)
    n, clock = pq.read_metadata(path).num_rows, [cost.seconds for cost in (loop, moments, encoding)]
    print(
        f"| {n / 1e6:g} | {name} | {loop.processors:.1f} | {moments.processors:.1f} | {encoding.processors:.1f} "
        f"| {moments.processors / loop.processors:.2f} | {', '.join(f'{one:.0f}' for one in clock)} "
        f"| {memory(encoding, moments)} |",
        flush=True,
    )


def run_moments(args: argparse.Namespace) -> None:
    print(
        "| million rows | engine | bare loop, s | moments, s | encoding, s | moments / loop | by the clock, s "
        "| driver MB | workers MB | Java MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tables(args, args.rows) as paths, tempfile.TemporaryDirectory() as own:
        tiny = table_in(own, 10_000, args.columns)
        for path in paths:
            for name in args.engines:
                compare(name, path, tiny, args.columns, args.database)


# --- whole releases ---


def run_releases(args: argparse.Namespace, methods: dict[str, dict[str, Any]]) -> None:
    print(
        "| million rows | method | engine | s of processors | s by the clock | passes | driver MB | workers MB | Java MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    chosen = args.methods or list(methods)
    with tables(args, args.rows) as paths, tempfile.TemporaryDirectory() as own:
        tiny = table_in(own, 10_000, args.columns)
        for path in paths:
            n = pq.read_metadata(path).num_rows
            for name in args.engines:
                with engine_of(name) as engine:
                    _fitted(chosen[0], methods, tiny, args.columns, engine)
                    for method in chosen:
                        with measured() as cost:
                            passes = _fitted(method, methods, path, args.columns, engine)
                        print(
                            f"| {n / 1e6:g} | {method} | {name} | {cost.processors:.1f} | {cost.seconds:.0f} "
                            f"| {len(passes)} | {memory(cost)} |",
                            flush=True,
                        )
                        if args.passes:
                            print("; ".join(f"{stage}: {used:.1f} s" for stage, used in passes), flush=True)


def _fitted(
    name: str, methods: dict[str, dict[str, Any]], path: Path, columns: int, engine: Engine
) -> list[tuple[str, float]]:
    """Fit; the passes over the rows that it has told of, each with the processor seconds until its last rows."""
    stages: dict[str, int] = {}
    passes: list[tuple[str, float]] = []
    begun = processor_time()

    def progress(stage: str, done: int, total: int | None) -> None:
        nonlocal begun
        if done < stages.get(stage, done + 1):
            passes.append((stage, 0.0))
        stages[stage] = done
        if done == total:
            now = processor_time()
            passes[-1], begun = (stage, now - begun), now

    method = METHODS[name](**methods[name], schema=make_schema(columns))
    method.fit(path, engine=engine, progress=progress)
    return passes


ROW_RELEASES: dict[str, dict[str, Any]] = {
    "jl-laplace": {"epsilon": 1.0, "n_components": 20},
    "dppro": {"epsilon": 1.0, "delta": 1e-6, "n_components": 20},
    "dprp": {"epsilon": 1.0, "delta": 1e-6},
}
SYNTHESIZER: dict[str, dict[str, Any]] = {
    "synthesizer": {"epsilon": 1.0, "delta": 1e-6},
    "ron-gauss": {"epsilon": 1.0, "delta": 1e-6},  # beside it
}


# --- growth ---

GROWTH = {
    "rows": [1_000_000, 5_000_000, 20_000_000, 50_000_000],
    "columns": [10, 100, 1000, 5000],
    "classes": [2, 20, 200],
    "cells": [2, 20, 200],
}


class InMemory:
    """Rows that one fold reads again and again."""

    def __init__(self, rows: int, columns: int, classes: int) -> None:
        rng = np.random.default_rng(0)
        size = min(rows, batch_rows(columns))
        X = np.asfortranarray(rng.uniform(-1, 1, (size, columns)))
        self._part = Loaded(Rows.of(X, rng.integers(0, max(1, classes), size)), size)
        self._parts = -(-rows // size)
        self.n = self._parts * size

    def parts(self) -> Iterator[Loaded]:
        for _ in range(self._parts):
            yield self._part


def point(by: str, value: int, folder: str | None) -> dict[str, float]:
    """One measurement of growth, per million rows where rows do not grow."""
    if by == "rows":
        return _streamed(value, folder)
    columns = value if by == "columns" else 20
    n = max(8192, min(1_000_000, int(2e10 / columns**2)))
    rows, frame = (
        InMemory(n, columns, value if by == "classes" else 0),
        Frame.identity(columns, radius=columns**0.5),
    )
    if by == "classes":
        query = Moments("by class", frame, Target("y", value), constant=2**15, by_class=True)
    elif by == "cells":
        centres = np.random.default_rng(1).uniform(-1, 1, (value, columns))
        query = Moments("by cell", frame.zoom(centres, np.full(value, columns**0.5)), constant=2**15)
    else:
        query = Moments("moments", frame, constant=2**15)
    with measured() as cost:
        LOCAL.fold(rows, query, stage="moments")
    return {"s": cost.processors * 1e6 / rows.n, "MB": cost.driver, "sum MB": query.zero().nbytes / 2**20}


def _streamed(n: int, folder: str | None) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = table_in(place, n, 20)
        with measured() as loop:
            bare(LOCAL, path)
        encoding, moments = ours(LOCAL, open_source(path), 20)
    return {
        "s": moments.processors,
        "encoding s": encoding.processors,
        "bare s": loop.processors,
        "MB": max(encoding.driver, moments.driver),
    }


def run_growth(args: argparse.Namespace) -> None:
    """Every point in a process of its own, so that its memory is its own."""
    for by in args.by:
        found: list[tuple[int, dict[str, float]]] = []
        for value in [one for one in GROWTH[by] if by != "rows" or one <= args.most]:
            command = [sys.executable, __file__, "point", "--by", by, "--value", str(value)]
            command += ["--folder", args.folder] if args.folder else []
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found.append((value, json.loads(done.stdout)))
            told = ", ".join(f"{what} {number:.3g}" for what, number in found[-1][1].items())
            print(f"{by} {value:,}: {told}{_exponent(found)}", flush=True)


def _exponent(found: list[tuple[int, dict[str, float]]]) -> str:
    """By the last two points."""
    if len(found) < 2:
        return ""
    (a, one), (b, other) = found[-2:]
    return f" (s grows by the power {math.log(other['s'] / one['s']) / math.log(b / a):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["moments", "synthesizer", "rows", "growth", "point"])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000])
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--engines", nargs="*", default=["local", *CLUSTERS])
    parser.add_argument("--methods", nargs="*", help="of rows and synthesizer; by default all")
    parser.add_argument("--passes", action="store_true", help="what each pass of a release costs")
    parser.add_argument("--database", help="the URL of a PostgreSQL server, for the engine postgresql")
    parser.add_argument(
        "--folder", help="where tables are written and stay, for another run; by default a temporary folder"
    )
    parser.add_argument("--by", nargs="*", default=list(GROWTH))
    parser.add_argument("--most", type=int, default=50_000_000, help="rows, of growth by rows")
    parser.add_argument("--value", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    work: dict[str, Callable[[argparse.Namespace], object]] = {
        "moments": run_moments,
        "synthesizer": lambda told: run_releases(told, SYNTHESIZER),
        "rows": lambda told: run_releases(told, ROW_RELEASES),
        "growth": run_growth,
        "point": lambda told: print(json.dumps(point(told.by[0], told.value, told.folder))),
    }
    work[args.what](args)


if __name__ == "__main__":
    main()
