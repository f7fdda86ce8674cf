"""Noisy counts -> a marginal for each column: its score map, and its quantiles for decoding.

The law of the noise is known, so nothing is believed that it explains: an outer bin or an atom under a few standard
deviations is empty, counts lie on the simplex, and mass too small to be seen in any one column is estimated
over all columns together (the mean of noisy counts is unbiased).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from gnomon.model.columns import NOWHERE, Attribute, Bins, Floats, interval_bins, value_bins
from gnomon.model.shrinkage import onto_simplex, posterior_means, value_masses
from gnomon.model.tuning import RESOLUTION, Tuning

TINY = np.finfo(np.float64).tiny
LEAST = RESOLUTION.tiny  # a mass that stands for none, so that quantiles are defined everywhere
NOTHING: Mapping[int, float] = {}


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
        return np.where(mass > TINY, inner, np.clip(z[:-1], ndtri(LEAST), -ndtri(LEAST)))

    @cached_property
    def variance(self) -> float:
        """Of the scores: one for a continuous column, less where there are atoms."""
        z, mass = self.normal_ends, np.diff(self.cumulative)
        zf = np.where(np.isfinite(z), z, 0.0) * normal_density(z)
        inside = mass + zf[:-1] - zf[1:]
        return float(np.where(self.atom, mass * self.score**2, inside).sum())

    def bin(self, u: Floats) -> npt.NDArray[np.int64]:
        """The bin that the cell at a share u of the observed rows is in."""
        return np.clip(np.searchsorted(self.cumulative, u, side="right") - 1, 0, len(self.mass) - 1)

    def quantile(self, u: Floats) -> Floats:
        """The cell below which a share u of the observed rows lies."""
        i = self.bin(u)
        within = np.clip((u - self.cumulative[i]) / np.maximum(self.mass[i], TINY), 0.0, 1.0)
        return np.asarray(self.left[i] + within * (self.right[i] - self.left[i]))


@dataclass(frozen=True)
class Counts:
    """Noisy counts of one attribute: its bins, the counts and their standard deviations (B,).

    `deviations` are those that noise hardly reaches in any bin of the table; `missing` is a noisy count.
    """

    bins: Bins
    values: Floats
    noise: Floats
    deviations: float
    missing: float = 0.0

    @property
    def rows(self) -> float:
        return float(self.values.sum()) + self.missing

    @property
    def clear(self) -> npt.NDArray[np.bool_]:
        """Bins that stand out of the noise."""
        return np.asarray(self.values >= self.deviations * self.noise)

    def support(self, t: Tuning) -> tuple[float, float]:
        """Between which cells rows are seen: bins that stand out, and the core without outer bins that are noise together.

        NOWHERE where no bin shows any; an atom that nearly all rows share where only that does.
        """
        (low, high), left, right, wide = self.bins.core, self.bins.left, self.bins.right, ~self.bins.atom
        out = wide & self.clear
        anywhere = self.bins.core == NOWHERE and bool(
            out.any()
        )  # what the first counts did not show, both do
        inside = np.flatnonzero(wide & (anywhere | ((left >= low) & (right <= high))))
        below, above = (self._first_seen(places, t) for places in (inside, inside[::-1]))
        first, last = left[below].min(initial=1.0), right[above].max(initial=-1.0)
        if first < last:
            low, high = first, last
        elif len(inside) and out.any():  # without one, each drowns: the first counts saw rows in the core
            low, high = NOWHERE
        return min(low, left[out].min(initial=1.0)), max(high, right[out].max(initial=-1.0))

    def _first_seen(self, places: npt.NDArray[np.int64], t: Tuning) -> npt.NDArray[np.int64]:
        """The bins from which on, from the outside in, their sum holds half of a bin's plan of deviations."""
        noise = np.sqrt(np.cumsum(self.noise[places] ** 2))
        seen = np.cumsum(self.values[places]) >= t.planned / 2 * noise
        return places[np.maximum.accumulate(seen)]

    def believed(self, t: Tuning) -> Floats:
        """Counts without atoms that do not stand out, and without bins beyond the support."""
        h, (low, high) = self.values.copy(), self.support(t)
        h[self.bins.atom & ~self.clear] = 0.0
        if low <= high or self.clear.any():
            h[~self.bins.atom & ((self.bins.left < low) | (self.bins.right > high))] = 0.0
        return h


