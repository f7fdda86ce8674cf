"""The form of a text file, [table.csv] in a schema: how cells are separated and written, never what they say."""

from __future__ import annotations

import codecs
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gnomon.errors import SchemaError

_EXPECTED = {
    "delimiter": 'one character, as in ";" or "\\t"',
    "encoding": 'the name of a text encoding, as in "utf-8" or "cp1252"',
    "quote": "one character",
    "decimal": '"." or ","',
    "thousands": 'one of ".", ",", " " and "\'"',
    "date_format": 'text such as "%d.%m.%Y"',
    "missing_values": "a list of text",
}
THOUSANDS = (".", ",", " ", "'")
_TODAY = datetime(2020, 12, 31, 23, 59, 58)


class TextForm(BaseModel):
    """How a text file is written; what is left out is as in a plain CSV."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    encoding: str = "utf-8"
    quote: str = Field(default='"', min_length=1, max_length=1)
    decimal: str = "."
    thousands: str | None = None
    date_format: str | None = None
    missing_values: tuple[str, ...] = Field(default=(), strict=False)

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            key = str(error.errors()[0]["loc"][0])
            if key not in _EXPECTED:
                known = ", ".join(_EXPECTED)
                raise SchemaError(
                    f"The [table.csv] of the schema has the unknown key {key!r}; its keys may be {known}."
                ) from None
            raise SchemaError(f"The {key!r} of [table.csv] in the schema must be {_EXPECTED[key]}.") from None

    @model_validator(mode="after")
    def _consistent(self) -> TextForm:
        if not _is_encoding(self.encoding):
            raise SchemaError(
                f"The encoding {self.encoding!r} of [table.csv] is not known; write one such as utf-8, cp1252 or utf-16."
            )
        if self.decimal not in (".", ","):
            raise SchemaError(f"The 'decimal' of [table.csv] in the schema must be {_EXPECTED['decimal']}.")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise SchemaError(
                f"The 'thousands' of [table.csv] in the schema must be {_EXPECTED['thousands']}."
            )
        if not self.delimiter.isascii() or not self.quote.isascii() or self.delimiter in "\r\n":
            raise SchemaError(
                "The delimiter and the quote of [table.csv] must be plain characters, not a line end."
            )
        taken: dict[str, str] = {}
        for key in ("delimiter", "quote", "decimal", "thousands"):
            mark = getattr(self, key)
            if mark in taken and (key, taken[mark]) != ("thousands", "delimiter"):
                raise SchemaError(
                    f"The [table.csv] of the schema gives {mark!r} as {taken[mark]} and as {key}; write what each is."
                )
            taken.setdefault(mark, key)
        if self.date_format is not None:
            check_date_format(self.date_format, "of [table.csv]")
        return self

    def said(self) -> list[tuple[str, Any]]:
        """What differs from a plain CSV."""
        fields = type(self).model_fields
        return [(key, getattr(self, key)) for key in fields if getattr(self, key) != fields[key].default]


def check_date_format(text: str, where: str) -> None:
    """Refuse a date format that does not read back the year, month and day that it writes."""
    try:
        ok = datetime.strptime(_TODAY.strftime(text), text).date() == _TODAY.date()
    except ValueError:
        ok = False
    if not ok:
        raise SchemaError(
            f"The date_format {where} must say year, month and day, as in "
            f'"%d.%m.%Y" or "%m/%d/%Y %H:%M". Got {text!r} instead.'
        )


def _is_encoding(name: str) -> bool:
    try:
        found = codecs.lookup(name)
        "a".encode(name)
    except (LookupError, UnicodeError, ValueError):
        return False
    return bool(getattr(found, "_is_text_encoding", True))


PLAIN = TextForm()
