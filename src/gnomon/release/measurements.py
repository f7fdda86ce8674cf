"""What a release was made of: its parameters, its seed and its noisy answers, as plain arrays that anybody may read.

With the declared schema they give every byte of the folder again, without the table. Noisy rows, of which there may be
many, stand in a Parquet file of their own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.errors import DataError
from gnomon.methods import METHODS
from gnomon.methods.base import Release
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.measure import Answer
from gnomon.privacy.noisy_rows import NoisyRows
from gnomon.projection.gaussian import FINE
from gnomon.release.map import Arrays, load_arrays, save_arrays
from gnomon.table.schema import Schema

FILE, ROWS_FILE = "measurements.npz", "noisy_rows.parquet"
_LEFT_OUT = (
    "schema",
    "random_state",
    "public",
)  # written on their own, or recorded as what follows from them


def parameters_of(method: Release) -> dict[str, Any]:
    """The parameters that a replay needs, as plain values."""
    given = method.get_params(deep=False)
    return {name: _plain(value) for name, value in given.items() if name not in _LEFT_OUT}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def write_measurements(method: Release, folder: Path) -> None:
    """Write the recorded answers of a fitted method."""
    arrays: dict[str, Any] = {
        "version": np.array(1),
        "method": np.array(method.name),
        "parameters": np.array(json.dumps(parameters_of(method), sort_keys=True)),
        "schema": np.array(method.declared_schema_.dumps()),
        "seed": np.array(method.seed_),
        "made": np.array(method.made_ or ""),
        "rows": np.array(-1 if method.n_public_ is None else method.n_public_),
        "statistics": np.array([answer.statistic for answer in method.answers_], dtype=np.str_),
        "withheld": np.array([answer.withheld for answer in method.answers_], dtype=np.bool_),
    }
    for place, answer in enumerate(method.answers_):
        if answer.withheld:
            continue
        if isinstance(answer.value, NoisyRows):
            _write_rows(answer.value, folder / ROWS_FILE)
        else:
            arrays[f"answer{place}"] = answer.value
    save_arrays(folder / FILE, arrays)


def _write_rows(rows: NoisyRows, path: Path) -> None:
    names = [f"r{j}" for j in range(rows.width)]
    kind = pa.from_numpy_dtype(rows.dtype)
    schema = pa.schema([(name, kind) for name in names])
    with pq.ParquetWriter(
        path, schema, compression="zstd", compression_level=1, use_dictionary=False
    ) as writer:
        for chunk in rows.chunks():
            writer.write_table(pa.table(list(np.ascontiguousarray(chunk.T)), schema=schema))


def _read_rows(path: Path) -> NoisyRows:
    file = pq.ParquetFile(path)
    width = len(file.schema_arrow.names)
    wide = file.schema_arrow.field(0).type == pa.int64()
    rows = NoisyRows(width, 2.0**40 if wide else 1.0)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        rows.append(np.column_stack([column.to_numpy() for column in table.columns]))
    return rows


def _value(held: Arrays, place: int, folder: Path) -> Any:
    return held[f"answer{place}"] if f"answer{place}" in held else _read_rows(folder / ROWS_FILE)


@dataclass(frozen=True)
class Recorded:
    """The measurements of a release folder."""

    method: str
    parameters: dict[str, Any]
    schema: Schema
    seed: int
    rows: int | None
    answers: tuple[Answer, ...]
    made: str | None = None

    @property
    def withheld(self) -> tuple[str, ...]:
        """What the custodian keeps, without which there is no replay."""
        return tuple(answer.statistic for answer in self.answers if answer.withheld)

    @property
    def guarantee(self) -> Guarantee:
        """What these parameters promise to a table of so many rows."""
        return self._estimator._guarantee(self.rows)

    @property
    def _estimator(self) -> Release:
        kind = METHODS[self.method]
        return kind(**kind.restored(self.parameters), schema=self.schema)

    def replay(self, projection: npt.ArrayLike | None = None) -> Release:
        """The fitted method again, from its answers alone; a withheld projection must be given."""
        answers = self.answers
        if self.withheld:
            if projection is None:
                raise DataError(
                    "This release withholds its projection, without which it cannot be replayed; its custodian has "
                    "the projection (projection_) and can give it."
                )
            given = np.rint(np.asarray(projection, dtype=np.float64) * FINE).astype(np.int64)
            answers = tuple(replace(one, value=given) if one.withheld else one for one in answers)
        return self._estimator.replay(self.schema, self.rows, answers, self.seed, made=self.made)


def read_measurements(folder: Path) -> Recorded:
    """The measurements of a folder from anywhere: plain arrays, sizes capped, nothing executed."""
    held = load_arrays(folder / FILE)
    try:
        names = [str(name) for name in held["statistics"]]
        withheld = [bool(one) for one in held["withheld"]]
        answers = [
            Answer(name, None if kept else _value(held, i, folder), kept)
            for i, (name, kept) in enumerate(zip(names, withheld, strict=True))
        ]
        rows = int(held["rows"])
        return Recorded(
            str(held["method"]),
            json.loads(str(held["parameters"])),
            Schema.loads(str(held["schema"])),
            int(held["seed"]),
            None if rows < 0 else rows,
            tuple(answers),
            str(held["made"]) or None,
        )
    except (KeyError, ValueError, TypeError, OSError) as problem:
        raise DataError(
            f"The file {FILE} in {str(folder)!r} does not fit together; ask its publisher for a whole copy."
        ) from problem