def public_bins(attribute: Attribute, t: Tuning) -> Bins:
    """Even bins between the bounds, and geometric ones around zero, where wide bounds hold most rows."""
    if attribute.values is not None:
        return value_bins(attribute)
    steps = 2.0 ** -np.arange(t.octaves) * (2 / t.bins)
    edges = np.concatenate(
        [np.linspace(-1, 1, t.bins + 1), attribute.origin + steps, attribute.origin - steps]
    )
    return interval_bins(edges[np.abs(edges) <= 1], attribute)


def refined_bins(attribute: Attribute, first: Counts, bins: int, t: Tuning) -> Bins:
    """Bins at the quantiles of the first counts, so that each is planned to stand out, and octaves beyond them."""
    if attribute.values is not None:
        return first.bins
    seen = np.where(first.clear, first.values, 0.0)
    spread = np.where(first.bins.atom, 0.0, seen)
    if not spread.any():
        return _around_atom(attribute, first, t)
    if seen.sum() > spread.sum():  # atoms have bins already; the others are for the rows beside them
        bins = max(round(bins * math.sqrt(spread.sum() / seen.sum())), 2)
    coarse = Marginal(first.bins.left, first.bins.right, spread / spread.sum())
    inner = np.unique(coarse.quantile(np.arange(1, bins) / bins))
    octaves = (inner[-1] - inner[0]) * 2.0 ** np.arange(-RESOLUTION.octaves, t.octaves - 1)
    outer = (_at_edges(side, octaves, first.bins) for side in (inner[-1] + octaves, inner[0] - octaves))
    edges = np.concatenate([inner, *outer]) if len(inner) > 1 else inner
    return replace(interval_bins(edges[np.abs(edges) < 1], attribute), core=(inner[0], inner[-1]))


def _at_edges(edges: Floats, steps: Floats, bins: Bins) -> Floats:
    """Edges moved to those of the first counts, as far as half a step, so that both count the same cells."""
    known = np.unique([bins.left, bins.right])
    nearest = known[np.abs(edges[:, None] - known).argmin(axis=1)]
    return np.asarray(np.where(np.abs(nearest - edges) <= steps / 2, nearest, edges))


def _around_atom(attribute: Attribute, first: Counts, t: Tuning) -> Bins:
    """Where only an atom stands out, octaves around it; where nothing does, even bins."""
    if not first.clear.any():
        return interval_bins(np.linspace(-1, 1, t.bins + 1)[1:-1], attribute)
    atom = float(first.bins.left[np.argmax(np.where(first.bins.atom, first.values, 0.0))])
    steps = 2.0 ** -np.arange(1, t.octaves + 1)
    edges = np.concatenate([atom + (1 - atom) * steps, atom - (1 + atom) * steps])
    return replace(interval_bins(edges[np.abs(edges) < 1], attribute), core=(atom, atom))


def combined(first: Counts, second: Counts) -> Counts:
    """The second counts with what the first say of the same rows: where a bin is a union of bins, the mean by precision."""
    mine, other = second.bins.ends, first.bins.ends
    shared = np.append(True, np.isin(mine, other))
    union, last = shared[:-1] & shared[1:], np.searchsorted(other, mine, side="right")

    def inside(part: Floats) -> Floats:
        return np.diff(np.append(0.0, np.cumsum(part))[np.append(0, last)])

    here, there = np.append(second.noise**2, second.noise[0] ** 2), first.noise[0] ** 2
    there = np.append(inside(first.noise**2), there)  # last the missing cells
    share = np.where(np.append(union, True), here / np.maximum(here + there, TINY), 0.0)
    values = np.append(second.values, second.missing) * (1 - share)
    values += np.append(inside(first.values), first.missing) * share
    noise = np.sqrt((1 - share) ** 2 * here + share**2 * there)
    return replace(second, values=values[:-1], noise=noise[:-1], missing=float(values[-1]))


@dataclass(frozen=True)
class Faint:
    """Rows of one column that its counts alone do not show: how they lie over its bins, and a noisy count of them."""

    column: int
    places: npt.NDArray[np.int64]
    shares: Floats
    count: float
    noise: float


