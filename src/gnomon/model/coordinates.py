"""Marginals -> the coordinates that a row of scores has: score map, centre, weight and variance of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from gnomon.model.columns import Attribute
from gnomon.model.marginal import Marginal
from gnomon.model.shrinkage import Floats
from gnomon.model.tuning import Tuning
from gnomon.statistics.frame import SCORE, ScoreMap
from gnomon.table.rows import CELL

UNIFORM = math.sqrt(3)  # half the width of a uniform law of variance one


@dataclass(frozen=True)
class Coordinates:
    """What the coordinates of a row of scores mean.

    attributes and marginals in order; counted: whether the marginals were measured; weight and centre (m,) of the
    frame; variance (m,) of the coordinates, for a whole column.
    """

    attributes: tuple[Attribute, ...]
    marginals: tuple[Marginal, ...]
    counted: bool
    weight: Floats
    centre: Floats
    variance: Floats

    @classmethod
    def of(
        cls, attributes: tuple[Attribute, ...], marginals: list[Marginal], counted: bool, weight: Floats
    ) -> Coordinates:
        """The moments that scores have by the marginals; a missing cell has none."""
        centre, variance = np.zeros(len(weight)), np.zeros(len(weight))
        for attribute, marginal in zip(attributes, marginals, strict=True):
            mass, missing = marginal.mass, marginal.missing
            if attribute.unordered:
                centre[attribute.columns] = mass
                variance[attribute.columns] = mass * (1 - mass) * (1 - missing)
            else:
                variance[attribute.first] = marginal.variance * (1 - missing)
            if attribute.indicator is not None:
                centre[attribute.indicator] = missing
                variance[attribute.indicator] = missing * (1 - missing)
        return cls(attributes, tuple(marginals), counted, weight, centre, variance)

    def __iter__(self) -> Iterator[tuple[Attribute, Marginal]]:
        return iter(zip(self.attributes, self.marginals, strict=True))

    @property
    def numbers(self) -> list[tuple[Attribute, Marginal]]:
        """Attributes that are Gaussian together and read off their marginals by rank."""
        return [(attribute, marginal) for attribute, marginal in self if not attribute.chosen]

    @property
    def missing(self) -> tuple[tuple[int, int], ...]:
        """Pairs of a column that may be missing and its indicator."""
        marks = [(a, a.indicator) for a in self.attributes if a.indicator is not None]
        return tuple((j, i) for a, i in marks for j in range(a.first, a.columns.stop))

    def read(self, X: Floats, scores: Floats) -> Floats:
        """Encoded cells in which numbers are what their scores stand for."""
        X = X.copy()
        for attribute, marginal in self.numbers:
            if (j := attribute.first) < X.shape[1]:
                z = scores[:, j]
                X[:, j] = marginal.quantile(ndtr(z)) if self.counted else np.clip(z / UNIFORM, -1, 1)
                if attribute.indicator is not None:
                    X[X[:, attribute.indicator] > 0, j] = 0.0
        return X

    def scores(self, t: Tuning) -> tuple[ScoreMap | None, ...]:
        """The score map of each coordinate, none for categories and indicators."""
        found: list[ScoreMap | None] = [None] * len(self.weight)
        for attribute, marginal in self:
            if not attribute.unordered:
                found[attribute.first] = score_map(marginal, attribute, self.counted, t)
        return tuple(found)


def score_map(marginal: Marginal, attribute: Attribute, counted: bool, t: Tuning) -> ScoreMap:
    """The column's score as integers: normal by the marginal, or even between the bounds where nothing was counted."""
    if not counted and len(marginal.mass) != 2:
        side = UNIFORM * SCORE
        return ScoreMap(np.array([CELL]), *(np.array([round(sign * side)]) for sign in (-1, 1)))
    z = np.clip(marginal.normal_ends, -t.score_bound, t.score_bound)
    middle = np.clip(marginal.score, -t.score_bound, t.score_bound)
    low, high = np.where(marginal.atom, middle, z[:-1]), np.where(marginal.atom, middle, z[1:])
    if attribute.values is not None:
        ends = np.append((marginal.left[1:] + marginal.left[:-1]) / 2, 1.0)
    else:
        ends = marginal.right + np.where(marginal.atom, 1.0, 0.0) / CELL
        before = np.append(marginal.atom[1:], False) & ~marginal.atom
        ends = ends - 2 * before / CELL
    whole = np.rint(np.append(ends[:-1], max(ends[-1], 1.0)) * CELL).astype(np.int64)
    kept = np.append(True, np.diff(whole) > 0)
    scaled = (np.rint(part * SCORE).astype(np.int64)[kept] for part in (low, high))
    return ScoreMap(whole[kept], *scaled)
