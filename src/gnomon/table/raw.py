"""Columns before they can be encoded: numbers without bounds, and categories that nobody declared.

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

Label = tuple[str, str]  # a column, and one of its labels as JSON


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

    def labels(self, names: tuple[str, ...]) -> LabelRows:
        """Columns without declared categories."""
        return LabelRows(RawRows(self.source, names), names)


@dataclass(frozen=True)
class LabelRows:
    """Some columns of a source in parts, for counting their labels."""

    rows: RawRows
    columns: tuple[str, ...]

    def parts(self) -> Iterator[Part]:
        return self.rows.parts()

    def distinct(self) -> tuple[Label, ...]:
        """All labels that occur, by name; private like the rows, so it goes into a query and nowhere else."""
        found: set[Label] = set()
        for part in self.parts():
            batch = part.load()
            for column in self.columns:
                found.update((column, label) for label in label_counts(batch.column(column)))
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
