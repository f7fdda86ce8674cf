"""One declared column: its kind, its public bounds or categories, and what a missing cell means."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, date, datetime
from typing import Any, Literal, TypeGuard, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from gnomon.errors import SchemaError
from gnomon.table.form import check_date_format

Kind = Literal["number", "category", "boolean", "date", "identifier", "ignored"]
Scalar = bool | int | float | str | datetime | date

_KINDS = ", ".join(get_args(Kind))
_TAKES = {
    "number": {"low", "high", "integer", "log", "unit", "estimate", "missing", "fill", "role"},
    "category": {"values", "ordered", "other", "unit", "estimate", "missing", "fill", "role"},
    "boolean": {"missing", "fill", "role"},
    "date": {"low", "high", "missing", "fill", "role"},
    "identifier": set[str](),
    "ignored": set[str](),
}
_TAKES["number"] |= {"atoms", "missing_values"}
_TAKES["category"] |= {"missing_values"}
_TAKES["boolean"] |= {"true", "false", "missing_values"}
_TAKES["date"] |= {"date_format", "missing_values"}
for _taken in _TAKES.values():
    _taken.add("label")
_EXPECTED = {
    "kind": f"one of {_KINDS}",
    "low": "a number or a date",
    "high": "a number or a date",
    "integer": "true or false",
    "log": "true or false",
    "unit": "text",
    "estimate": "true or false",
    "values": "a list of text, of numbers or of booleans",
    "ordered": "true or false",
    "other": "one of the values",
    "missing": "one of refuse, fill, indicator",
    "fill": "a value of the column",
    "role": '"target" or left out',
    "label": "text",
    "atoms": "a list of numbers",
    "true": "a list of the words for true",
    "false": "a list of the words for false",
    "date_format": 'text such as "%d.%m.%Y"',
    "missing_values": "a list of text or of numbers",
}


def takes(kind: str, key: str) -> bool:
    """Whether a column of the kind may say the key."""
    return key in _TAKES[kind]


def value_key(value: Scalar) -> str:
    """The text by which a category is recognised, the same whether it came as 1, 1.0 or "1"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


