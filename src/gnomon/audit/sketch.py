"""What two probabilities tell about a Gaussian sketch: a bound on how much one record stands out of its lift."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.special import gammaincc
from scipy.stats import chi2

from gnomon.audit.bound import Family, Shares
from gnomon.audit.instrumentation import Step
from gnomon.audit.likelihood import lifted
from gnomon.methods.baseline.sketch import sketch_epsilon

Vector = npt.NDArray[np.float64]
NODES = 64  # of the average over one chi-square variable
TAUS = np.geomspace(0.02, 4.0, 300)  # how much a record may stand out: steps of less than 1.8%


def sketch_family(delta: float, rows: int) -> Family:
    """The mechanism claims to be a sketch of so many rows: tau = T / w^2, and the epsilon that its account gives tau."""

    def epsilon(tau: float) -> float:
        return sketch_epsilon(Fraction(tau), rows, delta) if tau > 1e-6 else 0.0

    return Family(lambda shares: standing_out(shares, rows), epsilon)


def standing_out(shares: Shares, rows: int) -> Vector:
    """The smallest tau for which orthogonal records allow both shares.

    Along the two records the sketches have variances 1 + tau and 1, or 1 and 1 + tau; the likelihood ratio is a
    function of the difference of the squared lengths there, C = (1 + tau) chi2 - chi2 or chi2 - (1 + tau) chi2 with
    `rows` degrees of freedom each. The best event of probability `other` has at most the probability power(tau).
    """
    likelier, other = np.broadcast_arrays(shares.likelier, shares.other)
    enough = np.stack([np.interp(other, *curve) >= likelier for curve in _curves(rows)])
    place = np.where(enough.any(axis=0), enough.argmax(axis=0), len(TAUS))
    found: Vector = np.where(place > 0, TAUS[np.maximum(place - 1, 0)], 0.0)
    return found


@lru_cache(maxsize=4)
def _curves(rows: int) -> list[tuple[Vector, Vector]]:
    """For every tau the probabilities (other, likelier) of the best events, by increasing size."""
    nodes = chi2.ppf((np.arange(NODES) + 0.5) / NODES, rows)
    found = []
    for wide in 1 + TAUS:
        ends = chi2.ppf([1e-7, 1 - 1e-7], rows)
        t = np.linspace(wide * ends[1], ends[0] - wide * ends[1], 250)
        other = _above(t[:, None] + wide * nodes, rows).mean(axis=1)
        likelier = _above((t[:, None] + nodes) / wide, rows).mean(axis=1)
        found.append((np.r_[0.0, other], np.r_[0.0, likelier]))
    return found


def _above(x: Vector, rows: int) -> Vector:
    """The probability that a chi-square variable exceeds x."""
    found: Vector = gammaincc(rows / 2, np.maximum(x, 0.0) / 2)
    return found


def stands_out(first: Step, second: Step) -> float:
    """By how much a record stretches the matrix of any class along itself: tau, for the pair that is attacked."""
    pairs = zip(lifted(first), lifted(second), strict=True)
    ratios = np.concatenate([eigh(S, R, eigvals_only=True) for S, R in pairs])
    return float(max(ratios.max(), 1 / ratios.min())) - 1
