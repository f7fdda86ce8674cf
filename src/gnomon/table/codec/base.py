"""What every codec shares: the rows it fills, and one rule by which any cell becomes a valid one.

Whether there is a release must not depend on a cell, so encoding refuses none. A number or date out of bounds is clipped.
A cell that is not of the declared kind, or a category that the schema lacks, becomes `other` where that is declared, and
is missing otherwise. A missing cell has an indicator, the declared fill, or the default fill: the middle of the bounds on
the column's own scale, false, or the first declared category. All of these are public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.table.cells import Cells, Mask
from gnomon.table.column import Column

Floats = NDArray[np.float64]
FEW = 4_096  # values that can be listed


class Steps(NamedTuple):
    """Cells of all k values of a column in order, and the k - 1 cells between them."""

    values: Floats
    borders: Floats


def evenly(values: int) -> Steps:
    """The steps of so many values that are evenly spaced between the bounds; a single one is in the middle."""
    if values == 1:
        return Steps(np.zeros(1), np.zeros(0))
    ends = np.linspace(-1.0, 1.0, 2 * values - 1)
    return Steps(ends[::2], ends[1::2])


def either(one: Mask | None, other: Mask | None) -> Mask | None:
    """Where one mask or the other is set."""
    return one if other is None else other if one is None else one | other


class Codec(ABC):
    """How one column becomes `width` rows of a matrix and comes back.

    A missing cell becomes what its fill becomes, or 0 with a 1 in one more row (indicator).
    """

    kind: ClassVar[str]
    cells_are: ClassVar[str]  # for sentences about alien cells

    def __init__(self, column: Column) -> None:
        self.column = column
        self.indicator = column.missing == "indicator"
        self._prepare(column)
        self._filled: Floats = np.zeros((self.width, 1))
        if not self.indicator:
            self.encode(self.fill, self._filled)

    def _prepare(self, column: Column) -> None:  # noqa: B027  # a kind without constants needs none
        """Set the constants that the declared column fixes."""

    @property
    def fill(self) -> pa.Array:
        """The value of a missing cell, declared or by default: one that the column can have, known without the rows."""
        return self._default() if self.column.fill is None else pa.array([self.column.fill])

    def _default(self) -> pa.Array:
        """The middle of the bounds, on the scale on which the column is encoded."""
        return self._array(self._restore(np.zeros((1, 1)), None))

    @property
    def labels(self) -> list[str]:
        """Names of the rows without the indicator."""
        return [self.column.name]

    @property
    def names(self) -> list[str]:
        return [*self.labels, f"{self.column.name} (missing)"] if self.indicator else self.labels

    @property
    def width(self) -> int:
        return len(self.labels) + self.indicator

    @property
    def limits(self) -> tuple[float, float] | None:
        """The bounds on the scale of `read`, for kinds that have them."""
        return None

    def steps(self) -> Steps | None:
        """Of kinds and bounds that leave few values: their cells, and where decoding goes over from one to the next."""
        return None

    def cells(self, values: Sequence[float]) -> Floats:
        """The cells of public values of a column that fills one row, such as atoms."""
        found = np.zeros((1, len(values)))
        self._write(np.asarray(values), found)
        return np.asarray(found[0])

    @property
    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The type of the decoded column."""

    @abstractmethod
    def read(self, array: pa.Array) -> Cells:
        """The cells as numbers of the column's own scale, or as codes."""

    @abstractmethod
    def _write(self, values: NDArray[Any], out: Floats) -> None:
        """Encode values (n,) into out (width without indicator, n)."""

    @abstractmethod
    def _restore(self, rows: Floats, shares: Floats | None) -> Any:
        """Values of `arrow_type` from rows (width without indicator, n)."""

    def settled(self, cells: Cells) -> Cells:
        """Cells of which none is alien: by the policy, what is not of the declared kind is missing."""
        return Cells(cells.values, either(cells.missing, cells.alien))

    def encode(self, array: pa.Array, out: Floats) -> None:
        """Encode a column of n cells into out (width, n); no cell is refused."""
        values, missing, _ = self.settled(self.read(array))
        body = out[:-1] if self.indicator else out
        self._write(values, body)
        # The largest of numbers is a NaN exactly where one of them is, and finding it is one fast pass.
        if values.dtype.kind == "f" and np.isnan(body[0].max(initial=-1.0)):
            missing = either(missing, np.isnan(body[0]))
        if self.indicator:
            out[-1] = 0.0 if missing is None else missing
        if missing is not None:
            body[:, missing] = 0.0 if self.indicator else self._filled

    def decode(self, rows: Floats, shares: Sequence[float] | None = None) -> pa.Array:
        """The column from rows (width, n); `shares` are those that the categories should have."""
        wanted = None if shares is None else self._shares(shares)
        if not self.indicator:
            return self._array(self._restore(rows, wanted))
        missing = rows[-1] > 0.5  # the others alone have the shares
        there = self._array(self._restore(rows[:-1, ~missing], wanted))
        return there.take(pa.array(np.cumsum(~missing) - 1, mask=missing))

    def _array(self, restored: Any) -> pa.Array:
        return restored if isinstance(restored, pa.Array) else pa.array(restored).cast(self.arrow_type)

    def _shares(self, shares: Sequence[float]) -> Floats:
        given = np.asarray(shares, dtype=np.float64)
        wanted = self._categories()
        if wanted == 0 or given.shape != (wanted,) or not (given >= 0).all() or not 0 < given.sum() < np.inf:
            raise ParameterError(
                f"The priors of column {self.column.name!r} must be {wanted} shares, none negative; "
                "a number or a date takes none."
            )
        return given

    def _categories(self) -> int:
        return 0
