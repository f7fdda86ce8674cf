"""Who pays for a fit: an account in a ledger, before any row is read, or nobody, which is said once."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from os import PathLike
from typing import ClassVar, Protocol

from gnomon.engine.base import Engine
from gnomon.engine.local import LOCAL
from gnomon.errors import GnomonWarning
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.history import History
from gnomon.privacy.ledger import Balance, Ledger, checked_name, configured
from gnomon.privacy.meaning import weak_together
from gnomon.table.base import Source
from gnomon.table.fingerprint import columns_print, content_print, same_columns
from gnomon.table.schema import Schema


class Charged(Protocol):
    """What a charge says about the method that it pays for."""

    name: ClassVar[str]
    calibration: str


Charge = Callable[[Guarantee], None]
LedgerOrPath = Ledger | str | PathLike[str] | None  # None: the one that is configured, or the usual one

NOT_ACCOUNTED = (
    "gnomon: this fit is not accounted: no ledger is given (ledger=gn.Ledger(), account='...') or configured "
    "(GNOMON_LEDGER), so nothing adds up what is spent on its table. This is said once."
)
_said = False


def unaccounted(guarantee: Guarantee) -> None:
    """The charge of a fit whose result nobody publishes, as in an audit: nothing is charged and nothing is said."""


@dataclass(frozen=True)
class Account:
    """An account of a ledger, on which tables are charged."""

    ledger: Ledger
    name: str

    @classmethod
    def of(cls, schema: Schema, ledger: LedgerOrPath, name: str | None) -> Account:
        """The named account, or the one that the schema names, in the given ledger or in the usual one."""
        named = schema.budget_account if name is None else name
        return cls(ledger if isinstance(ledger, Ledger) else Ledger(ledger), checked_name(named))

    def content(self, source: Source, schema: Schema, engine: Engine | None = None) -> str:
        """The print of the table under this account's key."""
        return content_print(source, schema, self.ledger.key(self.name), engine or LOCAL)

    def charge(
        self,
        method: Charged,
        guarantee: Guarantee,
        schema: Schema,
        source: Source,
        content: str,
        note: str = "",
    ) -> Balance:
        """Charge a release durably; what looks wrong about its table is a warning before that."""
        for sentence in self.suspicions(source, schema, content):
            warnings.warn(sentence, GnomonWarning, stacklevel=4)
        if method.calibration == "paper":
            # printed noise may keep no epsilon at all, so no cap can cover it
            guarantee = replace(guarantee, epsilon=math.inf)
            note = f"{note} (as printed, charged as infinite)".strip()
        return self.ledger.charge(
            self.name,
            guarantee,
            method=method.name,
            note=note,
            table=source.title,
            content=content,
            attributes=len(schema.released),
        )

    def suspicions(self, source: Source, schema: Schema, content: str) -> list[str]:
        """What the prints of earlier charges say: for the custodian's console, never for a release."""
        found, held = [], {history.account: history for history in self.ledger.histories()}
        mine = held.pop(self.name, None)
        others = self._charged_for(source, schema, content, list(held.values()))
        if others:
            found.append(
                f"This table was released from the account {others[0]!r} before, and now from {self.name!r}; "
                "what is spent on both adds up for the people in it, and neither cap bounds the sum."
            )
        earlier = [] if mine is None else [entry.content for entry in mine.entries if entry.content]
        comparable = [one for one in earlier if same_columns(one, content)]
        if comparable and content not in comparable:
            found.append(
                f"The account {self.name!r} was charged for other rows before; they share its budget. "
                "If this table is about other people, name another account."
            )
        return found

    def _charged_for(self, source: Source, schema: Schema, content: str, held: list[History]) -> list[str]:
        """Which of these accounts were charged for this table; one from another machine has another key for its prints."""
        prints, found = {self.ledger.key(self.name): content}, []
        for history in held:
            key = history.key
            if key not in prints and any(
                same_columns(entry.content, columns_print(source, schema, key)) for entry in history.entries
            ):
                prints[key] = content_print(source, schema, key)
            if any(entry.content == prints.get(key) for entry in history.entries):
                found.append(history.account)
        return found


def charge_for(
    method: Charged,
    source: Source,
    schema: Schema,
    ledger: LedgerOrPath,
    account: str | None,
    engine: Engine | None = None,
) -> Charge:
    """The charge of a fit: on the ledger that is given or configured, or else on none."""
    book = configured() if ledger is None else ledger
    if book is None and account is None:
        _say_once()
        return unaccounted
    chosen = Account.of(schema, book, account)

    def charge(guarantee: Guarantee) -> None:
        content = chosen.content(source, schema, engine)
        tell_weak(chosen.charge(method, guarantee, schema, source, content, "fit"))

    return charge


def tell_weak(balance: Balance) -> None:
    """On the log, for who works in Python: that the releases of an account add up to a weak promise, where they do."""
    if weak := weak_together(balance.account, balance.charges, balance.epsilon_spent, balance.delta_spent):
        logging.getLogger("gnomon").warning(weak)


def _say_once() -> None:
    """On the log and not as a warning: the call is right, and must not fail where warnings are errors.

    Nothing need be set up to see it (Python prints a library's log from this level on), and it is silenced like any
    other, by logging.getLogger("gnomon"). Estimators are cloned and fitted by the hundred, so once a process is enough.
    """
    global _said
    if not _said:
        _said = True
        logging.getLogger("gnomon").warning(NOT_ACCOUNTED)
