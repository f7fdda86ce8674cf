"""Rows of a model that have given cells, by rejection: rows are drawn as always, and those that fit are kept.

Claim. Each row has the law of a row of `sample`, given that it fits. Proof: whether a row is kept depends on that row
alone, and draws go on until there are enough. So one given column and several are equally exact.

Bound. While fewer than one in `MOST` of the drawn rows fits, it stops with an error: a condition that the model gives
a probability p is refused by mistake with probability at most (1 - p)^MOST, which is below e^-10 where p is above
2 * 10^-5. Rows that fit rarely therefore cost time, and rows that the model does not have are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.errors import ParameterError, SchemaError, columns_instead
from gnomon.table.domain import Domain
from gnomon.table.schema import Schema
from gnomon.table.spec import Mask, Range, inside, points

Draw = Callable[[int, int], Iterator[pa.Table]]  # how many rows, by which seed
MOST = 2**19  # rows that are drawn for one that fits
LEAST, LARGEST = 2**12, 2**16  # rows drawn at once
CONDITIONAL = 2  # the stream of a seed that draws under a condition come from


@dataclass(frozen=True)
class Condition:
    """By column: a value, several, a range, or None for a missing cell."""

    domains: dict[str, Domain]
    specs: dict[str, Any]

    @classmethod
    def of(cls, schema: Schema, given: Mapping[str, Any]) -> Condition:
        """The condition, checked against the schema: a pair is a range of numbers or dates, a list several values."""
        if not isinstance(given, Mapping) or not given:
            raise ParameterError(
                "The 'given' parameter of sample must map columns to values, as in given={'ward': 'north'}."
            )
        domains, specs = {}, {}
        for name, value in given.items():
            column = next((one for one in schema.released if one.name == name), None)
            if column is None:
                instead = columns_instead(name, (one.name for one in schema.released))
                raise ParameterError(f"The release has no column {name!r}; {instead}")
            domains[name] = Domain(column)
            specs[name] = _spec(column.kind, value)
            if specs[name] is not None:
                _check(domains[name], specs[name])
        return cls(domains, specs)

    def fits(self, table: pa.Table) -> Mask:
        """Which rows have all given cells."""
        found = np.ones(table.num_rows, dtype=bool)
        for name, domain in self.domains.items():
            cell, spec = domain.read(table.column(name).combine_chunks()), self.specs[name]
            found &= ~cell.there if spec is None else cell.there & inside(cell.values, domain, spec)
        return found

    def __str__(self) -> str:
        return " and ".join(f"{name} = {_shown(spec)}" for name, spec in self.specs.items())


def _spec(kind: str, value: Any) -> Any:
    ranged = kind in ("number", "date") and isinstance(value, tuple) and len(value) == 2
    if ranged:
        return Range(*value)
    return tuple(value) if isinstance(value, list | tuple | set | frozenset) else value


def _check(domain: Domain, spec: Any) -> None:
    try:
        if not points(domain, spec, "The 'given' parameter of sample"):
            raise ParameterError(
                f"The 'given' parameter of sample names no value of {domain.column.name!r}; name one."
            )
    except SchemaError as problem:
        raise ParameterError(str(problem)) from None


def _shown(spec: Any) -> str:
    if isinstance(spec, Range):
        return f"{'' if spec.low is None else spec.low}..{'' if spec.high is None else spec.high}"
    if spec is None:
        return "missing"
    return " or ".join(map(repr, spec)) if isinstance(spec, tuple) else repr(spec)


def conditional_batches(draw: Draw, condition: Condition, n: int, seed: int) -> Iterator[pa.Table]:
    """n rows that fit, a batch at a time; the same for the same seed."""
    drawn = found = 0
    for number in range(2**31):
        size = min(LARGEST, max(LEAST, 2 * (n - found) * (drawn + 1) // (found + 1)))
        stream = int(np.random.SeedSequence([CONDITIONAL, seed, number]).generate_state(1, np.uint64)[0] >> 2)
        for table in draw(size, stream):
            kept = table.filter(pa.array(condition.fits(table))).slice(0, n - found)
            drawn += table.num_rows
            found += kept.num_rows
            if kept.num_rows:
                yield kept
            if found == n:
                return
        if drawn >= MOST * (found + 1):
            raise ParameterError(
                f"The model has no rows with {condition}, or too few to draw: {found} in {drawn:,}. "
                "Ask for a wider range, or for fewer columns at once."
            )
