"""Codebooks: what is publicly known about the columns of a table, in the forms in which people already have it.

A CSV with a line per column, a Frictionless Table Schema (or data package), SDV metadata, or Croissant JSON-LD.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from gnomon.errors import SchemaError
from gnomon.table.base import reading
from gnomon.table.column import Scalar
from gnomon.table.convert import FALSE, TRUE
from gnomon.table.sniff import sniff

_LARGEST = 2**26  # bytes
_KINDS = {
    "number": "number numeric numerical float double decimal real continuous",
    "integer": "integer int int8 int16 int32 int64 long count discrete year",
    "category": "category categorical string text str factor nominal enum enumeration",
    "ordered": "ordinal ordered",
    "boolean": "boolean bool binary logical flag yes/no",
    "date": "date datetime timestamp time dates",
    "identifier": "identifier id key pii",
    "ignored": "ignored ignore skip freetext free-text",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_HEADS = {
    "name": "name variable column field variable_name",
    "kind": "kind type datatype data_type",
    "low": "low min minimum lower",
    "high": "high max maximum upper",
    "values": "values categories levels codes",
    "label": "label description title",
    "missing": "missing missing_values na",
    "unit": "unit units",
    "role": "role",
}
_HEAD_OF = {word: head for head, words in _HEADS.items() for word in words.split()}


@dataclass(frozen=True)
class Entry:
    """What is known of a column: keys of a schema, as far as they go, and comments."""

    keys: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Codebook:
    """The entries by column, what is said of the text file as a whole, and how a draft calls it."""

    label: str
    entries: dict[str, Entry]
    form: dict[str, Any] = field(default_factory=dict)
    name: str = "table"


def read_codebook(path: Path) -> Codebook:
    """The codebook in a file, by what it holds."""
    label = f"The codebook {str(path)!r}"
    with reading(label):
        if not path.is_file():
            raise SchemaError(f"{label} does not exist; check the path.")
        if path.stat().st_size > _LARGEST:
            raise SchemaError(f"{label} is longer than {_LARGEST} bytes, which no codebook is.")
        if path.suffix.lower() not in (".json", ".jsonld"):
            return _of_csv(path, label)
        try:
            document = json.loads(path.read_text(encoding="utf-8-sig"))
        except (ValueError, RecursionError):
            raise SchemaError(f"{label} does not parse as JSON; repair it.") from None
    return of_document(document, label)


def of_document(document: Any, label: str) -> Codebook:
    """The codebook in a JSON document."""
    if isinstance(document, dict):
        if "recordSet" in document:
            return _guarded(_of_croissant, document, label)
        if "fields" in document or "resources" in document or isinstance(document.get("schema"), dict):
            return _guarded(_of_frictionless, document, label)
        if "columns" in document or "tables" in document:
            return _guarded(_of_sdv, document, label)
    raise SchemaError(
        f"{label} is of no known form; give a CSV with a column 'name', a Frictionless Table Schema, SDV metadata or "
        "Croissant JSON-LD."
    )


def of_sdv(metadata: Any) -> Codebook:
    """The codebook in SDV metadata: an object of SDV, its dict, or the path of its JSON file."""
    if isinstance(metadata, str | Path):
        return read_codebook(Path(metadata))
    document = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
    if not isinstance(document, dict) or not ("columns" in document or "tables" in document):
        raise SchemaError(
            "The SDV metadata must have columns or tables; give a Metadata object, its dict or its file."
        )
    return _guarded(_of_sdv, document, "The SDV metadata")


def _guarded(
    read: Callable[[dict[str, Any], str], Codebook], document: dict[str, Any], label: str
) -> Codebook:
    """A document from elsewhere may have any shape where its form promises another."""
    try:
        found = read(document, label)
    except (AttributeError, KeyError, TypeError, IndexError):
        raise SchemaError(f"{label} lacks what its form promises; check that it is complete.") from None
    if not found.entries:
        raise SchemaError(f"{label} describes no column; check that it is the right file.")
    return found


# A CSV with a line per column


def _of_csv(path: Path, label: str) -> Codebook:
    form = sniff(path) or sniff(path.with_suffix(".csv"))
    if form is None:
        raise SchemaError(f"{label} must be .csv, .tsv, .txt or .json; save it as one of them.")
    text = path.read_text(encoding="utf-8-sig" if form.encoding == "utf-8" else form.encoding)
    return of_lines(text, form.delimiter, label, path.stem)


def of_lines(text: str, delimiter: str, label: str, title: str = "table") -> Codebook:
    """The codebook in delimited text: a header, then a line per column."""
    try:
        return _of_rows(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter), label, title)
    except csv.Error:
        raise SchemaError(f"{label} is not delimited text; save it as CSV or tab-separated text.") from None


def _of_rows(rows: csv.DictReader[str], label: str, title: str) -> Codebook:
    heads = {head: _HEAD_OF.get(head.strip().lower().replace(" ", "_")) for head in rows.fieldnames or []}
    if "name" not in heads.values():
        raise SchemaError(
            f"{label} has no column 'name'; its header may have {', '.join(_HEADS)}, and needs name."
        )
    entries = {}
    for row in rows:
        said = {
            heads[head]: cell.strip() for head, cell in row.items() if head in heads and cell and cell.strip()
        }
        name = said.get("name")
        if name:
            if name in entries:
                raise SchemaError(f"{label} describes the column {name!r} more than once; keep one line.")
            entries[name] = _entry(name, said, label)
    if not entries:
        raise SchemaError(f"{label} describes no column; check that it is the right file.")
    return Codebook(label, entries, name=title)


def _entry(name: str, said: Mapping[str | None, str], label: str) -> Entry:
    keys = _kind_keys(said.get("kind"), name, label)
    values = _parts(said.get("values", ""))
    bounds = {key: read_bound(said[key], key, name, label) for key in ("low", "high") if key in said}
    missing = said.get("missing", "")
    if missing.lower() in ("refuse", "fill", "indicator"):
        keys["missing"] = missing.lower()
    elif missing:
        keys["missing_values"] = [read_scalar(part) for part, _ in _parts(missing)]
        keys["missing"] = "indicator"
    keys.update({key: said[key] for key in ("label", "unit", "role") if key in said})
    return entry_of(keys, bounds, [(read_scalar(code), meaning) for code, meaning in values])


def _kind_keys(word: str | None, name: str, label: str) -> dict[str, Any]:
    if word is None:
        return {}
    kind = _KIND_OF.get(word.strip().lower())
    if kind is None:
        raise SchemaError(
            f"{label} gives the column {name!r} an unknown kind; write one of number, integer, category, ordinal, "
            "boolean, date, identifier or ignored."
        )
    if kind == "integer":
        return {"kind": "number", "integer": True}
    return {"kind": "category", "ordered": True} if kind == "ordered" else {"kind": kind}


def entry_of(
    keys: dict[str, Any], bounds: Mapping[str, Scalar], values: Sequence[tuple[Scalar, str | None]]
) -> Entry:
    """The entry that kind, bounds and values make together: codes with meanings are categories, or true and false."""
    found = dict(keys)
    notes: tuple[str, ...] = ()
    if values:
        shown = [f"{code} = {meaning}" for code, meaning in values if meaning]
        notes = (", ".join(shown),) if shown else ()
        words = {str(meaning or code).lower(): code for code, meaning in values}
        if found.get("kind") == "boolean" and len(values) == 2 and set(words) <= {*TRUE, *FALSE}:
            yes = [code for word, code in words.items() if word in TRUE]
            no = [code for word, code in words.items() if word in FALSE]
            if any(str(code).lower() not in (*TRUE, *FALSE) for code in (*yes, *no)):
                found.update(true=yes, false=no)
        else:
            found = {key: item for key, item in found.items() if key != "integer"}
            found.update(kind="category", values=alike([code for code, _ in values]))
    elif bounds:
        some = next(iter(bounds.values()))
        found.setdefault("kind", "date" if isinstance(some, date) else "number")
    if found.get("kind") in ("number", "date"):
        found.update(bounds)
    if found.get("kind") in ("identifier", "ignored"):
        found = {key: item for key, item in found.items() if key in ("kind", "label")}
    if found.get("kind") not in ("number", "category", None):
        found.pop("unit", None)
    if found.get("role") == "target" and found.get("missing") == "indicator":
        del found["missing"]
    return Entry(found, notes)


def alike(values: list[Scalar]) -> list[Scalar]:
    """All numbers or all text, as a category declares them."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    booleans = all(isinstance(value, bool) for value in values)
    return values if numbers or booleans else [str(value) for value in values]


