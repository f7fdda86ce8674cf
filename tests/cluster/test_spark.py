"""Spark alone: frames without a fixed result are refused; Connect; a session of gnomon's own, quiet, and in time."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the extra gnomon[spark] is not installed")

from pyspark.sql import functions as sql

from gnomon.engine.spark import SparkEngine
from gnomon.engine.spark_frame import SparkSource
from gnomon.engine.spark_session import problems
from gnomon.errors import DataError, EngineError, ParameterError
from gnomon.methods import METHODS
from gnomon.table.schema import Schema

pytestmark = pytest.mark.filterwarnings("ignore")
TOLD: dict[str, Any] = {"epsilon": np.inf, "not_private": True, "random_state": 1}


@pytest.fixture
def cluster(spark: Any) -> Any:
    return spark


def test_a_frame_that_changes_at_every_evaluation_is_refused(
    cluster: Any, engine: SparkEngine, table: pd.DataFrame, schema: Schema
) -> None:
    seed = sql.udf(lambda: float(np.random.default_rng().uniform()), "double").asNondeterministic()
    source = SparkSource(cluster.frame(table, 3).withColumn("x", seed() * 9), schema)
    source.engine(engine)
    with pytest.raises(EngineError, match="gives other rows at every evaluation"):
        source.n_rows()


def test_random_choices_of_one_seed_are_released_as_they_were_written(
    cluster: Any, engine: SparkEngine, table: pd.DataFrame, schema: Schema
) -> None:
    """rand() has one seed in a plan; a local checkpoint has no lineage, so that no part of it is ever computed again."""
    session = engine.session
    given = session.createDataFrame(pa.Table.from_pandas(table)).where(sql.rand() < 0.5)
    shuffled = cluster.frame(table, 3).where(sql.rand() < 0.5).localCheckpoint()
    for frame in (given, shuffled):
        source = SparkSource(frame, schema)
        source.engine(engine)
        once, again = (pa.Table.from_batches(source.batches(["x", "z"])) for _ in range(2))
        assert once.equals(again)
        assert once.num_rows == source.n_rows() < len(table)


def test_a_persisted_frame_is_refused_and_so_is_what_is_made_of_it(
    cluster: Any, engine: SparkEngine, table: pd.DataFrame, schema: Schema
) -> None:
    frame = cluster.frame(table, 3).persist()
    for persisted in (frame, frame.where("x > 2").withColumn("z", sql.col("z") / 2)):
        source = SparkSource(persisted, schema)
        source.engine(engine)
        with pytest.raises(EngineError, match="A persisted frame cannot be released: a part that is lost"):
            source.n_rows()
    assert frame.storageLevel.useMemory  # left as it was
    frame.unpersist()
    source = SparkSource(frame, schema)
    source.engine(engine)
    assert source.n_rows() == len(table)
    frame.createOrReplaceTempView("ward")
    engine.session.sql("CACHE TABLE ward")  # persisted by a name, and shown by another one in a plan
    source = SparkSource(engine.session.table("ward"), schema)
    source.engine(engine)
    with pytest.raises(EngineError, match="A persisted frame cannot be released: a part that is lost"):
        source.n_rows()
    engine.session.catalog.uncacheTable("ward")


class Slow:
    """A function of a frame that tells which executor is on it."""

    def __init__(self, seen: Path) -> None:
        self._seen = seen

    def __call__(self, batches: Any) -> Any:
        for batch in batches:
            if batch.num_rows:
                executor = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1]
                (self._seen / executor).touch()
                time.sleep(0.5)
            yield batch


def test_a_frame_whose_executor_is_lost_holds_every_row_once(
    cluster: Any,
    engine: SparkEngine,
    table: pd.DataFrame,
    schema: Schema,
    tmp_path: Path,
    by_value: Any,
    killing: Any,
) -> None:
    """Round robin, whose recomputed partitions may hold other rows: complete and without a double, or refused."""
    frame = cluster.frame(table, 8)
    slow = by_value(Slow(tmp_path / "seen"))
    source = SparkSource(frame.mapInArrow(lambda batches: slow(batches), frame.schema), schema)
    source.engine(engine)
    with killing(tmp_path / "seen"):
        refused = False
        try:
            source.n_rows()
        except EngineError as refusal:
            refused = "gives other rows at every evaluation" in str(refusal)
    if not refused:
        assert sorted(x for b in source.batches(["x"]) for x in b["x"].to_pylist()) == sorted(table["x"])


def boom(cell: float) -> float:
    raise ValueError(f"1-800-SECRET {cell}")


@pytest.mark.parametrize("by", ["a function", "SQL", "columns"])
def test_what_a_frame_complains_about_is_a_sentence_without_cells(
    cluster: Any,
    engine: SparkEngine,
    table: pd.DataFrame,
    schema: Schema,
    by: str,
    capfd: pytest.CaptureFixture[str],
    by_value: Any,
) -> None:
    """PySpark itself writes what SQL complains about to the standard error, cells and all."""
    failing = {
        "a function": sql.udf(lambda cell: boom(cell), "double")("x"),
        "SQL": sql.expr("CAST(secret AS INT)"),
        "columns": sql.col("secret").cast("int"),
    }
    source = SparkSource(cluster.frame(table, 2).withColumn("x", failing[by]), schema)
    source.engine(engine)
    with pytest.raises(EngineError, match=r"^The Spark cluster could not do its work \(\w+\)\.$") as caught:
        source.n_rows()
    assert caught.value.__cause__ is None
    said = capfd.readouterr()
    assert "SECRET" not in said.out + said.err


def test_columns_are_read_by_their_place_whatever_they_are_called(
    cluster: Any, engine: SparkEngine, table: pd.DataFrame
) -> None:
    """For SQL some of these are one name, or none."""
    names = ["a.b `c`", "größe", "X", "x", "a.b `c` hash", "hash", "c0"]
    frame = cluster.frame(table, 3).select(*(sql.expr(f"x + {i}") for i in range(len(names)))).toDF(*names)
    for i, name in enumerate(names):
        declared = Schema.loads(f'[columns."{name}"]\nkind = "number"\nlow = 0\nhigh = 20\n')
        source = SparkSource(frame, declared)
        source.engine(engine)
        found = sorted(x for batch in source.batches([name]) for x in batch[name].to_pylist())
        assert found == sorted(table["x"] + i)


def test_a_stream_is_refused(cluster: Any, engine: SparkEngine) -> None:
    with pytest.raises(DataError, match="A streaming frame has no end"):
        SparkSource(engine.session.readStream.format("rate").load())


ODD = {
    "map": "map('1-800-SECRET', 1)",
    "variant": 'parse_json(\'{"a": "1-800-SECRET"}\')',
    "yearmonthinterval": "make_ym_interval(1, 2)",
    "interval": "make_interval(1, 2)",
}


def test_types_without_a_form_are_refused_by_name_and_otherwise_left_alone(
    cluster: Any, engine: SparkEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    odd = [f"{told} AS `an {kind}`" for kind, told in ODD.items()]
    frame = engine.session.range(0, 50, 1, 3).selectExpr(*odd, "id AS x")
    number = 'kind = "number"\nlow = 0\nhigh = 50\n'
    for kind in ODD:
        source = SparkSource(frame, Schema.loads(f'[columns."an {kind}"]\n{number}'))
        source.engine(engine)
        with pytest.raises(DataError, match=f"has a column 'an {kind}' of the type {kind}, which cannot be"):
            source.n_rows()
    source = SparkSource(frame, Schema.loads(f"[columns.x]\n{number}"))
    source.engine(engine)
    assert sorted(x for b in source.batches(["x"]) for x in b["x"].to_pylist()) == list(range(50))
    said = capfd.readouterr()
    assert "SECRET" not in said.out + said.err


READ = {
    "duration": ("make_dt_interval(0, 0, 0, id)", pa.duration("us")),
    "decimal": ("CAST(id AS DECIMAL(38, 2))", pa.decimal128(38, 2)),
    "zoneless time": ("timestamp_ntz'2020-01-01 00:00:00'", pa.timestamp("us")),
    "bytes": ("CAST('a' AS BINARY)", pa.binary()),
    "array": ("array(id, id)", pa.list_(pa.int64())),
    "record": ("named_struct('a', id)", pa.struct([("a", pa.int64())])),
    "nothing": ("NULL", pa.null()),
}


def test_odd_types_are_read_as_on_one_machine(cluster: Any, engine: SparkEngine) -> None:
    odd = [f"{told} AS `{kind}`" for kind, (told, _) in READ.items()]
    frame = engine.session.range(0, 60, 1, 3).selectExpr(*odd, "CAST(id % 9 AS DOUBLE) AS x")
    declared = "".join(f'[columns."{name}"]\nkind = "number"\nlow = 0\nhigh = 9\n' for name in frame.columns)
    table, exact = frame.toArrow(), {**TOLD, "schema": Schema.loads(declared)}
    assert [table.schema.field(k).type.id for k in READ] == [expected.id for _, expected in READ.values()]
    here = METHODS["ron-gauss"](**exact).fit(table)
    there = METHODS["ron-gauss"](**exact).fit(frame, engine=engine)
    assert all(np.array_equal(a.value, b.value) for a, b in zip(here.answers_, there.answers_, strict=True))


def test_random_rows_that_are_dealt_out_are_what_was_verified(
    cluster: Any, engine: SparkEngine, table: pd.DataFrame, schema: Schema
) -> None:
    """rand() before a round robin: the rows of one evaluation, which a second one confirms, or none at all."""
    frame = cluster.frame(table, 3).where(sql.rand(7) < 0.5).repartition(5)
    source = SparkSource(frame, schema)
    source.engine(engine)
    refused, found = "", list[float]()
    try:
        found = [x for batch in source.batches(["x"]) for x in batch["x"].to_pylist()]
        assert len(found) == source.n_rows()
    except EngineError as refusal:
        refused = str(refusal)
    assert not refused or "gives other rows at every evaluation" in refused
    assert len(found) == len(set(found))
    assert set(found) <= set(table["x"])


@pytest.mark.parametrize("address", ["spark://127.0.0.1:9", "sc://127.0.0.1:9/;token=SECRET"])
def test_a_cluster_that_is_not_there_is_a_sentence_in_time(address: str) -> None:
    started = time.monotonic()
    with pytest.raises(EngineError, match=r"^The Spark cluster cannot be reached; check its address\.$"):
        SparkEngine(address)
    assert time.monotonic() - started < 15
    silent = socket.create_server(("127.0.0.1", 0))  # it takes connections, and says nothing
    with (
        silent,
        pytest.raises(EngineError, match=r"^The Spark cluster cannot be reached; check its address\.$"),
    ):
        SparkEngine(f"sc://127.0.0.1:{silent.getsockname()[1]}")
    assert time.monotonic() - started < 30
    with pytest.raises(ParameterError, match="begins with spark://") as caught:
        SparkEngine("token:SECRET")
    assert "SECRET" not in str(caught.value)


# --- in a process of its own: a process has one classic session, or Connect ---

RELEASE = """
import sys
from gnomon.cli import main
folder, url = sys.argv[1:]
told = ["release", folder + "/t.parquet", "--schema", folder + "/schema.toml", "-e", "1", "--method", "ron-gauss"]
told += ["--engine", "spark", *(["--cluster", url] if url else []), "--shared", folder, "--ledger", folder + "/ledger"]
sys.exit(main([*told, "--out", folder + "/out"]))
"""

CONNECT = """
import sys
import numpy as np, pyarrow.parquet as pq
from pyspark.sql import SparkSession
from gnomon.engine.spark import SparkEngine
from gnomon.errors import EngineError
from gnomon.methods import METHODS
from gnomon.table import persons
from gnomon.table.schema import Schema

