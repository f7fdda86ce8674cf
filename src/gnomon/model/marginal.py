"""Noisy counts -> a marginal for each column: its score map, and its quantiles for decoding.

The law of the noise is known, so nothing is believed that it explains: an outer bin or an atom under a few standard
deviations is empty, counts lie on the simplex, and mass too small to be seen in any one column is estimated
over all columns together (the mean of noisy counts is unbiased).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gnomon.model.columns import NOWHERE, Attribute, Bins, Floats, interval_bins, value_bins
from gnomon.model.shrinkage import onto_simplex, shrunk_to_mean, signal_share
from gnomon.model.tuning import Tuning

TINY = np.finfo(np.float64).tiny
LEAST = 1e-9  # a mass that stands for none, so that quantiles are defined everywhere


def normal_density(z: Floats) -> Floats:
    return np.asarray(np.exp(-z * z / 2) / math.sqrt(2 * math.pi))


@dataclass(frozen=True)
class Marginal:
    """Bins in order with masses that add up to one; one of no width is an atom. Unordered values have places 0, 1, ..."""

    left: Floats
    right: Floats
    mass: Floats
    missing: float = 0.0

    @cached_property
    def atom(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.left == self.right)

    @cached_property
    def cumulative(self) -> Floats:
        total = np.minimum(np.append(0.0, np.cumsum(self.mass)), 1.0)
        total[-1] = 1.0
        return np.asarray(total)

    @cached_property
    def normal_ends(self) -> Floats:
        return np.asarray(ndtri(self.cumulative))

    @cached_property
    def score(self) -> Floats:
        """E[z | bin] of a standard normal z that the marginal cuts into its bins."""
        z, mass = self.normal_ends, np.diff(self.cumulative)
        f = normal_density(z)
        inner = np.divide(f[:-1] - f[1:], mass, out=np.zeros_like(mass), where=mass > TINY)
        return np.where(mass > TINY, inner, np.clip(z[:-1], -9.0, 9.0))

    @cached_property
    def variance(self) -> float:
        """Of the scores: one for a continuous column, less where there are atoms."""
        z, mass = self.normal_ends, np.diff(self.cumulative)
        zf = np.where(np.isfinite(z), z, 0.0) * normal_density(z)
        inside = mass + zf[:-1] - zf[1:]
        return float(np.where(self.atom, mass * self.score**2, inside).sum())

    def quantile(self, u: Floats) -> Floats:
        """The cell below which a share u of the observed rows lies."""
        F = self.cumulative
        i = np.clip(np.searchsorted(F, u, side="right") - 1, 0, len(self.mass) - 1)
        within = np.clip((u - F[i]) / np.maximum(self.mass[i], TINY), 0.0, 1.0)
        return np.asarray(self.left[i] + within * (self.right[i] - self.left[i]))


@dataclass(frozen=True)
class Counts:
    """Noisy counts of one attribute: its bins (None for unordered values), the counts and their standard deviation.

    `clear` is the count that noise hardly reaches in any bin of the table; `missing` a noisy count.
    """

    bins: Bins | None
    values: Floats
    noise: float
    clear: float
    missing: float = 0.0

    @property
    def rows(self) -> float:
        return float(self.values.sum()) + self.missing


def public_bins(attribute: Attribute, t: Tuning) -> Bins | None:
    """Even bins between the bounds, and geometric ones around zero, where wide bounds hold most rows."""
    if attribute.unordered:
        return None
    if attribute.values is not None:
        return value_bins(attribute)
    steps = 2.0 ** -np.arange(t.octaves) * (2 / t.bins)
    edges = np.concatenate(
        [np.linspace(-1, 1, t.bins + 1), attribute.origin + steps, attribute.origin - steps]
    )
    return interval_bins(edges[np.abs(edges) <= 1], attribute)


def refined_bins(attribute: Attribute, first: Counts, bins: int, t: Tuning) -> Bins | None:
    """Bins at the quantiles of the first counts, so that each is planned to stand out, and octaves beyond them."""
    if attribute.unordered or attribute.values is not None:
        return first.bins
    assert first.bins is not None
    seen = np.where(first.values < first.clear, 0.0, first.values)
    spread = np.where(first.bins.atom, 0.0, seen)
    spread_seen = bool(spread.any())
    if not spread_seen:
        spread = first.bins.right - first.bins.left
    elif seen.sum() > spread.sum():  # atoms have bins already; the others are for the rows beside them
        bins = max(round(bins * math.sqrt(spread.sum() / seen.sum())), 3)
    coarse = Marginal(first.bins.left, first.bins.right, spread / spread.sum())
    inner = np.unique(coarse.quantile(np.arange(1, bins) / bins))
    octaves = (inner[-1] - inner[0]) * 2.0 ** np.arange(-1, t.octaves - 1)
    core = (inner[0] - octaves[0], inner[-1] + octaves[0]) if spread_seen else NOWHERE
    if len(inner) > 1:
        inner = np.concatenate([inner, inner[-1] + octaves, inner[0] - octaves])
    return replace(interval_bins(inner[np.abs(inner) < 1], attribute), core=core)


def merged(first: Counts, second: Counts, weight: float) -> Counts:
    """Two rounds of counting in the same bins, `weight` of the precision in the second."""
    values = (1 - weight) * first.values + weight * second.values
    missing = (1 - weight) * first.missing + weight * second.missing
    noise = math.hypot((1 - weight) * first.noise, weight * second.noise)
    return Counts(second.bins, values, noise, second.clear, missing)


def marginals(counts: Sequence[Counts], n: float, t: Tuning) -> list[Marginal]:
    """A marginal for each attribute from its noisy counts, and what single columns cannot show from all of them."""
    found = [marginal_of(one, n, t) for one in counts]
    quiet = [j for j, one in enumerate(found) if _looks_constant(one, counts[j])]
    _vary(found, counts, quiet, n, t)
    _lengthen(found, counts, [j for j in range(len(found)) if j not in set(quiet)], n, t)
    return found


def marginal_of(counts: Counts, n: float, t: Tuning) -> Marginal:
    share = missing_share(counts, n)
    n = max(n * (1 - share), 1.0)
    if counts.bins is None or counts.bins.atom.all():
        left = np.arange(len(counts.values), dtype=np.float64) if counts.bins is None else counts.bins.left
        mass = value_masses(counts.values, counts.noise, n, t)
        return Marginal(left, left, mass / mass.sum(), share)
    h = _believed(counts, t)
    h = onto_simplex(h, n) * (h > 0) if (h > 0).any() else counts.bins.right - counts.bins.left
    left, right, h = thinned(counts.bins.left, counts.bins.right, h)
    h = np.maximum(h / h.sum(), LEAST)
    return Marginal(left, right, h / h.sum(), share)


def missing_share(counts: Counts, n: float) -> float:
    return min(max(counts.missing / n, 0.0), 1 - 1 / max(n, 2.0))


def value_masses(h: Floats, noise: float, n: float, t: Tuning) -> Floats:
    """Counts of few values: those that do not stand out share what they have together."""
    faint = h < t.clear * noise
    h = h.copy()
    if faint.any():
        h[faint] = shrunk_to_mean(h[faint], noise)
    h = np.maximum(h, LEAST * n)
    if (~faint).any():  # the frequent values take up what is left of n
        rest = n - h[faint].sum()
        h[~faint] = np.maximum(onto_simplex(h[~faint], max(rest, 1.0)), LEAST * n)
    return h


def _believed(counts: Counts, t: Tuning) -> Floats:
    """Counts without atoms under `clear` deviations, and without bins outside the core before the first that stands out."""
    assert counts.bins is not None
    h, clear = counts.values.copy(), counts.clear
    h[counts.bins.atom & (h < clear)] = 0.0
    wide, (low, high) = ~counts.bins.atom, counts.bins.core
    inside = (counts.bins.left >= low) & (
        counts.bins.right <= high
    )  # planned to hold rows: half of them will do
    out = np.flatnonzero(wide & (h >= np.where(inside, t.planned / 2 * counts.noise, clear)))
    if len(out):
        places = np.arange(len(h))
        h[wide & ((places < out[0]) | (places > out[-1]))] = 0.0
    elif (h >= clear).any():
        h[wide] = 0.0
    return h


def thinned(left: Floats, right: Floats, h: Floats) -> tuple[Floats, Floats, Floats]:
    """An outermost bin ends where rows that thin out from its neighbour's density are spent."""
    for last in (True, False):
        wide = np.flatnonzero((left < right) & (h > 0))
        if len(wide) < 3:
            return left, right, h
        i, k = (wide[-1], wide[-2]) if last else (wide[0], wide[1])
        width = 2 * h[i] * (right[k] - left[k]) / h[k]
        if width < right[i] - left[i]:
            cut = left[i] + width if last else right[i] - width
            left, right = np.insert(left, i + 1, cut), np.insert(right, i, cut)
            h = np.insert(h, i + last, 0.0)
    return left, right, h


