"""Promises are frozen, checked, and split without giving away more than they hold."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, PureDP, Unit, declared


def test_declared_is_pure_where_delta_is_zero() -> None:
    assert declared(1.0) == PureDP(1.0)
    assert declared(1.0, 1e-6) == ApproxDP(1.0, 1e-6)
    person = declared(2, 0.0, unit=Unit.PERSON, adjacency=Adjacency.ADD_REMOVE, rows=4)
    assert person.neighbours == (Unit.PERSON, Adjacency.ADD_REMOVE, 4)
    assert person.split(0.5, 0.5)[0].neighbours == person.neighbours  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("unit", "adjacency", "rows", "words"),
    [
        (Unit.PERSON, Adjacency.REPLACE_ONE, 3, "add-remove"),
        (Unit.ATTRIBUTE, Adjacency.ADD_REMOVE, 1, "replace-one"),
        (Unit.ROW, Adjacency.ADD_REMOVE, 2, "unless a person"),
        (Unit.PERSON, Adjacency.ADD_REMOVE, 0, "whole number"),
        (Unit.PERSON, Adjacency.ADD_REMOVE, 1.5, "whole number"),
    ],
)
def test_a_relation_of_tables_that_makes_no_sense_is_refused(unit, adjacency, rows, words) -> None:
    for kind in (
        lambda: PureDP(1.0, unit, adjacency, rows),
        lambda: ApproxDP(1.0, 1e-6, unit, adjacency, rows),
    ):
        with pytest.raises(ParameterError, match=words):
            kind()


def test_numpy_numbers_are_numbers() -> None:
    assert PureDP(np.float64(1.0)) == PureDP(np.int64(1)) == PureDP(1.0)


def test_promises_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PureDP(1.0).epsilon = 2.0  # type: ignore[misc]


@pytest.mark.parametrize("kind", [PureDP, ZCDP, GaussianDP])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, "1", None, True])
def test_a_loss_must_be_a_positive_number(kind, value) -> None:
    with pytest.raises(ParameterError, match="must be a"):
        kind(value)


@pytest.mark.parametrize("delta", [-0.1, 1.0, 2, math.nan, "0", None, False])
def test_delta_must_be_a_probability(delta) -> None:
    with pytest.raises(ParameterError, match="'delta' parameter"):
        declared(1.0, delta)


def test_an_approximate_promise_needs_its_delta() -> None:
    with pytest.raises(ParameterError, match=r"\(0, 1\)"):
        ApproxDP(1.0, 0.0)


@pytest.mark.parametrize("weights", [(), (0.5, 0.6), (0.5, 0.0), (-0.5, 0.5), (math.nan, 0.5)])
def test_shares_must_be_positive_and_within_the_whole(weights) -> None:
    with pytest.raises(ParameterError, match="shares of a budget"):
        PureDP(1.0).split(*weights)