folder, url = sys.argv[1:]
session = SparkSession.builder.remote(url).getOrCreate()
table = pq.read_table(folder + "/t.parquet")
frame = session.createDataFrame(table).repartition(3)
assert "connect" in type(frame).__module__
persons.fresh_key = lambda: bytes(32)
engine, told = SparkEngine(session=session, place=folder), []
for name in ("schema", "persons"):
    schema = Schema.load(f"{folder}/{name}.toml")
    exact = {"epsilon": np.inf, "not_private": True, "random_state": 1, "schema": schema}
    here = METHODS["ron-gauss"](**exact).fit(table)
    there = METHODS["ron-gauss"](**exact).fit(frame, engine=engine, progress=lambda *now: told.append(now))
    assert all(np.array_equal(a.value, b.value) for a, b in zip(here.answers_, there.answers_, strict=True))
assert told[-1][1] == told[-1][2]
try:
    METHODS["ron-gauss"](**exact).fit(frame.persist(), engine=engine)
except EngineError as refusal:
    assert "A persisted frame cannot be released" in str(refusal)
else:
    raise AssertionError("a persisted frame was released")
session.stop()
"""


SPECULATION = """
import os, secrets, sys, time
from collections import Counter
import cloudpickle, numpy as np, pyarrow.parquet as pq
from pyspark.sql import SparkSession
from gnomon.engine.local import LOCAL
from gnomon.engine.spark import SparkEngine
from gnomon.engine.spark_frame import SparkSource
from gnomon.statistics.queries import Count
from gnomon.table.encode import Encoder, RawRows
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

