"""What a verdict is about: how far the columns, classes and relations of one table are from those of another.

Numbers are judged on the scale that the schema declares (of logarithms where it says log), between the declared bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.table.encode import Encoder, Group
from gnomon.table.schema import Schema

Floats = npt.NDArray[np.float64]
BINS = 20  # of equal width between the declared bounds, as in `gnomon evaluate`
CONSTANT = (
    0.01  # of the declared width: no column varies less than this, so that a constant one can be judged
)
WIDTH = 2.0  # of an encoded column


@dataclass(frozen=True)
class Marginal:
    """What is judged of a column: shares of its values or bins (missing cells last), mean and deviation of its cells.

    An unordered category has no mean.
    """

    shares: Floats
    mean: float | None = None
    deviation: float | None = None


@dataclass(frozen=True)
class Distance:
    """How far a marginal is from the true one: total variation; mean and deviation in true deviations, if it has them."""

    variation: float
    location: float | None = None
    spread: float | None = None


@dataclass(frozen=True)
class Described:
    """Columns by name, shares of the classes, and the correlations of all encoded columns with the target."""

    columns: dict[str, Marginal]
    classes: dict[str, Marginal]
    relation: Floats


def distance(seen: Marginal, true: Marginal) -> Distance:
    """How far `seen` is from `true`."""
    variation = float(np.abs(seen.shares - true.shares).sum() / 2)
    if seen.mean is None or true.mean is None:
        return Distance(variation)
    assert seen.deviation is not None
    assert true.deviation is not None
    unit = max(true.deviation, CONSTANT * WIDTH)
    return Distance(variation, abs(seen.mean - true.mean) / unit, abs(seen.deviation - true.deviation) / unit)


def off_by(noise: float, true: Marginal) -> Distance:
    """How far a boolean is whose mean meets noise of that deviation."""
    assert true.deviation is not None
    unit = max(true.deviation, CONSTANT * WIDTH)
    # of a share p the mean is 2 p - 1 and the deviation 2 sqrt(p (1 - p)), whose slope by the mean is |1 - 2 p| over it
    steepness = math.sqrt(max(1 - unit**2, 0.0)) / unit
    return Distance(noise / WIDTH, noise / unit, noise / unit * steepness)


def either_way(seen: Marginal, true: Marginal) -> Distance:
    """The same, in the smaller of both deviations: where the truth itself is a noisy copy, it may vary too much."""
    one, other = distance(seen, true), distance(true, seen)
    if one.location is None or other.location is None or one.spread is None or other.spread is None:
        return one
    return Distance(one.variation, max(one.location, other.location), max(one.spread, other.spread))


def average(distances: Sequence[Distance]) -> Distance:
    """The mean of each part."""

    def mean(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    variation = mean(one.variation for one in distances)
    assert variation is not None
    return Distance(variation, mean(one.location for one in distances), mean(one.spread for one in distances))


def relative(seen: Floats, true: Floats) -> float:
    """How far correlations are from the true ones: 0 equal, 1 as far as none at all."""
    length = float(np.linalg.norm(true))
    return float(np.linalg.norm(seen - true)) / length if length > 0 else math.inf


def prior(schema: Schema) -> Described:
    """What is known without any release: even between the declared bounds, equal classes, no relation."""
    encoder = Encoder(schema)
    steps = encoder.steps()
    columns = {group.name: _even(group, steps.get(group.place.start)) for group in encoder.groups}
    target, classes = schema.target, {}
    if target is not None and encoder.classes is not None:
        k = len(encoder.classes)
        columns[target.name] = Marginal(np.full(k, 1 / k))
        classes = {str(value): _share(1 / k) for value in encoder.classes}
    elif target is not None:
        columns[target.name] = _even(Group(target.name, "number", slice(0, 1), False), None)
    return Described(columns, classes, np.zeros(encoder.width * encoder.target.blocks))


def described(table: pa.Table, schema: Schema) -> Described:
    """What is judged of a table: its cells as the schema encodes them."""
    encoder = Encoder(schema)
    X = encoder.matrix(table)
    columns = {group.name: _observed(group, X) for group in encoder.groups}
    target, classes = schema.target, {}
    Y = np.zeros((len(X), 0))
    if target is not None:
        y = encoder.encode_target(table)
        assert y is not None
        if encoder.classes is not None:
            Y = np.asarray(y)[:, None] == np.arange(len(encoder.classes))
            shares = Y.mean(axis=0)
            columns[target.name] = Marginal(shares)
            classes = {str(v): _share(p) for v, p in zip(encoder.classes, shares, strict=True)}
        else:
            Y = np.asarray(y, dtype=np.float64)[:, None]
            columns[target.name] = _numeric(Y[:, 0], np.zeros(len(Y), dtype=bool))
    return Described(columns, classes, _correlations(X, Y))


def _share(p: float) -> Marginal:
    """A class as the column that says who is in it."""
    return Marginal(np.array([1 - p, p]), WIDTH * p, WIDTH * math.sqrt(p * (1 - p)))


def _even(group: Group, steps: tuple[Floats, Floats] | None) -> Marginal:
    k = group.place.stop - group.place.start - group.indicator
    if group.kind == "one-hot":
        return Marginal(np.append(np.full(k, 1 / k), np.zeros(int(group.indicator))))
    cells = np.linspace(-1, 1, 401) if steps is None else steps[0]
    return _numeric(cells, np.zeros(len(cells), dtype=bool))


def _observed(group: Group, X: Floats) -> Marginal:
    cells = X[:, group.place]
    gone = cells[:, -1] > 0.5 if group.indicator else np.zeros(len(X), dtype=bool)
    if group.kind == "one-hot":
        shares = np.where(gone[:, None], 0.0, cells[:, : cells.shape[1] - group.indicator]).mean(axis=0)
        return Marginal(np.append(shares, gone.mean()) if group.indicator else shares)
    return _numeric(cells[:, 0], gone)


def _numeric(cells: Floats, gone: npt.NDArray[np.bool_]) -> Marginal:
    """Shares of equal bins and of missing cells; mean and deviation of the cells that are there."""
    codes = np.clip(((cells + 1) / 2 * BINS).astype(np.int64), 0, BINS - 1)
    counts = np.bincount(np.where(gone, BINS, codes), minlength=BINS + 1)
    there = cells[~gone]
    mean, deviation = (float(there.mean()), float(there.std())) if len(there) else (0.0, 0.0)
    return Marginal(counts / max(len(cells), 1), mean, deviation)


def _correlations(X: Floats, Y: Floats | npt.NDArray[np.bool_]) -> Floats:
    """Of every encoded column with the target, or with membership of each class; a constant has none."""
    A, B = X - X.mean(axis=0), Y - Y.mean(axis=0) if Y.shape[1] else np.zeros((len(X), 1))
    scale = np.outer(np.sqrt((A**2).sum(axis=0)), np.sqrt((B**2).sum(axis=0)))
    product = A.T @ B
    found: Floats = np.divide(product, scale, out=np.zeros_like(product), where=scale > 1e-9)
    return found.ravel()
