"""What all cluster engines share, on an engine that runs every task twice, in any order, from a pickled copy."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnomon.engine import cluster, shuffle
from gnomon.engine.cluster import ClusterEngine, Outcome, Task, added
from gnomon.engine.committed import CommittedRows, SharedFolder, commit
from gnomon.engine.local import LOCAL
from gnomon.errors import EngineError
from gnomon.methods.bounds import EDGES, CellCounts
from gnomon.table import persons
from gnomon.table.encode import EncodedRows, Encoder, RawNumbers, RawRows
from gnomon.table.fingerprint import content_print
from gnomon.table.persons import Bounding
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

COLUMNS = """[columns.patient]
kind = "identifier"
[columns.x]
kind = "number"
low = 0
high = 9
[columns.kind]
kind = "category"
values = ["a", "b", "c"]
"""
PERSONS = '[table]\nrows = 3000\nperson = "patient"\nrows_per_person = 2\n'
TARGETS = {
    "no target": "",
    "class": '[columns.y]\nkind = "category"\nvalues = [0, 1]\nrole = "target"\n',
    "number": '[columns.y]\nkind = "number"\nlow = 0\nhigh = 1\nrole = "target"\n',
}
KEY = bytes(range(32))


class Restless(ClusterEngine):
    """Two attempts at every task, in any order; the outcome of the later one is told."""

    def __init__(self, place: Path, seed: int = 0) -> None:
        self.place, self._rng = str(place), np.random.default_rng(seed)
        self.greet()

    def slots(self) -> int:
        return 3

    def each(self, task: Task, items: Sequence[Any]) -> Iterator[tuple[int, Outcome]]:
        told = pickle.dumps((task, items))
        found = {}
        for attempt in self._rng.permutation(2 * len(items)).tolist():
            copy, known = pickle.loads(told)
            found[attempt // 2] = copy(known[attempt // 2])
        yield from found.items()

    def total(self, task: Task, items: Sequence[Any], done: Callable[[int], None], *, large: bool) -> Outcome:
        outcomes = dict(self.each(task, items))
        for place in outcomes:
            done(place)
        return added(list(outcomes.values()))

    def everywhere(self, task: Task, item: Any) -> Iterable[Outcome]:
        return [outcome for _, outcome in self.each(task, [item])]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Restless]:
    place = tmp_path / "shared"
    place.mkdir()
    yield Restless(place)
    assert not list(place.iterdir())


@pytest.fixture(autouse=True)
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The choice can be compared between engines only under one key."""
    monkeypatch.setattr(persons, "fresh_key", lambda: KEY)