folder, url = sys.argv[1:]
table = pq.read_table(folder + "/t.parquet")
chosen = table["x"][0].as_py()

def dawdle(work):  # in the first attempt, so that Spark starts a copy
    path = f"{folder}/tried-{work}"
    if os.path.exists(path):
        open(path + "-again", "w").close()
    else:
        open(path, "w").close()
        time.sleep(6)

class Slow:
    portable = True
    def __init__(self, encoder):
        self.encoder, self.layout = encoder, encoder.layout
    def encode(self, batch):
        if batch["x"][0].as_py() == chosen:
            dawdle("encode")
        return self.encoder.encode(batch)

class SlowCount(Count):
    def of_batch(self, rows):
        if rows.cells[0].tobytes() == first:
            dawdle("fold")
        return super().of_batch(rows)

class SlowNoise:
    def __call__(self, rows):
        noise = np.array([[secrets.randbits(60)] for _ in range(len(rows))])
        if rows.cells[0].tobytes() == first:
            dawdle("noise")
        return noise

def slow(batches):
    for batch in batches:
        if chosen in batch["x"].to_pylist():
            dawdle("frame")
        yield batch

class ByValue:
    def __init__(self, thing):
        self.told = cloudpickle.dumps(thing)
    def __reduce__(self):
        return cloudpickle.loads, (self.told,)
    def __getattr__(self, name):
        return getattr(cloudpickle.loads(self.told), name)

