"""DPRP's Algorithm 1 with the noise as printed, so that the paper's tables can be reproduced.

The printed sensitivities take Z = 1 for rows of unit length, which are up to 2 apart; the certificate says what the noise
really delivers. The label is inside the row, because a label in the clear would leave no privacy at all, and k1 is chosen
by a private selection that the paper leaves open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.privacy.accounting import epsilon_of
from gnomon.privacy.guarantee import Adjacency, GaussianDP, PureDP
from gnomon.privacy.mechanism import release_vector
from gnomon.privacy.printed import paper_dprp_covariance, paper_dprp_rows
from gnomon.privacy.rounding import float_up, fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity, row_change
from gnomon.projection.gaussian import FINE, gaussian
from gnomon.release.base import Account, Table
from gnomon.release.map import PublicMap
from gnomon.release.rows import Integers, even_spread, release_rows
from gnomon.release.selection import noisy_max
from gnomon.statistics.grid import GRID, Matrix, into_ball
from gnomon.statistics.moments import Moments
from gnomon.table.encode import Encoder, Rows

if TYPE_CHECKING:
    from gnomon.release.dprp import Dprp

KEPT = 0.6  # k2 / d
CANDIDATES = (0.5, 1.0, 2.0, 5.0, 10.0)  # k1 / d
FINE_ROW = 2.0**24
Reconstruction = Callable[[npt.NDArray[Any], Encoder], pa.Table]


@dataclass(frozen=True)
class Shares:
    """How epsilon and delta are shared out; by default as in the paper."""

    rows: float = 0.80
    covariance: float = 0.15
    choice: float = 0.05


PAPER_SHARES = Shares()


def dprp_as_printed(
    method: Dprp, table: Table, account: Account, shares: Shares = PAPER_SHARES
) -> tuple[PublicMap, Reconstruction]:
    """Algorithm 1: P' = XR + M1, V' from X'X + M2, X' = P' (V'^T R)^+ V'^T."""
    rng = method._rng()
    rows = _UnitRows(table)
    d, epsilon, delta = rows.width, method.epsilon, method.delta
    k2 = math.ceil(KEPT * d) if method.n_components == "auto" else int(method.n_components)
    choice = 0.0
    if method.k1 == "auto":
        candidates = [gaussian(d, max(1, round(f * d)), rng) for f in CANDIDATES]
        choice = shares.choice * epsilon
        R = _choose(rows, table, account, candidates, k2, PureDP(choice), shares)
    else:
        R = gaussian(d, int(method.k1), rng)
    k1 = R.shape[1]
    sigma1 = printed_row_sigma(k1, shares.rows * epsilon, shares.rows * delta)
    sigma2 = printed_covariance_sigma(shares.covariance * epsilon, shares.covariance * delta)
    method.spool_, _, event = release_rows(
        table, rows.projected(R), k1, GRID * _longest(R), *_printed(1.0, sigma1)
    )
    account.events.append(event)
    V = _directions(rows, table, account, sigma2, k2)
    account.delivered = delivered(R, sigma1, sigma2, delta, choice)
    account.caveats += printed_caveats(account.delivered, delta)
    back = np.linalg.pinv(V.T @ R) @ V.T  # step 7
    return PublicMap.identity(table.m, radius=1.0), _Reconstructed(back, rows)


class _Reconstructed:
    """Step 7: noisy projected rows back into columns; a row's length, which was divided out, becomes a typical one."""

    def __init__(self, back: Matrix, rows: _UnitRows) -> None:
        self._back, self._rows = back, rows

    def __call__(self, chunk: npt.NDArray[Any], encoder: Encoder) -> pa.Table:
        X = (chunk / GRID) @ self._back * self._rows.typical
        m = encoder.width
        y: npt.NDArray[Any] | None = None
        if encoder.task == "classification":
            y = np.argmax(X[:, m:], axis=1)
        elif encoder.task == "regression":
            y = np.clip(X[:, m], -1.0, 1.0)
        return encoder.decode(X[:, :m], y)


