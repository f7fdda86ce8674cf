"""From components in a subspace and marginals to a model that rows are drawn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gnomon.model.class_marginals import Latent
from gnomon.model.columns import Attribute
from gnomon.model.components import Chain, Choice, Codes, Gaussians, Table
from gnomon.model.coordinates import UNIFORM, Coordinates
from gnomon.model.marginal import Marginal
from gnomon.model.mixture import Mixture
from gnomon.model.rounds import Subspace
from gnomon.model.shrinkage import Floats
from gnomon.model.tuning import RESOLUTION, Tuning

BATCH, LEAST_BATCH = 2 * 2 * 2 * RESOLUTION.rows, RESOLUTION.least_rows  # rows drawn at once
TINY = RESOLUTION.tiny


@dataclass
class SyntheticModel:
    """A latent mixture over marginals. `sample(n, rng)` gives encoded cells and the component classes of rows."""

    coordinates: Coordinates
    gaussians: Gaussians
    chain: Chain | None
    class_marginals: dict[tuple[int, int], Marginal] = field(default_factory=dict)

    def latent(self, j: int) -> Latent:
        """The latent law of one coordinate."""
        g = self.gaussians
        variances = (self.chain or g).variances(j)
        return Latent(g.weights, g.classes, g.means[:, j], np.sqrt(np.maximum(variances, TINY))[g.classes])

    def sample_batches(self, n: int, rng: np.random.Generator) -> Iterator[tuple[Floats, Codes]]:
        """n rows of encoded cells (rows, m) and their classes, in random order; ranks are taken within a batch."""
        for start in range(0, n, BATCH):
            wanted = min(BATCH, n - start)
            g = self._components(max(wanted, LEAST_BATCH), rng)
            Z, chosen = (self.chain or self.gaussians).draw(g, rng)
            cells, codes = self.decode(Z, chosen, self.gaussians.classes[g]), self.gaussians.classes[g]
            order = rng.permutation(len(g))[:wanted]
            yield cells[order], codes[order]

    def _components(self, n: int, rng: np.random.Generator) -> Codes:
        """The components of n rows: shares to the row, the rest by chance."""
        wanted = self.gaussians.weights * n
        counts = np.floor(wanted).astype(np.int64)
        left = n - int(counts.sum())
        if left:
            rest = wanted - counts
            counts += np.bincount(rng.choice(len(rest), left, p=rest / rest.sum()), minlength=len(rest))
        return np.repeat(np.arange(len(counts)), counts)

    def raked(self, rng: np.random.Generator) -> SyntheticModel:
        """The model whose chances, cut at zero, have the means that they should have."""
        if self.chain is not None:
            self.chain.draw(self._components(RESOLUTION.rows, rng), rng, rake=True)
        return self

    def decode(self, Z: Floats, chosen: Codes, codes: Codes) -> Floats:
        """Latent rows -> encoded cells."""
        X = np.zeros_like(Z)
        for attribute, marginal in self.coordinates.numbers:
            X[:, attribute.first] = self._cells(attribute.first, Z[:, attribute.first], codes, marginal)
        for place, choice in enumerate(self.chain.choices if self.chain else ()):
            X[:, choice.columns] = choice.cells[chosen[:, place]]
        for attribute in self.coordinates.attributes:
            if attribute.unordered and attribute.columns.stop - attribute.first == 1:
                X[:, attribute.first] = 1.0
            if attribute.indicator is not None:
                X[X[:, attribute.indicator] > 0, attribute.columns] = 0.0
        return X

    def _cells(self, j: int, z: Floats, codes: Codes, marginal: Marginal) -> Floats:
        """Cells of a number by rank: within a class that has a marginal of its own, else among all rows."""
        if not self.coordinates.counted:
            return np.asarray(np.clip(z / UNIFORM, -1.0, 1.0))
        x, rest = np.empty_like(z), np.ones(len(z), dtype=bool)
        for c in np.flatnonzero(np.bincount(codes)).tolist():
            own, mine = self.class_marginals.get((c, j)), codes == c
            if own is not None:
                few = np.count_nonzero(mine) < RESOLUTION.points
                law = self.latent(j).quantiles(c, LEAST_BATCH) if few else z[mine]
                x[mine] = Table.by_rank(law, own)(z[mine])
                rest &= ~mine
        if rest.any():
            x[rest] = Table.by_rank(z, marginal)(z[rest])
        return x


def synthetic_model(space: Subspace, cells: Mixture, on: Coordinates, t: Tuning) -> SyntheticModel:
    """Components of the subspace, with what lies outside it, over all coordinates; then discrete attributes in a chain."""
    model = _over_all(space, cells, on)
    choices = [choice for attribute, marginal in on for choice in _choices(attribute, marginal)]
    if not choices:
        return SyntheticModel(on, model, None)
    observed = _observed(space, on, t)
    means = model.means / np.maximum(np.diag(observed), t.least)
    for choice in choices:
        chances = _chances(choice, means[:, choice.places], model.weights, t)
        means[:, choice.places] = chances @ choice.points
    model = replace(model, means=means)
    covariances = np.stack([_complete(model, c, choices, observed, t) for c in range(len(model.loadings))])
    chosen = {int(p) for choice in choices for p in choice.places}
    unordered = {j for a in on.attributes if a.unordered for j in range(a.first, a.columns.stop)}
    numbers = np.array([j for j in range(len(on.centre)) if j not in chosen | unordered], dtype=np.int64)
    return SyntheticModel(on, model, Chain(model, covariances, choices, numbers))


def _over_all(space: Subspace, cells: Mixture, on: Coordinates) -> Gaussians:
    """Loadings by class inside the subspace, the shrunk covariance outside it, and what each column still lacks."""
    m, lift = len(on.centre), space.basis / space.scale
    means = space.centre + cells.means @ lift.T
    jitter = np.eye(lift.shape[1])
    _, first = np.unique(cells.classes, return_index=True)  # cells of a class have its covariance
    loadings = np.stack(
        [lift @ np.linalg.cholesky(S + TINY * np.trace(S) * jitter) for S in cells.covariances[first]]
    )
    outside = np.eye(m) - space.basis @ space.basis.T
    raw, U = np.linalg.eigh(outside @ space.covariance @ outside)
    seen = raw > TINY * max(float(raw[-1]), TINY)
    rest = (U * np.sqrt(np.maximum(raw, 0.0)))[:, seen]
    spread = np.stack([(F**2).sum(axis=1) for F in loadings])[cells.classes]
    centre = cells.weights @ means
    now = cells.weights @ ((means - centre) ** 2 + spread) + (rest**2).sum(axis=1)
    diagonal = np.sqrt(np.maximum(on.variance * on.weight**2 - now, 0.0))
    w = on.weight
    return Gaussians(
        cells.weights, cells.classes, means / w, loadings / w[:, None], rest / w[:, None], diagonal / w
    )


def _choices(attribute: Attribute, marginal: Marginal) -> Iterator[Choice]:
    """The discrete draws of an attribute: its value where it has no order or two values, and whether it is missing.

    The most frequent value comes first and has no coordinate of its own, since the others leave it over.
    """
    k, mass, first = len(marginal.mass), marginal.mass, attribute.first
    if attribute.unordered and k > 1:
        order = np.argsort(-mass, kind="stable")
        points = (np.eye(k) - mass)[order][:, order[1:]]
        yield Choice(first + order[1:], points, mass[order], first + np.arange(k), np.eye(k)[order])
    elif attribute.values is not None and k == 2:
        place = np.array([first])
        yield Choice(place, marginal.score[:, None], mass, place, attribute.values[:, None])
    if attribute.indicator is not None:
        place, share, flags = np.array([attribute.indicator]), marginal.missing, np.array([[0.0], [1.0]])
        yield Choice(place, flags - share, np.array([1 - share, share]), place, flags)


def _chances(choice: Choice, means: Floats, weights: Floats, t: Tuning) -> Floats:
    """The chances of a discrete attribute in each component, from its means, raked to the shares of all rows."""
    chances = np.maximum(choice.chances(means), t.least * choice.shares)
    chances /= chances.sum(axis=1, keepdims=True)
    for _ in range(RESOLUTION.steps):
        chances *= choice.shares / np.maximum(weights @ chances, TINY)
        chances /= chances.sum(axis=1, keepdims=True)
    return chances


def _observed(space: Subspace, on: Coordinates, t: Tuning) -> Floats:
    """The chance (m, m) that both of two coordinates are observed; moments of masked cells are divided by it."""
    m = len(on.centre)
    rate, places, marks = np.ones(m), [], []
    for attribute, marginal in on:
        if attribute.indicator is not None:
            rate[attribute.columns] = 1 - marginal.missing
            places += list(range(attribute.first, attribute.columns.stop))
            marks += [attribute.indicator] * (attribute.columns.stop - attribute.first)
    both = np.outer(rate, rate)
    if places:
        common = (space.covariance / np.outer(on.weight, on.weight))[np.ix_(marks, marks)]
        least = np.minimum.outer(rate[places], rate[places])
        both[np.ix_(places, places)] = np.clip(both[np.ix_(places, places)] + common, t.least, least)
    both[np.diag_indices(m)] = rate
    return both


def _complete(model: Gaussians, c: int, choices: Sequence[Choice], observed: Floats, t: Tuning) -> Floats:
    """The covariance of a class as if no cell were missing, exact for discrete attributes, positive."""
    S = model.covariance(c) / observed
    mine = model.classes == c
    weights = model.weights[mine] / max(float(model.weights[mine].sum()), TINY)
    for choice in choices:
        q = choice.chances(model.means[mine][:, choice.places])
        mean = q @ choice.points
        V = (choice.points.T * (weights @ q)) @ choice.points - (mean.T * weights) @ mean
        excess = np.minimum(np.diag(V) / np.maximum(S[choice.places, choice.places], TINY), 1.0)
        S[choice.places] *= excess[:, None]
        S[:, choice.places] *= excess
        S[np.ix_(choice.places, choice.places)] = V + TINY * max(float(np.trace(V)) / len(V), TINY) * np.eye(
            len(V)
        )
    std = np.sqrt(np.maximum(np.diag(S), TINY))
    raw, U = np.linalg.eigh(S / np.outer(std, std))
    R = (U * np.maximum(raw, t.least)) @ U.T
    std = std / np.sqrt(np.diag(R))
    return np.asarray(R * np.outer(std, std))
