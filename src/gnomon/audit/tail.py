"""An attack on rows whose promise counts on the law of a projection that was drawn after the table was fixed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from sklearn.base import clone

from gnomon.audit.attack import Attack
from gnomon.audit.whole import Trials
from gnomon.methods.base import Release
from gnomon.privacy.guarantee import Guarantee

NODES = 20_000  # of the average over the projection


def tail_attack(method: Release, claim: Guarantee) -> Attack:
    """One column through one random number, which is published: given it, the noise is Laplace and its cost is known.

    The noise is made for the number that was drawn, or for one that is exceeded with probability delta where that is
    less; so the pair costs epsilon, and a share delta of the projections costs more.
    """
    fresh = clone(method).set_params(random_state=None, n_components=1, classes=None)
    X: npt.NDArray[np.float64] = np.zeros((2, 2, 1))
    X[:, 0, 0] = 1.0, -1.0
    trials = Trials.of(fresh, claim, X, None)
    return Attack(
        f"{method.name}: all that comes out, projection included",
        "opposite rows" if claim.unit.value == "row" else "one attribute at its two ends",
        claim,
        trials.scores,
        slow=5,
        reach=lambda: tail_reach(claim.epsilon, claim.delta),
    )


def tail_reach(epsilon: float, delta: float) -> float:
    """The epsilon at delta of the pair: its cost is epsilon, and more for lengths |g| that are exceeded with delta.

    A Laplace shift that costs c has the hockey stick 1 - exp((e - c) / 2) at e < c; averaged over g it must be delta.
    """
    lengths = norm.isf((np.arange(NODES) + 0.5) / NODES / 2)
    costs = epsilon * np.maximum(lengths / norm.isf(delta / 2), 1.0)
    low, high = 0.0, float(costs.max())
    while high - low > 1e-6:
        middle = (low + high) / 2
        spent = float(np.mean(-np.expm1(np.minimum(middle - costs, 0.0) / 2)))
        low, high = (middle, high) if spent > delta else (low, middle)
    return low
