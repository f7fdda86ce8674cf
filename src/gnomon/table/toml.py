"""Writing TOML: the standard library reads it and does not write it, and a schema needs nine lines of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def key(name: str) -> str:
    """A key, bare where TOML allows it and quoted where it does not."""
    return name if _BARE.fullmatch(name) else quoted(name)


def quoted(text: str) -> str:
    """A basic string with everything escaped that TOML does not take as it is."""
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _escape(c)) for c in text) + '"'


def value(item: Any) -> str:
    """A boolean, number, text, date, list or table of these; `tomllib` reads back an equal value."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, str):
        return quoted(item)
    if isinstance(item, date):
        return item.isoformat()
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {value(part)}" for name, part in item.items()) + " }"
    if isinstance(item, Sequence):
        return "[" + ", ".join(value(part) for part in item) + "]"
    return repr(item)


def _escape(character: str) -> str:
    """Controls, and what turns the direction of the text after it, so that a reader sees what a parser does."""
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
