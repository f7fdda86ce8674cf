"""The paper's own PCA-Gauss: Algorithms 1 to 3, with an independent PCA from any source, sound or as printed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.errors import ParameterError
from gnomon.model.mixture import Mixture
from gnomon.model.repair import mixture_of
from gnomon.privacy import printed
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import Adjacency, PureDP, Spendable
from gnomon.privacy.mechanism import release_vector
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity, eigenvalues
from gnomon.release.base import Account, Table
from gnomon.release.map import PublicMap
from gnomon.release.pca_source import (
    check_public,
    halves,
    lap_pca_as_printed,
    private_pca,
    public_pca,
    second_moment,
)
from gnomon.release.ron_gauss import BESIDE, class_sums, look
from gnomon.release.ron_gauss_paper import gaussians, private_covariance
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.moments import Moments
from gnomon.table.encode import Rows

Vector = npt.NDArray[np.float64]
MEAN, COVARIANCE = 0.1, 0.9  # the paper's split of the model's epsilon
CENTRED = 4.0  # centring by the true mean doubles the length of what changes: four times the second moment


@dataclass(frozen=True)
class Wanted:
    """What the caller asked of the paper's algorithms."""

    pca: str
    public: Any
    share: float
    components: int
    printed: bool


def dimension(m: int) -> int:
    """The paper sweeps P and reports the best; without an oracle, a tenth of the columns, from 2 to 20."""
    return max(1, min(m, 20, max(2, round(m / 10))))


def paper_algorithm(table: Table, account: Account, wanted: Wanted) -> tuple[PublicMap, Mixture]:
    """Algorithm 1 without a target; with one, a PCA and then Algorithm 2 (a number) or 3 (classes)."""
    start = PublicMap.identity(table.m, radius=math.sqrt(table.m))
    if wanted.printed:
        start = replace(start, centre=true_mean(table))
        account.caveats.append(
            "The rows are centred by their true mean, which is used without noise: two tables that differ in one "
            "record then differ in every centred row, and changes are up to four times what the proofs assume."
        )
    if table.task == "clustering":
        return unsupervised(table, account, start, wanted)
    W, table, loss = independent_pca(table, account, start, wanted)
    if not wanted.printed:
        return sound_model(table, account, W, loss)
    assert isinstance(loss, PureDP)
    chart = start.project(W, radius=start.radius)
    algorithm = supervised_as_printed if table.task == "regression" else mixture_as_printed
    return chart, algorithm(table, account, chart, loss)


def unsupervised(
    table: Table, account: Account, start: PublicMap, wanted: Wanted
) -> tuple[PublicMap, Mixture]:
    """Algorithm 1: the P largest eigenvalues of the covariance meet noise; samples are components, W stays private."""
    P = wanted.components
    top = np.linalg.eigvalsh(second_moment(table, start)[0].astype(np.float64))[::-1][:P]
    loss = _pure(account) if wanted.printed else spendable(account.guarantee)
    if wanted.printed:
        claim = printed.paper_pca_gauss_eigenvalues(P, table.n)
        sensitivity = Sensitivity(Norm.L1, fraction(GRID**2 * claim.printed), adjacency=Adjacency.REPLACE_ONE)
        account.delivered = account.guarantee.epsilon * claim.factor
        if not claim.holds:
            account.caveats.append(
                f"{claim.claim} prints {claim.printed:.4g} where {claim.true:.4g} is needed."
            )
    else:
        norm = Norm.L1 if isinstance(loss, PureDP) else Norm.L2
        exact = eigenvalues(norm, count=P, ball=GRID**2, adjacency=Adjacency.REPLACE_ONE)
        # an eigenvalue from float64 and its rounding: 2^-20 of GRID^2 n is far beyond both for m, n that fit a machine
        sensitivity = exact.on_grid(1, coordinates=P, error=float(table.n) * GRID**2 * table.m * 2.0**-48)
    whole = np.rint(top).astype(np.int64)
    noisy = account.record(release_vector(whole, sensitivity, loss, statistic=f"the {P} largest eigenvalues"))
    variances = np.maximum(noisy.value / (table.n * start.unit**2), 0.0)
    account.post_processing.append("negative eigenvalues become zero")
    chart = replace(PublicMap.identity(P, radius=1.0), components_only=True)
    return chart, Mixture(np.ones(1), np.zeros((1, P)), np.diag(variances)[None])


def independent_pca(
    table: Table, account: Account, start: PublicMap, wanted: Wanted
) -> tuple[Matrix, Table, Spendable]:
    """W, the rows that the model may read, and the loss that is left for it."""
    P, source = wanted.components, wanted.pca
    pure = _pure(account)
    loss: Spendable = (
        pure if source in ("laplace", "matrix-laplace") or wanted.printed else spendable(account.guarantee)
    )
    if source == "public":
        account.public.append("the public table that the principal components come from")
        return public_pca(check_public(wanted.public, table.schema, P), table.schema, P), table, loss
    if source == "split":
        first, rest = halves(table, wanted.share)
        W, event = private_pca(first, account, start, source, loss, P)
        account.public.append(
            f"the principal components come from the first {first.n} rows, which the model does not read, by a "
            f"{event.mechanism} of scale {event.scale:.6g} at the same loss: a record is in one of the two parts"
        )
        return W, rest, loss
    if wanted.printed and source == "laplace":
        first_loss, rest_loss = pure.split(wanted.share, 1 - wanted.share)
        W, noisy = lap_pca_as_printed(table, start, first_loss, P)
        account.record(noisy)
        claim = printed.paper_lap_pca(table.m)
        account.caveats.append(
            f"Lap-PCA prints the scale {claim.printed:.4g} a^2/(N eps) where {claim.true:.4g} is needed."
        )
        return W, table, rest_loss
    first_part, rest_part = loss.split(wanted.share, 1 - wanted.share)
    if wanted.printed and source == "analyze-gauss":
        gaussian, _ = spendable(account.guarantee).split(wanted.share, 1 - wanted.share)
        first_part = gaussian
    W, event = private_pca(table, account, start, source, first_part, P)
    account.events.append(event)
    return W, table, rest_part


