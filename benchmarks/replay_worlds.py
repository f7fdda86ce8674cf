"""Random schemas, tables and sources for `replay_pairs.py`: cells at the ends of their bounds, beyond them, and missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import gnomon as gn

ROW, ATTRIBUTE, PERSON, ADDED = "row", "attribute", "person", "row, added or removed"
NO_ESTIMATES = ("blocki", "exponential")  # beside what these measure nothing else can be paid for
LAPLACE_ROWS = ("jl-laplace", "bernoulli-identity", "pca-identity", "lda-identity")  # nor here, with delta
DAY = date(2020, 1, 1)
MANY = (300, 600)  # rows
Record = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One line of the results: what is released and who is protected."""

    method: str
    unit: str
    delta: float
    target: str
    rows: tuple[int, int] = (2, 40)
    epsilons: tuple[float, ...] = (0.5, 2.0, 8.0)

    @property
    def key(self) -> str:
        loss = "pure" if self.delta == 0 else "delta"
        return f"{self.method} | {self.unit} | {loss} | {self.target}" + " | many rows" * (
            self.rows[0] == MANY[0]
        )


# --- tables ---


@dataclass
class World:
    """A schema with cells that fit it, lie at its ends, beyond them, or are missing."""

    rng: np.random.Generator
    case: Case
    kinds: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        pool = ["number", "log", "whole", "missing", "category", "boolean", "date", "estimated"]
        weights = np.array([4, 1, 2, 2, 2, 1, 1, 0.0 if self._cannot_estimate else 0.7])
        m = int(self.rng.integers(1, 7))
        self.kinds = list(self.rng.choice(pool, m, p=weights / weights.sum()))
        if set(self.kinds) == {"estimated"}:  # bounds that noise hides would leave no column at all
            self.kinds[0] = "number"
        if self.case.unit == ATTRIBUTE and m == 1:
            self.kinds.append("number")

    @property
    def _cannot_estimate(self) -> bool:
        no_more = (self.case.method in LAPLACE_ROWS and self.case.delta > 0) or self.case.unit == ATTRIBUTE
        return no_more or self.case.method in NO_ESTIMATES or self.case.target == "private classes"

    def schema(self) -> gn.Schema:
        lines = ["format = 2", "[table]", 'name = "t"']
        if self.case.unit in (ADDED, PERSON):
            lines.append(f"rows = {self.case.rows[1]}")
        if self.case.unit == PERSON:
            lines += ['person = "who"', "rows_per_person = 3", "[columns.who]", 'kind = "identifier"']
        for j, kind in enumerate(self.kinds):
            lines += [f"[columns.c{j}]", *_COLUMNS[kind]]
        lines += {
            "classes": ["[columns.y]", 'kind = "category"', f"values = {self.labels}", 'role = "target"'],
            "private classes": ["[columns.y]", 'kind = "category"', "estimate = true", 'role = "target"'],
            "number": ["[columns.y]", 'kind = "number"', "low = -1", "high = 3", 'role = "target"'],
            "none": [],
        }[self.case.target]
        return gn.Schema.loads("\n".join(lines))

    def cell(self, kind: str) -> Any:
        end, u = self.rng.choice(["low", "high", "beyond", "nothing", "within", "within"]), self.rng.random()
        if kind in ("number", "missing", "estimated"):
            return {"low": -2.0, "high": 5.0, "beyond": 1e9, "nothing": None}.get(end, -2 + 7 * u)
        if kind == "log":
            return {"low": 1e-3, "high": 1e4, "beyond": -3.0, "nothing": None}.get(
                end, float(10 ** (-3 + 7 * u))
            )
        if kind == "whole":
            return {"low": 0, "high": 9, "beyond": 10**6, "nothing": None}.get(end, int(10 * u))
        if kind == "boolean":
            return None if end == "nothing" else bool(u < 0.5)
        if kind == "date":
            days = {"low": 0, "high": 2000, "beyond": 9000}.get(end, int(2000 * u))
            return None if end == "nothing" else DAY + timedelta(days=days)
        return None if end == "nothing" else "abcz"[int(4 * u) if end == "beyond" else int(3 * u)]

    def label(self) -> Any:
        if self.case.target == "number":
            return float(self.rng.choice([-1.0, 3.0, self.rng.uniform(-1, 3), 50.0]))
        return str(self.rng.choice(self.labels))

    @property
    def labels(self) -> list[str]:
        """Two classes for a method that tells two apart."""
        return ["u", "v", "w"][: 2 if self.case.method == "private-svm" else 3]

    def record(self) -> Record:
        found: Record = {f"c{j}": self.cell(kind) for j, kind in enumerate(self.kinds)}
        if self.case.target != "none":
            found["y"] = self.label()
        if self.case.unit == PERSON:
            found["who"] = f"p{self.rng.integers(0, 9)}"
        return found

    def changed(self, record: Record, attributes: int | None = None) -> Record:
        """The record with some cells drawn again."""
        names = [name for name in record if name != "who"]
        count = attributes or int(self.rng.integers(1, len(names) + 1))
        fresh, chosen = self.record(), self.rng.choice(names, count, replace=False)
        return {**record, **{name: fresh[name] for name in chosen}}

    def table(self, records: list[Record]) -> pa.Table:
        types = {f"c{j}": _TYPES[kind] for j, kind in enumerate(self.kinds)}
        types |= {"who": pa.string(), "y": pa.float64() if self.case.target == "number" else pa.string()}
        names = list(self.record())
        return pa.table({n: pa.array([r[n] for r in records], types[n]) for n in names})


