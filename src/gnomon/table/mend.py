"""Rows that keep the declared rules: decoded rows are changed where they break one. Post-processing, without chance.

Rules are mended in turn until all hold. A row that this does not bring to rest takes the columns that rules speak of from
the next row of the batch that keeps them all, or else from a row that was found when the schema was read. A schema
whose rules admit no row at all, or not the values that they speak of, is refused then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.errors import SchemaError
from gnomon.table.column import Column
from gnomon.table.domain import Cell, Domain
from gnomon.table.rules import Cells, Row, Rule, all_probes
from gnomon.table.spec import Mask

TRIES = 32  # other rows to start from, where a probe does not come to rest


@dataclass(frozen=True)
class Mender:
    """The rules of a schema and the columns that they speak of; `witness` is a row that keeps them."""

    rules: tuple[Rule, ...]
    domains: dict[str, Domain]
    witness: Row

    @classmethod
    def of(cls, columns: Sequence[Column], rules: tuple[Rule, ...]) -> Mender:
        """Checks every rule against the columns, and the rules against each other."""
        domains = _domains(columns, rules)
        for place, rule in enumerate(rules):
            rule.check(domains, f"Rule {place + 1} of the schema")
        found = cls(rules, domains, {})
        return cls(rules, domains, found._witnessed())

    def for_columns(self, names: Sequence[str]) -> Mender:
        """The rules that speak of these columns only."""
        present = set(names)
        rules = tuple(rule for rule in self.rules if present.issuperset(rule.columns))
        used = {name for rule in rules for name in rule.columns}
        return Mender(rules, {name: d for name, d in self.domains.items() if name in used}, self.witness)

    def __call__(self, table: pa.Table) -> pa.Table:
        """The table with every row mended; columns that needed no change are the same arrays."""
        if not self.rules or table.num_rows == 0:
            return table
        before = self._read(table)
        cells = {name: Cell(cell.values.copy(), cell.there) for name, cell in before.items()}
        self._settle(cells)
        self._replace(cells)
        for name, cell in cells.items():
            if not np.array_equal(cell.values, before[name].values) or cell.there is not before[name].there:
                place = table.column_names.index(name)
                array = self.domains[name].write(cell, table.schema.field(place).type)
                table = table.set_column(place, name, array)
        return table

    def broken(self, table: pa.Table) -> Mask:
        """Which rows break a rule."""
        return self._any_broken(self._read(table)) if self.rules else np.zeros(table.num_rows, dtype=bool)

    def _read(self, table: pa.Table) -> Cells:
        return {
            name: domain.read(table.column(name).combine_chunks()) for name, domain in self.domains.items()
        }

    def _settle(self, cells: Cells) -> None:
        for _ in range(2 * len(self.rules) + 2):
            moved = False
            for rule in self.rules:
                bad = rule.broken(cells, self.domains)
                if bad.any():
                    rule.mend(cells, self.domains, bad)
                    moved = True
            if not moved:
                return

    def _any_broken(self, cells: Cells) -> Mask:
        bad = np.zeros(len(next(iter(cells.values())).values), dtype=bool)
        for rule in self.rules:
            bad |= rule.broken(cells, self.domains)
        return bad

    def _replace(self, cells: Cells) -> None:
        """Rows that did not come to rest take the cells of the next row that did."""
        bad = self._any_broken(cells)
        if not bad.any():
            return
        good = np.flatnonzero(~bad)
        wrong = np.flatnonzero(bad)
        for name, cell in cells.items():
            if len(good):
                donor = good[np.searchsorted(good, wrong) % len(good)]
                cell.values[wrong] = cell.values[donor]
                cell.there = cell.there.copy()
                cell.there[wrong] = cell.there[donor]
            else:
                cell.values[wrong] = self.witness[name]
                cell.there = cell.there | bad

    # contradictions

    def _witnessed(self) -> Row:
        """A row that keeps all rules, once each value that a rule speaks of was seen to be possible with the others."""
        probes = [(0, Row()), *all_probes(self.rules, self.domains)]
        rng = np.random.default_rng(0)  # public, and the same at every load
        settled = self._started(probes, None)
        for place, (number, probe) in enumerate(probes):
            if settled[place]:
                continue
            again = self._started([(number, probe)] * TRIES, rng)
            if not any(again):
                raise SchemaError(self._contradiction(number, probe))
        base = self._rows([Row()], None)
        self._settle(base)
        if self._any_broken(base)[0]:
            for _, probe in probes[1:]:
                base = self._rows([probe] * TRIES, rng)
                self._settle(base)
                good = np.flatnonzero(~self._any_broken(base))
                if len(good):
                    return {name: cell.values[good[0]].item() for name, cell in base.items()}
            raise SchemaError(self._contradiction(0, Row()))
        return {name: cell.values[0].item() for name, cell in base.items()}

    def _started(self, probes: list[tuple[int, Row]], rng: np.random.Generator | None) -> list[bool]:
        """Whether rows that start with these cells come to rest with the cells that a rule depends on."""
        cells = self._rows([probe for _, probe in probes], rng)
        self._settle(cells)
        bad = self._any_broken(cells)
        return [
            not bad[i]
            and all(self._kept(number, name, cells[name].values[i], value) for name, value in probe.items())
            for i, (number, probe) in enumerate(probes)
        ]

    def _kept(self, number: int, name: str, now: float, started: float) -> bool:
        """Bounds may be left again; a condition, or a value of a public table, must stay."""
        return not self.rules[number].fixed(name) or bool(now == started)

    def _rows(self, probes: list[Row], rng: np.random.Generator | None) -> Cells:
        found = {}
        for name, domain in self.domains.items():
            values = self._start(domain, len(probes), rng)
            for i, probe in enumerate(probes):
                if name in probe:
                    values[i] = probe[name]
            found[name] = Cell(values, np.ones(len(probes), dtype=bool))
        return found

    def _start(self, domain: Domain, n: int, rng: np.random.Generator | None) -> NDArray[Any]:
        exact = np.int64 if domain.whole else np.float64
        if rng is None:
            return np.full(n, domain.low, dtype=exact)
        drawn = domain.low + rng.random(n) * (domain.high - domain.low + (1 if domain.whole else 0))
        return np.asarray(np.minimum(domain.down(drawn), domain.high), dtype=exact)

    def _contradiction(self, number: int, probe: Row) -> str:
        shown = " and ".join(f"{name} is {self.domains[name].shown(value)}" for name, value in probe.items())
        where = f" where {shown}" if shown and all(self.rules[number].fixed(name) for name in probe) else ""
        others = [
            str(place + 1)
            for place, rule in enumerate(self.rules)
            if place != number and set(rule.columns) & set(self.rules[number].columns)
        ]
        with_ = f"rule{'s' * (len(others) > 1)} {', '.join(others)}" if others else "the declared columns"
        return (
            f"Rule {number + 1} of the schema contradicts {with_}{where}: no row can keep them together; "
            "correct or remove one."
        )


def _domains(columns: Sequence[Column], rules: tuple[Rule, ...]) -> dict[str, Domain]:
    known = {column.name: column for column in columns}
    found = {}
    for place, rule in enumerate(rules):
        for name in rule.columns:
            where = f"Rule {place + 1} of the schema"
            if name not in known:
                raise SchemaError(
                    f"{where} names the column {name!r}, which the schema lacks; check the name."
                )
            column = known[name]
            if not column.released:
                raise SchemaError(
                    f"{where} names the column {name!r}, which is of kind {column.kind} and not released; remove it."
                )
            if column.estimate:
                raise SchemaError(
                    f"{where} names the column {name!r}, which has estimate = true; a rule needs declared bounds."
                )
            found[name] = Domain(column)
    return found
