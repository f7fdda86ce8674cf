"""One function for every table: a path, a frame, an Arrow object, a query or an array becomes a `Source`."""

from __future__ import annotations

import sys
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from gnomon.errors import DataError
from gnomon.table.base import BATCH_ROWS, Source, reading
from gnomon.table.convert import converters
from gnomon.table.expressions import ibis_table
from gnomon.table.file_types import open_file
from gnomon.table.files import CsvSource
from gnomon.table.form import PLAIN
from gnomon.table.frames import (
    ArraySource,
    ArrowSource,
    DuckdbSource,
    FrameSource,
    PolarsLazySource,
    StreamSource,
    as_array,
    beside,
    eager_frame,
    refuse_sparse,
)
from gnomon.table.lakes import lake_table
from gnomon.table.schema import Schema

__all__ = ["BATCH_ROWS", "Source", "open_source", "with_names"]


def open_source(data: Any, y: Any = None, schema: Schema | None = None) -> Source:
    """The stream of Arrow batches behind `data`.

    `schema` tells a CSV which columns are numbers and names the columns of an array, whose target is `y`.
    """
    source = data if isinstance(data, Source) else _opened(data, y, schema)
    if schema is not None:
        form = source.text_form if isinstance(source, CsvSource) else PLAIN
        source.converters = converters(schema.expand(source.names), form)
    return source


def _opened(data: Any, y: Any, schema: Schema | None) -> Source:
    if isinstance(data, tuple) and len(data) == 2 and y is None:
        data, y = data
    refuse_sparse(data)
    data = as_array(data)
    if isinstance(data, np.ndarray):
        return ArraySource(data, y, schema)
    if y is not None:
        frame = eager_frame(data)
        if frame is None:
            raise DataError(
                "The argument y is for arrays and frames; put the target into the table and name it in the schema."
            )
        target = None if schema is None or schema.patterns else schema.target
        return _framed(beside(frame, y, "y" if target is None else target.name))
    if isinstance(data, str | PathLike):
        return open_file(Path(data), schema)
    return _framed(data, schema)


def with_names(schema: Schema, data: Any) -> Schema:
    """The schema for a table, its patterns expanded by the names of the table's columns, which are public."""
    return schema.expand(open_source(data, schema=schema).names) if schema.patterns else schema


def _is_dataset(data: Any) -> bool:
    # Who holds a dataset has loaded its module; loading it here would load pandas too.
    module = sys.modules.get("pyarrow.dataset")
    return module is not None and isinstance(data, module.Dataset)


def _framed(data: Any, schema: Schema | None = None) -> Source:
    """The source for an object in memory or in an engine."""
    if isinstance(data, pa.RecordBatchReader):
        raise DataError(
            "A RecordBatchReader can be read only once; give a path, a Table or a Dataset instead."
        )
    if isinstance(data, pa.Table | pa.RecordBatch) or _is_dataset(data):
        return ArrowSource(data)
    with reading("The table"):
        try:
            frame = nw.from_native(data, pass_through=True)
        except nw.exceptions.DuplicateError:
            raise DataError(
                "The table has two columns of the same name; rename or remove one of them."
            ) from None
    if isinstance(frame, nw.DataFrame):
        return FrameSource(frame)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        return PolarsLazySource(data)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_duckdb():
        return DuckdbSource(data)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_ibis():
        return ibis_table(data, schema)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_dask():
        from gnomon.engine.dask_frame import DaskSource

        return DaskSource(data, schema)
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_spark_like():
        from gnomon.engine.spark_frame import SparkSource

        return SparkSource(data, schema)
    if (lake := lake_table(data)) is not None:
        return lake
    if hasattr(data, "__arrow_c_stream__"):
        return StreamSource(data)
    raise DataError(
        f"A table of type {type(data).__name__!r} cannot be read; give a path, a pandas or polars frame, "
        "an Arrow table or dataset, a Delta or Iceberg table, a duckdb relation, an ibis table, or an array; for a "
        "connection of a database, use gnomon.open_database."
    )
