"""Rules that label rows: one covariance for all classes, what an ordinary learner learns, and Bayes' rule.

`best` of a rule is asked about real rows, so a row's answer must be the row's alone. Its sums of products are sums of
integers below 2^53, which are exact in any order: where a row stands in a batch cannot move its answer by a bit.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.model.mixture import Codes, Mixture
from gnomon.statistics.grid import Matrix

ROUNDS = 30  # of the fixed point that gives every class its share
STEPS = 50  # of the learner
FINE = 2.0**20  # to which cells and slopes are rounded
FAR = 2.0**8  # standard deviations beyond which a row is no farther


def exact_product(Z: Matrix, slope: Matrix) -> tuple[Matrix, float]:
    """Z @ slope as integers in some unit: both are rounded to 21 bits, so 2^10 products add up without rounding."""
    top = max(float(np.abs(slope).max()), 1e-300)
    return np.rint(Z * FINE) @ np.rint(slope * (FINE / top)), top / FINE**2


@dataclass(frozen=True)
class Quadratic:
    """Bayes' rule for a mixture: what `white` (L, p, p) shows of a row's distance from each of the means (L, p)."""

    means: Matrix
    white: Matrix
    level: npt.NDArray[np.float64]

    @classmethod
    def of(cls, mixture: Mixture) -> Quadratic:
        values, vectors = np.linalg.eigh(mixture.covariances)
        values = np.maximum(values, np.maximum(1e-9 * values[:, -1:], 1e-12))
        level = np.log(np.maximum(mixture.weights, 1e-300)) - 0.5 * np.log(values).sum(axis=1)
        return cls(np.clip(mixture.means, -1.0, 1.0), vectors / np.sqrt(values)[:, None, :], level)

    def best(self, Z: Matrix) -> Codes:
        """The class of the highest posterior for rows of at most 2^10 components in [-1, 1]."""
        scores = np.empty((len(Z), len(self.level)))
        for c, white in enumerate(self.white):
            away, unit = exact_product(Z - self.means[c], white)
            steps = np.clip(np.rint(away * (unit * FINE / FAR)), -FINE, FINE)
            scores[:, c] = self.level[c] - 0.5 * (FAR / FINE) ** 2 * np.einsum("ij,ij->i", steps, steps)
        codes: Codes = np.argmax(scores, axis=1)
        return codes


@dataclass(frozen=True)
class Labels:
    """Scores of the classes at rows Z (n, p): Z @ slope (p, L) + level (L,)."""

    slope: Matrix
    level: npt.NDArray[np.float64]

    def best(self, Z: Matrix) -> Codes:
        """The class of the highest score for rows of at most 2^10 cells in [-2, 2]."""
        scores, unit = exact_product(Z, self.slope)
        codes: Codes = np.argmax(scores * unit + self.level, axis=1)
        return codes

    def drawn(self, Z: Matrix, rng: np.random.Generator) -> Codes:
        """A class for every row, with the probabilities that the scores are the logarithms of."""
        steps = np.cumsum(self._shares(Z), axis=1)
        codes: Codes = np.sum(steps < rng.random((len(Z), 1)) * steps[:, -1:], axis=1)
        return codes

    def _shares(self, Z: Matrix) -> Matrix:
        scores = Z @ self.slope + self.level
        shares: Matrix = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def balanced(self, Z: Matrix, weights: npt.NDArray[np.float64]) -> Labels:
        """The same slopes, with levels that give every class its weight among the rows Z."""
        found = self
        for _ in range(ROUNDS):
            given = np.maximum(found._shares(Z).mean(axis=0), 1e-12)
            found = Labels(self.slope, found.level + np.log(weights / given))
        return found


def pooled_labels(mixture: Mixture, Z: Matrix, codes: Codes) -> Labels:
    """The posterior of the classes with one covariance for all of them, by rows Z that were drawn from the mixture.

    Decoding moved these rows (cells are cut at their bounds, one category is taken of many), so their moments are
    taken as they now are. A class with fewer rows than dimensions keeps the mean that the mixture has.
    """
    classes, p = mixture.means.shape
    means, away = mixture.means.copy(), np.empty_like(Z)
    for c in range(classes):
        mine = codes == c
        if np.count_nonzero(mine) > p:
            means[c] = Z[mine].mean(axis=0)
        away[mine] = Z[mine] - means[c]
    within = away.T @ away / len(Z)
    within += 1e-9 * max(float(np.trace(within)) / p, 1e-12) * np.eye(p)
    slope: Matrix = np.asarray(np.linalg.solve(within, means.T), dtype=np.float64)
    weights = np.maximum(mixture.weights, 1e-12)
    level = np.log(weights) - 0.5 * np.einsum("cp,pc->c", means, slope)
    return Labels(slope, level).balanced(Z, weights / weights.sum())


def learned(X: Matrix, codes: Codes, classes: int) -> Labels:
    """What an ordinary learner takes from rows: a logistic regression on standardised columns."""
    from sklearn.linear_model import LogisticRegression  # here, since it takes long to import

    spread = X.std(axis=0)
    scale = 1 / np.where(spread > 1e-12, spread, np.inf)
    mean = X.mean(axis=0)
    slope, level = np.zeros((X.shape[1], classes)), np.full(classes, -np.inf)
    seen = np.unique(codes)
    if len(seen) == 1:
        level[seen] = 0.0
        return Labels(slope, level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stopped after so many steps
        fitted = LogisticRegression(max_iter=STEPS).fit((X - mean) * scale, codes)
    ahead = slice(1, 2) if len(seen) == 2 else slice(None)  # of two classes only the second has coefficients
    slope[:, seen[ahead]] = scale[:, None] * fitted.coef_.T
    level[seen] = 0.0
    level[seen[ahead]] = fitted.intercept_ - mean @ slope[:, seen[ahead]]
    return Labels(slope, level)
