"""Text that a spreadsheet would run: refused in CSV, where a cell cannot say that it is text.

The texts of a release are the declared names and categories. A leading apostrophe would make them inert and no longer
equal to what the schema declares; Parquet keeps them as they are, and nothing that opens it runs them.
"""

from __future__ import annotations

import re
import unicodedata

from gnomon.errors import OutputError
from gnomon.table.schema import Schema

# as far as spreadsheets go: blanks before the sign are skipped, and wide forms of it are taken for it
_FORMULA = re.compile(r"[\s\ufeff'\"]*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-](\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def refuse_in_csv(schema: Schema) -> None:
    """Refuse, before anything is written or charged, names and categories that are not inert in a CSV file."""
    for column in schema.released:
        texts = [value for value in column.values if isinstance(value, str)]
        for what, text in [("column name", column.name), *(("category", text) for text in texts)]:
            if is_formula(text):
                raise OutputError(
                    f"The {what} {text!r} would be run as a formula by a spreadsheet that opens a CSV file; "
                    "write parquet, or rename it in the table and the schema."
                )
            if any(unicodedata.category(letter) == "Cc" for letter in text):
                raise OutputError(
                    f"The {what} {text!r} holds control characters, which a CSV file would pass on to terminals; "
                    "write parquet, or rename it in the table and the schema."
                )


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may take the text for a formula: neither a number nor a sign alone."""
    return bool(_FORMULA.match(text)) and len(text.strip()) > 1 and not _NUMBER.fullmatch(text.strip())
