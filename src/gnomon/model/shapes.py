"""Marginals of columns within classes: counts at the model's own quantiles, shrunk to what the model expects."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from gnomon.model.columns import Attribute, Bins, interval_bins, value_bins
from gnomon.model.marginal import LEAST, Marginal, thinned
from gnomon.model.shrinkage import Floats, onto_simplex, signal_share
from gnomon.model.tuning import Tuning
from gnomon.table.rows import CELL


def class_bins(attribute: Attribute, marginal: Marginal, x: Floats, most: float, t: Tuning) -> Bins:
    """Bins at quantiles of the model's cells x in a class, with the atoms that the column has in all rows."""
    if attribute.values is not None:
        return value_bins(attribute)
    atoms = np.unique(np.append(marginal.left[marginal.atom & (marginal.mass > 2 * LEAST)], [-1.0, 1.0]))
    bins = max(int(min(t.bins, most)), 1)
    inner = np.quantile(x, np.arange(1, bins) / bins) if len(x) else np.zeros(0)
    return interval_bins(np.unique(inner), replace(attribute, atoms=atoms))


def class_marginal(
    bins: Bins, x: Floats, counts: Floats, noise: float, rows: float, t: Tuning
) -> Marginal | None:
    """What noisy counts hold beyond the counts that the model expects; None for a class that is too small."""
    if len(x) < t.bins or rows < t.fewest_bins * t.planned * noise:
        return None
    expected = np.bincount(np.searchsorted(bins.ends[:-1], np.rint(x * CELL)), minlength=len(bins)) * (
        rows / len(x)
    )
    h = counts.copy()
    if not bins.atom.all():
        h[bins.atom & (h < t.clear * noise)] = 0.0
    empty = (expected == 0) & (h < t.planned * noise)
    away = np.where(empty, 0.0, h) - expected
    share = signal_share(float(away @ away), len(h) * noise**2)
    h = onto_simplex(expected + share * away, rows) * ~empty
    left, right, h = thinned(bins.left, bins.right, h, t)
    h = np.maximum(h / h.sum(), LEAST)
    return Marginal(left, right, h / h.sum())


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
