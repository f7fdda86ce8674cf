"""Rules that label rows: one covariance for all classes, and what ordinary learners learn, by lines and by trees.

A learner's rule is asked about real rows, so a row's answer must be the row's alone: where it stands in a batch must not
move its answer by a bit. Sums of products are sums of integers below 2^53, which are exact in any order; trees compare
one cell at a time, and their votes are added up in the trees' order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.model.mixture import Codes, Mixture
from gnomon.statistics.grid import Matrix

Rule = Callable[[Matrix], Codes]  # encoded cells -> classes
ROUNDS = 30  # of the fixed point that gives every class its share
STEPS = 50  # of the learner by lines
FINE = 2.0**20  # to which cells and slopes are rounded
TREES, LEAF = 20, 5  # of the learner by trees: how many, and the fewest rows that one of their leaves has


def exact_product(Z: Matrix, slope: Matrix) -> tuple[Matrix, float]:
    """Z @ slope as integers in some unit: both are rounded to 21 bits, so 2^10 products add up without rounding."""
    top = max(float(np.abs(slope).max()), 1e-300)
    return np.rint(Z * FINE) @ np.rint(slope * (FINE / top)), top / FINE**2


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
    """What a learner that draws lines takes from rows: a logistic regression on standardised columns."""
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


def grown(X: Matrix, codes: Codes, seed: int) -> Rule:
    """What a learner that draws curves takes from rows: a small random forest."""
    from sklearn.ensemble import RandomForestClassifier  # here, since it takes long to import

    forest = RandomForestClassifier(TREES, min_samples_leaf=LEAF, random_state=seed % 2**32, n_jobs=1)
    forest.fit(X, codes)

    def best(cells: Matrix) -> Codes:
        found: Codes = forest.predict(cells).astype(np.int64) if len(cells) else np.empty(0, dtype=np.int64)
        return found

    return best