def _parts(text: str) -> list[tuple[str, str | None]]:
    """Values apart, each with its meaning where it has one: 1=male|2=female."""
    sign = next((sign for sign in "|;,\n" if sign in text), "|")
    parts = (part.strip() for part in text.split(sign))
    pairs = (part.partition("=") for part in parts if part)
    return [(code.strip(), meaning.strip() or None) for code, _, meaning in pairs]


def read_scalar(text: str) -> Scalar:
    """A category as it is written: a number where it is one, text where a leading zero says that it is a code."""
    if re.fullmatch(r"-?(0|[1-9]\d{0,17})", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?(0|[1-9]\d*)\.\d+", text) else text


def read_bound(text: str, key: str, name: str, label: str) -> Scalar:
    """A bound as it is written: a number, a date or a time."""
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    plain = text.replace(",", ".") if re.fullmatch(r"[+-]?\d+,\d+", text) else text
    for read in (float, date.fromisoformat, datetime.fromisoformat):
        try:
            return read(plain)
        except ValueError:
            continue
    raise SchemaError(
        f"{label} gives the column {name!r} a {key} that is neither a number nor a date; correct it."
    )


# Frictionless Table Schema, or a data package with one


def _of_frictionless(document: dict[str, Any], label: str) -> Codebook:
    resource = document["resources"][0] if "resources" in document else document
    schema = resource["schema"] if isinstance(resource.get("schema"), dict) else resource
    key = schema.get("primaryKey", [])
    keys = {key} if isinstance(key, str) else set(key)
    entries = {}
    for item in schema["fields"]:
        name, rules = str(item["name"]), item.get("constraints", {})
        found = _kind_keys(_FRICTIONLESS.get(item.get("type", "any"), "ignored"), name, label)
        if not found["kind"] or name in keys:
            found = {"kind": "identifier"} if name in keys else {}
        if "title" in item or "description" in item:
            found["label"] = str(item.get("title") or item["description"])
        if found.get("kind") == "boolean" and "trueValues" in item and "falseValues" in item:
            found.update(true=item["trueValues"], false=item["falseValues"])
        if found.get("kind") == "date" and str(item.get("format", "default")).startswith("%"):
            found["date_format"] = item["format"]
        bounds = {}
        for ours, theirs in (("low", "minimum"), ("high", "maximum")):
            if theirs in rules:
                bounds[ours] = read_bound(str(rules[theirs]), ours, name, label)
        values = rules.get("enum") or [
            one["value"] if isinstance(one, dict) else one for one in item.get("categories", [])
        ]
        entries[name] = entry_of(found, bounds, [(value, None) for value in values])
    form = {ours: dialect for ours, dialect in _dialect(resource).items() if dialect}
    blanks = [mark for mark in schema.get("missingValues", []) if mark]
    return Codebook(label, entries, {**form, **({"missing_values": blanks} if blanks else {})})


_FRICTIONLESS = {
    "integer": "integer",
    "year": "integer",
    "number": "number",
    "string": "category",
    "boolean": "boolean",
    "date": "date",
    "datetime": "date",
    "any": "category",
}


def _dialect(resource: dict[str, Any]) -> dict[str, Any]:
    dialect = resource.get("dialect", {})
    return {
        "delimiter": dialect.get("delimiter"),
        "quote": dialect.get("quoteChar"),
        "encoding": resource.get("encoding"),
    }


# SDV metadata


def _of_sdv(document: dict[str, Any], label: str) -> Codebook:
    name, table = next(iter(document["tables"].items())) if "tables" in document else ("table", document)
    keys = {table.get("primary_key"), table.get("sequence_key")}
    entries = {}
    for column, item in table["columns"].items():
        said = item.get("sdtype", "unknown")
        if column in keys or item.get("pii") or said not in _SDV:
            entries[column] = Entry({"kind": "identifier"}, (f"by the metadata: {said}",))
            continue
        found: dict[str, Any] = dict(_SDV[said])
        if said == "numerical" and str(item.get("computer_representation", "")).startswith(("Int", "UInt")):
            found["integer"] = True
        written = item.get("datetime_format")
        if said == "datetime" and written and not written.startswith("%Y-%m-%d"):
            found["date_format"] = written
        order = item.get("order")
        values = [(value, None) for value in order] if isinstance(order, list) else []
        entries[column] = entry_of({**found, **({"ordered": True} if values else {})}, {}, values)
    return Codebook(label, entries, name=str(name))


_SDV: dict[str, dict[str, Any]] = {
    "numerical": {"kind": "number"},
    "categorical": {"kind": "category"},
    "boolean": {"kind": "boolean"},
    "datetime": {"kind": "date"},
}


# Croissant


def _of_croissant(document: dict[str, Any], label: str) -> Codebook:
    sets = {str(one.get("@id") or one.get("name")): one for one in document["recordSet"]}
    listed = {key: one for key, one in sets.items() if "data" in one}
    entries = {}
    for home, one in sets.items():
        if "data" in one:
            continue  # a list of categories that fields of others refer to
        for item in one.get("field", []):
            name = str(item.get("name") or item["@id"]).removeprefix(f"{home}/")
            word = (
                next(iter(_texts(item.get("dataType", ""))), "").rpartition(":")[2].rpartition("/")[2].lower()
            )
            found = _kind_keys(_KIND_OF.get(word, "category"), name, label)
            if "description" in item:
                found["label"] = str(item["description"])
            bounds = {
                ours: read_bound(str(item[theirs]), ours, name, label)
                for ours, theirs in (("low", "minValue"), ("high", "maxValue"))
                if theirs in item
            }
            values = _referred(item.get("references"), listed)
            if found["kind"] != "category" and not (found["kind"] == "number" and values):
                values = []
            entries[name] = entry_of(found, bounds, [(value, None) for value in values])
    return Codebook(label, entries, name=str(document.get("name", "table")))


def _texts(item: Any) -> Iterable[str]:
    return [str(one) for one in item] if isinstance(item, list) else [str(item)]


def _referred(reference: Any, listed: Mapping[str, Any]) -> list[Scalar]:
    """The values of the enumeration that a field refers to."""
    if not isinstance(reference, dict):
        return []
    target = reference.get("@id") or reference.get("field", {}).get("@id", "")
    home, _, key = str(target).rpartition("/")
    data = listed[home]["data"] if home in listed else []
    return [row[at] for row in data for at in (f"{home}/{key}", key) if at in row]