def rows_of(kept):
    return Counter(row.tobytes() for part in kept.parts() for row in part.load().cells)

def cells_of(source):
    return sorted(x for batch in source.batches(["x"]) for x in batch["x"].to_pylist())

told = {"speculation": "true", "speculation.interval": "100ms"}
told |= {"speculation.multiplier": "1.1", "speculation.quantile": "0.2"}
told |= {"executor.cores": "1", "cores.max": "2", "executor.memory": "512m", "driver.host": "127.0.0.1"}
told |= {"ui.enabled": "false", "log.level": "OFF"}
builder = SparkSession.builder.master(url)
for key, value in told.items():
    builder = builder.config("spark." + key, value)
session = builder.getOrCreate()
engine, schema = SparkEngine(session=session, place=folder), Schema.load(folder + "/schema.toml")
encoder = Encoder(schema)
raw = RawRows(open_source(folder + "/t.parquet"), tuple(encoder.columns))
kept = engine.encode(raw, ByValue(Slow(encoder)), stage="x")
once, first = rows_of(kept), next(kept.parts()).load().cells[0].tobytes()
assert once == rows_of(LOCAL.encode(raw, encoder, stage="x"))
assert int(engine.fold(kept, ByValue(SlowCount("rows")), stage="x")) == table.num_rows == kept.n
drawn = []
engine.write(kept, ByValue(SlowNoise()), drawn.append, stage="x")
assert sum(map(len, drawn)) == len(np.unique(np.concatenate(drawn))) == kept.n
frame = session.createDataFrame(table).repartition(6)
source = SparkSource(frame.mapInArrow(slow, frame.schema), schema)
source.engine(engine)
assert source.n_rows() == table.num_rows and cells_of(source) == sorted(table["x"].to_pylist())
time.sleep(7)  # by now whoever was slow, and lives, has tried to commit
assert rows_of(kept) == once and cells_of(source) == sorted(table["x"].to_pylist())
assert len([name for name in os.listdir(kept.folder.path) if "." not in name]) == 1 + len({b.path for b in kept.blocks})
for work in ("encode", "fold", "noise", "frame"):
    assert os.path.exists(f"{folder}/tried-{work}-again"), f"Spark made no copy of a task: {work}"
