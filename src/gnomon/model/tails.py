"""Rows beyond the quantiles of columns, and beside their atoms: one law for all columns, since few rows of each are seen.

Beyond the last quantile, or beside an atom that nearly all rows share, bins are octaves. A power law changes by one
factor from octave to octave, an exponential law by the square of the last one. A column's noisy counts hardly tell one
from the other, but the columns together show which tails there are (empirical Bayes: the mixing law by EM), and each
column is read in that light.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.model.shrinkage import Floats

SIZES = np.append(0.0, 2.0 ** np.arange(-3, 4))  # rows of a tail, in those that were planned there
FACTORS = np.arange(1, 8) / 8  # of masses from one octave to the next
STEPS = 2**6  # of EM
NONE = -14.0  # log of a share that stands for none


@dataclass(frozen=True)
class Tail:
    """Noisy counts of octaves, nearest first, the rows planned there, and a noisy count of all of them (of a quiet one)."""

    places: tuple[int, ...]
    counts: Floats
    noise: float
    planned: float
    total: float
    total_noise: float

    @property
    def quiet(self) -> bool:
        """Whether it lies beside an atom that nearly all rows share."""
        return math.isfinite(self.total_noise)

    def shapes(self) -> Floats:
        """log-shares (F, K) of the octaves: power and exponential laws; beside an atom, the even law of public bounds."""
        octaves = np.arange(len(self.counts))
        if self.quiet:
            logs = octaves[None, :] * math.log(2)
        else:
            logs = np.concatenate([np.outer(np.log(FACTORS), steps) for steps in (octaves, 2.0**octaves - 1)])
        logs = np.maximum(logs, NONE)
        return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))

    def fit(self) -> Floats:
        """log-likelihood (S, F) of sizes and shapes."""
        rows = self.planned * SIZES
        away = self.counts - rows[:, None, None] * np.exp(self.shapes())
        total = ((self.total - rows) / self.total_noise) ** 2
        return np.asarray(-((away**2).sum(axis=-1) / self.noise**2 + total[:, None]) / 2)


def tail_masses(tails: Sequence[Tail], least: float = 0.0) -> list[Floats]:
    """Rows in the octaves of every tail; those beside atoms have a law of their own, and `least` of their mean each."""
    found: dict[int, Floats] = {}
    for quiet in (False, True):
        alike = [i for i, tail in enumerate(tails) if tail.quiet == quiet]
        if alike:
            found |= dict(
                zip(alike, _of_one_law([tails[i] for i in alike], quiet, least * quiet), strict=True)
            )
    return [found[i] for i in range(len(tails))]


def _of_one_law(tails: Sequence[Tail], quiet: bool, least: float) -> list[Floats]:
    """Size and log-shares are posterior means, not the masses: a small chance of a long tail is no long tail."""
    fit = np.stack([tail.fit() for tail in tails])
    fit = np.exp(fit - fit.max(axis=(1, 2), keepdims=True))
    more = np.zeros(fit.shape[1:])  # one column more: constant beside an atom, anything beyond a quantile
    more[: 1 if quiet else None] = 1.0
    more /= more.sum()
    prior = np.full(fit.shape[1:], 1 / fit[0].size)
    for _ in range(STEPS):
        posterior = fit * prior
        posterior /= posterior.sum(axis=(1, 2), keepdims=True)
        prior = (posterior.sum(axis=0) + more) / (len(tails) + 1)
    by_shape = [tail.planned * (SIZES @ p) for tail, p in zip(tails, posterior, strict=True)]
    sizes = np.array([rows.sum() for rows in by_shape])
    found = []
    for tail, rows, size in zip(tails, by_shape, np.maximum(sizes, least * sizes.mean()), strict=True):
        shares = np.exp((rows / max(float(rows.sum()), math.exp(NONE))) @ tail.shapes())
        found.append(_cut(size * shares / max(shares.sum(), math.exp(NONE))))
    return found


def _cut(rows: Floats) -> Floats:
    """No octave from which on less than half a row is expected."""
    beyond = np.cumsum(rows[::-1])[::-1]
    return np.asarray(np.where(beyond >= 1 / 2, rows, 0.0))
