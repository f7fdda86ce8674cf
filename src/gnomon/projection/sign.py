"""Random signs, +-1/sqrt(k): the projection whose every row has length 1, so that no cell is louder than another."""

from __future__ import annotations

import math

import numpy as np

from gnomon.projection.gaussian import on_grid
from gnomon.statistics.grid import Matrix


def sign(m: int, k: int, rng: np.random.Generator) -> Matrix:
    """R (m, k) with independent entries +-1/sqrt(k): E ||xR||^2 = ||x||^2 and theta_2(R) = 1 (Achlioptas 2003)."""
    signs = np.where(rng.integers(0, 2, (m, k)) == 0, -1.0, 1.0)
    return on_grid(signs / math.sqrt(k))
