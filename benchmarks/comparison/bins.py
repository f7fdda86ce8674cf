"""A table as small whole numbers, which is what marginal-based tools take, and back.

Numbers are cut into `BINS` bins of equal width between their declared bounds (on the logarithmic scale where one is
declared), whole numbers with at most as many values and categories keep theirs; a missing cell is one value more. On the
way back a number is drawn uniformly within its bin. Nothing is computed from the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gnomon.evaluation.sides import Side
from gnomon.table.column import Column
from gnomon.table.encode import Encoder, Group
from gnomon.table.schema import Schema

BINS = 16


class Cut(NamedTuple):
    """One column as codes: how many there are, whether they are values of their own, whether they have an order."""

    name: str
    size: int
    exact: bool
    ordered: bool


def cuts(schema: Schema) -> list[Cut]:
    """Of every feature in the order of the schema, and of the target."""
    encoder = Encoder(schema)
    found = [_cut(schema[group.name], group) for group in encoder.groups]
    target = schema.target
    if target is not None and encoder.task == "classification":
        found.append(Cut(target.name, len(encoder.classes or ()), True, False))
    elif target is not None:
        found.append(Cut(target.name, BINS, False, True))
    return found


def _cut(column: Column, group: Group) -> Cut:
    missing = int(group.indicator)
    if column.kind == "boolean":
        return Cut(column.name, 2 + missing, True, False)
    if column.kind == "category":
        return Cut(column.name, len(column.values or ()) + missing, True, column.ordered)
    if column.kind == "number" and column.integer and not column.log:
        values = int(column.high - column.low) + 1  # type: ignore[operator]
        if values <= BINS:
            return Cut(column.name, values + missing, True, True)
    return Cut(column.name, BINS + missing, False, True)


def binned(table: pa.Table, schema: Schema) -> pa.Table:
    """Codes from 0 as columns c0, c1, ..."""
    encoder = Encoder(schema)
    rows = encoder.encode(table.combine_chunks())
    columns = {}
    for j, cut in enumerate(cuts(schema)):
        if j == len(encoder.groups):
            codes = rows.y if encoder.task == "classification" else _floor(rows.numbers, BINS)
        else:
            codes = _codes(rows.X[:, encoder.groups[j].place], encoder.groups[j], cut)
        columns[f"c{j}"] = np.asarray(codes, dtype=np.int64)
    return pa.table(columns)


def _codes(cells: Any, group: Group, cut: Cut) -> Any:
    inside = cells[:, :-1] if group.indicator else cells
    values = cut.size - int(group.indicator)
    if group.kind == "one-hot":
        codes = np.argmax(inside, axis=1)
    elif cut.exact:
        codes = np.rint((inside[:, 0] + 1) / 2 * (values - 1)).astype(np.int64)
    else:
        codes = _floor(inside[:, 0], values)
    return np.where(cells[:, -1] > 0.5, values, codes) if group.indicator else codes


def _floor(x: Any, bins: int) -> Any:
    return np.clip(((x + 1) / 2 * bins).astype(np.int64), 0, bins - 1)


def restored(codes: pa.Table, schema: Schema, rng: np.random.Generator) -> Side:
    """Codes as a table with the columns of the schema, and encoded."""
    encoder = Encoder(schema)
    n, found = codes.num_rows, cuts(schema)
    X = np.zeros((n, encoder.width))
    for j, group in enumerate(encoder.groups):
        code, cut = codes[f"c{j}"].to_numpy(), found[j]
        values = cut.size - int(group.indicator)
        missing = code >= values
        body = X[:, group.place]
        if group.kind == "one-hot":
            body[np.arange(n), np.minimum(code, values - 1)] = 1.0
        elif cut.exact:
            body[:, 0] = 2 * code / max(values - 1, 1) - 1
        else:
            body[:, 0] = 2 * (code + rng.random(n)) / values - 1
        if group.indicator:
            body[missing] = 0.0
            body[missing, -1] = 1.0
    y: Any = None
    if schema.target is not None:
        y = codes[f"c{len(encoder.groups)}"].to_numpy()
        if encoder.task == "regression":
            y = 2 * (y + rng.random(n)) / BINS - 1
    table = encoder.decode(X, y)
    rows = encoder.encode(table.combine_chunks())
    return Side(table, np.ascontiguousarray(rows.X), rows.y)
