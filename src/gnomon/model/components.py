"""A mixture of latent Gaussians over private marginals: sampled row by row, cells read off the marginals.

Categories, booleans and missing cells come one after the other: the chance of a value is its linear prediction from what
was drawn before, so that covariances are those of the model, without inversion. Numbers are Gaussian given these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from gnomon.model.marginal import Marginal
from gnomon.model.shrinkage import Floats
from gnomon.model.tuning import RESOLUTION

Codes = npt.NDArray[np.int64]
TINY = RESOLUTION.tiny


@dataclass(frozen=True)
class Table:
    """Latent coordinate -> cell: between knots i and i + 1 the cell runs from low[i] to high[i]."""

    knots: Floats
    low: Floats
    high: Floats

    @classmethod
    def by_rank(cls, z: Floats, marginal: Marginal) -> Table:
        """The map that gives the latent values z (of many rows) the marginal's distribution."""
        order = np.sort(z[:: max(len(z) // RESOLUTION.rows, 1)])
        end = 0.5 / len(order)
        u = np.union1d(np.linspace(0, 1, RESOLUTION.points + 1), marginal.cumulative)
        u = np.concatenate([[end], u[(u > end) & (u < 1 - end)], [1 - end]])  # ranks of rows, no further
        u = u[np.append(True, np.diff(u) > TINY)]
        knots = np.interp(u, (np.arange(len(order)) + 0.5) / len(order), order)
        inside = marginal.quantile((u[:-1] + u[1:]) / 2)
        i = marginal.bin((u[:-1] + u[1:]) / 2)
        slope = (marginal.right[i] - marginal.left[i]) / np.maximum(marginal.mass[i], TINY)
        half = slope * np.diff(u) / 2
        return cls(knots, np.maximum(inside - half, -1.0), np.minimum(inside + half, 1.0))

    def __call__(self, z: Floats) -> Floats:
        last = len(self.low) - 1
        parts = RESOLUTION.least_rows  # of the latent range, in each of which the search for a knot starts
        start, step = self.knots[0], max(float(self.knots[-1] - self.knots[0]), TINY) / parts
        i = np.searchsorted(self.knots, start + step * np.arange(parts), side="right") - 1
        i = np.clip(i, 0, last)[np.clip((z - start) / step, 0, parts - 1).astype(np.int64)]
        late = np.flatnonzero((z >= self.knots[i + 1]) & (i < last))
        i[late] = np.clip(np.searchsorted(self.knots, z[late], side="right") - 1, 0, last)
        slope = (self.high - self.low) / np.maximum(np.diff(self.knots), TINY)
        return np.asarray(np.clip(self.low[i] + (z - self.knots[i]) * slope[i], self.low[i], self.high[i]))


@dataclass(frozen=True)
class Gaussians:
    """Components over all coordinates: weights (G,), classes (G,), means (G, m), and by class loadings (L, m, p) with a
    common rest (m, r) and diagonal (m,)."""

    weights: Floats
    classes: Codes
    means: Floats
    loadings: Floats
    rest: Floats
    diagonal: Floats

    def covariance(self, c: int) -> Floats:
        common = self.rest @ self.rest.T + np.diag(self.diagonal**2)
        return np.asarray(self.loadings[c] @ self.loadings[c].T + common)

    def variances(self, j: int) -> Floats:
        """Of one coordinate within the components of each class."""
        return np.asarray(
            (self.loadings[:, j] ** 2).sum(axis=1) + (self.rest[j] ** 2).sum() + self.diagonal[j] ** 2
        )

    def draw(self, g: Codes, rng: np.random.Generator) -> tuple[Floats, Codes]:
        """Rows (n, m) of the components g, without choices (n, 0)."""
        n, (_, m, p) = len(g), self.loadings.shape
        Z = rng.standard_normal((n, m))
        Z *= self.diagonal
        if self.rest.shape[1]:
            Z += rng.standard_normal((n, self.rest.shape[1])) @ self.rest.T
        S, owner = rng.standard_normal((n, p)), self.classes[g]
        for c in np.unique(owner):
            i = np.flatnonzero(owner == c)
            Z[i] += S[i] @ self.loadings[c].T
        Z += self.means[g]
        return np.asarray(Z), np.empty((n, 0), dtype=np.int64)


@dataclass(frozen=True)
class Choice:
    """A discrete attribute in the chain, with k choices.

    places (d,) are its latent coordinates, points (k, d) their values for each choice, shares (k,) those of all rows;
    columns (e,) and cells (k, e) are what is written for each choice.
    """

    places: Codes
    points: Floats
    shares: Floats
    columns: Codes
    cells: Floats

    def chances(self, predicted: Floats) -> Floats:
        """The chance of each choice (n, k) from predicted coordinates (n, d): linear, and exact on average."""
        rest = predicted - self.points[0]
        if self._inverse is not None:
            rest = rest @ self._inverse
        found = np.hstack([1 - rest.sum(axis=1, keepdims=True), rest])
        return np.asarray(np.maximum(found, 0.0, out=found))

    @cached_property
    def _inverse(self) -> Floats | None:
        """The pseudo-inverse (d, k - 1) of the directions from the first choice to the others; None if it is the identity,
        as it is of a category, each of whose other values has a coordinate of its own."""
        D = self.points[1:] - self.points[0]
        if D.shape[0] == D.shape[1] and np.allclose(D, np.eye(len(D)), rtol=0, atol=TINY):
            return None
        return np.asarray(np.linalg.pinv(D))


class Chain:
    """Discrete attributes one after the other, each from its linear prediction by those before; then Gaussian numbers.

    This is sampling by Cholesky factors in which a discrete attribute's innovation is what its draw leaves over. Given
    categories, the mean of a number is linear in their one-hots without loss, so numbers come last. By class, factors
    rake the linear predictions, cut at zero, back to the chances of the model.
    """

    def __init__(
        self, model: Gaussians, covariances: Floats, choices: Sequence[Choice], numbers: Codes
    ) -> None:
        self.model, self.numbers, self.choices = model, numbers, choices
        self.order = np.concatenate([*(choice.places for choice in choices), numbers])
        self.roots = [np.linalg.cholesky(S[np.ix_(self.order, self.order)]) for S in covariances]
        self.slopes = [self._slopes(L) for L in self.roots]
        self.factors = [[np.ones(len(choice.shares)) for choice in choices] for _ in covariances]

    def _slopes(self, L: Floats) -> list[Floats]:
        """For each discrete attribute, how what comes after it depends on what its draw leaves over: L_rb inv(L_bb)."""
        found, at = [], 0
        for choice in self.choices:
            end = at + len(choice.places)
            found.append(solve_triangular(L[at:end, at:end], L[end:, at:end].T, lower=True, trans=1).T)
            at = end
        return found

    def variances(self, j: int) -> Floats:
        """Of one number within the components of each class."""
        row = int(np.flatnonzero(self.order == j)[0])
        return np.array([(L[row] ** 2).sum() for L in self.roots])

    def draw(self, g: Codes, rng: np.random.Generator, rake: bool = False) -> tuple[Floats, Codes]:
        """Rows (n, m) of the components g and the choices (n, a) of discrete attributes; `rake` fits their factors."""
        n = len(g)
        Z = np.empty((n, self.model.means.shape[1]))
        chosen = np.empty((n, len(self.choices)), dtype=np.int64)
        strata = np.tile(np.arange(n), (len(self.choices), 1))
        uniforms = (rng.permuted(strata, axis=1).T + rng.random((n, 1))) / n
        E, owner = rng.standard_normal((n, len(self.numbers))), self.model.classes[g]
        for c in np.unique(owner):
            i = np.flatnonzero(owner == c)
            Z[i], chosen[i] = self._of_class(int(c), self.model.means[g[i]], E[i], uniforms[i], rake)
        return Z, chosen

    def _of_class(self, c: int, means: Floats, E: Floats, u: Floats, rake: bool) -> tuple[Floats, Codes]:
        L, Z, at = self.roots[c], means[:, self.order], 0  # predictions, of which draws take the place
        chosen = np.empty((len(means), len(self.choices)), dtype=np.int64)
        for a, choice in enumerate(self.choices):
            end = at + len(choice.places)
            predicted = Z[:, at:end]
            chances = choice.chances(predicted)
            if rake:
                wanted = choice.chances(means[:, choice.places]).mean(axis=0)
                self.factors[c][a] = _raked(chances, wanted)
            chosen[:, a] = _pick(chances * self.factors[c][a], u[:, a])
            drawn = choice.points[chosen[:, a]]
            Z[:, end:] += (drawn - predicted) @ self.slopes[c][a].T
            Z[:, at:end] = drawn
            at = end
        Z[:, at:] += E @ L[at:, at:].T
        found = np.empty_like(means)
        found[:, self.order] = Z
        return found, chosen


def _pick(chances: Floats, u: Floats) -> Codes:
    total = np.cumsum(chances, axis=1)
    return np.asarray((u[:, None] * total[:, -1:] >= total).sum(axis=1).clip(0, chances.shape[1] - 1))


def _raked(chances: Floats, wanted: Floats) -> Floats:
    """Factors of the choices after which their normalised chances have the wanted means."""
    factors = np.ones(len(wanted))
    for _ in range(RESOLUTION.steps):
        now = chances * factors
        now /= np.maximum(now.sum(axis=1, keepdims=True), TINY)
        factors *= wanted / np.maximum(now.mean(axis=0), TINY)
        factors = np.clip(factors, 1 / RESOLUTION.rows, RESOLUTION.rows)
    return factors
