"""A schema under way: declarations as its file holds them, complete or not, and edits that leave the rest as it stands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from gnomon.errors import SchemaError
from gnomon.table import toml
from gnomon.table.codebook import Codebook, alike, read_bound, read_scalar
from gnomon.table.column import Column, takes
from gnomon.table.hints import date_hint, number_hint
from gnomon.table.pattern import is_pattern, matches, winner
from gnomon.table.schema import Schema, column_of

Body = Mapping[str, Any]
HEADER = """\
# Everything in a schema is public: bounds and categories come from public knowledge (a code book, a norm, common sense),
# never from the rows.
"""
LISTS = ("values", "atoms", "true", "false", "missing_values")
FLAGS = ("integer", "log", "ordered", "estimate")
TEXTS = ("unit", "label", "date_format")
_SECTION = re.compile(r"^[ \t]*\[", re.MULTILINE)
_BLANK_TO_FILL = re.compile(r"#\s*(low|high|values|date_format|log|missing)\s*=")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


@dataclass(frozen=True)
class Declaration:
    """What is declared of one column of a table: by its own name, by a pattern, or by nothing."""

    name: str
    by: str | None
    keys: Body
    problem: str | None  # why it cannot be released yet, in a sentence


@dataclass(frozen=True)
class Document:
    """[table], [defaults] and the declarations of columns and patterns, in the order of the file."""

    table: Body
    defaults: Body
    columns: Mapping[str, Body]
    texts: Mapping[str, tuple[Body, str]] = field(
        default_factory=dict, compare=False
    )  # as read, for unchanged parts
    comments: str = HEADER

    @classmethod
    def parse(cls, text: str) -> Document:
        """The document in a TOML text; parts that nobody changes are written again as they were, comments included."""
        document = Schema.parse(text)
        parts = {key: document.get(key, {}) for key in ("table", "defaults", "columns")}
        for key, part in parts.items():
            bodies = part.values() if key == "columns" and isinstance(part, dict) else ()
            if not isinstance(part, dict) or not all(isinstance(body, dict) for body in bodies):
                raise SchemaError("The schema must have tables [table], [defaults] and [columns.<name>].")
        head, texts = _texts(text, document)
        comments = "".join(line for line in head.splitlines(keepends=True) if line.startswith("#"))
        return cls(parts["table"], parts["defaults"], parts["columns"], texts, comments or HEADER)

    def dumps(self) -> str:
        """The TOML text, which `parse` turns back into this document."""
        main = {key: item for key, item in self.table.items() if not isinstance(item, dict)}
        parts = [self.comments + "\nformat = 2\n", self._part("[table]", main, ("table",))]
        for key, item in self.table.items():
            if isinstance(item, dict):
                parts.append(self._part(f"[table.{toml.key(key)}]", item, ("table", key)))
        if self.defaults:
            parts.append(self._part("[defaults]", self.defaults, ("defaults",)))
        for name, body in self.columns.items():
            parts.append(self._part(f"[columns.{toml.key(name)}]", body, ("columns", name)))
        return "\n".join(part.strip("\n") + "\n" for part in parts)

    def _part(self, head: str, body: Body, place: tuple[str, ...]) -> str:
        was, text = self.texts.get("\0".join(place), ({}, ""))
        if text and was == body:
            return text
        kept = [line for line in text.splitlines() if line.startswith("#") and not _BLANK_TO_FILL.match(line)]
        said = (f"{toml.key(key)} = {toml.value(item)}" for key, item in body.items())
        return "\n".join((head, *kept, *said)) + "\n"

    # Asking

    def declaring(self, names: Sequence[str]) -> dict[str, str | None]:
        """For each column of a table, the name or the pattern that declares it."""
        patterns = [name for name in self.columns if is_pattern(name) and name not in set(names)]

        def by(name: str) -> str | None:
            if name in self.columns:
                return name
            try:
                return winner(patterns, name)
            except SchemaError:  # two patterns of one length, which the whole schema is told about
                return next(one for one in patterns if matches(one, name))

        return {name: by(name) for name in names}

    def declarations(
        self,
        names: Sequence[str],
        folder: Path | None = None,
        known: dict[str, tuple[Any, str | None]] | None = None,
    ) -> list[Declaration]:
        """What is declared of each column; `known` keeps the problems of declarations between calls."""
        known = {} if known is None else known
        by = self.declaring(names)
        absent = [name for name in self.columns if name not in by and not is_pattern(name)]
        found = []
        for name in (*names, *absent):
            home = by.get(name, name)
            body = {} if home is None else self.columns[home]
            problem = None if home is None else self._problem(home, body, folder, known)
            if name not in by:
                problem = f"The table has no column {name!r}; correct the name, or remove the declaration."
            found.append(Declaration(name, home, body, problem))
        return found

    def _problem(
        self, name: str, body: Body, folder: Path | None, known: dict[str, tuple[Any, str | None]]
    ) -> str | None:
        state = (body, self.defaults)
        if name in known and known[name][0] == state:
            return known[name][1]
        try:
            column_of(name, body, self.defaults, folder)
            problem = None
        except SchemaError as why:
            problem = str(why)
        known[name] = (state, problem)
        return problem

    def schema(self, folder: Path | None = None) -> Schema:
        """The complete schema, or the first thing that it lacks as an error."""
        return Schema.of_document(
            {"table": self.table, "defaults": self.defaults, "columns": self.columns}, folder
        )

    # Changing

    def edited(self, changes: Mapping[str, Body], table: Sequence[str]) -> Document:
        """With changes to columns of the table, by name: keys to texts, lists or flags, or to None to remove them.

        A pattern all of whose columns change alike changes itself; otherwise a column gets a declaration of its own.
        """
        by, served = self.declaring(table), dict[str, list[str]]()
        for name, home in by.items():
            if home is not None and home != name:
                served.setdefault(home, []).append(name)
        whole = {home: changes[members[0]] for home, members in served.items() if _alike(members, changes)}
        columns, facts = dict(self.columns), dict(self.table)
        for home, given in whole.items():
            columns[home] = _changed(home, columns[home], given)
        for name, given in changes.items():
            home = by.get(name, name)
            if home not in whole:
                columns[name] = _changed(name, self.columns.get(home, {}) if home is not None else {}, given)
        targets = {name for name, given in changes.items() if given.get("role") == "target"}
        for name, body in columns.items():
            if targets and name not in targets and body.get("role") == "target":
                columns[name] = {key: item for key, item in body.items() if key != "role"}
        person = str(facts.get("person"))
        if person in changes and changes[person].get("kind", "identifier") != "identifier":
            facts = {key: item for key, item in facts.items() if key not in ("person", "rows_per_person")}
        return replace(self, table=facts, columns=_ordered(columns, table))

    def with_pattern(self, pattern: str, changes: Mapping[str, Any], table: Sequence[str]) -> Document:
        """With a pattern for all columns that it fits; what they said by their own names goes, but for a target."""
        fitting = [name for name in table if matches(pattern, name)]
        if not is_pattern(pattern) or not fitting:
            raise SchemaError(
                f"The pattern {pattern!r} must hold a star for any text, as in lab_*, and fit a column of the table."
            )
        columns = {
            name: body
            for name, body in self.columns.items()
            if name not in fitting or body.get("role") == "target" or name == self.table.get("person")
        }
        first = next(
            (self.columns[by] for by in (self.declaring(fitting)[name] for name in fitting) if by), {}
        )
        base = {"kind": first.get("kind")} if "kind" in first and "kind" not in changes else {}
        columns[pattern] = _changed(pattern, {**base, **self.columns.get(pattern, {})}, changes)
        return replace(self, table={**self.table, "columns": list(table)}, columns=_ordered(columns, table))

    def with_facts(self, part: str, changes: Mapping[str, Any]) -> Document:
        """With changes to [table], [table.csv], [table.excel] or [defaults]; None removes a key."""
        inner = {"csv": "csv", "excel": "excel"}.get(part)
        if part not in ("table", "csv", "excel", "defaults"):
            raise SchemaError(f"The schema has no part {part!r} to change.")
        old = self.defaults if part == "defaults" else self.table.get(inner, {}) if inner else self.table
        new = {key: item for key, item in {**old, **changes}.items() if item is not None}
        if part == "defaults":
            return replace(self, defaults=new)
        return replace(self, table={**self.table, inner: new} if inner else new)

    def with_person(self, name: str | None, rows: int | None, table: Sequence[str]) -> Document:
        """With a column that tells persons apart, of whom at most `rows` rows are used; or without one."""
        if name is None:
            return self.with_facts("table", {"person": None, "rows_per_person": None})
        found = self.edited({name: {"kind": "identifier", "role": None}}, table)
        return found.with_facts("table", {"person": name, "rows_per_person": rows})

    def with_codebook(self, book: Codebook, table: Sequence[str]) -> tuple[Document, list[str]]:
        """With what a codebook says of columns of the table, and the names of these; what it leaves open stays."""
        by, columns = self.declaring(table), dict(self.columns)
        known = [name for name in table if name in book.entries]
        for name in known:
            said, home = book.entries[name].keys, by[name]
            old = columns[home] if home is not None else {}
            kind = str(said.get("kind", old.get("kind", "category")))
            kept = {key: item for key, item in old.items() if key == "kind" or takes(kind, key)}
            if said.get("values") or "low" in said or "high" in said:
                kept.pop("estimate", None)
            columns[name] = {**kept, **said, "kind": kind}
        return replace(self, columns=_ordered(columns, table)), known

    def with_suggestions(self, names: Iterable[str], table: Sequence[str]) -> tuple[Document, list[str]]:
        """With the bounds that the names of columns suggest, where these have none; and which columns got some."""
        by = self.declaring(table)
        groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for name in names:
            body = self.columns.get(by.get(name) or "", {})
            lacking = [(key, text) for key, text in suggestion(name, body).items() if key not in body]
            if lacking and not body.get("estimate"):
                groups.setdefault(tuple(lacking), []).append(name)
        found = self
        for changes, members in groups.items():
            found = found.edited({name: dict(changes) for name in members}, table)
        return found, [name for members in groups.values() for name in members]

    def without(self, names: Iterable[str]) -> Document:
        """Without the declarations of these names or patterns."""
        gone = set(names)
        return replace(self, columns={name: body for name, body in self.columns.items() if name not in gone})


def suggestion(name: str, body: Body) -> dict[str, str]:
    """The bounds that the words of a name suggest for its kind: public knowledge about words, never a cell."""
    hint = {"number": number_hint, "date": date_hint}.get(str(body.get("kind")), lambda _: None)(name)
    return {} if hint is None else {key: text for key in ("low", "high") if (text := getattr(hint, key))}


def _texts(text: str, document: Mapping[str, Any]) -> tuple[str, dict[str, tuple[Body, str]]]:
    """The text before the first part, and the text of each part that stands in one piece."""
    starts = [match.start() for match in _SECTION.finditer(text)]
    pieces = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    found: dict[str, tuple[Body, str]] = {}
    for piece in pieces:
        try:
            part = Schema.parse(piece)
        except SchemaError:  # an array over several lines, or a text: the parts are written anew
            return text[: starts[0]], {}
        for place, body in _places(part):
            found[place] = (body, piece)
    whole = {place: body for place, body in _places(document)}
    same = all(whole.get(place) == body for place, (body, _) in found.items())
    return (text[: starts[0]] if starts else text), found if same else {}


def _places(document: Mapping[str, Any]) -> Iterable[tuple[str, Body]]:
    table = document.get("table", {})
    main = {key: item for key, item in table.items() if not isinstance(item, dict)}
    if main:
        yield "table", main
    yield from ((f"table\0{key}", item) for key, item in table.items() if isinstance(item, dict))
    if "defaults" in document:
        yield "defaults", document["defaults"]
    yield from ((f"columns\0{name}", body) for name, body in document.get("columns", {}).items())


def _ordered(columns: Mapping[str, Body], table: Sequence[str]) -> dict[str, Body]:
    """New declarations where the table has their columns, so that the file stays easy to read."""
    place = {name: i for i, name in enumerate(table)}
    patterns = {
        name: min((place[one] for one in table if matches(name, one)), default=-1)
        for name in columns
        if is_pattern(name) and name not in place
    }
    last = len(place)
    return dict(sorted(columns.items(), key=lambda item: place.get(item[0], patterns.get(item[0], last))))


def _changed(name: str, body: Body, changes: Mapping[str, Any]) -> dict[str, Any]:
    kind = changes.get("kind") or body.get("kind") or "category"
    if kind not in ("number", "category", "boolean", "date", "identifier", "ignored"):
        raise SchemaError(
            f"The kind of column {name!r} must be number, category, boolean, date, identifier or ignored."
        )
    found = {key: item for key, item in body.items() if takes(kind, key) or key == "values_file"}
    if kind != "category":
        found.pop("values_file", None)
    for key, item in changes.items():
        if key == "kind":
            continue
        if item is None or item in ("", [], False):
            found.pop(key, None)
            continue
        if key not in Column.model_fields or not takes(kind, key):
            raise SchemaError(
                f"The column {name!r} is of kind {kind}, which takes no {key!r}; change its kind first."
            )
        found[key] = _read(name, key, item)
        for other in _INSTEAD.get(key, ()):
            found.pop(other, None)
    if found.get("missing") != "fill":
        found.pop("fill", None)
    if found.get("role") == "target" and found.get("missing") == "indicator":
        found.pop("missing")
    order = [key for key in (*Column.model_fields, "values_file") if key in found]
    return {"kind": kind, **{key: found[key] for key in order if key not in ("kind", "name")}}


_INSTEAD = {  # what a key takes the place of
    "estimate": ("low", "high", "log", "atoms", "values", "values_file"),
    "low": ("estimate",),
    "high": ("estimate",),
    "values": ("estimate", "values_file"),
}


def _alike(members: Sequence[str], changes: Mapping[str, Body]) -> bool:
    """Whether all columns of a pattern change, and alike; a role is one column's own."""
    first = changes.get(members[0])
    return first is not None and "role" not in first and all(changes.get(name) == first for name in members)


