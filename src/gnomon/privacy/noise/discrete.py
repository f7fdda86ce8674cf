"""OpenDP's discrete Gaussian and Laplace: a second opinion on our samplers, and the bit-exact zCDP option.

Exact, and slow: about 0.1 million values a second. OpenDP draws its own random bits; `fixed_noise` does not
reach it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.rounding import float_up, fraction, root_up

TOTAL_VARIATION = 0.0

_LARGEST = 2.0**55  # OpenDP would answer with the end of the int64 range where a value leaves it
_AT_ONCE = 1 << 16  # OpenDP takes Python lists


def discrete_gaussian(sigma: float, size: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Independent integers with P(k) proportional to exp(-k^2 / (2 sigma^2))."""
    _check("discrete_gaussian", "sigma", sigma)
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return _draw(dp.m.make_gaussian(*space, scale=float(sigma)), size)


def discrete_laplace_reference(scale: float, size: int | tuple[int, ...]) -> NDArray[np.int64]:
    """Independent integers with P(k) proportional to exp(-|k| / scale)."""
    _check("discrete_laplace_reference", "scale", scale)
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return _draw(dp.m.make_laplace(*space, scale=float(scale)), size)


def _opendp() -> Any:
    """OpenDP, imported at first use because it is large."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def _draw(measurement: Any, size: int | tuple[int, ...]) -> NDArray[np.int64]:
    n = math.prod(size) if isinstance(size, tuple) else size
    out = np.empty(n, dtype=np.int64)
    for start in range(0, n, _AT_ONCE):
        part = out[start : start + _AT_ONCE]
        part[:] = measurement([0] * len(part))
    return out.reshape(size)


def _check(function: str, name: str, value: float) -> None:
    if not 0 < value <= _LARGEST:
        raise ParameterError(
            f"The '{name}' parameter of {function} must be a number in (0, 2^55]. Got {value} instead."
        )


def discrete_goe(q: int, sigma: float, blocks: int) -> NDArray[np.int64]:
    """Independent discrete Gaussians on i <= j, mirrored: sigma on the diagonal, sigma / sqrt(2) beside it,
    rounded up.

    Their Renyi divergences add: sum_i D_ii^2 / (2 sigma^2) + sum_{i<j} D_ij^2 / sigma^2 = ||D||_F^2 / (2
    sigma^2).
    """
    beside = float_up(root_up(fraction(sigma) ** 2 / 2))
    rows, columns = np.triu_indices(q, 1)
    noise = np.zeros((blocks, q, q), dtype=np.int64)
    noise[:, range(q), range(q)] = discrete_gaussian(sigma, (blocks, q))
    noise[:, rows, columns] = discrete_gaussian(beside, (blocks, len(rows)))
    noise[:, columns, rows] = noise[:, rows, columns]
    return noise