def _pure(account: Account) -> PureDP:
    return PureDP(account.guarantee.epsilon, account.guarantee.unit, account.guarantee.adjacency)


def sound_model(table: Table, account: Account, W: Matrix, loss: Spendable) -> tuple[PublicMap, Mixture]:
    """Algorithms 2 and 3 with one moment matrix of (W'x, label, lambda) a class, at its true sensitivity."""
    start = PublicMap.identity(table.m, radius=1.0).project(W, radius=math.sqrt(table.m))
    chart, model_loss = look(table, account, start, loss)
    mixture = mixture_of(class_sums(table, account, chart, model_loss), table.n).mixture
    if table.task == "regression":
        mixture = mixture.scaled(np.r_[np.ones(W.shape[1]), chart.unit / BESIDE])
    account.post_processing.append("counts, means and covariances shrunk by the known law of the noise")
    return chart, mixture


def supervised_as_printed(table: Table, account: Account, chart: PublicMap, loss: PureDP) -> Mixture:
    """Algorithm 2: Lap((P^2 + 4P + 1) a^2 / (N eps)) on the covariance of (W'x / sqrt(M), y)."""
    P = chart.n_components

    def moments(rows: Rows) -> Moments:
        return Moments.of_batch(chart.integers(rows.X, 0, rows.numbers, GRID)[:, :-1])

    claim = printed.paper_pca_gauss_supervised(P)
    account.delivered = _delivered(account, table, loss.epsilon * CENTRED * claim.factor)
    noisy = private_covariance(table, account, claim.printed, loss, moments, P + 1)
    units = np.r_[np.full(P, chart.unit), GRID]
    return gaussians(noisy / (table.n * np.outer(units, units)), np.ones(1))


def mixture_as_printed(table: Table, account: Account, chart: PublicMap, loss: PureDP) -> Mixture:
    """Algorithm 3: Lap(2P a / (N_c eps)) on class means, Lap(P^2 a^2 / (N_c eps)) on covariances about the true means."""
    P, L = chart.n_components, table.n_classes
    mean_loss, covariance_loss = loss.split(MEAN, COVARIANCE)

    def moments(rows: Rows) -> Moments:
        return Moments.of_batch(chart.integers(rows.X, GRID), rows.codes, L)

    S = table.sum(moments, Moments.zero(P + 1, L), stage="summing the moments of every class").matrix
    counts = S[:, P, P] // GRID**2
    sizes = np.maximum(counts, 1).astype(np.float64)
    sums = S[:, :P, P] // GRID
    means = _laplace(account, sums, GRID * 2.0 * P, mean_loss, "class means, as printed") / sizes[:, None]
    scatter = S[:, :P, :P] - np.rint(np.einsum("ci,cj,c->cij", sums, sums, 1 / sizes)).astype(np.int64)
    noisy = _laplace(
        account, scatter, GRID**2 * float(P * P), covariance_loss, "class covariances, as printed"
    )
    covariance = printed.paper_pca_gauss_class_covariance(P, table.n)
    if not covariance.holds:
        account.caveats.append(
            f"{covariance.claim} prints {covariance.printed:.4g} where {covariance.true:.4g} is needed (P < 4)."
        )
    account.caveats.append(
        "The sizes of the classes are published exactly and set the scale of the noise: a change of a record's label "
        "is not protected by any epsilon; only changes within a class are."
    )
    account.delivered = math.inf
    found = gaussians(noisy / (sizes[:, None, None] * chart.unit**2), counts / table.n)
    return replace(found, means=means / chart.unit)


def _laplace(account: Account, value: Any, claimed: float, loss: PureDP, statistic: str) -> Matrix:
    sensitivity = Sensitivity(Norm.L1, fraction(claimed), adjacency=Adjacency.REPLACE_ONE)
    noisy = account.record(release_vector(value.ravel(), sensitivity, loss, statistic=statistic))
    found: Matrix = noisy.value.reshape(value.shape).astype(np.float64)
    return found


def _delivered(account: Account, table: Table, model: float) -> float | None:
    """The epsilon of a printed PCA and of the model together; None where Gaussian noise is among them."""
    if any(not isinstance(event.loss, PureDP) for event in account.events):
        return None
    lap = CENTRED * printed.paper_lap_pca(table.m).factor
    return model + sum(event.loss.epsilon * lap for event in account.events if isinstance(event.loss, PureDP))


def true_mean(table: Table) -> Vector:
    """The mean of the encoded rows, without noise: what the paper centres by."""
    fine = 2.0**30
    f: Callable[[Rows], Vector] = lambda rows: np.rint(rows.X * fine).sum(axis=0)  # noqa: E731
    return np.asarray(table.sum(f, np.zeros(table.m), stage="averaging the rows")) / (fine * table.n)


def sir(spectrum: Vector) -> Vector:
    """SIR(P) for P = 1..M: sensitivity gain M / P over information loss (all variance / that of P components).

    Computed from the private spectrum, so it is for the custodian's eyes. At P = M it is one.
    """
    values = np.sort(np.maximum(np.asarray(spectrum, dtype=np.float64), 0.0))[::-1]
    if values.ndim != 1 or not values.size or values.sum() <= 0:
        raise ParameterError("The 'spectrum' parameter of sir must hold eigenvalues that are not all zero.")
    M = len(values)
    found: Vector = (M / np.arange(1, M + 1)) * np.cumsum(values) / values.sum()
    return found
