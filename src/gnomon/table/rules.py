"""Rules that every released row keeps: what is publicly known about columns together, declared as [[rules]].

    ascending = ["admitted", "discharged"]                      each at most the next
    if = { relationship = "Husband" }, then = { sex = "Male" }  one implies the other
    determines = ["education", "education-num"], by = {...}     one follows from the other by a public table
    sum = ["north", "south"], is = "total"                      parts and their total

A value is a declared value, a list of them, or { low = ..., high = ... }. A missing cell breaks no rule. Rules come from
public knowledge and are kept by changing decoded rows (`mend.py`), which is post-processing and costs nothing.
"""

from __future__ import annotations

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SchemaError
from gnomon.table.column import Scalar
from gnomon.table.domain import Cell, Domains, Number
from gnomon.table.spec import Mask, Range, Spec, inside, nearest, plain, points
from gnomon.table.values_file import read_text

Row = dict[str, Number]  # by column, on its own scale
Cells = dict[str, Cell]
MOST_PROBES = 4_096


class Rule(ABC):
    """One rule: which rows break it, how such a row is mended, and rows on which it must be possible to keep it."""

    keys: ClassVar[tuple[str, ...]]

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]: ...

    @abstractmethod
    def check(self, domains: Domains, where: str) -> None:
        """Refuse what the declared columns cannot mean."""

    @abstractmethod
    def broken(self, cells: Cells, domains: Domains) -> Mask: ...

    @abstractmethod
    def mend(self, cells: Cells, domains: Domains, rows: Mask) -> None:
        """Change the cells of these rows, which break the rule, so that they keep it."""

    @abstractmethod
    def probes(self, domains: Domains) -> Iterator[Row]:
        """Cells that some row should be able to have while all rules hold."""

    def fixed(self, name: str) -> bool:
        """Whether the rule asks about the column, rather than to change it."""
        return False

    @abstractmethod
    def said(self) -> dict[str, Any]:
        """The rule as its table in the schema has it."""


@dataclass(frozen=True)
class Ascending(Rule):
    """Numbers or dates of which each is at most the next."""

    names: tuple[str, ...]
    keys = ("ascending",)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def check(self, domains: Domains, where: str) -> None:
        kinds = {domains[name].column.kind for name in self.names}
        if len(kinds) > 1 or not kinds <= {"number", "date"}:
            raise SchemaError(f"{where} needs columns that are all numbers or all dates.")
        for name, low in zip(self.names, self._lows(domains), strict=True):
            if low > domains[name].high:
                raise SchemaError(
                    f"{where} contradicts the bounds: {name!r} is never so large; correct the bounds or the rule."
                )

    def _lows(self, domains: Domains) -> list[Number]:
        """What each column is at least, because those before it are."""
        lows: list[Number] = []
        for name in self.names:
            domain = domains[name]
            before = domain.low if not lows else max(lows[-1], domain.low)
            lows.append(domain.up(before))
        return lows

    def broken(self, cells: Cells, domains: Domains) -> Mask:
        bad = np.zeros(len(cells[self.names[0]].values), dtype=bool)
        most = np.full(len(bad), -np.inf)
        for name in self.names:
            cell = cells[name]
            bad |= cell.there & (cell.values < most)
            most = np.where(cell.there, np.maximum(most, cell.values), most)
        return bad

    def mend(self, cells: Cells, domains: Domains, rows: Mask) -> None:
        for name, low in zip(self.names, self._lows(domains), strict=True):
            cell = cells[name]
            cell.values[rows] = np.maximum(cell.values[rows], low)
        least = np.full(int(rows.sum()), np.inf)
        for name in reversed(self.names):
            cell, domain = cells[name], domains[name]
            least = np.where(cell.there[rows], np.minimum(least, cell.values[rows]), least)
            bounded = np.where(np.isfinite(least), least, domain.high)
            cell.values[rows] = domain.down(np.minimum(cell.values[rows], bounded))

    def probes(self, domains: Domains) -> Iterator[Row]:
        yield {name: domains[name].low for name in self.names}
        yield {name: domains[name].high for name in self.names}

    def said(self) -> dict[str, Any]:
        return {"ascending": list(self.names)}


