"""What has been spent on each dataset: an append-only SQLite file that two processes cannot overspend.

A charge is written durably before the data are read for a release; a crash after that wastes budget, never
privacy. Charges add up by basic composition (epsilons and deltas add), which is sound whatever the methods
were and never less than the truth. Amounts are added as the decimal numbers that people write, so ten
charges of 0.1 make 1. The journal is SQLite's rollback journal with synchronous = EXTRA (FULL, and the
folder too): a committed charge survives a power cut. (Write-ahead logging would make readers faster, but
under it a ledger on a network drive can be corrupted.)
"""

from __future__ import annotations

import math
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from gnomon.errors import BudgetError, GnomonError
from gnomon.privacy.guarantee import Guarantee, Unit, declared

T = TypeVar("T")

_WAIT = 10.0  # seconds that a charge waits for another process
_MARK = 0x676E6D6E  # "gnmn": the file is a ledger and nothing else

_TABLE = """CREATE TABLE entries ( id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, kind TEXT NOT
         NULL CHECK (kind IN ('cap', 'charge')), fingerprint TEXT NOT NULL, label TEXT NOT NULL, epsilon
         REAL NOT NULL CHECK (epsilon > 0), delta REAL NOT NULL CHECK (delta >= 0), unit TEXT NOT NULL,
         adjacency TEXT NOT NULL, method TEXT NOT NULL, note TEXT NOT NULL)"""
_INDEX = "CREATE INDEX entries_of ON entries (fingerprint, kind)"
_APPEND_ONLY = [
    f"CREATE TRIGGER no_{verb.lower()} BEFORE {verb} ON entries "
    "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
    for verb in ("UPDATE", "DELETE")
]


@dataclass(frozen=True)
class Dataset:
    """A table as the ledger knows it: a name for people, a fingerprint of its content for the account."""

    label: str
    fingerprint: str


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: a charge, or a new cap."""

    time: str
    kind: str
    label: str
    epsilon: float
    delta: float
    unit: str
    adjacency: str
    method: str
    note: str


@dataclass(frozen=True)
class Balance:
    """What a dataset may spend, has spent, and has left of one unit of privacy; None where no cap was set."""

    label: str
    fingerprint: str
    unit: Unit
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
    return 0.0 if math.isinf(spent) else float(max(Fraction(0), _decimal(cap) - _decimal(spent)))


def _decimal(amount: float) -> Fraction:
    """The number as it is written: 0.1 is one tenth, not the double nearest to it."""
    return Fraction(repr(float(amount)))


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


class Ledger:
    """The ledger at `path` (made when it is first written to), which waits up to `wait` seconds for other
    processes.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, wait: float = _WAIT) -> None:
        self.path = default_path() if path is None else Path(path)
        self.wait = wait

    def cap(self, dataset: Dataset, epsilon: float, delta: float = 0.0, unit: Unit = Unit.ROW) -> Balance:
        """Set what the dataset may spend from now on; a later cap replaces an earlier one, and both stay on
        record.

        Rows and attributes have accounts of their own, because an epsilon for one attribute says nothing of a whole row.
        """
        asked = declared(epsilon, delta, unit=unit)
        with self._writing() as connection:
            _append(connection, dataset, "cap", asked)
            return _balance(connection, dataset, unit)

    def charge(self, dataset: Dataset, guarantee: Guarantee, *, method: str, note: str = "") -> Balance:
        """Record that the guarantee is spent, or refuse with BudgetError and record nothing."""
        with self._writing() as connection:
            _refuse_overspending(_balance(connection, dataset, guarantee.unit), guarantee)
            if guarantee.unit is not Unit.ROW:
                _refuse_past_a_cap_on_rows(connection, dataset, guarantee)
            _append(connection, dataset, "charge", guarantee, method, note)
            return _balance(connection, dataset, guarantee.unit)

    def show(self, dataset: Dataset, unit: Unit = Unit.ROW) -> Balance:
        """Cap, spent and left of one dataset, for whole rows or for single attributes."""
        return self._reading(
            lambda connection: _balance(connection, dataset, unit),
            Balance(dataset.label, dataset.fingerprint, unit, None, None, 0.0, 0.0, 0),
        )

    def remaining(self, dataset: Dataset) -> tuple[float, float] | None:
        """(epsilon, delta) left, or None where no cap was set."""
        balance = self.show(dataset)
        if balance.epsilon_left is None or balance.delta_left is None:
            return None
        return balance.epsilon_left, balance.delta_left

    def history(self, dataset: Dataset) -> list[Entry]:
        """Every cap and every charge of one dataset, oldest first."""
        return self._reading(lambda connection: _history(connection, dataset), [])

    def datasets(self) -> list[Balance]:
        """The balance of every dataset in the ledger, under its latest label."""
        return self._reading(_all_balances, [])

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that no other process can interleave with, committed durably at its end."""
        with self._sentences("written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # labels are paths of private tables: nobody else need read them
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            connection = self._connect()
            try:
                connection.execute("BEGIN IMMEDIATE")
                _prepare(connection, self.path)
                yield connection
                connection.execute("COMMIT")
            finally:
                connection.close()  # rolls back what was not committed

    def _reading(self, question: Callable[[sqlite3.Connection], T], nothing: T) -> T:
        with self._sentences("read"):
            if not self.path.exists():
                return nothing
            connection = self._connect()
            try:
                connection.execute("BEGIN")
                if not _is_ledger(connection, self.path):
                    return nothing
                return question(connection)
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
            raise GnomonError(
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


def _text(value: str) -> str:
    """A path may hold bytes that are no text; they become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")