def marginals(counts: Sequence[Counts], n: float, t: Tuning) -> list[Marginal]:
    """A marginal for each attribute from its noisy counts; what single columns cannot show, from all columns together."""
    kinds: dict[str, list[Faint]] = {}
    for j, one in enumerate(counts):
        if one.bins.core != NOWHERE:
            for kind, faint in _faint(j, one, n, t):
                kinds.setdefault(kind, []).append(faint)
    beyond: list[dict[int, float]] = [{} for _ in counts]
    means = _thinning(kinds, t)
    for kind, alike in kinds.items():
        seen, noise = np.array([(f.count, max(f.noise, 1.0)) for f in alike]).T
        rows, none = posterior_means(seen, noise, max(t.bins - len(alike), 1))
        if kind == "beside":  # no column is quite constant beside others that are not
            rows = np.maximum(rows, t.least * rows.mean())
        elif kind.startswith("atom"):  # rows at one far cell are believed where they are likelier than none
            rows = np.where(none < 1 / 2, rows, 0.0)
        else:
            rows = rows * min(means[kind] / max(float(rows.mean()), TINY), 1.0)
        for faint, number in zip(alike, np.where(rows < 1 / 2, 0.0, rows), strict=True):
            beyond[faint.column] |= dict(zip(faint.places.tolist(), number * faint.shares, strict=True))
    return [marginal_of(one, n, t, hidden) for one, hidden in zip(counts, beyond, strict=True)]


def _thinning(kinds: dict[str, list[Faint]], t: Tuning) -> dict[str, float]:
    """The mean count of each octave over all columns: tails thin out, so means that rise no more than noise are pooled."""
    found: dict[str, float] = {}
    for side in ("up", "down"):
        mine = [kind for kind in kinds if kind.startswith(side)]
        if mine:
            size = np.array([len(kinds[kind]) for kind in mine])
            means = np.array([sum(f.count for f in kinds[kind]) for kind in mine]) / size
            noise = np.sqrt([sum(f.noise**2 for f in kinds[kind]) for kind in mine]) / size
            falling = isotonic_regression(means, weights=size, increasing=False).x
            means = np.where(means - falling > t.clear * noise, means, falling)
            found |= dict(zip(mine, np.maximum(means, 0.0).tolist(), strict=True))
    return found


def _faint(j: int, counts: Counts, n: float, t: Tuning) -> Iterator[tuple[str, Faint]]:
    """Atoms that do not stand out, and octaves beyond the quantiles; or the sides of an atom that nearly all rows share."""
    one, bins = np.ones(1), counts.bins
    for i in np.flatnonzero(bins.atom & ~counts.clear):
        yield f"atom {np.fix(bins.left[i])}", Faint(j, np.array([i]), one, counts.values[i], counts.noise[i])
    low, high = counts.support(t)
    if low > high:
        return
    up, down = (~bins.atom & side for side in (bins.left >= high, bins.right <= low))
    for mine, other in ((up, down), (down, up)):
        places = np.flatnonzero(mine)[:: 1 if mine is up else -1]
        if low < high:
            for k, i in enumerate(places):
                yield (
                    f"{'up' if mine is up else 'down'} {k}",
                    Faint(j, np.array([i]), one, counts.values[i], counts.noise[i]),
                )
        elif len(places):  # all rows without those at atoms and on the other side are here, too
            rest = other | (bins.atom & counts.clear)
            here, away = (float((counts.noise[part] ** 2).sum()) for part in (mine, rest))
            share, left = away / max(here + away, TINY), n - counts.missing - counts.values[rest].sum()
            count = share * counts.values[mine].sum() + (1 - share) * left
            width = (bins.right - bins.left)[places]
            yield "beside", Faint(j, places, width / width.sum(), count, math.sqrt(here * share))


def marginal_of(counts: Counts, n: float, t: Tuning, tail: Mapping[int, float] = NOTHING) -> Marginal:
    """The marginal that noisy counts show, with rows in some bins that all columns together tell."""
    share = min(max(counts.missing / n, 0.0), 1 - 1 / max(n, 2.0))
    n = max(n * (1 - share), 1.0)
    if counts.bins.atom.all():
        mass = value_masses(counts.values, counts.noise, n, t)
        return Marginal(counts.bins.left, counts.bins.right, mass / mass.sum(), share)
    h, places, rows = counts.believed(t), list(tail), np.array(list(tail.values()))
    rows *= min(1.0, n / 2 / max(float(rows.sum()), 1.0))
    h[places] = 0.0
    h = onto_simplex(h, n - float(rows.sum())) * (h > 0)
    h[places] = rows
    if not (h > 0).any():  # noise alone: even between the bounds
        h = counts.bins.right - counts.bins.left
    h = np.maximum(h / h.sum(), LEAST)
    return Marginal(counts.bins.left, counts.bins.right, h / h.sum(), share)
