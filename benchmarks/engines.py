"""Moments on every engine, each beside the bare loop of the same engine that sums X'X over the same row groups.

    python benchmarks/engines.py --rows 1000000 --columns 100

Prints ratios of processor times of this process and all that it has started, measured in this one run; workers are
warmed up first. Databases: `--database URL` names a PostgreSQL server, whose own time is not counted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow.parquet as pq
from moments import make_schema, make_table
from threadpoolctl import threadpool_limits

from gnomon.engine.base import Engine
from gnomon.engine.cluster import ClusterEngine, Task, versions
from gnomon.engine.local import LOCAL
from gnomon.statistics.frame import Frame
from gnomon.statistics.queries import Moments
from gnomon.table.base import Source
from gnomon.table.encode import EncodedRows, Encoder
from gnomon.table.source import open_source


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


def timed(f: Callable[[], object]) -> float:
    start = processor_time()
    f()
    return processor_time() - start


@dataclass(frozen=True)
class BareLoop:
    """X'X of some row groups: what the engine costs without gnomon."""

    path: str

    def __call__(self, groups: Sequence[int]) -> Any:
        total: Any = 0.0
        with threadpool_limits(1, user_api="blas"), pq.ParquetFile(self.path) as file:
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
    import sys

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


def ours(engine: Engine, source: Source, columns: int) -> tuple[float, float]:
    """Processor seconds of the encoding, and of the moments."""
    rows = EncodedRows(source, Encoder(make_schema(columns)), engine)
    query = Moments("moments", Frame.identity(columns, radius=columns**0.5), constant=2**15)
    encoding = timed(lambda: rows.n)
    return encoding, min(timed(lambda: engine.fold(rows, query, stage="moments")) for _ in range(2))


def engines(asked: Sequence[str]) -> Any:
    for name in asked:
        if name == "local":
            yield name, LOCAL, lambda: None
        elif name == "dask":
            from gnomon.engine.dask import DaskEngine

            dask = DaskEngine(workers=2)
            yield name, dask, dask.close
        elif name == "spark":
            from gnomon.engine.spark import SparkEngine

            spark = SparkEngine("local[2]")
            yield name, spark, spark.close


def load_database(url: str, path: Path) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS gnomon_benchmark")
        batches = pq.ParquetFile(path).iter_batches(65_536)
        for batch in batches:
            cursor.adbc_ingest("gnomon_benchmark", batch, mode="create_append")
        connection.commit()


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


def show(name: str, loop: float, encoding: float, moments: float) -> None:
    print(
        f"{name:<10} moments {moments / loop:5.2f}, encoding {encoding / loop:5.2f} times the bare loop ({loop:.1f} s)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--engines", nargs="*", default=["local", "dask", "spark"])
    parser.add_argument("--database")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, tiny = Path(folder) / "table.parquet", Path(folder) / "tiny.parquet"
        make_table(path, args.rows, args.columns)
        make_table(tiny, 10_000, args.columns)
        print(f"{args.rows} x {args.columns}, {pq.read_metadata(path).num_row_groups} row groups")
        for name, engine, close in engines(args.engines):
            for warm in (tiny,):
                bare(engine, warm)
                ours(engine, open_source(warm), args.columns)
            loop = min(timed(lambda engine=engine: bare(engine, path)) for _ in range(2))
            show(name, loop, *ours(engine, open_source(path), args.columns))
            close()
        if args.database:
            from gnomon.table.database import open_database

            load_database(args.database, path)
            loop = timed(lambda: bare_database(args.database))
            source = open_database(args.database, table="gnomon_benchmark")
            show("postgresql", loop, *ours(LOCAL, source, args.columns))


if __name__ == "__main__":
    main()
