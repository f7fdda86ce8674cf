"""Attacks on releases of vectors: all runs are one call, because independent noise meets every entry."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gnomon.audit.attack import Attack, Runs
from gnomon.audit.bound import gaussian_family
from gnomon.privacy.accounting import mu_of, rho_of
from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, Guarantee, PureDP, Spendable
from gnomon.privacy.mechanism import release_vector
from gnomon.privacy.sensitivity import Norm, Sensitivity, class_counts, row_sum
from gnomon.statistics.grid import GRID

Whole = npt.NDArray[np.int64]


def count_attack(claim: PureDP) -> Attack:
    """One record's label moves: one count falls and one rises; or a record is added."""
    sensitivity = class_counts(Norm.L1, adjacency=claim.adjacency)
    added = claim.adjacency is Adjacency.ADD_REMOVE
    tables = np.array([[5, 3], [6, 3] if added else [4, 4]], dtype=np.int64)
    pair = "one record more" if added else "its label moves"
    return vector_attack("class counts", pair, tables, sensitivity, claim, claim)


def sum_attack(claim: ApproxDP, columns: int, *, discrete: bool = False) -> Attack:
    """One row of length 1 becomes its opposite, or is added."""
    sensitivity = row_sum(Norm.L2, columns=columns, radius=GRID, adjacency=claim.adjacency)
    x = np.full(columns, math.floor(GRID / math.sqrt(columns)), dtype=np.int64)
    added = claim.adjacency is Adjacency.ADD_REMOVE
    loss: Spendable = GaussianDP(mu_of(claim.epsilon, claim.delta), *claim.neighbours)
    if discrete:
        loss = ZCDP(rho_of(claim.epsilon, claim.delta), *claim.neighbours)
    tables, pair = (
        (np.stack([0 * x, x]), "one record more") if added else (np.stack([-x, x]), "opposite rows")
    )
    return vector_attack(f"sum of {columns} columns", pair, tables, sensitivity, loss, claim)


def vector_attack(
    what: str, pair: str, tables: Whole, sensitivity: Sensitivity, loss: Spendable, claim: Guarantee
) -> Attack:
    """`tables` (2, k): the exact vectors of two neighbouring tables."""

    def release(neighbour: bool, runs: int) -> Runs:
        value = np.tile(tables[int(neighbour)], (runs, 1))
        noisy = release_vector(value, sensitivity, loss, statistic=what).value
        if isinstance(loss, PureDP):
            return np.asarray(laplace_scores(noisy, tables), dtype=np.float64)
        return np.asarray((noisy - tables[0]) @ (tables[1] - tables[0]), dtype=np.float64)

    kind = release_vector(tables[0], sensitivity, loss, statistic=what).event.mechanism
    family = None if isinstance(loss, PureDP) else gaussian_family(claim.delta)
    return Attack(f"{what}, {kind}", pair, claim, release, family=family)


def laplace_scores(noisy: npt.NDArray[np.generic], tables: npt.NDArray[np.generic]) -> Runs:
    """The log-likelihood ratio of independent Laplace noise, up to its scale."""
    scores: Runs = (np.abs(noisy - tables[0]) - np.abs(noisy - tables[1])).sum(axis=1).astype(np.float64)
    return scores
