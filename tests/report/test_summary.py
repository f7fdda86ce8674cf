"""Summaries of released columns: right counts, declared bounds, every kind."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from gnomon.report.summary import BINS, MOST_BARS, Bars, Histogram, summarise, tidy
from gnomon.table.schema import Column


def test_a_number_is_drawn_between_its_declared_bounds_and_not_between_its_own() -> None:
    column = Column(name="age", kind="number", low=0, high=64, unit="years")
    found = summarise(column, pa.chunked_array([[1.0, 1.5, 33.0]]))
    assert isinstance(found.picture, Histogram)
    assert (found.picture.low, found.picture.high) == ("0", "64")
    assert len(found.picture.counts) == BINS
    assert found.picture.counts[0] == 2
    assert found.picture.counts[16] == 1
    assert dict(found.facts)["median"] == "1.5"
    assert found.unit == "years"


def test_few_integers_get_a_bar_each() -> None:
    column = Column(name="visits", kind="number", low=0, high=4, integer=True)
    found = summarise(column, pa.chunked_array([pa.array([0, 4, 4, 2])]))
    assert found.picture == Histogram((1, 0, 1, 0, 2), "0", "4")


@pytest.mark.parametrize(("low", "middle"), [(0, np.sqrt(100.0) - 1), (1, np.sqrt(99.0))])
def test_a_log_scale_is_drawn_as_one(low: float, middle: float) -> None:
    column = Column(name="stay", kind="number", low=low, high=99, log=True)
    found = summarise(column, pa.chunked_array([[float(low), middle - 0.01, middle + 0.01, 99.0]]))
    assert isinstance(found.picture, Histogram)
    assert found.picture.log
    halves = sum(found.picture.counts[: BINS // 2]), sum(found.picture.counts[BINS // 2 :])
    assert halves == (2, 2)


def test_dates_and_times() -> None:
    days = Column(name="day", kind="date", low=date(2020, 1, 1), high=date(2020, 1, 31))
    found = summarise(days, pa.chunked_array([[date(2020, 1, 1), date(2020, 1, 31), date(2020, 1, 31)]]))
    assert isinstance(found.picture, Histogram)
    assert (found.picture.counts[0], found.picture.counts[-1]) == (1, 2)
    assert (found.picture.low, found.picture.high) == ("2020-01-01", "2020-01-31")
    assert dict(found.facts)["median"] == "2020-01-31"

    times = Column(name="at", kind="date", low=datetime(2020, 1, 1), high=datetime(2020, 1, 2))
    found = summarise(times, pa.chunked_array([[datetime(2020, 1, 1, 12, 30)]]))
    assert dict(found.facts)["median"] == "2020-01-01 12:30"


def test_categories_keep_their_declared_order_and_declared_but_absent_ones_show() -> None:
    column = Column(name="ward", kind="category", values=("north", "south", "east"))
    found = summarise(column, pa.chunked_array([["east", "south", "east", "east"]]))
    assert found.picture == Bars(("north", "south", "east"), (0.0, 0.25, 0.75), 0, 0.0)


def test_many_categories_are_cut_to_the_frequent_ones() -> None:
    values = tuple(f"v{i}" for i in range(30))
    cells = [f"v{i}" for i in range(30) for _ in range(i + 1)]
    found = summarise(Column(name="c", kind="category", values=values), pa.chunked_array([cells]))
    assert isinstance(found.picture, Bars)
    assert found.picture.labels[:2] == ("v29", "v28")
    assert len(found.picture.labels) + 1 == MOST_BARS
    assert found.picture.hidden == 30 - len(found.picture.labels)
    assert sum(found.picture.shares) + found.picture.hidden_share == pytest.approx(1)


def test_numbers_and_booleans_as_categories() -> None:
    numbers = Column(name="grade", kind="category", values=(1, 2, 3))
    assert summarise(numbers, pa.chunked_array([[3, 3, 1]])).picture == Bars(
        ("1", "2", "3"), (1 / 3, 0.0, 2 / 3)
    )
    flag = Column(name="smoker", kind="boolean", missing="indicator")
    found = summarise(flag, pa.chunked_array([[True, None, True, False]]))
    assert found.picture == Bars(("false", "true"), (1 / 3, 2 / 3))
    assert dict(found.facts)["missing"] == "25%"


def test_a_column_without_any_known_cell_is_drawn_empty() -> None:
    column = Column(name="age", kind="number", low=0, high=1, missing="indicator")
    found = summarise(column, pa.chunked_array([pa.array([None, None], pa.float64())]))
    assert isinstance(found.picture, Histogram)
    assert sum(found.picture.counts) == 0
    assert found.facts == (("missing", "100%"),)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (12345.0, "12,345"),
        (0.2, "0.2"),
        (0.0184, "0.0184"),
        (12.3456, "12.35"),
        (137.0001, "137"),
        (1.5e9, "1,500,000,000"),
        (1.5e-9, "1.5e-09"),
        (float("inf"), "inf"),
    ],
)
def test_tidy(value: float, text: str) -> None:
    assert tidy(value) == text
