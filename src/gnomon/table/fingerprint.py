"""The content print of a table: a tripwire by which a ledger notices that two tables are one, or one is another.

A table is a multiset of rows, and the print is an order-free sum of keyed hashes of rows of canonical cells. Order,
batches, format, storage types and dictionary coding do not matter, because a cell is read as the schema declares its
column: numbers as doubles (as integers of 64 bits beyond 2^51), dates as microseconds in UTC, categories by the text of
their value, booleans as 0 or 1, everything else as missing. Columns that a release would not read are not read here.

The key is drawn by the ledger; only workers of a cluster, which hold the rows too, see it beside. The last step is
HMAC-SHA-256, so that a print says nothing to anybody without the key, whatever the faster hash inside; with it, the print
is as private as the table. It is never published.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as is_type
from numpy.typing import NDArray

from gnomon.engine.base import Engine, Integers
from gnomon.engine.local import LOCAL
from gnomon.table.base import Source
from gnomon.table.cells import (
    UNKNOWN,
    Mask,
    codes,
    flags,
    moments,
    numbers,
    plain,
    value_lookup,
    whole_numbers,
)
from gnomon.table.column import Column, value_key
from gnomon.table.encode import RawRows
from gnomon.table.schema import Schema

KEY_BYTES = 32
_LANES = 4  # sums of 64 bits
_REMEMBERED = 2**16  # hashes of distinct categories of a column

Words = NDArray[np.uint64]


def content_print(source: Source, schema: Schema, key: bytes, engine: Engine = LOCAL) -> str:
    """The print of the released columns of `source`: which columns they are, and what their rows hold."""
    found = _of_no_rows(source, schema, key)
    rows = RawRows(source, tuple(found.names))
    return found.digest(engine.fold(rows, found, stage="comparing with earlier releases"))


def columns_print(source: Source, schema: Schema, key: bytes) -> str:
    """The print of the same columns without a row, for `same_columns`; reads nothing."""
    found = _of_no_rows(source, schema, key)
    return found.digest(found.zero())


def _of_no_rows(source: Source, schema: Schema, key: bytes) -> ContentPrint:
    present = set(source.names)
    return ContentPrint([column for column in schema.released if column.name in present], key)


def same_columns(one: str, other: str) -> bool:
    """Whether two prints are of the same declared columns, so that their rows can be compared."""
    return one.partition(":")[0] == other.partition(":")[0]


class ContentPrint:
    """What adds up to a print: sums of the rows' hashes modulo 2^64, and the number of rows."""

    def __init__(self, columns: list[Column], key: bytes) -> None:
        self.names = [column.name for column in columns]
        self._key = key
        self._columns = [_Column(column, key) for column in columns]
        self._seeds = [_keyed(key, b"lane", i) for i in range(_LANES)]

    def zero(self) -> Integers:
        return np.zeros(_LANES + 1, dtype=np.int64)

    def of_batch(self, batch: pa.RecordBatch) -> Integers:
        """Every row is hashed by itself and added to each lane."""
        rows = np.zeros(batch.num_rows, dtype=np.uint64)
        spare = np.empty_like(rows)
        for column, array in zip(self._columns, batch.columns, strict=True):
            column.add(array, rows, spare)
        sums = [_mix(rows.copy(), seeds, spare).sum(dtype=np.uint64) for seeds in self._seeds]
        found: Integers = np.array([*sums, batch.num_rows], dtype=np.uint64).view(np.int64)
        return found

    def digest(self, sums: Integers) -> str:
        """Two parts: the columns, and the multiset of their rows."""
        kinds = json.dumps(sorted((one.name, one.kind) for one in self._columns))
        rows = self._hmac(b"rows", sums.astype("<i8").tobytes())
        return f"{self._hmac(b'columns', kinds.encode())[:16]}:{rows}"

    def _hmac(self, what: bytes, content: bytes) -> str:
        return hmac.new(self._key, what + b"\0" + content, hashlib.sha256).hexdigest()


class _Column:
    """The keyed hashes of one column's cells."""

    def __init__(self, column: Column, key: bytes) -> None:
        self.name = column.name
        self.kind = "integer" if column.kind == "number" and column.wide else column.kind
        self._column = column
        self._key = key
        self._seeds = _keyed(key, json.dumps([self.kind, self.name]).encode(), 0)
        self._missing = _keyed(key, json.dumps([self.kind, self.name]).encode(), 1)[0]
        self._lookup = value_lookup(column.values)
        self._remembered: dict[str, int] = {}

    def add(self, array: pa.Array, rows: Words, spare: Words) -> None:
        """Add the hash of every cell to its row."""
        if self.kind == "category":
            rows += self._categories(array)
            return
        words, missing = self._words(array)
        _mix(words, self._seeds, spare)
        if missing is not None:
            words[missing] = self._missing
        rows += words

    def _words(self, array: pa.Array) -> tuple[Words, Mask | None]:
        """Cells in 64 bits each, and those that are missing."""
        if self.kind == "number":
            values, missing, alien = numbers(array)
            cells = values.astype(np.float64)
            cells += 0.0  # one zero
            absent = np.isnan(cells)
            missing = _either(missing, absent if absent.any() else None)
            return cells.view(np.uint64), _either(missing, alien)
        if self.kind == "integer":
            values, missing, alien = whole_numbers(array)
            if values.dtype.kind == "f":
                missing = _either(missing, np.isnan(values))
                values = np.clip(np.nan_to_num(np.rint(values)), -(2.0**63), 2.0**63 - 1024)
        else:
            values, missing, alien = flags(array) if self.kind == "boolean" else moments(array)
        return values.astype(np.int64).view(np.uint64), _either(missing, alien)

    def _categories(self, array: pa.Array) -> Any:
        """Each distinct value is hashed once; a value that the schema declares by its declared text."""
        array = plain(array)
        try:
            coded = array if is_type.is_dictionary(array.type) else array.dictionary_encode()
        except pa.ArrowNotImplementedError:  # nested cells are of no kind
            return self._missing
        distinct = plain(coded.dictionary)
        known = codes(distinct, self._lookup)
        table = np.full(len(distinct) + 1, self._missing)
        for place, (code, value) in enumerate(zip(known.values.tolist(), distinct.to_pylist(), strict=True)):
            if known.missing is None or not known.missing[place]:
                table[place] = self._text(value_key(value if code == UNKNOWN else self._column.values[code]))
        hashes: Words = table[coded.indices.cast(pa.int64()).fill_null(len(distinct)).to_numpy()]
        return hashes

    def _text(self, text: str) -> int:
        found = self._remembered.get(text)
        if found is None:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            content = json.dumps([self.name, text]).encode()
            found = int.from_bytes(hashlib.blake2b(content, digest_size=8, key=self._key).digest(), "little")
            self._remembered[text] = found
        return found


def _either(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return np.logical_or(one, other)


def _keyed(key: bytes, what: bytes, number: int) -> Words:
    """A start and an odd multiplier that follow from the key."""
    content = hashlib.blake2b(what + b"\0" + bytes([number]), digest_size=16, key=key).digest()
    return np.frombuffer(content, dtype="<u8").astype(np.uint64) | np.array([0, 1], dtype=np.uint64)


def _mix(words: Words, seeds: Words, spare: Words) -> Words:
    """A keyed bijection of 64 bits, in place; a single changed cell therefore always changes its row and every lane."""
    start, multiplier = seeds
    words ^= start
    for shift in (32, 29):
        np.right_shift(words, np.uint64(shift), out=spare)
        words ^= spare
        if shift == 32:
            words *= multiplier
    return words