@dataclass(frozen=True)
class Implication(Rule):
    """Where the one holds, so does the other."""

    given: Spec
    then: Spec
    keys = ("if", "then")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in (*self.given, *self.then)))

    def check(self, domains: Domains, where: str) -> None:
        for name, spec in (*self.given, *self.then):
            points(domains[name], spec, where)

    def broken(self, cells: Cells, domains: Domains) -> Mask:
        given = np.ones(len(next(iter(cells.values())).values), dtype=bool)
        for name, spec in self.given:
            given &= cells[name].there & inside(cells[name].values, domains[name], spec)
        bad = np.zeros_like(given)
        for name, spec in self.then:
            bad |= given & cells[name].there & ~inside(cells[name].values, domains[name], spec)
        return bad

    def mend(self, cells: Cells, domains: Domains, rows: Mask) -> None:
        for name, spec in self.then:
            values = cells[name].values
            wrong = rows & ~inside(values, domains[name], spec)
            values[wrong] = nearest(values[wrong], domains[name], spec)

    def probes(self, domains: Domains) -> Iterator[Row]:
        names = [name for name, _ in self.given]
        for values in product(*(points(domains[name], spec, "") for name, spec in self.given)):
            yield dict(zip(names, values, strict=True))

    def fixed(self, name: str) -> bool:
        return any(name == known and not isinstance(spec, Range) for known, spec in self.given)

    def said(self) -> dict[str, Any]:
        return {"if": plain(self.given), "then": plain(self.then)}


@dataclass(frozen=True)
class Determines(Rule):
    """The second column follows from the first by a public table, where that table has its value."""

    first: str
    second: str
    by: tuple[tuple[str, Scalar], ...]
    keys = ("determines", "by", "by_file")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.first, self.second)

    def check(self, domains: Domains, where: str) -> None:
        for known, value in self.by:
            domains[self.first].of(known, where)
            domains[self.second].of(value, where)

    def _followed(self, cells: Cells, domains: Domains) -> tuple[Mask, NDArray[Any]]:
        """Where the table has a value, and the value that it has."""
        table = sorted((domains[self.first].of(k, ""), domains[self.second].of(v, "")) for k, v in self.by)
        known, value = np.array([k for k, _ in table]), np.array([v for _, v in table])
        cell = cells[self.first]
        place = np.minimum(np.searchsorted(known, cell.values), len(known) - 1)
        return cell.there & (known[place] == cell.values), value[place]

    def broken(self, cells: Cells, domains: Domains) -> Mask:
        known, value = self._followed(cells, domains)
        cell = cells[self.second]
        return np.asarray(known & cell.there & (cell.values != value))

    def mend(self, cells: Cells, domains: Domains, rows: Mask) -> None:
        _, value = self._followed(cells, domains)
        cells[self.second].values[rows] = value[rows]

    def probes(self, domains: Domains) -> Iterator[Row]:
        for known, _ in self.by:
            yield {self.first: domains[self.first].of(known, "")}

    def fixed(self, name: str) -> bool:
        return name == self.first

    def said(self) -> dict[str, Any]:
        return {"determines": [self.first, self.second], "by": dict(self.by)}


@dataclass(frozen=True)
class Total(Rule):
    """The total is the sum of its parts, added from the first to the last."""

    parts: tuple[str, ...]
    total: str
    keys = ("sum", "is")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.parts, self.total)

    def check(self, domains: Domains, where: str) -> None:
        if any(domains[name].column.kind != "number" for name in self.columns):
            raise SchemaError(f"{where} needs columns that are all numbers.")
        if domains[self.total].whole and not all(domains[name].whole for name in self.parts):
            raise SchemaError(f"{where} has whole totals of parts that are not; say integer = true of all.")
        least, most = (sum(getattr(domains[name], end) for name in self.parts) for end in ("low", "high"))
        if least > domains[self.total].high or most < domains[self.total].low:
            raise SchemaError(
                f"{where} contradicts the bounds: parts within theirs never add up to the total; correct one of them."
            )

    def _summed(self, cells: Cells) -> tuple[Mask, NDArray[Any]]:
        there = cells[self.total].there.copy()
        added = np.zeros(len(there), dtype=cells[self.total].values.dtype)
        for name in self.parts:
            there &= cells[name].there
            added = added + cells[name].values
        return there, added

    def broken(self, cells: Cells, domains: Domains) -> Mask:
        there, added = self._summed(cells)
        return np.asarray(there & (cells[self.total].values != added))

    def mend(self, cells: Cells, domains: Domains, rows: Mask) -> None:
        """The total is that of the parts; where its bounds do not hold it, the first parts give way."""
        total = domains[self.total]
        _, added = self._summed(cells)
        slack = 0 if total.whole else 1e-12 * max(abs(total.low), abs(total.high))
        over = np.where(rows & (added > total.high), added - (total.high - slack), 0)
        under = np.where(rows & (added < total.low), (total.low + slack) - added, 0)
        for name in self.parts:
            cell, domain = cells[name], domains[name]
            less = domain.up(np.minimum(over, cell.values - domain.low)) * (over > 0)
            more = domain.up(np.minimum(under, domain.high - cell.values)) * (under > 0)
            cell.values += (more - less).astype(cell.values.dtype)
            over, under = np.maximum(over - less, 0), np.maximum(under - more, 0)
        _, added = self._summed(cells)
        cells[self.total].values[rows] = np.clip(added[rows], total.low, total.high)

    def probes(self, domains: Domains) -> Iterator[Row]:
        yield {name: domains[name].low for name in self.columns}
        yield {name: domains[name].high for name in self.columns}

    def said(self) -> dict[str, Any]:
        return {"sum": list(self.parts), "is": self.total}


