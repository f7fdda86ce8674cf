"""Spark: a standalone master with two workers and a Connect server, on loopback; the same integers, whoever is killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the extra gnomon[spark] is not installed")

import cloudpickle as spark_pickle
import pyspark
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from gnomon.engine import cluster as shared
from gnomon.engine.committed import CommittedRows
from gnomon.engine.local import LOCAL
from gnomon.engine.spark import SparkEngine, SparkSource
from gnomon.errors import EngineError
from gnomon.methods import METHODS
from gnomon.privacy.ledger import Ledger
from gnomon.publish import publish
from gnomon.table.encode import EncodedRows, Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        shutil.which("java") is None, reason="Java is not installed: apt-get install openjdk-17-jre-headless"
    ),
]
TOLD: dict[str, Any] = {"epsilon": np.inf, "not_private": True, "random_state": 1}
HOME = Path(pyspark.__file__).parent
MODULES = [
    "java.lang",
    "java.lang.invoke",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
]
OPENS = [
    f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in [*MODULES, "sun.nio.ch", "sun.security.action"]
]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int, seconds: int = 60) -> None:
    for _ in range(seconds * 5):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("the process did not open its port")


class Started:
    """Java processes of a standalone cluster, which end with the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self._processes = folder, free_port(), []
        self.master = f"spark://127.0.0.1:{self.port}"
        self._java(
            "org.apache.spark.deploy.master.Master",
            *("--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port())),
        )
        wait_for(self.port)
        for i in range(2):
            self._java(
                "org.apache.spark.deploy.worker.Worker",
                *("--host", "127.0.0.1", "--cores", "2", "--memory", "2g", "--webui-port", str(free_port())),
                *("--work-dir", str(folder / f"work-{i}"), self.master),
            )

    def connect_server(self) -> str:
        port = free_port()
        settings = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(port),
            **SETTINGS,
        }
        told = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        name = "org.apache.spark.sql.connect.service.SparkConnectServer"
        self._java(
            "org.apache.spark.deploy.SparkSubmit",
            "--class",
            name,
            "--master",
            self.master,
            *told,
            "spark-internal",
        )
        wait_for(port)
        return f"sc://127.0.0.1:{port}"

    def _java(self, *command: str) -> None:
        environment = {
            **os.environ,
            **{"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
            "SPARK_SCALA_VERSION": "2.13",
        }
        with (self.folder / f"log-{len(self._processes)}").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    ["java", "-Xmx512m", *OPENS, "-cp", f"{HOME}/jars/*", *command],
                    env=environment,
                    cwd=self.folder,
                    stdout=log,
                    stderr=log,
                )
            )

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.log.level": "ERROR",
}


@pytest.fixture(scope="module")
def started() -> Iterator[Started]:
    folder = Path(tempfile.mkdtemp(prefix="gnomon-spark-"))
    started = Started(folder)
    try:
        yield started
    finally:
        started.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def session(started: Started) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(started.master).config("spark.ui.showConsoleProgress", "false")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def engine(session: SparkSession, leftovers: Path) -> SparkEngine:
    return SparkEngine(session=session, place=str(leftovers))


def _by_value(thing: Any) -> Any:
    """Workers do not have this file: its classes travel as they are."""
    return _ByValue(spark_pickle.dumps(thing) if _register(thing) else b"")


def _register(thing: Any) -> bool:
    module = sys.modules[type(thing).__module__]
    for one in (spark_pickle, cloudpickle):
        one.register_pickle_by_value(module)
    return True


class _ByValue:
    """Plain pickle of what cloudpickle has pickled by value."""

    def __init__(self, told: bytes) -> None:
        self._told = told

    def __reduce__(self) -> Any:
        return spark_pickle.loads, (self._told,)

    def __getattr__(self, name: str) -> Any:
        return getattr(spark_pickle.loads(self.__dict__["_told"]), name)


def test_every_query_has_the_same_integers(
    engine: SparkEngine, queries: ModuleType, as_they_are: Any
) -> None:
    from gnomon.privacy.measure import _Together

    rows = queries.table(500)
    together = _Together(tuple(queries.QUERIES.values()))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cuts = rng.integers(0, 500, int(rng.integers(0, 40))).tolist()
        kept = engine.encode(queries.Parts(rows, cuts, seed), as_they_are(queries.M), stage="x")
        found = engine.fold(kept, together, stage="x")
        assert found.dtype == np.int64
        assert np.array_equal(found, together.of_batch(rows))
        del kept


