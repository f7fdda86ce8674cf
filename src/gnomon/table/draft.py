"""The draft of a schema: what names, types and the form of a file tell, and what the custodian still has to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from gnomon.errors import SchemaError
from gnomon.table import hints, toml
from gnomon.table.codebook import Codebook, Entry, of_sdv
from gnomon.table.column import Column
from gnomon.table.gaps import find_gaps
from gnomon.table.looked import Looked, look_at
from gnomon.table.pattern import is_pattern
from gnomon.table.schema import Schema
from gnomon.table.sniff import Look
from gnomon.table.stems import by_pattern

_HEADER = """\
# A draft. It comes from the names and types of the columns and the form of the file. No bound and no category was
# taken from the rows, because everything in a schema is public. Lines that begin with "# low", "# high" or "# values"
# are for you to complete, from public knowledge (a code book, a norm, common sense):
#   number, date   low and high: the range that could occur; cells outside are clipped to it
#   category       values: every category that could occur; other = one of them that takes the rest
#   0 and 1 only   kind = "boolean", which needs nothing else
#   any column     missing = "refuse" | "fill" (with fill = a value) | "indicator"
#   one column     role = "target": what a model will learn to predict
#   keys, names    kind = "identifier"; columns that nobody needs: kind = "ignored"
#   [table]        person = "an identifier" and rows_per_person = k, where a person can have several rows
"""
_ESTIMATE = "or estimate = true, which pays for a private estimate"


class Draft(str):
    """The TOML text of a schema that somebody still has to complete, in an editor or with `fill`.

    Examples
    --------
    >>> import pandas as pd
    >>> from gnomon import Schema
    >>> draft = Schema.draft(pd.DataFrame({"age": [41, 67], "ward": ["north", "south"]}))
    >>> len(draft.gaps())
    2
    >>> draft.fill({"age": (0, 110), "ward": ["north", "south"]})["ward"].values
    ('north', 'south')
    """

    names: tuple[str, ...] = ()  # of the columns
    remarks: tuple[str, ...] = ()  # sentences: what was chosen, for the custodian to confirm

    def save(self, path: str | Path) -> None:
        """Write the text to a file, to be edited.

        Parameters
        ----------
        path : the file.
        """
        Path(path).write_text(self, encoding="utf-8", newline="\n")

    def gaps(self) -> tuple[str, ...]:
        """What is still open, one sentence each."""
        return find_gaps(self).sentences

    def fill(self, columns: Mapping[str, Any], **table: Any) -> Schema:
        """The schema with what was left open.

        A pair is (low, high), a list or tuple of another length or of text the categories, a text the kind, and a
        mapping any keys; the names may be patterns of the draft. Further arguments go to [table].

        Parameters
        ----------
        columns : what is left open, by column or pattern.
        table : keys of [table].
        """
        document = Schema.parse(self)
        for name, given in columns.items():
            if name not in document["columns"] and name not in document.get("table", {}).get("columns", ()):
                raise SchemaError(f"The draft has no column {name!r}; check the name.")
            document["columns"].setdefault(name, {}).update(_keys(given))
        document.setdefault("table", {}).update(table)
        return Schema.of_document(document)


def _keys(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, str):
        return {"kind": given}
    values: Sequence[Any] = tuple(given)
    bounds = len(values) == 2 and all(isinstance(value, int | float | date) for value in values)
    return {"low": values[0], "high": values[1]} if bounds else {"values": list(values), "kind": "category"}


@dataclass(frozen=True)
class Block:
    """One [columns.<name>]: keys that are said, lines that are left open, and comments above them."""

    keys: tuple[tuple[str, Any], ...]
    open: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        lines = [f"[columns.{toml.key(name)}]", *(f"# {note}" for note in self.notes)]
        lines += [f"{key} = {toml.value(item)}" for key, item in self.keys]
        return "\n".join((*lines, *self.open)) + "\n"


def draft(table: Any, codebook: Codebook | None = None, public: Codebook | None = None) -> Draft:
    """The draft of a table; it parses, and loading it says which column still needs what.

    `codebook` and what was learned from a `public` table fill in bounds, categories and labels.
    """
    looked = look_at(table)
    blocks = {name: _block(name, look, _known(name, codebook, public)) for name, look in looked.looks.items()}
    remarks = [*_form_remarks(looked), *_left_out(blocks, looked)]
    for known in (codebook, public):
        if known is not None:
            remarks.append(_coverage(known, list(blocks)))
    if public is not None:
        remarks.append(
            f"Bounds and categories of {public.label} will be published: go on only if anybody may see them."
        )
    notes = (
        []
        if public is None
        else [f"# Bounds and categories were learned from {public.label}, which needs no protection:"]
    )
    notes += [] if public is None else ["# widen them where your own table could hold more."]
    form = _form_lines(looked, codebook)
    return _written(looked.source.title, blocks, form, notes, remarks)


def of_codebook(codebook: Codebook) -> Draft:
    """A draft without a table, from what a codebook says about columns."""
    blocks = {name: _block(name, Look("empty"), entry) for name, entry in codebook.entries.items()}
    return _written(codebook.name, blocks, [], [], [])


def _known(name: str, *books: Codebook | None) -> Entry | None:
    """What the first book that knows the column says, and a later one where that leaves something open."""
    found = [book.entries[name] for book in books if book is not None and name in book.entries]
    if len(found) < 2:
        return found[0] if found else None
    first, second = found
    kind = first.keys.get("kind", second.keys.get("kind"))
    more = second.keys if second.keys.get("kind") == kind else {}
    return Entry({**more, **first.keys}, first.notes or second.notes)


def _block(name: str, look: Look, known: Entry | None) -> Block:
    keys: dict[str, Any] = {} if known is None else dict(known.keys)
    notes = [] if known is None else list(known.notes)
    if "kind" not in keys:
        kind, note = _kind(name, look)
        keys = {**keys, "kind": kind}
        notes += [note] if note else []
        if kind in ("identifier", "ignored"):
            keys = {key: item for key, item in keys.items() if key in ("kind", "label")}
    if keys["kind"] == "number" and look.kind == "integer" and not _fraction(keys):
        keys.setdefault("integer", True)
    marks = [mark for mark in look.marks if mark not in keys.get("values", ())]
    if marks and keys["kind"] not in ("identifier", "ignored"):
        keys.setdefault("missing_values", marks)
    left = []
    if keys["kind"] == "date" and look.date_formats and "date_format" not in keys:
        if len(look.date_formats) == 1:
            keys["date_format"] = look.date_formats[0]
        else:
            first, second = (toml.value(pattern) for pattern in look.date_formats[:2])
            left.append(f"# date_format = {first}  # or {second}: the first cells fit both")
    left += _open(name, keys)
    order = [key for key in ("kind", *Column.model_fields) if key in keys]
    said = tuple((key, _hashable(keys[key])) for key in dict.fromkeys(order))
    if not left:
        Column(**{**keys, "name": name})  # a codebook that contradicts itself says so here
    return Block(said, tuple(left), tuple(notes))


def _fraction(keys: Mapping[str, Any]) -> bool:
    return any(isinstance(keys.get(key), float) and not keys[key].is_integer() for key in ("low", "high"))


def _hashable(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item


def _kind(name: str, look: Look) -> tuple[str, str]:
    """The kind that a column is drafted as, and why where it is left out of a release."""
    if look.kind in ("integer", "category", "free text", "empty") and hints.is_key(name):
        return "identifier", "by its name; another kind releases it"
    if look.kind in ("category", "free text") and hints.is_remark(name):
        return "ignored", "free text, by its name: it cannot be released"
    if look.kind == "free text":
        return (
            "ignored",
            'free text: it cannot be released; as categories, write kind = "category" and values',
        )
    if look.kind == "other":
        return "ignored", "cells of this type cannot be released"
    return {"integer": "number", "empty": "category"}.get(look.kind, look.kind), ""


def _open(name: str, keys: Mapping[str, Any]) -> list[str]:
    kind = keys["kind"]
    if kind == "category" and "values" not in keys and "estimate" not in keys:
        return [
            '# values = ["", ""]  # or values_file = "codes.csv", or estimate = true; a key or a name is an identifier'
        ]
    if kind not in ("number", "date") or "estimate" in keys:
        return []
    hint = hints.number_hint(name) if kind == "number" else hints.date_hint(name)
    lines = []
    for key in ("low", "high"):
        if key in keys:
            continue
        suggested = "" if hint is None else getattr(hint, key)
        why = ""
        if hint is not None and key == "low":
            why = hint.why
        elif key == "high" and not suggested:
            why = _ESTIMATE if kind == "number" else "as in 2020-12-31, or 2020-12-31T23:59:59"
        lines.append(f"# {key} = {suggested}" + (f"  # {why}" if why else ""))
    return [*lines, *(hint.more if hint is not None and lines and "log" not in keys else ())]


# The text


def _written(
    title: str, blocks: Mapping[str, Block], form: list[str], notes: list[str], remarks: Sequence[str]
) -> Draft:
    grouped = by_pattern(blocks)
    table = ["[table]", f"name = {toml.value(title)}"]
    if any(is_pattern(name) for name in grouped):
        table.append(_listed(list(blocks)))
    rule = '[defaults]\n# missing = "indicator"  # where cells may be missing: that they are is released too'
    parts = [_HEADER + "\n".join(notes), "format = 2", "\n".join(table), *form, rule]
    texts = []
    for name, members in grouped.items():
        block = blocks[members[0]]
        if is_pattern(name) and name not in blocks:
            block = Block(block.keys, block.open, (f"{len(members)} columns", *block.notes))
        texts.append(block.text(name))
    found = Draft("\n\n".join(part.strip("\n") for part in (*parts, *texts)) + "\n")
    found.names, found.remarks = tuple(blocks), tuple(remarks)
    return found


def _listed(names: list[str]) -> str:
    """The names of the columns in lines that an editor shows whole."""
    lines, line = [], ""
    for name in map(toml.value, names):
        if line and len(line) + len(name) > 100:
            lines.append(line)
            line = ""
        line += f" {name}," if line else f"  {name},"
    return "\n".join(("columns = [", *lines, line, "]"))


def _form_lines(looked: Looked, codebook: Codebook | None) -> list[str]:
    lines = []
    if looked.form is not None:
        said = dict(looked.form.said())
        if codebook is not None:  # the file itself tells its delimiter and encoding better
            more = {key: item for key, item in codebook.form.items() if key in ("quote", "missing_values")}
            marks = (*said.get("missing_values", ()), *more.get("missing_values", ()))
            said = {**more, **said, **({"missing_values": tuple(dict.fromkeys(marks))} if marks else {})}
        if said:
            body = [f"{key} = {toml.value(item)}" for key, item in said.items()]
            lines.append("\n".join(("[table.csv]  # the form of the file, to be confirmed", *body)))
    sheets = getattr(looked.source, "sheets", [])
    if len(sheets) > 1:
        lines.append(f"[table.excel]\nsheet = {toml.value(sheets[0])}  # the first of {len(sheets)}")
    return lines


def _form_remarks(looked: Looked) -> list[str]:
    said = [] if looked.form is None else looked.form.said()
    if not said:
        return []
    shown = ", ".join(f"{key} = {toml.value(item)}" for key, item in said)
    return [f"The form of the file, which you confirm under [table.csv]: {shown}."]


def _left_out(blocks: Mapping[str, Block], looked: Looked) -> list[str]:
    remarks = []
    for kind, why in (
        ("identifier", "as keys, by their names"),
        ("ignored", "as free text or cells that cannot be released"),
    ):
        names = [name for name, block in blocks.items() if dict(block.keys)["kind"] == kind]
        if names:
            remarks.append(f"Left out {why}: {', '.join(names)}.")
    return remarks


def _coverage(book: Codebook, names: list[str]) -> str:
    known = [name for name in names if name in book.entries]
    lacking = [name for name in names if name not in book.entries]
    label = book.label[0].upper() + book.label[1:]
    said = f"{label} describes {len(known)} of {len(names)} columns"
    return (
        f"{said}; it lacks {', '.join(lacking[:5])}{' and more' if len(lacking) > 5 else ''}."
        if lacking
        else f"{said}."
    )


__all__ = ["Block", "Draft", "draft", "of_codebook"]


def from_sdv(metadata: Any) -> Draft:
    """A draft from SDV metadata: an object, a dict or a JSON file."""
    return of_codebook(of_sdv(metadata))
