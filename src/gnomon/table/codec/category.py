"""Booleans and categories, as features (points of [-1, 1] or one-hot) and as classes (codes)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.table.calibrate import assign, cut
from gnomon.table.cells import UNKNOWN, Cells, codes, flags, value_lookup
from gnomon.table.codec.base import Codec, Floats, Steps, either, evenly
from gnomon.table.column import Column, value_key


class FlagCodec(Codec):
    """A boolean as -1 and 1."""

    kind = "boolean"
    cells_are = "true or false"

    @property
    def arrow_type(self) -> pa.DataType:
        return pa.bool_()

    def read(self, array: pa.Array) -> Cells:
        return flags(array)

    def _default(self) -> pa.Array:
        return pa.array([False])

    def _write(self, values: NDArray[Any], out: Floats) -> None:
        np.multiply(values, 2.0, out=out[0])
        np.subtract(out[0], 1.0, out=out[0])

    def _categories(self) -> int:
        return 2

    def steps(self) -> Steps | None:
        return evenly(2)

    def _restore(self, rows: Floats, shares: Floats | None) -> Any:
        return rows[0] > 0 if shares is None else cut(rows[0], shares) == 1


class _CategoryCodec(Codec):
    cells_are = "categories"

    def _prepare(self, column: Column) -> None:
        self._lookup = value_lookup(column.values)
        self._other = UNKNOWN if column.other is None else self._lookup[value_key(column.other)]
        self._values = pa.array(column.values, self.arrow_type)

    @property
    def arrow_type(self) -> pa.DataType:
        if any(isinstance(value, float) for value in self.column.values):
            return pa.float64()
        return pa.array(self.column.values).type

    def read(self, array: pa.Array) -> Cells:
        return codes(array, self._lookup)

    def settled(self, cells: Cells) -> Cells:
        """A category that the schema lacks becomes `other`, or is missing where none is declared."""
        unknown = cells.values == UNKNOWN
        if self._other == UNKNOWN:
            return Cells(
                np.maximum(cells.values, 0), either(cells.missing, unknown if unknown.any() else None)
            )
        return Cells(np.where(unknown, self._other, cells.values), cells.missing)

    def _default(self) -> pa.Array:
        return self._values[:1]

    def _categories(self) -> int:
        return len(self.column.values)


class OrderedCodec(_CategoryCodec):
    """An ordered category as evenly spaced points of [-1, 1] (0 where there is only one)."""

    kind = "ordered"

    def _write(self, values: NDArray[Any], out: Floats) -> None:
        steps = max(len(self.column.values) - 1, 1)
        np.divide(2 * values - (len(self.column.values) - 1), steps, out=out[0])

    def steps(self) -> Steps | None:
        return evenly(len(self.column.values))

    def _restore(self, rows: Floats, shares: Floats | None) -> pa.Array:
        steps = len(self.column.values) - 1
        found = np.rint((np.clip(rows[0], -1.0, 1.0) + 1.0) * (steps / 2)).astype(np.int64)
        return self._values.take(pa.array(found if shares is None else cut(rows[0], shares)))


class OneHotCodec(_CategoryCodec):
    """An unordered category as one 0/1 row per value."""

    kind = "one-hot"

    @property
    def labels(self) -> list[str]:
        return [f"{self.column.name}={value_key(value)}" for value in self.column.values]

    def _write(self, values: NDArray[Any], out: Floats) -> None:
        out[:] = 0.0
        out[values, np.arange(len(values))] = 1.0

    def _restore(self, rows: Floats, shares: Floats | None) -> pa.Array:
        return self._values.take(
            pa.array(np.argmax(rows, axis=0) if shares is None else assign(rows, shares))
        )


class ClassCodec(_CategoryCodec):
    """A target category as its code; it is not scaled, because classes are counted and never added."""

    kind = "class"

    def _write(self, values: NDArray[Any], out: Floats) -> None:
        out[0] = values

    def _restore(self, rows: Floats, shares: Floats | None) -> pa.Array:
        return self._values.take(pa.array(rows[0].astype(np.int64)))


class FlagClassCodec(FlagCodec):
    """A boolean target as its code: 0 for false, 1 for true."""

    kind = "class"

    def _write(self, values: NDArray[Any], out: Floats) -> None:
        out[0] = values

    def _restore(self, rows: Floats, shares: Floats | None) -> Any:
        return rows[0] > 0.5
