"""Cells as people write them, read as the schema says: words for true and false, dates, decimal commas, missing codes.

A converter works on one column and cell by cell. A cell that is not written as declared becomes a text that no kind
takes, so that it is counted by a check like any other cell that does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.types as is_type

from gnomon.table.cells import is_text, plain
from gnomon.table.column import Column, value_key
from gnomon.table.form import PLAIN, TextForm
from gnomon.table.schema import Schema

ALIEN = "?"  # neither a number nor a date nor a boolean
TRUE = ("true", "t", "yes", "y", "ja", "j", "oui", "si", "sí", "wahr", "vrai", "1")
FALSE = ("false", "f", "no", "n", "nein", "non", "falsch", "faux", "0")
_WORDS = {**dict.fromkeys(TRUE, "true"), **dict.fromkeys(FALSE, "false")}


def converters(schema: Schema, form: TextForm = PLAIN) -> dict[str, CellReader]:
    """For each released column that needs one, what reads its cells."""
    readers = (CellReader(column, form) for column in schema.columns if column.released)
    return {reader.column.name: reader for reader in readers if reader.needed}


@dataclass(frozen=True)
class CellReader:
    """Reads a column as it is declared to be written; a value, so that it can be sent to other processes."""

    column: Column
    form: TextForm

    @property
    def needed(self) -> bool:
        return bool(self.column.missing_values) or self._word is not None

    def __call__(self, array: pa.Array) -> pa.Array:
        # a number is compared as a number, so its form comes first; another code may not have the declared form
        steps = (self._written, self._without_missing)
        first, second = steps if self.column.kind == "number" else steps[::-1]
        return second(first(array))

    @property
    def _word(self) -> Callable[[str], str] | None:
        """How a text of the declared form reads in the form that all files share."""
        column, form = self.column, self.form
        if column.kind == "boolean":
            if not column.true:
                return lambda text: _WORDS.get(text.lower(), text)
            words = {value_key(word).strip(): "true" for word in column.true}
            words |= {value_key(word).strip(): "false" for word in column.false}
            return lambda text: words.get(text, ALIEN)
        pattern = column.date_format or form.date_format
        if column.kind == "date" and pattern is not None:
            return lambda text: iso(text, pattern)
        if column.kind == "number" and (form.decimal != "." or form.thousands):
            return lambda text: plain_number(text, form)
        return None

    def _written(self, array: pa.Array) -> pa.Array:
        word = self._word
        if word is None:
            return array
        found = _Distinct(array)
        if not found.texts and not (self.column.true and found.plain and not is_type.is_boolean(found.type)):
            return array  # a typed cell needs no words; only numbers may be codes for true and false
        kept = [None if _absent(value) else word(value_key(value).strip()) for value in found.values]
        return found.replaced(kept, pa.string())

    def _without_missing(self, array: pa.Array) -> pa.Array:
        codes = {value_key(value) for value in self.column.missing_values}
        found = _Distinct(array)
        if not codes or not (found.texts or found.plain):
            return array
        kept = [None if _absent(value) or self._is_code(value, codes) else value for value in found.values]
        return found.replaced(kept, pa.string() if found.texts else found.type)

    def _is_code(self, value: Any, codes: set[str]) -> bool:
        text = value_key(value).strip()
        try:
            return text in codes or (self.column.kind == "number" and value_key(float(text)) in codes)
        except ValueError:
            return False


class _Distinct:
    """The distinct cells of a column, to be replaced one by one."""

    def __init__(self, array: pa.Array) -> None:
        cells = plain(array)
        self.type = cells.type.value_type if is_type.is_dictionary(cells.type) else cells.type
        self._cells = cells
        self.texts = bool(is_text(self.type) or is_type.is_string_view(self.type))
        self.plain = bool(
            is_type.is_integer(self.type) or is_type.is_floating(self.type) or is_type.is_boolean(self.type)
        )

    @cached_property
    def _dictionary(self) -> pa.DictionaryArray:
        return self._cells if is_type.is_dictionary(self._cells.type) else self._cells.dictionary_encode()

    @property
    def values(self) -> list[Any]:
        return list(self._dictionary.dictionary.to_pylist())

    def replaced(self, values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind).take(self._dictionary.indices)


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def iso(text: str, written: str) -> str:
    """A date in the declared form as ISO text."""
    try:
        return datetime.strptime(text, written).isoformat()
    except ValueError:
        return ALIEN


def plain_number(text: str, form: TextForm) -> str:
    """A number in the declared form as Python writes it; separators of thousands stand between groups of three."""
    if form.thousands and form.thousands in text:
        mark = re.escape(form.thousands)
        whole = re.match(rf"[+-]?\d{{1,3}}({mark}\d{{3}})+(?!\d)", text)
        if whole is None or form.thousands in text[whole.end() :]:
            return ALIEN
        text = text.replace(form.thousands, "")
    if form.decimal == ".":
        return text
    return ALIEN if "." in text else text.replace(",", ".", 1)
