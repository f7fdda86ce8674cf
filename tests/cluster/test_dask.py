"""Dask alone: frames are evaluated once, or again from the start where a worker is lost; a local cluster is the default."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("distributed", reason="the extra gnomon[dask] is not installed")

import dask.config
import dask.dataframe as dd
from distributed import LocalCluster

from gnomon.engine.dask import DaskEngine
from gnomon.engine.dask_frame import DaskSource
from gnomon.errors import DataError, EngineError, ParameterError
from gnomon.methods import METHODS
from gnomon.table.encode import EncodedRows, Encoder
from gnomon.table.schema import Schema

pytestmark = pytest.mark.filterwarnings("ignore")  # of other processes and of Dask itself
TOLD: dict[str, Any] = {"epsilon": np.inf, "not_private": True, "random_state": 1}


@pytest.fixture
def cluster(dask: Any) -> Any:
    return dask


def random_rows(part: pd.DataFrame) -> pd.DataFrame:
    return part.sample(frac=float(np.random.default_rng().uniform(0.3, 0.9)))


def test_a_frame_that_changes_at_every_evaluation_is_evaluated_once(
    engine: DaskEngine, table: pd.DataFrame, schema: Schema, by_value: Any
) -> None:
    by_value(Travels())
    frame = dd.from_pandas(table, npartitions=4).map_partitions(random_rows, meta=table)
    assert frame.shape[0].compute(scheduler="sync") != frame.shape[0].compute(scheduler="sync")
    source = DaskSource(frame, schema)
    source.engine(engine)
    once, again = (pa.Table.from_batches(source.batches(["x", "z"])) for _ in range(2))
    assert once.equals(again)
    n = source.n_rows()
    encoded = EncodedRows(source, Encoder(schema), engine)
    assert encoded.n == n
    assert sum(batch.num_rows for batch in source.batches(["x"])) == n
    del encoded, source


class Travels:
    """By which the functions of this file travel to workers."""


def _dawdle(part: pd.DataFrame, seen: str) -> pd.DataFrame:
    if len(part):
        Path(seen, str(os.getpid())).touch()
        time.sleep(0.3)
    return part


def test_a_frame_whose_worker_is_lost_is_evaluated_again_from_the_start(
    engine: DaskEngine,
    table: pd.DataFrame,
    schema: Schema,
    tmp_path: Path,
    by_value: Any,
    killing: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_value(Travels())
    seen = str(tmp_path / "seen")
    frame = dd.from_pandas(table, npartitions=12).map_partitions(_dawdle, seen, meta=table)
    source = DaskSource(frame, schema)
    source.engine(engine)
    evaluations: list[bool] = []
    evaluated = DaskSource._evaluated
    monkeypatch.setattr(
        DaskSource,
        "_evaluated",
        lambda self, *a: (found := evaluated(self, *a), evaluations.append(found is not None))[0],
    )
    with killing(tmp_path / "seen"):
        assert source.n_rows() == len(table)
    assert evaluations[0] is False
    assert evaluations[-1] is True
    assert sorted(x for b in source.batches(["x"]) for x in b["x"].to_pylist()) == sorted(table["x"])
    del source


def test_a_persisted_frame_is_refused_and_so_is_what_is_made_of_it(
    engine: DaskEngine, table: pd.DataFrame, schema: Schema
) -> None:
    frame = dd.from_pandas(table, npartitions=3)
    kept = engine.client.persist(frame)
    for persisted in (kept, kept[kept.x > 2]):
        source = DaskSource(persisted, schema)
        source.engine(engine)
        with pytest.raises(EngineError, match="A persisted frame cannot be released: a part that is lost"):
            source.n_rows()
    assert DaskSource(frame, schema)._persisted() is False


def _boom(part: pd.DataFrame) -> pd.DataFrame:
    if len(part):
        raise ValueError(f"1-800-SECRET {part.iloc[0].tolist()}")
    return part


def test_what_a_frame_complains_about_is_a_sentence_without_cells(
    engine: DaskEngine, table: pd.DataFrame, schema: Schema, by_value: Any
) -> None:
    by_value(Travels())
    source = DaskSource(dd.from_pandas(table, npartitions=2).map_partitions(_boom, meta=table), schema)
    source.engine(engine)
    sentence = r"^The Dask cluster could not do its work \(ValueError\)\.$"
    with pytest.raises(EngineError, match=sentence) as caught:
        source.n_rows()
    assert caught.value.__cause__ is None


ODD: dict[str, Any] = {
    "complex128": np.arange(60) + 1j,
    "Sparse": pd.arrays.SparseArray(np.arange(60) % 9.0),
}


@pytest.mark.parametrize("kind", ODD)
def test_types_without_a_form_are_refused_by_name_and_otherwise_left_alone(
    engine: DaskEngine, kind: str
) -> None:
    frame = dd.from_pandas(pd.DataFrame({"odd": ODD[kind], "x": np.arange(60)}), npartitions=3)
    number = 'kind = "number"\nlow = 0\nhigh = 60\n'
    source = DaskSource(frame, Schema.loads(f"[columns.odd]\n{number}"))
    source.engine(engine)
    with pytest.raises(DataError, match=f"has a column 'odd' of the type {kind}.*, which cannot be read"):
        source.n_rows()
    source = DaskSource(frame, Schema.loads(f"[columns.x]\n{number}"))
    source.engine(engine)
    assert sorted(x for b in source.batches(["x"]) for x in b["x"].to_pylist()) == list(range(60))


READ: dict[str, Any] = {
    "duration": pd.to_timedelta(np.arange(60), unit="s"),
    "period": pd.period_range("2020-01", periods=60, freq="M"),
    "interval": pd.interval_range(0, 60),
    "decimal": [Decimal("1.5")] * 60,
    "bytes": [b"1"] * 60,
    "list": [[1, 2]] * 60,
    "mixed": [1, "two", None] * 20,
    "half": np.arange(60).astype(np.float16),
}


def test_odd_types_are_read_as_on_one_machine(engine: DaskEngine) -> None:
    table = pd.DataFrame({**READ, "x": np.arange(60) % 9.0})
    declared = "".join(f'[columns.{name}]\nkind = "number"\nlow = 0\nhigh = 9\n' for name in table)
    exact = {**TOLD, "schema": Schema.loads(declared)}
    here = METHODS["ron-gauss"](**exact).fit(table)
    there = METHODS["ron-gauss"](**exact).fit(dd.from_pandas(table, npartitions=3), engine=engine)
    assert all(np.array_equal(a.value, b.value) for a, b in zip(here.answers_, there.answers_, strict=True))


def test_a_cluster_that_is_not_there_is_a_sentence() -> None:
    quickly = {"distributed.comm.timeouts.connect": "1s"}
    with dask.config.set(quickly), pytest.raises(EngineError, match="cannot be reached"):
        DaskEngine("tcp://127.0.0.1:9")
    silent = socket.create_server(("127.0.0.1", 0))  # it takes connections, and says nothing
    address = f"127.0.0.1:{silent.getsockname()[1]}"
    with silent, dask.config.set(quickly):
        with pytest.raises(EngineError, match="cannot be reached"):
            DaskEngine(f"tcp://{address}")
        with pytest.raises(EngineError, match="begins with tls://, which needs certificates"):
            DaskEngine(f"tls://{address}")
    for address in ("nonsense", "tcp://nobody", "tcp://me:secret@x", "/tmp/x:1"):
        with pytest.raises(ParameterError, match="has the form tcp://host:port") as caught:
            DaskEngine(address)
        assert "secret" not in str(caught.value)


def test_a_worker_with_another_gnomon_is_a_sentence(tmp_path: Path, leftovers: Path) -> None:
    """Its Python finds this version before all others."""
    info = tmp_path / "gnomon-0.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gnomon\nVersion: 0.0.0\n")
    loopback = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=0, **loopback) as scheduler:
        address = scheduler.scheduler_address
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            address,
            "--no-nanny",
            "--no-dashboard",
        ]
        worker = subprocess.Popen(
            [*command, "--local-directory", str(tmp_path)],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            stderr=subprocess.DEVNULL,
        )
        try:
            with pytest.raises(EngineError, match=r"^A worker has gnomon 0\.0\.0 and the driver "):
                DaskEngine(address, place=str(leftovers))
        finally:
            worker.terminate()
            worker.wait()


def test_a_local_cluster_logs_no_cells(
    table: pd.DataFrame, schema: Schema, by_value: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """Dask's workers log what they failed on, with the arguments."""
    by_value(Travels())
    for processes in (False, True):
        with DaskEngine(workers=1, processes=processes) as engine:
            source = DaskSource(
                dd.from_pandas(table, npartitions=2).map_partitions(_boom, meta=table), schema
            )
            source.engine(engine)
            with pytest.raises(EngineError, match="could not do its work"):
                source.n_rows()
    said = capfd.readouterr()
    assert "SECRET" not in said.out + said.err


def test_a_local_cluster_is_the_default(table: pd.DataFrame, schema: Schema) -> None:
    """fit(df) alone: threads of this process where nobody has started a client."""
    here = METHODS["ron-gauss"](**TOLD, schema=schema).fit(table)
    there = METHODS["ron-gauss"](**TOLD, schema=schema).fit(dd.from_pandas(table, npartitions=3))
    for one, other in zip(here.answers_, there.answers_, strict=True):
        assert np.array_equal(one.value, other.value)
