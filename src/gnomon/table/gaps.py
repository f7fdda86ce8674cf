"""Every gap of a schema at once, and the schema of the columns that have none, whose cells can already be checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.errors import SchemaError
from gnomon.table.pattern import matches
from gnomon.table.schema import Schema, column_of


@dataclass(frozen=True)
class Gaps:
    """What a schema lacks, one sentence each; `schema` declares the columns that lack nothing, if there are any."""

    sentences: tuple[str, ...]
    schema: Schema | None
    names: tuple[str, ...] = ()  # of the columns and patterns that lack something

    def cover(self, name: str) -> bool:
        """Whether a column is one that the schema declares in part."""
        return any(name == part or matches(part, name) for part in self.names)


def load_gaps(path: str | Path) -> Gaps:
    """The gaps of a schema in a file; a file that cannot be read is an error, as for `Schema.load`."""
    return find_gaps(Schema.text(path), Path(path).parent)


def find_gaps(text: str, folder: Path | None = None) -> Gaps:
    """The gaps of a schema in TOML text; what does not even parse is the only gap then."""
    try:
        document = Schema.parse(text)
    except SchemaError as problem:
        return Gaps((str(problem),), None)
    columns = document.get("columns", {})
    sentences, good, released = [], {}, False
    for name, body in columns.items() if isinstance(columns, dict) else ():
        try:
            released |= column_of(name, body, _policies(document), folder).released
            good[name] = body
        except SchemaError as problem:
            sentences.append(str(problem))
    if not good or (sentences and not released):  # that nothing is released follows from the gaps alone
        return Gaps(tuple(sentences) or _whole(document, folder), None)
    try:
        kept = {key: part for key, part in document.items() if key != "rules" or not sentences}
        schema = Schema.of_document({**kept, "columns": good}, folder)
    except SchemaError as problem:
        # a fault of the rest; that a pattern fits nothing may follow from the gaps alone
        rest = _whole({**document, "columns": good}, folder) if not sentences else (str(problem),)
        return Gaps((*sentences, *rest), None)
    return Gaps(tuple(sentences), schema, tuple(name for name in columns if name not in good))


def _policies(document: dict[str, Any]) -> dict[str, Any]:
    defaults = document.get("defaults", {})
    return defaults if isinstance(defaults, dict) and set(defaults) <= {"missing"} else {}


def _whole(document: dict[str, Any], folder: Path | None) -> tuple[str, ...]:
    try:
        Schema.of_document(document, folder)
    except SchemaError as problem:
        return (str(problem),)
    return ()