def _looks_constant(marginal: Marginal, counts: Counts) -> bool:
    on = marginal.mass > 2 * LEAST
    return (
        counts.bins is not None
        and not counts.bins.atom.all()
        and on.sum() == 1
        and bool(marginal.atom[on].all())
    )


def _unseen(found: Floats, bins: Floats, noise: float, t: Tuning) -> Floats | None:
    """Each column's mass beyond sight, shrunk to the columns' mean; None where the mean itself is not clear."""
    if len(found) < 2 or found.mean() < t.clear * noise * math.sqrt(bins.sum()) / len(found):
        return None
    return np.asarray(
        np.maximum(shrunk_to_mean(found, noise * math.sqrt(bins.mean())), t.least * found.mean())
    )


def _vary(found: list[Marginal], counts: Sequence[Counts], quiet: list[int], n: float, t: Tuning) -> None:
    """Columns that look constant hide rows that only the mean over such columns shows."""
    if not quiet:
        return
    places = [int(np.argmax(counts[j].values)) for j in quiet]
    away = np.array([n - counts[j].missing - counts[j].values[k] for j, k in zip(quiet, places, strict=True)])
    noise = float(np.mean([counts[j].noise for j in quiet]))
    mass = _unseen(away, np.ones(len(away)), noise, t)
    if mass is None:
        return
    for j, k, hidden in zip(quiet, places, mass, strict=True):
        bins = counts[j].bins
        assert bins is not None
        width = bins.right - bins.left
        h = width / width.sum() * min(hidden / n, 1 / 2)
        h[k] = 1 - h.sum()
        found[j] = Marginal(bins.left, bins.right, h, found[j].missing)


