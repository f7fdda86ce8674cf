"""A mixture of Gaussians: what a model release samples from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.statistics.grid import Matrix

Codes = npt.NDArray[np.int64]
BATCH = 65_536


@dataclass(frozen=True)
class Mixture:
    """weights (L,), means (L, p), covariances (L, p, p), all positive semidefinite; component c is class c."""

    weights: npt.NDArray[np.float64]
    means: Matrix
    covariances: Matrix

    @property
    def dimension(self) -> int:
        return int(self.means.shape[1])

    def scaled(self, scale: npt.NDArray[np.float64]) -> Mixture:
        """The same mixture with every coordinate multiplied by its scale."""
        return Mixture(self.weights, self.means * scale, self.covariances * np.outer(scale, scale))

    def factors(self) -> Matrix:
        """F (L, p, p) with F F' = covariance; by eigenvalues, so a singular covariance is no special case."""
        values, vectors = np.linalg.eigh(self.covariances)
        found: Matrix = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return found

    def sample_batches(
        self, n: int, rng: np.random.Generator, rows: int = BATCH
    ) -> Iterator[tuple[Matrix, Codes]]:
        """n rows in batches: components (rows, p) and their classes, in random order."""
        factors = self.factors()
        cumulative = np.cumsum(self.weights) / np.sum(self.weights)
        for start in range(0, n, rows):
            size = min(rows, n - start)
            codes = np.searchsorted(cumulative, rng.random(size), side="right").clip(
                max=len(self.weights) - 1
            )
            C: Matrix = np.empty((self.dimension, size)).T
            white = rng.standard_normal((self.dimension, size)).T
            for c in np.unique(codes):
                mine = codes == c
                chosen = slice(None) if mine.all() else mine
                C[chosen] = white[chosen] @ factors[c].T + self.means[c]
            yield C, codes
