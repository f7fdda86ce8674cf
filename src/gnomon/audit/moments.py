"""Attacks on the release of moment matrices: real grid, real sums, real noise, and the likelihood of what comes out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gnomon.audit.attack import Attack, Runs
from gnomon.audit.bound import gaussian_family
from gnomon.audit.doors import Step
from gnomon.audit.likelihood import log_likelihood, parts
from gnomon.audit.pair import Matrix, orthogonal_pair, search_pair, to_the_box
from gnomon.privacy.accounting import mu_of, rho_of
from gnomon.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, Spendable
from gnomon.privacy.mechanism import MomentMechanism, Released, best_spend, release_moments
from gnomon.privacy.sensitivity import Norm
from gnomon.release.map import PublicMap
from gnomon.statistics.grid import GRID
from gnomon.statistics.moments import Moments, ball

Whole = npt.NDArray[np.int64]
WIDE = ("goe", "discrete-gaussian", "none")  # a wide matrix holds many pairs that do not touch


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
    product: bool = False,
) -> Attack:
    """One record with q coordinates in the ball is replaced; with `moved_label`, only its label is.

    The score is the likelihood ratio of the noise that should be there; with `learn` it is learnt from the released
    numbers, which finds noise that is missing where the likelihood would not look.

    With `product`, for a moved label and a pure claim: one class loses what the other gains, each under noise of its own,
    so events in the two multiply; each release is two runs of half the claim.

    The mechanism promises to hide any rows in the ball, so all q coordinates are the attacker's; a method that keeps
    one of them constant is attacked as a whole.
    """
    loss = _loss(claim, q, mechanism)
    named = _named(loss, q, mechanism, 2 if moved_label else 1)
    tables = _tables(q, named, moved_label)
    score = _ratio_of_blocks if product else _gaussian if named in WIDE else _ratio

    def release(neighbour: bool, runs: int) -> Runs:
        S = tables.second if neighbour else tables.first
        if learn:
            raw = [(_release(S, loss, mechanism).value - tables.first).ravel() for _ in range(runs)]
            return np.stack(raw) / float(GRID**2)
        calls = -(-runs // (2 if product else tables.changes.shape[0]))
        found = [score(_release(S, loss, mechanism), tables) for _ in range(calls)]
        return np.concatenate(found)[:runs]

    what = (
        "its label moves, by blocks"
        if product
        else "its label moves"
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
        family=None if isinstance(loss, PureDP) else gaussian_family(claim.delta),
        copies=2 if product else 1,
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
    if named in WIDE:
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


def _ratio(released: Released, tables: Tables) -> Runs:
    """The likelihood of what came out under the second table against the first."""
    kind, scale, value = released.event.mechanism, released.event.scale, released.value
    first, second = (
        log_likelihood(Step(kind, scale, exact, value)) for exact in (tables.first, tables.second)
    )
    return np.array([second - first])


def _ratio_of_blocks(released: Released, tables: Tables) -> Runs:
    """The same for each block: two runs of one coordinate, since noise is as likely as its opposite."""
    kind, scale, value = released.event.mechanism, released.event.scale, released.value
    first, second = (Step(kind, scale, exact, value) for exact in (tables.first, tables.second))
    return np.array([part.score for part in parts(first, second)])
