"""Missing cells of drawn rows: as many as the release knows, and the others as real ones are that are not missing.

A missing cell is encoded as 0, with a 1 in a column of its own: its indicator. Moments of such a pair are those of two
kinds of rows. A Gaussian with these moments, cut at an indicator of 1/2, has neither their share of missing cells (3%
become none) nor the mean of the others, which it draws toward 0. But both can be read from the moments. If an observed
cell has mean a and variance v, and q of them are missing, then, with I the indicator,

    E[I] = q,   E[cell] = (1 - q) a,   Cov(cell, I) = -q (1 - q) a,   Var(cell) = (1 - q) v + q (1 - q) a^2,

so that what the indicator does not explain of the cell has the variance Var(cell) - Cov^2 / Var(I) = (1 - q) v: one part
of a matrix that is never negative, where E[cell^2] / (1 - q) - a^2 would be a small difference of large, noisy numbers.
Rows with a rare indicator are the ones that a ball shortens, so a small q comes out smaller than it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gnomon.model.mixture import Codes, Mixture
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import Matrix
from gnomon.table.encode import Group

Vector = npt.NDArray[np.float64]
ALIKE = 0.001  # of a cell's variance: with less left beside its indicator, the two cannot be told apart
LEAST = 1e-12  # the variance of a cell that does not vary


@dataclass(frozen=True)
class CellLaw:
    """How a model draws encoded cells: component c as N(means[c], covariance), in the cells' own units."""

    means: Matrix  # (K, m)
    slope: Matrix  # (p, m): cells by components
    mixture: Mixture

    @classmethod
    def of(cls, frame: Frame, mixture: Mixture) -> CellLaw:
        p = frame.n_components
        base = frame.lift(np.zeros((1, p)))
        slope = frame.lift(np.eye(p)) - base
        return cls(base + mixture.means[:, :p] @ slope, slope, mixture)

    def covariances(self, i: Sequence[int], j: Sequence[int]) -> Matrix:
        """Of the cells i with the cells j, pair by pair (K, pairs)."""
        p, first, second = len(self.slope), self.slope[:, i], self.slope[:, j]
        return np.stack([((C @ first) * second).sum(axis=0) for C in self.mixture.covariances[:, :p, :p]])


@dataclass(frozen=True)
class MissingCells:
    """One column with missing cells: for every component its law as drawn, and as it should be.

    A column of categories has k encoded cells in a row, any other has one.
    """

    place: slice  # of the k cells
    indicator: int
    limits: Vector  # (L,): a larger indicator means that the cell is missing
    observed: Vector  # (L,), the observed rate
    indicator_means: Vector  # (L,), as drawn
    means: Matrix  # (L, k), of the cells as drawn
    slope: Matrix  # (L, k), of the cells on their indicator
    level: Matrix  # (L, k), the mean of observed cells
    spread: Matrix  # (L, k), their deviation
    scale: Matrix  # (L, k), the same beside the deviation around the slope as drawn

    def impute(self, cells: Matrix, codes: Codes) -> None:
        """Decide which of the rows' cells are missing, and draw the others around their own mean; in place.

        What a cell owes to its indicator is taken out first: whether it is missing then says nothing of it.
        """
        indicator = cells[:, self.indicator].copy()
        cells[:, self.indicator] = indicator > self.limits[codes]
        away = cells[:, self.place] - self.means[codes]
        away -= self.slope[codes] * (indicator - self.indicator_means[codes])[:, None]
        cells[:, self.place] = self.level[codes] + away * self.scale[codes]


def missing_cells(groups: Sequence[Group], law: CellLaw) -> list[MissingCells]:
    """The laws of all columns that can have missing cells."""
    return [_of(group, law) for group in groups if group.indicator]


def _of(group: Group, law: CellLaw) -> MissingCells:
    indicator = int(group.place.stop) - 1
    place = slice(group.place.start, indicator)
    cells = list(range(place.start, indicator))
    k = len(cells)
    found = law.covariances([*cells, *cells, indicator], [*cells, *[indicator] * k, indicator])
    variance, both, own = np.maximum(found[:, :k], 0.0), found[:, k : 2 * k], np.maximum(found[:, -1], LEAST)
    means, indicator_means = law.means[:, place], law.means[:, indicator]
    observed = 1 - np.clip(indicator_means, 0.0, 1.0)
    level = np.clip(means / np.maximum(observed, LEAST)[:, None], -1.0, 1.0)
    slope = both / own[:, None]
    rest = variance - slope * both
    alone = rest < ALIKE * variance  # in few dimensions both are one: the cell keeps what it has
    slope, rest = np.where(alone, 0.0, slope), np.maximum(np.where(alone, variance, rest), LEAST)
    widest = np.sqrt(np.maximum(1 - level**2, LEAST))
    spread = np.minimum(np.sqrt(rest / np.where(alone, 1.0, np.maximum(observed, LEAST)[:, None])), widest)
    return MissingCells(
        place,
        indicator,
        indicator_means + np.sqrt(own) * ndtri(observed),
        observed,
        indicator_means,
        means,
        slope,
        level,
        spread,
        spread / np.sqrt(rest),
    )
