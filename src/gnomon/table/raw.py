"""Columns before they can be encoded: numbers without bounds, and labels that nobody declared.

Both are private until a paid measurement has found bounds for the numbers, or selected some of the labels.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gnomon.engine.base import Engine
from gnomon.table.base import Source
from gnomon.table.cells import value_counts
from gnomon.table.encode import RawNumbers, RawRows, bounding_of
from gnomon.table.rows import Part, RowSource
from gnomon.table.schema import Schema


@dataclass(frozen=True)
class RawTable:
    """A table whose schema leaves something open, as far as paid estimates need it."""

    source: Source
    schema: Schema
    engine: Engine

    def numbers(self, names: tuple[str, ...]) -> RowSource:
        """Number columns, of at most so many rows of a person as the schema says."""
        bounding = bounding_of(self.schema)
        if bounding is None:
            return RawRows(self.source, names)
        return RawNumbers(self.source, names, bounding, self.engine)

    def labels(self, name: str) -> LabelRows:
        """The column of a target without declared classes."""
        return LabelRows(RawRows(self.source, (name,)), name)


@dataclass(frozen=True)
class LabelRows:
    """One column of a source in parts, for counting its labels."""

    rows: RawRows
    column: str

    def parts(self) -> Iterator[Part]:
        return self.rows.parts()

    def distinct(self) -> tuple[str, ...]:
        """All labels that occur, by name; private like the rows, so it goes into a query and nowhere else."""
        found: set[str] = set()
        for part in self.parts():
            found.update(label_counts(part.load().column(self.column)))
        return tuple(sorted(found))


def label_counts(array: pa.Array) -> Counter[str]:
    """How often each label occurs, as JSON; a missing cell is none."""
    found = Counter[str]()
    for value, count in value_counts(array):
        label = _label(value)
        if label is not None:
            found[label] += count
    return found


def _label(value: Any) -> str | None:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    fits = isinstance(value, bool | float | str) or (isinstance(value, int) and abs(value) < 2**63)
    return json.dumps(value if fits else str(value))
