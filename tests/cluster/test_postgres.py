"""A real PostgreSQL server on loopback: types, one snapshot, bounded memory, lost connections, no credentials anywhere."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("adbc_driver_postgresql", reason="the extra gnomon[sql] is not installed")

from adbc_driver_postgresql import dbapi

import gnomon as gn
from gnomon.cli import main
from gnomon.errors import DataError, ParameterError
from gnomon.methods import METHODS
from gnomon.privacy.ledger import Ledger
from gnomon.publish import publish
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

BIN = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
pytestmark = pytest.mark.skipif(BIN is None, reason="PostgreSQL is not installed: apt-get install postgresql")
SECRET = "no-reader-ever-sees-this"
ROWS = 1_000_000


class Server:
    def __init__(self, url: str) -> None:
        self.url = url  # without the password

    def run(self, *statements: str) -> Any:
        with dbapi.connect(self.url, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall() if cursor.description else None


def _as_owner(folder: Path, *command: str) -> None:
    """PostgreSQL refuses to run as root, whose tests hand it to the user of Debian's package."""
    before = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    subprocess.run([*before, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="gnomon-postgres-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "password").write_text(SECRET)
    (folder / "password").chmod(0o644)
    data, log = str(folder / "data"), str(folder / "log")
    _as_owner(
        folder,
        *(f"{BIN}/initdb", "-D", data, "-U", "gnomon", "-A", "scram-sha-256"),
        *("--pwfile", str(folder / "password"), "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"),
    )
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
    _as_owner(folder, f"{BIN}/pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")
    before, os.environ["PGPASSWORD"] = os.environ.get("PGPASSWORD"), SECRET
    try:
        yield Server(f"postgresql://gnomon@127.0.0.1:{port}/postgres")
    finally:
        os.environ.pop("PGPASSWORD")
        if before is not None:
            os.environ["PGPASSWORD"] = before
        _as_owner(folder, f"{BIN}/pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def ward(server: Server) -> Server:
    server.run(
        "CREATE TYPE kind AS ENUM ('a', 'b', 'c')",
        "CREATE TABLE ward (age int, dose numeric(10, 2), wide numeric(20, 0), kind kind, code char(3), seen timestamptz, "
        "born date, weight double precision, ill boolean, tags int[], bill money, note jsonb, raw bytea, stay interval)",
        "INSERT INTO ward SELECT i % 90, (i % 1000) / 10.0, 4503599627370497 + i % 2, "
        "(ARRAY['a', 'b', 'c'])[1 + i % 3]::kind, "
        "(ARRAY['x', 'yy'])[1 + i % 2], timestamptz '2024-01-01 00:30:00+02' + i % 300 * interval '1 day', "
        "date '1990-01-01' + i % 1000, CASE WHEN i % 10 = 0 THEN NULL ELSE 60 + i % 30 END, i % 2 = 0, "
        "ARRAY[i], i::money, '{}', '\\x00', i * interval '1 hour' FROM generate_series(0, 2999) AS i",
        "INSERT INTO ward (dose, age) VALUES ('NaN', 3)",
    )
    return server


TYPES = """[columns.age]
kind = "number"
low = 0
high = 100
integer = true
[columns.dose]
kind = "number"
low = 0
high = 100
missing = "indicator"
[columns.kind]
kind = "category"
values = ["a", "b", "c"]
missing = "indicator"
[columns.code]
kind = "category"
values = ["x", "yy"]
missing = "indicator"
[columns.seen]
kind = "date"
low = 2023-12-31T00:00:00
high = 2025-01-01T00:00:00
missing = "indicator"
[columns.born]
kind = "date"
low = 1990-01-01
high = 1995-01-01
missing = "indicator"
[columns.weight]
kind = "number"
low = 30
high = 200
missing = "indicator"
[columns.ill]
kind = "boolean"
missing = "indicator"
"""


def test_types_of_all_kinds(ward: Server) -> None:
    schema = Schema.loads(TYPES)
    source = gn.open_database(ward.url, table="ward", schema=schema)
    table = pa.Table.from_batches(source.batches([column.name for column in schema.columns]))
    assert table.num_rows == 3001
    assert table["dose"].type == pa.float64()
    assert table["dose"][7].as_py() == 0.7
    assert np.isnan(table["dose"][3000].as_py())
    assert table["kind"][4].as_py() == "b"
    assert table["code"][0].as_py() == "x"  # without the blanks that char(3) pads it with
    assert table["seen"][0].as_py().isoformat() == "2023-12-31T22:30:00+00:00"
    assert table["weight"][0].as_py() is None
    assert table["ill"][0].as_py() is True
    exact = {"epsilon": np.inf, "not_private": True, "random_state": 1, "schema": schema}
    here, there = METHODS["ron-gauss"](**exact).fit(table), METHODS["ron-gauss"](**exact).fit(source)
    for one, other in zip(here.answers_, there.answers_, strict=True):
        assert np.array_equal(one.value, other.value)


def test_whole_numbers_beyond_a_float_stay_apart(ward: Server) -> None:
    schema = Schema.loads(
        '[columns.wide]\nkind = "number"\ninteger = true\nlow = 0\nhigh = 9007199254740993\nmissing = "indicator"'
    )
    source = gn.open_database(ward.url, table="ward", schema=schema)
    cells = next(iter(source.batches(["wide"])))["wide"].to_pylist()
    assert cells[:2] == ["4503599627370497", "4503599627370498"]


@pytest.mark.parametrize("wide", [False, True])
def test_numbers_that_64_bits_do_not_hold_are_clipped_and_refuse_nothing(ward: Server, wide: bool) -> None:
    """One cell would stop the whole read otherwise: PostgreSQL does not cast it."""
    cells = [
        "1" + 400 * "0",
        "-1" + 400 * "0",
        "1e-400",
        "12345678901234567890123",
        "Infinity",
        "NaN",
        None,
        "7",
    ]
    given = ", ".join("(NULL)" if cell is None else f"('{cell}')" for cell in cells)
    high = 2**53 if wide else 9
    schema = Schema.loads(
        f'[columns.x]\nkind = "number"\ninteger = {str(wide).lower()}\nlow = -9\nhigh = {high}\nmissing = "indicator"\n'
    )
    source = gn.open_database(
        ward.url, query=f"SELECT x::numeric AS x FROM (VALUES {given}) AS v(x)", schema=schema
    )
    encoder = Encoder(schema)
    (batch,) = source.batches(["x"])
    found = encoder.encode(batch).cells[:, 0]
    top, bottom, seven = (encoder.encode(pa.record_batch({"x": [n]})).cells[0, 0] for n in (high, -9, 7))
    zero = encoder.encode(pa.record_batch({"x": [0]})).cells[0, 0]
    assert found[:5].tolist() == [top, bottom, zero, top, top]
    assert found[7] == seven
    assert (encoder.encode(batch).cells[:, 1] > 0).tolist() == [cell in ("NaN", None) for cell in cells]


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_a_date_without_end_is_at_its_own_end_of_the_bounds(ward: Server, kind: str) -> None:
    cells = ["infinity", "-infinity", "4000-01-01 BC", "2001-02-03", None]
    given = ", ".join("(NULL)" if cell is None else f"('{cell}')" for cell in cells)
    schema = Schema.loads(
        '[columns.x]\nkind = "date"\nlow = 2000-01-01\nhigh = 2010-01-01\nmissing = "indicator"\n'
    )
    source = gn.open_database(
        ward.url, query=f"SELECT x::{kind} AS x FROM (VALUES {given}) AS v(x)", schema=schema
    )
    (batch,) = source.batches(["x"])
    X = Encoder(schema).encode(batch).X
    assert X[:3, 0].tolist() == [1, -1, -1]
    assert -1 < X[3, 0] < 0
    assert (X[:, 1] > 0).tolist() == [cell is None for cell in cells]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("tags", "arrays"),
        ("bill", "money"),
        ("note", "JSON"),
        ("raw", "bytes"),
        ("stay", "an interval"),
    ],
)
def test_what_cannot_be_released_is_refused_in_a_sentence(ward: Server, column: str, why: str) -> None:
    source = gn.open_database(ward.url, query="SELECT * FROM ward;")
    with pytest.raises(
        DataError, match=f"The column '{column}' of the database holds {why}.*cannot be released"
    ):
        list(source.batches([column]))
    assert column in source.names


def test_all_reads_see_one_snapshot(ward: Server) -> None:
    ward.run("CREATE TABLE moving AS SELECT i AS x FROM generate_series(1, 1000) AS i")
    source = gn.open_database(ward.url, table="moving")
    n, before = source.n_rows(), pa.Table.from_batches(source.batches(["x"]))
    reading = source.batches(["x"], rows=10)
    next(reading)
    ward.run("INSERT INTO moving SELECT 7 FROM generate_series(1, 500)", "UPDATE moving SET x = x + 1")
    assert 10 + sum(batch.num_rows for batch in reading) == n == 1000
    assert pa.Table.from_batches(source.batches(["x"])).equals(before)
    assert gn.open_database(ward.url, table="moving").n_rows() == 1500


def test_nothing_can_be_written(ward: Server) -> None:
    source = gn.open_database(ward.url, query="SELECT 1 AS x")
    with pytest.raises(Exception, match="read-only"), source._connection.cursor() as cursor:
        cursor.execute("CREATE TABLE mischief (x int)")
    ward.run("CREATE SEQUENCE IF NOT EXISTS counted")
    with pytest.raises(DataError, match="the query writes, and a release only reads"):
        list(gn.open_database(ward.url, query="SELECT nextval('counted') AS x").batches(["x"]))


def test_a_query_with_random_choices_is_refused(ward: Server) -> None:
    source = gn.open_database(ward.url, query="SELECT age FROM ward WHERE random() < 0.5 -- some")
    with pytest.raises(DataError, match="another number of rows at every read"):
        [list(source.batches(["age"])) for _ in range(3)]


def test_a_connection_that_is_cut_half_way_is_a_sentence(ward: Server) -> None:
    ward.run("CREATE TABLE long AS SELECT i AS x, repeat('y', 200) AS y FROM generate_series(1, 400000) AS i")
    source = gn.open_database(ward.url, table="long")
    reading = source.batches(["x", "y"], rows=1000)
    next(reading)
    ward.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state <> 'idle'"
    )
    with pytest.raises(DataError, match="cannot be read") as caught:
        list(reading)
    assert "yyy" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_release_that_is_cut_while_it_reads_is_not_charged(ward: Server, tmp_path: Path) -> None:
    ward.run(
        "CREATE TABLE cut AS SELECT repeat((ARRAY['y', 'z'])[1 + i % 2], 200) AS x FROM generate_series(1, 400000) AS i"
    )
    schema = Schema.loads(f'[columns.x]\nkind = "category"\nvalues = ["{"y" * 200}", "{"z" * 200}"]\n')
    source = gn.open_database(ward.url, table="cut", schema=schema)

    def cut(stage: str, done: int, total: int | None) -> None:
        if stage.startswith("encoding") and done < 40_000:
            ward.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    method = METHODS["ron-gauss"](1.0, schema=schema)
    with pytest.raises(DataError) as cut_short:
        publish(source, method, tmp_path / "out", ledger=Ledger(tmp_path / "ledger"), progress=cut)
    assert "charged" not in str(cut_short.value)  # the rows are read first, and nothing was measured of them
    assert not (tmp_path / "out").exists()
    again = gn.open_database(ward.url, table="cut", schema=schema)
    balance = publish(again, method, tmp_path / "out", ledger=Ledger(tmp_path / "ledger"))
    assert balance.epsilon_spent == 1.0


