"""Do the test rows stand in the released table too? Then scores of models that saw them say little."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gnomon.table.base import Source
from gnomon.table.encode import Encoder

MARGIN = 0.01  # of the test rows, beyond what equal rows by chance explain


def shared_rows(real: Source, test: Source, encoder: Encoder) -> tuple[float, float]:
    """The share of the test rows that are rows of the real table, and the share that one would expect by chance.

    The latter is the share of real rows that have an equal one in their own table.
    """
    known, counts = np.unique(_hashes(real, encoder), return_counts=True)
    twins = float(counts[counts > 1].sum() / counts.sum())
    return float(np.isin(_hashes(test, encoder), known).mean()), twins


def warning(shared: float, twins: float, rows: int) -> str | None:
    """A sentence where more rows are shared than chance explains."""
    noise = 4 * math.sqrt(max(twins * (1 - twins), 0.0) / max(rows, 1))
    if shared <= twins + max(MARGIN, noise):
        return None
    return (
        f"{shared:.0%} of the test rows are rows of the released table, where {twins:.0%} would be by chance: models "
        "that were trained on real rows have seen their answers. Test on rows that were not released "
        "(gnomon release --holdout keeps some)."
    )


def _hashes(source: Source, encoder: Encoder) -> NDArray[np.uint64]:
    """64 bits of each row, as the release sees it."""
    rng = np.random.default_rng(2)
    width = encoder.width + (0 if encoder.target.is_none else 1)
    odd = rng.integers(0, 2**63, width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    parts = []
    for batch in source.batches(encoder.columns):
        rows = encoder.encode(batch)
        beside = [part[:, None] for part in (rows.codes, rows.target) if part is not None]
        cells = np.concatenate([rows.cells, *beside], axis=1).astype(np.int64).view(np.uint64)
        mixed = (cells + np.uint64(1)) * odd
        mixed ^= mixed >> np.uint64(31)
        parts.append((mixed * odd[::-1]).sum(axis=1, dtype=np.uint64))
    return np.concatenate(parts)