def test_fragments_of_files_become_the_same_rows(
    engine: SparkEngine, table: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "t.parquet", row_group_size=300)
    source = open_source(tmp_path / "t.parquet")
    here, there = (EncodedRows(source, Encoder(schema), one) for one in (LOCAL, engine))
    assert isinstance(there.kept, CommittedRows)
    one, other = (np.concatenate([part.load().cells for part in rows.parts()]) for rows in (here, there))
    assert np.array_equal(one, other)
    del there


def sorted_rows(answer: Any) -> Any:
    return np.unique(np.concatenate(list(answer.value.chunks())), axis=0)


@pytest.mark.parametrize("name", ["ron-gauss", "jl-laplace"])
def test_a_release_of_a_frame_is_that_of_one_machine(
    session: SparkSession, leftovers: Path, table: pd.DataFrame, schema: Schema, name: str
) -> None:
    here = METHODS[name](**TOLD, schema=schema).fit(table)
    frame = session.createDataFrame(pa.Table.from_pandas(table)).repartition(5)
    engine = SparkEngine(session=session, place=str(leftovers))
    there = METHODS[name](**TOLD, schema=schema).fit(frame, engine=engine)
    for one, other in zip(here.answers_, there.answers_, strict=True):
        if hasattr(one.value, "chunks"):  # a table is a multiset, and a repartition has no order
            assert np.array_equal(sorted_rows(one), sorted_rows(other))
        else:
            assert np.array_equal(one.value, other.value)


class SlowQuery:
    """A query that tells which executor works on it, and gives a test the time to kill it."""

    def __init__(self, query: Any, seen: Path) -> None:
        self._query, self._seen = query, seen

    def zero(self) -> Any:
        return self._query.zero()

    def of_batch(self, rows: Any) -> Any:
        note_executor(self._seen)
        time.sleep(0.15)
        return self._query.of_batch(rows)


def note_executor(seen: Path) -> None:
    """The Java process above Spark's Python daemon."""
    daemon = os.getppid()
    executor = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1]
    (seen / executor).touch()


def _kill_the_first(seen: Path, killed: list[int]) -> None:
    for _ in range(1500):
        for path in seen.iterdir():
            if b"Executor" in Path(f"/proc/{path.name}/cmdline").read_bytes():  # of this test's own cluster
                os.kill(int(path.name), signal.SIGKILL)
                killed.append(int(path.name))
            return
        time.sleep(0.02)


def test_an_executor_that_is_killed_during_a_fold_changes_nothing(
    engine: SparkEngine, queries: ModuleType, as_they_are: Any, tmp_path: Path
) -> None:
    rows, seen, killed = queries.table(600), tmp_path / "seen", []
    seen.mkdir()
    kept = engine.encode(queries.Parts(rows, list(range(15, 600, 15)), 1), as_they_are(queries.M), stage="x")
    query = queries.QUERIES["moments by class"]
    killer = threading.Thread(target=_kill_the_first, args=(seen, killed))
    killer.start()
    found = engine.fold(kept, _by_value(SlowQuery(query, seen)), stage="x")
    killer.join()
    assert killed
    assert np.array_equal(found, query.of_batch(rows))
    del kept


class Noise:
    """A row map that draws anew at every call, as a release of noisy rows does."""

    def __init__(self, seen: Path) -> None:
        self._seen = seen

    def __call__(self, rows: Any) -> Any:
        import secrets

        note_executor(self._seen)
        time.sleep(0.15)
        return np.array([[secrets.randbits(40)] for _ in range(len(rows))])


def test_a_killed_and_retried_task_shows_one_draw_a_row(
    engine: SparkEngine, queries: ModuleType, as_they_are: Any, tmp_path: Path
) -> None:
    rows, seen, killed = queries.table(300), tmp_path / "seen", []
    seen.mkdir()
    kept = engine.encode(queries.Parts(rows, list(range(10, 300, 10)), 1), as_they_are(queries.M), stage="x")
    got: list[Any] = []
    killer = threading.Thread(target=_kill_the_first, args=(seen, killed))
    killer.start()
    engine.write(kept, _by_value(Noise(seen)), got.append, stage="x")
    killer.join()
    assert killed
    assert sum(len(part) for part in got) == len(np.unique(np.concatenate(got))) == 300
    del kept


