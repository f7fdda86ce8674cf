"""One released column, to numbers in [-1, 1] and back; one class per kind."""

from __future__ import annotations

from gnomon.table.codec.base import Codec, Floats
from gnomon.table.codec.category import ClassCodec, FlagClassCodec, FlagCodec, OneHotCodec, OrderedCodec
from gnomon.table.codec.number import DateCodec, NumberCodec, WholeCodec
from gnomon.table.column import Column

__all__ = ["Codec", "Floats", "codec", "target_codec"]


def target_codec(column: Column) -> Codec:
    """The codec of a target: numbers and dates as for features, categories and booleans as codes."""
    if column.kind == "category":
        return ClassCodec(column)
    return FlagClassCodec(column) if column.kind == "boolean" else codec(column)


def codec(column: Column) -> Codec:
    """The codec of a released feature."""
    if column.kind == "number":
        return WholeCodec(column) if column.wide else NumberCodec(column)
    if column.kind == "date":
        return DateCodec(column)
    if column.kind == "boolean":
        return FlagCodec(column)
    return OrderedCodec(column) if column.ordered else OneHotCodec(column)
