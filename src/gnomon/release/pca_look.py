"""Where the rows lie: centre and spread of the columns, and a ball that fits, each paid for from the budget.

Custodians declare bounds too wide and off-centre. A few per cent of the budget buys a noisy centre and spread of every
column, and the noisy histogram of the rows' lengths on a public grid; the moment matrices that follow then meet noise
in proportion to the rows and not to the declared box. What a table can afford is decided from public numbers (rows,
columns, budget) before anything is spent; a table that can afford nothing keeps its declared box.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnomon.model.repair import shrink_weight
from gnomon.privacy.guarantee import Adjacency, PureDP, Spendable
from gnomon.privacy.mechanism import release_vector, vector_noise
from gnomon.privacy.sensitivity import Norm, Sensitivity, histogram, row_sum
from gnomon.release.base import Account, Table
from gnomon.statistics.grid import GRID, Matrix, ball_shrink, fine_grid, into_ball
from gnomon.table.encode import Rows

Vector = npt.NDArray[np.float64]
SHARES = {"centre": 0.03, "length": 0.02, "columns": 0.10, "radius": 0.02}  # of the budget, where affordable
FIRST_GRID = 2.0 ** (np.arange(-10, 1) / 2)  # of the box's half diagonal
SECOND_GRID = 2.0 ** (np.arange(-6, 5) / 4)  # of the expected length
HOLDS_CLASS = 0.9  # the part of its rows that the ball of a class should hold
CUT_CLASS = 0.1  # the part of their squared lengths that it may cut
HOLDS_FIRST = 0.95  # the part of the rows that the ball of the columns' step should hold
SQUARE = (
    0.5  # the weight of x^2 beside x: |x| <= 1, so a row of length r becomes one of at most r sqrt(1 + 1/4)
)
NORMAL = math.sqrt(math.pi / 2)  # a normal variable's standard deviation over its mean absolute value
STRETCH = math.sqrt(1 + SQUARE**2)


@dataclass(frozen=True)
class Fit:
    """How a task wants its rows: `power` 0 keeps the columns' spreads, 1 makes them equal; `holds` part of the rows.

    `absolute` measures spread by |x| and not x^2: it finds spreads far below the declared width, and minds tails less.
    """

    power: float
    holds: float
    absolute: bool = False


@dataclass(frozen=True)
class Place:
    """Cells x -> (x - centre) * weight, in a ball of radius `radius`; `spread` (m,) of x where it was paid for."""

    centre: Vector
    weight: Vector
    radius: float
    spread: Vector | None = None

    def of(self, X: Matrix) -> Matrix:
        return (X - self.centre) * self.weight


def affordable(n: int, m: int, loss: Spendable) -> dict[str, float]:
    """Which steps are worth their share, by public numbers: the noise beside what it would measure."""
    shares = {}
    for step, share in SHARES.items():
        part = loss.split(share)[0]
        if step == "centre":
            std = vector_noise(row_sensitivity(m, part), part)[2].diagonal / GRID * math.sqrt(m)
            worth = std / n <= 0.1
        elif step == "columns":
            std = vector_noise(row_sensitivity(2 * m, part), part)[2].diagonal / GRID * STRETCH
            worth = std * math.sqrt(m) / n <= 0.5
        else:
            std = counting_noise(part)
            worth = std * math.sqrt(len(FIRST_GRID) / 2) / n <= 0.4
        if worth:
            shares[step] = share
    return shares


def look(table: Table, account: Account, losses: dict[str, Spendable], fit: Fit) -> Place:
    """Spend `losses`, one for each affordable step, on where the rows (and a numeric target beside them) lie."""
    regression = table.task == "regression"
    m = table.m + regression

    def cells(rows: Rows) -> Matrix:
        return np.column_stack([rows.X, rows.numbers]) if regression else rows.X

    place = Place(np.zeros(m), np.ones(m), math.sqrt(m))
    if "centre" in losses:
        total, _ = noisy_sum(
            table, account, losses["centre"], cells, m, place.radius, "centre of every column"
        )
        place = Place(np.clip(total / table.n, -1.0, 1.0), place.weight, place.radius)
    if "length" in losses:
        grid = math.sqrt(m) * FIRST_GRID
        radius = fitting_radius(table, account, losses["length"], cells, place, grid, HOLDS_FIRST)
        place = Place(place.centre, place.weight, radius)
    if "columns" in losses:
        fit = replace(fit, absolute=fit.absolute and "centre" in losses)  # its noise is for large tables
        place = _columns(table, account, losses["columns"], cells, place, fit)
    if "radius" in losses:
        expected = place.radius
        radius = fitting_radius(
            table, account, losses["radius"], features, place, expected * SECOND_GRID, fit.holds
        )
        place = Place(place.centre, place.weight, radius, place.spread)
    return place


def features(rows: Rows) -> Matrix:
    return rows.X


def _columns(
    table: Table,
    account: Account,
    loss: Spendable,
    cells: Callable[[Rows], Matrix],
    place: Place,
    fit: Fit,
) -> Place:
    """Centre and spread of every column from the noisy sums of (x, x^2 / 4) or (x, |x|), and the length to be expected."""
    m, n = len(place.centre), table.n

    def pair(rows: Rows) -> Matrix:
        X = place.of(cells(rows))  # in [-2, 2]: cells and centre lie in [-1, 1]
        return np.hstack([X, np.abs(X) if fit.absolute else SQUARE * X * X])

    stretch = math.sqrt(2) if fit.absolute else STRETCH
    total, noise = noisy_sum(
        table, account, loss, pair, 2 * m, place.radius * stretch, "centre and spread of every column"
    )
    shift = total[:m] / n
    if fit.absolute:
        spread = NORMAL * np.maximum(total[m:] / n, max(noise / n, 1e-6))
    else:
        square = total[m:] / (SQUARE * n) - shift**2 + (noise / n) ** 2
        spread = np.sqrt(np.maximum(square, max(noise / (SQUARE * n), 1e-12)))
    scale = (spread / math.sqrt(float(np.mean(spread**2)))) ** fit.power
    expected = math.sqrt(float(np.sum(((spread / scale) ** 2)[: table.m])))
    return Place(place.centre + shift, 1 / scale, 1.1 * expected, spread)


def norm(loss: Spendable) -> Norm:
    """How the change of a vector is measured for this kind of loss."""
    return Norm.L1 if isinstance(loss, PureDP) else Norm.L2


def row_sensitivity(columns: int, loss: Spendable) -> Sensitivity:
    return row_sum(norm(loss), columns=columns, radius=GRID, adjacency=Adjacency.REPLACE_ONE)


def _bins(loss: Spendable) -> Sensitivity:
    return histogram(norm(loss), columns=1, adjacency=Adjacency.REPLACE_ONE)


def noisy_sum(
    table: Table,
    account: Account,
    loss: Spendable,
    f: Callable[[Rows], Matrix],
    width: int,
    radius: float,
    statistic: str,
) -> tuple[Vector, float]:
    """The noisy sum of f(rows), each clipped to the ball of this radius, and the noise of a coordinate."""
    fine = fine_grid(max(1.0, 4 * math.sqrt(width) / radius))

    def integers(rows: Rows) -> npt.NDArray[np.int64]:
        Q = into_ball(np.rint(f(rows) * (fine / radius)), fine)
        total: npt.NDArray[np.int64] = Q.sum(axis=0).astype(np.int64)
        return total

    exact = table.sum(integers, np.zeros(width, dtype=np.int64), stage=f"looking: {statistic}")
    noisy = account.record(release_vector(exact, row_sensitivity(width, loss), loss, statistic=statistic))
    unit = GRID * ball_shrink(width) / radius
    return noisy.value / unit, noisy.noise.diagonal / unit


def fitting_radius(
    table: Table,
    account: Account,
    loss: Spendable,
    cells: Callable[[Rows], Matrix],
    place: Place,
    grid: Vector,
    holds: float,
) -> float:
    """The smallest radius of the grid whose ball holds this part of the rows, from the noisy histogram of lengths."""
    k, bins = table.m if cells is features else len(place.centre), len(grid)
    fine = fine_grid(max(1.0, 2 * float(np.linalg.norm(place.weight * (1 + np.abs(place.centre))))))

    def places(rows: Rows) -> npt.NDArray[np.int64]:
        X = cells(rows)
        Z = np.rint((X - place.centre[: X.shape[1]]) * (place.weight[: X.shape[1]] * fine))
        return binned(np.sqrt(np.einsum("ij,ij->i", Z, Z)), grid * fine)

    heights, std = counted(table, account, loss, places, bins, f"lengths of the rows in {k} columns")
    return holding(heights, std, table.n, grid, holds)


def binned(sizes: Vector, grid: Vector) -> npt.NDArray[np.int64]:
    """The bin of each size: bins end at `grid`, and the last one also holds what is larger."""
    return np.minimum(np.searchsorted(grid, sizes), len(grid) - 1)


def counted(
    table: Table,
    account: Account,
    loss: Spendable,
    places: Callable[[Rows], npt.NDArray[np.int64]],
    bins: int,
    what: str,
) -> tuple[Vector, float]:
    """The noisy histogram of the bins that `places` puts the rows into, and the noise of a bin. A row is in one bin."""

    def counts(rows: Rows) -> npt.NDArray[np.int64]:
        return np.bincount(places(rows), minlength=bins).astype(np.int64)

    exact = table.sum(counts, np.zeros(bins, dtype=np.int64), stage=f"looking: {what}")
    noisy = account.record(release_vector(exact, _bins(loss), loss, statistic=f"histogram of the {what}"))
    return noisy.value.astype(np.float64), noisy.noise.diagonal


def counting_noise(loss: Spendable) -> float:
    """The standard deviation of a bin's noise, without any data."""
    return vector_noise(_bins(loss), loss)[2].diagonal


