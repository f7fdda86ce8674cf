"""What has been spent on each account: an append-only, hash-chained SQLite file that two processes cannot overspend.

An account is named by the custodian, and has one unit and one adjacency, fixed by its first entry. A charge of another kind
is converted by a proved bound (conversion.py) or refused. Charges add up by basic composition (epsilons and deltas add),
which is sound whatever the methods were and never less than the truth. A cap counts the releases before it like those
after it. Amounts are added as the decimal numbers that people write, so ten charges of 0.1 make 1.

A charge is written durably before the data are read for a release; a crash after that wastes budget, never privacy. The
journal is SQLite's rollback journal with synchronous = EXTRA (FULL, and the folder too): a committed charge survives a
power cut. (Write-ahead logging would make readers faster, but under it a ledger on a network drive can be corrupted.)

Each entry holds the hash of the one before it on its account, and entries are numbered without a gap. Whatever is
changed or removed by hand is noticed when the ledger is next opened. Whoever rewrites every hash is not noticed: where that
matters, note the last hash of an account elsewhere (`budget history` prints it).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import secrets
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from gnomon.errors import BudgetError, ConversionError, GnomonError, LedgerError, ParameterError
from gnomon.privacy.conversion import converted
from gnomon.privacy.guarantee import (
    USUAL_CAP,
    Adjacency,
    GaussianDP,
    Guarantee,
    Neighbours,
    Unit,
    declared,
)
from gnomon.privacy.rounding import as_written

T = TypeVar("T")

LONGEST_NAME = 200
_WAIT = 10.0  # seconds that a charge waits for another process
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


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: a charge or a cap, in the account's unit and adjacency."""

    account: str
    number: int  # on its account, from 1
    time: str
    kind: str
    epsilon: float
    delta: float
    unit: str
    adjacency: str
    rows: int
    asked: str  # what the release itself promises, where it is of another kind
    table: str
    content: str  # the print of the table under the account's key; never published
    method: str
    note: str
    previous: str = ""
    hash: str = ""

    @property
    def neighbours(self) -> Neighbours:
        return Unit(self.unit), Adjacency(self.adjacency), self.rows

    def digest(self) -> str:
        """SHA-256 of all that the entry says and of the hash before it."""
        said = json.dumps(astuple(self)[:-1], ensure_ascii=True, separators=(",", ":"), default=repr)
        return hashlib.sha256(said.encode()).hexdigest()


_COLUMNS = ", ".join(f'"{field.name}"' for field in fields(Entry))


@dataclass(frozen=True)
class Balance:
    """What an account may spend, has spent, and has left; caps are None where none was set."""

    account: str
    neighbours: Neighbours | None  # None before the first cap or charge
    epsilon_cap: float | None
    delta_cap: float | None
    epsilon_spent: float
    delta_spent: float
    charges: int

    @property
    def epsilon_left(self) -> float | None:
        return _left(self.epsilon_cap, self.epsilon_spent)

    @property
    def delta_left(self) -> float | None:
        return _left(self.delta_cap, self.delta_spent)


def _left(cap: float | None, spent: float) -> float | None:
    if cap is None or math.isinf(cap):
        return cap
    return 0.0 if math.isinf(spent) else float(max(Fraction(0), as_written(cap) - as_written(spent)))


def configured() -> Ledger | None:
    """The ledger that $GNOMON_LEDGER names, if it is set: what `fit` draws on when it is given none."""
    return Ledger() if os.environ.get("GNOMON_LEDGER") else None


def default_path() -> Path:
    """$GNOMON_LEDGER, or the place where this system keeps a person's application data."""
    named = os.environ.get("GNOMON_LEDGER")
    if named:
        return Path(named).expanduser()
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Application Support"
    else:
        home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return home / "gnomon" / "ledger.sqlite"


def words(neighbours: Neighbours) -> str:
    """A unit and an adjacency in words."""
    unit, adjacency, rows = neighbours
    if unit is Unit.PERSON:
        return f"persons with at most {rows} rows, added or removed"
    if unit is Unit.ATTRIBUTE:
        return "single attributes, replaced"
    return "rows, replaced" if adjacency is Adjacency.REPLACE_ONE else "rows, added or removed"


