"""The values that a declared column can have, as numbers on its own scale: codes, numbers, or microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.errors import SchemaError
from gnomon.table.cells import DAY, codes, flags, microseconds, moments, numbers, value_lookup, whole_numbers
from gnomon.table.column import Column, Scalar, value_key

Number = int | float


@dataclass
class Cell:
    """The cells of a column: their values (those of missing cells mean nothing), and which are there."""

    values: NDArray[Any]
    there: NDArray[np.bool_]


@dataclass(frozen=True)
class Domain:
    """One declared column with known bounds or categories."""

    column: Column

    @cached_property
    def _lookup(self) -> dict[str, int]:
        return value_lookup(self.column.values)

    @property
    def _days(self) -> bool:
        return self.column.kind == "date" and not isinstance(self.column.low, datetime)

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are values."""
        return self.column.kind != "number" or self.column.integer

    @cached_property
    def low(self) -> Number:
        kind = self.column.kind
        return 0 if kind in ("category", "boolean") else self._number(self.column.low)

    @cached_property
    def high(self) -> Number:
        kind = self.column.kind
        if kind == "category":
            return len(self.column.values) - 1
        return 1 if kind == "boolean" else self._number(self.column.high)

    def _number(self, value: Any) -> Number:
        if isinstance(value, date):
            return microseconds(value)
        return int(value) if self.whole else float(value)

    def of(self, value: Scalar, where: str) -> Number:
        """A declared value as a number; text serves for any kind, as keys and files have nothing else."""
        found = self._found(value)
        if found is None or not self.low <= found <= self.high:
            raise SchemaError(
                f"{where} names {value!r}, which is no declared value of {self.column.name!r}; correct one of them."
            )
        return found

    def _found(self, value: Scalar) -> Number | None:
        kind = self.column.kind
        if kind == "category":
            return self._lookup.get(value_key(value))
        if kind == "boolean":
            return {"true": 1, "false": 0, "1": 1, "0": 0}.get(value_key(value).lower())
        try:
            if kind == "date":
                return microseconds(_moment(value, self.column.low))
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return None
        if isinstance(value, bool) or number != number or (self.whole and not number.is_integer()):
            return None
        return (value if isinstance(value, int) else int(number)) if self.whole else number

    def shown(self, value: Number) -> str:
        """A value as a sentence says it."""
        if self.column.kind == "category":
            return repr(self.column.values[int(value)])
        if self.column.kind == "boolean":
            return "true" if value else "false"
        return f"{value:g}"

    def up(self, value: Any) -> Any:
        """The nearest value of the column that is not below."""
        if self._days:
            return -(-value // DAY) * DAY
        return np.ceil(value) if self.whole else value

    def down(self, values: NDArray[Any]) -> NDArray[Any]:
        """The nearest values of the column that are not above."""
        if self._days:
            return np.asarray(values // DAY * DAY)
        return np.floor(values) if self.whole else values

    def read(self, array: pa.Array) -> Cell:
        """Cells that gnomon decoded, so that none is alien."""
        kind = self.column.kind
        if kind == "category":
            cells = codes(array, self._lookup)
        elif kind == "boolean":
            cells = flags(array)
        elif kind == "date":
            cells = moments(array)
        else:
            cells = whole_numbers(array) if self.column.integer else numbers(array)
        there = np.ones(len(array), dtype=bool)
        for mask in (cells.missing, cells.alien):
            if mask is not None:
                there &= ~mask
        if cells.values.dtype.kind == "f":  # a missing number may be a NaN
            there &= ~np.isnan(cells.values)
        exact = np.int64 if self.whole else np.float64
        return Cell(np.nan_to_num(cells.values).astype(exact), there)

    def write(self, cell: Cell, kind: pa.DataType) -> pa.Array:
        """An Arrow array of the type that the column had."""
        absent = ~cell.there
        if self.column.kind == "category":
            declared = pa.array(list(self.column.values)).cast(kind)
            return declared.take(pa.array(cell.values, mask=absent))
        values = cell.values
        if self.column.kind == "boolean":
            values = values.astype(bool)
        elif self._days:
            values = (values // DAY).astype(np.int32)
        return pa.array(values, mask=absent).cast(kind)


Domains = Mapping[str, Domain]


def _moment(given: Any, like: Any) -> date:
    """A date or time of the kind that the bounds are written in."""
    if isinstance(given, str):
        given = date.fromisoformat(given) if len(given) <= 10 else datetime.fromisoformat(given)
    if not isinstance(given, date) or (isinstance(given, datetime) and not isinstance(like, datetime)):
        raise TypeError
    if not isinstance(like, datetime):
        return given
    time = given if isinstance(given, datetime) else datetime(given.year, given.month, given.day)
    return time.replace(tzinfo=UTC) if like.tzinfo is not None and time.tzinfo is None else time
