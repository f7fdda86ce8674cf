"""Summaries of released columns: what the page prints and draws, from the release alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gnomon.table.column import Column, value_key

BINS = 32
MOST_BARS = 8
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class Histogram:
    """Counts of equal bins between the declared bounds, and the bounds as text."""

    counts: tuple[int, ...]
    low: str
    high: str
    log: bool = False


@dataclass(frozen=True)
class Bars:
    """Shares of the categories that are drawn, and how many declared categories are not."""

    labels: tuple[str, ...]
    shares: tuple[float, ...]
    hidden: int = 0
    hidden_share: float = 0.0


@dataclass(frozen=True)
class ColumnSummary:
    """One released column: what it is, its picture, and a few numbers about it."""

    name: str
    kind: str
    target: bool
    unit: str
    picture: Histogram | Bars
    facts: tuple[tuple[str, str], ...]


def summarise(column: Column, cells: pa.ChunkedArray) -> ColumnSummary:
    """The summary of one released column by its declared kind."""
    missing = cells.null_count
    known = cells.drop_null()
    facts: tuple[tuple[str, str], ...] = ()
    picture: Histogram | Bars
    if column.kind == "number":
        numbers = known.cast(
            pa.float64(), safe=False
        ).to_numpy()  # whole numbers beyond 2^53 are drawn rounded
        picture = _number_histogram(column, numbers)
        facts = _number_facts(column, numbers)
    elif column.kind == "date":
        moments = _microseconds(known)
        picture = _date_histogram(column, moments)
        facts = (("median", _date_text(column, float(np.median(moments)))),) if len(moments) else ()
    else:
        picture = _bars(column, known)
    if column.missing == "indicator":
        facts = (*facts, ("missing", _percent(missing / max(1, len(cells)))))
    return ColumnSummary(column.name, column.kind, column.role == "target", column.unit or "", picture, facts)


def tidy(value: float) -> str:
    """A number for people: three or four significant digits, no exponent where none is needed."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if 1e-4 <= abs(value) < 1e6:
        places = max(0, (3 if abs(value) >= 1 else 2) - math.floor(math.log10(abs(value))))
        text = f"{value:,.{places}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.3g}"


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.1 else f"{100 * share:.0f}%"


def _counted(values: npt.NDArray[np.float64], low: float, high: float, bins: int) -> tuple[int, ...]:
    counts, _ = np.histogram(np.clip(values, low, high), bins=bins, range=(low, high))
    return tuple(int(count) for count in counts)


def _number_histogram(column: Column, values: npt.NDArray[np.float64]) -> Histogram:
    low, high = float(column.low), float(column.high)  # type: ignore[arg-type]
    ends = (tidy(low), tidy(high))
    if column.log:
        scale = np.log1p if low == 0 else np.log
        shown, first, last = scale(np.clip(values, low, high)), float(scale(low)), float(scale(high))
        return Histogram(_counted(shown, first, last, BINS), *ends, log=True)
    if column.integer and high - low < BINS:
        return Histogram(_counted(values, low - 0.5, high + 0.5, int(high - low) + 1), *ends)
    return Histogram(_counted(values, low, high, BINS), *ends)


def _number_facts(column: Column, values: npt.NDArray[np.float64]) -> tuple[tuple[str, str], ...]:
    if not len(values):
        return ()
    median = float(np.median(values))
    return (("mean", tidy(float(values.mean()))), ("median", tidy(median)), ("sd", tidy(float(values.std()))))


def _microseconds(cells: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    if pa.types.is_date(cells.type):
        steps, size = cells.cast(pa.date32()).cast(pa.int32()), float(_DAY)
    else:
        steps, size = cells.cast(pa.timestamp("us", tz=cells.type.tz)).cast(pa.int64()), 1.0
    return np.asarray(steps.to_numpy(), dtype=np.float64) * size


def _since_epoch(moment: Any) -> float:
    if not isinstance(moment, datetime):
        return float(moment.toordinal() - _EPOCH.toordinal()) * _DAY
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) / timedelta(microseconds=1)


def _date_text(column: Column, moment: float) -> str:
    when = _EPOCH + timedelta(microseconds=moment)
    return when.strftime("%Y-%m-%d %H:%M") if isinstance(column.low, datetime) else when.date().isoformat()


def _date_histogram(column: Column, moments: npt.NDArray[np.float64]) -> Histogram:
    assert isinstance(column.low, date)
    assert isinstance(column.high, date)
    low, high = _since_epoch(column.low), _since_epoch(column.high)
    return Histogram(_counted(moments, low, high, BINS), _date_text(column, low), _date_text(column, high))


def _categories(column: Column) -> list[str]:
    return ["false", "true"] if column.kind == "boolean" else [value_key(value) for value in column.values]


def _bars(column: Column, cells: pa.ChunkedArray) -> Bars:
    """Declared order for ordered and short lists, most frequent first for long ones."""
    found: Iterable[Any] = pc.value_counts(cells.combine_chunks())
    counts = {value_key(item["values"].as_py()): int(item["counts"].as_py()) for item in found}
    keys = _categories(column)
    total = max(1, sum(counts.values()))
    if len(keys) > MOST_BARS:
        ranked = sorted(keys, key=lambda key: -counts.get(key, 0))[: MOST_BARS - 1]
        shown = [key for key in keys if key in set(ranked)] if column.ordered else ranked
    else:
        shown = keys
    shares = tuple(counts.get(key, 0) / total for key in shown)
    return Bars(tuple(shown), shares, len(keys) - len(shown), max(0.0, 1 - sum(shares)))
