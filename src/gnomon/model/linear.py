"""A Gaussian of rows and their target from noisy moments: the slope is found so that noise cannot inflate it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gnomon.model.mixture import Mixture
from gnomon.model.refine import Lens
from gnomon.model.repair import shrink_weight
from gnomon.model.spectrum import Spectrum, Vector, spectrum
from gnomon.statistics.grid import Matrix

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


def kept_variance(widths: float) -> float:
    """The variance of a standard normal variable that is clipped to [-widths, widths]; the rest is given back."""
    beyond = math.erfc(widths / math.sqrt(2))
    density = math.exp(-(widths**2) / 2) / math.sqrt(2 * math.pi)
    return 1 - beyond - 2 * widths * density + widths**2 * beyond


@dataclass(frozen=True)
class Slope:
    """y = level + slope' (c - mean) + e, where c has this mean (P,) and covariance (P, P), and e the variance `rest`."""

    mean: Vector
    covariance: Matrix
    slope: Vector
    level: float
    rest: float

    def mixture(self, centre: float, unit: float) -> Mixture:
        """One Gaussian of c and, as its last coordinate, centre + unit * y."""
        P = len(self.mean)
        cross = unit * (self.covariance @ self.slope)
        joint = np.empty((P + 1, P + 1))
        joint[:P, :P] = self.covariance
        joint[P, :P] = joint[:P, P] = cross
        joint[P, P] = unit * float(self.slope @ cross) + unit**2 * self.rest
        return Mixture(np.ones(1), np.r_[self.mean, centre + unit * self.level][None], joint[None])

    @classmethod
    def of(cls, mixture: Mixture) -> Slope:
        """The slope of the last coordinate of a Gaussian on the others."""
        mean, joint, P = mixture.means[0], mixture.covariances[0], mixture.dimension - 1
        slope = np.linalg.lstsq(joint[:P, :P], joint[:P, P], rcond=None)[0]
        rest = max(float(joint[P, P] - slope @ joint[:P, P]), 0.0)
        return cls(mean[:P], joint[:P, :P], slope, float(mean[P]), rest)


def refined_slope(first: Slope, lens: Lens, sums: Matrix, noise: Matrix, n: int, reach: float) -> Slope:
    """The slope after the second stage.

    sums, noise (P + 2, P + 2)   noisy second moments of n rows (z, d, 1) and the noise of an entry, where z is what
                                 the lens shows of a row and d the distance of its target from the first slope; rows
                                 outside the lens's ball have less weight, and the last entry holds the sum of weights;
    reach                        the distance that d was clipped to.
    """
    P = len(first.mean)
    total = float(np.clip(sums[-1, -1], 0.2 * n, n))
    S, noise = sums / total, noise / total
    shift = S[:P, -1] * shrink_weight(float(S[:P, -1] @ S[:P, -1]), P * float(noise[0, -1]) ** 2)
    level = float(S[P, -1]) * shrink_weight(float(S[P, -1]) ** 2, float(noise[P, -1]) ** 2)
    start = lens.K @ first.covariance @ lens.K / lens.radii[0] ** 2
    move = S[:P, :P] - np.outer(shift, shift) - start
    weight = shrink_weight(float(np.sum(move**2)), P * (P + 1) * float(noise[0, 0]) ** 2)
    found = spectrum(start + weight * move, weight * float(noise[0, 0]))
    variance = min(max(float(S[P, P]) - level**2, float(noise[P, P]), 1e-12), reach**2)  # d is within reach
    unsure = replace(found, noise=float(noise[0, 0]))
    cross = target_covariance(unsure, S[:P, P] - shift * level, float(noise[0, P]), variance)
    slope = found.vectors @ (cross / found.floored)
    rest = variance / kept_variance(reach / math.sqrt(variance)) - float(np.sum(cross**2 / found.floored))
    back = lens.radii[0] * lens.K_inverse
    forth = lens.K / lens.radii[0]
    return Slope(
        first.mean + back @ shift,
        back @ (found.vectors * found.floored) @ found.vectors.T @ back,
        first.slope + forth @ slope,
        first.level + float(first.slope @ back @ shift) + level,
        rest,
    )
