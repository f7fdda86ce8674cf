"""A mixture of Gaussians: what a model release samples from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from gnomon.statistics.grid import Matrix

Codes = npt.NDArray[np.int64]
BATCH = 65_536


@dataclass(frozen=True)
class Mixture:
    """weights (K,), means (K, p), positive semidefinite covariances (K, p, p), and the class of each component."""

    weights: npt.NDArray[np.float64]
    means: Matrix
    covariances: Matrix
    classes: Codes = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64)
    )  # by default, component c is class c

    def __post_init__(self) -> None:
        if not len(self.classes):
            object.__setattr__(self, "classes", np.arange(len(self.weights)))

    @property
    def dimension(self) -> int:
        return int(self.means.shape[1])

    def scaled(self, scale: npt.NDArray[np.float64]) -> Mixture:
        """The same mixture with every coordinate multiplied by its scale."""
        return replace(self, means=self.means * scale, covariances=self.covariances * np.outer(scale, scale))

    def factors(self) -> Matrix:
        """F (L, p, p) with F F' = covariance; by eigenvalues, so a singular covariance is no special case."""
        values, vectors = np.linalg.eigh(self.covariances)
        found: Matrix = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return found

    def sample_batches(
        self, n: int, rng: np.random.Generator, rows: int = BATCH
    ) -> Iterator[tuple[Matrix, Codes]]:
        """n rows in batches: components (rows, p) and which component each is of, in random order."""
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