del kept, source
session.stop()
"""


@pytest.fixture
def release(table: pd.DataFrame, schema: Schema, persons: Schema, leftovers: Path) -> Any:
    pq.write_table(pa.Table.from_pandas(table), leftovers / "t.parquet", row_group_size=500)
    (leftovers / "schema.toml").write_text(schema.dumps())
    (leftovers / "persons.toml").write_text(persons.dumps())
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK", "PYSPARK"))}

    def run(code: str, url: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "ignore", "-c", code, str(leftovers), url]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=400, env=kept | more, check=False
        )

    return run


def test_a_session_of_our_own_is_quiet(release: Any, leftovers: Path) -> None:
    done = release(RELEASE, "")
    assert done.returncode == 0, done.stderr
    said = [
        line for line in done.stderr.splitlines() if not line.startswith("gnomon: pass ")
    ]  # a slow machine's
    assert not said
    assert (leftovers / "out" / "report.html").exists()


def test_a_release_on_a_master(spark_processes: Any, release: Any, leftovers: Path) -> None:
    done = release(RELEASE, spark_processes.master, PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert (leftovers / "out" / "report.html").exists()


def test_speculative_copies_of_tasks_commit_and_count_every_record_once(
    spark_processes: Any, release: Any, leftovers: Path
) -> None:
    """Of the encoding, a fold, noisy rows and a frame: the slow attempt and its copy both run, and one of them stands."""
    done = release(SPECULATION, spark_processes.master, PYSPARK_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr


def test_connect(spark_processes: Any, release: Any, leftovers: Path) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs gnomon[spark]")
    url = spark_processes.connect_server()
    for code in (CONNECT, RELEASE):
        done = release(code, url)
        assert done.returncode == 0, done.stderr
    assert (leftovers / "out" / "report.html").exists()


START = """
from gnomon.engine.spark import SparkEngine
try:
    SparkEngine("local[1]")
except Exception as refusal:
    print(type(refusal).__name__, refusal)
"""
OTHERS = {
    "nothing": (
        "",
        "EngineError A worker of the Spark cluster has no Python at the path that PYSPARK_PYTHON names;",
    ),
    "gnomon.py": (
        "raise ModuleNotFoundError(\"No module named 'gnomon'\")\n",
        "EngineError A worker of the Spark cluster lacks gnomon; install the same version there",
    ),
    "gnomon-0.0.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: gnomon\nVersion: 0.0.0\n",
        "EngineError A worker has gnomon 0.0.0 and the driver ",
    ),
}


@pytest.mark.parametrize("file", OTHERS)
def test_a_worker_with_other_versions_is_a_sentence(release: Any, tmp_path: Path, file: str) -> None:
    """Its Python finds this file before all others."""
    content, sentence = OTHERS[file]
    (tmp_path / "other" / file).parent.mkdir(parents=True)
    (tmp_path / "other" / file).write_text(content)
    python = tmp_path / "python"
    if "." in file:
        python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/other:$PYTHONPATH exec {sys.executable} "$@"\n')
        python.chmod(0o700)
    assert release(START, "", PYSPARK_PYTHON=str(python)).stdout.startswith(sentence)


def test_a_worker_with_another_python_is_a_sentence() -> None:
    with pytest.raises(EngineError, match="another version of Python than the") as caught, problems():
        raise RuntimeError("[PYTHON_VERSION_MISMATCH] Python in worker has different version 1-800-SECRET")
    assert "SECRET" not in str(caught.value)


def test_java_that_is_missing_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match="Spark needs Java 17 or later, which is not installed"):
        SparkEngine("local[1]")
