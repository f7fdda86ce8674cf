"""Bounds and categories learned from a table that needs no protection, such as last year's published one."""

from __future__ import annotations

import filecmp
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.table.cells import DAY, moments, numbers
from gnomon.table.codebook import Codebook, Entry
from gnomon.table.column import Column, Scalar, value_key
from gnomon.table.convert import CellReader
from gnomon.table.form import PLAIN, TextForm
from gnomon.table.hints import is_key
from gnomon.table.looked import look_at
from gnomon.table.sniff import Look

MOST = 1000  # categories; more are better declared by file
_FEW = 3  # distinct numbers that are kept, to know a column of 0 and 1


def learn(table: Any) -> Codebook:
    """What a public table says about its columns, read whole."""
    looked = look_at(table)
    tallies = {name: _Tally(name, look, looked.form or PLAIN) for name, look in looked.looks.items()}
    wanted = [name for name, tally in tallies.items() if tally.kind is not None and not is_key(name)]
    for batch in looked.source.batches(wanted, raw=True) if wanted else ():
        for name, array in zip(wanted, batch.columns, strict=True):
            tallies[name].add(array)
    label = looked.source.label[0].lower() + looked.source.label[1:]
    entries = {name: tallies[name].entry() for name in wanted}
    return Codebook(label, {name: entry for name, entry in entries.items() if entry is not None})


def refuse_same(public: Path, private: Path) -> None:
    """A table is not public because it is named twice: bounds from its own rows would be published."""
    try:
        same = public.samefile(private) or (
            public.is_file() and private.is_file() and filecmp.cmp(public, private, shallow=False)
        )
    except OSError:
        return  # whoever reads them says what is wrong
    if same:
        raise ParameterError(
            f"The table {str(public)!r} is the one to be released: bounds and categories from its rows would be published. "
            "Give another table that needs no protection, or leave --from-public out."
        )


class _Tally:
    """What was seen of one public column."""

    def __init__(self, name: str, look: Look, form: TextForm) -> None:
        self.look = look
        kinds = {
            "integer": "number",
            "number": "number",
            "date": "date",
            "boolean": "boolean",
            "category": "category",
        }
        self.kind = kinds.get(look.kind)
        self._low: int | float | None = None
        self._high: int | float | None = None
        self._seen: dict[str, Scalar] = {}
        self._reader = None
        if self.kind in ("number", "date"):
            bounds: dict[str, Any] = (
                {"low": date(1, 1, 1), "high": date(2, 1, 1)}
                if self.kind == "date"
                else {"low": 0, "high": 1}
            )
            written: dict[str, Any] = {"date_format": look.date_formats[0]} if look.date_formats else {}
            written |= {"missing_values": look.marks} if look.marks else {}
            self._reader = CellReader(Column(name=name, kind=self.kind, **bounds, **written), form)

    def add(self, array: pa.Array) -> None:
        if self._reader is None:
            self._collect(array, MOST + 1)
            return
        cells = (moments if self.kind == "date" else numbers)(self._reader(array))
        values = cells.values
        bad = np.zeros(len(values), bool) if values.dtype.kind != "f" else ~np.isfinite(values)
        for mask in (cells.missing, cells.alien):
            bad = bad if mask is None else bad | mask
        good = values[~bad]
        if not len(good):
            return
        low, high = good.min().item(), good.max().item()
        self._low = low if self._low is None else min(self._low, low)
        self._high = high if self._high is None else max(self._high, high)
        if len(self._seen) < _FEW:
            self._seen.update({str(value): value for value in np.unique(good)[:_FEW].tolist()})

    def _collect(self, array: pa.Array, most: int) -> None:
        for value in pa.array(array).unique().to_pylist() if len(self._seen) < most else ():
            if (
                value is not None
                and value == value
                and value not in self.look.marks
                and len(self._seen) < most
            ):
                self._seen.setdefault(value_key(value), value)

    def entry(self) -> Entry | None:
        if self.kind == "boolean":
            return Entry({"kind": "boolean"})
        if self.kind == "category":
            if len(self._seen) > MOST:
                return Entry({"kind": "category"}, (f"more than {MOST} values: declare them by values_file",))
            values = sorted(self._seen.values(), key=value_key)
            return Entry({"kind": "category", "values": values}) if values else None
        if self._low is None or self._high is None:
            return None
        if set(self._seen.values()) <= {0, 1} and self.kind == "number":
            return Entry({"kind": "boolean"})
        if self.kind == "date":
            low, high = _moment(int(self._low)), _moment(int(self._high))
            whole = self._low % DAY == 0 and self._high % DAY == 0
            bounds: dict[str, Any] = (
                {"low": low.date(), "high": high.date()} if whole else {"low": low, "high": high}
            )
        else:
            bounds = {"low": self._low, "high": self._high}
        if not bounds["low"] < bounds["high"]:
            return None
        integer = {"integer": True} if self.look.kind == "integer" else {}
        return Entry({"kind": self.kind, **integer, **bounds})


def _moment(microseconds: int) -> datetime:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).replace(tzinfo=None)
