"""The file of a ledger: SQLite, durable and for one writer at a time; every hash is verified whenever it is opened.

The journal is SQLite's rollback journal with synchronous = EXTRA (FULL, and the folder too): a committed entry survives a
power cut. (Write-ahead logging would make readers faster, but under it a ledger on a network drive can be corrupted.)

Entries can be appended and neither changed nor deleted; they are numbered without a gap, for the ledger as for each
account. Whatever is changed or removed by hand is noticed when the ledger is next opened, unless whoever does it
rewrites every hash after it, or takes away the last entries together with SQLite's count of them: where that matters,
note the last hash of an account elsewhere (`budget history` prints it).
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TypeVar

from gnomon.errors import GnomonError, LedgerError
from gnomon.privacy.history import Entry, History, changed

T = TypeVar("T")

_MARK = 0x676E6D6E  # "gnmn": the file is a ledger and nothing else
_VERSION = 2
_KEY_BYTES = 32
_EVERYONE = ""  # the account whose key new accounts take, so that their tables can be compared

_TABLES = (
    """CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, number INTEGER NOT NULL,
    time TEXT NOT NULL, kind TEXT NOT NULL CHECK (kind IN ('cap', 'charge')),
    epsilon REAL NOT NULL CHECK (epsilon > 0), delta REAL NOT NULL CHECK (delta >= 0),
    unit TEXT NOT NULL, adjacency TEXT NOT NULL, rows INTEGER NOT NULL, asked TEXT NOT NULL,
    "table" TEXT NOT NULL, content TEXT NOT NULL, method TEXT NOT NULL, note TEXT NOT NULL,
    previous TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (account, number))""",
    "CREATE TABLE keys (account TEXT PRIMARY KEY, key BLOB NOT NULL)",
)
_APPEND_ONLY = [
    f"CREATE TRIGGER no_{verb.lower()}_of_{table} BEFORE {verb} ON {table} "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for verb in ("UPDATE", "DELETE")
    for table in ("entries", "keys")
]

_COLUMNS = ", ".join(f'"{field.name}"' for field in fields(Entry))


@dataclass(frozen=True)
class LedgerFile:
    """A ledger at `path` (made when it is first written to), which waits up to `wait` seconds for other processes."""

    path: Path
    wait: float

    @contextmanager
    def writing(self) -> Iterator[Book]:
        """One transaction that no other process can interleave with, committed durably at its end."""
        with self._sentences("written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # what was released of whom is nobody else's to read, and neither is the key
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = self._connect()
            try:
                connection.execute("BEGIN IMMEDIATE")
                _prepare(connection, self.path)
                yield Book(connection, self.path)
                connection.execute("COMMIT")
            finally:
                connection.close()  # rolls back what was not committed

    def reading(self, question: Callable[[Book], T], nothing: T) -> T:
        with self._sentences("read"):
            if not self.path.exists():
                return nothing
            connection = self._connect()
            try:
                connection.execute("BEGIN")
                if not _is_ledger(connection, self.path):
                    return nothing
                return question(Book(connection, self.path))
            finally:
                connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=self.wait, isolation_level=None)
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    @contextmanager
    def _sentences(self, what: str) -> Iterator[None]:
        """SQLite's and the system's errors as one sentence that says what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise GnomonError(self._operational(error, what)) from error
        except sqlite3.DatabaseError as error:
            raise LedgerError(
                f"The ledger {self.path} is damaged or is not a ledger; restore it from a copy, "
                "or name another with GNOMON_LEDGER."
            ) from error
        except OSError as error:
            raise GnomonError(
                f"The ledger {self.path} cannot be {what} ({error.strerror}); "
                "mend its permissions, or name another with GNOMON_LEDGER."
            ) from error

    def _operational(self, error: sqlite3.OperationalError, what: str) -> str:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return (
                f"The ledger {self.path} has been locked by another process for {self.wait:g} seconds; "
                "wait for it to finish and try again."
            )
        if name.startswith("SQLITE_FULL"):
            return f"The ledger {self.path} cannot be written (disk full); free some space and try again."
        return (
            f"The ledger {self.path} cannot be {what} ({error}); "
            "mend its permissions, or name another with GNOMON_LEDGER."
        )


class Book:
    """The entries of a ledger within one transaction, read and verified once."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._keys: dict[str, bytes] = dict(connection.execute("SELECT account, key FROM keys"))
        held: dict[str, list[Entry]] = {}
        found = connection.execute(f"SELECT id, {_COLUMNS} FROM entries ORDER BY id")
        for place, (number, *values) in enumerate(found, start=1):
            if number != place:
                raise LedgerError(changed(f"The ledger {path}", f"the entry {place} of {number} is missing"))
            entry = Entry(*values)
            held.setdefault(entry.account, []).append(entry)
        self._accounts = {
            name: History(name, self._keys.get(name, b""), tuple(entries)) for name, entries in held.items()
        }
        self._verify(path)

    def _verify(self, path: Path) -> None:
        """Every hash, every account's key, and that no last entry was taken away."""
        for history in self._accounts.values():
            history.verify(f"The ledger {path}")
        written = self._connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'entries'"
        ).fetchone()
        there, count = sum(len(one.entries) for one in self._accounts.values()), written[0] if written else 0
        if count != there:
            raise LedgerError(
                changed(f"The ledger {path}", f"{count} entries were written and {there} are there")
            )

    @property
    def accounts(self) -> list[History]:
        """All accounts, by name."""
        return [self._accounts[name] for name in sorted(self._accounts)]

    def of(self, account: str) -> History:
        """The account, without an entry where it is new."""
        return self._accounts.get(account) or History(account, self._keys.get(account, b""))

    def key(self, account: str) -> bytes:
        """The key of an account; one that is new takes that of the ledger, which is drawn once."""
        if account in self._keys:
            return self._keys[account]
        if _EVERYONE not in self._keys:
            self.set_key(_EVERYONE, secrets.token_bytes(_KEY_BYTES))
        return self._keys[_EVERYONE]

    def set_key(self, account: str, key: bytes) -> None:
        self._connection.execute("INSERT INTO keys VALUES (?, ?)", (account, key))
        self._keys[account] = key

    def append(self, entry: Entry) -> History:
        """Chain a new entry to its account."""
        if entry.account not in self._keys:
            self.set_key(entry.account, self.key(entry.account))
        return self.insert(self.of(entry.account).chained(entry))

    def insert(self, entry: Entry) -> History:
        """Write an entry as it is."""
        places = ", ".join("?" * len(fields(Entry)))
        self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES ({places})", astuple(entry))
        self._accounts[entry.account] = self.of(entry.account).and_then(entry)
        return self._accounts[entry.account]


def _is_ledger(connection: sqlite3.Connection, path: Path) -> bool:
    """True for a ledger, False for an empty file; anything else is refused."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if mark == _MARK and version != _VERSION:
        raise GnomonError(
            f"The ledger {path} was made by another version of gnomon; name another with GNOMON_LEDGER."
        )
    if mark == _MARK:
        return True
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables or mark:
        raise GnomonError(
            f"The file {path} is a database of something else; name another ledger with GNOMON_LEDGER."
        )
    return False


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    if _is_ledger(connection, path):
        return
    connection.execute(f"PRAGMA application_id = {_MARK}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    for statement in (*_TABLES, *_APPEND_ONLY):
        connection.execute(statement)