class Ledger:
    """The ledger at `path` (made when it is first written to), which waits up to `wait` seconds for other
    processes.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, wait: float = _WAIT) -> None:
        self.path = default_path() if path is None else Path(path)
        self.wait = wait

    def cap(
        self,
        account: str,
        epsilon: float,
        delta: float = USUAL_CAP,
        *,
        unit: Unit = Unit.ROW,
        adjacency: Adjacency = Adjacency.REPLACE_ONE,
        rows: int = 1,
    ) -> Balance:
        """Set what the account may spend in all; a later cap replaces an earlier one, and both stay on record."""
        asked = declared(epsilon, delta, unit=unit, adjacency=adjacency, rows=rows)
        with self._writing() as book:
            kind = book.neighbours(checked_name(account))
            if kind not in (None, asked.neighbours):
                assert kind is not None
                raise ParameterError(
                    f"The account {account!r} counts {words(kind)}, and this cap {words(asked.neighbours)}; "
                    "give the cap in the account's unit and adjacency, or open another account."
                )
            book.append(_entry(account, "cap", asked))
            return book.balance(account)

    def charge(
        self,
        account: str,
        guarantee: Guarantee,
        *,
        method: str,
        note: str = "",
        table: str = "",
        content: str = "",
        attributes: int | None = None,
        law: GaussianDP | None = None,
    ) -> Balance:
        """Record that the guarantee is spent, or refuse with BudgetError and record nothing.

        A guarantee of another unit or adjacency than the account's is converted: `attributes` is how many the release
        reads of a row, `law` the Gaussian law of its noise, where they are known.
        """
        with self._writing() as book:
            balance = book.balance(checked_name(account))
            amount = _in_kind_of(balance, guarantee, attributes, law)
            _refuse_overspending(balance, amount)
            asked = "" if amount is guarantee else repr(guarantee)
            book.append(
                replace(
                    _entry(account, "charge", amount),
                    asked=asked,
                    table=_text(table),
                    content=content,
                    method=_text(method),
                    note=_text(note),
                )
            )
            return book.balance(account)

    def show(self, account: str) -> Balance:
        """Cap, spent and left of one account."""
        return self._reading(lambda book: book.balance(account), _nothing_on(account))

    def remaining(self, account: str) -> tuple[float, float] | None:
        """(epsilon, delta) left, or None where no cap was set."""
        balance = self.show(account)
        if balance.epsilon_left is None or balance.delta_left is None:
            return None
        return balance.epsilon_left, balance.delta_left

    def history(self, account: str) -> list[Entry]:
        """Every cap and every charge of one account, oldest first."""
        return self._reading(lambda book: book.of(account), [])

    def accounts(self) -> list[Balance]:
        """The balance of every account, by name."""
        return self._reading(lambda book: [book.balance(name) for name in sorted(book.entries)], [])

    def key(self, account: str) -> bytes:
        """The key of the content prints on this account; drawn once for a ledger, and never shown."""
        with self._writing() as book:
            return book.key(account)

    def with_content(self, content: str) -> list[str]:
        """The accounts that were charged for a table of this content."""

        def charged(book: _Book) -> list[str]:
            names = sorted(book.entries)
            return [name for name in names if any(entry.content == content for entry in book.of(name))]

        return self._reading(charged, [])

    # --- an account on another machine ---

    def export(self, account: str) -> dict[str, Any]:
        """The account with its history and its key, as plain values for a JSON file; as private as the ledger."""
        entries = self.history(account)
        if not entries:
            raise ParameterError(f"The ledger {self.path} has no account {account!r}; nothing was exported.")
        document = {"format": "gnomon account", "version": _VERSION, "account": account}
        return {**document, "key": self.key(account).hex(), "entries": [vars(entry) for entry in entries]}

    def import_account(self, document: Any, account: str | None = None) -> int:
        """Add the entries of an exported account that are not here yet, and return how many; both histories must agree."""
        name, key, entries = _exported(document)
        if account is not None and account != name:
            raise ParameterError(f"The file holds the account {name!r}, not {account!r}; name that one.")
        _verify_chain(name, key, entries, "The file")
        with self._writing() as book:
            here = book.of(name)
            common = min(len(here), len(entries))
            if [entry.hash for entry in here[:common]] != [entry.hash for entry in entries[:common]]:
                raise LedgerError(
                    f"The account {name!r} exists here with another history; nothing was imported. "
                    "Keep one of the two, and charge it with what was spent from the other."
                )
            if not here:
                book.set_key(name, key)
            for entry in entries[common:]:
                book.insert(entry)
            return len(entries) - common

    # --- the file ---

    @contextmanager
    def _writing(self) -> Iterator[_Book]:
        """One transaction that no other process can interleave with, committed durably at its end."""
        with self._sentences("written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # what was released of whom is nobody else's to read, and neither is the key
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = self._connect()
            try:
                connection.execute("BEGIN IMMEDIATE")
                _prepare(connection, self.path)
                yield _Book(connection, self.path)
                connection.execute("COMMIT")
            finally:
                connection.close()  # rolls back what was not committed

    def _reading(self, question: Callable[[_Book], T], nothing: T) -> T:
        with self._sentences("read"):
            if not self.path.exists():
                return nothing
            connection = self._connect()
            try:
                connection.execute("BEGIN")
                if not _is_ledger(connection, self.path):
                    return nothing
                return question(_Book(connection, self.path))
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


class _Book:
    """The entries of a ledger within one transaction, read and verified once."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._keys: dict[str, bytes] = dict(connection.execute("SELECT account, key FROM keys"))
        self.entries: dict[str, list[Entry]] = {}
        for place, (number, *values) in enumerate(
            connection.execute(f"SELECT id, {_COLUMNS} FROM entries ORDER BY id"), start=1
        ):
            if number != place:
                raise LedgerError(_changed(f"The ledger {path}", f"the entry {place} of {number} is missing"))
            entry = Entry(*values)
            self.entries.setdefault(entry.account, []).append(entry)
        self._verify(path)

    def _verify(self, path: Path) -> None:
        """Every hash, every account's key, and that no last entry was taken away."""
        for account, entries in self.entries.items():
            _verify_chain(account, self._keys.get(account, b""), entries, f"The ledger {path}")
        written = self._connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'entries'"
        ).fetchone()
        there = sum(map(len, self.entries.values()))
        if written is not None and written[0] != there:
            raise LedgerError(
                _changed(f"The ledger {path}", f"{written[0]} entries were written and {there} are there")
            )

    def of(self, account: str) -> list[Entry]:
        return self.entries.get(account, [])

    def neighbours(self, account: str) -> Neighbours | None:
        entries = self.of(account)
        return entries[0].neighbours if entries else None

    def balance(self, account: str) -> Balance:
        entries = self.of(account)
        spent = [entry for entry in entries if entry.kind == "charge"]
        caps = [entry for entry in entries if entry.kind == "cap"]
        return Balance(
            account,
            self.neighbours(account),
            caps[-1].epsilon if caps else None,
            caps[-1].delta if caps else None,
            _sum_up([entry.epsilon for entry in spent]),
            _sum_up([entry.delta for entry in spent]),
            len(spent),
        )

    def key(self, account: str) -> bytes:
        if account in self._keys:
            return self._keys[account]
        if _EVERYONE not in self._keys:
            self.set_key(_EVERYONE, secrets.token_bytes(_KEY_BYTES))
        return self._keys[_EVERYONE]

    def set_key(self, account: str, key: bytes) -> None:
        self._connection.execute("INSERT INTO keys VALUES (?, ?)", (account, key))
        self._keys[account] = key

    def append(self, entry: Entry) -> None:
        """Chain a new entry to its account."""
        account, entries = entry.account, self.of(entry.account)
        if account not in self._keys:
            self.set_key(account, self.key(account))
        previous = entries[-1].hash if entries else _opening(account, self._keys[account])
        entry = replace(entry, number=len(entries) + 1, previous=previous)
        self.insert(replace(entry, hash=entry.digest()))

    def insert(self, entry: Entry) -> None:
        places = ", ".join("?" * len(fields(Entry)))
        self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES ({places})", astuple(entry))
        self.entries.setdefault(entry.account, []).append(entry)


