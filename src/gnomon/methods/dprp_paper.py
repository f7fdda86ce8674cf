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

from gnomon.errors import ParameterError
from gnomon.methods.parameters import check_number
from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import even_spread
from gnomon.methods.unit_rows import Covariance, ProjectedUnitRows, Residuals, UnitRows
from gnomon.privacy.accounting import epsilon_of
from gnomon.privacy.guarantee import Adjacency, GaussianDP, Guarantee, PureDP
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import NoiseLaw
from gnomon.privacy.noisy_rows import NoisyRows
from gnomon.privacy.printed import paper_dprp_covariance, paper_dprp_rows
from gnomon.privacy.rounding import float_up
from gnomon.privacy.sensitivity import Norm, row_change
from gnomon.projection.gaussian import gaussian
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.queries import NoisyMax
from gnomon.table.encode import Encoder

KEPT = 0.6  # k2 / d
CANDIDATES = (0.5, 1.0, 2.0, 5.0, 10.0)  # k1 / d
LARGEST_SCORE = 2**60  # of the public part of a score, which then decides alone


@dataclass(frozen=True)
class Shares:
    """How epsilon and delta are shared out; by default as in the paper."""

    rows: float = 0.80
    covariance: float = 0.15
    choice: float = 0.05


PRINTED = Shares()


@dataclass(frozen=True)
class Inputs:
    """What Algorithm 1 takes beside the table, epsilon and delta."""

    k1: int | str
    k2: int | str
    shares: Shares
    z: float


def check_inputs(method: Any) -> None:
    """Refuse shares and Z that nothing is printed for."""
    shares = Shares(method.b1, method.b2, method.b3)
    for name in ("b1", "b2", "b3"):
        check_number(method, name, 1e-9, 1)
    total = shares.rows + shares.covariance + shares.choice
    if total > 1 + 1e-9:
        raise ParameterError(
            f"The 'b1', 'b2' and 'b3' parameters of Dprp must add up to at most 1. Got {total:g} instead."
        )
    check_number(method, "z", 1e-3, 1e3)
    if method.calibration != "paper" and (shares != PRINTED or method.z != 1.0):
        raise ParameterError(
            "The 'b1', 'b2', 'b3' and 'z' parameters of Dprp are for calibration='paper'; the sound release shares out "
            "its budget by row_share, and its rows lie in a declared ball."
        )


def as_printed(
    data: Measurer, public: Public, notes: Notes, inputs: Inputs, *, shuffled: bool
) -> tuple[NoisyRows, NoiseLaw, Reconstruction]:
    """Algorithm 1: P' = XR + M1, V' from X'X + M2, X' = P' (V'^T R)^+ V'^T."""
    rows, shares, z = UnitRows(public.m, public.target), inputs.shares, inputs.z
    d, epsilon, delta = rows.width, public.guarantee.epsilon, public.guarantee.delta
    k2 = math.ceil(KEPT * d) if inputs.k2 == "auto" else int(inputs.k2)
    choice = shares.choice * epsilon if inputs.k1 == "auto" else 0.0
    R = (
        chosen_projection(data, public, rows, k2, choice, inputs)
        if inputs.k1 == "auto"
        else gaussian(d, int(inputs.k1), public.rng())
    )
    sigma1 = printed_row_sigma(R.shape[1], shares.rows * epsilon, shares.rows * delta, z)
    sigma2 = printed_covariance_sigma(shares.covariance * epsilon, shares.covariance * delta, z)
    asked = ProjectedUnitRows(rows, R, z)
    released, measured, _ = data.release_rows(asked, loss_of(sigma1, z), shuffled=shuffled)  # steps 1 to 3
    V = directions(data, rows, sigma2, k2, z)
    notes.delivered = delivered(R, sigma1, sigma2, delta, choice)
    notes.caveats += printed_caveats(notes.delivered, delta, z)
    back = np.linalg.pinv(V.T @ R) @ V.T  # step 7
    typical = math.sqrt(even_spread(public.encoder) / 2 + (not public.target.is_none))
    return released, measured.noise, Reconstruction(back * typical / GRID)


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


def chosen_projection(
    data: Measurer, public: Public, rows: UnitRows, k2: int, choice: float, inputs: Inputs
) -> Matrix:
    """k1 by report noisy max: what a projection loses of the rows, and the noise that it brings, both in squares.

    The part that depends on the rows is `Residuals`; the noise's part is public.
    """
    rng, d = public.rng(), rows.width
    candidates = [gaussian(d, max(1, round(f * d)), rng) for f in CANDIDATES]
    noise = [reconstruction_noise(R, k2, public.guarantee, inputs) for R in candidates]
    known = tuple(-round(min(one * public.rows * GRID, LARGEST_SCORE)) for one in noise)
    scores = NoisyMax(Residuals.of(rows, candidates), GRID, known)
    return candidates[data.select(scores, PureDP(choice))]


def reconstruction_noise(R: Matrix, k2: int, guarantee: Guarantee, inputs: Inputs) -> float:
    """The expected squared noise of a reconstructed row, from public numbers."""
    if math.isinf(guarantee.epsilon):
        return 0.0
    share = inputs.shares.rows
    sigma = printed_row_sigma(R.shape[1], share * guarantee.epsilon, share * guarantee.delta, inputs.z)
    return float(sigma**2 * np.sum(np.linalg.pinv(R) ** 2) * k2 / len(R))


def directions(data: Measurer, rows: UnitRows, sigma: float, k2: int, z: float) -> Matrix:
    """Steps 4 to 6: the first k2 eigenvectors of X'X plus mirrored Gaussian noise."""
    noisy = np.zeros((rows.width, rows.width))
    noisy[np.triu_indices(rows.width)] = data.measure(Covariance(rows, z), loss_of(sigma, z * z)).answer
    values, vectors = np.linalg.eigh(noisy + np.triu(noisy, 1).T)
    V: Matrix = vectors[:, np.argsort(-np.abs(values))[:k2]]
    return V


# --- what is printed ---


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
