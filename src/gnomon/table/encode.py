"""From Arrow batches to rows in [-1, 1] and back, by the declared schema alone.

Every step works on one cell of one row, so a row is encoded the same wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gnomon.engine.base import Encodes, Engine, Kept, Progress, quiet
from gnomon.errors import DataError, ParameterError, SchemaError
from gnomon.table.base import Fragment, Source
from gnomon.table.cells import numbers
from gnomon.table.codec import Floats, codec, target_codec
from gnomon.table.codec.base import Steps
from gnomon.table.column import Scalar
from gnomon.table.mend import Mender
from gnomon.table.persons import Bounding
from gnomon.table.rows import MOST_ROWS, Layout, Loaded, Part, Rows, batch_rows, on_grid
from gnomon.table.schema import Schema
from gnomon.table.target import NO_TARGET, Target

TOO_LONG = "The table has 2^30 rows or more, past what exact integer sums hold; split it."
Values = NDArray[np.int64] | NDArray[np.float64]  # of a target: codes of classes, or numbers in [-1, 1]


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
        self.target = self._described()
        self._menders: dict[tuple[str, ...], Mender] = {}

    @property
    def layout(self) -> Layout:
        """How encoded rows are kept."""
        return Layout(self.width, self.target.is_class, self.target.is_number)

    @property
    def portable(self) -> bool:
        """Whether every machine encodes to the same bit: a logarithm may differ in the last one."""
        return not any(column.log for column in self.schema.released)

    @property
    def columns(self) -> list[str]:
        """The columns to read for `encode`."""
        return [column.name for column in self.schema.released]

    def _described(self) -> Target:
        if self._target is None:
            return NO_TARGET
        classes = self.classes
        return Target(self._target.column.name, 0 if classes is None else len(classes))

    @property
    def classes(self) -> tuple[Scalar, ...] | None:
        """The declared target values in the order of their codes."""
        if self._target is None or self._target.kind != "class":
            return None
        return (False, True) if self._target.column.kind == "boolean" else self._target.column.values

    def steps(self) -> dict[int, Steps]:
        """For columns that can have few values only: the place of the column, and the cells of its values."""
        found = {group.place.start: one.steps() for one, group in zip(self._codecs, self.groups, strict=True)}
        return {place: steps for place, steps in found.items() if steps is not None}

    def encode(self, batch: pa.RecordBatch | pa.Table, *, target: bool = True) -> Rows:
        """Rows of a batch on the integer grid; `target=False` leaves it out, for tables that lack the target."""
        cells = np.empty((self.width, batch.num_rows), dtype=np.int32)
        for one, group in zip(
            self._codecs, self.groups, strict=True
        ):  # column by column, which stays in the cache
            scratch = np.empty((one.width, batch.num_rows))
            one.encode(_column(batch, one.column.name, "column"), scratch)
            cells[group.place] = on_grid(scratch)
        found = self.encode_target(batch) if target else None
        if found is None or not self.target.is_number:
            return Rows(cells.T, None if found is None else np.asarray(found, dtype=np.int64))
        return Rows(cells.T, None, on_grid(np.asarray(found, dtype=np.float64)))

    def matrix(self, batch: pa.RecordBatch | pa.Table) -> Floats:
        """The features of a batch as numbers in [-1, 1] (n, m) with contiguous columns."""
        buffer = np.empty((self.width, batch.num_rows))
        for one, group in zip(self._codecs, self.groups, strict=True):
            one.encode(_column(batch, one.column.name, "column"), buffer[group.place])
        return buffer.T

    def encode_target(self, batch: pa.RecordBatch | pa.Table) -> Values | None:
        """The target of a batch: codes of classes, numbers in [-1, 1], or None."""
        if self._target is None:
            return None
        cells = np.empty((self._target.width, batch.num_rows))
        self._target.encode(_column(batch, self._target.column.name, "target"), cells)
        return cells[0] if self.target.is_number else np.asarray(cells[0], dtype=np.int64)

    def decode(
        self, X: Floats, y: Values | None = None, priors: Mapping[str, Sequence[float]] | None = None
    ) -> pa.Table:
        """The released columns, in the order of the schema and in their declared types.

        Numbers are clipped to their bounds, integers rounded, categories taken by their largest column.
        Rows keep the declared rules.
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
        return self.keep_rules(pa.table([found[name] for name in names], names=names))

    def keep_rules(self, table: pa.Table) -> pa.Table:
        """The table with every row changed so that it keeps those declared rules whose columns are all in it."""
        if not self.schema.rules:
            return table
        names = tuple(table.column_names)
        if names not in self._menders:
            self._menders[names] = self.schema.mender(names)
        return self._menders[names](table)

    def decode_target(self, y: Values) -> pa.Array:
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


