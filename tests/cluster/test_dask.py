"""Dask: the same integers as on one machine, whatever is partitioned, recomputed or killed; one draw of noise a row."""

from __future__ import annotations

import os
import pickle
import signal
import stat
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

pytest.importorskip("distributed", reason="the extra gnomon[dask] is not installed")

import dask
import dask.dataframe as dd
from distributed import Client, LocalCluster

from gnomon.cli import main
from gnomon.engine import cluster as shared
from gnomon.engine.committed import CommittedRows, commit
from gnomon.engine.dask import DaskEngine, DaskSource
from gnomon.engine.local import LOCAL
from gnomon.errors import EngineError
from gnomon.methods import METHODS
from gnomon.privacy.ledger import Ledger
from gnomon.publish import publish
from gnomon.table.encode import EncodedRows, Encoder, RawRows
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

pytestmark = pytest.mark.filterwarnings("ignore")  # of other processes and of Dask itself
TOLD: dict[str, Any] = {"epsilon": np.inf, "not_private": True, "random_state": 1}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=3, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", processes=True
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(3, timeout=60)
        yield client


@pytest.fixture
def engine(client: Client, leftovers: Path) -> DaskEngine:
    return DaskEngine(client=client, place=str(leftovers))


def parquet(table: pd.DataFrame, path: Path, group: int = 300) -> Path:
    pq.write_table(pa.Table.from_pandas(table), path, row_group_size=group)
    return path


def test_every_query_of_random_partitions_has_the_same_integers(
    engine: DaskEngine, queries: ModuleType, as_they_are: Any
) -> None:
    rows = queries.table(500)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cuts = rng.integers(0, 500, int(rng.integers(0, 40))).tolist()
        kept = engine.encode(queries.Parts(rows, cuts, seed), as_they_are(queries.M), stage="x")
        assert kept.n == 500
        for name, query in queries.QUERIES.items():
            found = engine.fold(kept, query, stage=name)
            assert found.dtype == np.int64
            assert np.array_equal(found, query.of_batch(rows)), name
        del kept


@pytest.mark.parametrize("group", [97, 1000, 10**6])
def test_fragments_of_files_become_the_same_rows(
    engine: DaskEngine, table: pd.DataFrame, schema: Schema, tmp_path: Path, group: int
) -> None:
    source = open_source(parquet(table, tmp_path / "t.parquet", group))
    here = EncodedRows(source, Encoder(schema), LOCAL)
    there = EncodedRows(source, Encoder(schema), engine)
    assert isinstance(there.kept, CommittedRows)
    one, other = (np.concatenate([part.load().cells for part in rows.parts()]) for rows in (here, there))
    assert np.array_equal(one, other)
    del there


@pytest.mark.parametrize("name", ["ron-gauss", "pca-gauss", "modips", "jl-laplace"])
@pytest.mark.parametrize("partitions", [1, 7])
def test_a_release_of_a_frame_is_that_of_one_machine(
    client: Client, leftovers: Path, table: pd.DataFrame, schema: Schema, name: str, partitions: int
) -> None:
    here = METHODS[name](**TOLD, schema=schema).fit(table)
    engine = DaskEngine(client=client, place=str(leftovers))
    frame = dd.from_pandas(table, npartitions=partitions)
    there = METHODS[name](**TOLD, schema=schema).fit(frame, engine=engine)
    assert len(here.answers_) == len(there.answers_)
    for one, other in zip(here.answers_, there.answers_, strict=True):
        assert one.statistic == other.statistic
        if hasattr(one.value, "chunks"):
            sorted_rows = [np.unique(np.concatenate(list(a.value.chunks())), axis=0) for a in (one, other)]
            assert np.array_equal(*sorted_rows)  # a table is a multiset
        else:
            assert np.array_equal(one.value, other.value)


