"""gnomon itself, asked like every other tool: `gnomon_release.py METHOD/ADJACENCY ...`.

Where rows may be added or removed their number is private; its order of magnitude, a power of ten, is declared.
"""

from __future__ import annotations

import math
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
from protocol import Asked, serve

import gnomon as gn
from gnomon.methods import METHODS


def synthesise(asked: Asked) -> pa.Table:
    name, adjacency = asked.algorithm.split("/")
    schema = gn.Schema.load(asked.folder / "schema.toml")
    if adjacency == "add-remove":
        rows = pq.read_metadata(asked.folder / "train.parquet").num_rows
        schema = schema.model_copy(update={"rows": 10 ** round(math.log10(rows))})
    warnings.simplefilter("ignore")
    method = METHODS[name](asked.epsilon, asked.delta, schema=schema, adjacency=adjacency)
    return method.fit(str(asked.folder / "train.parquet")).sample(asked.rows)


if __name__ == "__main__":
    serve(synthesise)
