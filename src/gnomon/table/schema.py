"""The declared table: the only source of public knowledge about columns, bounds and categories."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gnomon.errors import SchemaError, columns_instead
from gnomon.table import toml
from gnomon.table.column import Column, Kind, Scalar, value_key
from gnomon.table.form import TextForm
from gnomon.table.mend import Mender
from gnomon.table.pattern import assign, is_pattern
from gnomon.table.rows import MOST_ROWS
from gnomon.table.rules import read_rules
from gnomon.table.values_file import read_values

__all__ = ["Column", "Kind", "Scalar", "Schema"]

FORMAT = 2
POLICIES = ("missing",)  # what [defaults] may hold: rules for cells, never bounds
LARGEST = 2**24  # characters of a schema that somebody sends
OTHER = "other"  # the category of rows whose own was too rare to be found
MOST_PER_PERSON = 2**16
_TABLE = {  # the keys of [table]
    "name": "text",
    "account": "text",
    "rows": f"a whole number from 1 to {MOST_ROWS}, a public order of magnitude",
    "person": "the name of an identifier column",
    "rows_per_person": f"a whole number from 1 to {MOST_PER_PERSON}",
}
# The parser's time grows with the square of the dots in a key, and a schema's keys have one.
_DOTTED = re.compile(
    r"""(?:^|[\[{,])[ \t]*(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){16}""", re.MULTILINE
)


class Schema(BaseModel):
    """Columns in order, at most one of them the target; at least one is released.

    Attributes
    ----------
    name : the title of report and certificate.
    account : the budget account that releases draw on; by default the name.
    rows : a public order of magnitude, needed where the number of rows is private.
    person : the column that names the person, who is then protected with all rows.
    rows_per_person : how many rows of a person are used at most; needed with `person`.
    columns : the columns in order, each a `Column`.
    patterns : columns with a star in their name, which stand for many.
    csv : the form of a text file.
    sheet : the sheet of a workbook.
    rules : what columns keep together, as the reference of the schema describes.

    Examples
    --------
    >>> age = Column(name="age", kind="number", low=0, high=110)
    >>> ward = Column(name="ward", kind="category", values=("north", "south"), role="target")
    >>> schema = Schema(name="ward", columns=(age, ward))
    >>> schema["age"].high, schema.target.name, [column.name for column in schema.features]
    (110, 'ward', ['age'])
    >>> Schema.loads(schema.dumps()) == schema
    True
    >>> Schema.of_arrays(2, bounds=(0, 1), classes=[0, 1]).target.values
    (0, 1)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = "table"
    account: str | None = None  # of the budget that releases draw on
    rows: int | None = Field(
        default=None, strict=True
    )  # a public order of magnitude, where their number is private
    person: str | None = None  # the identifier column whose rows are protected together
    rows_per_person: int | None = Field(default=None, strict=True)  # no more rows of a person are used
    columns: tuple[Column, ...]
    patterns: tuple[Column, ...] = ()  # declarations that wait for the names of a table's columns
    csv: TextForm | None = None  # the form of the text file that the table is in
    sheet: str | None = None  # of the workbook that the table is in
    rules: tuple[Any, ...] = ()  # of kind `Rule`: what every released row keeps

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            wrong = str(error.errors()[0]["loc"][0])
            if wrong in _TABLE:
                raise SchemaError(
                    f"The {wrong} of the [table] in the schema must be {_TABLE[wrong]}. Got {data[wrong]!r} instead."
                ) from None
            raise SchemaError(
                f"The {wrong!r} of the schema cannot be used; it has a name and columns."
            ) from None

    @model_validator(mode="after")
    def _consistent(self) -> Schema:
        names = [column.name for column in self.columns]
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        if twice:
            raise SchemaError(
                f"The schema declares the column {twice[0]!r} more than once; keep one of them."
            )
        targets = [column.name for column in self.columns if column.role == "target"]
        if len(targets) > 1:
            raise SchemaError(
                f"The schema has the targets {', '.join(map(repr, targets))}; keep one of them."
            )
        if not any(column.released for column in (*self.columns, *self.patterns)):
            raise SchemaError("The schema releases no column; declare one that is not identifier or ignored.")
        _check_rows(self)
        _check_persons(self)
        if self.rules and not self.patterns:  # which rules contradict each other is said at once
            Mender.of(self.columns, self.rules)
        return self

    # Reading and writing

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema in a TOML file.

        Parameters
        ----------
        path : the file.
        """
        return cls.loads(cls.text(path), Path(path).parent)

    @staticmethod
    def text(path: str | Path) -> str:
        """The text of a schema's file, unparsed."""
        try:
            with Path(path).open(encoding="utf-8") as file:
                return file.read(LARGEST + 1)
        except FileNotFoundError:
            raise SchemaError(
                f"The schema {str(path)!r} does not exist; check the path, or draft one with `gnomon init`."
            ) from None
        except UnicodeDecodeError:
            raise SchemaError(f"The schema {str(path)!r} is not UTF-8 text; save it as UTF-8.") from None
        except OSError as error:
            raise SchemaError(f"The schema {str(path)!r} cannot be read ({error.strerror}).") from None

    @classmethod
    def loads(cls, text: str, folder: Path | None = None) -> Schema:
        """The schema in a TOML text: [table] with its name and one [columns.NAME] per column or pattern.

        `folder` is where the files that the schema names lie.

        Parameters
        ----------
        text : the TOML text.
        """
        return cls.of_document(cls.parse(text), folder)

    @staticmethod
    def parse(text: str) -> dict[str, Any]:
        """The TOML of a schema as it stands, unchecked but for its size and depth."""
        if len(text) > LARGEST:
            raise SchemaError(f"The schema is longer than {LARGEST} characters, which no schema is.")
        if _DOTTED.search(text):
            raise SchemaError("The schema nests its keys far deeper than [columns.<name>]; write them so.")
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"The schema does not parse as TOML: {error}; repair that place.") from None
        except (ValueError, RecursionError):
            raise SchemaError(
                "The schema does not parse as TOML: it nests too deep or holds a number of too many digits; "
                "repair it."
            ) from None

    @classmethod
    def of_document(cls, document: Mapping[str, Any], folder: Path | None = None) -> Schema:
        """The schema in a parsed document; its patterns are expanded if [table] lists the names of the columns."""
        table, bodies = _parts(document)
        given = list(_columns(bodies, document.get("defaults", {}), folder))
        listed = table.get("columns")
        waiting = {c.name for c in given if is_pattern(c.name) and c.name not in (listed or ())}
        exact = [column for column in given if column.name not in waiting]
        found = cls(
            **{"name": "table", **{key: item for key, item in table.items() if key in _TABLE}},
            columns=tuple(exact),
            patterns=tuple(column for column in given if column.name in waiting),
            csv=TextForm(**table["csv"]) if "csv" in table else None,
            sheet=table.get("excel", {}).get("sheet"),
            rules=read_rules(document.get("rules", []), folder),
        )
        if listed is None:
            return found
        known = set(listed)
        unlisted = [column.name for column in exact if column.name not in known]
        if unlisted:
            raise SchemaError(
                f"The schema declares the column {unlisted[0]!r}, which the columns of its [table] lack; "
                "add it there, or remove it."
            )
        return found.expand(listed)

    def expand(self, names: Sequence[str]) -> Schema:
        """The schema for a table with these columns: each pattern replaced by the columns that fall to it.

        Parameters
        ----------
        names : the columns of the table.
        """
        if not self.patterns:
            return self
        declared = {column.name: column for column in (*self.columns, *self.patterns)}
        found = assign([c.name for c in self.columns], [p.name for p in self.patterns], list(names))
        columns = tuple(
            declared[by] if by == name else declared[by].with_(name=name) for name, by in found.items()
        )
        return self._with(columns=columns, patterns=())

    def dumps(self) -> str:
        """The TOML text that `loads` turns back into this schema."""
        lines = [f"format = {FORMAT}", "", "[table]"]
        lines += [f"{key} = {toml.value(item)}" for key in _TABLE if (item := getattr(self, key)) is not None]
        if not self.patterns and any(is_pattern(column.name) for column in self.columns):
            lines.append(f"columns = {toml.value([column.name for column in self.columns])}")
        if self.csv is not None:
            lines += ["", "[table.csv]", *(f"{key} = {toml.value(item)}" for key, item in self.csv.said())]
        if self.sheet is not None:
            lines += ["", "[table.excel]", f"sheet = {toml.value(self.sheet)}"]
        for column in (*self.columns, *self.patterns):
            lines += ["", f"[columns.{toml.key(column.name)}]", f"kind = {toml.value(column.kind)}"]
            lines += [f"{key} = {toml.value(item)}" for key, item in _said(column)]
        for rule in self.rules:
            lines += ["", "[[rules]]", *(f"{key} = {toml.value(item)}" for key, item in rule.said().items())]
        return "\n".join(lines) + "\n"

    to_toml = dumps

    def save(self, path: str | Path) -> None:
        """Write `dumps()` to a file.

        Parameters
        ----------
        path : the file, which is overwritten.
        """
        Path(path).write_text(self.dumps(), encoding="utf-8", newline="\n")

    @staticmethod
    def draft(table: Any) -> Any:
        """A schema to complete, as TOML text (`Draft`): names, kinds and hints; `fill` turns it into a Schema.

        `table` is a frame, a path or anything else that can be released.
        """
        return _drafts().draft(table)

    @staticmethod
    def from_sdv(metadata: Any) -> Any:
        """A schema to complete from SDV metadata (an object, a dict or a JSON file), which has kinds but no bounds.

        Parameters
        ----------
        metadata : an object of SDV, a dict, or the path of a JSON file.
        """
        return _drafts().from_sdv(metadata)

    @classmethod
    def of_arrays(
        cls,
        n_features: int,
        bounds: tuple[ArrayLike, ArrayLike],
        classes: Sequence[Any] | None = None,
        target_bounds: tuple[float, float] | None = None,
        names: Sequence[str] | None = None,
    ) -> Schema:
        """The schema of an array X with `n_features` columns within `bounds`, and of its target "y".

        `bounds` is (low, high), each one number for all columns or one number per column.

        Parameters
        ----------
        classes : the classes of y.
        target_bounds : (low, high) of a numeric y.
        names : the names of the columns; by default x0, x1, ...
        """
        if classes is not None and target_bounds is not None:
            raise SchemaError("A target has classes or bounds, not both; give 'classes' or 'target_bounds'.")
        names = [f"x{j}" for j in range(n_features)] if names is None else list(names)
        if len(names) != n_features:
            raise SchemaError(f"The 'names' must be one per column: {n_features}. Got {len(names)} instead.")
        lows, highs = _array_bounds(bounds, n_features)
        columns = [
            Column(name=name, kind="number", low=low, high=high)
            for name, low, high in zip(names, lows, highs, strict=True)
        ]
        if classes is not None:
            values = tuple(np.asarray(classes).tolist())
            columns.append(Column(name="y", kind="category", values=values, role="target"))
        elif target_bounds is not None:
            low, high = (float(bound) for bound in target_bounds)
            columns.append(Column(name="y", kind="number", low=low, high=high, role="target"))
        return cls(name="array", columns=tuple(columns))

    # Asking

    @property
    def _known(self) -> tuple[Column, ...]:
        """The columns, which a schema with patterns does not know without a table."""
        if self.patterns:
            raise SchemaError(
                f"The schema has the pattern {self.patterns[0].name!r} and no table to name the columns; list them "
                'under [table], as in columns = ["age", "weight"].'
            )
        return self.columns

    def __getitem__(self, name: str) -> Column:
        for column in self._known:
            if column.name == name:
                return column
        instead = columns_instead(name, (column.name for column in self.columns))
        raise SchemaError(f"The schema has no column {name!r}; {instead}")

    @property
    def budget_account(self) -> str:
        """The account that releases of the table draw on, if they are not told another: its own name by default."""
        return self.name if self.account is None else self.account

    @property
    def target(self) -> Column | None:
        """The column that a model learns to predict, if one is declared."""
        return next((column for column in self._known if column.role == "target"), None)

    @property
    def features(self) -> tuple[Column, ...]:
        """The released columns other than the target."""
        return tuple(column for column in self.released if column.role != "target")

    @property
    def released(self) -> tuple[Column, ...]:
        """The columns that a release holds, in their order."""
        return tuple(column for column in self._known if column.released)

    @property
    def estimated(self) -> tuple[Column, ...]:
        """The released columns whose bounds or classes must still be paid for."""
        return tuple(column for column in self.released if column.estimate)

    def mender(self, names: Sequence[str]) -> Mender:
        """What makes rows of these columns keep the rules."""
        return Mender.of(self.columns, self.rules).for_columns(names)

    # Changing

    def with_target(self, name: str | None) -> Schema:
        """The same table with another target, or with none; the old target becomes a feature.

        Parameters
        ----------
        name : the column to predict, or None.
        """
        if name is not None and not self[name].released:
            raise SchemaError(f"The column {name!r} is of kind {self[name].kind} and cannot be the target.")
        return self._replacing(
            {c.name: {"role": "target" if c.name == name else None} for c in self.released}
        )

    def with_feature_names(self, names: Sequence[str]) -> Schema:
        """The same features by other names, in order."""
        renamed = {old.name: new for old, new in zip(self.features, names, strict=True)}
        return self._replacing({old: {"name": str(new)} for old, new in renamed.items()})

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]]) -> Schema:
        """The schema with the bounds that a paid estimate found, in place of `estimate = true`."""
        return self._replacing({name: _paid(self[name], *pair) for name, pair in bounds.items()})

    def with_values(self, name: str, values: Sequence[Scalar]) -> Schema:
        """The schema with the categories that a paid selection found, in place of `estimate = true`.

        Rows of a target that have none of them are missing; those of a feature have one more category, `other`.
        """
        changes: dict[str, Any] = {"values": tuple(values), "estimate": False}
        if self[name].role != "target":
            declared = self[name].other
            other = OTHER if declared is None else value_key(declared)
            changes |= {"values": tuple(dict.fromkeys([*map(value_key, values), other])), "other": other}
        return self._replacing({name: changes})

    def ignoring(self, names: Sequence[str]) -> Schema:
        """The schema with some columns ignored: they are in the table and in no release of it.

        Parameters
        ----------
        names : the columns to leave out.
        """
        columns = (Column(name=c.name, kind="ignored") if c.name in names else c for c in self.columns)
        return self._with(columns=tuple(columns))

    def with_any_estimates(self) -> Schema:
        """The schema with some bounds and classes in place of those that are still to be paid for, for public checks."""
        number = {c.name: (0.0, 1.0) for c in self.estimated if c.kind == "number"}
        known = self.with_bounds(number)
        for column in known.estimated:
            known = known.with_values(column.name, ("one", "another"))
        return known

    def _replacing(self, changes: Mapping[str, dict[str, Any]]) -> Schema:
        columns = (c.with_(**changes[c.name]) if c.name in changes else c for c in self.columns)
        return self._with(columns=tuple(columns))

    def _with(self, **changes: Any) -> Schema:
        return Schema(**{**{key: getattr(self, key) for key in self.model_fields_set}, **changes})

    def as_released(self) -> Schema:
        """The schema of rows that gnomon wrote itself: without the form of a file, and of cells in it."""
        form = ("true", "false", "date_format", "missing_values")
        columns = tuple(
            column.with_(**{key: Column.model_fields[key].default for key in form}) for column in self.columns
        )
        return self._with(csv=None, sheet=None, columns=columns)


