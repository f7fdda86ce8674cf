"""The shape of the columns of numbers: noisy counts of all rows and of every class, where a table can afford them.

One record is in one bin of every column, in its own class; so the counts of all columns and classes are one histogram
of as many columns (`privacy.sensitivity.histogram`): replacing a record moves one unit between two bins of each. Edges
come from what was released before and from the schema, never from the rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gnomon.model.marginals import FEWEST, Counts, Shape, bins_clear_of, edges_of, shape_of
from gnomon.privacy.guarantee import Adjacency, Spendable
from gnomon.privacy.mechanism import release_vector, vector_noise
from gnomon.privacy.sensitivity import Sensitivity, histogram
from gnomon.release.base import Account, Table
from gnomon.release.pca_look import norm
from gnomon.release.pca_stages import Model
from gnomon.statistics.grid import Matrix
from gnomon.table.encode import Encoder, Rows

Vector = npt.NDArray[np.float64]
SHARE = 0.08  # of the budget
LEAST = 1e-12  # the variance of a weighted cell that does not vary
CLASSES = 32  # at most so many are counted by themselves; more share the counts of all rows
TOGETHER = 0.4  # of that: the counts of all rows, where classes are counted too


def bins_of(n: int, columns: int, loss: Spendable) -> int:
    """How many bins a column gets; 0 where too few are clear of the noise. Public numbers only."""
    return bins_clear_of(vector_noise(_sensitivity(columns, loss), loss)[2].diagonal, n) if columns else 0


def _sensitivity(columns: int, loss: Spendable) -> Sensitivity:
    return histogram(norm(loss), columns=columns, adjacency=Adjacency.REPLACE_ONE)


def numbers(encoder: Encoder) -> list[int]:
    """The places of the columns that have a shape: those of values with an order, none of them missing.

    A missing cell is drawn with the others of its row, so the cells that are not missing are no normal numbers.
    """
    return [
        group.place.start
        for group in encoder.groups
        if group.kind in ("number", "date", "ordered") and not group.indicator
    ]


def cell_law(model: Model) -> tuple[Matrix, Matrix]:
    """Mean and deviation of every encoded cell (L, m) as the model draws it, the spread outside its subspace included."""
    chart, mixture = model.chart, model.mixture
    p, W = chart.n_components, chart.projection
    if W is None:
        W = np.eye(chart.n_features)
    inside = np.stack([((W @ C) * W).sum(axis=1) for C in mixture.covariances[:, :p, :p]]) * chart.radius**2
    onto, variance = W @ W.T, model.outside**2
    outside = variance * (1 - 2 * np.diag(onto)) + onto**2 @ variance
    spreads = np.sqrt(np.maximum(inside + outside, LEAST)) / np.abs(chart.weight)
    return chart.lift(mixture.means[:, :p]), spreads


def shapes(
    table: Table, account: Account, loss: Spendable, means: Matrix, spreads: Matrix, sizes: Vector
) -> list[Shape]:
    """Count every column of numbers, of all rows and of every class, between edges that the model's cells suggest."""
    columns, L = numbers(table.encoder), len(sizes)
    losses = loss.split(TOGETHER, 1 - TOGETHER) if 1 < L <= CLASSES else [loss]
    bins = max(FEWEST, bins_of(table.n, len(columns), losses[0]))
    shares = sizes / sizes.sum()
    centre = shares @ means
    spread = np.sqrt(shares @ (spreads**2 + (means - centre) ** 2))
    few = table.encoder.steps()
    borders = [few[j].borders if j in few else None for j in columns]

    def edges(mean: Vector, spread: Vector) -> list[Vector]:
        return [
            edges_of(float(mean[j]), float(spread[j]), bins, between)
            for j, between in zip(columns, borders, strict=True)
        ]

    everybody = [edges(centre, spread)]
    classes = [edges(m, s) for m, s in zip(means, spreads, strict=True)] if len(losses) > 1 else []
    halves = [half for half in (everybody, classes) if half]
    ends = np.cumsum([sum(len(e) + 1 for one in half for e in one) for half in halves])

    def counts(rows: Rows) -> npt.NDArray[np.int64]:
        parts = [rows.X, *(rows.X[rows.codes == c] for c in range(len(classes)))]
        return np.concatenate(
            [
                np.bincount(np.searchsorted(e, X[:, j]), minlength=len(e) + 1)
                for X, one in zip(parts, everybody + classes, strict=True)
                for j, e in zip(columns, one, strict=True)
            ]
        )

    exact = table.sum(counts, np.zeros(ends[-1], dtype=np.int64), stage="counting the columns of numbers")
    found: list[list[Counts]] = []
    for half, part, value in zip(halves, losses, np.split(exact, ends[:-1]), strict=True):
        what = f"histograms of {len(columns)} columns" + (" in every class" if half is classes else "")
        noisy = account.record(release_vector(value, _sensitivity(len(columns), part), part, statistic=what))
        heights = iter(
            np.split(noisy.value.astype(np.float64), np.cumsum([len(e) + 1 for o in half for e in o]))
        )
        found += [[Counts(e, next(heights), noisy.noise.diagonal) for e in one] for one in half]
    shaped = (
        shape_of(
            j,
            means[:, j],
            spreads[:, j],
            sizes,
            found[0][k],
            [one[k] for one in found[1:]],
            few[j].values if j in few else None,
        )
        for k, j in enumerate(columns)
    )
    kept = [one for one in shaped if one is not None]
    account.post_processing.append(
        f"the shape of {len(kept)} of {len(columns)} columns of numbers, as the noisy counts have it; order is kept"
    )
    return kept