def checked_name(account: str) -> str:
    """A name that people can read, write and tell apart."""
    if (
        not isinstance(account, str)
        or not 0 < len(account) <= LONGEST_NAME
        or not account.isprintable()
        or account != account.strip()
    ):
        raise ParameterError(
            f"The name of an account must be printable text of 1 to {LONGEST_NAME} characters without spaces around it. "
            f"Got {str(account)[:LONGEST_NAME]!r} instead."
        )
    return account


def _text(value: str) -> str:
    """A path may hold bytes that are no text; they become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")


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


def _entry(account: str, kind: str, amount: Guarantee) -> Entry:
    return Entry(
        account=account,
        number=0,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        kind=kind,
        epsilon=float(amount.epsilon),
        delta=float(amount.delta),
        unit=amount.unit.value,
        adjacency=amount.adjacency.value,
        rows=amount.rows,
        asked="",
        table="",
        content="",
        method="",
        note="",
    )


def _opening(account: str, key: bytes) -> str:
    """What the first entry of an account is chained to: its name and its key."""
    return hmac.new(key, b"gnomon account\0" + account.encode(), hashlib.sha256).hexdigest()


def _verify_chain(account: str, key: bytes, entries: list[Entry], where: str) -> None:
    previous = _opening(account, key)
    for place, entry in enumerate(entries, start=1):
        honest = entry.number == place and entry.account == account and entry.previous == previous
        if not honest or entry.hash != entry.digest():
            raise LedgerError(
                _changed(where, f"entry {place} of the account {account!r} is not what was written")
            )
        previous = entry.hash


def _changed(where: str, what: str) -> str:
    return f"{where} was changed by something other than gnomon: {what}; restore it from a copy."


def _exported(document: Any) -> tuple[str, bytes, list[Entry]]:
    """The parts of an exported account; a file from elsewhere may hold anything."""
    try:
        if (document["format"], document["version"]) != ("gnomon account", _VERSION):
            raise ValueError
        entries = [Entry(**entry) for entry in document["entries"]]
        for entry in entries:
            declared(entry.epsilon, entry.delta, **_named(entry.neighbours))
        if not entries or any(entry.kind not in ("cap", "charge") for entry in entries):
            raise ValueError
        if any(entry.neighbours != entries[0].neighbours for entry in entries):
            raise ValueError
        return checked_name(document["account"]), bytes.fromhex(document["key"]), entries
    except (KeyError, TypeError, ValueError, GnomonError):
        raise LedgerError(
            "The file is not an account that 'gnomon budget export' wrote; export it again."
        ) from None


def _named(neighbours: Neighbours) -> dict[str, Any]:
    return dict(zip(("unit", "adjacency", "rows"), neighbours, strict=True))


def _sum_up(values: list[float]) -> float:
    """Exact in decimals: a sum of doubles could drift away from what was spent."""
    return math.inf if math.inf in values else float(sum(map(as_written, values), Fraction(0)))


def _nothing_on(account: str) -> Balance:
    return Balance(account, None, None, None, 0.0, 0.0, 0)


def _in_kind_of(
    balance: Balance, asked: Guarantee, attributes: int | None, law: GaussianDP | None
) -> Guarantee:
    """The guarantee in the account's unit and adjacency; the first charge decides what these are."""
    if balance.neighbours in (None, asked.neighbours):
        return asked
    assert balance.neighbours is not None
    try:
        return converted(asked, balance.neighbours, attributes=attributes, law=law)
    except ConversionError as why:
        left = balance.epsilon_left
        raise BudgetError(
            f"The account {balance.account!r} counts {words(balance.neighbours)}; this release protects "
            f"{words(asked.neighbours)}, which no finite charge covers there, because {why} "
            "Release in the account's unit and adjacency, or from another account.",
            requested=math.inf,
            remaining=0.0 if left is None else left,
        ) from None


def _refuse_overspending(balance: Balance, asked: Guarantee) -> None:
    for name, requested, left in (
        ("epsilon", asked.epsilon, balance.epsilon_left),
        ("delta", asked.delta, balance.delta_left),
    ):
        if left is not None and requested > left:
            raise BudgetError(
                f"The budget of {balance.account} does not cover this release: "
                f"requested {name} {requested:.12g}, remaining {left:.12g}, "
                f"difference {requested - left:.12g}; "
                "ask for less, or raise the cap with 'gnomon budget cap'.",
                requested=requested,
                remaining=left,
            )
