"""RON-Gauss with the noise exactly as printed, so that the paper's tables can be reproduced.

The printed covariance scale does not give the declared epsilon for more than two dimensions, and the class mixture
publishes the class counts: the certificate says so, and which epsilon is really delivered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.model.mixture import Mixture
from gnomon.privacy import printed
from gnomon.privacy.guarantee import Adjacency, PureDP
from gnomon.privacy.mechanism import release_vector
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.projection.orthonormal import dfm_dimension, haar
from gnomon.release.base import Account, Table
from gnomon.release.map import PublicMap
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.moments import Moments
from gnomon.table.encode import Rows

Whole = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]
LABEL = 1.0  # targets are encoded to [-1, 1]: the paper's a
MEAN, COVARIANCE = 0.3, 0.7  # the paper's split of epsilon (its section 5.2)


def ron_gauss_as_printed(
    table: Table, account: Account, n_components: int | str, rng: np.random.Generator
) -> tuple[PublicMap, Mixture]:
    """Algorithms 3 (no target), 4 (number) and 5 (classes)."""
    assert isinstance(account.guarantee, PureDP)  # RonGauss._check refuses a delta before anything is charged
    p = dfm_dimension(table.m) if n_components == "auto" else int(n_components)
    mean_loss, covariance_loss = account.guarantee.split(MEAN, COVARIANCE)
    start = PublicMap.identity(table.m, radius=1.0, normalise=True)
    W = haar(table.m, p, rng)
    algorithm = {"clustering": unsupervised, "regression": supervised, "classification": mixture}[table.task]
    facts: Any = {
        "epsilon_mean": mean_loss.epsilon,
        "epsilon": covariance_loss.epsilon,
        "label": LABEL if table.task == "regression" else None,
        "classes": table.n_classes,
    }
    account.caveats += printed.ron_gauss_caveats(p, **facts)
    account.delivered = printed.ron_gauss_delivered(p, **facts)
    return algorithm(table, account, start, W, mean_loss, covariance_loss)


def unsupervised(
    table: Table, account: Account, start: PublicMap, W: Matrix, mean_loss: PureDP, covariance_loss: PureDP
) -> tuple[PublicMap, Mixture]:
    """Algorithm 3: one Gaussian with mean zero and the noisy covariance of the centred, normalised, projected rows."""
    p = W.shape[1]
    mean = private_means(table, account, start, mean_loss, lambda rows: np.zeros(len(rows.X), np.int64))[0]
    chart = replace(start, mean=mean).project(W, radius=1.0)
    noisy = private_covariance(
        table,
        account,
        2 * math.sqrt(p),
        covariance_loss,
        lambda rows: Moments.of_batch(chart.integers(rows.X, 0)[:, :-1]),
        p,
    )
    return chart, gaussians(noisy / (table.n * chart.unit**2), np.ones(1))


def supervised(
    table: Table, account: Account, start: PublicMap, W: Matrix, mean_loss: PureDP, covariance_loss: PureDP
) -> tuple[PublicMap, Mixture]:
    """Algorithm 4: the label in [-a, a], a = 1, joins the projected row in one augmented covariance."""
    p, a = W.shape[1], LABEL
    mean = private_means(table, account, start, mean_loss, lambda rows: np.zeros(len(rows.X), np.int64))[0]
    chart = replace(start, mean=mean).project(W, radius=1.0)

    def moments(rows: Rows) -> Moments:
        return Moments.of_batch(chart.integers(rows.X, 0, rows.numbers, GRID)[:, :-1])

    scale = 2 * math.sqrt(p) + 4 * a * math.sqrt(p) + a * a
    noisy = private_covariance(table, account, scale, covariance_loss, moments, p + 1)
    units = np.r_[np.full(p, chart.unit), GRID]
    return chart, gaussians(noisy / (table.n * np.outer(units, units)), np.ones(1))


def mixture(
    table: Table, account: Account, start: PublicMap, W: Matrix, mean_loss: PureDP, covariance_loss: PureDP
) -> tuple[PublicMap, Mixture]:
    """Algorithm 5: Algorithm 3 within every class, around the projected class mean; n_c is taken as public."""
    p, classes = W.shape[1], table.n_classes

    counts = table.sum(
        lambda rows: np.bincount(rows.codes, minlength=classes), np.zeros(classes, np.int64), stage="counting"
    )
    means = private_means(table, account, start, mean_loss, lambda rows: rows.codes, counts)
    charts = [replace(start, mean=mean).project(W, radius=1.0) for mean in means]

    def moments(rows: Rows) -> Moments:
        Q: Matrix = np.zeros((len(rows.X), p))
        for c, chart in enumerate(charts):
            mine = rows.codes == c
            Q[mine] = chart.integers(rows.X[mine], 0)[:, :-1]
        return Moments.of_batch(Q, rows.codes, classes)

    noisy = private_covariance(table, account, 2 * math.sqrt(p), covariance_loss, moments, p, classes)
    unit = charts[0].unit
    covariances = noisy / (np.maximum(counts, 1)[:, None, None] * unit**2)
    chart = start.project(W, radius=1.0)
    return chart, replace(gaussians(covariances, counts / table.n), means=means @ W)


def private_means(
    table: Table,
    account: Account,
    start: PublicMap,
    loss: PureDP,
    code: Callable[[Rows], Whole],
    counts: Whole | None = None,
) -> Matrix:
    """Steps 1 and 2 of Algorithm 1 in every class: mean of the normalised rows, plus Lap(2 sqrt(m) / (n eps))."""
    m, sizes = table.m, np.array([table.n]) if counts is None else counts

    def sums(rows: Rows) -> Whole:
        Q = start.integers(rows.X, 0)[:, :-1]
        return np.stack([Q[code(rows) == c].sum(axis=0) for c in range(len(sizes))]).astype(np.int64)

    claimed = Sensitivity(Norm.L1, fraction(GRID * 2 * math.sqrt(m)), adjacency=Adjacency.REPLACE_ONE)
    total = table.sum(sums, np.zeros((len(sizes), m), np.int64), stage="averaging the rows")
    noisy = account.record(
        release_vector(total.ravel(), claimed, loss, statistic="mean of the normalised rows")
    )
    found: Matrix = noisy.value.reshape(total.shape) / (np.maximum(sizes, 1)[:, None] * start.unit)
    return found


def private_covariance(
    table: Table,
    account: Account,
    scale: float,
    loss: PureDP,
    moments: Callable[[Rows], Moments],
    width: int,
    classes: int = 1,
) -> Matrix:
    """The sum of outer products plus independent Laplace noise on every entry, at the printed sensitivity `scale`."""
    total = table.sum(moments, Moments.zero(width, classes), stage="summing the moments").matrix
    claimed = Sensitivity(Norm.L1, fraction(GRID**2 * scale), adjacency=Adjacency.REPLACE_ONE)
    noisy = account.record(release_vector(total.ravel(), claimed, loss, statistic="covariance, as printed"))
    found: Matrix = noisy.value.reshape(total.shape).astype(np.float64)
    return found


def gaussians(covariances: Matrix, weights: Vector) -> Mixture:
    """Gaussians of mean zero; negative eigenvalues, which the printed noise leaves, become zero."""
    symmetric = (covariances + covariances.transpose(0, 2, 1)) / 2
    values, vectors = np.linalg.eigh(symmetric)
    repaired = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return Mixture(weights, np.zeros(covariances.shape[:2]), repaired)
