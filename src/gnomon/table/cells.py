"""What the cells of an Arrow column say, whatever its type: numbers, category codes or moments in time.

Each reader returns the values, which cells are missing, and which are alien (not of the declared kind). No cell
raises: `check` counts alien cells, and a codec makes valid ones of them. What a cell says depends on that cell alone;
a faster path for a whole column takes only what the slower path reads in the same way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type
from numpy.typing import NDArray

from gnomon.table.column import Scalar, value_key

Mask = NDArray[np.bool_]

UNKNOWN = -1  # the code of a category that the schema does not declare
DAY = 86_400_000_000  # microseconds
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799  # seconds: the years 1 to 9999
_INT64 = (-(2**63), 2**63 - 1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NUMBER = r"^\s*[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[iI]nf(inity)?|[nN]a[nN])\s*$"
_UNREADABLE = object()  # a value that Python cannot hold, such as a date of the year 10000


class Cells(NamedTuple):
    """One column of a batch; a mask is None where it would be all False, and a NaN is missing too."""

    values: NDArray[Any]
    missing: Mask | None = None
    alien: Mask | None = None


def plain(array: pa.Array) -> pa.Array:
    """The array without extension or view wrapping, which not every kernel understands."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    return array.cast(pa.large_string()) if is_type.is_string_view(array.type) else array


def is_text(kind: pa.DataType) -> bool:
    return bool(is_type.is_string(kind) or is_type.is_large_string(kind))


def numbers(array: pa.Array) -> Cells:
    """Numbers in their own width; nulls of a float column as NaN, of an integer column as 0 and masked."""
    array = plain(array)
    if is_type.is_dictionary(array.type):
        array = plain(array.dictionary_decode())
    if is_type.is_floating(array.type):
        return Cells(array.to_numpy(zero_copy_only=False))
    if is_type.is_boolean(array.type):
        array = array.cast(pa.uint8())
    if is_type.is_integer(array.type):
        return Cells(array.fill_null(0).to_numpy() if array.null_count else array.to_numpy(), _nulls(array))
    if is_type.is_decimal(array.type):
        # one by one, because Arrow's cast rounds by the scale that the longest decimal of the batch needs
        values = [math.nan if cell is None else float(cell) for cell in array.to_pylist()]
        return Cells(np.array(values, dtype=np.float64))
    if is_text(array.type):
        return _text_numbers(array)
    return _all_alien(array, np.float64)


def whole_numbers(array: pa.Array) -> Cells:
    """Integers of 64 bits, exact in every form that can hold them; floating-point numbers as they are."""
    array = plain(array)
    if is_type.is_dictionary(array.type):
        array = plain(array.dictionary_decode())
    if is_type.is_decimal(array.type):
        return _wholes([_whole(cell) if cell is not None else None for cell in array.to_pylist()])
    if not is_text(array.type):
        return numbers(array)
    trimmed = pc.utf8_trim_whitespace(array)
    if pc.all(pc.match_substring_regex(trimmed, r"^-?\d{1,18}$")).as_py():
        return Cells(trimmed.cast(pa.int64()).fill_null(0).to_numpy(), _nulls(array))
    return _wholes([None if text is None else _whole_text(text) for text in trimmed.to_pylist()])


def codes(array: pa.Array, lookup: Mapping[str, int]) -> Cells:
    """Positions among the declared values, UNKNOWN for others; recognised by `value_key` and its variants."""
    array = plain(array)
    try:
        coded = array if is_type.is_dictionary(array.type) else array.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return _all_alien(array, np.int64, fill=UNKNOWN)
    found = [_code(value, lookup) for value in _values(plain(coded.dictionary))]
    table = np.array([*(UNKNOWN if code is None else code for code in found), UNKNOWN], dtype=np.int64)
    absent = np.array([*(code is None for code in found), True])
    # 64 bits: a full dictionary of 8-bit codes has none left for missing cells
    places = coded.indices.cast(pa.int64()).fill_null(len(found)).to_numpy(zero_copy_only=False)
    missing = absent[places]
    return Cells(table[places], missing if missing.any() else None)


