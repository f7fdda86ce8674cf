"""Everything that gnomon refuses, in one family: one sentence, never a value of the private rows."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST_NAMED = 20  # names in one sentence


def columns_instead(name: str, known: Iterable[str]) -> str:
    """What could stand in place of a name that is no column: the nearest ones, or else the first of all."""
    names = list(known)
    by_letters = {one.casefold(): one for one in reversed(names)}
    near = [by_letters[one] for one in get_close_matches(name.casefold(), by_letters, n=2, cutoff=0.7)]
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    more = len(names) - MOST_NAMED
    return f"its columns are {', '.join(names[:MOST_NAMED])}{f' and {more:,} more' if more > 0 else ''}."


class GnomonError(Exception):
    """Base of all errors; `exit_code` is what the command line returns."""

    exit_code = 2


class ParameterError(GnomonError, ValueError):
    """A parameter (epsilon, delta, n_components, ...) that cannot be used."""


class SchemaError(GnomonError):
    """A schema that does not parse, or that does not say enough."""


class DataError(GnomonError, ValueError):
    """A table that cannot be read, or that does not fit its schema."""


class NoisyRefusalError(DataError):
    """What paid noisy answers refuse: they are kept, so that the same release ends the same."""


class OutputError(GnomonError):
    """A place that a release cannot be written to."""


class VerificationError(GnomonError):
    """A release folder that is not what its certificate says."""

    exit_code = 1


class EngineError(GnomonError):
    """A cluster that cannot be reached, or that could not do its work."""


class BudgetError(GnomonError):
    """A charge that the ledger refuses."""

    exit_code = 3

    def __init__(self, message: str, *, requested: float, remaining: float) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining
        self.difference = requested - remaining


class UselessError(GnomonError):
    """A release of which public numbers say that it would carry nothing."""

    exit_code = 4


class ConversionError(GnomonError):
    """A guarantee that promises nothing for the unit or adjacency that is asked about."""

    exit_code = 3


class LedgerError(GnomonError):
    """A ledger, or an exported account, that is not what was written."""


class InterruptionError(GnomonError):
    """Somebody stopped a release; the sentence says whether it was charged, and how to go on."""

    exit_code = 130


class GnomonWarning(UserWarning):
    """Something a custodian should know about a release that is still sound."""
