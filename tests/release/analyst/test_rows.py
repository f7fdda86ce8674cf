"""Distances, neighbours and clusters from noisy rows."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import DataError, ParameterError
from gnomon.release.analyst.law import RowLaw
from gnomon.release.analyst.rows import Distances, Law, NoisyRows

K = 40


def rows(n: int, s: float, seed: int = 0) -> tuple[np.ndarray, NoisyRows]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10)) + 8 * rng.integers(0, 2, n)[:, None]
    R = rng.standard_normal((10, K)) / np.sqrt(K)
    return X, NoisyRows(X @ R + s * rng.standard_normal((n, K)), Law(s, 8.0, 2 / K))


@pytest.mark.parametrize("by", ["normal", "chebyshev"])
def test_intervals_of_distances_hold(by: str) -> None:
    rng, v = np.random.default_rng(1), np.ones(6)
    law, found = Law(0.4, 8.0, 2 / K), []
    for _ in range(2000):
        d = v @ rng.standard_normal((6, K)) / np.sqrt(K)
        noise = 0.4 * rng.standard_normal((2, K))
        value = np.sum((d + noise[0] - noise[1]) ** 2) - 2 * K * 0.16
        low, high = Distances(np.array([value]), law, K).interval(by=by)
        found.append(low[0] <= 6 <= high[0])
    assert np.mean(found) >= (0.93 if by == "normal" else 0.99)
    assert np.mean(found) <= (0.97 if by == "normal" else 1.0)


def test_an_interval_solves_its_own_equation_and_may_be_open_above() -> None:
    law = Law(0.5, 14.0, 2 / K)
    found = Distances(np.array([-1.0, 3.0, 80.0]), law, K)
    low, high = found.interval(0.9)
    r = 1.6448536
    assert np.all(low <= np.maximum(found.value, low))
    assert (high - found.value) / np.sqrt(law.variance(high, K)) == pytest.approx([r] * 3, rel=1e-5)
    assert np.isinf(Distances(np.array([5.0]), Law(0.1, 8.0, 2 / 2), 2).interval()[1]).all()


def test_chebyshevs_bound_is_variance_over_a_square() -> None:
    found = Distances(np.array([4.0]), Law(0.5, 14.0, 0.1), K)
    assert found.chebyshev(10.0)[0] == pytest.approx(found.variance[0] / 100)
    assert found.chebyshev(0.01)[0] == 1.0
    with pytest.raises(ParameterError, match="must be positive"):
        found.chebyshev(0.0)
    with pytest.raises(ParameterError, match="'normal' or 'chebyshev'"):
        found.interval(by="hope")
    with pytest.raises(ParameterError, match="between 0 and 1"):
        found.interval(1.0)


def test_neighbours_are_those_of_all_pairs() -> None:
    X, noisy = rows(200, 0.3)
    found = noisy.neighbours(5, 7)
    pairs = noisy.distances(5, [j for j in range(200) if j != 5])
    assert found.distances.value == pytest.approx(np.sort(pairs.value)[:7])
    assert 5 not in found.places
    same = (X[:, 0] > 4) == (X[5, 0] > 4)
    assert same[found.places].all()
    for count in (0, 200, 2.5):
        with pytest.raises(ParameterError, match="from 1 to 199"):
            noisy.neighbours(5, count)  # type: ignore[arg-type]


def test_clusters_find_the_groups_and_their_inertia_without_the_noise() -> None:
    X, noisy = rows(400, 0.5)
    found = noisy.clusters(2)
    group = X[:, 0] > 4
    agree = np.mean(found.labels == group)
    assert max(agree, 1 - agree) > 0.99
    assert found.inertia == pytest.approx(
        10, rel=0.25
    )  # ten columns of variance one; noise alone would add ten more
    with pytest.raises(ParameterError, match="from 1 to 400"):
        noisy.clusters(0)


def test_a_law_from_anywhere_is_checked() -> None:
    law = RowLaw(0.5, 8.0, 0.1, 64.0, 32.0, "orthonormal")
    assert RowLaw.of_array(law.array()) == law
    good = law.array()
    for broken in (
        good[:5],
        good * np.nan,
        -good,
        np.append(good[:5], 9.0),
        np.where(good == 64.0, 0.0, good),
    ):
        with pytest.raises(DataError, match="does not fit together"):
            RowLaw.of_array(broken)
