"""Bounds that the schema asks to estimate, paid from the release's budget: one noisy histogram of all such columns.

Its grid is public and the same for every table: logarithmic on both sides of zero. A column in which no part of the grid
stands out of the noise is left out of the release, in a sentence, rather than released within bounds of noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import NoisyRefusalError
from gnomon.methods.classes import selected, selection_share, too_rare, with_selected_labels
from gnomon.methods.public import Notes, Public
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import Guarantee, PureDP, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise
from gnomon.privacy.sensitivity import Norm, Sensitivity, histogram
from gnomon.statistics.grid import Integers
from gnomon.statistics.queries import VectorQuery
from gnomon.table.cells import numbers
from gnomon.table.codec.base import either
from gnomon.table.encode import Encoder
from gnomon.table.raw import RawTable
from gnomon.table.rows import RowSource
from gnomon.table.schema import Schema

Edges = npt.NDArray[np.float64]
SHARE, MOST_SHARE = (
    0.10,
    0.30,
)  # of the budget, for all estimated columns together: more where noise asks for it
POWERS = np.arange(-20, 60.5, 0.5)
EDGES: Edges = np.r_[-np.inf, -(2.0 ** POWERS[::-1]), 0.0, 2.0**POWERS, np.inf]  # the same for every table
ZERO = len(POWERS) + 1  # the bin of zero, and of what is hardly more
WINDOWS = (1, 2, 4)  # bins that stand out together where none does alone
FALSE_ALARM = 1e-3  # the chance that noise alone stands out somewhere in a release
REACH = 4  # bins beyond those that stand out in which a tail is looked for
TAIL, TAIL_CLEAR = 0.01, 4.0  # of the rows that may lie beyond a bound; deviations by which a tail holds more


@dataclass(frozen=True, eq=False)
class CellCounts(VectorQuery):
    """How many cells of each column fall between consecutive edges, counted before cells can be encoded."""

    statistic: str
    names: tuple[str, ...]
    edges: tuple[Edges, ...]

    def zero(self) -> Integers:
        return np.zeros(sum(len(e) - 1 for e in self.edges), dtype=np.int64)

    def of_batch(self, rows: pa.RecordBatch) -> Integers:
        columns = zip(self.names, self.edges, strict=True)
        return np.concatenate([_histogram(rows.column(name), edges) for name, edges in columns])

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        return histogram(norm, columns=len(self.names), adjacency=loss.adjacency).protecting(loss)

    def split(self, answer: Integers) -> list[Integers]:
        return np.split(answer, np.cumsum([len(e) - 1 for e in self.edges])[:-1])


def grid_counts(names: tuple[str, ...]) -> CellCounts:
    """The one query: all columns on the public grid."""
    return CellCounts("histograms of columns whose bounds are estimated", names, (EDGES,) * len(names))


# --- what it costs, from public numbers ---


def share_of(schema: Schema, rows: int, guarantee: Guarantee) -> float:
    """Of the budget, what goes to bounds and categories that the schema leaves open."""
    left = 1 - selection_share(len(selected(schema)))
    names = tuple(column.name for column in schema.estimated if column.kind == "number")
    return 1 - left * (1 - bounds_share(names, rows, spendable(guarantee)) if names else 1.0)


def bounds_share(names: tuple[str, ...], rows: int, budget: Spendable) -> float:
    """As much as lets a tail of a hundredth of the rows, in two bins, stand out; between a tenth and three tenths."""
    noise = grid_counts(names).noise(budget.split(SHARE)[0]).law.diagonal
    times = TAIL_CLEAR * math.sqrt(2) * noise / (TAIL * rows)
    power = 1 if isinstance(budget, PureDP) else 2
    return min(MOST_SHARE, SHARE * max(1.0, times) ** power)


def least_within(schema: Schema, rows: int, guarantee: Guarantee) -> tuple[float, float] | None:
    """How many rows must lie in one bin of the grid, or in the widest window, for bounds to be found; None without any."""
    names = tuple(column.name for column in schema.estimated if column.kind == "number")
    if not names:
        return None
    budget = spendable(guarantee)
    noise = grid_counts(names).noise(budget.split(bounds_share(names, rows, budget))[0])
    return threshold(noise, len(names)), threshold(noise, len(names), WINDOWS[-1])


def hidden(schema: Schema, rows: int, guarantee: Guarantee) -> frozenset[str]:
    """The columns that the noise would hide, even if all rows had one category, or bounds in the widest window."""
    rare = too_rare(schema, rows, guarantee)
    least = least_within(schema, rows, guarantee)
    if least is None or least[1] < rows:
        return rare
    return rare.union(column.name for column in schema.estimated if column.kind == "number")


def threshold(noise: Noise, columns: int, window: int = 1) -> float:
    """The sum of so many bins that noise alone hardly ever exceeds, over all windows of all columns together.

    Chernoff: a sum of w Laplace noises of scale b exceeds t with probability at most exp(-s t / b) / (1 - s^2)^w, for any
    s < 1; one of Gaussian noises of deviation d with at most exp(-t^2 / (2 w d^2)).
    """
    chance = math.log(columns * len(EDGES) * len(WINDOWS) / FALSE_ALARM)
    if noise.mechanism != "discrete-laplace":
        return noise.scale * math.sqrt(2 * window * chance)
    s = np.linspace(0.01, 0.999, 400)
    return float(noise.scale * ((chance - window * np.log1p(-(s**2))) / s).min())


# --- the estimate ---


def with_estimates(data: Measurer, public: Public, notes: Notes, raw: RawTable | None) -> Public:
    """Categories and bounds that the schema leaves open are paid for, categories first."""
    names = selected(public.schema)
    if names:
        labels = None if raw is None else raw.labels(names)
        public, lost = with_selected_labels(data, public, notes, labels)
        notes.caveats += _left_out(lost, "categories were to be found", "values")
        public = replace(public, schema=_without(public.schema, lost))
    names = tuple(column.name for column in public.schema.estimated)
    if not names:
        return replace(public, encoder=Encoder(public.schema))
    return with_estimated_bounds(data, public, notes, None if raw is None else raw.numbers(names))


def with_estimated_bounds(data: Measurer, public: Public, notes: Notes, rows: RowSource | None) -> Public:
    """Estimated columns have the bounds of the bins that hold rows; those of which no bin surely does are ignored."""
    names = tuple(column.name for column in public.schema.estimated)
    share = bounds_share(names, public.rows, public.budget)
    paying, left = public.budget.split(share, 1 - share)
    query = grid_counts(names)
    noise = query.noise(paying)
    answer = data.measure(query, paying, rows=rows).answer
    bounds: dict[str, tuple[float, float]] = {}
    for name, counts in zip(names, query.split(answer), strict=True):
        found = bounds_of(counts, noise, len(names), public.rows, public.schema[name].integer)
        if found is not None:
            bounds[name] = found
            notes.public.append(f"bounds of {name!r}: estimated and paid for from this release's budget")
    lost = [name for name in names if name not in bounds]
    notes.caveats += _left_out(lost, "bounds were to be estimated", "low and high")
    schema = _without(public.schema.with_bounds(bounds), lost)
    return replace(public, schema=schema, encoder=Encoder(schema), left=left)


def _left_out(names: Sequence[str], why: str, what: str) -> list[str]:
    """One sentence for all columns, and none where there is none."""
    if not names:
        return []
    named = ", ".join(map(repr, names))
    whose, who = (
        ("its", f"The column {named} is") if len(names) == 1 else ("their", f"The columns {named} are")
    )
    return [
        f"{who} left out: {whose} {why}, and the noise of this budget hides them. Declare {whose} {what}, or spend more."
    ]


def _without(schema: Schema, lost: list[str]) -> Schema:
    """The schema with the columns whose estimate is lost ignored; a target cannot be."""
    target = schema.target
    if target is not None and target.name in lost:
        raise NoisyRefusalError(
            f"The bounds of the target {target.name!r} do not stand out of the noise at this budget; declare its low and "
            "high, or spend more."
        )
    if lost and not [column for column in schema.features if column.name not in lost]:
        raise NoisyRefusalError(
            "No column is left to release: all bounds or categories were to be estimated, and the noise of this budget "
            "hides them; declare them, or spend more."
        )
    return schema.ignoring(lost)


def bounds_of(
    counts: npt.NDArray[np.int64], noise: Noise, columns: int, rows: int, integer: bool
) -> tuple[float, float] | None:
    """The edges around all bins that hold rows, or None where none surely does.

    Bins stand out alone or in windows; beyond them a tail counts that holds more than a hundredth of the rows.
    """
    full = _full_bins(counts, noise, columns)
    if full is None:
        return None
    first, last = full
    held = counts[first : last + 1]
    first, last = first + _thin(held, rows), last - _thin(held[::-1], rows)
    first -= _tail(counts[max(first - REACH, 0) : first], noise, rows)
    last += _tail(counts[last + 1 : last + 1 + REACH][::-1], noise, rows)
    if first == last == ZERO and not integer:  # nothing but zeros: how far the other cells reach is hidden
        return None
    outermost = 2.0 ** (POWERS[-1] + 1)
    low, high = np.clip(EDGES[[first, last + 1]], -outermost, outermost)
    return (math.floor(low), math.ceil(high)) if integer else (float(low), float(high))


def _thin(counts: npt.NDArray[np.int64], rows: int) -> int:
    """How many of these bins, of which the first is the outermost, hold a hundredth of the rows or less together.

    A window stands out as a whole, and may end in bins that hold nothing.
    """
    over = np.flatnonzero(np.cumsum(counts) > TAIL * rows)
    return int(over[0]) if len(over) else 0


def _tail(counts: npt.NDArray[np.int64], noise: Noise, rows: int) -> int:
    """How many of these bins, of which the first is the outermost, a tail reaches into."""
    beyond = np.cumsum(counts)
    clear = TAIL_CLEAR * noise.law.diagonal * np.sqrt(np.arange(1, len(counts) + 1))
    reached = np.flatnonzero(beyond > np.maximum(TAIL * rows, clear))
    return len(counts) - int(reached[0]) if len(reached) else 0


def _full_bins(counts: npt.NDArray[np.int64], noise: Noise, columns: int) -> tuple[int, int] | None:
    """The first and the last bin of all windows that surely hold rows, smallest windows first."""
    left = counts.astype(np.float64)
    found: list[int] = []
    for window in WINDOWS:
        sums = np.convolve(left, np.ones(window), "valid")
        sure = np.flatnonzero(sums > threshold(noise, columns, window))
        covered = np.unique((sure[:, None] + np.arange(window)).ravel())
        found += covered.tolist()
        left[covered] = 0.0
    return (min(found), max(found)) if found else None


def _histogram(column: pa.Array, edges: Edges) -> npt.NDArray[np.int64]:
    """How many cells fall between consecutive edges; cells that are no numbers or lie outside count nowhere."""
    cells = numbers(column)
    absent = either(cells.missing, cells.alien)
    values = cells.values if absent is None else cells.values[~absent]
    inner = values[(values >= edges[0]) & (values <= edges[-1])]
    place = np.clip(np.searchsorted(edges, inner, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(place, minlength=len(edges) - 1).astype(np.int64)
