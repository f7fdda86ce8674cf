"""The tables of the utility protocol, cheapest first: rows, what is declared about them, and what is predicted.

Bounds come from what a column means, or lie 20% of the range beyond the range where nobody can say; each record says which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import sklearn.datasets

import gnomon as gn
from harness import sources

Task = Literal["two classes", "classes", "number"]
MEANING, BEYOND = "meaning", "20% beyond the range"
HELD_OUT, TEST_ROWS = 0.2, 3_000
CHANNEL_ROWS = 60_000
RETAIL_ITEM = "item_38"  # in 18% of the baskets, and the one that the others tell most about
STEPS = 3  # consecutive readings of a segment in one row of `sports-135`


@dataclass(frozen=True)
class Table:
    """One table: `load(data)` reads all rows, `declare(rows)` is their schema with `target` in its role."""

    name: str
    load: Callable[[Path | None], pa.Table]
    declare: Callable[[pa.Table], gn.Schema]
    target: str
    task: Task
    bounds: str = MEANING


def split(table: pa.Table, seed: int) -> tuple[pa.Table, pa.Table]:
    """Four fifths to release, and at most `TEST_ROWS` of the others to test on; the seed decides both."""
    order = np.random.default_rng([31, seed]).permutation(table.num_rows)
    held_out = round(HELD_OUT * table.num_rows)
    return table.take(np.sort(order[held_out:])), table.take(np.sort(order[:held_out][:TEST_ROWS]))


def _of_source(name: str, task: Task, target: str, of: str | None = None) -> Table:
    found = sources.TABLES[of or name]

    def load(data: Path | None) -> pa.Table:
        return found.load(_folder(data))[0]

    return Table(name, load, found.declare, target, task)


def _folder(data: Path | None) -> Path:
    if data is None:
        raise SystemExit("This table is read from a folder; give it with --data DIR or GNOMON_DATA.")
    return data


def _scikit_learn(name: str, data: Path | None) -> pa.Table:
    bunch = getattr(sklearn.datasets, f"load_{name}")()
    columns = dict(zip(bunch.feature_names, np.asarray(bunch.data, dtype=np.float64).T, strict=True))
    return pa.table({**columns, "target": bunch.target})


def _beyond(table: pa.Table, *, classes: bool) -> gn.Schema:
    """Every number bounded 20% of its range beyond its range; the target, the last column, in classes or a number."""
    columns = []
    for name in table.column_names:
        values = table[name].to_numpy()
        low, high = float(values.min()), float(values.max())
        more = 0.2 * (high - low)
        role = {"role": "target"} if name == "target" else {}
        if role and classes:
            columns.append(sources.classes(name, tuple(np.unique(values).tolist())))
        else:
            columns.append(sources.number(name, low - more, high + more, **role))
    return gn.Schema(name="table", columns=tuple(columns))


def _bounded_beyond(name: str, task: Task) -> Table:
    declare = partial(_beyond, classes=task != "number")
    return Table(name, partial(_scikit_learn, name), declare, "target", task, BEYOND)


def _digits(table: pa.Table) -> gn.Schema:
    pixels = [sources.number(name, 0, 16) for name in table.column_names[:-1]]
    return gn.Schema(name="digits", columns=(*pixels, sources.classes("target", tuple(range(10)))))


def _retail(data: Path | None) -> pa.Table:
    return sources._file(_folder(data), "retail/top50_binary.parquet")


def _retail_schema(table: pa.Table) -> gn.Schema:
    items = [gn.Column(name=name, kind="boolean") for name in table.column_names if name != RETAIL_ITEM]
    return gn.Schema(name="retail", columns=(*items, sources.classes(RETAIL_ITEM, (0, 1))))


def _faces_9(table: pa.Table) -> gn.Schema:
    names = tuple(
        sorted(set(table["expression"].unique().to_pylist()))
    )  # as the videos' description lists them
    columns = [column for column in sources.gfe_schema(table).columns if column.role is None]
    return gn.Schema(name="faces", columns=(*columns, sources.classes("expression", names)))


def _stacked_sports(data: Path | None) -> pa.Table:
    """`STEPS` consecutive readings of a segment side by side; a segment's last reading is left over."""
    table = sources.sports(_folder(data))[0]
    table = table.sort_by([(name, "ascending") for name in ("activity", "subject", "segment", "t")])
    channels = [name for name in table.column_names if name.endswith(tuple(sources.SENSORS))]
    readings = len(table["t"].unique())
    kept = readings // STEPS * STEPS
    X = np.column_stack([table[name].to_numpy() for name in channels])
    X = X.reshape(-1, readings, len(channels))[:, :kept].reshape(-1, STEPS * len(channels))
    y = table["activity"].to_numpy().reshape(-1, readings)[:, :kept:STEPS].ravel()
    names = [f"{step}_{name}" for step in range(STEPS) for name in channels]
    return pa.table({**dict(zip(names, np.ascontiguousarray(X.T), strict=True)), "activity": y})


def _sports_channel(data: Path | None) -> pa.Table:
    table = sources.sports(_folder(data))[0]
    return table.take(np.sort(np.random.default_rng(32).choice(table.num_rows, CHANNEL_ROWS, replace=False)))


def _sports_channel_schema(table: pa.Table) -> gn.Schema:
    columns = sources.sports_schema(table).columns[:-1]
    return gn.Schema(name="sports", columns=columns).with_target("T_xacc")


def _adult_age(table: pa.Table) -> gn.Schema:
    return sources.TABLES["adult"].declare(table).with_target("age")


TABLES = {
    table.name: table
    for table in (
        _of_source("caesarian", "two classes", "Caesarian"),
        _of_source("breast_cancer_coimbra", "two classes", "Classification"),
        _of_source("hcc_survival", "two classes", "survived"),
        _bounded_beyond("wine", "classes"),
        _of_source("dermatology", "classes", "Classification"),
        _bounded_beyond("diabetes", "number"),
        _of_source("breast_cancer_wisconsin_diagnostic", "two classes", "target"),
        _bounded_beyond("breast_cancer", "two classes"),
        _of_source("indian_liver_patient", "two classes", "Label"),
        _of_source("cervical_cancer_risk", "two classes", "Biopsy"),
        Table("digits", partial(_scikit_learn, "digits"), _digits, "target", "classes"),
        _of_source("buzz", "number", "NAD_6"),
        _of_source("adult", "two classes", "income"),
        Table("adult-age", _of_source("adult", "two classes", "income").load, _adult_age, "age", "number"),
        Table("retail", _retail, _retail_schema, RETAIL_ITEM, "two classes"),
        Table("sports-channel", _sports_channel, _sports_channel_schema, "T_xacc", "number"),
        _of_source("faces-2", "two classes", "target", of="gfe"),
        Table("faces-9", _of_source("gfe", "two classes", "target").load, _faces_9, "expression", "classes"),
        _of_source("sports", "classes", "activity"),
        Table("sports-135", _stacked_sports, sources.sports_schema, "activity", "classes"),
        _of_source("blogfeedback", "number", "target"),
        _of_source("kdd99", "classes", "label"),
        _of_source("mnist", "classes", "label"),
    )
}
