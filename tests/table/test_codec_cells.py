"""Cells of public values: where a column's atoms and its few values stand among encoded rows."""

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.table.codec import codec


@pytest.mark.parametrize("log", [False, True])
def test_cells_of_public_values_are_those_of_encoded_rows(log: bool) -> None:
    column = gn.Column(name="x", kind="number", low=0, high=700, log=log)
    values, found = [0.0, 40.0, 700.0], np.empty((1, 3))
    codec(column).encode(pa.array(values), found)
    assert codec(column).cells(values).tolist() == found[0].tolist()


@pytest.mark.parametrize(
    ("column", "values", "borders"),
    [
        (gn.Column(name="b", kind="boolean"), [-1.0, 1.0], [0.0]),
        (gn.Column(name="o", kind="category", values=(1, 2, 3), ordered=True), [-1.0, 0.0, 1.0], [-0.5, 0.5]),
        (gn.Column(name="l", kind="category", values=(1,), ordered=True), [0.0], []),
    ],
)
def test_few_values_and_the_borders_between_them(
    column: gn.Column, values: list[float], borders: list[float]
) -> None:
    steps = codec(column).steps()
    assert steps is not None
    assert steps.values.tolist() == values
    assert steps.borders.tolist() == borders
