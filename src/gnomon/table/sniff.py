"""The form of a file and of its text cells, looked at for a draft that the custodian confirms; never for a release.

What is looked at: delimiter, encoding, decimal sign, marks for missing cells, and whether the first cells of a text
column parse as numbers, dates or words for true and false. What they say is not written down.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from gnomon.errors import SchemaError
from gnomon.table.base import reading
from gnomon.table.convert import FALSE, TRUE, plain_number
from gnomon.table.files import TEXT, unpacked
from gnomon.table.form import PLAIN, TextForm

ROWS = 1000  # whose form is looked at
MARKS = ("?", ".", "-", "--", "*")  # that stand for missing cells in some files
DATE_FORMATS = (
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M:%S",
)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_CODE = re.compile(r"[+-]?0\d+")
_BLOCK = 1 << 20


class Look(NamedTuple):
    """What the form of a text column's cells suggests."""

    kind: str  # "number", "integer", "date", "boolean", "free text", "category" or "empty"
    date_formats: tuple[str, ...] = ()  # those that fit, none for ISO dates
    marks: tuple[str, ...] = ()  # for missing cells, where they are not those of the whole file


def sniff(path: Path) -> TextForm | None:
    """The encoding and the delimiter of a text file; None for a file of another kind."""
    if unpacked(path) not in TEXT or not path.is_file():
        return None
    with reading(f"The file {str(path)!r}"):
        encoding = _encoding(path)
        with pa.input_stream(str(path), compression="detect") as stream:
            start = codecs.getincrementaldecoder(encoding)("replace").decode(stream.read(_BLOCK))
    return TextForm(delimiter=_delimiter(start.lstrip("\ufeff"), TEXT[unpacked(path)]), encoding=encoding)


def _encoding(path: Path) -> str:
    tried = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8", "cp1252")}
    with pa.input_stream(str(path), compression="detect") as stream:
        block = stream.read(_BLOCK)
        if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
        while tried:
            for name in list(tried):
                try:
                    tried[name].decode(block, final=not block)
                except UnicodeDecodeError:
                    del tried[name]
            if not block:
                break
            block = stream.read(_BLOCK)
    return next(iter(tried), "latin-1")


def _delimiter(text: str, usual: str) -> str:
    """The sign that cuts the first lines into the most cells, as many in each."""
    lines = text.splitlines()[:51]
    lines = lines[:-1] if len(lines) == 51 else lines

    def width(sign: str) -> int:
        widths = {len(row) for row in csv.reader(lines, delimiter=sign) if row}
        return widths.pop() if len(widths) == 1 else 1

    return max((usual, *(sign for sign in ",;\t|" if sign != usual)), key=width)


def number_form(columns: Sequence[Sequence[str]], form: TextForm) -> TextForm:
    """The decimal sign and the separator of thousands by which most text columns are numbers."""
    candidates = [form]
    for decimal, thousands in ((",", None), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'")):
        try:
            candidates.append(
                TextForm(
                    **{
                        **dict(form.said()),
                        "decimal": decimal,
                        **({"thousands": thousands} if thousands else {}),
                    }
                )
            )
        except SchemaError:  # a sign that already means something else in this file
            continue
    return max(candidates, key=lambda one: sum(_are_numbers(cells, one) for cells in columns if cells))


def _are_numbers(cells: Sequence[str], form: TextForm) -> bool:
    return all(_NUMBER.fullmatch(plain_number(cell, form)) for cell in cells)


def look(cells: Sequence[str], form: TextForm = PLAIN) -> Look:
    """The form of the cells of a text column, without blanks."""
    if not cells:
        return Look("empty")
    lower = {cell.lower() for cell in cells}
    if _are_numbers(cells, form):
        if any(_CODE.fullmatch(cell) for cell in cells):
            return Look("category")  # leading zeros are those of codes
        whole = all(re.fullmatch(r"[+-]?\d+", plain_number(cell, form)) for cell in cells)
        return Look("integer" if whole else "number")
    if lower <= {*TRUE, *FALSE}:
        return Look("boolean")
    if all(_is_iso(cell) for cell in cells):
        return Look("date")
    fitting = tuple(pattern for pattern in DATE_FORMATS if all(_fits(cell, pattern) for cell in cells))
    if fitting:
        return Look("date", fitting)
    long = sum(len(cell.split()) >= 4 or len(cell) > 40 for cell in cells)
    return Look("free text" if 2 * long > len(cells) else "category")


def missing_marks(columns: Sequence[Sequence[str]], form: TextForm) -> tuple[str, ...]:
    """Marks without which a column of text is one of numbers or dates; a question mark counts in any column."""
    found: set[str] = set()
    for cells in columns:
        marks = {mark for mark in MARKS if mark in cells}
        rest = [cell for cell in cells if cell not in MARKS]
        if marks and rest:
            typed = look(rest, form).kind in ("number", "integer", "date")
            found |= marks if typed else marks & {"?"}
    return tuple(mark for mark in MARKS if mark in found)


def _is_iso(cell: str) -> bool:
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return len(cell) >= 10


def _fits(cell: str, pattern: str) -> bool:
    try:
        datetime.strptime(cell, pattern)
    except ValueError:
        return False
    return True
