"""The shape of single columns: a Gaussian's cells, moved so that each column is distributed as noisy counts say.

A Gaussian says how columns go together, and little of what a column looks like: counts with many zeros, two humps, a
long tail. A cell x of class c is z = (x - mean) / deviation by the model, a standard normal number; the column's counts
say which value has as many rows below it as z has. What replaces x is that value: order, and so dependence, is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from gnomon.model.mixture import Codes
from gnomon.model.repair import onto_simplex, shrink_weight
from gnomon.statistics.grid import Matrix
from gnomon.table.codec.base import Steps

Vector = npt.NDArray[np.float64]
Bins = npt.NDArray[np.int64]
BOUND = 1e-9  # cells so near to a declared bound are at it; rows that count as none
TILT = 0.2, 5.0  # times as many rows may a bin have, a round, to keep to a class's mean (and spread)
MEAN, SPREAD = 1, 2  # moments of a class that its counts keep to, up to this one
FARTHEST = 10.0  # standard deviations that a bin may lie away
FAR = 5.0  # standard deviations beyond which a normal number is not expected
FEWEST, MOST = 8, 32  # bins of a column
VALUES = 4  # times as many values may a column have for each to be a bin: whole numbers are heaped
CLEAR = 0.2  # of the rows of an average bin: its noise must stay below
REACH = 2.5  # standard deviations around the mean that bins are laid over
TAIL = 3.0, 3.5, 4.0, 5.0  # standard deviations at which the last bins are parted as the model has their rows
LEAST_SPREAD = 0.9  # of the model's variance of a column must be in its counts
WIDENED = 1.2  # times the model's variance may rows at a bound make a column's, unless they are evident
EVIDENT = 4.0  # deviations of noise beyond which rows at a bound are, and a mean that contradicts the model's
ROUNDS = 10  # in which counts of classes and of all rows come to agree


@dataclass(frozen=True)
class Shape:
    """One column: for every class its law by the model, `means` and `spreads` (L,), and by the counts.

    `knots` (L, E) are the normal numbers that stand for the cells `edges` (E,) by the counts; both begin and end with a
    declared bound.
    """

    place: int  # of the column among the encoded ones
    edges: Vector
    means: Vector
    spreads: Vector
    knots: Matrix

    def of_class(self, c: int, cells: Vector) -> Vector:
        """What stands in place of cells of this class; where the counts say what the model does, they stay."""
        z = (cells - self.means[c]) / self.spreads[c]
        found: Vector = np.interp(z, self.knots[c], self.edges)
        found[found <= BOUND - 1.0] = -1.0
        found[found >= 1.0 - BOUND] = 1.0
        return found


def give_shapes(shapes: Sequence[Shape], cells: Matrix, codes: Codes) -> None:
    """Move the cells (n, m) of rows of these classes, in place."""
    order = np.argsort(codes, kind="stable")
    classes, starts = np.unique(codes[order], return_index=True)
    for shape in shapes:
        parts = np.split(cells[order, shape.place], starts[1:])
        cells[order, shape.place] = np.concatenate(
            [shape.of_class(int(c), part) for c, part in zip(classes, parts, strict=True)]
        )


class Counts(NamedTuple):
    """Noisy counts (bins,) between `edges` (bins - 1,), and the noise of each."""

    edges: Vector
    heights: Vector
    noise: float


class Cells(NamedTuple):
    """The cells of fine bins (bins,): the lowest, one that stands for all, the highest."""

    lowest: Vector
    middle: Vector
    highest: Vector


def edges_of(mean: float, spread: float, bins: int, borders: Vector | None) -> Vector:
    """Edges of at most so many bins over where the model has the column.

    The two bounds have bins of their own: cells beyond them were cut there. A column of few values, which `borders`
    part, has edges nowhere else, and those of some more all have one near the mean.
    """
    if borders is not None and len(borders) < bins:
        return borders
    ends = np.array([BOUND - 1.0, 1.0 - BOUND])
    inner = np.clip(mean + spread * np.linspace(-REACH, REACH, bins - 3), *ends)
    if borders is None:
        return np.unique(np.r_[ends, inner])
    last = len(borders) - 1
    near = np.searchsorted(borders, inner).clip(max=last)
    if len(borders) < VALUES * bins:
        near = np.arange(near[0], near[-1] + 1)
    found: Vector = borders[np.unique(np.r_[0, near, last])]
    return found


def bins_clear_of(noise: float, rows: float) -> int:
    """Into how many bins so many rows can be counted before noise blurs them; 0 where these would show no shape."""
    bins = min(MOST, int(CLEAR * rows / noise)) if noise > 0 else MOST
    return bins if bins >= FEWEST else 0


def shape_of(
    place: int,
    means: Vector,
    spreads: Vector,
    sizes: Vector,
    overall: Counts,
    classes: list[Counts],
    steps: Steps | None = None,
) -> Shape | None:
    """The shape that noisy counts tell of, shrunk toward the model's by what noise alone would show.

    First those of all rows, then those of each class that is large enough, toward what the first make of it; at the end
    the classes together keep to the counts of all rows, which are the surest, and each keeps its mean, unless its counts
    contradict it. The counts tell its spread, unless they lack much of the column's: it then comes from few rows far
    away, which noise hides, and is kept too. None where they still lack it, or where too few rows were counted. A
    column of few values names their cells.
    """
    if not bins_clear_of(overall.noise, float(sizes.sum())):
        return None
    edges = np.unique(np.concatenate([overall.edges, *(one.edges for one in classes)]))
    shares = sizes / max(float(sizes.sum()), BOUND)
    centre = shares @ means
    spread = math.sqrt(shares @ (spreads**2 + (means - centre) ** 2))
    laws = (means, spreads) if classes else (np.array([centre]), np.array([spread]))
    tails = (laws[0][:, None] + laws[1][:, None] * np.r_[TAIL, np.negative(TAIL)]).ravel()
    if steps is not None:
        tails = steps.borders[np.searchsorted(steps.borders, tails).clip(max=len(steps.borders) - 1)]
    edges = np.unique(np.r_[edges, tails[(tails > edges[0]) & (tails < edges[-1])]])
    ends = (edges - means[:, None]) / spreads[:, None]
    chances = np.diff(ndtr(ends), axis=1, prepend=0.0, append=1.0)
    heights = sizes[:, None] * chances + BOUND
    limits = np.r_[-1.0, edges, 1.0]
    # A cell that stands for all of a bin: their mean by the model, or the middle where the model has none.
    density = np.diff(np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi), axis=1, prepend=0.0, append=0.0)
    total = (
        sizes @ (means[:, None] * chances - spreads[:, None] * density)
        + BOUND * (limits[1:] + limits[:-1]) / 2
    )
    middles = np.clip(total / (sizes @ chances + BOUND), limits[:-1], limits[1:])
    if steps is not None:
        of_value = np.searchsorted(edges, steps.values)
        held = np.bincount(of_value, minlength=len(middles))
        middles = np.where(
            held > 0, np.bincount(of_value, steps.values, len(middles)) / np.maximum(held, 1), middles
        )
    cells = Cells(limits[:-1], middles, limits[1:])
    if steps is not None:
        cells = Cells(middles.copy(), middles, middles.copy())
        np.minimum.at(cells.lowest, of_value, steps.values)
        np.maximum.at(cells.highest, of_value, steps.values)
    everybody = np.searchsorted(overall.edges, limits[1:])
    doubted = _doubted(overall, classes, heights.sum(axis=0))
    total, mean = _told(overall, everybody, heights.sum(axis=0), cells, float(centre), spread, doubted)
    heights = _scaled(heights, everybody, total)
    moved = np.full(len(means), mean != centre)
    for c, one in enumerate(classes):
        if bins_clear_of(one.noise, float(sizes[c])):
            mine = np.searchsorted(one.edges, limits[1:])
            expected = heights[c] * (sizes[c] / heights[c].sum())
            told, mean = _told(one, mine, expected, cells, float(means[c]), float(spreads[c]), doubted)
            heights[c] = _scaled(expected, mine, told)
            moved[c] = mean != means[c]
    away = np.clip((middles - means[:, None]) / spreads[:, None], -FARTHEST, FARTHEST)
    shift = np.where(moved, (heights * away).sum(axis=1) / np.maximum(heights.sum(axis=1), BOUND), 0.0)
    for kept in (MEAN, SPREAD):
        found = heights
        for _ in range(ROUNDS):
            found = _tilted(_scaled(found, everybody, total), away, sizes, kept, shift)
        counted = found.sum(axis=0) / max(float(found.sum()), BOUND)
        if counted @ (middles - counted @ middles) ** 2 >= LEAST_SPREAD * spread**2:
            break
    else:
        return None
    below = np.cumsum(found, axis=1)[:, :-1] / np.maximum(found.sum(axis=1, keepdims=True), BOUND)
    z = np.clip(ndtri(np.clip(below, 0.0, 1.0)), np.minimum(ends, -FAR), np.maximum(ends, FAR))
    knots = np.column_stack([np.minimum(z[:, 0], -FAR) - 1.0, z, np.maximum(z[:, -1], FAR) + 1.0])
    return Shape(place, limits, means, spreads, knots + BOUND * np.arange(len(limits)))


def _scaled(heights: Matrix, bins: Bins, total: Vector) -> Matrix:
    """Heights (..., fine bins) such that those of each bin add up to its total."""
    now = np.bincount(bins, heights.reshape(-1, len(bins)).sum(axis=0), len(total))
    scaled: Matrix = heights * (total / np.maximum(now, BOUND))[bins]
    return scaled


def _tilted(heights: Matrix, away: Matrix, sizes: Vector, kept: int, shift: Vector) -> Matrix:
    """Heights nearby: classes have these sizes and in `away` (L, bins) the mean `shift` (L,), or also a variance of one.

    The model knows the mean better than counts do (`shift` is 0), and classifiers live by it: noise in the counts of
    all rows would move every class. Its variance lacks what rows lost that were shortened to their ball, which counts
    do not.
    """
    shares = heights / np.maximum(heights.sum(axis=1, keepdims=True), BOUND)
    powers = away[:, :, None] ** np.arange(kept + 1)
    gram = np.einsum("lbi,lb,lbj->lij", powers, shares, powers)
    due = np.stack([np.ones_like(shift), shift, 1.0 + shift**2], axis=1)[:, : kept + 1] - gram[:, 0]
    ridge = BOUND * np.maximum(1.0, np.trace(gram, axis1=1, axis2=2))
    solved = np.linalg.solve(gram + ridge[:, None, None] * np.eye(kept + 1), due[:, :, None])[:, :, 0]
    tilted = shares * np.clip(1 + np.einsum("lbi,li->lb", powers, solved), *TILT)
    found: Matrix = sizes[:, None] * tilted / np.maximum(tilted.sum(axis=1, keepdims=True), BOUND)
    return found


def _doubted(overall: Counts, classes: list[Counts], expected: Vector) -> list[int]:
    """Those of the two bounds, 0 and -1, where noise alone may have put the rows that the model does not expect.

    All counts speak: those of all rows, and those of the classes together, each by its noise.
    """
    sides = [(overall.noise**2, [overall]), (sum(one.noise**2 for one in classes), classes)]
    trust = np.array([1 / max(noise, BOUND) if counts else 0.0 for noise, counts in sides])
    doubted = []
    for end in (0, -1):
        told = np.array([sum(one.heights[end] for one in counts) for _, counts in sides])
        if trust @ (told - expected[end]) < EVIDENT * math.sqrt(trust.sum()):
            doubted.append(end)
    return doubted


def _told(
    counts: Counts, bins: Bins, expected: Vector, cells: Cells, mean: float, spread: float, doubted: list[int]
) -> tuple[Vector, float]:
    """Counts of the bins: as expected, moved by what noisy ones say beyond noise; and the mean that they keep to.

    The mean of the cells is known from the model better than counts tell it, and so is the number of rows: what they
    say of these two is replaced by what is known. But rows far away, which were shortened to their ball, are lost to
    the model's mean: where the counts contradict it beyond noise and the width of their bins, theirs is taken. Rows at
    a doubted bound widen the column a little and no more: of a narrow column between wide bounds, a bin's noise in rows
    there would double the spread.
    """
    k, n = len(counts.heights), max(float(expected.sum()), BOUND)
    coarse = np.bincount(bins, expected, k)
    x = np.bincount(bins, expected * cells.middle, k) / np.maximum(coarse, BOUND)
    mean += _beyond(counts, x - mean, _widths(cells, bins, k).clip(max=spread), n)
    basis, R = np.linalg.qr(np.column_stack([np.ones(k), x]))
    away = counts.heights - coarse
    away -= basis @ (basis.T @ away)
    due = np.array([0.0, n * mean - coarse @ x])
    if abs(R[1, 1]) > BOUND:
        coarse = coarse + basis @ np.linalg.solve(R.T, due)
    found = onto_simplex(coarse + _seen(away, counts.noise), n)
    # Bounds far away get more than their part of what is moved: no more rows than were counted there, and a deviation.
    ends = [0, -1]
    found[ends] = np.minimum(found[ends], np.maximum(counts.heights[ends], 0.0) + counts.noise)
    squares = found * (x - mean) ** 2
    far = squares[doubted].sum()
    room = max(0.0, WIDENED * spread**2 * n - (squares.sum() - far))
    if far > room:
        found[doubted] = np.maximum(
            found[doubted] * (room / far), np.minimum(found[doubted], coarse[doubted])
        )
    found *= n / max(float(found.sum()), BOUND)
    return found, mean


def _beyond(counts: Counts, away: Vector, widths: Vector, n: float) -> float:
    """By how much the mean of n counted rows, `away` from the known one, differs from it; 0 where it may not."""
    found = float(counts.heights @ away) / n
    noise = counts.noise * float(np.linalg.norm(away)) / n
    blur = float(np.maximum(counts.heights, 0.0) @ widths) / (4 * n)
    return found if abs(found) > EVIDENT * noise + blur else 0.0


def _widths(cells: Cells, bins: Bins, k: int) -> Vector:
    """How far apart two cells of a bin may be."""
    lowest, highest = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(lowest, bins, cells.lowest)
    np.maximum.at(highest, bins, cells.highest)
    widths: Vector = np.maximum(highest - lowest, 0.0)
    return widths


def _seen(away: Vector, noise: float) -> Vector:
    """The part of a deviation that is not noise, scale by scale: coarse differences between bins are seen sooner."""
    size = 1 << max(1, (len(away) - 1).bit_length())
    level = np.r_[away, np.zeros(size - len(away))]
    details = []
    while len(level) > 1:
        even, odd = level[::2], level[1::2]
        detail = (even - odd) / math.sqrt(2)
        details.append(detail * shrink_weight(float(detail @ detail), len(detail) * noise**2))
        level = (even + odd) / math.sqrt(2)
    level = level * shrink_weight(float(level @ level), noise**2)
    for detail in reversed(details):
        wider = np.empty(2 * len(level))
        wider[::2], wider[1::2] = (level + detail) / math.sqrt(2), (level - detail) / math.sqrt(2)
        level = wider
    found: Vector = level[: len(away)]
    return found
