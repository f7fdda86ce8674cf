"""A table of a PostgreSQL server in the page: columns, a release; a wrong query and a dead server are sentences."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gnomon.release.verify import verify

pytest.importorskip("selenium", reason="The page in a real browser is tested by `make test-browser`.")
pytest.importorskip("adbc_driver_postgresql", reason="The extra gnomon[sql] is not installed.")
BIN = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
pytestmark = pytest.mark.skipif(BIN is None, reason="PostgreSQL is not installed: apt-get install postgresql")
CELL = "no-browser-sees-this"


def _owned(folder: Path, *command: str) -> None:
    """PostgreSQL refuses to run as root, whose tests hand it to the user of Debian's package."""
    before = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    subprocess.run([*before, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL)


@pytest.fixture
def database() -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a server on loopback with a table, and a way to end it."""
    folder = Path(tempfile.mkdtemp(prefix="gnomon-page-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = str(folder / "data")
    _owned(folder, f"{BIN}/initdb", "-D", data, "-U", "gnomon", "-A", "trust", "--no-sync", "-E", "UTF8")
    options = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder} -c fsync=off"
    _owned(folder, f"{BIN}/pg_ctl", "-D", data, "-l", str(folder / "log"), "-o", options, "-w", "start")
    up = [True]

    def end() -> None:
        if up.pop():
            _owned(folder, f"{BIN}/pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        up.append(False)

    try:
        from adbc_driver_postgresql import dbapi

        address = f"postgresql://gnomon@127.0.0.1:{port}/postgres"
        with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE ward (age int, weight_kg double precision, ill boolean, remark text)"
            )
            cursor.execute(
                "INSERT INTO ward SELECT 18 + i % 80, 60 + i % 30, i % 3 = 0, "
                f"'{CELL} ' || i FROM generate_series(0, 1999) AS i"
            )
        yield address, end
    finally:
        end()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_query_of_postgresql_becomes_a_release(
    server: Any, folder: Path, browse: Callable[..., Any], database: tuple[str, Callable[[], None]]
) -> None:
    address, end = database
    page = browse()
    page.driver.get(server.address)
    page.press("A database")
    page.press("Go on", "main")
    page.has("Give the address of the database")
    page.type("Address", address)
    page.type("Query", "SELECT * FROM nothing_here")
    page.press("Go on", "main")
    page.press("Open the table")
    page.has("cannot be read")
    page.press("A database")
    page.type("Address", address)
    page.type("Query", "SELECT age, weight_kg, ill, remark FROM ward")
    page.press("Go on", "main")
    page.press("Open the table")
    page.has("4 columns")
    page.press("Say what everyone may know")
    page.press("All suggestions")
    page.has("got bounds by name")
    if "To be completed" in page.one(".chips").text:  # free text that the draft did not leave out itself
        page.press("To be completed")
        page.click(".grid .inner input[type=checkbox]")
        page.press("Leave out", ".bulk")
    page.has("Nothing is left open.")
    page.press("Choose a budget")
    page.has("2,000 rows (their number is public)")
    page.press("Go on to the release")
    page.type("The release folder", str(folder / "out"))
    page.press("Make the release", "main")
    page.has("The release is made", 120)
    assert verify(folder / "out", replay=False)
    assert CELL not in page.text
    end()
    page.driver.refresh()
    page.has("What will be made")
    page.type("The release folder", str(folder / "again"))
    page.press("Make the release", "main")
    page.has("database")
    assert not (folder / "again").exists()