def test_estimated_bounds_are_counted_on_workers(
    engine: DaskEngine, table: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    from gnomon.methods.bounds import EDGES, CellCounts

    query = CellCounts("counts", ("x", "z"), (EDGES, EDGES))
    source = open_source(parquet(table, tmp_path / "t.parquet"))
    raw = RawRows(source, ("x", "z"))
    assert raw.fragments()
    assert np.array_equal(engine.fold(raw, query, stage=""), LOCAL.fold(raw, query, stage=""))


class SlowQuery:
    """A query that gives a test the time to kill a worker."""

    def __init__(self, query: Any, worker: Path) -> None:
        self._query, self._seen = query, worker

    def zero(self) -> Any:
        return self._query.zero()

    def of_batch(self, rows: Any) -> Any:
        (self._seen / f"{os.getpid()}").touch()
        time.sleep(0.15)
        return self._query.of_batch(rows)


def _kill_the_first(seen: Path, killed: list[int]) -> None:
    """End one worker process of this test's own cluster, once it is at work."""
    for _ in range(400):
        for path in seen.iterdir():
            os.kill(int(path.name), signal.SIGKILL)
            killed.append(int(path.name))
            return
        time.sleep(0.02)


def test_a_worker_that_is_killed_during_a_fold_changes_nothing(
    engine: DaskEngine, queries: ModuleType, as_they_are: Any, tmp_path: Path
) -> None:
    rows, seen, killed = queries.table(600), tmp_path / "seen", []
    seen.mkdir()
    kept = engine.encode(queries.Parts(rows, list(range(20, 600, 20)), 1), as_they_are(queries.M), stage="x")
    query = queries.QUERIES["moments by class"]
    killer = threading.Thread(target=_kill_the_first, args=(seen, killed))
    killer.start()
    found = engine.fold(kept, _by_value(SlowQuery(query, seen)), stage="x")
    killer.join()
    assert killed
    assert np.array_equal(found, query.of_batch(rows))
    del kept


def _by_value(thing: Any) -> Any:
    """Workers do not have this file: its classes travel as they are."""
    import sys

    import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[type(thing).__module__])
    return thing


class Noise:
    """A row map that draws anew at every call and says where it was called, as a release of noisy rows does."""

    def __init__(self, seen: Path) -> None:
        self._seen = seen

    def __call__(self, rows: Any) -> Any:
        import secrets

        (self._seen / f"{os.getpid()}").touch()
        time.sleep(0.1)
        return np.array([[secrets.randbits(40)] for _ in range(len(rows))])


