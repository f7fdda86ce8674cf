"""Gaussian models with the noise exactly as RON-Gauss prints it, so that the papers' tables can be reproduced.

The printed covariance scale does not give the declared epsilon for more than two dimensions, and the class mixture
publishes the class counts: the certificate says so, and which epsilon is really delivered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.methods.public import Notes, Public
from gnomon.model.mixture import Mixture
from gnomon.privacy import printed
from gnomon.privacy.guarantee import PureDP, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, vector_noise
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.projection.orthonormal import dfm_dimension, haar
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.queries import Derived, Moments, Query, RowSum

Whole = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]
LABEL = 1.0  # targets are encoded to [-1, 1]: the paper's a
MEAN = 0.3  # the mean's part of epsilon in the paper (its section 5.2)


def gaussian_model_as_printed(
    data: Measurer,
    public: Public,
    notes: Notes,
    n_components: int | str,
    W: Matrix | None = None,
    mean_share: float = MEAN,
) -> tuple[Frame, Mixture]:
    """Algorithms 3 (no target), 4 (number) and 5 (classes), through W or a projection that is drawn here."""
    if W is None:
        p = dfm_dimension(public.m) if n_components == "auto" else int(n_components)
        W = haar(public.m, p, public.rng())
    mean_loss, covariance_loss = public.pure_budget.split(mean_share, 1 - mean_share)
    facts: Any = {
        "epsilon_mean": mean_loss.epsilon,
        "epsilon": covariance_loss.epsilon,
        "label": LABEL if public.target.is_number else None,
        "classes": public.target.blocks,
    }
    notes.caveats += printed.ron_gauss_caveats(W.shape[1], **facts)
    notes.delivered = printed.ron_gauss_delivered(W.shape[1], **facts)
    algorithm = supervised if public.target.is_number else mixture if public.target.is_class else unsupervised
    start = Frame.identity(public.m, radius=1.0, normalise=True)
    return algorithm(data, public, start, W, mean_loss, covariance_loss)


def unsupervised(
    data: Measurer, public: Public, start: Frame, W: Matrix, mean_loss: PureDP, covariance_loss: PureDP
) -> tuple[Frame, Mixture]:
    """Algorithm 3: one Gaussian with mean zero and the noisy covariance of the centred, normalised, projected rows."""
    p = W.shape[1]
    frame = replace(start, mean=private_mean(data, public, start, mean_loss)).project(W, radius=1.0)
    asked = AsPrinted(Moments("covariance, as printed", frame), GRID**2 * 2 * math.sqrt(p))
    noisy = data.measure(asked, covariance_loss).answer.astype(np.float64)
    return frame, gaussians(noisy / (public.rows * frame.unit**2), np.ones(1))


def supervised(
    data: Measurer, public: Public, start: Frame, W: Matrix, mean_loss: PureDP, covariance_loss: PureDP
) -> tuple[Frame, Mixture]:
    """Algorithm 4: the label in [-a, a], a = 1, joins the projected row in one augmented covariance."""
    p, a = W.shape[1], LABEL
    frame = replace(start, mean=private_mean(data, public, start, mean_loss)).project(W, radius=1.0)
    query = Moments("covariance with the label, as printed", frame, public.target, GRID)
    scale = 2 * math.sqrt(p) + 4 * a * math.sqrt(p) + a * a
    noisy = data.measure(AsPrinted(query, GRID**2 * scale), covariance_loss).answer.astype(np.float64)
    return frame, gaussians(noisy / (public.rows * np.outer(query.units, query.units)), np.ones(1))


def mixture(
    data: Measurer, public: Public, start: Frame, W: Matrix, mean_loss: PureDP, covariance_loss: PureDP
) -> tuple[Frame, Mixture]:
    """Algorithm 5: Algorithm 3 within every class, around the projected class mean; n_c is taken as public."""
    p, classes = W.shape[1], public.target.classes
    counts = exact_counts(data, public)
    sums = RowSum("means of the normalised rows, as printed", start, target=public.target, by_class=True)
    asked = AsPrinted(sums, GRID * 2 * math.sqrt(public.m))
    means = data.measure(asked, mean_loss).answer / (np.maximum(counts, 1)[:, None] * start.unit)
    frames = tuple(replace(start, mean=mean).project(W, radius=1.0) for mean in means)
    query = ClassCovariances("covariances of all classes, as printed", frames, classes)
    noisy = data.measure(AsPrinted(query, GRID**2 * 2 * math.sqrt(p)), covariance_loss).answer.astype(
        np.float64
    )
    covariances = noisy / (np.maximum(counts, 1)[:, None, None] * frames[0].unit ** 2)
    return start.project(W, radius=1.0), replace(
        gaussians(covariances, counts / public.rows), means=means @ W
    )


def private_mean(data: Measurer, public: Public, start: Frame, loss: PureDP) -> Vector:
    """Steps 1 and 2 of Algorithm 1: the mean of the normalised rows, plus Lap(2 sqrt(m) / (n eps))."""
    query = AsPrinted(RowSum("mean of the normalised rows", start), GRID * 2 * math.sqrt(public.m))
    found: Vector = data.measure(query, loss).answer[0] / (public.rows * start.unit)
    return found


def exact_counts(data: Measurer, public: Public) -> Whole:
    """The sizes of the classes without noise, which the papers take as public: an event of infinite loss."""
    sizes = ClassSizes("sizes of the classes, exact as printed", public.target.classes)
    return data.measure(sizes, exactly(public)).answer


def exactly(public: Public) -> PureDP:
    """The loss of what a paper publishes as it is."""
    return PureDP(math.inf, *public.guarantee.neighbours)


@dataclass(frozen=True, eq=False)
class AsPrinted(Derived):
    """A query whose every number meets Laplace noise at a printed sensitivity, right or wrong."""

    claimed: float

    def noise(self, loss: Spendable) -> Noise:
        sensitivity = Sensitivity(Norm.L1, fraction(self.claimed), adjacency=loss.adjacency)
        return vector_noise(sensitivity, loss)


@dataclass(frozen=True, eq=False)
class ClassSizes(Query):
    """How many rows each class has."""

    statistic: str
    classes: int

    def zero(self) -> Whole:
        return np.zeros(self.classes, dtype=np.int64)

    def of_batch(self, rows: Any) -> Whole:
        return np.bincount(rows.codes, minlength=self.classes).astype(np.int64)

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(Sensitivity(Norm.L1, fraction(2), adjacency=loss.adjacency), loss)


@dataclass(frozen=True, eq=False)
class ClassCovariances(Query):
    """The sums of outer products of the rows of every class, each in the frame of its own class."""

    statistic: str
    frames: tuple[Frame, ...]
    classes: int

    def zero(self) -> Whole:
        p = self.frames[0].n_components
        return np.zeros((self.classes, p, p), dtype=np.int64)

    def of_batch(self, rows: Any) -> Whole:
        found = self.zero()
        for c, frame in enumerate(self.frames):
            mine = rows.take(rows.codes == c)
            if len(mine):
                found[c] = Moments("", frame).of_batch(mine)[0]
        return found

    def noise(self, loss: Spendable) -> Noise:
        raise NotImplementedError("its noise is printed")


def gaussians(covariances: Matrix, weights: Vector) -> Mixture:
    """Gaussians of mean zero; negative eigenvalues, which the printed noise leaves, become zero."""
    symmetric = (covariances + covariances.transpose(0, 2, 1)) / 2
    values, vectors = np.linalg.eigh(symmetric)
    repaired = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return Mixture(weights, np.zeros(covariances.shape[:2]), repaired)
