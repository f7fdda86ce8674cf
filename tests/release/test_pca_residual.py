"""The second stage of PCA-Gauss with a numeric target: what it costs, that no row costs more, and what it is worth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LinearRegression

import gnomon as gn
from gnomon.model.linear import Slope, refined_slope
from gnomon.model.mixture import Mixture
from gnomon.model.refine import Lens
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ApproxDP, PureDP
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.release import pca_regression
from gnomon.release.map import PublicMap
from gnomon.release.pca_gauss import PcaGauss
from gnomon.release.pca_regression import FEWEST, stages
from gnomon.release.pca_residual import CONSTANT, DISTANCE, Residuals, bearable
from gnomon.release.pca_stages import through
from gnomon.statistics.grid import GRID, into_ball
from gnomon.table.encode import Rows

SOME = spendable(ApproxDP(1.0, 1e-6))


def related(n: int, m: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns that nearly repeat each other; the target depends on how they differ, a short direction."""
    rng = np.random.default_rng(seed)
    X = 0.4 * rng.standard_normal((n, 1)) + 0.05 * rng.standard_normal((n, m))
    y = 3.0 * (X[:, 0] - X[:, 1]) + 0.05 * rng.standard_normal(n)
    return np.clip(X, -1, 1), np.clip(y, -1, 1)


def regression(epsilon: float = 1.0, delta: float = 1e-6, **more: Any) -> PcaGauss:
    return PcaGauss(epsilon, delta, bounds=(-1, 1), target_bounds=(-1, 1), random_state=0, **more)


def score(method: PcaGauss) -> float:
    X, y = related(4000, seed=1)
    return float(LinearRegression().fit(*method.sample(6000)).score(method.transform(X), y))


# --- When there is one ---


@pytest.mark.parametrize(
    ("n", "m", "most"),
    [
        (100_000, 20, 20),  # all columns
        (300, 10, 0),  # none: their noise would hide them
    ],
)
def test_public_numbers_say_how_many_dimensions_a_second_stage_bears(n: int, m: int, most: int) -> None:
    assert stages(n, m, SOME).most == most
    if not most:  # nor where few are asked for: stage one needs everything to find them
        assert stages(n, m, SOME, wanted=1).most == 0


def test_a_wide_table_gets_the_dimensions_that_it_can_bear() -> None:
    staged = stages(20_000, 300, SOME)
    assert FEWEST <= staged.most < 300
    assert staged.weighing is not None
    assert stages(20_000, 300, SOME, wanted=FEWEST).most == FEWEST


def test_more_rows_bear_more_dimensions_until_all_are_borne() -> None:
    found = [bearable(n, 50, SOME) for n in (100, 1000, 5000, 20_000, 10**6)]
    assert found == sorted(found)
    assert found[0] < found[-1] == 50
    assert bearable(10, 50, PureDP(math.inf)) == 50


# --- What it costs ---


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (4.0, 0.0)])
def test_what_is_spent_is_what_was_declared(epsilon: float, delta: float) -> None:
    events = regression(epsilon, delta).fit(*related(20_000)).events_
    told = [event.statistic for event in events]
    last = "moment matrix of rows and their distance from the first slope in the released subspace"
    assert told[-2:] == [last, "histograms of 12 columns"]
    assert "histogram of the distances of the target from the first slope" in told
    if delta == 0:
        assert sum(event.loss.epsilon for event in events) == pytest.approx(epsilon)
    else:
        whole = spendable(ApproxDP(epsilon, delta)).mu
        assert math.sqrt(sum(event.loss.mu**2 for event in events)) == pytest.approx(whole)


def _residuals(seed: int, m: int = 67) -> Residuals:
    """A lens, a slope and a range of the target that no honest table would lead to."""
    rng = np.random.default_rng(seed)
    W = np.linalg.qr(rng.standard_normal((m, m)))[0]
    reach = float(rng.uniform(0.05, 3))
    weight = 10.0 ** rng.uniform(-2, 2, m)
    chart = PublicMap(rng.uniform(-1, 1, m), weight, False, W, np.zeros(m), reach, reach=reach)
    spreads = 10.0 ** rng.uniform(-6, 0, m)
    lens = Lens.of(np.zeros((1, m)), np.diag(spreads), whole=True)
    slope = rng.standard_normal(m) * 10.0 ** rng.uniform(-3, 3)
    return Residuals(
        through(chart, lens), slope, float(rng.uniform(-1, 1)), 0.1, float(10.0 ** rng.uniform(-4, 0))
    )


def _extreme(seed: int, n: int = 400, m: int = 67) -> Rows:
    rng = np.random.default_rng([seed, 1])
    X = rng.choice([-1.0, 1.0, 0.0, -0.0, 5e-324, 1 - 2**-53], (n, m))
    X[::2] = rng.uniform(-1, 1, X[::2].shape)
    return Rows(np.asfortranarray(X), rng.choice([-1.0, 1.0, 0.0, 0.3], n))


@pytest.mark.parametrize("seed", range(20))
def test_every_row_is_in_the_ball_that_is_charged(seed: int) -> None:
    found, rows = _residuals(seed), _extreme(seed)
    Z, weight, distance = found.of(rows)
    q = into_ball(Z, found.seen.fine)
    b, c = np.rint(np.clip(distance, -1, 1) * DISTANCE), np.rint(weight * CONSTANT)
    assert ((q * q).sum(axis=1) + b * b + c * c <= GRID**2 + DISTANCE**2 + CONSTANT**2).all()
    assert ((weight > 0) & (weight <= 1)).all()
    assert np.isfinite(distance).all()


