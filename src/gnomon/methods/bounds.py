"""Bounds that the schema asks to estimate, paid from the release's budget: two noisy histograms a column."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.methods.classes import SHARE as CLASSES
from gnomon.methods.classes import with_selected_classes
from gnomon.methods.public import Notes, Public
from gnomon.privacy.guarantee import Spendable
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
SHARE = 0.10  # of the budget, for all estimated columns together
POWERS = np.arange(-20, 61, dtype=np.float64)
COARSE: Edges = np.r_[-np.inf, -(2.0 ** POWERS[::-1]), 0.0, 2.0**POWERS, np.inf]  # the same for every table
FINE_BINS = 64


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


def share_of(schema: Schema) -> float:
    """Of the budget, what goes to bounds and classes that the schema leaves open."""
    kinds = {column.kind for column in schema.estimated}
    left = (1 - SHARE if "number" in kinds else 1.0) * (1 - CLASSES if "category" in kinds else 1.0)
    return 1 - left


def with_estimates(data: Measurer, public: Public, notes: Notes, raw: RawTable | None) -> Public:
    """Classes and bounds that the schema leaves open are paid for, classes first."""
    target = public.schema.target
    if target is not None and target.estimate and target.kind == "category":
        labels = None if raw is None else raw.labels(target.name)
        public = with_selected_classes(data, public, notes, labels)
    names = tuple(column.name for column in public.schema.estimated)
    if not names:
        return replace(public, encoder=Encoder(public.schema))
    return with_estimated_bounds(data, public, notes, None if raw is None else raw.numbers(names))


def with_estimated_bounds(data: Measurer, public: Public, notes: Notes, rows: RowSource | None) -> Public:
    """Estimated columns have paid bounds: first the powers of two between which they lie, then finer."""
    names = tuple(column.name for column in public.schema.estimated)
    paying, left = public.budget.split(SHARE, 1 - SHARE)
    coarse, fine = paying.split(0.5, 0.5)
    first = CellCounts(
        "coarse histograms of columns whose bounds are estimated", names, (COARSE,) * len(names)
    )
    surely = _threshold(first.noise(coarse), len(names))
    counts = first.split(data.measure(first, coarse, rows=rows).answer)
    edges = tuple(np.linspace(*_full_bins(COARSE, c, surely), FINE_BINS + 1) for c in counts)
    second = CellCounts("fine histograms of columns whose bounds are estimated", names, edges)
    measured = data.measure(second, fine, rows=rows)
    bounds = {}
    for name, e, c in zip(names, edges, second.split(measured.answer), strict=True):
        low, high = _without_empty_ends(e, c, measured.noise.diagonal)
        bounds[name] = (math.floor(low), math.ceil(high)) if public.schema[name].integer else (low, high)
        notes.public.append(f"bounds of {name!r}: estimated and paid for from this release's budget")
    schema = public.schema.with_bounds(bounds)
    return replace(public, schema=schema, encoder=Encoder(schema), left=left)


def _histogram(column: pa.Array, edges: Edges) -> npt.NDArray[np.int64]:
    """How many cells fall between consecutive edges; cells that are no numbers or lie outside count nowhere."""
    cells = numbers(column)
    absent = either(cells.missing, cells.alien)
    values = cells.values if absent is None else cells.values[~absent]
    inner = values[(values >= edges[0]) & (values <= edges[-1])]
    place = np.clip(np.searchsorted(edges, inner, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(place, minlength=len(edges) - 1).astype(np.int64)


def _threshold(noise: Noise, columns: int) -> float:
    """Above this, a coarse bin is hardly ever empty: over all bins together, noise reaches it once in 20 releases."""
    chance = math.log(2 * columns * len(COARSE) / 0.05)
    return noise.scale * (chance if noise.mechanism == "discrete-laplace" else math.sqrt(2 * chance))


def _full_bins(edges: Edges, counts: npt.NDArray[np.int64], surely: float) -> tuple[float, float]:
    """The finite edges around all bins that surely hold rows (or around the fullest bin, when none does)."""
    full = np.nonzero(counts > surely)[0]
    if not len(full):
        full = np.array([int(np.argmax(counts))])
    outermost = 2.0 ** (POWERS[-1] + 1)
    low, high = np.clip(edges[[full[0], full[-1] + 1]], -outermost, outermost)
    return float(low), float(high)


def _without_empty_ends(edges: Edges, counts: npt.NDArray[np.int64], noise: float) -> tuple[float, float]:
    """Cut as many bins off either end as together hold no more than the noise of nothing."""

    def empty(ordered: npt.NDArray[np.int64]) -> int:
        within = np.cumsum(ordered) <= 2 * noise * np.sqrt(np.arange(1, len(ordered) + 1))
        return int(np.max(np.nonzero(within)[0], initial=-1)) + 1

    left, right = empty(counts), empty(counts[::-1])
    if left + right >= len(counts):
        return float(edges[0]), float(edges[-1])
    return float(edges[left]), float(edges[len(counts) - right])