SENTENCES = {
    "SELECT age, dose AS age FROM ward": "has more than one column 'age'; rename or remove one of them",
    "SELECT age FROM ward; DROP TABLE ward": "does not understand the query.*42601",
    "SELECT age FROM ward) AS x; DROP TABLE ward; --": "does not understand the query.*42601",
    "DELETE FROM ward RETURNING age": "does not understand the query.*42601",
    "SELECT nope FROM ward": "does not understand the query.*42703",
    "SELECT * FROM nowhere": "does not understand the query.*42P01",
    "SELEC": "does not understand the query.*42601",
    "SELECT code::int AS x FROM ward": "the query cannot compute a cell",
}


@pytest.mark.parametrize("query", SENTENCES)
def test_what_the_database_says_is_not_passed_on(ward: Server, query: str) -> None:
    with pytest.raises(DataError, match=SENTENCES[query]) as caught:
        list(gn.open_database(ward.url, query=query).batches(["x"]))
    assert "yy" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


def test_a_query_without_rows_is_a_sentence_and_costs_nothing(ward: Server, tmp_path: Path) -> None:
    schema = Schema.loads(TYPES)
    source = gn.open_database(ward.url, query="SELECT * FROM ward WHERE age > 100", schema=schema)
    assert source.n_rows() == 0
    assert list(source.batches(["age", "kind"])) == []
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(DataError, match="has 0 rows"):
        gn.publish(source, tmp_path / "out", schema=schema, epsilon=1, ledger=ledger, account="ward")
    assert ledger.history("ward") == []
    assert not (tmp_path / "out").exists()


