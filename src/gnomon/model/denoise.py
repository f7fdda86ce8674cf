"""Noisy rows made useful: a model from their noisy moments, and each row as that model sees it through its noise.

A noisy row alone shows little. The noisy moment matrix of all rows shows how rows are distributed; given it, a noisy row
is brought back to where the model has rows: its class is drawn with the probabilities of the classes, and within the class
the shortest map carries the law of noisy rows onto the law of rows. The table so made has the spread and the correlations
of the model, which the best guess of each row, the Wiener filter, would shrink.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.model.shrinkage import spikes
from gnomon.statistics.grid import Matrix

Vector = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
RATE = 0.5  # the weight of the features' evidence about a label: the model is never quite the table (Gruenwald 2012)
LEAST = 0.6  # of RATE, where all of the evidence could be noise
SURE = 3.0  # deviations above noise at which labels are surely related to the features
RARELY = 0.4  # below a half, so that labels that may be noise are outvoted by the largest class, and still order the rows
SMALLEST_CLASS = 0.02  # of the rows; below it, a noisy count says nothing about a class
ALMOST = 0.9  # the largest share of the spread along a direction that classes may explain
LEFT = 0.05  # of the features' spread, at least this much is not along the visible directions


@dataclass(frozen=True)
class NoisyMoments:
    """Moments of n rows (x, l): S = sum of outer products plus noise of deviation `beside` off the diagonal.

    x are the features; l is a one-hot label times `scale` (K > 1 columns), or one constant column `scale` (K = 1).
    """

    S: Matrix
    beside: float
    n: int
    scale: float
    classes: int

    @property
    def m(self) -> int:
        return len(self.S) - self.classes


@dataclass(frozen=True)
class RowModel:
    """Gaussian classes of weights (K,) and means (K, m), all with the covariance V diag(v) V'.

    `rate` is how much the features count when a label is estimated, `kept` how often a label other than the largest class's
    is then published.
    """

    weights: Vector
    means: Matrix
    values: Vector
    vectors: Matrix
    rate: float = RATE
    kept: float = 1.0

    def guess(
        self, Z: Matrix, labels: Matrix, noise: float, scale: float, rng: np.random.Generator
    ) -> Codes | None:
        """A class for each noisy row, drawn with the probabilities of the classes; None where there are none."""
        if len(self.weights) == 1:
            return None
        scores = self._evidence(Z, noise) + np.log(self.weights) + label_evidence(labels, noise, scale)
        return most_probable(scores + rng.gumbel(size=scores.shape))

    def transport(self, noise: float) -> AffineMap:
        """The map that carries noisy rows of a class, of covariance C + s^2 I, onto rows of covariance C.

        It is the nearest such map (optimal transport between the two Gaussians): along a direction of variance v it is
        the factor sqrt(v / (v + s^2)). A draw of the row given the noisy one has the same law and the smaller factor
        v / (v + s^2), and so lies farther from the true row; the Wiener filter, which is that factor without a draw, lies
        nearest to it and shrinks spreads and correlations.
        """
        shorter = np.sqrt(self.values / (self.values + noise**2))
        F = (self.vectors * shorter) @ self.vectors.T
        return AffineMap(F, self.means - self.means @ F)

    def label(self, X: Matrix, labels: Matrix, noise: float, scale: float, rng: np.random.Generator) -> Codes:
        """The most probable label of rows X whose noisy labels were `labels`; without evidence, the largest class.

        A label takes no part of chance: a forest grown on labels drawn from 55% and 45% is wrong more often than one
        that learns the larger class.
        """
        posterior = self.rate * self._evidence(X, 0.0) + np.log(self.weights)
        posterior += label_evidence(labels, noise, scale)
        likely = most_probable(posterior)
        known = np.sort(label_evidence(labels, noise, scale), axis=1)
        sure = known[:, -1] - known[:, -2] > SURE
        return np.where(sure | (rng.random(len(likely)) < self.kept), likely, np.argmax(self.weights))

    def _evidence(self, Z: Matrix, noise: float) -> Matrix:
        """log-likelihood of every class, up to a constant, from features seen through noise."""
        white = self.vectors / np.sqrt(self.values + noise**2)
        centres = self.means @ white
        found: Matrix = Z @ (white @ centres.T) - 0.5 * np.sum(centres**2, axis=1)
        return found


@dataclass(frozen=True)
class AffineMap:
    """rows -> rows @ matrix + offsets[class]."""

    matrix: Matrix
    offsets: Matrix

    def __call__(self, rows: npt.NDArray[Any], classes: Codes | None) -> npt.NDArray[Any]:
        seen: npt.NDArray[Any] = self.matrix.T @ rows.T  # columns stay together
        seen += self.offsets.T if classes is None else self.offsets.T[:, classes]
        return seen.T

    def then(self, slope: Matrix, base: Vector) -> AffineMap:
        """This map, then rows -> rows @ slope + base."""
        return AffineMap(self.matrix @ slope, self.offsets @ slope + base)

    def single(self) -> AffineMap:
        """In single precision: a ten-millionth of a value that has just met noise."""
        return AffineMap(self.matrix.astype(np.float32), self.offsets.astype(np.float32))


def label_evidence(labels: Matrix, noise: float, scale: float) -> Matrix:
    """log-likelihood of every class, up to a constant, from a one-hot label times `scale` seen through noise."""
    return labels * (scale / max(noise, 1e-9) ** 2) if labels.shape[1] > 1 else np.zeros((len(labels), 1))


def most_probable(scores: Matrix) -> Codes:
    found: Codes = np.argmax(scores, axis=1)
    return found


def row_model(noisy: NoisyMoments, most: int | None = None) -> RowModel:
    """The model that the noisy moments support; at most `most` directions where one is asked for."""
    p, mean, J = _centred(noisy)
    m = noisy.m
    total = max(float(np.trace(J[:m, :m])), 0.0)
    seen = seen_through(J, noisy.beside / noisy.n, most)
    rest = max(total - float(np.trace(seen[:m, :m])), LEFT * total, 1e-9) / m
    spread = seen[:m, :m] + rest * np.eye(m)
    if noisy.classes == 1:
        values, vectors = np.linalg.eigh(spread)
        return RowModel(np.ones(1), mean[None, :], np.maximum(values, rest), vectors)
    cross = seen[:m, m:] / noisy.scale
    noise = noisy.beside / (noisy.n * noisy.scale)
    found = _classes(p, mean, cross - np.outer(cross.sum(axis=1), p), spread, rest, noise)
    return replace(found, kept=how_often(above_noise(J[:m, m:] / noisy.scale, p, noise)))


def above_noise(cross: Matrix, p: Vector, noise: float) -> float:
    """By how many deviations the noisy covariance of features and labels exceeds what noise alone would make of it."""
    m, classes = cross.shape
    free = m * (classes - 1)
    expected = m * noise**2 * float(np.sum((1 - p) ** 2 + p**2 * (classes - 1)))
    ratio = float(np.sum(cross**2)) / expected if expected > 0 else math.inf
    return (ratio - 1) * math.sqrt(free / 2)


def how_often(deviations: float) -> float:
    """From RARELY where nothing stands above the noise to always where something surely does."""
    return min(1.0, RARELY + (1 - RARELY) * max(deviations, 0.0) / SURE)


def _centred(noisy: NoisyMoments) -> tuple[Vector, Vector, Matrix]:
    """Class shares, mean and centred moments; what is known without noise replaces its noisy copy."""
    S, m, scale = noisy.S / noisy.n, noisy.m, noisy.scale
    sums = S[:m, m:] / scale
    mean = sums.sum(axis=1)
    if noisy.classes == 1:
        return np.ones(1), mean, S[:m, :m] - np.outer(mean, mean)
    counts = np.diag(S)[m:] / scale**2
    counts = np.maximum(counts + (1 - counts.sum()) / noisy.classes, SMALLEST_CLASS)
    p = counts / counts.sum()
    J = np.empty_like(S)
    J[:m, :m] = S[:m, :m] - np.outer(mean, mean)
    J[:m, m:] = scale * (sums - np.outer(mean, p))
    J[m:, :m] = J[:m, m:].T
    J[m:, m:] = scale**2 * (np.diag(p) - np.outer(p, p))
    return p, mean, J


def seen_through(J: Matrix, noise: float, most: int | None = None) -> Matrix:
    """The low-rank matrix behind a noisy one: at most `most` of the directions that stand out of the noise."""
    values, vectors = np.linalg.eigh((J + J.T) / 2)
    kept = spikes(values, noise)
    if most is not None:
        kept[: max(len(kept) - most, 0)] = 0.0
    found: Matrix = (vectors * kept) @ vectors.T
    return found


def _classes(p: Vector, mean: Vector, cross: Matrix, spread: Matrix, rest: float, noise: float) -> RowModel:
    """Class means from the covariance of features and labels, limited so that a covariance within classes is left.

    `noise` is the deviation of an entry of `cross` before it was denoised. The squared canonical correlations that such
    noise alone would show, relative to those seen, lower the rate at which labels follow the features.
    """
    L = np.linalg.cholesky(spread)
    U, s, Vt = np.linalg.svd(np.linalg.solve(L, cross) / np.sqrt(p), full_matrices=False)
    cross = L @ ((U * np.minimum(s, math.sqrt(ALMOST))) @ Vt) * np.sqrt(p)
    alone = noise**2 * float(
        np.trace(np.linalg.inv(spread)) * np.sum(((1 - p) ** 2 + p**2 * (len(p) - 1)) / p)
    )
    trusted = max(LEAST, 1 - alone / max(float(np.sum(s**2)), 1e-12))
    values, vectors = np.linalg.eigh(spread - (cross / p) @ cross.T)
    return RowModel(p, mean + (cross / p).T, np.maximum(values, (1 - ALMOST) * rest), vectors, RATE * trusted)