# reading

_KEYS = (Ascending.keys, Implication.keys, Determines.keys, Total.keys)
_FORMS = (
    'ascending = ["a", "b"]; if = {...} with then = {...}; determines = ["a", "b"] with by = {...} or by_file; or '
    'sum = ["a", "b"] with is = "total"'
)


def read_rules(document: Any, folder: Path | None) -> tuple[Rule, ...]:
    """The rules of a parsed schema."""
    if not isinstance(document, list):
        raise SchemaError("The rules of the schema must be tables [[rules]].")
    return tuple(_rule(body, f"Rule {place} of the schema", folder) for place, body in enumerate(document, 1))


def _rule(body: Any, where: str, folder: Path | None) -> Rule:
    given = set(body) if isinstance(body, dict) else set()
    if not any(given and given <= set(keys) for keys in _KEYS):
        raise SchemaError(f"{where} is none that is known; write {_FORMS}.")
    if "ascending" in given:
        return Ascending(_names(body["ascending"], where, 2))
    if given & set(Implication.keys):
        return Implication(_spec(body.get("if"), where, "if"), _spec(body.get("then"), where, "then"))
    if given & set(Total.keys):
        (total,) = _names([body.get("is")], where, 1)
        return Total(_names(body.get("sum"), where, 2), total)
    first, second = _names(body.get("determines"), where, 2, most=2)
    if ("by" in body) == ("by_file" in body):
        raise SchemaError(f'{where} needs by = {{...}}, or by_file = "table.csv" beside the schema.')
    by = body["by"] if "by" in body else _file(folder, body["by_file"], first, second, where)
    if not isinstance(by, Mapping) or not by or not all(_is_scalar(value) for value in by.values()):
        raise SchemaError(f"{where} must have a table of values by value, as in by = {{ Bachelors = 13 }}.")
    return Determines(first, second, tuple((str(known), value) for known, value in by.items()))


def _names(names: Any, where: str, least: int, most: int | None = None) -> tuple[str, ...]:
    fits = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not fits or len(set(names)) < max(least, len(names)) or (most is not None and len(names) > most):
        count = "one column" if least == 1 else f"{'two' if most == 2 else 'two or more'} different columns"
        raise SchemaError(f"{where} must name {count}; write {_FORMS}.")
    return tuple(names)


def _spec(given: Any, where: str, key: str) -> Spec:
    if not isinstance(given, dict) or not given:
        raise SchemaError(f'{where} needs both if and then, as in if = {{ a = "x" }}, then = {{ b = "y" }}.')
    return tuple((name, _allowed(value, where, key)) for name, value in given.items())


def _allowed(value: Any, where: str, key: str) -> Any:
    if (
        isinstance(value, dict)
        and value
        and set(value) <= {"low", "high"}
        and all(map(_is_scalar, value.values()))
    ):
        return Range(**value)
    if isinstance(value, list) and value and all(map(_is_scalar, value)):
        return tuple(value)
    if not _is_scalar(value):
        raise SchemaError(
            f"The {key} of {where.lower()} must hold a value, a list of values, or low and high."
        )
    return value


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Scalar)


def _file(folder: Path | None, file: object, first: str, second: str, where: str) -> dict[str, str]:
    """A CSV in the schema's folder with the two columns, by their names."""
    lines = read_text(folder, file, f"The by_file of {where.lower()}").splitlines()
    delimiter = max(",;\t|", key=lines[0].count) if lines else ","
    rows = list(csv.DictReader(lines, delimiter=delimiter))
    if not rows or first not in rows[0] or second not in rows[0]:
        raise SchemaError(f"The by_file of {where.lower()} must have the columns {first!r} and {second!r}.")
    return {row[first].strip(): row[second].strip() for row in rows if row[first] and row[second]}


def all_probes(rules: tuple[Rule, ...], domains: Domains) -> list[tuple[int, Row]]:
    """Which rule, and cells that it speaks of, not without end."""
    return [
        (place, probe)
        for place, rule in enumerate(rules)
        for probe in islice(rule.probes(domains), MOST_PROBES)
    ]
