"""The attributes of an encoded table: which bins a cell of one attribute can fall into, from the schema alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.statistics.frame import Binning
from gnomon.table.codec import codec
from gnomon.table.column import Column
from gnomon.table.encode import Encoder, Group
from gnomon.table.rows import CELL

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
NOWHERE = (1.0, -1.0)  # a core without a cell


@dataclass(frozen=True)
class Attribute:
    """One released feature (or a numeric target) as the model sees it.

    columns    its encoded columns without the indicator; indicator the column of that, or None
    values     the cells of its values where these are few (a boolean has two; unordered ones are 0, 1, ...), or None
    borders    where one of few values goes over into the next
    atoms      cells that many rows may share: bounds, zero, declared atoms
    origin     the cell of zero, or of the bound next to zero, around which a public grid is finest
    """

    name: str
    kind: str
    columns: slice
    indicator: int | None
    values: Floats | None = None
    borders: Floats | None = None
    atoms: Floats | None = None
    origin: float = 0.0

    @property
    def unordered(self) -> bool:
        return self.kind == "one-hot"

    @property
    def first(self) -> int:
        return int(self.columns.start)

    @property
    def chosen(self) -> bool:
        """Whether its values are drawn by chance, one of few; others are numbers, read off a marginal by rank."""
        return self.unordered or (self.values is not None and len(self.values) == 2)

    def binning(self, bins: Bins) -> Binning:
        """Which of these bins a row falls into."""
        columns = tuple(range(self.first, self.columns.stop))
        return Binning(columns, None if self.unordered else bins.ends, self.indicator)

    @property
    def few(self) -> bool:
        """Whether some share of it can be counted where whole columns cannot: of few values, or of missing cells."""
        return self.values is not None or self.indicator is not None

    @property
    def shaped(self) -> bool:
        """Whether its marginal can be counted again: a number that is never missing."""
        return not self.chosen and self.indicator is None


@dataclass(frozen=True)
class Bins:
    """Bins of one attribute: bin i holds the integer cells up to `ends[i]`; one of no width is an atom.

    `core` are the cells between which every bin is expected to hold rows.
    """

    ends: Integers
    left: Floats
    right: Floats
    core: tuple[float, float] = NOWHERE

    @property
    def atom(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.left == self.right)

    def __len__(self) -> int:
        return len(self.left)


def attributes(encoder: Encoder, few: int) -> tuple[Attribute, ...]:
    """The features in order, and a numeric target last, at the column past the last."""
    steps = encoder.steps()
    found = [
        _attribute(group, encoder.schema[group.name], steps.get(group.place.start), few)
        for group in encoder.groups
    ]
    target = encoder.schema.target
    if target is not None and encoder.target.is_number:
        place = slice(encoder.width, encoder.width + 1)
        kind = "date" if target.kind == "date" else "number"
        found.append(_attribute(Group(target.name, kind, place, False), target, None, few))
    return tuple(found)


def _attribute(group: Group, column: Column, steps: tuple[Floats, Floats] | None, few: int) -> Attribute:
    stop = group.place.stop - group.indicator
    place, indicator = slice(group.place.start, stop), stop if group.indicator else None
    if group.kind == "one-hot":
        return Attribute(group.name, group.kind, place, indicator, np.arange(stop - group.place.start) * 1.0)
    values, borders = steps if steps is not None else (None, None)
    if values is not None and (len(values) <= few or group.kind in ("boolean", "ordered")):
        return Attribute(group.name, group.kind, place, indicator, values, borders)
    origin, atoms = _landmarks(column)
    return Attribute(group.name, group.kind, place, indicator, None, borders, atoms, origin)


def _landmarks(column: Column) -> tuple[float, Floats]:
    """The cell of zero (or of the bound nearest to it), and the cells that may be atoms."""
    if column.kind != "number":
        return -1.0, np.array([-1.0, 1.0])
    low, high = float(column.low), float(column.high)  # type: ignore[arg-type]
    shared = [*column.atoms, *([0.0] if low < 0 < high else [])]
    origin, *atoms = codec(column).cells([min(max(0.0, low), high), *shared]).tolist()
    return origin, np.unique([-1.0, 1.0, *atoms])


def value_bins(attribute: Attribute) -> Bins:
    """One bin for each of few values."""
    assert attribute.values is not None
    if attribute.borders is None:
        return Bins(np.arange(len(attribute.values)), attribute.values, attribute.values)
    ends = np.append(np.rint(attribute.borders * CELL).astype(np.int64), CELL)
    return Bins(ends, attribute.values, attribute.values)


def interval_bins(edges: Floats, attribute: Attribute) -> Bins:
    """Intervals between edges (snapped to where whole numbers change), with every atom a bin of its own."""
    if attribute.borders is not None and len(edges):
        at = np.searchsorted(attribute.borders, edges)
        edges = attribute.borders[np.clip(at, 0, len(attribute.borders) - 1)]
    assert attribute.atoms is not None
    atoms = np.unique(np.rint(attribute.atoms * CELL).astype(np.int64))
    cuts = np.rint(np.clip(edges, -1.0, 1.0) * CELL).astype(np.int64)
    far = np.abs(cuts[:, None] - atoms).min(axis=1, initial=CELL) > 2 * 2  # more than an atom's own cells
    ends, left, right, last = [], [], [], -CELL
    cuts = np.unique(np.concatenate([cuts[far], atoms]))
    for cut, is_atom in zip(cuts.tolist(), np.isin(cuts, atoms).tolist(), strict=True):
        if cut - 2 * is_atom > last:
            ends.append(cut - 2 * is_atom)
            left.append(last)
            right.append(cut)
        if is_atom:  # one unit of the grid to each side, since cells are rounded
            ends.append(cut + 1)
            left.append(cut)
            right.append(cut)
        last = cut
    return Bins(np.array(ends, dtype=np.int64), np.array(left) / CELL, np.array(right) / CELL)
