"""Connections of databases: by ADBC, from a URL or from a connection of another library.

What a connection was made with (its password too) goes from one driver to the other and nowhere else: not into a
message, a file or a representation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pyarrow as pa

from gnomon.errors import DataError, ParameterError

BEFORE_HOST = re.compile(r"postgres[^:]*://[^@?]*:[^@?]*@")  # a password, with / and # too
KINDS = "a URL, an ADBC connection, a SQLAlchemy engine, or a connection of psycopg, sqlite3 or DuckDB"


def is_duckdb(database: Any) -> bool:
    return _library(database) in ("duckdb", "_duckdb") and hasattr(database, "sql")


def adbc_connection(database: Any) -> Any:
    """A connection of its own, so that nobody else's transaction is touched."""
    library = _library(database)
    if hasattr(database, "adbc_clone"):
        with asking("The database"):
            own = database.adbc_clone()
            own.adbc_connection.set_autocommit(True)
            return own
    if isinstance(database, str):
        _refuse_password(database)
        return _connected(database)
    if hasattr(database, "url") and hasattr(database, "dialect"):  # a SQLAlchemy engine
        return _connected(_url(database.url))
    if library == "sqlalchemy" and hasattr(database, "engine"):
        return _connected(_url(database.engine.url))
    if library == "sqlite3":
        return _sqlite(_file_of(database))
    if library.startswith("psycopg"):
        return _postgresql(_told_to(database.info))
    raise ParameterError(f"A database is {KINDS}. Got an object of type {type(database).__name__!r} instead.")


def _library(database: Any) -> str:
    return type(database).__module__.partition(".")[0]


def _connected(url: str) -> Any:
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme in ("postgresql", "postgres"):
        return _postgresql(url)
    if scheme == "sqlite":
        return _sqlite(url.partition("://")[2].removeprefix("/"))
    raise ParameterError(
        "The URL of a database must begin with postgresql:// or sqlite:///; for others give an ADBC connection from Python."
    )


def _postgresql(place: str) -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise ParameterError("The driver for postgresql is not installed; install gnomon[sql].") from None
    with asking("The database"):
        return dbapi.connect(place, autocommit=True)


def _sqlite(name: str) -> Any:
    try:
        from adbc_driver_sqlite import dbapi
    except ImportError:
        raise ParameterError("The driver for sqlite is not installed; install gnomon[sql].") from None
    if name in ("", ":memory:"):
        raise DataError(
            "A SQLite database in memory has one connection only; write it to a file (VACUUM INTO)."
        )
    path = Path(name)
    if not path.is_file():
        raise DataError("The file of the SQLite database does not exist; check the path.")
    with asking("The database"):
        return dbapi.connect(f"file:{quote(str(path.absolute()))}?mode=ro", autocommit=True)


def _url(url: Any) -> str:
    """The URL of a SQLAlchemy engine, with the password that it was made with."""
    name = url.get_backend_name()
    if name == "sqlite":
        return f"sqlite:///{url.database or ''}"
    return str(url.set(drivername=name).render_as_string(hide_password=False))


def _file_of(connection: Any) -> str:
    """The file of a connection of sqlite3."""
    attached = connection.execute("PRAGMA database_list")
    return next((str(file or "") for _, name, file in attached if name == "main"), "")


def _told_to(info: Any) -> str:
    """What a connection of psycopg was told, as libpq reads it."""
    told: Mapping[str, str] = (
        info.get_parameters() if hasattr(info, "get_parameters") else info.dsn_parameters
    )
    whole = {key: value for key, value in told.items() if key != "password"}
    if info.password:
        whole["password"] = info.password
    return " ".join(f"{key}='{_escaped(str(value))}'" for key, value in whole.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")


def _refuse_password(url: str) -> None:
    try:
        parts = urlsplit(url)
        options = parse_qs(parts.query, keep_blank_values=True)
        secret = any(word in name.lower() for name in options for word in ("password", "secret"))
        has_password = parts.password is not None or secret or bool(BEFORE_HOST.match(url))
    except ValueError:
        raise ParameterError("The URL of the database cannot be read; check it.") from None
    if has_password:
        raise ParameterError(
            "The URL of the database holds a password, which other users of this machine can see; leave it out, and set "
            "it in the environment (PGPASSWORD) or in the driver's own file (~/.pgpass)."
        )


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def asking(label: str) -> Iterator[None]:
    """Turn what a driver raises into one sentence without its text."""
    from adbc_driver_manager import Error

    try:
        yield
    except Error as error:
        state = error.sqlstate or ""
        if state.startswith("42"):
            why = "the database does not understand the query, or has no such table or column"
        elif state.startswith("28"):
            why = "the database refuses these credentials"
        elif state.startswith("25"):
            why = "the query writes, and a release only reads"
        elif state.startswith("22"):
            why = "the query computes something that a cell does not allow"
        elif state[:2] in ("08", "57") or (not state and type(error).__name__ == "OperationalError"):
            why = "there is no connection, or it was lost"
        else:
            why = f"the database refuses ({type(error).__name__})"
        code = f" (SQLSTATE {state})" if state else ""
        raise DataError(f"{label} cannot be read: {why}{code}; check it, and run again.") from None
    except (OSError, pa.ArrowException):  # what becomes of the driver's errors in the middle of a stream
        raise DataError(
            f"{label} cannot be read to its end: the connection was lost, or the query cannot compute a cell; check it, "
            "and run again."
        ) from None
