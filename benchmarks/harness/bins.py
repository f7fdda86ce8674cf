"""A table as small whole numbers, which is what marginal-based tools take, and back.

Numbers are cut into `BINS` bins of equal width between their declared bounds (on the logarithmic scale where one is
declared); a cell at a bound has a value of its own. Whole numbers with at most as many values and categories keep
theirs; a missing cell is one value more. `BINS` is a multiple of both numbers of bins that releases are compared with,
so binning itself costs nothing there. Tables of few rows have `FEW_BINS`, which have less noise in all, and are those of
the comparison's pairs. On the way back a number is drawn uniformly within its bin, and one at a bound stays there.
Nothing is computed from the cells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from gnomon.table.column import Column
from gnomon.table.encode import Encoder, Group
from gnomon.table.schema import Schema

BINS, FEW_BINS, FEW_ROWS = 40, 8, 5_000


def of_table(rows: int) -> int:
    """The bins of a number in a table of so many rows."""
    return BINS if rows >= FEW_ROWS else FEW_BINS


class Cut(NamedTuple):
    """One column as codes: how many there are, whether they are values of their own, whether they have an order."""

    name: str
    size: int
    exact: bool
    ordered: bool


def cuts(schema: Schema, bins: int = BINS) -> list[Cut]:
    """Of every feature in the order of the schema, and of the target."""
    encoder = Encoder(schema)
    found = [_cut(schema[group.name], group, bins) for group in encoder.groups]
    target = schema.target
    if target is not None and encoder.target.is_class:
        found.append(Cut(target.name, len(encoder.classes or ()), True, False))
    elif target is not None:
        found.append(Cut(target.name, bins + 2, False, True))
    return found


def _cut(column: Column, group: Group, bins: int) -> Cut:
    missing = int(group.indicator)
    if column.kind == "boolean":
        return Cut(column.name, 2 + missing, True, False)
    if column.kind == "category":
        return Cut(column.name, len(column.values or ()) + missing, True, column.ordered)
    if column.kind == "number" and column.integer and not column.log:
        values = int(column.high - column.low) + 1  # type: ignore[operator]
        if values <= bins:
            return Cut(column.name, values + missing, True, True)
    return Cut(column.name, bins + 2 + missing, False, True)


def binned(table: pa.Table, schema: Schema, bins: int = BINS) -> pa.Table:
    """Codes from 0 as columns c0, c1, ..."""
    encoder = Encoder(schema)
    whole = table.combine_chunks()
    X, y, columns = encoder.matrix(whole), encoder.encode_target(whole), {}
    for j, cut in enumerate(cuts(schema, bins)):
        if j == len(encoder.groups):
            codes = y if encoder.target.is_class else _bin(y, bins)
        else:
            codes = _codes(X[:, encoder.groups[j].place], encoder.groups[j], cut, bins)
        columns[f"c{j}"] = np.asarray(codes, dtype=np.int64)
    return pa.table(columns)


def _codes(cells: Any, group: Group, cut: Cut, bins: int) -> Any:
    inside = cells[:, :-1] if group.indicator else cells
    values = cut.size - int(group.indicator)
    if group.kind == "one-hot":
        codes = np.argmax(inside, axis=1)
    elif cut.exact:
        codes = np.rint((inside[:, 0] + 1) / 2 * (values - 1)).astype(np.int64)
    else:
        codes = _bin(inside[:, 0], bins)
    return np.where(cells[:, -1] > 0.5, values, codes) if group.indicator else codes


def _bin(x: Any, bins: int) -> Any:
    """0 and the last code are the bounds themselves."""
    inside = 1 + np.clip(((x + 1) / 2 * bins).astype(np.int64), 0, bins - 1)
    return np.where(x <= -1, 0, np.where(x >= 1, bins + 1, inside))


def numbers(table: pa.Table, schema: Schema) -> pa.Table:
    """Every column with an order as x0, x1, ... between -1 and 1, NaN where a cell is missing."""
    encoder = Encoder(schema)
    whole = table.combine_chunks()
    X, y, columns = encoder.matrix(whole), encoder.encode_target(whole), {}
    for j, cut in enumerate(cuts(schema)):
        if cut.ordered and j == len(encoder.groups):
            columns[f"x{j}"] = y
        elif cut.ordered and encoder.groups[j].kind != "one-hot":
            cells, group = X[:, encoder.groups[j].place], encoder.groups[j]
            columns[f"x{j}"] = (
                np.where(cells[:, -1] > 0.5, np.nan, cells[:, 0]) if group.indicator else cells[:, 0]
            )
    return pa.table(columns)


def restored(made: pa.Table, schema: Schema, rng: np.random.Generator, bins: int = BINS) -> pa.Table:
    """What a peer made as a table with the columns of the schema: codes c0, c1, ..., or numbers x0, x1, ..."""
    encoder = Encoder(schema)
    n, found = made.num_rows, cuts(schema, bins)
    X, y = np.zeros((n, encoder.width)), None
    for j, cut in enumerate(found):
        target = j == len(encoder.groups)
        indicator = not target and encoder.groups[j].indicator
        values = cut.size - int(indicator)
        if f"x{j}" in made.column_names:
            cells = np.array(made[f"x{j}"].to_numpy(), dtype=np.float64)
            missing = np.isnan(cells)
            cells = np.clip(np.where(missing, 0.0, cells), -1.0, 1.0)
        else:
            code = made[f"c{j}"].to_numpy()
            missing = code >= values
            cells = _cells(code, cut, values, rng, bins)
        if target:
            y = made[f"c{j}"].to_numpy() if encoder.target.is_class else cells
            continue
        body = X[:, encoder.groups[j].place]
        if encoder.groups[j].kind == "one-hot":
            body[np.arange(n), np.minimum(made[f"c{j}"].to_numpy(), values - 1)] = 1.0
        else:
            body[:, 0] = cells
        if indicator:
            body[missing] = 0.0
            body[missing, -1] = 1.0
    return encoder.decode(X, y)


def _cells(code: Any, cut: Cut, values: int, rng: np.random.Generator, bins: int) -> Any:
    """Codes of one column between -1 and 1."""
    if cut.exact:
        return 2 * code / max(values - 1, 1) - 1
    within = 2 * (code - 1 + rng.random(len(code))) / bins - 1
    return np.where(code <= 0, -1.0, np.where(code >= bins + 1, 1.0, within))