def _drafts() -> Any:
    """Drafts are made of schemas and tables, one layer above; loaded by name when one is asked for."""
    return import_module("gnomon.table.draft")


def _check_rows(schema: Schema) -> None:
    if schema.rows is not None and not 1 <= schema.rows <= MOST_ROWS:
        raise SchemaError(
            f"The rows of the [table] in the schema must be {_TABLE['rows']}. Got {schema.rows} instead."
        )


def _check_persons(schema: Schema) -> None:
    """Who is protected, and by how many rows, must follow from the schema alone."""
    person, most = schema.person, schema.rows_per_person
    if person is None:
        if most is not None:
            raise SchemaError(
                "The schema has rows_per_person but no person; name the identifier column of persons, or remove it."
            )
        return
    kinds = {column.name: column.kind for column in schema.columns}
    if kinds.get(person) != "identifier":
        raise SchemaError(
            f"The person of the [table] in the schema must be a column of kind identifier. Got {person!r} instead; "
            f'declare [columns.{toml.key(person)}] with kind = "identifier".'
        )
    if most is None:
        raise SchemaError(
            f"The schema names person = {person!r} but no rows_per_person; say how many rows of a person a release may "
            "use, as in rows_per_person = 1."
        )
    for column in schema.columns:
        if column.kind == "category" and column.estimate:
            what = "classes" if column.role == "target" else "categories"
            raise SchemaError(
                f"The {what} of {column.name!r} cannot be estimated beside person; declare its values."
            )
    if not 1 <= most <= MOST_PER_PERSON:
        raise SchemaError(
            f"The rows_per_person of the [table] in the schema must be {_TABLE['rows_per_person']}. Got {most} instead."
        )


