"""The shape of the columns of numbers: noisy counts of all rows and of every class, where a table can afford them.

One record is in one bin of every column, in its own class, or in none where its cell is missing; so the counts of all
columns and classes are one histogram of as many columns (`privacy.sensitivity.histogram`): replacing a record takes at
most one unit from a bin of each and adds one to another. Edges come from what was released before and from the schema,
never from the rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gnomon.model.marginals import FEWEST, Counts, Shape, bins_clear_of, edges_of, shape_of
from gnomon.privacy.guarantee import Adjacency, Spendable
from gnomon.privacy.mechanism import release_vector, vector_noise
from gnomon.privacy.sensitivity import Sensitivity, histogram
from gnomon.release.base import Account, Table
from gnomon.release.gaps import LEAST, ORDERED, CellLaw, gaps
from gnomon.release.pca_look import norm
from gnomon.statistics.grid import Matrix
from gnomon.table.encode import Encoder, Group, Rows

Vector = npt.NDArray[np.float64]
SHARE = 0.08  # of the budget
CLASSES = 32  # at most so many are counted by themselves; more share the counts of all rows
TOGETHER = 0.4  # of that: the counts of all rows, where classes are counted too


def bins_of(n: int, columns: int, loss: Spendable) -> int:
    """How many bins a column gets; 0 where too few are clear of the noise. Public numbers only."""
    return bins_clear_of(noise_of(columns, loss)[1], n) if columns else 0


def parts(loss: Spendable, classes: int) -> tuple[Spendable, ...]:
    """What the counts of all rows may spend, and those of every class, where classes are counted by themselves."""
    return loss.split(TOGETHER, 1 - TOGETHER) if 1 < classes <= CLASSES else (loss,)


def noise_of(columns: int, loss: Spendable) -> tuple[str, float]:
    """The mechanism that counts so many columns, and the deviation of a bin."""
    kind, _, law = vector_noise(_sensitivity(columns, loss), loss)
    return kind, law.diagonal


def _sensitivity(columns: int, loss: Spendable) -> Sensitivity:
    return histogram(norm(loss), columns=columns, adjacency=Adjacency.REPLACE_ONE)


def numbers(encoder: Encoder) -> list[Group]:
    """The columns that have a shape: those of values with an order."""
    return [group for group in encoder.groups if group.kind in ORDERED]


def shapes(table: Table, account: Account, loss: Spendable, law: CellLaw) -> list[Shape]:
    """Count every column of numbers, of all rows and of every class, between edges that the model's cells suggest."""
    columns, L = numbers(table.encoder), len(law.means)
    losses = parts(loss, L)
    means, spreads, sizes = _there(columns, law, table.n)
    noise = noise_of(len(columns), losses[0])[1]
    bins = [max(FEWEST, bins_clear_of(noise, rows)) for rows in sizes.sum(axis=0)]
    few = table.encoder.steps()
    borders = [few[j].borders if j in few else None for j in (group.place.start for group in columns)]

    def edges(mean: Vector, spread: Vector) -> list[Vector]:
        return [
            edges_of(float(m), float(s), most, between)
            for m, s, most, between in zip(mean, spread, bins, borders, strict=True)
        ]

    shares = sizes / np.maximum(sizes.sum(axis=0), LEAST)
    centre = (shares * means).sum(axis=0)
    spread = np.sqrt((shares * (spreads**2 + (means - centre) ** 2)).sum(axis=0))
    everybody = [edges(centre, spread)]
    classes = [edges(m, s) for m, s in zip(means, spreads, strict=True)] if len(losses) > 1 else []
    halves = [half for half in (everybody, classes) if half]
    ends = np.cumsum([sum(len(e) + 1 for one in half for e in one) for half in halves])

    def counts(rows: Rows) -> npt.NDArray[np.int64]:
        parts = [rows.X, *(rows.X[rows.codes == c] for c in range(len(classes)))]
        return np.concatenate(
            [
                np.bincount(np.searchsorted(e, _cells(X, group)), minlength=len(e) + 1)
                for X, one in zip(parts, everybody + classes, strict=True)
                for group, e in zip(columns, one, strict=True)
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
    places = [group.place.start for group in columns]
    shaped = (
        shape_of(
            j,
            means[:, k],
            spreads[:, k],
            sizes[:, k],
            found[0][k],
            [one[k] for one in found[1:]],
            few.get(j),
        )
        for k, j in enumerate(places)
    )
    kept = [one for one in shaped if one is not None]
    account.post_processing.append(
        f"the shape of {len(kept)} of {len(columns)} columns of numbers, as the noisy counts have it; order is kept"
    )
    return kept


def _cells(X: Matrix, group: Group) -> Vector:
    """The cells of a column that are not missing."""
    cells: Vector = X[:, group.place.start]
    return cells[X[:, group.place.stop - 1] < 0.5] if group.indicator else cells


def _there(columns: list[Group], law: CellLaw, n: int) -> tuple[Matrix, Matrix, Matrix]:
    """Means, deviations and numbers (L, columns) of the cells that are not missing, by the model."""
    places = [group.place.start for group in columns]
    means, spreads = law.means[:, places], law.spreads()[:, places]
    sizes = np.tile(law.mixture.weights[:, None] * n, len(columns))
    for k, group in enumerate(columns):
        for gap in gaps([group], law):
            means[:, k], spreads[:, k] = gap.level[:, 0], gap.spread[:, 0]
            sizes[:, k] *= gap.there
    return means, spreads, sizes
