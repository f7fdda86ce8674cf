"""Tables in databases, by ADBC: streamed as Arrow batches, all reads from one read-only snapshot.

Credentials come from the environment or from the driver's own files (for PostgreSQL: PGPASSWORD, ~/.pgpass, a service
file). What a database says about a failure may quote cells, queries and addresses, so only its SQLSTATE is passed on.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.types as is_type

from gnomon.errors import DataError, ParameterError
from gnomon.table.base import Source, reading, unique_names
from gnomon.table.connections import adbc_connection, asking, is_duckdb, quoted
from gnomon.table.frames import DuckdbSource
from gnomon.table.schema import Schema

SNAPSHOT = {
    "PostgreSQL": (
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        "SET synchronize_seqscans = off",  # the same order at every read, where the table allows it
        "SET max_parallel_workers_per_gather = 0",
    ),
    "SQLite": ("PRAGMA query_only = on",),
}
_MOMENTS = {"date", "timestamp", "timestamptz"}
_TEXT = {"bpchar", "uuid"}  # PostgreSQL pads the first with blanks
_UNFIT = {
    "money": "money in the units of its server",
    "json": "JSON",
    "jsonb": "JSON",
    "interval": "an interval",
}
# What PostgreSQL refuses to cast, or the driver reads with another sign, is the nearest that a cell can be: it is clipped.
_NUMBER = (
    "CASE WHEN {name} = 0 OR abs({name}) BETWEEN 2.3e-308 AND 1.7e308 THEN CAST({name} AS double precision) "
    "ELSE sign({name}) * CASE WHEN abs({name}) < 1 THEN 0.0 ELSE double precision 'infinity' END END AS {name}"
)
_MOMENT = (
    "CASE WHEN {name} > '9999-12-31' THEN '9999-12-31' WHEN {name} < '0001-01-01' THEN '0001-01-01' "
    "ELSE {name} END AS {name}"
)
# A column of SQLite has no type, only its cells have. The driver would infer one from the first rows, and one cell would
# decide how others are read; so every cell is read as a text that loses nothing of it.
_SQLITE_TEXT = (
    "CASE typeof({name}) WHEN 'real' THEN printf('%!.17g', {name}) WHEN 'blob' THEN hex({name}) "
    "ELSE CAST({name} AS text) END AS {name}"
)


class DatabaseSource(Source):
    """A query or a table of a database."""

    kind = "database"

    def __init__(self, connection: Any, query: str, title: str, schema: Schema | None = None) -> None:
        self.label, self.title = f"The table {title!r} of the database", title
        self._query = query
        self._declared = None if schema is None else {column.name for column in schema.released}
        self._wide = set() if schema is None else {c.name for c in schema.columns if c.wide}
        self._vendor = str(connection.adbc_get_info().get("vendor_name"))
        self._connection = connection
        weakref.finalize(self, _close, connection)
        with asking(self.label):
            for statement in SNAPSHOT.get(self._vendor, ()):
                with connection.cursor() as cursor:
                    cursor.execute(statement)
            connection.adbc_connection.set_autocommit(False)  # from here on one transaction: one snapshot
        found = self._schema_of("*")
        unique_names(found.names, self.label)
        if self._vendor == "SQLite" and schema is not None:  # see _SQLITE_TEXT
            found = pa.schema([(name, pa.string()) for name in found.names])
        self._unfit = {field.name: why for field in found if (why := _unfit(field))}
        self._expressions = {
            field.name: self._expression(field) for field in found if field.name not in self._unfit
        }
        read = iter(self._schema_of(", ".join(self._expressions.values())) if self._expressions else ())
        self._schema = pa.schema(
            [field if field.name in self._unfit else next(read) for field in found]
        ).remove_metadata()

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._schema

    @cached_property
    def _n_rows(self) -> int:
        with asking(self.label), self._connection.cursor() as cursor:
            cursor.execute(self._selecting("count(*)"))
            return int(cursor.fetchone()[0])

    def n_rows(self) -> int:
        return self._n_rows

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        for name in columns:
            if name in self._unfit:
                raise DataError(
                    f"The column {name!r} of the database holds {self._unfit[name]}, which cannot be released; leave it "
                    "out of the schema, or take single values out of it in the query."
                )
        left = self.n_rows()
        with asking(self.label), self._connection.cursor() as cursor:
            cursor.execute(self._selecting(", ".join(self._expressions[name] for name in columns)))
            for batch in cursor.fetch_record_batch():
                left -= batch.num_rows
                yield pa.RecordBatch.from_arrays(batch.columns, names=columns)
        if left:
            raise DataError(
                f"{self.label} gives another number of rows at every read; use a query without random choices."
            )

    def _schema_of(self, what: str) -> pa.Schema:
        with asking(self.label), self._connection.cursor() as cursor:
            cursor.execute(f"{self._selecting(what)} LIMIT {0 if self._vendor == 'PostgreSQL' else 1000}")
            return cursor.fetch_record_batch().schema

    def _selecting(self, what: str) -> str:
        return f"SELECT {what} FROM (\n{self._query}\n) AS gnomon_rows"

    def _expression(self, field: pa.Field) -> str:
        name, kind = quoted(field.name), _kind(field)
        if self._vendor == "SQLite" and self._declared is not None:
            return _SQLITE_TEXT.format(name=name)
        if (
            kind == "numeric" and field.name not in self._wide
        ):  # the driver gives text, a float is what is used
            return _NUMBER.format(name=name)
        if kind in _MOMENTS:
            return _MOMENT.format(name=name)
        if kind in _TEXT or kind == "numeric" or (kind and isinstance(field.type, pa.BaseExtensionType)):
            return f"CAST({name} AS text) AS {name}"
        return name


def open_database(
    database: Any, *, query: str | None = None, table: str | None = None, schema: Schema | None = None
) -> Source:
    """A query or a table of a database.

    `database` is a URL, an ADBC connection, a SQLAlchemy engine or connection, or a connection of psycopg, sqlite3 or
    DuckDB. It is read by a connection of its own: nobody else's transaction is touched, and what is not committed is not
    seen. (DuckDB's connections are used as they are.)

    Parameters
    ----------
    query : a SELECT, in place of a table.
    table : the name of a table or view.
    schema : the declared columns; only released ones are then read.

    Examples
    --------
    >>> import gnomon as gn, sqlite3
    >>> with sqlite3.connect("ward.db") as connection:
    ...     done = connection.execute("CREATE TABLE ward (age INTEGER)")
    ...     done = connection.executemany("INSERT INTO ward VALUES (?)", [(41,), (67,)])
    >>> connection.close()
    >>> gn.open_database("sqlite:///ward.db", table="ward").n_rows()
    2
    """
    if (query is None) == (table is None):
        raise ParameterError("A database needs either a query or the name of a table; give one of the two.")
    if table is not None:
        query = f"SELECT * FROM {'.'.join(quoted(part) for part in table.split('.'))}"
    assert query is not None
    query, title = query.strip().rstrip(";"), "query" if table is None else table.split(".")[-1]
    if is_duckdb(database):
        with reading(f"The table {title!r} of the database"):
            found = DuckdbSource(database.sql(query))
        found.title = title
        return found
    return DatabaseSource(adbc_connection(database), query, title, schema)


def _kind(field: pa.Field) -> str:
    """The type that PostgreSQL gives a column; empty for other databases."""
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b"").decode())


def _unfit(field: pa.Field) -> str | None:
    """Why cells of a column cannot be released."""
    if is_type.is_nested(field.type):
        return "arrays or records"
    if _kind(field) in _UNFIT:
        return _UNFIT[_kind(field)]
    if is_type.is_binary(field.type) or is_type.is_large_binary(field.type):
        return "bytes"
    return None


def _close(connection: Any) -> None:
    with asking("The database"):
        connection.close()
