"""From words about columns to numbers of encoded rows: what `age` or `ward=north` asks of a record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gnomon.errors import ParameterError, columns_instead
from gnomon.release.analyst.linear import Domain, Quantity, Vector
from gnomon.table.column import Column, value_key
from gnomon.table.encode import Encoder, Group
from gnomon.table.schema import Schema

MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a release's table, as its schema declares them."""

    schema: Schema

    @cached_property
    def encoder(self) -> Encoder:
        return Encoder(self.schema)

    @property
    def target(self) -> Column | None:
        return self.schema.target

    def is_target(self, name: str) -> bool:
        return self.target is not None and self.target.name == name

    def classes(self) -> list[str]:
        """The values of a target that has classes."""
        if self.encoder.classes is None:
            assert self.target is not None
            raise ParameterError(
                f"The target {self.target.name!r} is a number and has no table; ask for its sum."
            )
        return [value_key(value) for value in self.encoder.classes]

    def split(self, term: str) -> tuple[str, str | None]:
        """A term as a column and a value: `ward=north`, or the column alone."""
        names = [column.name for column in self.schema.released]
        if term in names:
            return term, None
        for place in (i for i, letter in enumerate(term) if letter == "="):
            if term[:place] in names:
                return term[:place], term[place + 1 :]
        name = term.split("=")[0]
        raise ParameterError(f"The release has no column {name!r}; {columns_instead(name, names)}")

    def quantity(self, name: str, value: str | None) -> Quantity:
        """What a term counts or adds up for one record."""
        if value is None:
            return self._number(name)
        labels, quantities = self.table(name)
        if value not in labels:
            raise ParameterError(
                f"The column {name!r} has no value {value!r}; it has {', '.join(labels[:20])}."
            )
        return quantities[labels.index(value)]

    def table(self, name: str) -> tuple[list[str], list[Quantity]]:
        """The values of a category or boolean, and which rows have each, as a number of the encoded row."""
        group, column = self._group(name)
        start, stop = group.place.start, group.place.stop - group.indicator
        if group.kind == "one-hot":
            labels = [value_key(value) for value in column.values]
            found = [self._at(start + j, 1.0) for j in range(stop - start)]
        elif group.kind == "boolean":
            labels = ["false", "true"]
            found = [self._at(start, sign / 2, 0.5, group) for sign in (-1.0, 1.0)]
        else:
            raise ParameterError(
                f"The column {name!r} is one number in these rows, so that it has no table; ask 'query' for its sum."
            )
        if group.indicator:
            labels, found = [*labels, MISSING], [*found, self._at(stop, 1.0)]
        return labels, found

    def _number(self, name: str) -> Quantity:
        group, column = self._group(name)
        if group.kind == "one-hot":
            raise ParameterError(
                f"The column {name!r} is a category; ask for one of its values, as {name}=VALUE."
            )
        if column.log or group.kind == "date":
            raise ParameterError(
                f"The column {name!r} is {'on a log scale' if column.log else 'a date'}, so that its sum is not linear in "
                "these rows; use the released rows themselves."
            )
        if group.kind == "number":
            low, high = float(column.low), float(column.high)  # type: ignore[arg-type]
        else:  # true counts 1; ordered values count their places
            low, high = 0.0, float(max(len(column.values), 2) - 1)
        return self._at(group.place.start, (high - low) / 2, (high + low) / 2, group)

    def _at(self, place: int, slope: float, constant: float = 0.0, group: Group | None = None) -> Quantity:
        """A number that counts for rows whose cell is there: a missing cell has 0, and its indicator takes the constant."""
        weights = np.zeros(self.encoder.width)
        weights[place] = slope
        if group is not None and group.indicator:
            weights[group.place.stop - 1] = -constant
        return Quantity(weights, constant)

    def _group(self, name: str) -> tuple[Group, Column]:
        for group, column in zip(self.encoder.groups, self.schema.features, strict=True):
            if group.name == name:
                return group, column
        raise ParameterError(f"The release has no feature {name!r}.")

    @cached_property
    def domain(self) -> Domain:
        """Which encoded rows are possible, by the corners of every attribute."""
        corners: list[Vector] = []
        simplices = []
        for group in self.encoder.groups:
            start, stop = group.place.start, group.place.stop - group.indicator
            ends = (
                [(j, 1.0) for j in range(start, stop)]
                if group.kind == "one-hot"
                else [(start, -1.0), (start, 1.0)]
            )
            ends += [(stop, 1.0)] * group.indicator
            simplices.append(slice(len(corners), len(corners) + len(ends)))
            corners += [self._at(place, value).weights for place, value in ends]
        return Domain(np.array(corners), tuple(simplices))