def test_credentials_appear_nowhere(
    ward: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schema.toml").write_text(TYPES)
    arguments = [
        "release",
        "--schema",
        str(tmp_path / "schema.toml"),
        "--epsilon",
        "1",
        "--method",
        "ron-gauss",
    ]
    arguments += ["--ledger", str(tmp_path / "ledger"), "--database", ward.url]
    assert main([*arguments, "--table", "ward", "--out", str(tmp_path / "out")]) == 0
    assert main([*arguments, "--query", "SELECT * FROM ward", "--out", str(tmp_path / "other")]) == 0
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    said = capsys.readouterr()
    for secret in (SECRET, "127.0.0.1", "gnomon@"):
        assert secret.encode() not in written
        assert secret not in said.out + said.err
    assert pq.read_metadata(tmp_path / "out" / "data.parquet").num_rows == 3001
    with_password = ward.url.replace("gnomon@", f"gnomon:{SECRET}@")
    for url in (with_password, f"{ward.url}?password={SECRET}"):
        arguments[-1] = url
        assert main([*arguments, "--table", "ward", "--out", str(tmp_path / "third")]) == 2
        said = capsys.readouterr()
        assert "holds a password" in said.err
        assert SECRET not in said.out + said.err
    monkeypatch.setenv("PGPASSWORD", "wrong-password-1")
    with pytest.raises(DataError, match=r"no connection|refuses these credentials") as caught:
        gn.open_database(ward.url, table="ward")
    assert "wrong-password-1" not in str(caught.value)


def test_connections_and_engines_of_python(ward: Server) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    with dbapi.connect(ward.url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE mine (x int)")  # a transaction of the caller's own, left alone
        assert gn.open_database(connection, table="public.ward").n_rows() == 3001
        cursor.execute("INSERT INTO mine VALUES (1)")
    url = ward.url.replace("gnomon@", f"gnomon:{SECRET}@").replace("postgresql:", "postgresql+psycopg:")
    engine = type("Engine", (), {"url": sqlalchemy.make_url(url), "dialect": None})()
    assert gn.open_database(engine, table="ward").n_rows() == 3001
    assert SECRET not in repr(vars(gn.open_database(engine, table="ward")))
    with pytest.raises(ParameterError, match="either a query or the name of a table"):
        gn.open_database(ward.url)
    with pytest.raises(ParameterError, match="Got an object of type 'int' instead"):
        gn.open_database(3, table="ward")


def test_a_connection_of_psycopg_and_a_table_of_ibis(ward: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they were told, their password too, goes to the driver; it is in no environment here."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    ward.run(r"CREATE ROLE other LOGIN PASSWORD 'it''s \ a secret'", "GRANT SELECT ON ward TO other")
    monkeypatch.delenv("PGPASSWORD")
    port = int(ward.url.rpartition(":")[2].partition("/")[0])
    told = {"host": "127.0.0.1", "port": port, "user": "other", "password": r"it's \ a secret"}
    with psycopg.connect(**told, dbname="postgres") as connection:
        source = gn.open_database(connection, table="ward")
        assert source.n_rows() == 3001
        with pytest.raises(DataError) as caught:
            gn.open_database(connection, table="nowhere")
        assert "secret" not in str(caught.value)
    ibis = pytest.importorskip("ibis", reason="ibis is not installed")
    backend = ibis.postgres.connect(**told, database="postgres")
    table = backend.table("ward")
    source = open_source(table.filter(table.age > 50).select("age", "weight"))
    assert source.kind == "database"
    assert source.n_rows() == sum(batch.num_rows for batch in source.batches(["age"]))
    assert source.names == ["age", "weight"]
    backend.disconnect()


READS = """
import resource, sys
import pyarrow.compute as pc
import gnomon as gn

source = gn.open_database(sys.argv[1], table="large")
next(source.batches(source.names))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
total = sum(pc.sum(batch["c0"]).as_py() for batch in source.batches(source.names))
print(source.n_rows(), total, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_million_rows_in_bounded_memory(ward: Server) -> None:
    """In a process of its own, whose largest memory is that of this read."""
    columns = ", ".join(f"(i * {j + 3}) % 100 AS c{j}" for j in range(20))
    ward.run(f"CREATE TABLE large AS SELECT {columns} FROM generate_series(1, {ROWS}) AS i")
    done = subprocess.run([sys.executable, "-c", READS, ward.url], capture_output=True, text=True, check=True)
    n, total, grown = map(int, done.stdout.split())
    assert n == ROWS
    assert total == sum(i * 3 % 100 for i in range(1, ROWS + 1))
    assert grown < 40 * 1024  # of 80 MB that the table has