class _UnitRows:
    """Rows (features, label) scaled to unit length, on an integer grid."""

    def __init__(self, table: Table) -> None:
        self.m = table.m  # and not the table: a fitted method must not hold its rows
        self.labels = {"clustering": 0, "regression": 1, "classification": table.n_classes}[table.task]
        self.width = table.m + self.labels
        self.typical = math.sqrt(even_spread(table.encoder) / 2 + (self.labels > 0))

    def unit(self, rows: Rows) -> Matrix:
        """Integers of length at most GRID: the whole row, its label included, divided by its length."""
        X = np.empty((len(rows.X), self.width))
        X[:, : self.m] = rows.X
        if self.labels == 1:
            X[:, -1] = rows.numbers
        elif self.labels:
            X[:, self.m :] = np.eye(self.labels)[rows.codes]
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        return into_ball(np.rint(X / np.maximum(lengths, 1e-12) * FINE_ROW), FINE_ROW)

    def projected(self, R: Matrix) -> Callable[[Rows], Integers]:
        grid = R * FINE
        return lambda rows: np.rint(self.unit(rows) @ grid / FINE).astype(np.int64)


def _choose(
    rows: _UnitRows,
    table: Table,
    account: Account,
    candidates: list[Matrix],
    k2: int,
    loss: PureDP,
    shares: Shares,
) -> Matrix:
    """k1 by report noisy max: what a projection loses of the rows, and the noise that it brings, both in squares.

    The part that depends on the rows, sum_i ||x_i - x_i R R^+||^2, changes by at most 1 when a unit row is replaced; the
    noise's part is public.
    """
    lost = [np.eye(rows.width) - R @ np.linalg.pinv(R) for R in candidates]

    def residuals(batch: Rows) -> Integers:
        X = rows.unit(batch) / GRID
        squares = [np.minimum(np.sum((X @ L) ** 2, axis=1), 1.0) for L in lost]
        return np.array([np.rint(s * GRID).sum() for s in squares]).astype(np.int64)

    total = table.sum(residuals, np.zeros(len(candidates), np.int64), stage="choosing k1")
    noise = [_reconstruction_noise(R, k2, account, shares) for R in candidates]
    scores = -total - np.rint(np.array(noise) * table.n * GRID).astype(np.int64)
    place, event = noisy_max(scores, GRID, loss, statistic="the dimension k1 of the random projection")
    account.events.append(event)
    return candidates[place]


def _reconstruction_noise(R: Matrix, k2: int, account: Account, shares: Shares) -> float:
    """The expected squared noise of a reconstructed row, from public numbers."""
    g = account.guarantee
    if math.isinf(g.epsilon):
        return 0.0
    sigma = printed_row_sigma(R.shape[1], shares.rows * g.epsilon, shares.rows * g.delta)
    return float(sigma**2 * np.sum(np.linalg.pinv(R) ** 2) * k2 / len(R))


def _directions(rows: _UnitRows, table: Table, account: Account, sigma: float, k2: int) -> Matrix:
    """Steps 4 to 6: the first k2 eigenvectors of X'X plus mirrored Gaussian noise."""
    total = table.sum(
        lambda batch: Moments.of_batch(rows.unit(batch)),
        Moments.zero(rows.width),
        stage="summing the moments",
    ).matrix[0]
    upper = np.triu_indices(rows.width)
    claimed, loss = _printed(1.0, sigma, unit=GRID**2)
    noisy = account.record(
        release_vector(total[upper], claimed, loss, statistic="covariance of the rows, as printed")
    )
    found = np.zeros(total.shape)
    found[upper] = noisy.value
    values, vectors = np.linalg.eigh(found + np.triu(found, 1).T)
    V: Matrix = vectors[:, np.argsort(-np.abs(values))[:k2]]
    return V


def _printed(z: float, sigma: float, unit: float = GRID) -> tuple[Sensitivity, GaussianDP]:
    """The claimed sensitivity, and the mu at which it gives the printed sigma."""
    claimed = Sensitivity(Norm.L2, fraction(z * unit), adjacency=Adjacency.REPLACE_ONE)
    return claimed, GaussianDP(z / sigma if sigma > 0 else math.inf)


def _longest(R: Matrix) -> float:
    return float(np.linalg.norm(R, axis=0).max()) + 1.0


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


def printed_caveats(delivered: float | None, delta: float) -> list[str]:
    """What does not hold of the printed noise, and what does."""
    rows, covariance = paper_dprp_rows(), paper_dprp_covariance()
    real = (
        ""
        if delivered is None
        else f" All in all the release delivers epsilon {delivered:.4g} at delta {delta:g}."
    )
    return [
        f"{rows.claim} takes Z = {rows.printed:g} where unit rows are up to {rows.true:g} apart.",
        f"{covariance.claim} takes Z^2 = {covariance.printed:g} where {covariance.true:.4g} is needed.{real}",
    ]
