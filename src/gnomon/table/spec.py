"""Which values of a column are meant: one, several, or a range; on the column's own scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import SchemaError
from gnomon.table.column import Scalar
from gnomon.table.domain import Domain, Number

Mask = NDArray[np.bool_]
Spec = tuple[tuple[str, Any], ...]  # by column: a value, a tuple of values, or a Range


@dataclass(frozen=True)
class Range:
    """Numbers or dates between two ends; an end that is left out is that of the column."""

    low: Scalar | None = None
    high: Scalar | None = None


def points(domain: Domain, spec: Any, where: str) -> list[Number]:
    """The values of a spec on the column's scale; of a range, its ends."""
    if isinstance(spec, Range):
        if domain.column.kind not in ("number", "date"):
            raise SchemaError(f"{where} gives {domain.column.name!r} a low or high, but it has no numbers.")
        low, high = _ends(domain, spec, where)
        if low > high:
            raise SchemaError(f"{where} gives {domain.column.name!r} a low above its high; correct one.")
        return [low, high]
    return [domain.of(value, where) for value in (spec if isinstance(spec, tuple) else (spec,))]


def _ends(domain: Domain, spec: Range, where: str = "") -> tuple[Number, Number]:
    low = domain.low if spec.low is None else domain.of(spec.low, where)
    high = domain.high if spec.high is None else domain.of(spec.high, where)
    return low, high


def inside(values: NDArray[Any], domain: Domain, spec: Any) -> Mask:
    if isinstance(spec, Range):
        low, high = _ends(domain, spec)
        return np.asarray((values >= low) & (values <= high))
    return np.isin(values, points(domain, spec, ""))


def nearest(values: NDArray[Any], domain: Domain, spec: Any) -> NDArray[Any]:
    """The value that a rule allows: the nearest number, the first category."""
    if isinstance(spec, Range):
        return np.asarray(np.clip(values, *_ends(domain, spec)))
    known = np.array(points(domain, spec, ""))
    if domain.column.kind in ("category", "boolean"):
        return np.full(len(values), known[0])
    return np.asarray(known[np.argmin(np.abs(values[:, None] - known[None, :]), axis=1)])


def plain(spec: Spec) -> dict[str, Any]:
    def one(value: Any) -> Any:
        if isinstance(value, Range):
            return {end: item for end in ("low", "high") if (item := getattr(value, end)) is not None}
        return list(value) if isinstance(value, tuple) else value

    return {name: one(value) for name, value in spec}
