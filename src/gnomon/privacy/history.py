"""The history of an account: caps and charges, each chained to the one before it by a hash, and the balance of them.

An account is named by the custodian, and has one unit and one adjacency, fixed by its first entry. Charges add up by basic
composition (epsilons and deltas add), which is sound whatever the methods were and never less than the truth. A cap counts
the releases before it like those after it. Amounts are added as the decimal numbers that people write, so ten charges
of 0.1 make 1.

Each entry holds the hash of the one before it, the first that of the account's name and key, and they are numbered
without a gap. Whoever changes an entry must rewrite every hash after it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import unicodedata
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from gnomon.errors import GnomonError, LedgerError, ParameterError
from gnomon.privacy.guarantee import Adjacency, Guarantee, Neighbours, Unit, declared
from gnomon.privacy.rounding import as_written

LONGEST_NAME = 200
_FORMAT, _VERSION = "gnomon account", 2  # of an exported account


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
    asked: str = ""  # what the release itself promises, where it is of another kind
    table: str = ""
    content: str = ""  # the print of the table under the account's key; never published
    method: str = ""
    note: str = ""
    previous: str = ""
    hash: str = ""

    @property
    def neighbours(self) -> Neighbours:
        return Unit(self.unit), Adjacency(self.adjacency), self.rows

    def digest(self) -> str:
        """SHA-256 of all that the entry says and of the hash before it."""
        said = json.dumps(astuple(self)[:-1], ensure_ascii=True, separators=(",", ":"), default=repr)
        return hashlib.sha256(said.encode()).hexdigest()

    @classmethod
    def of(cls, account: str, kind: str, amount: Guarantee) -> Entry:
        """An entry of this moment, not yet chained."""
        return cls(
            account=account,
            number=0,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            kind=kind,
            epsilon=float(amount.epsilon),
            delta=float(amount.delta),
            unit=amount.unit.value,
            adjacency=amount.adjacency.value,
            rows=amount.rows,
        )


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
    last: str = field(default="", compare=False)  # the hash of the last entry, which stands for all before it

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


@dataclass(frozen=True)
class History:
    """Every entry of one account, oldest first, and the key by which its tables are recognised."""

    account: str
    key: bytes
    entries: tuple[Entry, ...] = ()

    @property
    def neighbours(self) -> Neighbours | None:
        return self.entries[0].neighbours if self.entries else None

    @property
    def balance(self) -> Balance:
        spent = [entry for entry in self.entries if entry.kind == "charge"]
        caps = [entry for entry in self.entries if entry.kind == "cap"]
        return Balance(
            self.account,
            self.neighbours,
            caps[-1].epsilon if caps else None,
            caps[-1].delta if caps else None,
            _sum_up([entry.epsilon for entry in spent]),
            _sum_up([entry.delta for entry in spent]),
            len(spent),
            self.entries[-1].hash if self.entries else "",
        )

    def chained(self, entry: Entry) -> Entry:
        """The entry as the next one of this account."""
        previous = self.entries[-1].hash if self.entries else self._opening
        entry = replace(entry, number=len(self.entries) + 1, previous=previous)
        return replace(entry, hash=entry.digest())

    def and_then(self, entry: Entry) -> History:
        return replace(self, entries=(*self.entries, entry))

    @property
    def _opening(self) -> str:
        """What the first entry is chained to: the name of the account and its key."""
        return hmac.new(self.key, b"gnomon account\0" + self.account.encode(), hashlib.sha256).hexdigest()

    def verify(self, where: str) -> None:
        """Refuse entries that are not what was written, in a sentence about `where`."""
        previous = self._opening
        for place, entry in enumerate(self.entries, start=1):
            honest = entry.number == place and entry.account == self.account and entry.previous == previous
            if not honest or entry.hash != entry.digest():
                raise LedgerError(
                    changed(where, f"entry {place} of the account {self.account!r} is not what was written")
                )
            previous = entry.hash

    def beyond(self, other: History) -> tuple[Entry, ...]:
        """The entries that another copy of this history lacks; both must agree in what they share."""
        common = min(len(self.entries), len(other.entries))
        if [one.hash for one in self.entries[:common]] != [one.hash for one in other.entries[:common]]:
            raise LedgerError(
                f"The account {self.account!r} exists here with another history; nothing was imported. "
                "Keep one of the two, and charge it with what was spent from the other."
            )
        return self.entries[common:]

    # --- as a file ---

    def document(self) -> dict[str, Any]:
        """Plain values for a JSON file; as private as the ledger."""
        head = {"format": _FORMAT, "version": _VERSION, "account": self.account, "key": self.key.hex()}
        return {**head, "entries": [vars(entry) for entry in self.entries]}

    @classmethod
    def of_document(cls, document: Any) -> History:
        """An exported account; a file from elsewhere may hold anything."""
        try:
            if (document["format"], document["version"]) != (_FORMAT, _VERSION):
                raise ValueError
            entries = tuple(Entry(**entry) for entry in document["entries"])
            for entry in entries:
                unit, adjacency, rows = entry.neighbours
                declared(entry.epsilon, entry.delta, unit=unit, adjacency=adjacency, rows=rows)
            if not entries or any(entry.kind not in ("cap", "charge") for entry in entries):
                raise ValueError
            if any(entry.neighbours != entries[0].neighbours for entry in entries):
                raise ValueError
            found = cls(checked_name(document["account"]), bytes.fromhex(document["key"]), entries)
        except (KeyError, TypeError, ValueError, GnomonError):
            raise LedgerError(
                "The file is not an account that 'gnomon budget export' wrote; export it again."
            ) from None
        found.verify("The file")
        return found


def changed(where: str, what: str) -> str:
    return f"{where} was changed by something other than gnomon: {what}; restore it from a copy."


def checked_name(account: str) -> str:
    """A name that people can read, write and tell apart: letters with accents are one character, however they came."""
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
    return unicodedata.normalize("NFC", account)


def _sum_up(values: list[float]) -> float:
    """Exact in decimals: a sum of doubles could drift away from what was spent."""
    return math.inf if math.inf in values else float(sum(map(as_written, values), Fraction(0)))