def _is_ledger(connection: sqlite3.Connection, path: Path) -> bool:
    """True for a ledger, False for an empty file; anything else is refused."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
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
    for statement in (_TABLE, _INDEX, *_APPEND_ONLY):
        connection.execute(statement)


def _append(
    connection: sqlite3.Connection,
    dataset: Dataset,
    kind: str,
    amount: Guarantee,
    method: str = "",
    note: str = "",
) -> None:
    connection.execute(
        "INSERT INTO entries (time, kind, fingerprint, label, epsilon, delta, unit, adjacency, method, note) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            datetime.now(UTC).isoformat(timespec="seconds"),
            kind,
            dataset.fingerprint,
            _text(dataset.label),
            float(amount.epsilon),
            float(amount.delta),
            amount.unit.value,
            amount.adjacency.value,
            _text(method),
            _text(note),
        ),
    )


def _sum_up(values: list[float]) -> float:
    """Exact in decimals: a sum of doubles could drift away from what was spent."""
    return math.inf if math.inf in values else float(sum(map(_decimal, values), Fraction(0)))


def _balance(connection: sqlite3.Connection, dataset: Dataset, unit: Unit = Unit.ROW) -> Balance:
    amounts = (
        "SELECT epsilon, delta FROM entries WHERE fingerprint = ? AND kind = ? AND unit = ? ORDER BY id DESC"
    )
    spent = connection.execute(amounts, (dataset.fingerprint, "charge", unit.value)).fetchall()
    cap = connection.execute(amounts, (dataset.fingerprint, "cap", unit.value)).fetchone()
    epsilon_cap, delta_cap = cap or (None, None)
    return Balance(
        dataset.label,
        dataset.fingerprint,
        unit,
        epsilon_cap,
        delta_cap,
        _sum_up([epsilon for epsilon, _ in spent]),
        _sum_up([delta for _, delta in spent]),
        len(spent),
    )


def _refuse_overspending(balance: Balance, asked: Guarantee) -> None:
    for name, requested, left in (
        ("epsilon", asked.epsilon, balance.epsilon_left),
        ("delta", asked.delta, balance.delta_left),
    ):
        if left is not None and requested > left:
            raise BudgetError(
                f"The budget of {balance.label} does not cover this release: "
                f"requested {name} {requested:.12g}, remaining {left:.12g}, "
                f"difference {requested - left:.12g}; "
                "ask for less, or raise the cap with 'gnomon budget cap'.",
                requested=requested,
                remaining=left,
            )


def _refuse_past_a_cap_on_rows(connection: sqlite3.Connection, dataset: Dataset, asked: Guarantee) -> None:
    """A cap on whole rows is a promise about persons, which a release for single attributes would not keep."""
    capped = _balance(connection, dataset).epsilon_cap is not None
    if capped and _balance(connection, dataset, asked.unit).epsilon_cap is None:
        raise BudgetError(
            f"The budget of {dataset.label} is capped for whole rows, and this release protects one attribute at a "
            "time; allow it with 'gnomon budget cap --unit attribute', or release by rows.",
            requested=asked.epsilon,
            remaining=0.0,
        )


def _history(connection: sqlite3.Connection, dataset: Dataset) -> list[Entry]:
    rows = connection.execute(
        "SELECT time, kind, label, epsilon, delta, unit, adjacency, method, note FROM entries "
        "WHERE fingerprint = ? ORDER BY id",
        (dataset.fingerprint,),
    )
    return [Entry(*row) for row in rows]


def _all_balances(connection: sqlite3.Connection) -> list[Balance]:
    # SQLite takes the other columns of a max() from the row that has it
    latest = connection.execute(
        "SELECT label, fingerprint, max(id) FROM entries GROUP BY fingerprint ORDER BY label, fingerprint"
    ).fetchall()
    return [_balance(connection, Dataset(label, fingerprint)) for label, fingerprint, _ in latest]
