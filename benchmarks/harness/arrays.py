"""Rows as a user of a release would give them to a learner: numbers as they are, categories one-hot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import gnomon as gn

Floats = np.ndarray
MISSING = -1


def key(value: Any) -> str:
    """The text of a category, the same for 1, 1.0, "1" and True as the schema may write them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def codes(table: pa.Table, column: gn.Column) -> np.ndarray:
    """The places of a category's cells among its declared values; `MISSING` for no or another value."""
    cells = table[column.name].combine_chunks()
    if not pa.types.is_dictionary(cells.type):
        cells = cells.dictionary_encode()
    places = {key(value): place for place, value in enumerate(column.values)}
    other = MISSING if column.other is None else places[key(column.other)]
    of_value = [MISSING if v is None else places.get(key(v), other) for v in cells.dictionary.to_pylist()]
    found = np.array([*of_value, MISSING])[cells.indices.fill_null(len(of_value)).to_numpy()]
    if column.missing == "fill" and column.fill is not None:
        found[found == MISSING] = places[key(column.fill)]
    return found


def numbers(table: pa.Table, column: gn.Column) -> Floats:
    """The cells of a number or boolean, NaN where they are missing and the schema does not fill them."""
    cells = table[column.name].combine_chunks()
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.uint8())
    found = np.array(cells.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if column.missing == "fill" and column.fill is not None:
        found[np.isnan(found)] = float(column.fill)  # type: ignore[arg-type]
    return found


def width(column: gn.Column) -> float:
    return 1.0 if column.kind == "boolean" else float(column.high) - float(column.low)  # type: ignore[arg-type]


def middle(column: gn.Column) -> float:
    return 0.5 if column.kind == "boolean" else (float(column.low) + float(column.high)) / 2  # type: ignore[arg-type]


def columns_of(table: pa.Table, column: gn.Column) -> list[Floats]:
    """The columns that a learner sees for one declared column."""
    if column.kind == "category":
        place = codes(table, column)
        found = [(place == value).astype(np.float64) for value in range(len(column.values))]
        return [*found, (place == MISSING).astype(np.float64)] if column.missing == "indicator" else found
    cells = numbers(table, column)
    gone = np.isnan(cells)
    filled = np.where(gone, middle(column), cells)
    return [filled, gone.astype(np.float64)] if column.missing == "indicator" else [filled]


def features(table: pa.Table, schema: gn.Schema) -> Floats:
    """(n, m) cells; a release of components, which are no columns of the schema, gives these as they are."""
    declared = [column for column in schema.released if column.role is None]
    if declared[0].name not in table.column_names:
        target = schema.target.name
        return np.column_stack([table[n].to_numpy() for n in table.column_names if n != target])
    return np.column_stack([cells for column in declared for cells in columns_of(table, column)])


def target(table: pa.Table, schema: gn.Schema) -> np.ndarray:
    column = schema.target
    if column.kind == "category":
        return codes(table, column)
    return numbers(table, column)


@dataclass(frozen=True)
class Rows:
    """Features X (n, m) and target y (n,): codes of the declared classes, or numbers."""

    X: Floats
    y: np.ndarray

    @classmethod
    def of(cls, table: pa.Table, schema: gn.Schema) -> Rows:
        return cls(features(table, schema), target(table, schema))
