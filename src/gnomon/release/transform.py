"""Real rows as a release shows them: through its public map, by public knowledge alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.engine.base import Progress, quiet
from gnomon.errors import DataError
from gnomon.release.map import PublicMap
from gnomon.table.base import Source
from gnomon.table.column import Column
from gnomon.table.domain import Domain
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source


def transform_batches(
    source: Source, schema: Schema, seen_by: PublicMap, progress: Progress = quiet
) -> Iterator[pa.Table]:
    """Rows of `source` seen through the public map of a release; a target column passes through as it is."""
    if seen_by.withheld:
        raise DataError("This release withholds its projection, so nobody can show other rows as it would.")
    features = Schema(name=schema.name, columns=schema.features)
    encoder = Encoder(features)
    frame = seen_by.frame
    if encoder.width != frame.n_features:
        raise DataError("The schema and the map of this release do not belong together; ask its publisher.")
    names = [column.name for column in features.columns]
    present = set(source.names)
    missing = [name for name in names if name not in present]
    if missing:
        raise DataError(f"The table lacks the column {missing[0]!r} that the release has; add it.")
    target = schema.target.name if schema.target is not None and schema.target.name in source.names else None
    done, total = 0, source.n_rows()
    for batch in source.batches([*names, target] if target else names):
        if seen_by.shows_all:
            C = cells = encoder.matrix(batch)
        else:
            C = frame.components(encoder.encode(batch))
            cells = C if seen_by.components_only else frame.lift(C)
        if seen_by.components_only:
            seen = pa.table(list(np.ascontiguousarray(C.T)), names=[f"c{j}" for j in range(C.shape[1])])
            place = C.shape[1]
        else:
            seen = encoder.decode(cells, None)
            place = [column.name for column in schema.released].index(target) if target else 0
        if target:
            seen = seen.add_column(place, target, _as_declared(batch.column(target), schema[target]))
        done += batch.num_rows
        progress("transforming", done, total)
        yield seen


def transformed(X: Any, schema: Schema, seen_by: PublicMap) -> Any:
    """Rows of any table that gnomon reads, seen through the public map, in the frame type that they came in."""
    source = open_source(X, None, schema=schema)
    return source.like(pa.concat_tables(list(transform_batches(source, schema, seen_by))))


def _as_declared(array: pa.Array, column: Column) -> pa.Array:
    """A boolean target as booleans, however its file writes them; any other as it is."""
    if column.kind != "boolean":
        return array
    domain = Domain(column)
    return domain.write(domain.read(array), pa.bool_())