@dataclass(frozen=True)
class RawRows:
    """Some columns of a source as they are, in parts: for what must be measured before cells can be encoded."""

    source: Source
    columns: tuple[str, ...]

    @property
    def n(self) -> int:
        return self.source.n_rows()

    def parts(self) -> Iterator[Part]:
        for batch in self.source.batches(list(self.columns), rows=batch_rows(len(self.columns))):
            yield Loaded(batch, batch.num_rows)

    def fragments(self) -> Sequence[Fragment]:
        """The same rows for workers of a cluster, where they can read them: not if cells must be converted first."""
        converted = any(name in self.source.converters for name in self.columns)
        return () if converted else self.source.fragments(self.columns)


class EncodedRows:
    """The encoded rows of a source: read and encoded once, at the first pass, and kept for the others.

    Where the schema names persons, at most so many rows of each are kept as it says.
    """

    def __init__(self, source: Source, encoder: Encoder, engine: Engine, progress: Progress = quiet) -> None:
        self._source, self._encoder, self._engine, self._progress = source, encoder, engine, progress
        self._bounding = bounding_of(encoder.schema)

    @property
    def n(self) -> int:
        return self.kept.n

    def prepare(self) -> None:
        """Read and encode now what would be read at the first pass."""
        assert self.kept is not None

    def parts(self) -> Iterator[Part]:
        return self.kept.parts()

    @cached_property
    def kept(self) -> Kept:
        """The rows as the engine wrote them."""
        found = written_once(
            self._source,
            tuple(self._encoder.columns),
            self._encoder,
            self._bounding,
            self._engine,
            self._progress,
        )
        if found.n >= MOST_ROWS:  # a private number is not asked for before
            raise DataError(TOO_LONG)
        return found


def bounding_of(schema: Schema) -> Bounding | None:
    """How the rows of a person are bounded, with a fresh key; None where the schema names no persons."""
    if schema.person is None:
        return None
    assert schema.rows_per_person is not None
    return Bounding(schema.person, schema.rows_per_person)


def written_once(
    source: Source,
    columns: tuple[str, ...],
    encoder: Encodes,
    bounding: Bounding | None,
    engine: Engine,
    progress: Progress = quiet,
) -> Kept:
    """The rows of a source, encoded in one pass; of each person as many as are used."""
    raw = RawRows(source, columns if bounding is None else (*columns, bounding.person))
    return engine.encode(raw, encoder, bounding=bounding, stage="encoding the rows", progress=progress)


@dataclass(frozen=True)
class NumberCells:
    """Number columns as they are: doubles, kept bit by bit as pairs of 32-bit cells."""

    names: tuple[str, ...]
    portable: bool = True

    @property
    def layout(self) -> Layout:
        return Layout(2 * len(self.names))

    def encode(self, batch: pa.RecordBatch) -> Rows:
        found = np.empty((batch.num_rows, len(self.names)))
        for j, name in enumerate(self.names):
            values, missing, alien = numbers(batch.column(name))
            found[:, j] = values
            for mask in (missing, alien):
                if mask is not None:
                    found[mask, j] = np.nan
        return Rows(found.view(np.int32))


@dataclass(frozen=True)
class NumberFragment:
    """Some kept rows as number columns again."""

    part: Part
    columns: tuple[str, ...]

    @property
    def rows(self) -> int:
        return self.part.rows

    def load(self) -> pa.RecordBatch:
        found = np.ascontiguousarray(self.part.load().cells).view(np.float64)
        columns = [pa.array(np.ascontiguousarray(column)) for column in found.T]
        return pa.RecordBatch.from_arrays(columns, names=list(self.columns))

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        yield self.load()


class RawNumbers:
    """Number columns before they can be encoded, of at most so many rows of a person as the schema says."""

    def __init__(self, source: Source, names: tuple[str, ...], bounding: Bounding, engine: Engine) -> None:
        self._names = names
        self._kept = written_once(source, names, NumberCells(names), bounding, engine)

    def parts(self) -> Iterator[NumberFragment]:
        return (NumberFragment(part, self._names) for part in self._kept.parts())

    def fragments(self) -> Sequence[Fragment]:
        """The same for workers of the cluster whose files these rows are in."""
        return list(self.parts())
