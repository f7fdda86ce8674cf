"""On every cluster: the same integers as on one machine, whatever is partitioned, retried or killed; one draw a row."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.cli import main
from gnomon.engine import cluster as shared
from gnomon.engine.committed import CommittedRows
from gnomon.engine.local import LOCAL
from gnomon.errors import EngineError
from gnomon.methods import METHODS
from gnomon.methods.bounds import EDGES, CellCounts
from gnomon.privacy.ledger import Ledger
from gnomon.privacy.measure import _Together
from gnomon.table import persons as bounding
from gnomon.table.encode import EncodedRows, Encoder, RawRows
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

pytestmark = pytest.mark.filterwarnings("ignore")  # of other processes and of the engines themselves
TOLD: dict[str, Any] = {"epsilon": np.inf, "not_private": True, "random_state": 1}


def parquet(table: pd.DataFrame, path: Path, group: int = 300) -> Path:
    pq.write_table(pa.Table.from_pandas(table), path, row_group_size=group)
    return path


def worker() -> int:
    """The process to kill: of Dask the one at work, of Spark the executor, two above its Python workers."""
    process = os.getpid()
    for _ in range(3):
        if b"Executor" in Path(f"/proc/{process}/cmdline").read_bytes():
            return process
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return os.getpid()


# --- the same integers ---


def test_every_query_of_random_partitions_has_the_same_integers(
    engine: Any, queries: ModuleType, as_they_are: Any
) -> None:
    rows, together = queries.table(500), _Together(tuple(queries.QUERIES.values()))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        cuts = rng.integers(0, 500, int(rng.integers(0, 40))).tolist()
        kept = engine.encode(queries.Parts(rows, cuts, seed), as_they_are(queries.M), stage="x")
        assert kept.n == 500
        found = engine.fold(kept, together, stage="x")
        assert found.dtype == np.int64
        assert np.array_equal(found, together.of_batch(rows))
        del kept


@pytest.mark.parametrize("large", [False, True])
def test_many_sums_are_merged_in_a_tree(
    engine: Any, queries: ModuleType, as_they_are: Any, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    monkeypatch.setattr(shared, "TASKS", 100)
    monkeypatch.setattr(shared, "LARGE", 0 if large else shared.LARGE)
    rows, query = queries.table(700), queries.QUERIES["moments by class"]
    kept = engine.encode(queries.Parts(rows, list(range(7, 700, 7)), 1), as_they_are(queries.M), stage="x")
    assert len(engine._groups(kept.blocks)) == 100  # more than eight times eight
    assert np.array_equal(engine.fold(kept, query, stage="x"), query.of_batch(rows))
    del kept


@pytest.mark.parametrize("group", [97, 10**6])
def test_fragments_of_files_become_the_same_rows(
    engine: Any, table: pd.DataFrame, schema: Schema, tmp_path: Path, group: int
) -> None:
    source = open_source(parquet(table, tmp_path / "t.parquet", group))
    here, there = (EncodedRows(source, Encoder(schema), one) for one in (LOCAL, engine))
    assert isinstance(there.kept, CommittedRows)
    one, other = (np.concatenate([part.load().cells for part in rows.parts()]) for rows in (here, there))
    assert np.array_equal(one, other)
    del there


def answers(method: Any) -> list[Any]:
    """What was measured; rows as a multiset, since a table is one."""
    found = [answer.value for answer in method.answers_]
    return [np.unique(np.concatenate(list(a.chunks())), axis=0) if hasattr(a, "chunks") else a for a in found]


@pytest.mark.parametrize("name", [name for name in METHODS if name != "blocki"])  # whose sketch is drawn anew
def test_a_release_of_a_frame_is_that_of_one_machine(
    cluster: Any, engine: Any, table: pd.DataFrame, schema: Schema, name: str
) -> None:
    told = TOLD | ({"delta": 1e-6} if name in ("dppro", "dprp") else {})
    told |= {"candidates": 64} if name == "exponential" else {}
    here = METHODS[name](**told, schema=schema).fit(table)
    there = METHODS[name](**told, schema=schema).fit(cluster.frame(table, 5), engine=engine)
    assert [one.statistic for one in here.answers_] == [one.statistic for one in there.answers_]
    for one, other in zip(answers(here), answers(there), strict=True):
        assert np.array_equal(one, other)


def test_noisy_rows_are_a_table_and_no_frame_that_would_draw_them_again(
    cluster: Any, engine: Any, table: pd.DataFrame, schema: Schema
) -> None:
    method = METHODS["jl-laplace"](1.0, schema=schema)
    rows = method.fit_transform(cluster.frame(table, 5), engine=engine)
    assert isinstance(rows, pa.Table)
    assert rows.num_rows == len(table)


def test_a_release_of_persons_is_that_of_one_machine(
    cluster: Any, engine: Any, table: pd.DataFrame, persons: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounding, "fresh_key", lambda: bytes(32))  # by which both make the same choice
    here = METHODS["ron-gauss"](**TOLD, schema=persons).fit(table)
    there = METHODS["ron-gauss"](**TOLD, schema=persons).fit(cluster.frame(table, 5), engine=engine)
    for one, other in zip(answers(here), answers(there), strict=True):
        assert np.array_equal(one, other)


def test_estimated_bounds_are_counted_on_workers(
    engine: Any, table: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = RawRows(open_source(parquet(table, tmp_path / "t.parquet")), ("x", "z"))
    query = CellCounts("counts", ("x", "z"), (EDGES, EDGES))
    expected = LOCAL.fold(raw, query, stage="")
    monkeypatch.setattr(LOCAL, "fold", None)
    assert np.array_equal(engine.fold(raw, query, stage=""), expected)


def test_columns_on_a_log_scale_are_encoded_by_the_driver(
    engine: Any, table: pd.DataFrame, tmp_path: Path
) -> None:
    log = Schema.loads('[columns.x]\nkind = "number"\nlow = 0\nhigh = 9\nlog = true\n')
    assert not Encoder(log).portable
    source = open_source(parquet(table, tmp_path / "t.parquet"))
    here, there = (EncodedRows(source, Encoder(log), one) for one in (LOCAL, engine))
    cells = [np.concatenate([part.load().cells for part in rows.parts()]) for rows in (here, there)]
    assert np.array_equal(*cells)
    del there


# --- whoever is killed ---


class SlowQuery:
    """A query that tells which worker is on it, and gives a test the time to kill that."""

    def __init__(self, query: Any, seen: Path) -> None:
        self._query, self._seen = query, seen

    def zero(self) -> Any:
        return self._query.zero()

    def of_batch(self, rows: Any) -> Any:
        (self._seen / f"{worker()}").touch()
        time.sleep(0.15)
        return self._query.of_batch(rows)


def test_a_worker_that_is_killed_during_a_fold_changes_nothing(
    engine: Any, queries: ModuleType, as_they_are: Any, tmp_path: Path, by_value: Any, killing: Any
) -> None:
    rows, query = queries.table(600), queries.QUERIES["moments by class"]
    kept = engine.encode(queries.Parts(rows, list(range(15, 600, 15)), 1), as_they_are(queries.M), stage="x")
    with killing(tmp_path / "seen"):
        found = engine.fold(kept, by_value(SlowQuery(query, tmp_path / "seen")), stage="x")
    assert np.array_equal(found, query.of_batch(rows))
    del kept


class SlowEncoder:
    """An encoder that tells which worker is on it."""

    def __init__(self, encoder: Any, seen: Path) -> None:
        self._encoder, self._seen, self.portable, self.layout = encoder, seen, True, encoder.layout

    def encode(self, batch: Any) -> Any:
        (self._seen / f"{worker()}").touch()
        time.sleep(0.15)
        return self._encoder.encode(batch)


@pytest.mark.parametrize("bounded", [False, True], ids=["rows", "persons"])
def test_a_worker_that_is_killed_during_the_encoding_changes_nothing(
    engine: Any,
    table: pd.DataFrame,
    persons: Schema,
    tmp_path: Path,
    by_value: Any,
    killing: Any,
    bounded: bool,
) -> None:
    encoder, who = Encoder(persons), bounding.Bounding("patient", 2) if bounded else None
    raw = RawRows(open_source(parquet(table, tmp_path / "t.parquet", 150)), (*encoder.columns, "patient"))
    here = LOCAL.encode(raw, encoder, bounding=who, stage="x")
    with killing(tmp_path / "seen"):
        slow = by_value(SlowEncoder(encoder, tmp_path / "seen"))
        there = engine.encode(raw, slow, bounding=who, stage="x")
    assert multiset(there) == multiset(here)
    del there


def multiset(rows: Any) -> Counter[bytes]:
    loaded = [part.load() for part in rows.parts()]
    return Counter(
        row.tobytes() + bytes([code])
        for some in loaded
        for row, code in zip(some.cells, some.codes, strict=True)
    )


class Noise:
    """A row map that draws anew at every call and tells where, as a release of noisy rows does."""

    def __init__(self, seen: Path) -> None:
        self._seen = seen

    def __call__(self, rows: Any) -> Any:
        import secrets

        (self._seen / f"{worker()}").touch()
        time.sleep(0.15)
        return np.array([[secrets.randbits(60)] for _ in range(len(rows))])


class Reader(threading.Thread):
    """Whoever reads the shared folder meanwhile: the contents that each final name was seen with."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self._place, self.over, self.seen = place, threading.Event(), {}

    def run(self) -> None:
        while not self.over.wait(0.01):
            for path in self._place.glob("gnomon-rows-*/mapped-??????"):
                try:
                    content = hashlib.sha256(path.read_bytes()).hexdigest()
                except OSError:  # deleted by now
                    continue
                self.seen.setdefault(path.name, set()).add(content)


