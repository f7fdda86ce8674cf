"""Bounds that are paid for: near the data where there are rows enough, and always in the account."""

import math

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import ParameterError
from gnomon.methods.bounds import COARSE, _full_bins, _histogram, _without_empty_ends
from gnomon.privacy import accounting
from gnomon.privacy.noise.stream import fixed_noise


def table(n: int = 5000) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "pressure": rng.normal(1000.0, 5.0, n),
            "income": rng.lognormal(9.0, 1.0, n),
            "visits": rng.integers(0, 20, n),
            "kind": np.array(["a", "b"])[rng.integers(0, 2, n)],
        }
    )


def schema() -> gn.Schema:
    return gn.Schema.loads(
        """
        [columns.pressure]
        kind = "number"
        estimate = true
        [columns.income]
        kind = "number"
        estimate = true
        [columns.visits]
        kind = "number"
        integer = true
        estimate = true
        [columns.kind]
        kind = "category"
        values = ["a", "b"]
        role = "target"
        """
    )


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_paid_bounds_lie_near_the_data(delta: float) -> None:
    with fixed_noise(1):  # by chance an empty bin looks full, once in twenty releases
        method = gn.RonGauss(20.0, delta, schema=schema()).fit(table())
    pressure, income, visits = (method.schema_[name] for name in ("pressure", "income", "visits"))
    assert 900 < pressure.low < 1000 < pressure.high < 1100
    assert income.low >= 0
    assert 10_000 < income.high < 300_000
    assert (visits.low, visits.high) == (0, 20) or (visits.low >= 0 and 15 <= visits.high <= 32)
    assert isinstance(visits.low, int)
    assert sum("histograms" in event.statistic for event in method.events_) == 2
    assert sum("estimated" in line for line in method.certificate_.public) == 3


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_estimate_is_part_of_the_budget(delta: float) -> None:
    method = gn.RonGauss(1.0, delta, schema=schema(), n_components=2).fit(table())
    losses = [event.loss for event in method.events_]
    assert len(losses) == 4
    if delta == 0:
        assert math.isclose(sum(loss.epsilon for loss in losses), 1.0)
    else:
        assert accounting.delta_of(math.sqrt(sum(loss.mu**2 for loss in losses)), 1.0) <= delta * (1 + 1e-9)


def test_one_record_moves_one_count_down_and_one_up_in_every_histogram() -> None:
    values = np.array([-np.inf, np.inf, np.nan, 0.0, -0.0, 1e-300, 5.0, 2.0**61, -(2.0**70)])
    for old in values:
        for new in values:
            moved = _histogram(pa.array([new]), COARSE) - _histogram(pa.array([old]), COARSE)
            assert np.abs(moved).sum() <= 2
    assert _histogram(pa.array([None, 3.0]), COARSE).sum() == 1


def test_nothing_found_falls_back_to_the_fullest_bin() -> None:
    assert _full_bins(np.array([0.0, 1.0, 2.0]), np.array([3, 9]), 100.0) == (1.0, 2.0)
    low, high = _full_bins(np.array([-np.inf, 0.0, np.inf]), np.array([500, 900]), 100.0)
    assert math.isfinite(low)
    assert math.isfinite(high)


def test_only_empty_ends_are_cut() -> None:
    edges, counts = np.arange(7.0), np.array([2, -3, 900, 0, 800, 5])
    assert _without_empty_ends(edges, counts, 5.0) == (2.0, 5.0)
    assert _without_empty_ends(edges, np.zeros(6, dtype=np.int64), 5.0) == (0.0, 6.0)


def test_printed_noise_has_no_price_for_bounds() -> None:
    with pytest.raises(ParameterError, match="no paper prints a price"):
        gn.RonGauss(1.0, schema=schema(), calibration="paper").fit(table(50))