def value_lookup(values: tuple[Scalar, ...]) -> dict[str, int]:
    """The table that `codes` looks values up in."""
    return {value_key(value): code for code, value in enumerate(values)}


BOOLEANS = value_lookup((False, True))


def flags(array: pa.Array) -> Cells:
    """Booleans as 0 and 1: true and false, 0 and 1, or these as text in any case."""
    array = plain(array)
    if is_type.is_boolean(array.type):
        filled = array.fill_null(False) if array.null_count else array
        return Cells(filled.to_numpy(zero_copy_only=False), _nulls(array))
    values, missing, _ = codes(array, BOOLEANS)
    alien = values == UNKNOWN
    if missing is not None:
        alien &= ~missing
    return Cells(np.maximum(values, 0), missing, alien if alien.any() else None)


def moments(array: pa.Array) -> Cells:
    """Dates and times as int64 microseconds since 1970 in UTC (a time without a zone counts as UTC)."""
    array = plain(array)
    if is_type.is_dictionary(array.type):
        array = plain(array.dictionary_decode())
    if is_type.is_null(array.type):
        return Cells(np.zeros(len(array), np.int64), _nulls(array))
    if is_text(array.type):
        return _text_moments(array)
    if is_type.is_date32(array.type):
        days = array.view(pa.int32()).fill_null(0).to_numpy().astype(np.int64)
        return Cells(np.clip(days, _EARLIEST // 86_400, _LATEST // 86_400) * DAY, _nulls(array))
    if is_type.is_timestamp(array.type) or is_type.is_date64(array.type):
        per_second = _PER_SECOND["ms" if is_type.is_date64(array.type) else array.type.unit]
        ticks = array.view(pa.int64()).fill_null(0).to_numpy()
        # Clipped in its own unit first, because microseconds of a far date do not fit 64 bits.
        limit = 2**63 - 1
        ticks = np.clip(ticks, max(_EARLIEST * per_second, -limit), min(_LATEST * per_second, limit))
        exact = ticks // (per_second // 10**6) if per_second > 10**6 else ticks * (10**6 // per_second)
        return Cells(exact, _nulls(array))
    return _all_alien(array, np.int64)


def microseconds(moment: date) -> int:
    """A date or a datetime as `moments` counts it."""
    if not isinstance(moment, datetime):
        return (moment.toordinal() - date(1970, 1, 1).toordinal()) * DAY
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**6 + since.microseconds


def _nulls(array: pa.Array) -> Mask | None:
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def _all_alien(array: pa.Array, dtype: type, fill: int = 0) -> Cells:
    present = array.is_valid().to_numpy(zero_copy_only=False)
    return Cells(np.full(len(array), fill, dtype), _nulls(array), present if present.any() else None)


def _text_numbers(array: pa.Array) -> Cells:
    """A text is a number where Arrow takes it for one by itself, whatever stands beside it."""
    trimmed = pc.utf8_trim_whitespace(array)
    try:
        return Cells(trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowInvalid:
        usual = pc.fill_null(pc.match_substring_regex(trimmed, _NUMBER), True).to_numpy(zero_copy_only=False)
    nothing = pa.scalar(None, trimmed.type)
    values = pc.if_else(pa.array(usual), trimmed, nothing).cast(pa.float64()).to_numpy(zero_copy_only=False)
    values, alien = values.copy(), np.zeros(len(values), dtype=bool)
    for place in np.nonzero(~usual)[0]:
        found = _cast(trimmed[place], pa.float64())
        values[place] = math.nan if found is None else found
        alien[place] = found is None
    return Cells(values, None, alien if alien.any() else None)


def _cast(cell: pa.Scalar, kind: pa.DataType) -> Any:
    try:
        return cell.cast(kind).as_py()
    except pa.ArrowInvalid:
        return None


def _wholes(cells: list[int | bool | None]) -> Cells:
    """Integers, None where a cell is missing, False where it is alien."""
    values = np.array([cell or 0 for cell in cells], dtype=np.int64)
    missing = np.array([cell is None for cell in cells], dtype=bool)
    alien = np.array([cell is False for cell in cells], dtype=bool)
    return Cells(values, missing if missing.any() else None, alien if alien.any() else None)


def _whole(number: int | float | Decimal) -> int:
    """The nearest integer of 64 bits."""
    if number in (math.inf, -math.inf):
        return _INT64[number > 0]
    return min(max(round(number), _INT64[0]), _INT64[1])


def _whole_text(text: str) -> int | bool | None:
    if not re.match(_NUMBER, text):
        return False
    if re.fullmatch(r"[+-]?\d{1,40}", text):
        return _whole(int(text))
    number = float(text)
    return None if math.isnan(number) else _whole(number)


def _text_moments(array: pa.Array) -> Cells:
    try:
        return moments(array.cast(pa.timestamp("us")))
    except pa.ArrowInvalid:
        parsed = [None if text is None else _parse(text) for text in array.to_pylist()]
    values = np.array([p or 0 for p in parsed], dtype=np.int64)
    alien = np.array([p is False for p in parsed], dtype=bool)
    return Cells(values, _nulls(array), alien if alien.any() else None)


def _parse(text: str) -> int | bool:
    """The moment that a text says, False where it says none."""
    try:
        return microseconds(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        pass
    try:  # Arrow knows the year 0, and must not know it only where all texts of a batch are plain
        return int(moments(pa.array([text]).cast(pa.timestamp("us"))).values[0])
    except pa.ArrowInvalid:
        return False


def value_counts(array: pa.Array) -> list[tuple[Any, int]]:
    """The values as Python has them and how often each occurs; one that it cannot hold is missing."""
    array = plain(array)
    if is_type.is_dictionary(array.type):
        array = plain(array.dictionary_decode())
    try:
        found = array.value_counts()
    except pa.ArrowNotImplementedError:  # lists and the like
        return [(str(value), 1) for value in _values(array)]
    values = (None if value is _UNREADABLE else value for value in _values(found.field("values")))
    return list(zip(values, found.field("counts").to_pylist(), strict=True))


def value_codes(array: pa.Array) -> tuple[list[Any], NDArray[np.int64]]:
    """Some values as Python has them, a missing one among them, and the place of every cell's value."""
    array = plain(array)
    try:
        coded = array if is_type.is_dictionary(array.type) else array.dictionary_encode()
    except pa.ArrowNotImplementedError:  # lists and the like
        return [*map(str, _values(array)), None], np.arange(len(array))
    values = [None if value is _UNREADABLE else value for value in _values(plain(coded.dictionary))]
    places = coded.indices.cast(pa.int64()).fill_null(len(values)).to_numpy(zero_copy_only=False)
    return [*values, None], places


def _values(array: pa.Array) -> list[Any]:
    """The values as Python has them; one that it cannot hold is no declared value."""
    try:
        return list(array.to_pylist())
    except (ValueError, OverflowError):
        return [_value(cell) for cell in array]


def _value(cell: pa.Scalar) -> Any:
    try:
        return cell.as_py()
    except (ValueError, OverflowError):
        return _UNREADABLE


def _code(value: Any, lookup: Mapping[str, int]) -> int | None:
    """The code of a cell's value, None where it is missing (null or NaN)."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if value is _UNREADABLE:
        return UNKNOWN
    return next((lookup[key] for key in _keys(value) if key in lookup), UNKNOWN)


def _keys(value: Any) -> list[str]:
    if isinstance(value, Decimal):
        value = float(value)
    keys = [value_key(value)]
    if isinstance(value, str):
        # A file without types may write 1 as "1.0" (pandas, beside a null) and true as "True".
        keys.append(value.strip().lower())
        try:
            keys.append(value_key(float(value)))
        except ValueError:
            return [*keys, "1"] if keys[-1] == "true" else [*keys, "0"] if keys[-1] == "false" else keys
    return keys + {"1": ["true"], "0": ["false"], "true": ["1"], "false": ["0"]}.get(keys[-1], [])
