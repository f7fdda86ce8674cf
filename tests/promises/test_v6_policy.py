"""V6: every table in the declared domain is released, and no message counts private cells."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import gnomon as gn

BAD = {  # a column, and a cell that does not fit its declaration
    "text among numbers": ("age", "unknown"),
    "text among dates": ("admitted", "unknown"),
    "an undeclared category": ("station", "west"),
    "an undeclared class": ("outcome", "died"),
    "neither true nor false": ("smoker", "perhaps"),
    "a missing number": ("age", None),
    "a missing category": ("station", None),
    "a missing class": ("outcome", None),
}


def with_bad_cells(table: pa.Table, column: str, cell: str | None, count: int) -> pa.Table:
    """The table with `count` bad cells in a column, whose others stay as they are (as text, if need be)."""
    place = table.column_names.index(column)
    good = table[column] if cell is None else table[column].cast(pa.string())
    cells = pa.array([cell] * count + good.to_pylist()[count:], good.type)
    return table.set_column(place, column, cells)


@pytest.mark.parametrize("bad", BAD)
def test_one_bad_cell_does_not_stop_a_release(custodian: Any, ward: pa.Table, bad: str) -> None:
    """Whether there is a release is an outcome too: one record's cell must not decide it.

    By the declared policy (clip, other, missing) any cell becomes a valid one, so no table is refused for its cells.
    """
    data = custodian.write(with_bad_cells(ward, *BAD[bad], count=1))
    outcome = custodian.release(data)
    assert outcome.code == 0, outcome.err
    assert custodian.last.holds


@pytest.mark.parametrize("bad", ["text among numbers", "an undeclared category", "a missing number"])
def test_an_estimator_takes_bad_cells_too(
    custodian: Any, ward: pa.Table, bad: str, refusal: type[Exception], quietly: Callable[..., Any]
) -> None:
    """`fit` follows the same policy as the command line."""
    method = gn.RonGauss(1.0, schema=custodian.schema)
    try:
        quietly(lambda: method.fit(with_bad_cells(ward, *BAD[bad], count=1)))
    except refusal as refused:
        message = str(refused)
        raise AssertionError(f"refused: {message}") from None
    assert method.certificate_.holds


@pytest.mark.parametrize("bad", ["text among numbers", "an undeclared category", "a missing number"])
def test_no_message_has_a_count_of_private_cells(custodian: Any, ward: pa.Table, bad: str) -> None:
    """An exact count in a message is an answer about private rows, without noise and without charge."""
    outcome = custodian.release(custodian.write(with_bad_cells(ward, *BAD[bad], count=137)))
    said = (outcome.out + outcome.err).replace(str(custodian.folder), "")
    assert not re.search(r"\b137\b", said), said


@pytest.mark.parametrize("bad", BAD)
def test_a_strict_refusal_names_column_and_rule_alone(custodian: Any, ward: pa.Table, bad: str) -> None:
    """With --strict a table that does not fit is refused, in the same words for one bad cell as for many."""
    column, cell = BAD[bad]
    one, many = (
        custodian.release(custodian.write(with_bad_cells(ward, column, cell, count)), "--strict")
        for count in (1, 137)
    )
    assert (one.code, many.code) == (2, 2)
    assert repr(column) in one.err, one.err
    assert one.err == many.err


def test_a_strict_release_says_what_its_promise_covers(custodian: Any, ward: pa.Table) -> None:
    """With --strict the guarantee is for tables that pass the check only, and the certificate says so."""
    outcome = custodian.release(custodian.write(ward), "--strict")
    assert outcome.code == 0, outcome.err
    narrow = custodian.last.text("certificate.yaml")
    assert custodian.release(custodian.write(ward)).code == 0
    plain = custodian.last.text("certificate.yaml")
    covers = re.compile(r"tables\s+that\s+(pass|fit|do)", re.IGNORECASE)
    assert covers.search(narrow)
    assert not covers.search(plain)