def test_a_frame_that_changes_at_every_evaluation_is_refused(
    session: SparkSession, leftovers: Path, table: pd.DataFrame, schema: Schema
) -> None:
    seed = sql.udf(lambda: float(np.random.default_rng().uniform()), "double").asNondeterministic()
    frame = session.createDataFrame(pa.Table.from_pandas(table)).withColumn("x", seed() * 9)
    source = SparkSource(frame, schema)
    source.engine(SparkEngine(session=session, place=str(leftovers)))
    with pytest.raises(EngineError, match="gives other rows at every evaluation"):
        source.n_rows()


def test_errors_of_workers_are_a_sentence_without_cells(
    session: SparkSession, leftovers: Path, table: pd.DataFrame, schema: Schema
) -> None:
    def boom(cell: float) -> float:
        raise ValueError(f"1-800-SECRET {cell}")

    frame = session.createDataFrame(pa.Table.from_pandas(table)).withColumn("x", sql.udf(boom, "double")("x"))
    source = SparkSource(frame, schema)
    source.engine(SparkEngine(session=session, place=str(leftovers)))
    with pytest.raises(EngineError, match=r"^The Spark cluster could not do its work \(\w+\)\.$") as caught:
        source.n_rows()
    assert caught.value.__cause__ is None
    failing = shared.Task(_by_value(Boom()), shared.versions())
    outcomes = dict(SparkEngine(session=session, place=str(leftovers)).each(failing, [1, 2]))
    assert outcomes[0].problem == outcomes[1].problem == "A task failed on a worker (ValueError)."


class Boom:
    def __call__(self, item: Any) -> Any:
        raise ValueError("1-800-SECRET")


@pytest.mark.parametrize("what", ["gnomon", "numpy"])
def test_other_versions_on_workers_are_refused(
    session: SparkSession, leftovers: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    expected = {**shared.versions(), what: "0.0"}
    monkeypatch.setattr("gnomon.engine.spark.versions", lambda: expected)
    with pytest.raises(
        EngineError, match=f"A worker has {what} .* and the driver 0.0; install the same version"
    ):
        SparkEngine(session=session, place=str(leftovers))


def test_a_folder_from_a_frame(
    session: SparkSession, leftovers: Path, table: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    frame = session.createDataFrame(pa.Table.from_pandas(table))
    publish(
        frame,
        METHODS["jl-laplace"](epsilon=1.0, schema=schema),
        tmp_path / "out",
        ledger=Ledger(tmp_path / "ledger"),
        engine=SparkEngine(session=session, place=str(leftovers)),
    )
    assert pq.read_metadata(tmp_path / "out" / "data.parquet").num_rows == len(table)


CONNECT = """
import sys
import numpy as np, pyarrow.parquet as pq
from pyspark.sql import SparkSession
from gnomon.cli import main
from gnomon.engine.spark import SparkEngine
from gnomon.methods import METHODS
from gnomon.table.schema import Schema

folder, url = sys.argv[1:]
session = SparkSession.builder.remote(url).getOrCreate()
table, schema = pq.read_table(folder + "/t.parquet"), Schema.load(folder + "/schema.toml")
told = {"epsilon": np.inf, "not_private": True, "random_state": 1, "schema": schema}
here = METHODS["ron-gauss"](**told).fit(table)
frame = session.createDataFrame(table).repartition(3)
there = METHODS["ron-gauss"](**told).fit(frame, engine=SparkEngine(session=session, place=folder))
assert "connect" in type(frame).__module__
assert all(np.array_equal(a.value, b.value) for a, b in zip(here.answers_, there.answers_, strict=True))
session.stop()
told = ["release", folder + "/t.parquet", "--schema", folder + "/schema.toml", "-e", "1", "--method", "ron-gauss"]
told += ["--engine", "spark", "--cluster", url, "--shared", folder, "--ledger", folder + "/ledger"]
sys.exit(main([*told, "--out", folder + "/out"]))
"""


def test_connect(started: Started, table: pd.DataFrame, schema: Schema, leftovers: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs gnomon[spark]")
    pq.write_table(pa.Table.from_pandas(table), leftovers / "t.parquet", row_group_size=500)
    (leftovers / "schema.toml").write_text(schema.dumps())
    url = started.connect_server()
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("SPARK", "PYSPARK"))
    }
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CONNECT, str(leftovers), url],
        check=True,
        timeout=240,
        env=environment,
    )
    assert (leftovers / "out" / "report.html").exists()