@pytest.mark.parametrize("seed", range(20))
def test_a_row_counts_the_same_in_every_batch(seed: int) -> None:
    """Sums are of integers below 2^53: whatever stands beside a row, its distance has the same bits."""
    found, rows = _residuals(seed), _extreme(seed)
    whole = found.of(rows)
    order = np.random.default_rng(seed).permutation(len(rows.X))
    turned = found.of(Rows(np.ascontiguousarray(rows.X[order]), rows.numbers[order]))
    for one, other in zip(whole, turned, strict=True):
        assert (one[order] == other).all()
    for start in range(0, 40, 3):
        part = found.of(Rows(rows.X[start : start + 3], rows.numbers[start : start + 3]))
        for one, other in zip(whole, part, strict=True):
            assert (one[start : start + 3] == other).all()


# --- What it is worth ---


def test_a_short_direction_that_tells_of_the_target_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = related(20_000)
    with fixed_noise(3):
        with_it = score(regression().fit(X, y))
    monkeypatch.setattr(pca_regression, "stages", lambda *told: pca_regression.Stages(None))
    with fixed_noise(3):
        without = score(regression().fit(X, y))
    assert with_it > 0.8
    assert with_it > without + 0.1


def test_without_noise_the_slope_is_that_of_the_rows() -> None:
    """However wrong the first slope was, and however the rows outside the ball were weighed."""
    rng = np.random.default_rng(0)
    P, n = 4, 5000
    z = rng.standard_normal((n, P)) @ rng.standard_normal((P, P))
    true = rng.standard_normal(P)
    y = 0.3 + z @ true
    first = Slope(np.zeros(P), np.cov(z.T), true + rng.standard_normal(P), 0.1, 0.2)
    lens = Lens.of(np.zeros((1, P)), first.covariance, whole=True)
    seen = z @ lens.K / lens.radii[0]
    weight = 1 / np.maximum(np.linalg.norm(seen, axis=1), 1)
    distance = y - first.level - z @ first.slope
    rows = np.column_stack([seen, distance, np.ones(n)]) * weight[:, None]
    found = refined_slope(first, lens, rows.T @ rows, np.zeros((P + 2, P + 2)), n, reach=1e9)
    # nothing is left to explain here, and no slope is believed to explain more than 95% of a distance
    left = np.linalg.norm(found.slope - true) / np.linalg.norm(first.slope - true)
    assert left == pytest.approx(1 - math.sqrt(0.95), abs=0.01)


@pytest.mark.parametrize("seen", [-3.0, 0.0, 1.0, 40.0])
def test_no_noise_makes_distances_vary_more_than_their_reach_allows(seen: float) -> None:
    """A distance is cut at its reach: its variance is at most the reach's square, and twice that once the cut is undone."""
    first = Slope(np.zeros(1), np.eye(1), np.zeros(1), 0.0, 0.2)
    lens = Lens.of(np.zeros((1, 1)), first.covariance, whole=True)
    n, reach = 100, 0.5
    found = refined_slope(first, lens, n * np.diag([0.5, seen, 1.0]), n * np.full((3, 3), 1e-3), n, reach)
    assert 0 < found.rest < 2 * reach**2


def test_a_slope_and_its_gaussian_say_the_same() -> None:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((3, 3))
    told = Slope(rng.standard_normal(3), A @ A.T, rng.standard_normal(3), 0.4, 0.7)
    joint = told.mixture(0.2, 2.0)
    found = Slope.of(Mixture(joint.weights, joint.means, joint.covariances))
    assert found.slope == pytest.approx(2.0 * told.slope)
    assert found.level == pytest.approx(0.2 + 2.0 * told.level)
    assert found.rest == pytest.approx(4.0 * told.rest)


# --- The target follows the rows that are released ---


def test_the_target_follows_the_cells_that_were_cut_at_their_bounds() -> None:
    """Columns at zero, mostly: a Gaussian's cells are cut there, and the slope on what is left must be the true one."""
    rng = np.random.default_rng(0)
    n = 40_000
    X = (rng.random((n, 6)) < 0.05).astype(float)
    y = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.5, -0.5]) + 0.1 * rng.standard_normal(n)
    schema = gn.Schema.of_arrays(6, (0.0, 1.0), target_bounds=(-3.0, 3.0))
    found = PcaGauss(8.0, 1e-6, schema=schema, random_state=0).fit(X, y)
    released, values = found.sample(20_000)
    assert released.min() == 0.0
    slope = LinearRegression().fit(released, values).coef_
    real = LinearRegression().fit(X, y).coef_
    assert np.abs(slope - real).max() < 0.25


def test_the_target_follows_categories_as_they_were_decoded() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    kinds = np.array(["a", "b", "c"])[rng.choice(3, n, p=[0.8, 0.15, 0.05])]
    number = rng.uniform(0, 1, n)
    y = np.where(kinds == "c", 2.0, np.where(kinds == "b", 1.0, 0.0)) + number + 0.1 * rng.standard_normal(n)
    columns = (
        gn.Column(name="kind", kind="category", values=("a", "b", "c")),
        gn.Column(name="number", kind="number", low=0, high=1),
        gn.Column(name="y", kind="number", low=-1, high=4, role="target"),
    )
    schema = gn.Schema(name="t", columns=columns)
    table = pa.table({"kind": kinds, "number": number, "y": np.clip(y, -1, 4)})
    released = PcaGauss(8.0, 1e-6, schema=schema, random_state=0).fit(table).sample(20_000)
    assert released.column_names == ["kind", "number", "y"]
    means = {
        k: float(np.mean(released["y"].to_numpy()[released["kind"].to_numpy(zero_copy_only=False) == k]))
        for k in "abc"
    }
    assert means["b"] - means["a"] == pytest.approx(1.0, abs=0.25)
    assert means["c"] - means["a"] == pytest.approx(2.0, abs=0.5)
