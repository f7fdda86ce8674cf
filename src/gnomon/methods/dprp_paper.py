"""DPRP's Algorithm 1 with the noise as printed, so that the paper's tables can be reproduced.

The printed sensitivities take Z = 1 for rows of unit length, which are up to 2 apart; the certificate says what the noise
really delivers. The label is inside the row, because a label in the clear would leave no privacy at all, and k1 is chosen
by a private selection that the paper leaves open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import even_spread
from gnomon.privacy.accounting import epsilon_of
from gnomon.privacy.guarantee import Adjacency, GaussianDP, Guarantee, PureDP, Spendable
from gnomon.privacy.measure import Measurement, Measurer
from gnomon.privacy.mechanism import Noise, vector_noise
from gnomon.privacy.noisy_rows import NoisyRows
from gnomon.privacy.printed import paper_dprp_covariance, paper_dprp_rows
from gnomon.privacy.rounding import float_up, fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity, row_change
from gnomon.projection.gaussian import FINE, gaussian
from gnomon.statistics.grid import GRID, Integers, Matrix, fine_grid, into_ball, unit_rows
from gnomon.statistics.queries import NoisyMax, Query, RowQuery, gram
from gnomon.table.encode import Encoder
from gnomon.table.rows import CELL, Rows
from gnomon.table.target import Target

KEPT = 0.6  # k2 / d
CANDIDATES = (0.5, 1.0, 2.0, 5.0, 10.0)  # k1 / d
UNIT_GRID = 2.0**24  # integer steps to the length of a normalised row, before it is brought to GRID
RESIDUAL_GRID = 2.0**20  # of the entries of a projection onto what a candidate loses
RESIDUAL = 2.0**24  # integer steps to the length of a residual
LARGEST_SCORE = 2**60  # of the public part of a score, which then decides alone


@dataclass(frozen=True)
class Shares:
    """How epsilon and delta are shared out; by default as in the paper."""

    rows: float = 0.80
    covariance: float = 0.15
    choice: float = 0.05


PAPER_SHARES = Shares()


@dataclass(frozen=True, eq=False)
class AsPrinted:
    """What Algorithm 1 releases: noisy rows, the law of their noise, and the way back to columns."""

    rows: NoisyRows
    measured: Measurement
    reconstruction: Reconstruction


def dprp_as_printed(
    data: Measurer,
    public: Public,
    notes: Notes,
    k1: int | str = "auto",
    n_components: int | str = "auto",
    shares: Shares = PAPER_SHARES,
    z: float = 1.0,
    shuffled: bool = True,
) -> AsPrinted:
    """Algorithm 1: P' = XR + M1, V' from X'X + M2, X' = P' (V'^T R)^+ V'^T."""
    rows = UnitRows(public.m, public.target)
    d, epsilon, delta = rows.width, public.guarantee.epsilon, public.guarantee.delta
    k2 = math.ceil(KEPT * d) if n_components == "auto" else int(n_components)
    choice = shares.choice * epsilon if k1 == "auto" else 0.0
    R = chosen_projection(data, public, rows, k2, choice, shares, z) if k1 == "auto" else None
    if R is None:
        R = gaussian(d, int(k1), public.rng())
    sigma1 = printed_row_sigma(R.shape[1], shares.rows * epsilon, shares.rows * delta, z)
    sigma2 = printed_covariance_sigma(shares.covariance * epsilon, shares.covariance * delta, z)
    asked = ProjectedUnitRows(rows, R, z)
    released, measured, _ = data.release_rows(asked, loss_of(sigma1, z), shuffled=shuffled)
    V = directions(data, rows, sigma2, k2, z)
    notes.delivered = delivered(R, sigma1, sigma2, delta, choice)
    notes.caveats += printed_caveats(notes.delivered, delta, z)
    back = np.linalg.pinv(V.T @ R) @ V.T  # step 7
    typical = math.sqrt(even_spread(public.encoder) / 2 + (not public.target.is_none))
    return AsPrinted(released, measured, Reconstruction(back * typical / GRID))


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Step 7: noisy projected rows back into columns; a row's length, which was divided out, becomes a typical one."""

    back: Matrix

    def __call__(self, chunk: npt.NDArray[Any], encoder: Encoder) -> pa.Table:
        X, m = chunk @ self.back, encoder.width
        y: npt.NDArray[Any] | None = None
        if encoder.target.is_class:
            y = np.argmax(X[:, m:], axis=1)
        elif encoder.target.is_number:
            y = np.clip(X[:, m], -1.0, 1.0)
        return encoder.decode(X[:, :m], y)


