"""Attacks on the release of moment matrices: real grid, real sums, real noise, and the likelihood of what comes out."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import kve

from gnomon.audit.attack import Attack, Runs
from gnomon.audit.pair import Matrix, orthogonal_pair, search_pair, to_the_box
from gnomon.privacy.accounting import mu_of, rho_of
from gnomon.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, Spendable
from gnomon.privacy.mechanism import MomentMechanism, Released, best_spend, release_moments
from gnomon.privacy.sensitivity import Norm
from gnomon.release.map import PublicMap
from gnomon.statistics.grid import GRID
from gnomon.statistics.moments import Moments, ball

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tables:
    """Exact moments of two tables that differ in records, each of which is a trial of its own.

    `changes` (k, blocks * q * q) is what each record's replacement adds; they touch different entries, so that one
    release of a wide matrix holds k independent trials.
    """

    first: Whole
    second: Whole
    changes: csr_array


def moment_attack(
    q: int,
    claim: Guarantee,
    *,
    mechanism: MomentMechanism = "auto",
    moved_label: bool = False,
    learn: bool = False,
) -> Attack:
    """One record with q coordinates in the ball is replaced; with `moved_label`, only its label is.

    The score is the likelihood ratio of the noise that should be there; with `learn` it is learnt from the released
    numbers, which finds noise that is missing where the likelihood would not look.

    The mechanism promises to hide any rows in the ball, so all q coordinates are the attacker's; a method that keeps
    one of them constant is attacked as a whole.
    """
    loss = _loss(claim, q, mechanism)
    named = _named(loss, q, mechanism, 2 if moved_label else 1)
    tables = _tables(q, named, moved_label)
    score = _SCORES[named]

    def release(neighbour: bool, runs: int) -> Runs:
        S = tables.second if neighbour else tables.first
        if learn:
            raw = [(_release(S, loss, mechanism).value - tables.first).ravel() for _ in range(runs)]
            return np.stack(raw) / float(GRID**2)
        calls = -(-runs // tables.changes.shape[0])
        found = [score(_release(S, loss, mechanism), tables) for _ in range(calls)]
        return np.concatenate(found)[:runs]

    what = (
        "its label moves"
        if moved_label
        else "found by search"
        if named == "upper-laplace"
        else "orthogonal rows"
    )
    return Attack(
        f"moment matrix of {q} coordinates, {named}",
        what,
        claim,
        release,
        gaussian=not isinstance(loss, PureDP),
    )


def _release(S: Whole, loss: Spendable, mechanism: MomentMechanism) -> Released:
    return release_moments(
        S, ball(0), loss, statistic="moments", adjacency=loss.adjacency, mechanism=mechanism
    )


def _loss(claim: Guarantee, q: int, mechanism: MomentMechanism) -> Spendable:
    if mechanism == "auto" or not isinstance(claim, ApproxDP):
        return best_spend(claim, q)
    if mechanism == "discrete-gaussian":
        return ZCDP(rho_of(claim.epsilon, claim.delta))
    if mechanism == "goe":
        return GaussianDP(mu_of(claim.epsilon, claim.delta))
    return PureDP(claim.epsilon)


def _named(loss: Spendable, q: int, mechanism: MomentMechanism, blocks: int) -> str:
    zero = np.zeros((blocks, q, q), dtype=np.int64)
    return _release(zero, loss, mechanism).event.mechanism


def _tables(q: int, named: str, moved_label: bool) -> Tables:
    if moved_label:
        x = to_the_box(np.ones(q))[None, :]
        return _of_records(x, x, (0, 1), classes=2)
    if q == 1:
        return _of_records(np.ones((1, 1)), np.zeros((1, 1)))
    if named in ("goe", "discrete-gaussian"):
        units = np.eye(q)[: q - q % 2]
        return _of_records(units[0::2], units[1::2])
    x, y = search_pair(Norm.L1, q) if named == "upper-laplace" else orthogonal_pair(q)
    return _of_records(to_the_box(x)[None, :], to_the_box(y)[None, :])


def _of_records(X: Matrix, Y: Matrix, labels: tuple[int, int] = (0, 0), classes: int = 1) -> Tables:
    """Rows as a method sums them: through the public map, on the grid, clipped to the ball."""
    each = [
        np.stack([_moments(row, label, classes) for row in rows])
        for rows, label in zip((X, Y), labels, strict=True)
    ]
    changes = (each[1] - each[0]).reshape(len(X), -1).astype(np.float64)
    return Tables(each[0].sum(axis=0), each[1].sum(axis=0), csr_array(changes))


def _moments(row: Matrix, label: int, classes: int) -> Whole:
    rows = PublicMap.identity(len(row), radius=1.0).integers(row[None, :], 0)[:, :-1]
    return Moments.of_batch(rows, np.array([label]), classes).matrix


# --- Likelihoods ---


def _gaussian(released: Released, tables: Tables) -> Runs:
    """<Z, D> is the log-likelihood ratio of GOE noise, up to a factor and a constant."""
    scores: Runs = tables.changes @ (released.value - tables.first).ravel().astype(np.float64)
    return scores / GRID**2


def _upper_laplace(released: Released, tables: Tables) -> Runs:
    """sum over i <= j of (|v - a| - |v - b|) / scale."""
    upper = np.triu_indices(released.value.shape[-1])
    to_first = np.abs(released.value - tables.first)[:, upper[0], upper[1]]
    to_second = np.abs(released.value - tables.second)[:, upper[0], upper[1]]
    return np.array([float((to_first - to_second).sum()) / released.event.scale])


def _matrix_laplace(released: Released, tables: Tables) -> Runs:
    """The likelihood of u'Zu along every eigenvector u of the change; these numbers are independent.

    u'Zu = scale (chi2 - chi2) with q + 1 degrees of freedom each: a difference of two Gammas of shape k = (q + 1) / 2,
    with density proportional to |t|^(k - 1/2) K_(k - 1/2)(|t|).
    """
    q = released.value.shape[-1]
    unit = 2 * released.event.scale
    total = 0.0
    changes = tables.changes.toarray().reshape(released.value.shape)
    for noisy, D in zip(released.value - tables.first, changes, strict=True):
        values, vectors = np.linalg.eigh(D)
        for d, u in zip(values, vectors.T, strict=True):
            if abs(d) > 1e-9 * np.abs(values).max():
                z = float(u @ noisy @ u)
                total += _log_density((z - d) / unit, q) - _log_density(z / unit, q)
    return np.array([total])


def _log_density(t: float, q: int) -> float:
    order, size = q / 2, max(abs(t), 1e-12)
    return order * math.log(size) + math.log(float(kve(order, size))) - size


_SCORES: dict[str, Callable[[Released, Tables], Runs]] = {
    "goe": _gaussian,
    "discrete-gaussian": _gaussian,
    "upper-laplace": _upper_laplace,
    "matrix-laplace": _matrix_laplace,
    "none": _gaussian,
}