def _lengthen(
    found: list[Marginal], counts: Sequence[Counts], columns: list[int], n: float, t: Tuning
) -> None:
    """Rows beyond the last bin that stands out: in each bin outward the columns' mean, as far as they are alike."""
    for last in (True, False):
        tails = {j: _tail(found[j], counts[j], last) for j in columns}
        profile = np.zeros(max((len(places) for places in tails.values()), default=0))
        for k in range(len(profile)):
            at = np.array([counts[j].values[places[k]] for j, places in tails.items() if len(places) > k])
            noise = float(np.mean([counts[j].noise for j in tails]))
            if at.mean() >= t.clear * noise / math.sqrt(len(at)):
                profile[k] = at.mean() * (1 - signal_share(float(at.var()), noise**2))
        for j, places in tails.items():
            if profile[: len(places)].any():
                share = profile[: len(places)] / n
                found[j] = _with_tail(found[j], counts[j], places, share * min(1.0, 1 / (2 * share.sum())))


def _tail(marginal: Marginal, counts: Counts, last: bool) -> npt.NDArray[np.int64]:
    """The bins beyond the last believed one on one side, outward."""
    if counts.bins is None or counts.bins.atom.all():
        return np.zeros(0, dtype=np.int64)
    on = np.flatnonzero(marginal.mass > 2 * LEAST)
    left, right = counts.bins.left, counts.bins.right
    edge = marginal.right[on[-1]] if last else marginal.left[on[0]]
    at_edge = (left == edge) & (right == edge)
    beyond = np.flatnonzero((left >= edge if last else right <= edge) & ~at_edge)
    return beyond if last else beyond[::-1]


def _with_tail(marginal: Marginal, counts: Counts, places: npt.NDArray[np.int64], share: Floats) -> Marginal:
    assert counts.bins is not None
    on = np.flatnonzero(marginal.mass > 2 * LEAST)
    keep = slice(on[0], on[-1] + 1)
    inner = marginal.mass[keep] / marginal.mass[keep].sum() * (1 - share.sum())
    parts = [
        np.concatenate(part)
        for part in (
            (marginal.left[keep], counts.bins.left[places]),
            (marginal.right[keep], counts.bins.right[places]),
            (inner, np.maximum(share, LEAST)),
        )
    ]
    order = np.lexsort((parts[1], parts[0]))
    mass = parts[2][order]
    return Marginal(parts[0][order], parts[1][order], mass / mass.sum(), marginal.missing)


def uniform(attribute: Attribute) -> Marginal:
    """The marginal of a column whose counts are not affordable: even between its bounds, or over its values."""
    if attribute.unordered:
        k = attribute.columns.stop - attribute.columns.start
        return Marginal(np.arange(k) * 1.0, np.arange(k) * 1.0, np.full(k, 1 / k))
    if attribute.values is not None:
        k = len(attribute.values)
        return Marginal(attribute.values, attribute.values, np.full(k, 1 / k))
    return Marginal(np.array([-1.0]), np.array([1.0]), np.ones(1))
