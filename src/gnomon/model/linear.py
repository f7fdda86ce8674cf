"""A Gaussian of rows and their target from noisy moments: the slope is found so that noise cannot inflate it."""

from __future__ import annotations

import numpy as np

from gnomon.model.repair import shrink_weight
from gnomon.model.spectrum import Spectrum, Vector

MOST_EXPLAINED = 0.95
PENALTY = 0.5  # of the ridge, in units of what the noise adds to the covariance of the rows


def target_covariance(found: Spectrum, cross: Vector, noise: float, variance: float) -> Vector:
    """Cov(x, y) (m,), in the spectrum's axes, from its noisy version `cross` with noise `noise` a coordinate.

    The slope is that of a ridge whose penalty is near noise * sqrt(m), the size of what the noise adds to the
    covariance of x; then it is shrunk by what the noise adds to `cross`. Var(y) bounds what x can explain.
    """
    axes = found.vectors.T @ cross
    penalty = PENALTY * found.noise * np.sqrt(len(axes))
    gain = found.floored / (found.floored + penalty)
    shrunk = axes * gain
    shrunk = shrunk * shrink_weight(float(shrunk @ shrunk), float(noise**2 * np.sum(gain**2)))
    explained = float(np.sum(shrunk**2 / found.floored))
    if explained > MOST_EXPLAINED * variance:
        shrunk = shrunk * np.sqrt(MOST_EXPLAINED * variance / explained)
    found_cross: Vector = shrunk
    return found_cross
