"""Single columns, real beside released: how far apart they are, and the shares to draw. For the custodian's eyes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.evaluation.fidelity import ONE_WAY, Codes, binned, total_variation
from gnomon.table.column import Column, value_key
from gnomon.table.domain import Domain
from gnomon.table.schema import Schema

SHOWN = 6  # of the worst columns
MOST_BARS = 20  # categories drawn; the rarest others together
CLEARLY = 0.1  # a distance from which on a column is named as one of the worst


@dataclass(frozen=True)
class ColumnLikeness:
    """One column: the total variation distance of its cells, and the shares of its bins on both sides."""

    name: str
    distance: float
    labels: tuple[str, ...]
    real: tuple[float, ...]
    released: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        bins = {"labels": list(self.labels), "real": list(self.real), "released": list(self.released)}
        return {"column": self.name, "total variation": self.distance, **bins}


def columns_compared(released: pa.Table, real: pa.Table, schema: Schema) -> tuple[ColumnLikeness, ...]:
    """Every released column, the worst first."""
    found = [_compared(released, real, column) for column in schema.released]
    return tuple(sorted(found, key=lambda column: -column.distance))


def _compared(released: pa.Table, real: pa.Table, column: Column) -> ColumnLikeness:
    codes = [binned(table, column, ONE_WAY) for table in (real, released)]
    labels = _labels(column)
    shares = [np.bincount(one, minlength=len(labels)) / len(one) for one in codes]
    order: Codes = np.array([place for place, label in enumerate(labels) if label])
    if column.kind == "category" and len(order) > MOST_BARS:
        order = np.sort(np.argsort(-(shares[0] + shares[1]), kind="stable")[:MOST_BARS])
    there = [
        place for place in order.tolist() if place < len(labels) - 1 or max(s[place] for s in shares) > 0
    ]
    kept = [tuple(float(share[place]) for place in there) for share in shares]
    names = [labels[place] for place in there]
    rest = [1 - sum(one) for one in kept]
    if max(rest) > 1e-9:
        names, kept = [*names, "others"], [(*one, r) for one, r in zip(kept, rest, strict=True)]
    return ColumnLikeness(column.name, total_variation(*codes), tuple(names), kept[0], kept[1])


def _labels(column: Column) -> list[str]:
    """What each bin holds; the last one is that of missing cells."""
    if column.kind == "category":
        return [*(value_key(value) for value in column.values), "missing"]
    domain = Domain(column)
    if column.kind == "boolean":
        return ["false", *[""] * (ONE_WAY - 2), "true", "missing"]
    ends = np.linspace(0.0, 1.0, ONE_WAY + 1)
    if column.log:
        low, high = (np.log1p(end) if domain.low == 0 else np.log(end) for end in (domain.low, domain.high))
        grown = low + ends * (high - low)
        edges = np.expm1(grown) if domain.low == 0 else np.exp(grown)
    else:
        edges = domain.low + ends * (domain.high - domain.low)
    shown = [_day(edge) if column.kind == "date" else f"{edge:.4g}" for edge in edges]
    return [*(f"{a} to {b}" for a, b in pairwise(shown)), "missing"]


def _day(microseconds: float) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=float(microseconds))).date().isoformat()
