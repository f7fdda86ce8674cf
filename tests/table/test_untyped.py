"""Columns of Python objects: what a cell becomes is a function of that cell alone, whatever stands beside it."""

from __future__ import annotations

import datetime as dt
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gnomon.table.encode import Encoder
from gnomon.table.persons import Bounding
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

KINDS = {
    "number": 'kind = "number"\nlow = -10\nhigh = 10\n',
    "date": 'kind = "date"\nlow = 2000-01-01\nhigh = 2030-01-01\n',
    "boolean": 'kind = "boolean"\n',
    "category": 'kind = "category"\nvalues = ["a", "b", "1", "2.5"]\n',
}
CELLS: list[Any] = [
    *(
        "a",
        "1",
        "1.0",
        "2.5",
        "true",
        "2020-01-01",
        "",
        "\ud800",
        b"a",
        b"1",
        b"\xff",
        None,
        True,
        1,
        1.0,
        2.5,
    ),
    *(
        float("nan"),
        pd.NA,
        pd.NaT,
        Decimal("1"),
        Decimal("2.50"),
        2**53 + 1,
        2**70,
        np.float32(0.1),
        np.bool_(True),
    ),
    *(
        dt.date(2020, 1, 1),
        dt.datetime(2020, 1, 1, 12),
        dt.datetime(9999, 12, 31),
        dt.time(3),
        dt.timedelta(1),
    ),
    *(pd.Timestamp("2020-01-01 12:00"), [1], {"a": 1}),
]


def encoded(kind: str, cells: list[Any]) -> np.ndarray:
    schema = Schema.loads(f'[columns.x]\n{KINDS[kind]}missing = "indicator"\n')
    column = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        column[place] = cell
    source = open_source(pd.DataFrame({"x": pd.Series(column, dtype=object)}), schema=schema)
    encoder = Encoder(schema)
    return np.concatenate([encoder.encode(batch).cells for batch in source.batches(encoder.columns)])


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_cell_is_read_alike_beside_any_other(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [encoded(kind, [cell])[0] for cell in CELLS]
        for i, cell in enumerate(CELLS):
            both = encoded(kind, [cell, *CELLS, cell])
            assert (both == np.array([alone[i], *alone, alone[i]])).all(), repr(cell)


def test_a_person_has_one_identity_in_every_batch() -> None:
    """Whatever the type that a batch was given: otherwise one person has k rows of each spelling."""
    bounding = Bounding("who", 3)

    def identity(cell: Any) -> bytes:
        frame = pd.DataFrame({"who": pd.Series([cell], dtype=object)})
        (batch,) = open_source(frame).batches(["who"])
        return bounding.identities(batch.column("who")).tobytes()

    assert (
        len({identity(cell) for cell in (7, 7.0, "7", "7.0", "7.00", b"7", Decimal("7"), Decimal("7.00"))})
        == 1
    )
    assert len({identity(cell) for cell in ("7", "07", "007", "70", "7e0", "12e5", "120e4")}) == 7
    assert identity(True) == identity("1") != identity(None) == identity(float("nan"))