def test_a_killed_and_retried_task_shows_one_draw_a_row(
    engine: Any,
    queries: ModuleType,
    as_they_are: Any,
    tmp_path: Path,
    leftovers: Path,
    by_value: Any,
    killing: Any,
) -> None:
    """A reader of the folder sees every final name with one content, and the driver gets these rows and no others."""
    rows = queries.table(300)
    kept = engine.encode(queries.Parts(rows, list(range(10, 300, 10)), 1), as_they_are(queries.M), stage="x")
    got: list[Any] = []
    reader = Reader(leftovers)
    reader.start()
    with killing(tmp_path / "seen"):
        engine.write(kept, by_value(Noise(tmp_path / "seen")), got.append, stage="x")
    reader.over.set()
    reader.join()
    assert reader.seen
    assert all(len(contents) == 1 for contents in reader.seen.values())
    assert sum(len(part) for part in got) == len(np.unique(np.concatenate(got))) == 300
    del kept


# --- files, sentences, versions ---


def test_files_are_their_owners_alone(
    engine: Any, table: pd.DataFrame, schema: Schema, tmp_path: Path
) -> None:
    source = open_source(parquet(table, tmp_path / "t.parquet"))
    kept = engine.encode(RawRows(source, tuple(Encoder(schema).columns)), Encoder(schema), stage="x")
    folder = kept.folder.path
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in folder.iterdir())
    del kept
    assert not folder.exists()


