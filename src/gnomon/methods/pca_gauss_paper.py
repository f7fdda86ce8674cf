"""PCA-Gauss's Algorithms 1 to 3 with the noise as printed, so that the paper's tables can be reproduced.

The rows are centred by their true mean, which is published without noise: the certificate says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.errors import ParameterError
from gnomon.methods.gaussian_model_paper import AsPrinted, exactly, gaussians
from gnomon.methods.principal_components import leading
from gnomon.methods.public import Notes, Public
from gnomon.model.mixture import Mixture
from gnomon.privacy import printed
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import PureDP, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, vector_noise
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID, Integers, Matrix
from gnomon.statistics.queries import Derived, Moments, Query
from gnomon.table.rows import CELL

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PaperOptions:
    """What the caller asked of the paper's algorithms; `directions` come from a public table."""

    pca: str
    components: int
    share: float
    mean_share: float
    directions: Matrix | None


def check(delta: float, pca: str) -> None:
    """Refuse what the paper prints no noise for."""
    if delta > 0 and pca != "analyze-gauss":
        raise ParameterError(
            "The paper prints Laplace noise, which is pure; set delta=0, or pca='analyze-gauss' for its Gaussian PCA."
        )
    if pca in ("matrix-laplace", "split"):
        raise ParameterError(
            f"The paper prints no noise for pca={pca!r}; use calibration='sound', "
            "or pca='laplace', 'analyze-gauss' or 'public'."
        )


def as_printed(data: Measurer, public: Public, notes: Notes, asked: PaperOptions) -> tuple[Frame, Mixture]:
    """Algorithm 1 without a target; with one, a PCA and then Algorithm 2 (a number) or 3 (classes)."""
    start = Frame.identity(public.m, radius=math.sqrt(public.m))
    start = replace(start, centre=true_mean(data, public))
    notes.caveats.append(
        "The rows are centred by their true mean, which is used and published without noise: two tables that differ in "
        "one record then differ in every centred row, and changes are up to four times what the proofs assume."
    )
    if public.target.is_none:
        return unsupervised(data, public, notes, start, asked.components)
    W, loss = independent_pca(data, public, notes, start, asked)
    frame = start.project(W, radius=math.sqrt(public.m))
    if public.target.is_number:
        return frame, supervised(data, public, notes, frame, loss)
    return frame, mixture(data, public, notes, frame, loss, asked.mean_share)


def unsupervised(data: Measurer, public: Public, notes: Notes, start: Frame, P: int) -> tuple[Frame, Mixture]:
    """Algorithm 1: the P x P covariance of the components, a diagonal of eigenvalues, plus Lap(P a^2 / (N eps))."""
    claim = printed.paper_pca_gauss_eigenvalues(P, public.rows)
    query = AsPrinted(EigenvalueMatrix(Moments("", start), P), GRID**2 * claim.printed)
    notes.delivered = math.inf
    if not claim.holds:
        notes.caveats.append(f"{claim.claim} prints {claim.printed:.4g} where {claim.true:.4g} is needed.")
    noisy = data.measure(query, public.pure_budget).answer / (public.rows * start.unit**2)
    return Frame.identity(P, radius=1.0), gaussians(noisy[None], np.ones(1))


def independent_pca(
    data: Measurer, public: Public, notes: Notes, start: Frame, asked: PaperOptions
) -> tuple[Matrix, PureDP]:
    """Section VII: W, and the loss that is left for the model."""
    pure = public.pure_budget
    if asked.directions is not None:
        notes.public.append("the public table that the principal components come from")
        return asked.directions, pure
    first, rest = pure.split(asked.share, 1 - asked.share)
    moment = Moments("second moment for the principal components, as printed", start)
    if asked.pca == "analyze-gauss":
        sigma = analyze_gauss_sigma(first.epsilon, public.guarantee.delta)
        noisy = data.measure(AnalyzeGauss(moment, sigma), spendable(public.guarantee).split(asked.share)[0])
        return leading(noisy.answer[0].astype(np.float64), asked.components), rest
    claim = printed.paper_lap_pca(public.m)
    answer = data.measure(AsPrinted(moment, GRID**2 * claim.printed / public.m), first).answer[0]
    notes.caveats.append(
        f"Lap-PCA prints the scale {claim.printed:.4g} a^2/(N eps) where {claim.true:.4g} is needed."
    )
    return leading((answer + answer.T) / 2, asked.components), rest


def supervised(data: Measurer, public: Public, notes: Notes, frame: Frame, loss: PureDP) -> Mixture:
    """Algorithm 2: Lap((P^2 + 4P + 1) a^2 / (N eps)) on the covariance of (W'x / sqrt(M), y)."""
    P = frame.n_components
    claim = printed.paper_pca_gauss_supervised(P)
    query = Moments("covariance with the label, as printed", frame, public.target, GRID)
    notes.delivered = math.inf
    noisy = data.measure(AsPrinted(query, GRID**2 * claim.printed), loss).answer
    return gaussians(noisy / (public.rows * np.outer(query.units, query.units)), np.ones(1))


