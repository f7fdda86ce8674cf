"""DPPro's typical distance, rho in its Lemma 5, estimated from noisy sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gnomon.methods.public import Public
from gnomon.methods.row_release import even_spread
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.sensitivity import Norm, Sensitivity, spread_sums
from gnomon.statistics.grid import Integers
from gnomon.statistics.queries import VectorQuery
from gnomon.table.rows import CELL, Rows

SUM_GRID = 2**16  # integers per unit of the sums


@dataclass(frozen=True, eq=False)
class Spread(VectorQuery):
    """The sum of the rows, and of their squared lengths, (m + 1,), on the grid SUM_GRID."""

    statistic: str
    columns: int
    attributes: int

    def zero(self) -> Integers:
        return np.zeros(self.columns + 1, dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        X = np.rint(rows.cells * (SUM_GRID / CELL))
        lengths = np.rint(np.einsum("ij,ij->i", X, X) / SUM_GRID)
        return np.append(X.sum(axis=0), lengths.sum()).astype(np.int64)

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        exact = spread_sums(norm, attributes=self.attributes, unit=loss.unit, adjacency=loss.adjacency)
        # cells are rounded before they are summed, so only the squared lengths meet another rounding
        return exact.on_grid(SUM_GRID, coordinates=1, error=2.0**-20)


def typical_square(data: Measurer, public: Public, loss: Spendable) -> float:
    """The mean squared distance of two records, 2 (E ||x||^2 - ||E x||^2), from noisy sums."""
    attributes = len(public.encoder.groups)
    statistic = "sum of the rows and of their squared lengths, for a typical distance"
    measured = data.measure(Spread(statistic, public.m, attributes), loss)
    mean = measured.answer / (SUM_GRID * public.rows)
    noise = public.m * (measured.noise.diagonal / (SUM_GRID * public.rows)) ** 2
    squared = 2 * (mean[-1] - max(float(mean[:-1] @ mean[:-1]) - noise, 0.0))
    return float(min(max(squared, 0.01 * even_spread(public.encoder)), 4.0 * attributes))
