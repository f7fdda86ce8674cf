"""How likely an outcome is for exact values that meet a known noise, and how much two exact values can be told apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from gnomon.audit.instrumentation import Step

Matrix = npt.NDArray[np.float64]
FAR = 45.0  # scales beyond which a noise is rarer than what doubles can tell
GAUSSIAN = {"rounded-gaussian", "discrete-gaussian", "goe", "discrete-goe"}
PURE = {"discrete-laplace", "matrix-laplace", "upper-laplace"}
CHOICES = {"exponential", "noisy-max"}
NODES = 12  # of the integral over a piece of at most one scale


def log_likelihood(step: Step) -> float:
    """The logarithm of the probability of what came out, up to a constant of the kind and the size of the noise."""
    if step.kind in _BLOCKS:
        return float(of_blocks(step.kind, step.exact, step.released, step.scale).sum())
    return _LIKELIHOODS[step.kind](step.exact, step.released, scales(step))


def scales(step: Step) -> Any:
    """The scale of the noise, of every number where they have weights."""
    if step.weights is None:
        return step.scale
    return step.scale * np.broadcast_to(np.asarray(step.weights), np.shape(step.exact))


def of_blocks(kind: str, exact: Any, released: Any, scale: float) -> Matrix:
    """The same for every one of many matrices (..., q, q), each with noise of its own."""
    return _BLOCKS[kind](exact, released, scale)


def sharper(kind: str, exact: Any, released: Any, scale: float) -> Matrix:
    """As `of_blocks`, with most of the factor that `_matrix_laplace` leaves out.

    In the integral over A >= 0, A >= Z, each pair of eigenvalues a > 0 > -b of Z leaves room between its directions that
    grows like sqrt(ab / (a + b)) far out and is constant where one of them is 0 (for q = 2 the integral can be done). So
    sqrt(1 + ab / (a + b)), in units of twice the scale, stands for it. That is no density, but any score is a fair
    attack, and this one tells more (docs/results/audit.md).
    """
    if kind != "matrix-laplace":
        return of_blocks(kind, exact, released, scale)
    values = np.linalg.eigvalsh(_distance(exact, released)) / (2 * scale)
    i, j = np.triu_indices(values.shape[-1], 1)
    below, above = np.minimum(values[..., i], 0.0), np.maximum(values[..., j], 0.0)  # in ascending order
    room = -below * above / np.maximum(above - below, 1e-300)
    found: Matrix = np.log1p(room).sum(axis=-1) / 2 - np.abs(values).sum(axis=-1)
    return found


def _distance(exact: Any, released: Any) -> Matrix:
    return np.asarray(released - exact, dtype=np.float64)


def _laplace(exact: Any, released: Any, scale: Any) -> float:
    z = np.abs(_distance(exact, released))
    return float((np.log(np.tanh(1 / (2 * scale))) - z / scale).sum())


def _gaussian(exact: Any, released: Any, scale: Any) -> float:
    z = _distance(exact, released)
    return float(-(np.square(z / scale) / 2 + np.log(scale)).sum())


def _goe(exact: Any, released: Any, scale: float) -> Matrix:
    """Independent entries i <= j with half the variance beside the diagonal: exp(-||Z||_F^2 / (2 scale^2))."""
    z = _distance(exact, released)
    q = int(z.shape[-1])
    found: Matrix = -np.square(z / scale).sum(axis=(-2, -1)) / 2 - q * (q + 1) / 2 * math.log(scale)
    return found


def _upper_laplace(exact: Any, released: Any, scale: float) -> Matrix:
    i, j = np.triu_indices(np.shape(exact)[-1])
    z = _distance(exact, released)[..., i, j]
    found: Matrix = -np.abs(z).sum(axis=-1) / scale + len(i) * math.log(math.tanh(1 / (2 * scale)))
    return found


def _matrix_laplace(exact: Any, released: Any, scale: float) -> Matrix:
    """exp(-||Z||_* / (2 scale)) times a factor that grows no faster than a power of Z; that factor is left out.

    For definite Z, and for q = 1, it is constant: f(Z) = C exp(kappa tr Z) times the integral of exp(-2 kappa tr A) over
    A >= 0, A >= Z (docs/explanation/proofs/noise-matrix-laplace.md), kappa = 1 / (2 scale). In general the integral is
    exp(-2 kappa tr Z+) times one that is a power of the eigenvalues far out, where the loss is largest.
    """
    return -nuclear(_distance(exact, released)) / (2 * scale)


def nuclear(Z: Matrix) -> Matrix:
    """The nuclear norms of symmetric matrices (..., q, q)."""
    norms: Matrix = np.abs(np.linalg.eigvalsh(Z)).sum(axis=-1)
    return norms


def lifted(step: Step) -> Matrix:
    """The covariances (L, q, q) of the rows of a sketch: the moments of every class and the lift, which is the scale."""
    exact = np.asarray(step.exact, dtype=np.float64)
    return exact + step.scale * np.eye(exact.shape[-1])


def _sketch(exact: Any, released: Any, scale: float) -> float:
    """Rows (L, r, q) of N(0, S + lift)."""
    S, Y = lifted(Step("gaussian-sketch", scale, exact, None)), np.asarray(released, dtype=np.float64)
    volumes = np.linalg.slogdet(S)[1]
    return float(-(Y @ np.linalg.inv(S) * Y).sum() / 2 - Y.shape[1] * volumes.sum() / 2)


def _choice(exact: Any, released: Any, scale: float) -> float:
    weights = -np.asarray(exact, dtype=np.float64) / scale
    return float(weights[int(released)] - logsumexp(weights))


def _maximum(exact: Any, released: Any, scale: float) -> float:
    return float(log_chances(exact, scale)[int(released)])


def log_chances(scores: Any, scale: float) -> Matrix:
    """The logarithms of the probabilities that each score is the largest once all have Laplace noise of this scale.

    P(i) is the integral of the density of score i times the chances of all others to stay below, piece by piece
    between the scores, where the integrand is a sum of exponentials; the grid of the scores is too fine to show.
    """
    s = np.asarray(scores, dtype=np.float64).ravel() / scale
    s -= s.max()
    inside = s[s > -FAR]
    ends = np.unique(np.concatenate([np.arange(inside.min() - FAR, FAR + 1.0), inside]))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(ends)[:, None] / 2
    x = (ends[:-1, None] + half * (nodes + 1)).ravel()
    z = x - s[:, None]
    below = np.where(z < 0, z - math.log(2), np.log1p(-np.exp(-np.abs(z)) / 2))
    inner = -np.abs(z) - math.log(2) + below.sum(axis=0) - below
    found: Matrix = logsumexp(inner, b=(half * weights).ravel(), axis=1)
    return found


def _as_it_is(exact: Any, released: Any, scale: float) -> float:
    """Without noise only the exact value can come out."""
    return 0.0 if np.array_equal(exact, released) else -math.inf


def _public(exact: Any, released: Any, scale: float) -> float:
    """A public draw has the same law for both tables."""
    return 0.0


_LIKELIHOODS: dict[str, Callable[[Any, Any, Any], float]] = {
    "discrete-laplace": _laplace,
    "rounded-gaussian": _gaussian,
    "discrete-gaussian": _gaussian,
    "gaussian-sketch": _sketch,
    "exponential": _choice,
    "noisy-max": _maximum,
    "thresholded-laplace": _public,  # a set of labels: its tail is bounded beside FrequentLabels and not attacked here
    "public": _public,
    "none": _as_it_is,
}


_BLOCKS: dict[str, Callable[[Any, Any, float], Matrix]] = {
    "goe": _goe,
    "discrete-goe": _goe,
    "upper-laplace": _upper_laplace,
    "matrix-laplace": _matrix_laplace,
}


# --- Independent parts ---


@dataclass(frozen=True)
class Part:
    """A part of an outcome that is independent of the others: its score, the larger the likelier the second table."""

    score: float
    epsilon: float  # what the change of this part costs


def parts(first: Step, second: Step) -> list[Part]:
    """The parts of one outcome for the exact values of both tables.

    The numbers of a vector and the blocks of a matrix release meet noise of their own. Within a block of matrix-Laplace
    noise Z the numbers u'Zu along the eigenvectors of the change are independent, since they come from different columns
    of G; a block whose change has one direction only is scored as a whole, which tells more. Parts of one step that cost
    the same have the same law: noise is as likely as its opposite, and turned with the change it stays the same.
    """
    if first.kind == "discrete-laplace":
        return _numbers(first, second)
    if first.kind == "matrix-laplace":
        return [
            part
            for block in zip(first.exact, second.exact, first.released, strict=True)
            for part in _directions(*block, first.scale)
        ]
    return [Part(log_likelihood(second) - log_likelihood(first), cost(first, second).epsilon)]


def _numbers(first: Step, second: Step) -> list[Part]:
    moved, scale = first.exact != second.exact, scales(first)
    scale = scale if first.weights is None else scale[moved]
    to_first, to_second = (np.abs(step.released - step.exact)[moved] for step in (first, second))
    costs = np.abs(second.exact - first.exact)[moved] / scale
    return list(map(Part, ((to_first - to_second) / scale).tolist(), costs.tolist()))


def _directions(a: Any, b: Any, released: Any, scale: float) -> list[Part]:
    values, vectors = np.linalg.eigh(_distance(a, b))
    moved = np.abs(values) > 1e-6 * np.abs(values).max(initial=1.0)
    costs = np.abs(values[moved]) / (2 * scale)
    if moved.sum() == 1:
        likelihoods = [float(_matrix_laplace(exact, released, scale)) for exact in (a, b)]
        return [Part(likelihoods[1] - likelihoods[0], float(costs[0]))]
    along = vectors[:, moved]
    z = np.einsum("ik,ij,jk->k", along, _distance((a + b) / 2, released), along) * np.sign(values[moved])
    return list(map(Part, (z / (2 * scale)).tolist(), costs.tolist()))


# --- What a change costs ---


@dataclass(frozen=True)
class Cost:
    """What two exact values cost where they meet the same noise: pure losses add up, Gaussian ones add in squares."""

    epsilon: float = 0.0
    squared_mu: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.epsilon + other.epsilon, self.squared_mu + other.squared_mu)


def cost(first: Step, second: Step) -> Cost:
    """The exact loss of one step for two neighbouring values: reached in the limit of many runs, and never exceeded."""
    kind, scale = first.kind, scales(first)
    if kind == "public":
        return Cost()
    if kind == "none":
        return Cost(epsilon=0.0 if np.array_equal(first.exact, second.exact) else math.inf)
    if kind == "noisy-max":
        moved = log_chances(second.exact, scale) - log_chances(first.exact, scale)
        return Cost(epsilon=float(np.abs(moved).max()))
    change = np.asarray(second.exact - first.exact, dtype=np.float64)
    if kind == "discrete-laplace":
        return Cost(epsilon=float(np.abs(change / scale).sum()))
    if kind == "upper-laplace":
        i, j = np.triu_indices(change.shape[-1])
        return Cost(epsilon=float(np.abs(change[..., i, j]).sum()) / scale)
    if kind == "matrix-laplace":
        return Cost(epsilon=float(nuclear(change).sum()) / (2 * scale))
    if kind == "exponential":
        moved = logsumexp(-second.exact / scale) - logsumexp(-first.exact / scale) + change / scale
        return Cost(epsilon=float(np.abs(moved).max()))
    if kind not in GAUSSIAN:
        raise ValueError(f"no cost is known for a step of the kind {kind!r}")
    return Cost(squared_mu=float(np.square(change / scale).sum()))
