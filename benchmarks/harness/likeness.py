"""How released columns look beside real ones: variation of marginals, spreads, cells at bounds, correlations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa

import gnomon as gn
from harness import arrays

BINS, JOINT_BINS = 20, 8  # equal bins of a number between its declared bounds, alone and beside others
SETS = 200  # pairs and triples of columns at most, drawn once for all methods
CONSTANT = 0.01  # of the declared width: below this spread a column is nearly constant
RELATED = 0.1  # the largest real correlation of a column whose slope is worth a look
SPREADS, AT_BOUND = (0.8, 1.25), 0.02  # what a column that looks right keeps to


def binned(table: pa.Table, column: gn.Column, bins: int) -> np.ndarray:
    """Cells as codes: categories as declared, numbers in equal bins (of logarithms where declared), missing the last."""
    if column.kind == "category":
        found = arrays.codes(table, column)
        return np.where(found == arrays.MISSING, len(column.values), found)
    cells = arrays.numbers(table, column)
    gone = np.isnan(cells)
    if column.kind == "boolean":
        return np.where(gone, 2, cells > 0.5).astype(np.int64)
    low, high = float(column.low), float(column.high)  # type: ignore[arg-type]
    cells = np.clip(np.where(gone, low, cells), low, high)
    if column.integer and high - low < bins:
        places = np.rint(cells - low)
    else:
        scale = _same if not column.log else np.log1p if low == 0 else np.log
        start, end = scale(np.array([low, high]))
        places = np.minimum(np.floor((scale(cells) - start) / (end - start) * bins), bins - 1)
    return np.where(gone, bins, places).astype(np.int64)


def _same(cells: np.ndarray) -> np.ndarray:
    return cells


def variation(a: np.ndarray, b: np.ndarray) -> float:
    size = int(max(a.max(), b.max())) + 1
    shares = [np.bincount(codes, minlength=size) / len(codes) for codes in (a, b)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def column_sets(m: int, of: int) -> list[tuple[int, ...]]:
    """All sets of `of` columns, or `SETS` of them by a fixed seed."""
    if of <= m <= 12 or (of == 2 and m <= 20):
        return list(itertools.combinations(range(m), of))
    rng = np.random.default_rng([33, m, of])
    found: set[tuple[int, ...]] = set()
    while m >= of and len(found) < SETS:
        found.add(tuple(sorted(rng.choice(m, of, replace=False).tolist())))
    return sorted(found)


class Real:
    """The real rows of one split, encoded once for every release that is compared with them."""

    def __init__(self, table: pa.Table, schema: gn.Schema) -> None:
        self.schema = schema
        self.columns = schema.released
        self.one = [binned(table, column, BINS) for column in self.columns]
        self.joint = [binned(table, column, JOINT_BINS) for column in self.columns]
        self.cells = [_cells(table, column) for column in self.columns]
        self.correlations = _correlations(table, self.columns)

    def compare(self, released: pa.Table) -> dict[str, Any]:
        """Everything at once; medians and worst columns."""
        one = [variation(binned(released, c, BINS), o) for c, o in zip(self.columns, self.one, strict=True)]
        joint = [binned(released, column, JOINT_BINS) for column in self.columns]
        return {
            "tv": [_round(np.mean(one)), *(self._joint(joint, of) for of in (2, 3))],
            "tv_worst": _round(max(one)),
            **self._columns(released),
            "correlation": self._slopes(released),
        }

    def _joint(self, joint: list[np.ndarray], of: int) -> float | None:
        found = []
        for chosen in column_sets(len(self.columns), of):
            a, b = np.zeros_like(joint[0]), np.zeros_like(self.joint[0])
            for j in chosen:
                size = int(max(joint[j].max(), self.joint[j].max())) + 1
                a, b = a * size + joint[j], b * size + self.joint[j]
            found.append(variation(a, b))
        return _round(np.mean(found)) if found else None

    def _columns(self, released: pa.Table) -> dict[str, Any]:
        """Spreads and shares at bounds by column; nearly constant columns apart."""
        spreads, excess, apart, right = [], [], [], []
        for column, real in zip(self.columns, self.cells, strict=True):
            if real is None:
                continue
            seen = _cells(released, column)
            std = float(real.std())
            if std < CONSTANT * arrays.width(column):
                apart.append((float(seen.std()), std, arrays.width(column)))
                continue
            spreads.append(float(seen.std()) / std)
            more = 0.0 if column.kind == "boolean" else _more_at_a_bound(seen, real, column)
            excess.append(more)
            right.append(SPREADS[0] <= spreads[-1] <= SPREADS[1] and more <= AT_BOUND)
        found: dict[str, Any] = {}
        if spreads:
            found["spread"] = [_round(v) for v in (np.median(spreads), min(spreads), max(spreads))]
            found["at_bound"] = [_round(v) for v in (np.median(excess), max(excess))]
            found["right"] = _round(np.mean(right))
        if apart:
            moving = [a / b for a, b, w in apart if b > 1e-9 * w]
            still = [a / w for a, b, w in apart if b <= 1e-9 * w]
            found["constant"] = {
                "columns": len(apart),
                "spread": [_round(v) for v in (np.median(moving), max(moving))] if moving else None,
                "of_width": _round(max(still), 6) if still else None,
            }
        return found

    def _slopes(self, released: pa.Table) -> list[float] | None:
        """Slope of released on real correlations, through 0: of all pairs, the columns' median, the worst column's."""
        C, R = _correlations(released, self.columns), self.correlations
        if len(R) < 2:
            return None
        C, R = (np.where(np.eye(len(A), dtype=bool), 0.0, A) for A in (C, R))
        size = (R**2).sum(axis=1)
        known = np.abs(R).max(axis=1) >= RELATED
        if not known.any():
            return None
        slopes = ((C * R).sum(axis=1)[known]) / size[known]
        return [_round((C * R).sum() / size.sum()), _round(np.median(slopes)), _round(slopes.min())]


def _cells(table: pa.Table, column: gn.Column) -> np.ndarray | None:
    """The present cells of a number or boolean within its bounds, which is what a release can show of them."""
    if column.kind == "category":
        return None
    cells = arrays.numbers(table, column)
    cells = cells[~np.isnan(cells)]
    return cells if column.kind == "boolean" else np.clip(cells, float(column.low), float(column.high))  # type: ignore[arg-type]


def _more_at_a_bound(seen: np.ndarray, real: np.ndarray, column: gn.Column) -> float:
    """Released minus real share of cells at a bound: the larger of the two bounds'."""
    near = 1e-9 * arrays.width(column)
    low, high = float(column.low) + near, float(column.high) - near  # type: ignore[arg-type]
    at_low = np.mean(seen <= low) - np.mean(real <= low)
    return float(max(at_low, np.mean(seen >= high) - np.mean(real >= high)))


def _correlations(table: pa.Table, columns: Any) -> np.ndarray:
    """Pearson's, over numbers, booleans and the values of categories; a constant column correlates with nothing."""
    cells = []
    for column in columns:
        found = arrays.columns_of(table, column)
        if column.kind not in ("category", "boolean"):
            found[0] = np.clip(found[0], float(column.low), float(column.high))
        cells += found
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.atleast_2d(np.corrcoef(np.array(cells))))


def _round(value: Any, digits: int = 4) -> float:
    return float(f"{float(value):.{digits}g}") if abs(value) >= 1 else round(float(value), digits)
