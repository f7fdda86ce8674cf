"""One function for every table: a path, a frame, an Arrow object, a query or an array becomes a `Source`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from gnomon.errors import DataError
from gnomon.table.base import BATCH_ROWS, Source
from gnomon.table.convert import converters
from gnomon.table.file_types import open_file
from gnomon.table.files import CsvSource
from gnomon.table.form import PLAIN
from gnomon.table.frames import ArraySource, as_array, beside, eager_frame, open_frame, refuse_sparse
from gnomon.table.schema import Schema

__all__ = ["BATCH_ROWS", "Source", "open_source", "with_names"]


def open_source(data: Any, y: Any = None, schema: Schema | None = None) -> Source:
    """The stream of Arrow batches behind `data`.

    `schema` tells a CSV which columns are numbers and names the columns of an array, whose target is `y`.
    """
    if isinstance(data, Source):
        return data
    source = _opened(data, y, schema)
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
        return open_frame(beside(frame, y, "y" if target is None else target.name))
    if isinstance(data, str | PathLike):
        return open_file(Path(data), schema)
    return open_frame(data, schema)


def with_names(schema: Schema, data: Any) -> Schema:
    """The schema for a table, its patterns expanded by the names of the table's columns, which are public."""
    return schema.expand(open_source(data, schema=schema).names) if schema.patterns else schema