_NUMBER = ['kind = "number"', "low = -2", "high = 5"]
_COLUMNS = {
    "number": _NUMBER,
    "missing": [*_NUMBER, 'missing = "indicator"'],
    "estimated": ['kind = "number"', "estimate = true"],
    "log": ['kind = "number"', "low = 0.001", "high = 10000", "log = true"],
    "whole": ['kind = "number"', "low = 0", "high = 9", "integer = true"],
    "category": ['kind = "category"', 'values = ["a", "b", "c"]', 'missing = "indicator"'],
    "boolean": ['kind = "boolean"'],
    "date": ['kind = "date"', "low = 2020-01-01", "high = 2025-06-23"],
}
_TYPES = {
    **dict.fromkeys(("number", "missing", "estimated", "log"), pa.float64()),
    "whole": pa.int64(),
    "category": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}


# --- sources ---


class Restless:
    """A query without ORDER BY: at every read another order, other batches and other dictionary codes."""

    def __init__(self, table: pa.Table, rng: np.random.Generator) -> None:
        self._table, self._rng = table, rng

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        found = self._table.take(pa.array(self._rng.permutation(self._table.num_rows)))
        for place, name in enumerate(found.column_names):
            if pa.types.is_string(found.schema.field(name).type):
                found = found.set_column(place, name, self._recoded(found[name]))
        size = int(self._rng.integers(1, max(2, found.num_rows)))
        reader = pa.RecordBatchReader.from_batches(found.schema, found.to_batches(max_chunksize=size))
        return reader.__arrow_c_stream__(requested_schema)

    def _recoded(self, column: pa.ChunkedArray) -> pa.Array:
        values = [*column.unique().drop_null().to_pylist(), "unused"]
        values = [values[i] for i in self._rng.permutation(len(values))]
        places = {value: place for place, value in enumerate(values)}
        codes = pa.array([places.get(value) for value in column.to_pylist()], pa.int8())
        return pa.DictionaryArray.from_arrays(codes, pa.array(values))


def sources(folder: Path, rng: np.random.Generator) -> dict[str, Callable[[pa.Table], Any]]:
    def parquet(table: pa.Table) -> Path:
        path = folder / f"{rng.integers(2**60)}.parquet"
        pq.write_table(table, path, row_group_size=int(rng.integers(1, 20)))
        return path

    def text(table: pa.Table) -> Path:
        path = folder / f"{rng.integers(2**60)}.csv"
        pyarrow.csv.write_csv(table, path)
        return path

    def polars(table: pa.Table) -> Any:
        import polars

        return polars.from_arrow(table).lazy()

    return {
        "parquet": parquet,
        "csv": text,
        "arrow": lambda table: table,
        "pandas": lambda table: table.to_pandas(types_mapper=None),
        "polars, lazy": polars,
        "reordered at every read": lambda table: Restless(table, rng),
    }


# --- pairs ---


@dataclass
class Neighbours:
    """A pair that can be changed: what both tables share, and what each has of its own."""

    world: World
    shared: list[Record]
    own: tuple[list[Record], list[Record]]

    @classmethod
    def drawn(cls, world: World) -> Neighbours:
        case, rng = world.case, world.rng
        n = int(rng.integers(case.rows[0], case.rows[1] + 1))
        shared = [world.record() for _ in range(n - 1)]
        first = world.record()
        if case.unit == PERSON:
            new = [{**world.record(), "who": "new"} for _ in range(int(rng.integers(1, 7)))]
            return cls(world, shared, ([], new))
        if case.unit == ADDED:
            return cls(world, shared, ([], [first]))
        other = world.changed(first, 1 if case.unit == ATTRIBUTE else None)
        return cls(world, shared, ([first], [other]))

    def moved(self) -> Neighbours:
        """A neighbour of the pair itself: one of its own records changes, and sometimes one of the shared ones."""
        world, rng = self.world, self.world.rng
        first, second = (list(map(dict, part)) for part in self.own)
        shared = list(self.shared)
        if world.case.unit == ATTRIBUTE:
            first = [world.changed(first[0])] if rng.random() < 0.5 else first
            second = [world.changed(first[0], 1)]
        elif world.case.unit == PERSON and rng.random() < 0.5:
            second = [dict(second[0]) for _ in range(3)]  # as many equal rows as a person may have
        else:
            part = second if not first or rng.random() < 0.5 else first
            place = int(rng.integers(len(part)))
            part[place] = world.changed(part[place])
        if rng.random() < 0.2 and shared:
            shared[int(rng.integers(len(shared)))] = world.record()
        return replace(self, shared=shared, own=(first, second))

    def tables(self) -> tuple[pa.Table, pa.Table]:
        found = []
        for own in self.own:
            records = [*self.shared, *own]
            order = self.world.rng.permutation(len(records))
            found.append(self.world.table([records[i] for i in order]))
        return found[0], found[1]
