"""Attacks on noise as the papers print it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gnomon.audit.attack import Attack, Runs
from gnomon.audit.methods import fitted
from gnomon.errors import ParameterError
from gnomon.methods.ron_gauss import RonGauss
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.mechanism import Event, release_vector
from gnomon.statistics.frame import Frame
from gnomon.statistics.queries import Moments
from gnomon.table.rows import Rows

Whole = npt.NDArray[np.int64]


def covariance_attack(epsilon: float, p: int) -> Attack:
    """RON-Gauss, Lemma 4: every entry of the covariance meets Laplace noise of scale 2 sqrt(p) / epsilon.

    The noise is drawn by the mechanism, sensitivity and loss that a real release with the printed calibration used.
    All p^2 entries of the worst pair's change are equally large, and the noise of the entries is independent and
    identically distributed, so the scores of one entry bound epsilon p^2 times over.
    """
    if p < 2:
        raise ParameterError(
            "The covariance attack needs at least 2 components; give --components 2 or more."
        )
    used = _printed_event(epsilon, p)
    assert isinstance(used.loss, PureDP)
    loss = PureDP(used.loss.epsilon)
    even = p - p % 2
    tables = _worst_covariances(even, p)
    change = tables[1] - tables[0]
    moved = change != 0

    def release(neighbour: bool, runs: int) -> Runs:
        value = np.tile(tables[int(neighbour)], (runs, 1))
        noisy = release_vector(value, used.sensitivity, loss, statistic=used.statistic).value
        aligned = ((noisy - tables[0]) * np.sign(change))[:, moved]
        scores: Runs = aligned.astype(np.float64).ravel()
        return scores

    name = f"RON-Gauss covariance of {p} components, as printed"
    return Attack(name, "rows at 45 degrees in blocks", loss, release, copies=int(moved.sum()))


def _printed_event(epsilon: float, p: int) -> Event:
    """What a real release with the printed calibration spends on its covariance."""
    X = np.eye(p)[:2] if p > 1 else np.array([[1.0], [-1.0]])
    method = RonGauss(epsilon, bounds=(-1, 1), n_components=p, calibration="paper", random_state=0)
    used: Event = fitted(method, X, None).events_[-1]
    return used


def _worst_covariances(even: int, p: int) -> Whole:
    """The integer second moments (2, p^2) of x = (c..c, s..s) and y = (-s..-s, c..c), unit rows, at 22.5 degrees."""
    half = even // 2
    c, s = math.cos(math.pi / 8) / math.sqrt(half), math.sin(math.pi / 8) / math.sqrt(half)
    pair = np.zeros((2, p))
    pair[0, :even] = np.r_[np.full(half, c), np.full(half, s)]
    pair[1, :even] = np.r_[np.full(half, -s), np.full(half, c)]
    query = Moments("", Frame.identity(p, radius=1.0, normalise=True))
    return np.stack([query.of_batch(Rows.of(row[None, :])).ravel() for row in pair])
