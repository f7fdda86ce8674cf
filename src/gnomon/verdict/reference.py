"""A table that could have the declared schema: usual shapes, made from the schema alone, to try a method on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import ndtr, ndtri

from gnomon.table.encode import Encoder, Group
from gnomon.table.schema import Schema

Floats = npt.NDArray[np.float64]
RELATED = 0.5  # of a column's latent score is common to all columns and the target
FREQUENT = 0.5  # each value of a category has half the share of the one before
RARE = (0.5, 0.2, 0.1, 0.05)  # shares of true cells
MISSING = 0.1
WIDE = 0.35  # the deviation of a bell, in half widths of the declared bounds
STEEP = 0.12  # the mean of rows that thin out from a bound, in widths


def reference_table(schema: Schema, rows: int, seed: int = 0) -> pa.Table:
    """Rows in which every column has a usual shape (a bell, rows that thin out from a bound, with or without an atom there;
    values of falling frequency), related to the others and to the target by one latent score.
    """
    encoder = Encoder(schema)
    rng = np.random.default_rng([seed, rows])
    common = rng.normal(size=rows)

    def score() -> Floats:
        return np.asarray(RELATED * common + (1 - RELATED**2) ** 0.5 * rng.normal(size=rows))

    X = np.zeros((rows, encoder.width))
    for place, group in enumerate(encoder.groups):
        _fill(X[:, group.place], group, ndtr(score()), place + seed, rng)
    y: npt.NDArray[np.float64] | npt.NDArray[np.int64] | None = None
    if encoder.classes is not None:
        y = np.searchsorted(np.cumsum(_falling(len(encoder.classes), seed))[:-1], ndtr(score()))
    elif schema.target is not None:
        y = np.clip(WIDE * score(), -1, 1)
    return encoder.decode(X, y)


def _fill(cells: Floats, group: Group, u: Floats, kind: int, rng: np.random.Generator) -> None:
    values = cells.shape[1] - group.indicator
    if group.kind == "one-hot":
        codes = np.searchsorted(np.cumsum(_falling(values, kind))[:-1], u)
        cells[np.arange(len(cells)), codes] = 1.0
    elif group.kind == "boolean":
        cells[:, 0] = np.where(u > 1 - RARE[kind % len(RARE)], 1.0, -1.0)
    else:
        cells[:, 0] = _number(u, kind)
    if group.indicator:
        gone = rng.random(len(cells)) < MISSING
        cells[gone] = 0.0
        cells[gone, -1] = 1.0


def _number(u: Floats, kind: int) -> Floats:
    """A bell off the middle, a thin tail, or half of the rows at the lower bound and a tail."""
    if kind % 3 == 0:
        return np.asarray(np.clip(WIDE * ndtri(u) - WIDE, -1, 1))
    if kind % 3 == 1:
        return _thinning(u)
    tail = np.maximum((u - 0.5) / 0.5, 0.0)
    return _thinning(tail)


def _thinning(u: Floats) -> Floats:
    return np.asarray(np.clip(-1 - 2 * STEEP * np.log(np.maximum(1 - u, 1e-9)), -1, 1))


def _falling(values: int, first: int) -> Floats:
    """Shares that fall from the value at `first` on, in turn."""
    shares = np.roll(np.maximum(FREQUENT ** np.arange(values), 1e-9), first)
    return np.asarray(shares / shares.sum())
