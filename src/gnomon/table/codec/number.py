"""Numbers and dates: by their declared bounds to [-1, 1]."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.table.cells import DAY, Cells, microseconds, moments, numbers, whole_numbers
from gnomon.table.codec.base import FEW, Codec, Floats, Steps, evenly
from gnomon.table.column import Column


class NumberCodec(Codec):
    """A number, linear or on a log scale between its bounds."""

    kind = "number"
    cells_are = "numbers"

    def _prepare(self, column: Column) -> None:
        self._low, self._high = float(column.low), float(column.high)  # type: ignore[arg-type]
        self._log = (np.log1p if self._low == 0 else np.log) if column.log else None
        ends = (
            self._log(np.array([self._low, self._high])) if self._log else np.array([self._low, self._high])
        )
        # Halves before the sum, which could overflow.
        self._middle = float(ends[0] / 2 + ends[1] / 2)
        self._half = float(ends[1] - ends[0]) / 2
        self._scale = 1 / self._half

    @property
    def limits(self) -> tuple[float, float]:
        return self._low, self._high

    @property
    def arrow_type(self) -> pa.DataType:
        return pa.int64() if self.column.integer else pa.float64()

    def read(self, array: pa.Array) -> Cells:
        return numbers(array)

    def _write(self, values: NDArray[Any], out: Floats) -> None:
        row = out[0]
        with np.errstate(over="ignore", invalid="ignore"):  # infinities and NaN are cells like others
            if self._log:
                np.clip(values, self._low, self._high, out=row, dtype=np.float64)
                self._log(row, out=row)
            else:
                row[:] = values  # widened first: a ufunc that widens on the fly is three times slower
            np.subtract(row, self._middle, out=row)
            np.multiply(row, self._scale, out=row)
            np.clip(row, -1.0, 1.0, out=row)

    def steps(self) -> Steps | None:
        if not self.column.integer or self._high - self._low >= FEW:
            return None
        values = np.arange(int(self._low), int(self._high) + 1, dtype=np.float64)
        cells = np.empty((2, len(values)))
        self._write(values, cells[:1])
        self._write(values + 0.5, cells[1:])
        return Steps(cells[0], cells[1, :-1])

    def _restore(self, rows: Floats, shares: Floats | None) -> Any:
        back = np.clip(rows[0], -1.0, 1.0) * self._half + self._middle
        if self._log:
            back = np.expm1(back) if self._log is np.log1p else np.exp(back)
        if self.column.integer:
            back = np.rint(back)
        back = np.clip(back, self._low, self._high)
        return back.astype(np.int64) if self.column.integer else back


class WholeCodec(Codec):
    """Integers beyond 2^51: the distance from `low` is taken before anything is rounded to float64."""

    kind = "number"
    cells_are = "numbers"

    def _prepare(self, column: Column) -> None:
        self._low, self._high = int(column.low), int(column.high)  # type: ignore[arg-type]
        self._half = float(self._high - self._low) / 2

    @property
    def limits(self) -> tuple[float, float]:
        return self._low, self._high

    @property
    def arrow_type(self) -> pa.DataType:
        return pa.int64()

    def read(self, array: pa.Array) -> Cells:
        return whole_numbers(array)

    def _write(self, values: NDArray[Any], out: Floats) -> None:
        row = out[0]
        if values.dtype.kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):
                row[:] = np.clip((values.astype(np.float64) - self._low) / self._half - 1.0, -1.0, 1.0)
            return
        if values.dtype == np.uint64:
            values = np.minimum(values, 2**63 - 1)
        inside = np.clip(values.astype(np.int64), self._low, self._high)
        np.divide(inside - self._low, self._half, out=row)
        np.subtract(row, 1.0, out=row)

    def steps(self) -> Steps | None:
        steps = self._high - self._low
        return evenly(steps + 1) if steps < FEW else None

    def _restore(self, rows: Floats, shares: Floats | None) -> Any:
        steps = np.rint((np.clip(rows[0], -1.0, 1.0) + 1.0) * self._half).astype(np.uint64)
        return np.minimum(steps, self._high - self._low).astype(np.int64) + self._low


class DateCodec(WholeCodec):
    """A date in days, or a time in microseconds, whichever its bounds are written in."""

    kind = "date"
    cells_are = "dates"

    def _prepare(self, column: Column) -> None:
        low, high = column.low, column.high
        self._unit = 1 if isinstance(low, datetime) else DAY
        self._zone = "UTC" if isinstance(low, datetime) and low.tzinfo else None
        self._low, self._high = microseconds(low) // self._unit, microseconds(high) // self._unit  # type: ignore[arg-type]
        self._half = float(self._high - self._low) / 2

    @property
    def arrow_type(self) -> pa.DataType:
        return pa.date32() if self._unit == DAY else pa.timestamp("us", self._zone)

    def read(self, array: pa.Array) -> Cells:
        values, missing, alien = moments(array)
        return Cells(values // self._unit, missing, alien)

    def _restore(self, rows: Floats, shares: Floats | None) -> pa.Array:
        steps = np.asarray(super()._restore(rows, shares))
        return pa.array(steps.astype(np.int32) if self._unit == DAY else steps).cast(self.arrow_type)
