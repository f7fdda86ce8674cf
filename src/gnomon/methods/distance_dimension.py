"""The dimension in which projected rows recover distances best, and what they would show: from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gnomon.methods.planning import MethodPlan, PlannedNoise, advise
from gnomon.methods.row_release import even_spread
from gnomon.release.analyst.rows import GAUSSIAN_FOURTH, LAPLACE_FOURTH, Law
from gnomon.table.encode import Encoder


def best_dimension(m: int, squared: float, noise_of: Callable[[int], float], fourth: float) -> int:
    """The k in 1..m whose distance estimates vary least for pairs at squared distance `squared`.

    `noise_of(k)` is the expected noise deviation of a component at k. With Gaussian noise s that does not depend on k this
    is DPPro's Lemma 5: 2 rho^4/k + 8 rho^2 s^2 + 8 k s^4 is least at k = rho^2 / (2 s^2). (The paper differentiates in
    rho^2, and arrives at the same k.)
    """
    choices = range(1, min(m, 1024) + 1)
    a = np.array([squared])
    return min(choices, key=lambda k: float(Law(noise_of(k), fourth, 2 / k).variance(a, k)[0]))


def laplace_dimension(encoder: Encoder, epsilon: float, unit: str, projection: str) -> int:
    """The dimension at which squared distances of evenly spread rows vary least under Laplace noise."""
    if math.isinf(epsilon):
        return encoder.width

    def noise_of(k: int) -> float:
        return math.sqrt(2) * expected_l1(encoder, unit, projection, k) / epsilon

    return best_dimension(encoder.width, even_spread(encoder), noise_of, LAPLACE_FOURTH)


def gaussian_dimension(encoder: Encoder, mu: float, unit: str, projection: str, squared: float) -> int:
    """DPPro's Lemma 5 with the noise that each dimension needs: the smallest variance of Theorem 3."""
    if math.isinf(mu):
        return encoder.width

    def noise_of(k: int) -> float:
        return expected_l2(encoder, unit, projection, k) / mu

    return best_dimension(encoder.width, squared, noise_of, GAUSSIAN_FOURTH)


def expected_l1(encoder: Encoder, unit: str, projection: str, k: int) -> float:
    """About how far a change reaches in L1 through a random matrix of k columns: for choosing k, not for the noise."""
    m = encoder.width
    if unit == "attribute":
        return 2 * (math.sqrt(2 * k / math.pi) + 0.6 * math.sqrt(2 * math.log(m + 1)))
    stretch = math.sqrt(m) + (0.8 * math.sqrt(k) if projection != "orthonormal" else 0.0)
    return 2 * math.sqrt(len(encoder.groups)) * stretch


def expected_l2(encoder: Encoder, unit: str, projection: str, k: int) -> float:
    """The same in L2."""
    m = encoder.width
    if unit == "attribute":
        return 2 * (1.0 if projection == "sign" else 1 + math.sqrt(math.log(m + 1) / k))
    stretch = math.sqrt(m / k) + (0.0 if projection == "orthonormal" else 1.0)
    return 2 * math.sqrt(len(encoder.groups)) * stretch


def row_plan(name: str, encoder: Encoder, k: int, std: float, mechanism: str, fourth: float) -> MethodPlan:
    """The plan of a release of projected rows: the relative error of a squared distance of evenly spread rows."""
    a = even_spread(encoder)
    error = math.sqrt(float(Law(std, fourth, 2 / k).variance(np.array([a]), k)[0])) / a
    noise = PlannedNoise(
        "one component of a row", mechanism, std / math.sqrt(a / 2 / encoder.width), "spreads"
    )
    return MethodPlan(name, "rows", k, (noise,), error, advise(error))