def a_file(path: Path, n: int = 3000, group: int = 300) -> Path:
    rng = np.random.default_rng(0)
    patients = [f"p{i}" for i in rng.integers(0, n // 3, n)]
    patients[: n // 10] = ["one"] * (n // 10)
    table = pa.table(
        {
            "patient": pa.array(
                [None if i % 50 == 7 else name for i, name in enumerate(patients)], pa.string()
            ),
            "x": rng.uniform(0, 9, n),
            "kind": rng.choice(["a", "b", "c"], n),
            "y": rng.choice([0, 1], n),
        }
    )
    pq.write_table(table, path, row_group_size=group)
    return path


def multiset(rows: Any) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for part in rows.parts():
        loaded = part.load()
        beside = [p[:, None] for p in (loaded.codes, loaded.target) if p is not None]
        found.update(map(tuple, np.concatenate([loaded.cells, *beside], axis=1).tolist()))
    return found


# --- persons ---


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("group", [300, 10**6])
@pytest.mark.parametrize("log", [False, True], ids=["on workers", "on the driver"])
def test_the_rows_of_persons_are_those_of_one_machine(
    engine: Restless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, group: int, log: bool
) -> None:
    monkeypatch.setattr(shuffle, "CHUNK", 4096)  # many choices among the choices
    columns = COLUMNS.replace("high = 9", "high = 9\nlog = true") if log else COLUMNS
    schema = Schema.loads(PERSONS + columns + TARGETS[target])
    source = open_source(a_file(tmp_path / "t.parquet", group=group))
    here, there = (EncodedRows(source, Encoder(schema), one) for one in (LOCAL, engine))
    assert isinstance(there.kept, CommittedRows)
    assert multiset(there) == multiset(here)
    assert 0 < there.n < 3000
    del there


def test_buckets_suffice_for_slots_and_for_memory() -> None:
    layout = Encoder(Schema.loads(COLUMNS)).layout
    assert shuffle.buckets_for(10**6, layout, 12) == 12
    assert shuffle.buckets_for(10**9, layout, 12) == -(-(10**9) * 32 // shuffle.BUCKET)
    assert shuffle.buckets_for(5, layout, 12) == 5
    assert shuffle.buckets_for(0, layout, 12) == 1


def test_numbers_of_persons_are_folded_on_workers(
    engine: Restless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, query = open_source(a_file(tmp_path / "t.parquet")), CellCounts("counts", ("x",), (EDGES,))
    here, there = (RawNumbers(source, ("x",), Bounding("patient", 2, KEY), one) for one in (LOCAL, engine))
    expected = LOCAL.fold(here, query, stage="")
    monkeypatch.setattr(LOCAL, "fold", None)  # not on the driver
    assert np.array_equal(engine.fold(there, query, stage=""), expected)
    del there


def test_a_shuffle_that_loses_a_record_is_refused(
    engine: Restless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = Schema.loads(PERSONS + COLUMNS)
    source = open_source(a_file(tmp_path / "t.parquet"))
    gathered = shuffle.Gather._records
    monkeypatch.setattr(shuffle.Gather, "_records", lambda self, b: (r[1:] for r in gathered(self, b)))
    with pytest.raises(EngineError, match="another number of rows than it has; nothing was counted"):
        EncodedRows(source, Encoder(schema), engine).prepare()


# --- prints ---


def test_a_print_is_folded_on_workers(
    engine: Restless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = Schema.loads(COLUMNS + TARGETS["class"])
    source = open_source(a_file(tmp_path / "t.parquet"))
    expected = content_print(source, schema, KEY)
    monkeypatch.setattr(LOCAL, "fold", None)
    assert content_print(source, schema, KEY, engine) == expected


# --- the committer ---


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


DIES = """
import os, pickle, sys
from gnomon.engine.cluster import Task, Write, versions

calls = []

def row_map(rows):
    calls.append(rows)
    if len(calls) == 2:
        os.kill(os.getpid(), 9)
    return rows.cells

Task(Write(row_map), versions())(pickle.load(open(sys.argv[1], "rb")))
"""


def test_a_task_that_dies_half_way_shows_nothing_and_its_retry_one_draw(tmp_path: Path) -> None:
    """The first attempt is a process that kills itself between two blocks; the second, in this process, is whole."""
    place = tmp_path / "shared"
    place.mkdir()
    source = open_source(a_file(tmp_path / "t.parquet", 100, 50))
    rows = Restless(place).encode(RawRows(source, ("x", "kind")), Encoder(Schema.loads(COLUMNS)), stage="x")
    folder = SharedFolder(str(place))
    path = folder.path / "mapped"
    item = (str(path), rows.blocks)
    (tmp_path / "told").write_bytes(pickle.dumps(item))
    first = subprocess.run([sys.executable, "-c", DIES, str(tmp_path / "told")], check=False)
    assert first.returncode == -9
    assert not path.exists()  # a reader sees no half of it
    left = list(folder.path.glob("mapped*"))
    assert len(left) == 1
    assert stat.S_IMODE(left[0].stat().st_mode) == 0o600
    task = Task(cluster.Write(_uniform), cluster.versions())
    assert task(item).get() == 100
    seen = path.read_bytes()
    assert task(item).get() == 100  # a third attempt, after the commit
    assert path.read_bytes() == seen
    folder.delete()
    assert not folder.path.exists()  # with what the dead attempt has left
    del rows


def test_a_worker_that_was_thought_lost_leaves_nothing_behind(tmp_path: Path) -> None:
    """It goes on to write and to commit while, and after, the driver has deleted the folder."""
    folder = SharedFolder(str(tmp_path))
    path = str(folder.path / "rows")

    def late(file: Any) -> None:
        file.write(b"half")
        folder.delete()
        file.write(b"whole")

    with pytest.raises(FileNotFoundError):
        commit(path, late)
    with pytest.raises(FileNotFoundError):
        commit(path, lambda file: None)
    assert not list(tmp_path.iterdir())


def test_noisy_rows_come_from_committed_files_once(engine: Restless, tmp_path: Path) -> None:
    source, got = open_source(a_file(tmp_path / "t.parquet")), []
    rows = engine.encode(RawRows(source, ("x", "kind")), Encoder(Schema.loads(COLUMNS)), stage="x")
    engine.write(rows, _uniform, got.append, stage="x")
    assert len(np.unique(np.concatenate(got))) == sum(len(part) for part in got) == 3000
    del rows


def test_noisy_rows_that_are_not_as_many_as_the_table_has_are_refused(
    engine: Restless, tmp_path: Path
) -> None:
    source, got = open_source(a_file(tmp_path / "t.parquet")), []
    rows = engine.encode(RawRows(source, ("x", "kind")), Encoder(Schema.loads(COLUMNS)), stage="x")
    with pytest.raises(EngineError, match="another number of rows than it has; nothing was counted"):
        engine.write(rows, _but_one, got.append, stage="x")
    assert not got
    del rows


def _but_one(rows: Any) -> Any:
    return _uniform(rows)[1:]


def _uniform(rows: Any) -> Any:
    return np.frombuffer(os.urandom(8 * len(rows)), np.int64).reshape(-1, 1)


def test_a_file_system_without_hard_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    with pytest.raises(EngineError, match="has no hard links, by which a file is committed once"):
        Restless(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_workers_do_not_see_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "commits", lambda folder: None)
    monkeypatch.setattr(pickle, "dumps", lambda thing: thing)
    monkeypatch.setattr(pickle, "loads", lambda thing: thing)
    with pytest.raises(
        EngineError, match=f"A worker does not see the folder '{tmp_path}'; name a shared folder"
    ):
        Restless(tmp_path)


def test_what_a_crashed_driver_left_is_deleted_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os; from gnomon.engine.committed import SharedFolder\n"
        f"f = SharedFolder({str(tmp_path)!r}); (f.path / 'rows').write_text('x'); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(list(tmp_path.glob("gnomon-*"))) == 1
    mine = SharedFolder(str(tmp_path))
    SharedFolder(str(tmp_path)).delete()
    assert list(tmp_path.iterdir()) == [mine.path]


def test_problems_of_tasks_quote_no_cell() -> None:
    def boom(item: Any) -> Any:
        raise ValueError("1-800-SECRET")

    def missing(item: Any) -> Any:
        raise FileNotFoundError(2, "No such file or directory", "/secret/place")

    assert Task(boom, cluster.versions())(1).problem == "A task failed on a worker (ValueError)."
    sentence = Task(missing, cluster.versions())(1).problem
    assert sentence is not None
    assert "No such file or directory" in sentence
    assert "secret" not in sentence
    with pytest.raises(EngineError, match=r"^A task failed on a worker \(ValueError\)\.$"):
        added([Outcome(np.zeros(1)), Task(boom, cluster.versions())(1)]).get()


@pytest.mark.parametrize("what", ["Python", "gnomon", "numpy", "pyarrow", "the committer"])
def test_a_worker_of_another_version_does_not_start(what: str) -> None:
    outcome = Task(len, {**cluster.versions(), what: "0.0"})([1])
    assert outcome.problem is not None
    assert outcome.problem.startswith(f"A worker has {what} ")