class Boom:
    def zero(self) -> Any:
        return np.zeros(1, dtype=np.int64)

    def of_batch(self, rows: Any) -> Any:
        raise ValueError("1-800-SECRET")


def test_errors_of_workers_are_a_sentence_without_cells(
    engine: Any, queries: ModuleType, as_they_are: Any, by_value: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    kept = engine.encode(queries.Parts(queries.table(50), [10, 20], 1), as_they_are(queries.M), stage="x")
    with pytest.raises(EngineError, match=r"^A task failed on a worker \(ValueError\)\.$") as caught:
        engine.fold(kept, by_value(Boom()), stage="x")
    assert caught.value.__cause__ is None
    said = capfd.readouterr()
    assert "SECRET" not in said.out + said.err
    del kept


def test_a_changed_file_is_refused(engine: Any, table: pd.DataFrame, schema: Schema, tmp_path: Path) -> None:
    path, encoder = parquet(table, tmp_path / "t.parquet"), Encoder(schema)
    raw = RawRows(open_source(path), tuple(encoder.columns))
    fragments = raw.fragments()
    parquet(table.head(3000), path)
    changed = type("Raw", (), {"fragments": lambda self: fragments})()
    with pytest.raises(EngineError, match="is not the same as at the start of the release"):
        engine.encode(changed, encoder, stage="x")


@pytest.mark.parametrize("what", ["Python", "gnomon", "the committer"])
def test_other_versions_on_workers_are_refused(
    cluster: Any, leftovers: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    expected = {**shared.versions(), what: "0.0"}
    monkeypatch.setattr(shared, "versions", lambda: expected)
    with pytest.raises(
        EngineError, match=f"A worker has {what} .* and the driver 0.0; install the same version"
    ):
        cluster.engine_in(leftovers)


def test_progress_comes_from_the_engine(
    engine: Any, queries: ModuleType, as_they_are: Any, by_value: Any, tmp_path: Path
) -> None:
    rows, told, seen = queries.table(600), [], tmp_path / "seen"
    seen.mkdir()
    kept = engine.encode(queries.Parts(rows, list(range(15, 600, 15)), 1), as_they_are(queries.M), stage="x")
    slow = by_value(SlowQuery(queries.QUERIES["count"], seen))
    engine.fold(kept, slow, stage="counting", progress=lambda *now: told.append((time.monotonic(), *now)))
    assert [stage for _, stage, _, _ in told] == ["counting"] * len(told)
    assert told[-1][2:] == (600, 600)
    assert [done for _, _, done, _ in told] == sorted(done for _, _, done, _ in told)
    assert told[-1][0] - told[0][0] > 0.5  # seconds: not all at the end
    del kept


# --- whole releases ---


def test_a_folder_from_a_frame_and_from_the_command_line(
    cluster: Any, engine: Any, table: pd.DataFrame, schema: Schema, leftovers: Path, tmp_path: Path
) -> None:
    told = {"schema": schema, "epsilon": 1.0, "ledger": Ledger(tmp_path / "ledger"), "engine": engine}
    gn.publish(cluster.frame(table, 5), tmp_path / "out", method="jl-laplace", **told)
    assert pq.read_metadata(tmp_path / "out" / "data.parquet").num_rows == len(table)
    if cluster.name == "spark":  # one classic session a process: see test_spark.py
        return
    (tmp_path / "schema.toml").write_text(schema.dumps())
    parquet(table, tmp_path / "t.parquet")
    arguments = ["release", str(tmp_path / "t.parquet"), "--schema", str(tmp_path / "schema.toml"), "-e", "1"]
    arguments += ["--method", "ron-gauss", "--ledger", str(tmp_path / "ledger"), "--engine", cluster.name]
    arguments += ["--cluster", cluster.address, "--shared", str(leftovers), "--out", str(tmp_path / "cli")]
    assert main(arguments) == 0
    assert (tmp_path / "cli" / "report.html").exists()