def _read(name: str, key: str, item: Any) -> Any:
    """A key's value from what a form or a spreadsheet holds: text, a list of texts, or a flag."""
    if key in FLAGS:
        return item is True or str(item).strip().lower() in ("true", "yes", "1")
    if key in LISTS:
        texts = [str(part).strip() for part in (item if isinstance(item, list) else str(item).split("|"))]
        read = [read_scalar(text) for text in texts if text]
        if key == "atoms":
            return [_number(name, key, str(part)) for part in read]
        return alike(read)
    text = str(item).strip()
    if key in TEXTS or key in ("missing", "role"):
        return text
    if key in ("low", "high"):
        return _number(name, key, text)
    return {"true": True, "false": False}.get(text.lower(), _scalar_or_date(text))  # fill and other


def _number(name: str, key: str, text: str) -> Any:
    if _THOUSANDS.fullmatch(text):
        raise SchemaError(
            f"The {key} of column {name!r} can be read in two ways. Got {text!r}; write 1000 or 1.0."
        )
    read = read_bound(text, key, name, "The entry")
    if isinstance(read, float) and not math.isfinite(read):
        raise SchemaError(f"The {key} of column {name!r} must be a finite number. Got {text!r} instead.")
    return read


def _scalar_or_date(text: str) -> Any:
    try:
        return date.fromisoformat(text) if len(text) == 10 else read_scalar(text)
    except ValueError:
        return read_scalar(text)
