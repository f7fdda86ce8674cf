"""The methods that DPPro compares with, on its tables: PrivBayes, JTree, PriView and PrivateSVM."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon import baseline
from gnomon.methods import METHODS
from gnomon.methods.charging import unaccounted
from gnomon.statistics.grid import Matrix
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema

ROWS: dict[str, Any] = {
    "PrivBayes": baseline.PrivBayes,
    "JTree": baseline.JTree,
    "PriView": baseline.PriView,
    "Synthesizer": METHODS["synthesizer"],  # gnomon's own, at the same promise
}
COMPARED = (
    "PrivBayes, JTree, PriView and PrivateSVM are those of gnomon.baseline at their defaults, and Synthesizer is this "
    "library's own method. They keep pure epsilon-DP "
    "for whole records, DPPro (epsilon, delta) for one attribute of one record, so that theirs is the stronger promise."
)


def fitted(name: str, table: pa.Table, epsilon: float, trial: int, **told: Any) -> Any:
    return ROWS[name](epsilon, 0.0, random_state=trial, **told).fit(table, charge=unaccounted)


def encoded_rows(
    name: str, train: pa.Table, schema: Schema, epsilon: float, trial: int
) -> tuple[Matrix, npt.NDArray[Any]]:
    """As many synthetic rows as there are, encoded, with their classes."""
    rows = Encoder(schema).encode(
        fitted(name, train, epsilon, trial, schema=schema).sample(train.num_rows).combine_chunks()
    )
    assert rows.codes is not None
    return rows.X, rows.codes


def predicted(train: pa.Table, test: pa.Table, schema: Schema, epsilon: float) -> npt.NDArray[Any]:
    """What PrivateSVM says of the test rows."""
    method = baseline.PrivateSvm(epsilon, 0.0, schema=schema).fit(train, charge=unaccounted)
    return method.predict(test)


def one_way_shares(
    name: str, table: pa.Table, schema: Schema, epsilon: float, trial: int
) -> npt.NDArray[np.float64]:
    """The share of every value of every column among as many synthetic rows as there are."""
    rows = fitted(name, table, epsilon, trial, schema=schema).sample(table.num_rows)
    found: npt.NDArray[np.float64] = Encoder(schema).encode(rows.combine_chunks()).X.mean(axis=0)
    return found


def mean_square(name: str, X: Matrix, epsilon: float, trial: int) -> float:
    """The mean squared distance of two synthetic rows of cells 0 and 1: twice the sum of their columns' variances."""
    columns = {f"item_{j}": x.astype(bool) for j, x in enumerate(X.T)}
    schema = Schema(name="baskets", columns=tuple(Column(name=one, kind="boolean") for one in columns))
    rows = fitted(name, pa.table(columns), epsilon, trial, schema=schema).sample(len(X))
    shares = np.array([np.mean(rows[one].to_numpy(zero_copy_only=False)) for one in columns])
    return float(2 * np.sum(shares * (1 - shares)))
