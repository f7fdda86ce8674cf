"""What has been spent on each account, by name: charges, caps, and what is left.

A charge of another unit or adjacency than the account's is converted by a proved bound (conversion.py) or refused. It is
written durably before the data are read for a release; a crash after that wastes budget, never privacy. How charges add
up and are chained: history.py; how two processes cannot overspend: ledger_file.py.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnomon.errors import BudgetError, ConversionError, ParameterError
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
from gnomon.privacy.history import Balance, Entry, History, checked_name
from gnomon.privacy.ledger_file import LedgerFile

__all__ = ["Balance", "Entry", "Ledger", "checked_name", "configured", "default_path", "words"]

_WAIT = 10.0  # seconds that a charge waits for another process


class Ledger:
    """The ledger at `path` (made when it is first written to), which waits up to `wait` seconds for other
    processes.

    Examples
    --------
    >>> ledger = Ledger("budget.sqlite")
    >>> ledger.cap("ward", 2.0).epsilon_left
    2.0
    >>> from gnomon import ApproxDP
    >>> ledger.charge("ward", ApproxDP(0.5, 1e-6), method="ron-gauss").epsilon_left
    1.5
    >>> [entry.kind for entry in ledger.history("ward")]
    ['cap', 'charge']
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, wait: float = _WAIT) -> None:
        self.path = default_path() if path is None else Path(path)
        self._file = LedgerFile(self.path, wait)

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
        """Set what the account may spend in all; a later cap replaces an earlier one, and both stay on record.

        Parameters
        ----------
        account : the name of the account.
        epsilon, delta : how much all releases of the account may spend together.
        unit, adjacency, rows : what the account counts; the first cap or charge fixes it.
        """
        asked = declared(epsilon, delta, unit=unit, adjacency=adjacency, rows=rows)
        name = checked_name(account)
        with self._file.writing() as book:
            kind = book.of(name).neighbours
            if kind not in (None, asked.neighbours):
                assert kind is not None
                raise ParameterError(
                    f"The account {account!r} counts {words(kind)}, and this cap {words(asked.neighbours)}; "
                    "give the cap in the account's unit and adjacency, or open another account."
                )
            return book.append(Entry.of(name, "cap", asked)).balance

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

        Parameters
        ----------
        account : the name of the account.
        guarantee : what is spent.
        method : the name of the method, for the record.
        note, table : further words for the record.
        content : a keyed print of the rows, by which one table on two accounts is noticed.
        """
        name = checked_name(account)
        with self._file.writing() as book:
            balance = book.of(name).balance
            amount = _in_kind_of(balance, guarantee, attributes, law)
            _refuse_overspending(balance, amount)
            entry = replace(
                Entry.of(name, "charge", amount),
                asked="" if amount is guarantee else _itself(guarantee),
                table=_text(table),
                content=content,
                method=_text(method),
                note=_text(note),
            )
            return book.append(entry).balance

    def show(self, account: str) -> Balance:
        """Cap, spent and left of one account.

        Parameters
        ----------
        account : the name of the account.
        """
        return self._history(account).balance

    def remaining(self, account: str) -> tuple[float, float] | None:
        """(epsilon, delta) left, or None where no cap was set.

        Parameters
        ----------
        account : the name of the account.
        """
        balance = self.show(account)
        if balance.epsilon_left is None or balance.delta_left is None:
            return None
        return balance.epsilon_left, balance.delta_left

    def history(self, account: str) -> list[Entry]:
        """Every cap and every charge of one account, oldest first.

        Parameters
        ----------
        account : the name of the account.
        """
        return list(self._history(account).entries)

    def accounts(self) -> list[Balance]:
        """The balance of every account, by name."""
        return [history.balance for history in self.histories()]

    def key(self, account: str) -> bytes:
        """The key of the content prints on this account; drawn once for a ledger, and never shown."""
        with self._file.writing() as book:
            return book.key(checked_name(account))

    def histories(self) -> list[History]:
        """Every account with its entries and its key, by name; as private as the ledger."""
        return self._file.reading(lambda book: book.accounts, [])

    def _history(self, account: str) -> History:
        name = checked_name(account)
        return self._file.reading(lambda book: book.of(name), History(name, b""))

    # --- an account on another machine ---

    def export(self, account: str) -> dict[str, Any]:
        """The account with its history and its key, as plain values for a JSON file; as private as the ledger.

        Parameters
        ----------
        account : the name of the account.
        """
        history = self._history(account)
        if not history.entries:
            raise ParameterError(f"The ledger {self.path} has no account {account!r}; nothing was exported.")
        return history.document()

    def import_account(self, document: Any, account: str | None = None) -> int:
        """Add the entries of an exported account that are not here yet, and return how many; both histories must agree.

        Parameters
        ----------
        document : what `export` gave.
        account : its name here, if not the one in the document.
        """
        there = History.of_document(document)
        if account is not None and checked_name(account) != there.account:
            raise ParameterError(
                f"The file holds the account {there.account!r}, not {account!r}; name that one."
            )
        with self._file.writing() as book:
            here = book.of(there.account)
            new = there.beyond(here)
            if not here.entries:
                book.set_key(there.account, there.key)
            for entry in new:
                book.insert(entry)
            return len(new)


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


def _itself(guarantee: Guarantee) -> str:
    """What a release of another kind than its account promises."""
    delta = f" and delta {guarantee.delta:.12g}" if guarantee.delta else ""
    return f"epsilon {guarantee.epsilon:.12g}{delta} for {words(guarantee.neighbours)}"


def _text(value: str) -> str:
    """A path may hold bytes that are no text; they become question marks."""
    return value.encode("utf-8", "replace").decode("utf-8")


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