_PARTS = {"format": "format", "table": "[table]", "defaults": "[defaults]", "columns": "[columns.<name>]"}
_PARTS["rules"] = "[[rules]]"
_STRUCTURE: dict[str, tuple[type, str]] = {  # the parts of [table] that are no facts about it
    "columns": (list, "the list of the names of the columns"),
    "csv": (dict, "a table [table.csv]"),
    "excel": (dict, "a table [table.excel]"),
}


def _parts(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    for key in document:
        if key not in _PARTS:
            raise SchemaError(
                f"The schema has the unknown part {key!r}; it has {', '.join(_PARTS.values())} only."
            )
    if document.get("format", FORMAT) != FORMAT:
        raise SchemaError(
            f"The format of the schema must be {FORMAT}. Got {document['format']!r} instead; update gnomon, or the schema."
        )
    table, columns = document.get("table", {}), document.get("columns", {})
    if not isinstance(table, dict) or not isinstance(columns, dict):
        raise SchemaError("The schema must have tables [table] and [columns.<name>].")
    known = (*_TABLE, *_STRUCTURE)
    for key, item in table.items():
        if key not in known:
            raise SchemaError(
                f"The [table] of the schema has the unknown key {key!r}; its keys may be {', '.join(known)}."
            )
        if key in _STRUCTURE and not isinstance(item, _STRUCTURE[key][0]):
            raise SchemaError(f"The {key} of the [table] in the schema must be {_STRUCTURE[key][1]}.")
    _check_listed(table.get("columns", []))
    _check_excel(table.get("excel", {}))
    _check_defaults(document.get("defaults", {}))
    if not columns:
        raise SchemaError("The schema declares no column; add a [columns.<name>] for each.")
    return table, columns


def _check_listed(names: list[Any]) -> None:
    if not all(isinstance(name, str) for name in names):
        raise SchemaError("The columns of the [table] in the schema must be a list of text.")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise SchemaError(f"The columns of the [table] name {twice[0]!r} more than once; keep one of them.")


def _check_excel(excel: dict[str, Any]) -> None:
    for key, item in excel.items():
        if key != "sheet" or not isinstance(item, str):
            raise SchemaError(
                'The [table.excel] of the schema must hold the name of a sheet, as in sheet = "Data".'
            )


def _check_defaults(defaults: Any) -> None:
    if not isinstance(defaults, dict):
        raise SchemaError("The defaults of the schema must be a table [defaults].")
    for key, item in defaults.items():
        if key not in POLICIES:
            raise SchemaError(
                f"The [defaults] of the schema hold {key!r}, but only a policy ({', '.join(POLICIES)}) can serve all "
                "columns; declare the rest by column or pattern."
            )
        Column(name="[defaults]", kind="boolean", **{key: item} if item != "fill" else {})


def _columns(columns: dict[str, Any], defaults: dict[str, Any], folder: Path | None) -> Iterator[Column]:
    for name, body in columns.items():
        yield column_of(name, body, defaults, folder)


def column_of(name: str, body: Any, defaults: Mapping[str, Any], folder: Path | None) -> Column:
    """The column that [columns.<name>] declares, with the policies that it leaves to [defaults]."""
    if not isinstance(body, dict):
        raise SchemaError(f"The column {name!r} of the schema must be a table [columns.{toml.key(name)}].")
    if "name" in body:
        raise SchemaError(f"The column {name!r} has the unknown key 'name'; its name is the one in brackets.")
    if "values_file" in body:
        if "values" in body:
            raise SchemaError(f"The column {name!r} has both values and values_file; keep one of them.")
        read = read_values(folder, body["values_file"], name)
        body = {**{key: item for key, item in body.items() if key != "values_file"}, "values": read}
    if body.get("kind") not in ("identifier", "ignored"):
        body = {**{key: item for key, item in defaults.items() if _serves(key, item, body)}, **body}
    return Column(**{**body, "name": name})


def _serves(key: str, item: Any, body: Mapping[str, Any]) -> bool:
    """Whether a default applies: a target never has an indicator, so a default of it is not meant for the target."""
    return not (key == "missing" and item == "indicator" and body.get("role") == "target")


def _said(column: Column) -> Iterator[tuple[str, Any]]:
    """What differs from the defaults, in the order of the fields."""
    for key, field in Column.model_fields.items():
        item = getattr(column, key)
        if key not in ("name", "kind") and item != field.default:
            yield key, item


def _array_bounds(bounds: tuple[ArrayLike, ArrayLike], n_features: int) -> tuple[list[float], list[float]]:
    try:
        low, high = bounds
        lows = np.broadcast_to(np.asarray(low, dtype=np.float64), (n_features,))
        highs = np.broadcast_to(np.asarray(high, dtype=np.float64), (n_features,))
    except (TypeError, ValueError):
        raise SchemaError(
            f"The 'bounds' must be (low, high), each a number or {n_features} numbers, one per column."
        ) from None
    return lows.tolist(), highs.tolist()


def _paid(column: Column, low: float, high: float) -> dict[str, Any]:
    if not column.estimate:
        raise SchemaError(
            f"The column {column.name!r} does not say estimate = true, so its bounds stay as declared."
        )
    if column.integer:
        low, high = int(np.floor(low)), int(np.ceil(high))
    changes: dict[str, Any] = {"low": low, "high": high, "estimate": False}
    if isinstance(column.fill, int | float):
        changes["fill"] = min(max(column.fill, low), high)
    return changes
