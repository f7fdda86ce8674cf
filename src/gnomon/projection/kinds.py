"""Random projections by name, scaled so that E ||xR||^2 = ||x||^2, seeded or not."""

from __future__ import annotations

import math
import secrets

import numpy as np

from gnomon.projection.gaussian import FINE, gaussian, on_grid, unseeded_gaussian
from gnomon.projection.orthonormal import haar
from gnomon.projection.sign import sign
from gnomon.statistics.grid import Integers, Matrix

PROJECTIONS = ("gaussian", "orthonormal", "sign")


def seeded(kind: str, m: int, k: int, rng: np.random.Generator) -> Matrix:
    """R (m, k) on the grid 1/FINE."""
    if kind == "orthonormal":
        return on_grid(haar(m, k, rng) * math.sqrt(m / k))
    return (gaussian if kind == "gaussian" else sign)(m, k, rng)


def unseeded(kind: str, m: int, k: int) -> Integers:
    """The same by the operating system's randomness, as integers FINE R to be recorded; a Gaussian one by its exact law."""
    R = (
        unseeded_gaussian(m, k)
        if kind == "gaussian"
        else seeded(kind, m, k, np.random.default_rng(secrets.randbits(256)))
    )
    return np.rint(R * FINE).astype(np.int64)


def stretch_variance(kind: str, m: int, k: int) -> float:
    """The variance of ||vR||^2 for a unit vector v; of signs, an upper bound."""
    return 2 * (m - k) / (k * (m + 2)) if kind == "orthonormal" else 2 / k
