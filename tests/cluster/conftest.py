"""Real clusters on loopback: worker processes that tests may kill, and tables to release."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gnomon.table.rows import Layout, Rows
from gnomon.table.schema import Schema

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("GNOMON_TEST_CLUSTER"):
        return
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.skip(reason="starts a cluster or a server: run by make test-cluster"))


# --- tables and queries ---

SCHEMA = """[columns.x]
kind = "number"
low = 0
high = 9
[columns.z]
kind = "number"
low = -3
high = 3
missing = "indicator"
[columns.kind]
kind = "category"
values = ["a", "b", "c"]
[columns.y]
kind = "category"
values = [0, 1]
role = "target"
"""


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.stem}_for_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def queries() -> ModuleType:
    """Every query, random partitions and a table, as the tests of queries have them."""
    return load(HERE.parent / "statistics" / "test_queries.py")


class AsTheyAre:
    """An encoder of rows that are encoded already."""

    def __init__(self, width: int) -> None:
        self.layout, self.portable = Layout(width, classes=True, number=True), False

    def encode(self, rows: Rows) -> Rows:
        return rows


@pytest.fixture(scope="session")
def as_they_are() -> type[AsTheyAre]:
    return AsTheyAre


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema.loads(SCHEMA)


@pytest.fixture(scope="session")
def persons() -> Schema:
    told = '[table]\nrows = 4000\nperson = "patient"\nrows_per_person = 2\n'
    return Schema.loads(f'{told}{SCHEMA}[columns.patient]\nkind = "identifier"\n')


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    rng, n = np.random.default_rng(0), 4000
    z = rng.normal(size=n)
    z[::7] = np.nan
    return pd.DataFrame(
        {
            "x": rng.uniform(0, 9, n),
            "z": z,
            "kind": rng.choice(["a", "b", "c"], n),
            "y": rng.choice([0, 1], n),
            "patient": rng.integers(0, 1200, n),
            "secret": rng.choice(["1-800-SECRET"], n),
        }
    )


@pytest.fixture
def leftovers(tmp_path: Path) -> Iterator[Path]:
    """A shared folder that must be empty in the end."""
    place = tmp_path / "shared"
    place.mkdir()
    yield place
    gc.collect()  # of tracebacks that hold rows
    assert not list(place.glob("gnomon-*"))


# --- what travels to workers ---


class ByValue:
    """Workers do not have the files of tests, so that what is defined there travels with its code."""

    def __init__(self, thing: Any) -> None:
        import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[type(thing).__module__])
        self._told = cloudpickle.dumps(thing)

    def __reduce__(self) -> Any:
        import cloudpickle

        return cloudpickle.loads, (self._told,)

    def __getattr__(self, name: str) -> Any:
        make, told = self.__reduce__()
        return getattr(make(*told), name)


@pytest.fixture(scope="session")
def by_value() -> type[ByValue]:
    return ByValue


@contextmanager
def killing(seen: Path) -> Iterator[list[int]]:
    """End the first worker process that tells, in the folder `seen`, that it is at work."""
    seen.mkdir()
    killed: list[int] = []

    def kill() -> None:
        for _ in range(3000):
            for path in seen.iterdir():
                os.kill(int(path.name), signal.SIGKILL)
                killed.append(int(path.name))
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    yield killed
    killer.join()
    assert killed


@pytest.fixture(name="killing", scope="session")
def _killing() -> Any:
    return killing


# --- engines ---


@dataclass(frozen=True)
class Cluster:
    """A running cluster: an engine on it, and the frames that it holds."""

    name: str
    engine_in: Callable[[Path], Any]
    frame: Callable[[pd.DataFrame, int], Any]
    address: str


@pytest.fixture(scope="session")
def dask() -> Iterator[Cluster]:
    """A scheduler and three worker processes."""
    pytest.importorskip("distributed", reason="the extra gnomon[dask] is not installed")
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from gnomon.engine.dask import DaskEngine

    loopback = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, processes=True, **loopback) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):

        def engine_in(place: Path) -> DaskEngine:
            client.wait_for_workers(3, timeout=240)  # that were killed, on a busy machine
            return DaskEngine(client=client, place=str(place))

        def frame(table: pd.DataFrame, partitions: int) -> Any:
            return dd.from_pandas(table, npartitions=partitions)

        yield Cluster("dask", engine_in, frame, cluster.scheduler_address)


@pytest.fixture(scope="session")
def spark_processes() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="the extra gnomon[spark] is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed: apt-get install openjdk-17-jre-headless")
    import pyspark

    folder = Path(tempfile.mkdtemp(prefix="gnomon-spark-"))
    started = load(HERE / "spark_processes.py").SparkProcesses(Path(pyspark.__file__).parent, folder)
    try:
        yield started
    finally:
        started.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark(spark_processes: Any) -> Iterator[Cluster]:
    """A master, and two workers with an executor each."""
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from gnomon.engine.spark import SparkEngine

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(spark_processes.master)
    for key, value in load(HERE / "spark_processes.py").SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()

    def engine_in(place: Path) -> SparkEngine:
        return SparkEngine(session=session, place=str(place))

    def frame(table: pd.DataFrame, partitions: int) -> Any:
        return session.createDataFrame(pa.Table.from_pandas(table)).repartition(partitions)

    yield Cluster("spark", engine_in, frame, spark_processes.master)
    session.stop()


@pytest.fixture(params=["dask", "spark"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    found: Cluster = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def engine(cluster: Cluster, leftovers: Path) -> Any:
    return cluster.engine_in(leftovers)
