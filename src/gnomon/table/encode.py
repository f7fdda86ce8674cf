"""From Arrow batches to rows in [-1, 1] and back, by the declared schema alone.

Every step works on one cell of one row, so a row is encoded the same wherever it stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.errors import DataError, ParameterError, SchemaError
from gnomon.table.codec import Floats, codec, target_codec
from gnomon.table.codec.base import Steps
from gnomon.table.column import Scalar
from gnomon.table.schema import Schema

Task = Literal["clustering", "classification", "regression"]
Target = NDArray[np.int64] | NDArray[np.float64]


class Rows(NamedTuple):
    """X (n, m) in [-1, 1] with contiguous columns; y the codes of classes, or numbers in [-1, 1], or None."""

    X: Floats
    y: Target | None

    @property
    def codes(self) -> NDArray[np.int64]:
        """The target as codes of classes."""
        return np.asarray(self.y, dtype=np.int64)

    @property
    def numbers(self) -> Floats:
        """The target as numbers in [-1, 1]."""
        return np.asarray(self.y, dtype=np.float64)


class Group(NamedTuple):
    """The columns X[:, place] that one released feature fills, the last of them its indicator, if any."""

    name: str
    kind: str  # "number", "date", "boolean", "ordered" or "one-hot"
    place: slice
    indicator: bool


class Encoder:
    """The public map between the declared columns and the matrix that methods work on."""

    def __init__(self, schema: Schema) -> None:
        if schema.estimated:
            raise SchemaError(
                f"The column {schema.estimated[0].name!r} has estimate = true and no bounds yet; estimate "
                "them from the release's budget first, or declare low and high."
            )
        if not schema.features:
            raise SchemaError(
                "The schema has no released column beside its target; declare at least one feature."
            )
        self.schema = schema
        self._codecs = [codec(column) for column in schema.features]
        ends = np.cumsum([0, *(one.width for one in self._codecs)]).tolist()
        self.groups: tuple[Group, ...] = tuple(
            Group(one.column.name, one.kind, slice(start, end), one.indicator)
            for one, start, end in zip(self._codecs, ends, ends[1:], strict=False)
        )
        self.width: int = ends[-1]
        self.feature_names: tuple[str, ...] = tuple(name for one in self._codecs for name in one.names)
        self._target = None if schema.target is None else target_codec(schema.target)

    @property
    def columns(self) -> list[str]:
        """The columns to read for `encode`."""
        return [column.name for column in self.schema.released]

    @property
    def task(self) -> Task:
        """What the declared target asks for."""
        if self._target is None:
            return "clustering"
        return "classification" if self._target.kind == "class" else "regression"

    @property
    def classes(self) -> tuple[Scalar, ...] | None:
        """The declared target values in the order of their codes."""
        if self.schema.target is None or self.task != "classification":
            return None
        return (False, True) if self.schema.target.kind == "boolean" else self.schema.target.values

    def steps(self) -> dict[int, Steps]:
        """For columns that can have few values only: the place of the column, and the cells of its values."""
        found = {group.place.start: one.steps() for one, group in zip(self._codecs, self.groups, strict=True)}
        return {place: steps for place, steps in found.items() if steps is not None}

    def encode(self, batch: pa.RecordBatch | pa.Table, *, target: bool = True) -> Rows:
        """Rows of a batch; `target=False` leaves y out, for tables that lack the target."""
        buffer = np.empty((self.width, batch.num_rows))
        for one, group in zip(self._codecs, self.groups, strict=True):
            one.encode(_column(batch, one.column.name, "column"), buffer[group.place])
        return Rows(buffer.T, self._encode_target(batch) if target else None)

    def _encode_target(self, batch: pa.RecordBatch | pa.Table) -> Target | None:
        if self._target is None:
            return None
        cells = np.empty((self._target.width, batch.num_rows))
        self._target.encode(_column(batch, self._target.column.name, "target"), cells)
        return cells[0] if self.task == "regression" else np.asarray(cells[0], dtype=np.int64)

    def decode(
        self, X: Floats, y: Target | None = None, priors: Mapping[str, Sequence[float]] | None = None
    ) -> pa.Table:
        """The released columns, in the order of the schema and in their declared types.

        Numbers are clipped to their bounds, integers rounded, categories taken by their largest column.
        `priors` gives, for some category or boolean columns, the shares that the decoded values shall have
        (for a boolean, of false and true).
        """
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.width or not np.isfinite(X).all():
            raise ParameterError(
                f"The 'X' parameter of decode must be finite numbers of shape (n, {self.width}). "
                f"Got the shape {X.shape} instead."
            )
        priors = priors or {}
        found = {
            one.column.name: one.decode(X[:, group.place].T, priors.get(one.column.name))
            for one, group in zip(self._codecs, self.groups, strict=True)
        }
        if y is not None:
            found.update(self._decode_target(np.asarray(y), len(X)))
        names = [name for name in self.columns if name in found]
        return pa.table([found[name] for name in names], names=names)

    def decode_target(self, y: Target) -> pa.Array:
        """The target column alone, from codes or numbers."""
        return next(iter(self._decode_target(np.asarray(y), len(y)).values()))

    def _decode_target(self, y: NDArray[Any], n: int) -> dict[str, pa.Array]:
        if self._target is None:
            raise ParameterError(
                "The 'y' parameter of decode must be left out, because the schema has no target."
            )
        if y.shape != (n,):
            raise ParameterError(
                f"The 'y' parameter of decode must have the shape ({n},). Got {y.shape} instead."
            )
        if self.classes is not None and y.size and not (y.min() >= 0 and y.max() < len(self.classes)):
            raise ParameterError(
                f"The 'y' parameter of decode must hold codes of the {len(self.classes)} classes, from 0."
            )
        return {self._target.column.name: self._target.decode(y[None, :].astype(np.float64))}


def _column(batch: pa.RecordBatch | pa.Table, name: str, role: str) -> pa.Array:
    if batch.schema.get_field_index(name) < 0:
        raise DataError(
            f"The table has no {role} {name!r}; add it to the table, or change the schema (kind or role)."
        )
    return batch.column(name)