def mixture(
    data: Measurer, public: Public, notes: Notes, frame: Frame, loss: PureDP, mean_share: float
) -> Mixture:
    """Algorithm 3: Lap(2P a / (N_c eps)) on class means, Lap(P^2 a^2 / (N_c eps)) on covariances about the true means."""
    P = frame.n_components
    mean_loss, covariance_loss = loss.split(mean_share, 1 - mean_share)
    moments = Moments("", frame, public.target, constant=GRID, by_class=True)
    sizes, means, scatter = (ClassPart(moments, part) for part in ("sizes", "means", "covariances"))
    measured = data.measure_all(
        [
            (sizes, exactly(public)),
            (AsPrinted(means, GRID * 2.0 * P), mean_loss),
            (AsPrinted(scatter, GRID**2 * float(P * P)), covariance_loss),
        ]
    )
    counts, sums, around = (one.answer for one in measured)
    claim = printed.paper_pca_gauss_class_covariance(P, public.rows)
    if not claim.holds:
        notes.caveats.append(
            f"{claim.claim} prints {claim.printed:.4g} where {claim.true:.4g} is needed (P < 4)."
        )
    notes.caveats.append(
        "The sizes of the classes are published exactly and set the scale of the noise: a change of a record's label "
        "is not protected by any epsilon; only changes within a class are."
    )
    notes.delivered = math.inf
    n = np.maximum(counts, 1).astype(np.float64)
    found = gaussians(around / (n[:, None, None] * frame.unit**2), counts / public.rows)
    return replace(found, means=sums / (n[:, None] * frame.unit))


def true_mean(data: Measurer, public: Public) -> Vector:
    """The mean of the encoded rows, without noise: what the paper centres by; an event of infinite loss."""
    answer = data.measure(CellSums("mean of the rows, exact as printed", public.m), exactly(public)).answer
    return answer / (float(CELL) * public.rows)


def analyze_gauss_sigma(epsilon: float, delta: float) -> float:
    """Analyze-Gauss (Dwork, Talwar, Thakurta, Zhang 2014): sqrt(2 ln(1.25/delta)) / epsilon for rows of length 1."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@dataclass(frozen=True, eq=False)
class CellSums(Query):
    """The exact sums of encoded cells, which only a printed algorithm publishes."""

    statistic: str
    m: int

    def zero(self) -> Integers:
        return np.zeros(self.m, dtype=np.int64)

    def of_batch(self, rows: Any) -> Integers:
        return np.asarray(rows.cells.sum(axis=0, dtype=np.int64))

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(Sensitivity(Norm.L1, fraction(2 * CELL * self.m), adjacency=loss.adjacency), loss)


@dataclass(frozen=True, eq=False)
class EigenvalueMatrix(Derived):
    """The P largest eigenvalues of a moment matrix on a diagonal: the covariance of the principal components."""

    count: int

    def finish(self, total: Integers) -> Integers:
        top = np.linalg.eigvalsh(total[0].astype(np.float64))[::-1][: self.count]
        return np.diag(np.rint(top)).astype(np.int64)

    def noise(self, loss: Spendable) -> Noise:
        raise NotImplementedError("its noise is printed")


@dataclass(frozen=True, eq=False)
class ClassPart(Derived):
    """Sizes, sums or scatter about the true mean of every class, from its moments."""

    summed: Moments
    part: str

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return f"{self.part} of the classes, {'exact ' if self.part == 'sizes' else ''}as printed"

    def finish(self, total: Integers) -> Integers:
        P = self.summed.frame.n_components
        counts, sums = total[:, P, P] // GRID**2, total[:, :P, P] // GRID
        if self.part == "sizes":
            return np.asarray(counts)
        if self.part == "means":
            return np.asarray(sums)
        around = np.einsum("ci,cj,c->cij", sums, sums, 1 / np.maximum(counts, 1))
        return np.asarray(total[:, :P, :P] - np.rint(around).astype(np.int64))

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(Sensitivity(Norm.L1, fraction(2), adjacency=loss.adjacency), loss)


@dataclass(frozen=True, eq=False)
class AnalyzeGauss(Derived):
    """A moment matrix with mirrored Gaussian noise of the printed standard deviation, for rows of length 1."""

    sigma: float

    def noise(self, loss: Spendable) -> Noise:
        amount = float(getattr(loss, "mu", math.inf))
        claimed = fraction(self.sigma * amount * GRID**2) if math.isfinite(amount) else fraction(GRID**2)
        return vector_noise(Sensitivity(Norm.L2, claimed, adjacency=loss.adjacency), loss)

    def release(self, exact: Integers, noise: Noise) -> Integers:
        upper = np.triu(super().release(exact, noise)[0])
        return np.asarray(upper + np.triu(upper, 1).T)[None]
