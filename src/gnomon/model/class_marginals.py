"""Marginals of columns within classes: tilted to the model's moments, and raked to counts where these are affordable."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from gnomon.model.columns import Attribute, Bins, interval_bins, value_bins
from gnomon.model.marginal import LEAST, Marginal
from gnomon.model.shrinkage import Floats, onto_simplex, signal_share
from gnomon.model.tuning import RESOLUTION, Tuning
from gnomon.table.rows import CELL

TINY, REACH = RESOLUTION.tiny, -ndtri(RESOLUTION.tiny)  # deviations that hold all of a normal law


def class_bins(attribute: Attribute, own: Marginal, most: float, t: Tuning) -> Bins:
    """Bins at quantiles of what a class is expected to have, with the atoms that it has there."""
    if attribute.values is not None:
        return value_bins(attribute)
    atoms = np.unique(np.append(own.left[own.atom & (own.mass > 2 * LEAST)], [-1.0, 1.0]))
    bins = max(int(min(t.bins, most)), 1)
    inner = own.quantile(np.arange(1, bins) / bins)
    return interval_bins(np.unique(inner), replace(attribute, atoms=atoms))


def raked(own: Marginal, bins: Bins, counts: Floats, noise: float, rows: float, t: Tuning) -> Marginal:
    """What noisy counts of a class hold beyond those expected; inside a bin the expected shape stays."""
    own = _cut(own, bins)
    places = np.searchsorted(bins.ends[:-1], np.rint((own.left + own.right) / 2 * CELL))
    expected = np.bincount(places, own.mass, minlength=len(bins)) * rows
    empty = (expected <= len(own.mass) * LEAST * rows) & (counts < t.planned * noise)
    away = np.where(empty, 0.0, counts - expected)
    share = signal_share(float(away @ away), len(counts) * noise**2)
    h = np.zeros(len(counts))
    h[~empty] = onto_simplex((expected + share * away)[~empty], rows)
    mass = own.mass * (h / np.maximum(expected, LEAST * rows))[places]
    if not mass.any():  # every bin is empty: a class that hardly any row has stays as expected
        return own
    mass = np.maximum(mass / mass.sum(), LEAST)
    return replace(own, mass=mass / mass.sum())


def _cut(own: Marginal, bins: Bins) -> Marginal:
    """The same law with its intervals cut where bins end, and every bin somewhere in it."""
    ends = np.unique(np.concatenate([bins.left, bins.right, own.left, own.right]))
    atoms = np.unique(np.concatenate([bins.left[bins.atom], own.left[own.atom]]))
    left = np.concatenate([ends[:-1], atoms])
    right = np.concatenate([ends[1:], atoms])
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    mass = np.full(len(left), LEAST)
    middle, is_atom = (left + right) / 2, left == right
    for lo, hi, part in zip(own.left, own.right, own.mass, strict=True):
        if lo == hi:
            mass[is_atom & (left == lo)] += part
        else:
            inside = ~is_atom & (middle > lo) & (middle < hi)
            mass[inside] += part * (right - left)[inside] / (hi - lo)
    return Marginal(left, right, mass / mass.sum(), own.missing)


def target_levels(marginal: Marginal, bins: int) -> Floats:
    """Levels of a numeric target's distribution that its rows are classed by: even, but never within a large atom."""
    F, step = marginal.cumulative, 1 / bins
    large = marginal.atom & (marginal.mass > step / 2)
    levels = np.concatenate([[0.0, 1.0], F[:-1][large], F[1:][large]])
    for level in np.arange(1, bins) * step:
        if np.abs(levels - level).min() > step / 2 and not (large & (F[:-1] < level) & (level < F[1:])).any():
            levels = np.append(levels, level)
    return np.unique(np.rint(levels / RESOLUTION.tiny) * RESOLUTION.tiny)