def holding(heights: Vector, std: float, n: float, grid: Vector, holds: float) -> float:
    """The smallest radius whose ball holds this part of n rows, by the noisy counts of the bins that end at `grid`.

    Counted from below and from above, each weighted by its noise; less one standard deviation, since a ball that is
    a little too small costs less than one that is too large.
    """
    j = np.arange(1, len(grid) + 1)
    below, above = np.cumsum(heights), n - (heights.sum() - np.cumsum(heights))
    trust_below, trust_above = 1 / j, 1 / np.maximum(len(grid) - j, 0.25)
    inside = (trust_below * below + trust_above * above) / (trust_below + trust_above)
    doubt = std / np.sqrt(trust_below + trust_above)
    enough = np.nonzero(inside >= holds * n - doubt)[0]
    return float(grid[enough[0]]) if len(enough) else float(grid[-1])


def class_radii(
    table: Table,
    account: Account,
    loss: Spendable,
    lengths: Callable[[Rows], Vector],
    grid: Vector,
    sizes: Vector,
) -> Vector:
    """A ball for the rows of every class, from the noisy histogram of their lengths.

    One record is in one bin of one class, so all classes together cost what one histogram costs. A class's histogram
    is shrunk toward that of all rows by its noise: a class that is too small to be seen gets everybody's ball.
    """
    L, k = len(sizes), len(grid)

    def places(rows: Rows) -> npt.NDArray[np.int64]:
        return rows.codes * k + binned(lengths(rows), grid)

    found, std = counted(table, account, loss, places, L * k, "lengths of the rows of every class")
    heights = found.reshape(L, k)
    everybody = heights.sum(axis=0) / table.n
    radii = np.empty(L)
    for c, size in enumerate(sizes):
        away = heights[c] - size * everybody
        weight = shrink_weight(float(away @ away), k * std**2)
        seen = size * everybody + weight * away
        held = holding(seen, weight * std, float(size), grid, HOLDS_CLASS)
        radii[c] = max(held, _keeping(np.maximum(seen - 2 * weight * std, 0.0), grid))
    return radii


def _keeping(heights: Vector, grid: Vector) -> float:
    """The smallest radius whose ball leaves most of the squared lengths in these bins as they are."""
    squares = grid**2
    cut = np.array([heights @ np.maximum(squares - r, 0.0) for r in squares])
    return float(grid[np.argmax(cut <= CUT_CLASS * (heights @ squares))])
