"""Attacks on the release of moment matrices: real grid, real sums, real noise, and the likelihood of what comes out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from gnomon.audit.attack import Attack, Runs
from gnomon.audit.bound import gaussian_family
from gnomon.audit.likelihood import sharper
from gnomon.audit.pair import Matrix, orthogonal_pair, search_pair, to_the_box
from gnomon.privacy.accounting import mu_of, rho_of
from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, Guarantee, PureDP, Spendable
from gnomon.privacy.mechanism import (
    Event,
    MomentMechanism,
    Noise,
    Released,
    best_spend,
    moment_noise,
    release_moments,
)
from gnomon.privacy.sensitivity import Norm
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import Moments
from gnomon.table.rows import Rows
from gnomon.table.target import Target

Whole = npt.NDArray[np.int64]
BALL = GRID**2
TOGETHER = 2**17  # entries of all runs in one call
DIGITS = 9  # of a score: many outcomes tell exactly as much, and no threshold should cut between their rounding errors
WIDE = ("goe", "discrete-goe", "none")  # a wide matrix holds many pairs that do not touch


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
    """One record with q coordinates in the ball is replaced; with `moved_label`, only its label is. Under a claim about
    added records, it is added.

    The score is the likelihood ratio of the noise that should be there; with `learn` it is learnt from the released
    numbers, which finds noise that is missing where the likelihood would not look.

    With `product`, for a moved label and a pure claim: one class loses what the other gains, each under noise of its own,
    so events in the two multiply; each release is two runs of half the claim.

    Runs are the blocks of large calls of `release_moments`: the plan, the scale, the noise and the sum are the code of a
    release, in which a block belongs to a class; only that there are more blocks than classes is not. Where a call with
    more blocks would plan another noise, a run is a call.

    The mechanism promises to hide any rows in the ball, so all q coordinates are the attacker's; a method that keeps
    one of them constant is attacked as a whole.
    """
    loss = _loss(claim, q, mechanism)
    named = _planned(q, loss, mechanism, 2 if moved_label else 1).mechanism
    added = claim.adjacency is Adjacency.ADD_REMOVE
    tables = _added_record(q, named) if added else _tables(q, named, moved_label)
    score = _ratio_of_blocks if product else _gaussian if named in WIDE else _ratio
    together = _together(tables.first, loss, mechanism)

    def release(neighbour: bool, runs: int) -> Runs:
        S = tables.second if neighbour else tables.first
        calls = runs if learn else -(-runs // (2 if product else tables.changes.shape[0]))
        found = []
        for start in range(0, calls, together):
            count = min(together, calls - start)
            released = _release(np.tile(S, (count, 1, 1)), loss, mechanism)
            values = released.value.reshape(count, *S.shape)
            if learn:
                found.append((values - tables.first).reshape(count, -1) / float(GRID**2))
            else:
                found.append(score(values, released.event, tables))
        return np.concatenate(found)[:runs]

    what = (
        "one record more"
        if added
        else "its label moves, by blocks"
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
    return release_moments(S, BALL, loss, statistic="moments", adjacency=loss.adjacency, mechanism=mechanism)


def _loss(claim: Guarantee, q: int, mechanism: MomentMechanism) -> Spendable:
    if mechanism == "auto" or not isinstance(claim, ApproxDP):
        return best_spend(claim, q)
    if mechanism == "discrete-goe":
        return ZCDP(rho_of(claim.epsilon, claim.delta), *claim.neighbours)
    if mechanism == "goe":
        return GaussianDP(mu_of(claim.epsilon, claim.delta), *claim.neighbours)
    return PureDP(claim.epsilon, *claim.neighbours)


def _planned(q: int, loss: Spendable, mechanism: MomentMechanism, blocks: int) -> Noise:
    return moment_noise(q, loss, ball=BALL, blocks=blocks, mechanism=mechanism)


def _together(S: Whole, loss: Spendable, mechanism: MomentMechanism) -> int:
    """How many runs one call may hold: many where a release of more classes has the same mechanism and scale."""
    runs = max(1, TOGETHER // S.size)
    few, many = (_planned(S.shape[-1], loss, mechanism, blocks) for blocks in (len(S), len(S) * runs))
    return runs if (few.mechanism, few.scale) == (many.mechanism, many.scale) else 1


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


def _added_record(q: int, named: str) -> Tables:
    """Nothing against a record of full length: evenly in all coordinates, or one in each where many fit."""
    if named in WIDE:
        return _of_records(np.zeros((q, q)), np.eye(q))
    return _of_records(np.zeros((1, q)), to_the_box(np.ones(q))[None, :])


def _of_records(X: Matrix, Y: Matrix, labels: tuple[int, int] = (0, 0), classes: int = 1) -> Tables:
    """Rows as a method sums them: through a frame, on the grid, clipped to the ball."""
    each = [
        np.stack([_moments(row, label, classes) for row in rows])
        for rows, label in zip((X, Y), labels, strict=True)
    ]
    changes = (each[1] - each[0]).reshape(len(X), -1).astype(np.float64)
    return Tables(each[0].sum(axis=0), each[1].sum(axis=0), csr_array(changes))


def _moments(row: Matrix, label: int, classes: int) -> Whole:
    frame, target = Frame.identity(len(row), radius=1.0), Target("y", classes)
    return Moments("", frame, target, by_class=True).of_batch(Rows.of(row[None, :], np.array([label])))


# --- Likelihoods ---


def _gaussian(values: Whole, event: Event, tables: Tables) -> Runs:
    """<Z, D> is the log-likelihood ratio of GOE noise, up to a factor and a constant."""
    z = (values - tables.first).reshape(len(values), -1).astype(np.float64)
    scores: Runs = (tables.changes @ z.T).T.ravel() / GRID**2
    return scores


def _ratio(values: Whole, event: Event, tables: Tables) -> Runs:
    """The likelihood of what came out under the second table against the first."""
    scores: Runs = _by_block(values, event, tables).sum(axis=1)
    return scores


def _ratio_of_blocks(values: Whole, event: Event, tables: Tables) -> Runs:
    """The same for each block: two runs of one coordinate, since noise is as likely as its opposite."""
    return _by_block(values, event, tables).ravel()


def _by_block(values: Whole, event: Event, tables: Tables) -> Runs:
    first, second = (
        sharper(event.mechanism, exact, values, event.scale) for exact in (tables.first, tables.second)
    )
    scores: Runs = np.round(second - first, DIGITS)
    return scores
