"""Bounds that the schema asks to estimate, paid from the release's budget: two noisy histograms a column."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.engine.local import fold
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import Adjacency, GaussianDP, PureDP, Spendable
from gnomon.privacy.mechanism import release_vector
from gnomon.privacy.sensitivity import Norm, histogram
from gnomon.table.cells import numbers
from gnomon.table.encode import Encoder

if TYPE_CHECKING:
    from gnomon.release.base import Account, Table

Edges = npt.NDArray[np.float64]
SHARE = 0.10  # of the budget, for all estimated columns together
POWERS = np.arange(-20, 61, dtype=np.float64)
COARSE: Edges = np.r_[-np.inf, -(2.0 ** POWERS[::-1]), 0.0, 2.0**POWERS, np.inf]  # the same for every table
FINE_BINS = 64


def estimate_bounds(table: Table, account: Account) -> Table:
    """A table whose estimated columns have paid bounds: first the powers of two between which they lie, then finer."""
    names = [column.name for column in table.schema.estimated]
    paying, left = spendable(account.guarantee).split(SHARE, 1 - SHARE)
    coarse, fine = paying.split(0.5, 0.5)
    counts, _ = _noisy_counts(table, account, names, [COARSE] * len(names), coarse)
    surely = _threshold(coarse, len(names))
    edges = [np.linspace(*_full_bins(COARSE, c, surely), FINE_BINS + 1) for c in counts]
    counts, noise = _noisy_counts(table, account, names, edges, fine)
    found = [_without_empty_ends(e, c, noise) for e, c in zip(edges, counts, strict=True)]
    bounds = {}
    for name, (low, high) in zip(names, found, strict=True):
        bounds[name] = (math.floor(low), math.ceil(high)) if table.schema[name].integer else (low, high)
        account.public.append(f"bounds of {name!r}: estimated and paid for from this release's budget")
    account.left = left
    schema = table.schema.with_bounds(bounds)
    return replace(table, schema=schema, encoder=Encoder(schema))


def _noisy_counts(
    table: Table, account: Account, names: list[str], edges: list[Edges], loss: Spendable
) -> tuple[list[npt.NDArray[np.int64]], float]:
    """The noisy histograms of the columns, and the standard deviation of a count's noise."""
    bins = [len(e) - 1 for e in edges]

    def counts(batch: pa.RecordBatch) -> npt.NDArray[np.int64]:
        return np.concatenate([_histogram(batch.column(n), e) for n, e in zip(names, edges, strict=True)])

    total = fold(
        table.source,
        names,
        counts,
        np.zeros(sum(bins), dtype=np.int64),
        stage="estimating bounds",
        progress=table.progress,
    )
    norm = Norm.L1 if isinstance(loss, PureDP) else Norm.L2
    noisy = account.record(
        release_vector(
            total,
            histogram(norm, columns=len(names), adjacency=Adjacency.REPLACE_ONE),
            loss,
            statistic=f"histograms of {', '.join(map(repr, names))} to estimate their bounds",
        )
    )
    return np.split(noisy.value, np.cumsum(bins)[:-1]), noisy.noise.diagonal


def _histogram(column: pa.Array, edges: Edges) -> npt.NDArray[np.int64]:
    """How many cells fall between consecutive edges; cells that are no numbers or lie outside count nowhere."""
    cells = numbers(column)
    values = cells.values if cells.missing is None else cells.values[~cells.missing]
    inner = values[(values >= edges[0]) & (values <= edges[-1])]
    place = np.clip(np.searchsorted(edges, inner, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(place, minlength=len(edges) - 1).astype(np.int64)


def _threshold(loss: Spendable, columns: int) -> float:
    """Above this, a coarse bin is hardly ever empty: over all bins together, noise reaches it once in 20 releases."""
    chance = math.log(2 * columns * len(COARSE) / 0.05)
    if isinstance(loss, PureDP):
        return 2 * columns / loss.epsilon * chance
    mu = loss.mu if isinstance(loss, GaussianDP) else math.sqrt(2 * loss.rho)
    return math.sqrt(2 * columns) / mu * math.sqrt(2 * chance)


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