# --- what is asked of the rows ---


@dataclass(frozen=True)
class UnitRows:
    """Rows (features, label) of m + labels columns scaled to unit length, on an integer grid.

    Every squared length is a sum of integers below 2^52, so that a row is the same in every batch.
    """

    m: int
    target: Target

    @property
    def width(self) -> int:
        return self.m + self.target.width

    def of(self, rows: Rows) -> Matrix:
        """Integers of length at most GRID: the whole row, its label included, divided by its length."""
        grid = fine_grid(math.sqrt(self.width))
        X: Matrix = np.zeros((len(rows), self.width))
        X[:, : self.m] = rows.cells * (grid / CELL)
        if self.target.is_number:
            assert rows.target is not None
            X[:, -1] = rows.target * (grid / CELL)
        elif self.target.is_class:
            assert rows.codes is not None
            X[np.arange(len(rows)), self.m + rows.codes] = grid
        return into_ball(unit_rows(np.rint(X, out=X), UNIT_GRID), UNIT_GRID)


@dataclass(frozen=True, eq=False)
class ProjectedUnitRows(RowQuery):
    """One row xR for each record, whose noise is printed for rows that are Z apart."""

    rows: UnitRows
    R: Matrix
    z: float = 1.0
    statistic: str = "one row for each record"

    @property
    def width(self) -> int:  # type: ignore[override]
        return int(self.R.shape[1])

    @property
    def bound(self) -> float:  # type: ignore[override]
        return GRID * (float(np.linalg.norm(self.R, axis=0).max()) + 1.0)

    def of_batch(self, rows: Rows) -> Integers:
        return np.rint(self.rows.of(rows) @ (self.R * FINE) / FINE).astype(np.int64)

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(claimed(GRID * self.z), loss)