def target_marginals(marginal: Marginal, levels: Floats, place: int) -> dict[tuple[int, int], Marginal]:
    """The marginal of a numeric target within each of its bins."""
    found = {}
    for c, (low, high) in enumerate(pairwise(levels)):
        inside = np.diff(np.clip(marginal.cumulative, low, high))
        kept = inside > 0
        ends = np.clip(marginal.quantile(np.array([low, high])), -1.0, 1.0)
        left = np.where(marginal.atom, marginal.left, np.clip(marginal.left, *ends))[kept]
        right = np.where(marginal.atom, marginal.right, np.clip(marginal.right, *ends))[kept]
        if len(left):
            found[c, place] = Marginal(left, right, inside[kept] / inside[kept].sum())
    return found


@dataclass(frozen=True)
class Latent:
    """The latent law of one coordinate: components (G,) with weights, classes, means and standard deviations."""

    weights: Floats
    classes: npt.NDArray[np.int64]
    means: Floats
    deviations: Floats

    def scale(self, variance: float) -> float:
        """What takes latent values to scores of this variance, where noise made them spread further."""
        share = self.weights / self.weights.sum()
        total = share @ (self.deviations**2 + (self.means - share @ self.means) ** 2)
        return min(1.0, math.sqrt(variance / max(float(total), TINY)))

    def quantiles(self, c: int, n: int) -> Floats:
        """n even quantiles of the latent values of one class."""
        mine = self.classes == c
        z, below = self._below(mine)
        below = below @ (self.weights[mine] / self.weights[mine].sum())
        return np.asarray(np.interp((np.arange(n) + 0.5) / n, below, z))

    def _below(self, components: npt.NDArray[np.bool_] | slice) -> tuple[Floats, Floats]:
        """Latent values z (Z,) that hold all of some components, and their distribution functions (Z, G) there."""
        means, deviations = self.means[components], self.deviations[components]
        low, high = (means - REACH * deviations).min(), (means + REACH * deviations).max()
        z = np.linspace(low, high, RESOLUTION.points)
        return z, ndtr((z[:, None] - means) / deviations)

    def masses(self, marginal: Marginal, classes: int) -> Floats:
        """Masses (L, B) of the classes if latent values are read off the marginal by rank."""
        z, below = self._below(slice(None))
        owner = np.eye(classes)[self.classes] * self.weights[:, None]
        by_class = below @ owner  # (Z, L)
        at = np.interp(marginal.cumulative[1:-1], by_class.sum(axis=1) / self.weights.sum(), z)
        total = np.maximum(owner.sum(axis=0), TINY)
        F = np.stack([np.interp(at, z, column) for column in by_class.T]) / total[:, None]
        return np.diff(np.column_stack([np.zeros(classes), F, np.ones(classes)]), axis=1)


def tilted(marginal: Marginal, latent: Latent, classes: int) -> Floats:
    """Masses (L, B) of the classes in which the mean score of each class is the one that the model has.

    A latent Gaussian that is cut at thresholds does not keep it: of a column that is zero for 92% of rows, a class with
    21% beyond zero got 31%. Of all laws that do keep it, these are nearest to what the cut gives,
    q_c(b) exp(a_c s_b), and together the classes have the marginal itself.
    """
    owner = np.eye(classes)[latent.classes] * latent.weights[:, None]
    weights, held = np.maximum(owner.sum(axis=0), TINY), marginal.mass > 2 * LEAST
    s = np.clip(marginal.score, marginal.score[held].min(), marginal.score[held].max())
    share, means = weights / weights.sum(), (owner.T @ latent.means) / weights
    means = (means - share @ means) * latent.scale(marginal.variance) + marginal.mass @ s
    base, common = np.log(np.maximum(latent.masses(marginal, classes), LEAST)), np.zeros(len(s))
    wanted, tilt = np.log(np.maximum(marginal.mass, LEAST)), np.zeros(classes)
    for _ in range(RESOLUTION.steps):
        P = _normalised(base + common + np.outer(tilt, s))
        now = P @ s
        step = (means - now) / np.maximum(P @ (s * s) - now**2, TINY)
        tilt += np.clip(step, -1.0, 1.0)
        P = _normalised(base + common + np.outer(tilt, s))
        common += np.clip(wanted - np.log(np.maximum(share @ P, LEAST)), -1.0, 1.0)
    P = np.where(held, P, LEAST)  # no class has rows where nobody has
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def _normalised(logits: Floats) -> Floats:
    P = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(P / P.sum(axis=1, keepdims=True))
