"""One door for every table: a path, a frame, an Arrow object, a query or an array becomes a `Source`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import DataError
from gnomon.table.base import BATCH_ROWS, Source
from gnomon.table.files import open_file
from gnomon.table.frames import ArraySource, open_frame

if TYPE_CHECKING:
    from gnomon.table.schema import Schema

__all__ = ["BATCH_ROWS", "Source", "open_source"]


def open_source(data: Any, y: Any = None, schema: Schema | None = None) -> Source:
    """The stream of Arrow batches behind `data`.

    `schema` tells a CSV which columns are numbers and names the columns of an array, whose target is `y`.
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, tuple) and len(data) == 2 and y is None:
        data, y = data
    if isinstance(data, np.ndarray | list):
        return ArraySource(data, y, schema)
    if y is not None:
        raise DataError(
            "The argument y is for arrays; put the target into the table and name it in the schema."
        )
    if isinstance(data, str | PathLike):
        return open_file(Path(data), schema)
    return open_frame(data)