@dataclass(frozen=True, eq=False)
class Covariance(Query):
    """The upper triangle of X'X, whose noise is printed for Z^2."""

    rows: UnitRows
    z: float = 1.0
    statistic: str = "covariance of the rows, as printed"

    def zero(self) -> Integers:
        return np.zeros((self.rows.width, self.rows.width), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        return gram(self.rows.of(rows))

    def finish(self, total: Integers) -> Integers:
        return total[np.triu_indices(self.rows.width)]

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(claimed(GRID**2 * self.z**2), loss)


@dataclass(frozen=True, eq=False)
class Residuals(Query):
    """Minus what each candidate R loses of the rows, -sum_i ||x_i - x_i R R^+||^2, in steps of 1/GRID.

    Each number changes by at most GRID when a unit row is replaced: its share of every sum lies in [0, GRID].
    """

    rows: UnitRows
    lost: tuple[Integers, ...]  # I - R R^+ on the grid RESIDUAL_GRID
    statistic: str = "the dimension k1 of the random projection"

    @classmethod
    def of(cls, rows: UnitRows, candidates: list[Matrix]) -> Residuals:
        lost = [np.eye(rows.width) - R @ np.linalg.pinv(R) for R in candidates]
        return cls(rows, tuple(np.rint(L * RESIDUAL_GRID).astype(np.int64) for L in lost))

    def zero(self) -> Integers:
        return np.zeros(len(self.lost), dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        Q, found = self.rows.of(rows), self.zero()
        for place, L in enumerate(self.lost):
            Y = np.rint(Q @ L.astype(np.float64) * (RESIDUAL / (GRID * RESIDUAL_GRID)))
            shares = np.minimum(np.einsum("ij,ij->i", Y, Y) / RESIDUAL**2, 1.0)
            found[place] = -np.rint(shares * GRID).sum()
        return found

    def noise(self, loss: Spendable) -> Noise:
        raise NotImplementedError("scores meet noise in NoisyMax alone")


# --- the algorithm's steps ---


def chosen_projection(
    data: Measurer, public: Public, rows: UnitRows, k2: int, choice: float, shares: Shares, z: float
) -> Matrix:
    """k1 by report noisy max: what a projection loses of the rows, and the noise that it brings, both in squares.

    The part that depends on the rows is `Residuals`; the noise's part is public.
    """
    rng, d = public.rng(), rows.width
    candidates = [gaussian(d, max(1, round(f * d)), rng) for f in CANDIDATES]
    noise = [reconstruction_noise(R, k2, public.guarantee, shares, z) for R in candidates]
    known = tuple(-round(min(one * public.rows * GRID, LARGEST_SCORE)) for one in noise)
    scores = NoisyMax(Residuals.of(rows, candidates), GRID, known)
    return candidates[data.select(scores, PureDP(choice))]


def reconstruction_noise(R: Matrix, k2: int, guarantee: Guarantee, shares: Shares, z: float) -> float:
    """The expected squared noise of a reconstructed row, from public numbers."""
    if math.isinf(guarantee.epsilon):
        return 0.0
    sigma = printed_row_sigma(R.shape[1], shares.rows * guarantee.epsilon, shares.rows * guarantee.delta, z)
    return float(sigma**2 * np.sum(np.linalg.pinv(R) ** 2) * k2 / len(R))


def directions(data: Measurer, rows: UnitRows, sigma: float, k2: int, z: float) -> Matrix:
    """Steps 4 to 6: the first k2 eigenvectors of X'X plus mirrored Gaussian noise."""
    noisy = np.zeros((rows.width, rows.width))
    noisy[np.triu_indices(rows.width)] = data.measure(Covariance(rows, z), loss_of(sigma, z * z)).answer
    values, vectors = np.linalg.eigh(noisy + np.triu(noisy, 1).T)
    V: Matrix = vectors[:, np.argsort(-np.abs(values))[:k2]]
    return V


# --- what is printed ---


def claimed(unit: float) -> Sensitivity:
    """The sensitivity that the paper takes, in integer steps."""
    return Sensitivity(Norm.L2, fraction(unit), adjacency=Adjacency.REPLACE_ONE)


def loss_of(sigma: float, claim: float) -> GaussianDP:
    """The mu at which the claimed sensitivity gives the printed sigma."""
    return GaussianDP(claim / sigma if sigma > 0 else math.inf)


def printed_row_sigma(k1: int, epsilon: float, delta: float, z: float = 1.0) -> float:
    """Theorem A: Z sqrt((k1 + 2 sqrt(k1 x) + 2 x) / k1) sqrt(2 (ln(1/(2 delta)) + epsilon)) / epsilon, x = ln(2/delta)."""
    if math.isinf(epsilon):
        return 0.0
    x = math.log(2 / delta)
    stretch = math.sqrt((k1 + 2 * math.sqrt(k1 * x) + 2 * x) / k1)
    return z * stretch * math.sqrt(2 * (math.log(1 / (2 * delta)) + epsilon)) / epsilon


def printed_covariance_sigma(epsilon: float, delta: float, z: float = 1.0) -> float:
    """Theorem B: Z^2 sqrt(2 ln(1.25/delta)) / epsilon, read as a standard deviation."""
    return 0.0 if math.isinf(epsilon) else z * z * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def delivered(R: Matrix, sigma1: float, sigma2: float, delta: float, choice: float) -> float | None:
    """The epsilon at delta of unit rows through R with noise sigma1, their moments with sigma2, and the choice of k1."""
    if sigma1 == 0:
        return None
    stretch = row_change(Norm.L2, R, radius=GRID, adjacency=Adjacency.REPLACE_ONE)
    true = float_up(stretch.on_grid(1, coordinates=R.shape[1], error=2.0**-10).value) / GRID
    return epsilon_of(math.hypot(true / sigma1, paper_dprp_covariance().true / sigma2), delta, pure=choice)


def printed_caveats(delivered: float | None, delta: float, z: float) -> list[str]:
    """What does not hold of the printed noise, and what does."""
    rows, covariance = paper_dprp_rows(z), paper_dprp_covariance(z)
    found = []
    if not rows.holds:
        found.append(
            f"{rows.claim} takes Z = {rows.printed:g} where unit rows are up to {rows.true:g} apart."
        )
    if not covariance.holds:
        found.append(
            f"{covariance.claim} takes Z^2 = {covariance.printed:g} where {covariance.true:.4g} is needed."
        )
    if delivered is not None:
        found.append(f"All in all the release delivers epsilon {delivered:.4g} at delta {delta:g}.")
    return found