def test_a_killed_and_retried_task_shows_one_draw_a_row(
    engine: DaskEngine, queries: ModuleType, as_they_are: Any, tmp_path: Path
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
    assert sum(len(part) for part in got) == 300
    assert len(np.unique(np.concatenate(got))) == 300
    del kept


def test_the_first_commit_stands(tmp_path: Path) -> None:
    """What a reader can see after a retried task: the first committed draw, whole, and no other."""
    path = str(tmp_path / "rows")

    def late(file: Any) -> None:  # another attempt commits while this one writes
        file.write(b"second")
        commit(path, lambda other: other.write(b"first") and None)

    commit(path, late)
    commit(path, lambda file: file.write(b"third") and None)
    assert Path(path).read_bytes() == b"first"
    assert [p.name for p in tmp_path.iterdir()] == ["rows"]

    def dies(file: Any) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        commit(str(tmp_path / "other"), dies)
    assert [p.name for p in tmp_path.iterdir()] == ["rows"]


def test_files_are_their_owners_alone(
    engine: DaskEngine, table: pd.DataFrame, schema: Schema, leftovers: Path, tmp_path: Path
) -> None:
    source = open_source(parquet(table, tmp_path / "t.parquet"))
    kept = engine.encode(RawRows(source, tuple(Encoder(schema).columns)), Encoder(schema), stage="x")
    folder = kept.folder.path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    del kept
    assert not folder.exists()


def test_what_a_crashed_driver_left_is_deleted_by_the_next(tmp_path: Path) -> None:
    import subprocess
    import sys

    from gnomon.engine.committed import SharedFolder

    code = (
        "import os; from gnomon.engine.committed import SharedFolder\n"
        f"f = SharedFolder({str(tmp_path)!r}); (f.path / 'rows').write_text('x'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    left = list(tmp_path.glob("gnomon-*"))
    assert len(left) == 1
    mine = SharedFolder(str(tmp_path))
    SharedFolder(str(tmp_path)).delete()
    assert list(tmp_path.iterdir()) == [mine.path]


def random_rows(part: pd.DataFrame) -> pd.DataFrame:
    return part.sample(frac=float(np.random.default_rng().uniform(0.3, 0.9)))


def test_a_frame_that_changes_at_every_evaluation_is_evaluated_once(
    client: Client, leftovers: Path, table: pd.DataFrame, schema: Schema
) -> None:
    frame = dd.from_pandas(table, npartitions=4).map_partitions(random_rows, meta=table)
    assert frame.shape[0].compute(scheduler="sync") != frame.shape[0].compute(scheduler="sync")
    source = DaskSource(frame, schema)
    source.engine(DaskEngine(client=client, place=str(leftovers)))
    once, again = (pa.Table.from_batches(source.batches(["x", "z"])) for _ in range(2))
    assert once.equals(again)
    n = source.n_rows()
    encoded = EncodedRows(source, Encoder(schema), source.engine())  # type: ignore[arg-type]
    assert encoded.n == n
    assert sum(batch.num_rows for batch in source.batches(["x"])) == n
    del encoded, source


def _dawdle(part: pd.DataFrame, seen: str) -> pd.DataFrame:
    if len(part):
        Path(seen, str(os.getpid())).touch()
        time.sleep(0.3)
    return part


def test_a_frame_whose_worker_is_lost_is_evaluated_again_from_the_start(
    client: Client, leftovers: Path, table: pd.DataFrame, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, killed = leftovers / "seen", []
    seen.mkdir()
    frame = dd.from_pandas(table, npartitions=12).map_partitions(_dawdle, str(seen), meta=table)
    _by_value(SlowQuery(None, seen))
    source = DaskSource(frame, schema)
    source.engine(DaskEngine(client=client, place=str(leftovers)))
    evaluations: list[bool] = []
    evaluated = DaskSource._evaluated
    monkeypatch.setattr(
        DaskSource,
        "_evaluated",
        lambda self, *a: (found := evaluated(self, *a), evaluations.append(found[1]))[0],
    )
    killer = threading.Thread(target=_kill_the_first, args=(seen, killed))
    killer.start()
    assert source.n_rows() == len(table)
    killer.join()
    assert killed
    assert evaluations[0] is False
    assert evaluations[-1] is True
    assert sorted(x for b in source.batches(["x"]) for x in b["x"].to_pylist()) == sorted(table["x"])
    del source


def _boom(part: pd.DataFrame) -> pd.DataFrame:
    if len(part):
        raise ValueError(f"1-800-SECRET {part.iloc[0].tolist()}")
    return part


class Boom:
    def zero(self) -> Any:
        return np.zeros(1, dtype=np.int64)

    def of_batch(self, rows: Any) -> Any:
        raise ValueError("1-800-SECRET")


def test_errors_of_workers_are_a_sentence_without_cells(
    engine: DaskEngine,
    table: pd.DataFrame,
    schema: Schema,
    tmp_path: Path,
    queries: ModuleType,
    as_they_are: Any,
) -> None:
    kept = engine.encode(queries.Parts(queries.table(50), [10, 20], 1), as_they_are(queries.M), stage="x")
    with pytest.raises(EngineError, match=r"^A task failed on a worker \(ValueError\)\.$"):
        engine.fold(kept, _by_value(Boom()), stage="x")
    frame = dd.from_pandas(table, npartitions=2).map_partitions(_boom, meta=table)
    source = DaskSource(frame, schema)
    source.engine(engine)
    with pytest.raises(
        EngineError, match=r"^The Dask cluster could not do its work \(ValueError\)\.$"
    ) as caught:
        source.n_rows()
    assert caught.value.__cause__ is None
    del kept, source


def test_a_changed_file_is_refused(
    engine: DaskEngine, table: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    path = parquet(table, tmp_path / "t.parquet")
    raw = RawRows(open_source(path), tuple(Encoder(schema).columns))
    fragments = raw.fragments()
    parquet(table.head(3000), path)
    with pytest.raises(EngineError, match="is not the same as at the start of the release"):
        engine._encoded(fragments, Encoder(schema), _folder(tmp_path), lambda done, n: None)


def _folder(path: Path) -> Any:
    from gnomon.engine.committed import SharedFolder

    return SharedFolder(str(path))


@pytest.mark.parametrize("what", ["Python", "gnomon", "numpy", "pyarrow"])
def test_other_versions_on_workers_are_refused(
    client: Client, leftovers: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    expected = {**shared.versions(), what: "0.0"}
    monkeypatch.setattr("gnomon.engine.dask.versions", lambda: expected)
    with pytest.raises(
        EngineError, match=f"A worker has {what} .* and the driver 0.0; install the same version"
    ):
        DaskEngine(client=client, place=str(leftovers))
    outcome = pickle.loads(pickle.dumps(shared.Task(len, expected)))([1])
    assert outcome.problem is not None


def test_a_cluster_that_is_not_there_is_a_sentence() -> None:
    quickly = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
    with quickly, pytest.raises(EngineError, match="cannot be reached"):
        DaskEngine("tcp://127.0.0.1:9")


def test_columns_on_a_log_scale_are_encoded_by_the_driver(
    engine: DaskEngine, table: pd.DataFrame, tmp_path: Path
) -> None:
    log = Schema.loads('[columns.x]\nkind = "number"\nlow = 0\nhigh = 9\nlog = true\n')
    assert not Encoder(log).portable
    source = open_source(parquet(table, tmp_path / "t.parquet"))
    here, there = (EncodedRows(source, Encoder(log), one) for one in (LOCAL, engine))
    cells = [np.concatenate([part.load().cells for part in rows.parts()]) for rows in (here, there)]
    assert np.array_equal(*cells)
    del there


def test_a_folder_from_a_frame_and_from_the_command_line(
    client: Client, leftovers: Path, table: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    engine = DaskEngine(client=client, place=str(leftovers))
    frame = dd.from_pandas(table, npartitions=5)
    ledger = tmp_path / "ledger"
    publish(
        frame,
        METHODS["jl-laplace"](epsilon=1.0, schema=schema),
        tmp_path / "out",
        ledger=Ledger(ledger),
        engine=engine,
    )
    assert pq.read_metadata(tmp_path / "out" / "data.parquet").num_rows == len(table)
    (tmp_path / "schema.toml").write_text(schema.dumps())
    parquet(table, tmp_path / "t.parquet")
    arguments = ["release", str(tmp_path / "t.parquet"), "--schema", str(tmp_path / "schema.toml"), "-e", "1"]
    arguments += ["--method", "ron-gauss", "--ledger", str(ledger), "--engine", "dask"]
    address = client.scheduler.address
    arguments += ["--cluster", address, "--shared", str(leftovers), "--out", str(tmp_path / "cli")]
    assert main(arguments) == 0
    assert (tmp_path / "cli" / "report.html").exists()


def test_a_local_cluster_is_the_default(table: pd.DataFrame, schema: Schema) -> None:
    """fit(df) alone: threads of this process where nobody has started a client."""
    here = METHODS["ron-gauss"](**TOLD, schema=schema).fit(table)
    there = METHODS["ron-gauss"](**TOLD, schema=schema).fit(dd.from_pandas(table, npartitions=3))
    for one, other in zip(here.answers_, there.answers_, strict=True):
        assert np.array_equal(one.value, other.value)
