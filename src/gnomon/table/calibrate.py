"""Decoding to known shares: where a method knows how frequent a category is, the decoded cells agree.

Rounding a Gaussian sample to the nearest category distorts the shares of rare ones; the shares come from
released statistics, so this is post-processing and costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    offsets = np.zeros(len(shares))
    step = float(sample.std()) or 1.0
    for turn in range(_ROUNDS):
        winners = np.argmax(sample + offsets[:, None], axis=0)
        found = np.bincount(winners, minlength=len(shares)) / sample.shape[1]
        floor = 1 / sample.shape[1]
        offsets += step / (1 + turn / 10) * np.log((shares + floor) / (found + floor))
    offsets[shares == 0] = -np.inf
    return np.asarray(np.argmax(scores + offsets[:, None], axis=0), dtype=np.int64)
