"""The declared table: the only source of public knowledge about columns, bounds and categories."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from gnomon.errors import SchemaError
from gnomon.table import toml
from gnomon.table.column import Column, Kind, Scalar
from gnomon.table.draft import draft

if TYPE_CHECKING:
    from gnomon.table.source import Source

__all__ = ["Column", "Kind", "Scalar", "Schema"]

LARGEST = 2**24  # characters of a schema that somebody sends
# The parser's time grows with the square of the dots in a key, and a schema's keys have one.
_DOTTED = re.compile(
    r"""(?:^|[\[{,])[ \t]*(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){16}""", re.MULTILINE
)


class Schema(BaseModel):
    """Columns in order, at most one of them the target; at least one is released."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = "table"
    columns: tuple[Column, ...]

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            wrong = error.errors()[0]["loc"][0]
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
        if not any(column.released for column in self.columns):
            raise SchemaError("The schema releases no column; declare one that is not identifier or ignored.")
        return self

    # Reading and writing

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema in a TOML file."""
        try:
            with Path(path).open(encoding="utf-8") as file:
                text = file.read(LARGEST + 1)
        except FileNotFoundError:
            raise SchemaError(
                f"The schema {str(path)!r} does not exist; check the path, or draft one with `gnomon init`."
            ) from None
        except UnicodeDecodeError:
            raise SchemaError(f"The schema {str(path)!r} is not UTF-8 text; save it as UTF-8.") from None
        except OSError as error:
            raise SchemaError(f"The schema {str(path)!r} cannot be read ({error.strerror}).") from None
        return cls.loads(text)

    @classmethod
    def loads(cls, text: str) -> Schema:
        """The schema in a TOML text: [table] with its name and one [columns.<name>] per column."""
        if len(text) > LARGEST:
            raise SchemaError(f"The schema is longer than {LARGEST} characters, which no schema is.")
        if _DOTTED.search(text):
            raise SchemaError("The schema nests its keys far deeper than [columns.<name>]; write them so.")
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"The schema does not parse as TOML: {error}; repair that place.") from None
        except (ValueError, RecursionError):
            raise SchemaError(
                "The schema does not parse as TOML: it nests too deep or holds a number of too many digits; "
                "repair it."
            ) from None
        table, columns = _parts(document)
        return cls(name=table.get("name", "table"), columns=tuple(_columns(columns)))

    def dumps(self) -> str:
        """The TOML text that `loads` turns back into this schema."""
        lines = ["[table]", f"name = {toml.value(self.name)}"]
        for column in self.columns:
            lines += ["", f"[columns.{toml.key(column.name)}]", f"kind = {toml.value(column.kind)}"]
            lines += [f"{key} = {toml.value(item)}" for key, item in _said(column)]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path) -> None:
        """Write `dumps()` to a file."""
        Path(path).write_text(self.dumps(), encoding="utf-8", newline="\n")

    @staticmethod
    def draft(source: Source) -> str:
        """A schema for the custodian to complete, as TOML text: names and kinds only."""
        return draft(source)

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

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        known = ", ".join(column.name for column in self.columns)
        raise SchemaError(f"The schema has no column {name!r}; its columns are {known}.")

    @property
    def target(self) -> Column | None:
        """The column that a model learns to predict, if one is declared."""
        return next((column for column in self.columns if column.role == "target"), None)

    @property
    def features(self) -> tuple[Column, ...]:
        """The released columns other than the target."""
        return tuple(column for column in self.released if column.role != "target")

    @property
    def released(self) -> tuple[Column, ...]:
        """The columns that a release holds, in their order."""
        return tuple(column for column in self.columns if column.released)

    @property
    def estimated(self) -> tuple[Column, ...]:
        """The released columns whose bounds must still be paid for."""
        return tuple(column for column in self.released if column.estimate)

    # Changing

    def with_target(self, name: str | None) -> Schema:
        """The same table with another target, or with none; the old target becomes a feature."""
        if name is not None and not self[name].released:
            raise SchemaError(f"The column {name!r} is of kind {self[name].kind} and cannot be the target.")
        return self._replacing(
            {c.name: {"role": "target" if c.name == name else None} for c in self.columns if c.released}
        )

    def with_bounds(self, bounds: Mapping[str, tuple[float, float]]) -> Schema:
        """The schema with the bounds that a paid estimate found, in place of `estimate = true`."""
        return self._replacing({name: _paid(self[name], *pair) for name, pair in bounds.items()})

    def _replacing(self, changes: Mapping[str, dict[str, Any]]) -> Schema:
        columns = (c.with_(**changes[c.name]) if c.name in changes else c for c in self.columns)
        return Schema(name=self.name, columns=tuple(columns))


def _parts(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    for key in document:
        if key not in ("table", "columns"):
            raise SchemaError(
                f"The schema has the unknown part {key!r}; it has [table] and [columns.<name>] only."
            )
    table, columns = document.get("table", {}), document.get("columns", {})
    if not isinstance(table, dict) or not isinstance(columns, dict):
        raise SchemaError("The schema must have tables [table] and [columns.<name>].")
    for key in table:
        if key != "name":
            raise SchemaError(f"The [table] of the schema has the unknown key {key!r}; it has a name only.")
    if not isinstance(table.get("name", ""), str):
        raise SchemaError("The name of the [table] in the schema must be text.")
    if not columns:
        raise SchemaError("The schema declares no column; add a [columns.<name>] for each.")
    return table, columns


def _columns(columns: dict[str, Any]) -> Iterator[Column]:
    for name, body in columns.items():
        if not isinstance(body, dict):
            raise SchemaError(
                f"The column {name!r} of the schema must be a table [columns.{toml.key(name)}]."
            )
        if "name" in body:
            raise SchemaError(
                f"The column {name!r} has the unknown key 'name'; its name is the one in brackets."
            )
        yield Column(**{**body, "name": name})


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
