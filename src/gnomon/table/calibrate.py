"""Decoding to known shares: where a method knows how frequent a category is, the decoded cells agree.

Rounding a Gaussian sample to the nearest category distorts the shares of rare ones; the shares come from
released statistics, so this is post-processing and costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

_ROUNDS = 60
_SEARCH_ROWS = 20_000


def cut(scores: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Codes of ordered categories: the lowest scores get the first one, up to its share, and so on."""
    order = np.argsort(scores, kind="stable")
    ends = np.rint(np.cumsum(shares / shares.sum()) * len(scores)).astype(np.int64)
    found = np.empty(len(scores), dtype=np.int64)
    found[order] = np.searchsorted(ends, np.arange(len(scores)), side="right").clip(max=len(shares) - 1)
    return found


def assign(scores: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Codes of unordered categories, scores (k, n): the largest score plus an offset that fits the shares."""
    n = scores.shape[1]
    if n == 0:
        return np.empty(0, dtype=np.int64)
    shares = shares / shares.sum()
    sample = scores[:, :: max(1, n // _SEARCH_ROWS)]
    spreads = sample.std(axis=1)
    steps = np.maximum(spreads, 1e-3 * float(spreads.max())) if spreads.any() else np.ones(len(shares))
    # As if scores were normal: each category first reaches zero in its share of the rows.
    offsets = spreads * ndtri(np.clip(shares, 1e-9, 1 - 1e-9)) - sample.mean(axis=1)
    last = np.zeros(len(shares))
    nearest, best = np.inf, offsets
    for _ in range(_ROUNDS):
        won = np.bincount(np.argmax(sample + offsets[:, None], axis=0), minlength=len(shares))
        lack = shares * sample.shape[1] - won
        if np.abs(lack).sum() < nearest:
            nearest, best = float(np.abs(lack).sum()), offsets.copy()
        # Each category has a step of its own, since scores of rare ones hardly vary: longer while it helps, halved
        # once it overshoots.
        way = np.sign(lack) * (np.abs(lack) >= 1)
        steps *= np.where(way * last > 0, 1.1, np.where(way * last < 0, 0.5, 1.0))
        offsets += way * steps
        last = way
    offsets = best
    offsets[shares == 0] = -np.inf
    return np.asarray(np.argmax(scores + offsets[:, None], axis=0), dtype=np.int64)
