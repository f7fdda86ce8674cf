"""Rows beyond the quantiles of columns, and beside their atoms: one law for all columns, since few rows of each are seen.

Rows beyond a far quantile follow nearly a generalised Pareto law of their distance from it (Pickands 1975; Balkema and de
Haan 1974): a power law, an exponential one, or one that ends. A column's noisy counts hardly tell one from the other, but
the columns together show which tails there are (empirical Bayes: the mixing law by EM), and each column is read in that
light: what stands out of its noise decides how many rows lie where nothing does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.model.shrinkage import Floats, mixing_law

SIZES = np.append(0.0, 2.0 ** np.arange(-3, 4))  # rows of a tail, in those that were planned there
BEYOND = 1 / (1 + 2.0 ** np.arange(-3, 17))  # of the rows of a tail, those beyond its first bin
SHAPES = (
    np.arange(-1, 5) / 2
)  # of the Pareto law: below 0 it ends, at 0 it is exponential, from 1/2 on no variance is finite
NONE = -14.0  # log of a share that stands for none


@dataclass(frozen=True)
class Tail:
    """Noisy counts of bins, nearest first, with the rows expected in all of them; beside an atom, a noisy count of these.

    `ends` (K,) are the outer ends of the bins: distances from where the tail begins, the first bin is 1 wide. Only the
    last of them, `places`, are to be estimated; the others stand out and show what law it is.
    """

    places: tuple[int, ...]
    ends: Floats
    counts: Floats
    noise: Floats
    planned: float
    total: float = 0.0
    total_noise: float = math.inf

    @property
    def quiet(self) -> bool:
        """Whether it lies beside an atom that nearly all rows share."""
        return math.isfinite(self.total_noise)

    def shares(self) -> Floats:
        """log-shares (F, K) of the bins by law; beside an atom, the even law of public bounds."""
        if self.quiet:
            logs = np.log(2.0) * np.arange(len(self.ends))[None, :]
        else:
            beyond = np.concatenate([_pareto(np.append(0.0, self.ends), shape) for shape in SHAPES])
            logs = np.log(np.maximum(beyond[:, :-1] - beyond[:, 1:], math.exp(NONE)))
        return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))

    def fit(self) -> Floats:
        """log-likelihood (S, F) of sizes and laws: noise, and rows that fall into bins by chance."""
        rows = self.planned * SIZES
        expected = rows[:, None, None] * np.exp(self.shares())
        variance = self.noise**2 + expected
        away = ((self.counts - expected) ** 2 / variance + np.log(variance)).sum(axis=-1)
        return np.asarray(-(away + ((self.total - rows[:, None]) / self.total_noise) ** 2) / 2)


def _pareto(x: Floats, shape: float) -> Floats:
    """Of the rows of a tail those beyond x (q, K), where a share q in `BEYOND` lies beyond 1."""
    q = BEYOND[:, None]
    if shape == 0:
        return np.asarray(q**x)
    return np.asarray(np.maximum(1 + x * (q**-shape - 1), 0.0) ** (-1 / shape))


def tail_masses(tails: Sequence[Tail], least: float = 0.0) -> list[Floats]:
    """Rows in the places of every tail; those beside atoms have a law of their own, and `least` of their mean each."""
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
    posterior = mixing_law(fit, more)
    by_shape = [tail.planned * (SIZES @ p) for tail, p in zip(tails, posterior, strict=True)]
    sizes = np.array([rows.sum() for rows in by_shape])
    found = []
    for tail, rows, size in zip(tails, by_shape, np.maximum(sizes, least * sizes.mean()), strict=True):
        shares = np.exp((rows / max(float(rows.sum()), math.exp(NONE))) @ tail.shares())
        found.append(_cut(size * shares / max(shares.sum(), math.exp(NONE)))[-len(tail.places) :])
    return found


def _cut(rows: Floats) -> Floats:
    """No bin from which on less than half a row is expected."""
    beyond = np.cumsum(rows[::-1])[::-1]
    return np.asarray(np.where(beyond >= 1 / 2, rows, 0.0))
