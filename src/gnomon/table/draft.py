"""The draft of a schema: what the column types tell, and what the custodian still has to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as is_type

from gnomon.errors import DataError
from gnomon.table import toml

if TYPE_CHECKING:
    from gnomon.table.source import Source

_HEADER = """\
# A draft. Column names and types were read; no bounds and no categories were taken from the rows, because
# everything in a schema is public. Complete it from public knowledge (a code book, a norm, common sense):
#   number, date   low and high: the range that could occur; cells outside are clipped to it
#   category       values: every category that could occur; other = one of them that takes the rest
#   any column     missing = "refuse" | "fill" (with fill = a value) | "indicator"
#   one column     role = "target": what a model will learn to predict
#   keys, names    kind = "identifier"; columns nobody needs: kind = "ignored"
"""
_NUMBER = "# low = \n# high =     or estimate = true, which pays for a private estimate\n"
_DATE = "# low = \n# high =     as in 2020-12-31, or 2020-12-31T23:59:59\n"
_CATEGORY = '# values = ["", ""]     or kind = "identifier" for a key or a name\n'
_OTHER = "# cells of this type cannot be released\n"

# Arrow type -> (kind, further keys and hints); the first test that holds decides.
_RULES: list[tuple[Callable[[pa.DataType], bool], str, str]] = [
    (is_type.is_boolean, "boolean", ""),
    (is_type.is_integer, "number", "integer = true\n" + _NUMBER),
    (lambda t: is_type.is_floating(t) or is_type.is_decimal(t), "number", _NUMBER),
    (lambda t: is_type.is_date(t) or is_type.is_timestamp(t), "date", _DATE),
    (
        lambda t: is_type.is_string(t) or is_type.is_large_string(t) or is_type.is_string_view(t),
        "category",
        _CATEGORY,
    ),
    (lambda t: is_type.is_dictionary(t) or is_type.is_null(t), "category", _CATEGORY),
    (lambda t: True, "ignored", _OTHER),
]


def draft(source: Source) -> str:
    """The draft as TOML text; it parses, and loading it says which column still needs what."""
    if not source.names:
        raise DataError(f"{source.label} has no columns, so there is nothing to draft a schema from.")
    parts = [_HEADER, f"[table]\nname = {toml.value(source.title)}\n"]
    for field in source.arrow_schema:
        kind, rest = next((kind, rest) for test, kind, rest in _RULES if test(field.type))
        parts.append(f'[columns.{toml.key(field.name)}]\nkind = "{kind}"\n{rest}')
    return "\n".join(parts)
