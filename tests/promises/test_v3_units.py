"""V3: one account has one unit and one adjacency; a charge of another kind is converted or refused."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

import gnomon as gn

ROW, REPLACE, ADD = gn.Unit.ROW, gn.Adjacency.REPLACE_ONE, gn.Adjacency.ADD_REMOVE


def test_an_add_remove_release_counts_twice_under_replacement(custodian: Any) -> None:
    """Replacing is removing and adding: (e, d) under add/remove is (2 e, (1 + e^e) d) under replace-one."""
    custodian.charge("ward", gn.ApproxDP(1.0, 1e-6, ROW, REPLACE))
    epsilon, delta = custodian.charge("ward", gn.ApproxDP(0.5, 1e-7, ROW, ADD))
    assert epsilon == pytest.approx(1.0 + 2 * 0.5)
    assert delta == pytest.approx(1e-6 + (1 + math.exp(0.5)) * 1e-7)


def test_a_replace_one_release_is_refused_where_n_is_private(
    custodian: Any, refusal: type[Exception]
) -> None:
    """A replace-one release prints n and promises nothing under add/remove, so no finite charge covers it."""
    custodian.charge("ward", gn.PureDP(1.0, ROW, ADD))
    with pytest.raises(refusal):
        custodian.charge("ward", gn.PureDP(1.0, ROW, REPLACE))


def test_a_row_release_counts_on_an_account_of_attributes(custodian: Any, ward: pa.Table) -> None:
    """A row-level epsilon covers a change of one attribute at the same epsilon, and adds to what was spent."""
    custodian.publish(ward, gn.JlLaplace(0.25, 0.0, schema=custodian.schema, unit="attribute"))
    custodian.publish(ward, gn.RonGauss(1.0, 0.0, schema=custodian.schema))
    assert custodian.spent("ward", ward, "attribute") == (pytest.approx(1.25), 0.0)


def test_an_attribute_release_counts_on_an_account_of_rows(
    custodian: Any, ward: pa.Table, attributes: int, refusal: type[Exception]
) -> None:
    """Group privacy: an attribute-level epsilon is m epsilon for a row of m attributes; or it is refused."""
    custodian.publish(ward, gn.RonGauss(1.0, 0.0, schema=custodian.schema))
    try:
        custodian.publish(ward, gn.JlLaplace(0.25, 0.0, schema=custodian.schema, unit="attribute"))
    except refusal:
        return
    assert custodian.spent("ward", ward) == (pytest.approx(1.0 + 0.25 * attributes), 0.0)
