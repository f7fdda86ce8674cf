"""Decimals, cell by cell."""

from decimal import Decimal

import numpy as np
import pyarrow as pa

from gnomon.table.cells import numbers


def test_a_decimal_reads_the_same_beside_any_other() -> None:
    """A record must not change how its neighbours are encoded."""
    alone = numbers(pa.array([Decimal("0.1")])).values
    beside = numbers(pa.array([Decimal("0.1"), Decimal("0.30000000000000000000000000001"), None])).values
    assert alone[0] == beside[0] == 0.1
    assert np.isnan(beside[2])