class Column(BaseModel):
    """A column as the custodian declares it; everything here is public.

    Attributes
    ----------
    name : the name of the column.
    kind : "number", "category", "boolean", "date", "identifier" or "ignored"; the last two reach no release.
    low : of a number or date: cells below are clipped to it.
    high : of a number or date: cells above are clipped to it.
    integer : whether a number is released as a whole number.
    log : whether a number is encoded on a log scale, for long tails.
    unit : shown in the report.
    estimate : whether bounds, categories or classes are found by a paid private estimate.
    values : of a category: every value that could occur.
    ordered : whether the values are in order.
    other : the value that takes every one that is not declared.
    missing : what becomes of a missing cell: "refuse", "fill" or "indicator".
    fill : the value for missing="fill".
    role : "target" for the column that models learn to predict.
    label : a longer name, for people.
    atoms : values of a number that many rows share, such as 0.
    true : the words for true, of a boolean.
    false : the words for false.
    date_format : how a date is written, such as "%d.%m.%Y".
    missing_values : codes for a missing cell.

    Examples
    --------
    >>> age = Column(name="age", kind="number", low=0, high=110, integer=True)
    >>> age.released, age.with_(high=120).high
    (True, 120)
    >>> Column(name="age", kind="number", low=0)
    Traceback (most recent call last):
        ...
    gnomon.errors.SchemaError: The column 'age' has no high; declare it from public knowledge, ...
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    kind: Kind
    low: Scalar | None = None
    high: Scalar | None = None
    integer: bool = False
    log: bool = False
    unit: str | None = None
    estimate: bool = False
    values: tuple[Scalar, ...] = Field(default=(), strict=False)
    ordered: bool = False
    other: Scalar | None = None
    missing: Literal["refuse", "fill", "indicator"] = "refuse"
    fill: Scalar | None = None
    role: Literal["target"] | None = None
    label: str | None = None
    atoms: tuple[int | float, ...] = Field(default=(), strict=False)
    true: tuple[Scalar, ...] = Field(default=(), strict=False)
    false: tuple[Scalar, ...] = Field(default=(), strict=False)
    date_format: str | None = None
    missing_values: tuple[Scalar, ...] = Field(default=(), strict=False)

    def __init__(self, **data: Any) -> None:
        _refuse_endless(data)
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise SchemaError(_sentence(data.get("name"), error)) from None

    @property
    def released(self) -> bool:
        """Whether anything of the column may reach a release."""
        return self.kind not in ("identifier", "ignored")

    @property
    def bounded(self) -> bool:
        """Whether it has bounds; an estimated column has none before they were paid for."""
        return self.low is not None

    @property
    def wide(self) -> bool:
        """Whether the bounds go beyond 2^51, where float64 no longer holds integers and halves of them."""
        bounds = [bound for bound in (self.low, self.high) if _is_number(bound)]
        return self.integer and not self.log and any(abs(bound) > 2**51 for bound in bounds)

    def with_(self, **changes: Any) -> Column:
        """A checked copy with some fields changed.

        Parameters
        ----------
        changes : the fields to change.
        """
        return Column(**{**{key: getattr(self, key) for key in self.model_fields_set}, **changes})

    @model_validator(mode="before")
    @classmethod
    def _dates(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("kind") == "date":
            parsed = {k: _moment(data, k) for k in ("low", "high", "fill") if data.get(k) is not None}
            if any(isinstance(moment, datetime) for key, moment in parsed.items() if key != "fill"):
                parsed = {key: _at_midnight(moment) for key, moment in parsed.items()}
            return {**data, **parsed}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Column:
        _check_name(self.name)
        _check_keys(self)
        if self.kind == "number":
            _check_number(self)
        elif self.kind == "category":
            _check_category(self)
        elif self.kind == "date":
            _check_date(self)
        _check_missing(self)
        _check_form(self)
        return self


def _refuse_endless(data: dict[str, Any]) -> None:
    """A schema from elsewhere may hold an integer that Python itself refuses to print."""
    for item in data.values():
        for part in item if isinstance(item, list | tuple) else (item,):
            if isinstance(part, int) and part.bit_length() > 1024:
                raise SchemaError(
                    f"The column {data.get('name')!r} of the schema holds a number of more than 300 digits; "
                    "declare one that fits 64 bits."
                )


def _shown(value: Any) -> str:
    """What was given, as far as a sentence can hold it."""
    try:
        text = repr(value)
    except ValueError:  # an endless integer, deep inside
        return "something else"
    return text if len(text) <= 200 else f"{text[:200]}..."


def _sentence(name: Any, error: ValidationError) -> str:
    first = error.errors()[0]
    key = str(first["loc"][0]) if first["loc"] else ""
    where = f"column {name!r}"
    if first["type"] == "extra_forbidden":
        return (
            f"The {where} of the schema has the unknown key {key!r}; its keys may be {', '.join(_EXPECTED)}."
        )
    if key == "kind" and first["type"] == "missing":
        return f"The {where} of the schema has no kind; add kind = one of {_KINDS}."
    if key == "name":
        return "A column of the schema must have a name that is text."
    got = first["input"]
    return f"The {key!r} of {where} in the schema must be {_EXPECTED[key]}. Got {_shown(got)} instead."


def _check_name(name: str) -> None:
    if not name:
        raise SchemaError("A column of the schema has an empty name; give every column a name.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SchemaError(
            f"The column name {name!r} is not valid Unicode; rename it in the table and the schema."
        ) from None


def _check_keys(column: Column) -> None:
    for key in sorted(column.model_fields_set - {"name", "kind"} - _TAKES[column.kind]):
        if getattr(column, key) != Column.model_fields[key].default:
            raise SchemaError(
                f"The column {column.name!r} is of kind {column.kind}, which takes no {key!r}; "
                "remove it or change the kind."
            )


def _check_bounds_given(column: Column) -> None:
    if column.low is not None and column.high is not None:
        return
    lacking = " and ".join(key for key in ("low", "high") if getattr(column, key) is None)
    remedy = (
        "declare it from public knowledge" if " and " not in lacking else "declare both from public knowledge"
    )
    if column.kind == "number":
        remedy += ", or write estimate = true, which pays for a private estimate"
    raise SchemaError(f"The column {column.name!r} has no {lacking}; {remedy}.")


def _check_order(column: Column) -> None:
    if not column.low < column.high:  # type: ignore[operator]
        raise SchemaError(
            f"The low of column {column.name!r} must be below its high. Got low = {column.low} and "
            f"high = {column.high} instead."
        )


def _check_number(column: Column) -> None:
    name = column.name
    if column.estimate:
        if column.low is not None or column.high is not None:
            raise SchemaError(
                f"The column {name!r} has both estimate = true and bounds; keep the bounds, "
                "which cost nothing, or remove them."
            )
        if column.log:
            raise SchemaError(
                f"The column {name!r} has both log and estimate = true; "
                "a log scale needs declared low and high."
            )
        return
    _check_bounds_given(column)
    for key in ("low", "high"):
        bound = getattr(column, key)
        if not _is_number(bound) or not _finite(bound):
            raise SchemaError(f"The {key} of column {name!r} must be a finite number. Got {bound!r} instead.")
        if column.integer and bound != int(bound):
            raise SchemaError(
                f"The {key} of the integer column {name!r} must be a whole number. Got {bound!r} instead."
            )
    _check_order(column)
    low, high = column.low, column.high
    assert _is_number(low)
    assert _is_number(high)
    if column.integer and (low < -(2**63) or high >= 2**63 or int(high) - int(low) >= 2**63):
        raise SchemaError(
            f"The bounds of the integer column {name!r} must fit 64 bits and be less than 2^63 apart; "
            "declare tighter bounds."
        )
    if column.log and low < 0:
        raise SchemaError(
            f"The column {name!r} has log = true, which needs low >= 0. Got low = {low} instead; "
            "raise low or remove log."
        )
    width = math.log(high) - math.log(low) if column.log and low > 0 else float(high) - float(low)
    if not column.integer and not (math.isfinite(width) and width > 1e-300):
        raise SchemaError(
            f"The bounds of column {name!r} are too far apart or too close for 64-bit arithmetic; "
            "declare others, or another unit."
        )


def _check_category(column: Column) -> None:
    name = column.name
    if column.estimate:
        if column.values or column.ordered:
            raise SchemaError(
                f"The category {name!r} has estimate = true, which takes no values and no order: its categories are "
                "found privately; declare its values, or remove both."
            )
        if column.role == "target" and column.other is not None:
            raise SchemaError(
                f"The target {name!r} has both estimate = true and other; declare its values, or remove other."
            )
        return
    if not column.values:
        raise SchemaError(
            f'The column {name!r} has no values; declare its categories, as in values = ["a", "b"], '
            'write estimate = true, which pays for a private selection, or use kind = "ignored".'
        )
    texts = all(isinstance(value, str) for value in column.values)
    booleans = all(isinstance(value, bool) for value in column.values)
    numbers = all(_is_number(value) and _finite(value) for value in column.values)
    if not (texts or booleans or numbers):
        raise SchemaError(
            f"The values of column {name!r} must be all text, all finite numbers or all booleans; "
            "write them in one way."
        )
    if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in column.values):
        raise SchemaError(
            f"The values of column {name!r} must fit 64 bits; declare larger numbers as text, in quotes."
        )
    keys = [value_key(value) for value in column.values]
    twice = sorted(key for key, count in Counter(keys).items() if count > 1)
    if twice:
        raise SchemaError(
            f"The values of column {name!r} name {twice[0]!r} more than once; remove the repetition."
        )
    if column.other is not None and value_key(column.other) not in keys:
        raise SchemaError(
            f"The other of column {name!r} must be one of its values. Got {column.other!r} instead; "
            "add it to values."
        )
    if column.role == "target" and len(keys) < 2:
        raise SchemaError(f"The target {name!r} declares one class only; declare at least two values.")


def _check_date(column: Column) -> None:
    _check_bounds_given(column)
    moments = [m for m in (column.low, column.high, column.fill) if isinstance(m, datetime)]
    if len({moment.tzinfo is None for moment in moments}) > 1:
        raise SchemaError(
            f"The dates declared for column {column.name!r} must all have a time zone or all have none; "
            "write them in one way."
        )
    _check_order(column)


def _check_missing(column: Column) -> None:
    name = column.name
    if column.role == "target" and column.missing == "indicator":
        raise SchemaError(
            f'The target {name!r} cannot have missing = "indicator"; use refuse, or fill with a fill value.'
        )
    if column.missing != "fill":
        if column.fill is not None:
            raise SchemaError(
                f'The column {name!r} has a fill but missing = {column.missing!r}; write missing = "fill" '
                "or remove fill."
            )
        return
    fill = column.fill
    if fill is None:
        raise SchemaError(
            f'The column {name!r} has missing = "fill" but no fill; add fill = a declared value.'
        )
    if column.kind == "boolean":
        fits = isinstance(fill, bool)
    elif column.kind == "category":
        fits = value_key(fill) in {value_key(value) for value in column.values}
    elif column.kind == "number":
        fits = _is_number(fill) and _finite(fill) and not (column.integer and fill != int(fill))
        fits = fits and (column.estimate or column.low <= fill <= column.high)  # type: ignore[operator]
    else:
        fits = type(fill) is type(column.low) and column.low <= fill <= column.high  # type: ignore[operator]
    if not fits:
        raise SchemaError(
            f"The fill of column {name!r} must be a value that the column declares. Got {fill!r} instead; "
            "choose one inside its bounds or values."
        )


def _check_form(column: Column) -> None:
    """How cells are written, and the values that many of them share."""
    name = column.name
    if column.date_format is not None:
        check_date_format(column.date_format, f"of column {name!r}")
    _check_atoms(column)
    if bool(column.true) != bool(column.false):
        said, lacking = ("true", "false") if column.true else ("false", "true")
        raise SchemaError(f"The column {name!r} has words for {said} but none for {lacking}; declare both.")
    meanings = [("true", column.true), ("false", column.false), ("missing_values", column.missing_values)]
    if column.kind == "category":
        meanings.append(("values", column.values))
    seen: dict[str, str] = {}
    for key, words in meanings:
        for word in {value_key(word) for word in words}:
            if word in seen:
                raise SchemaError(
                    f"The column {name!r} has {word!r} both in {seen[word]} and in {key}; keep one of them."
                )
            seen[word] = key


def _check_atoms(column: Column) -> None:
    if not column.atoms:
        return
    name = column.name
    if column.estimate:
        raise SchemaError(
            f"The column {name!r} has both atoms and estimate = true; atoms need declared low and high."
        )
    if len(set(column.atoms)) < len(column.atoms):
        raise SchemaError(f"The atoms of column {name!r} name a value more than once; remove the repetition.")
    for atom in column.atoms:
        inside = _finite(atom) and column.low <= atom <= column.high  # type: ignore[operator]
        if not inside or (column.integer and atom != int(atom)):
            raise SchemaError(
                f"The atoms of column {name!r} must be values that the column declares. Got {atom!r} instead; "
                "choose values inside its bounds."
            )


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _moment(data: dict[str, Any], key: str) -> date | datetime:
    """A TOML date or an ISO text as a date, or as a datetime that is naive or in UTC."""
    value = data[key]
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if len(value) <= 10 else datetime.fromisoformat(value)
        except ValueError:
            value = None
    if not isinstance(value, date):
        raise SchemaError(
            f"The {key} of date column {data.get('name')!r} must be a date or a time, as in 2020-12-31 or "
            f"2020-12-31T23:59:59. Got {data[key]!r} instead."
        )
    if isinstance(value, datetime) and value.tzinfo is not None:
        try:
            # UTC throughout, because TOML cannot write an offset of part of a minute.
            return value.astimezone(UTC)
        except OverflowError:
            raise SchemaError(
                f"The {key} of date column {data.get('name')!r} lies outside the years 1 to 9999 in UTC; "
                "declare one inside."
            ) from None
    return value


def _at_midnight(moment: date | datetime) -> datetime:
    return moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)
