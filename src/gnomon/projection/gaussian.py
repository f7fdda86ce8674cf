"""Gaussian projections N(0, 1/k), the matrices of Johnson and Lindenstrauss, on a grid that products stay exact on."""

from __future__ import annotations

import math

import numpy as np

from gnomon.statistics.grid import Matrix

FINE = (
    2.0**22
)  # every entry of a projection of rows is a multiple of 1/FINE, so it is published as it is used


def gaussian(m: int, k: int, rng: np.random.Generator) -> Matrix:
    """R (m, k) with independent entries N(0, 1/k): E ||xR||^2 = ||x||^2."""
    return on_grid(rng.standard_normal((m, k)) / math.sqrt(k))


def unseeded_gaussian(m: int, k: int) -> Matrix:
    """The same law drawn exactly and from no seed, for promises that count on nobody knowing R beforehand."""
    from gnomon.privacy.noise.gaussian import rounded_gaussian

    R: Matrix = rounded_gaussian(FINE / math.sqrt(k), (m, k)) / FINE
    return R


def on_grid(R: Matrix) -> Matrix:
    """The nearest matrix of multiples of 1/FINE."""
    nearest: Matrix = np.rint(R * FINE) / FINE
    return nearest
