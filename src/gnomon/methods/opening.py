"""From what a caller gives to a source and a schema: public checks only, and which target and task apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gnomon.errors import DataError, ParameterError, columns_instead
from gnomon.privacy.guarantee import Adjacency, Guarantee, Unit, auto_delta, declared
from gnomon.table.base import Source
from gnomon.table.column import Column
from gnomon.table.encode import TOO_LONG, Encoder
from gnomon.table.frames import as_array, eager_frame, refuse_sparse
from gnomon.table.rows import MOST_ROWS
from gnomon.table.schema import Schema
from gnomon.table.source import open_source, with_names
from gnomon.table.target import Task

TASKS = ("clustering", "classification", "regression")


class Asked(Protocol):
    """The parameters of a method that say which table it is for."""

    schema: Schema | None
    bounds: Any
    target: str | None
    task: Task | None
    classes: Any
    target_bounds: Any


@dataclass(frozen=True)
class Opened:
    """A table that a method may release: nothing of it has been read."""

    source: Source
    schema: Schema


def open_table(method: Asked, X: Any, y: Any) -> Opened:
    """Nothing here looks at a cell."""
    _known_task(method)
    refuse_sparse(X)
    schema, X = method.schema, as_array(X)
    frame = eager_frame(X) if schema is None else None
    if isinstance(X, np.ndarray) and schema is None:
        schema = _schema_of_arrays(method, X, y)
    elif frame is not None and method.bounds is not None:
        # a frame of numbers within bounds is released as an array is, and keeps the names of its columns
        schema = _schema_of_arrays(method, np.empty((0, len(frame.columns))), y)
        schema = schema.with_feature_names(frame.columns)
    elif schema is None:
        raise ParameterError(
            f"{type(method).__name__} needs a schema for this table; "
            "draft one with 'gnomon init', or give bounds=(low, high) for an array or a frame of numbers."
        )
    else:
        schema = declared_schema(method, X)
    source = open_source(X, y if schema.target is not None else None, schema=schema)
    present = set(source.names)
    needed = [column.name for column in schema.released]
    for name in needed if schema.person is None else [*needed, schema.person]:
        if name not in present:
            instead = columns_instead(name, source.names)
            raise DataError(f"The table lacks the column {name!r} that the schema declares; {instead}")
    return Opened(source, schema)


def declared_schema(method: Asked, table: Any = None) -> Schema:
    """The schema that a method uses for a table: its target and task applied. The one place where they are decided."""
    if method.schema is None:
        raise ParameterError(f"{type(method).__name__} needs a schema; draft one with 'gnomon init'.")
    _known_task(method)
    schema = method.schema if isinstance(method.schema, Schema) else Schema.load(method.schema)
    if table is not None:
        schema = with_names(schema, table)
    if method.task == "clustering" and method.target is not None:
        raise ParameterError(
            f"The task is clustering, which has no target, but {method.target!r} is named as one; leave out one of the two."
        )
    if method.target is not None:
        return schema.with_target(method.target)
    return schema.with_target(None) if method.task == "clustering" else schema


def named_neighbours(unit: str, adjacency: str) -> tuple[Unit, Adjacency]:
    """What is protected against which change, by their names."""
    try:
        return Unit(unit), Adjacency(adjacency)
    except ValueError:
        raise ParameterError(
            "The 'unit' must be 'row' or 'attribute', and the 'adjacency' 'replace-one' or 'add-remove'."
        ) from None


def promised(
    schema: Schema | None,
    epsilon: float,
    delta: float | str,
    *,
    unit: Unit = Unit.ROW,
    adjacency: Adjacency,
    rows: int | None = None,
) -> Guarantee:
    """The guarantee of a release: a schema that names persons protects each with all rows, and keeps n private.

    A delta of "auto" follows from `rows` where their number is public.
    """
    persons = schema is not None and schema.person is not None
    if isinstance(delta, str):
        private = persons or adjacency is Adjacency.ADD_REMOVE
        delta = _auto(delta, None if private else rows)
    if schema is None or schema.person is None:
        return declared(epsilon, delta, unit=unit, adjacency=adjacency)
    if unit is Unit.ATTRIBUTE:
        raise ParameterError(
            f"The schema names persons by {schema.person!r}, so all rows of one are protected, not one attribute; "
            "remove person from the schema, or ask for the unit row."
        )
    assert schema.rows_per_person is not None
    most = schema.rows_per_person
    return declared(epsilon, delta, unit=Unit.PERSON, adjacency=Adjacency.ADD_REMOVE, rows=most)


def _auto(delta: str, rows: int | None) -> float:
    if delta != "auto":
        raise ParameterError(f"The 'delta' parameter must be 'auto' or in [0, 1). Got {delta!r} instead.")
    return auto_delta(rows)


def magnitude(schema: Schema, expected: int | None = None) -> int:
    """The public order of magnitude of a private number of rows, which nothing may be read for."""
    if expected is not None:
        if (
            isinstance(expected, bool)
            or not isinstance(expected, int | np.integer)
            or not 1 <= expected <= MOST_ROWS
        ):
            raise ParameterError(
                f"The 'expected_rows' parameter must be a whole number from 1 to {MOST_ROWS}. Got {expected!r} instead."
            )
        return int(expected)
    if schema.rows is None:
        raise ParameterError(
            "The number of rows is private, so its public order of magnitude must be declared; write rows = ... into the "
            "[table] of the schema, or for arrays give expected_rows=..."
        )
    return schema.rows


def _known_task(method: Asked) -> None:
    if method.task is not None and method.task not in TASKS:
        raise ParameterError(
            f"The 'task' parameter of {type(method).__name__} must be 'clustering', 'classification' or 'regression'. "
            f"Got {method.task!r} instead."
        )


def check_task(method: Asked, encoder: Encoder) -> None:
    """Refuse a task that the declared target does not pose."""
    target, asked = encoder.target, method.task
    if asked in ("classification", "regression") and target.task != asked:
        column = encoder.schema.target
        if column is None:
            raise ParameterError(
                f"The task is {asked} but no target is declared; "
                'give target=... or role = "target" in the schema.'
            )
        raise ParameterError(
            f"The task is {asked} but the target {column.name!r} is declared as {column.kind}; "
            "change its kind in the schema or the task."
        )
    if target.is_class and target.classes < 2:
        raise ParameterError(
            "The target has one class only; declare at least two values for it in the schema."
        )


def public_rows(source: Source) -> int:
    """The number of rows where it is public; a release needs two."""
    n = source.n_rows()
    if n < 2:
        raise DataError(
            f"The table has {n} row{'' if n == 1 else 's'} (n_samples={n}); a release needs at least 2."
        )
    if n >= MOST_ROWS:
        raise DataError(TOO_LONG)
    return n


def _schema_of_arrays(method: Asked, X: npt.NDArray[Any], y: Any) -> Schema:
    """Bounds and classes as they are declared; nothing is taken from the cells, of which only the type is looked at."""
    who = type(method).__name__
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, rows and columns, got {X.ndim}D instead. Reshape your data, for one column by "
            "X.reshape(-1, 1)."
        )
    if X.shape[1] == 0:
        raise DataError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if method.bounds is None:
        raise ParameterError(
            f"{who} needs bounds=(low, high) to be declared for an array; "
            "bounds taken from the data would not be private."
        )
    features = Schema.of_arrays(X.shape[1], method.bounds)
    if y is None or method.task == "clustering":
        return features
    task = method.task
    if task is None:
        regression = method.target_bounds is not None or np.asarray(y).dtype.kind == "f"
        task = "regression" if regression and method.classes is None else "classification"
    if task == "regression":
        if method.target_bounds is None:
            raise ParameterError(
                f"{who} needs target_bounds=(low, high) to be declared for a regression target; "
                "bounds taken from the data would not be private."
            )
        return Schema.of_arrays(X.shape[1], method.bounds, target_bounds=method.target_bounds)
    if method.classes is None:
        raise ParameterError(
            f"{who} needs the classes of y to be declared, as in classes=[0, 1], because labels taken from y would not be "
            "private; or pass classes='private' to pay for a private selection of them, which needs delta above 0."
        )
    if isinstance(method.classes, str):
        if method.classes != "private":
            raise ParameterError(
                f"The 'classes' parameter of {who} must be a list of classes or 'private'. Got {method.classes!r} instead."
            )
        target = Column(name="y", kind="category", estimate=True, role="target")
        return Schema(name=features.name, columns=(*features.columns, target))
    return Schema.of_arrays(X.shape[1], method.bounds, classes=list(method.classes))
