"""Patterns serve many columns: an exact name wins over a pattern, a longer pattern over a shorter one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.errors import SchemaError


def is_pattern(name: str) -> bool:
    """Whether a declared name may stand for several columns; other signs are part of a name."""
    return "*" in name


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits, with a star for any text, also none."""
    if not is_pattern(pattern):
        return pattern == name
    start, *middle, end = pattern.split("*")  # by hand: wide tables ask millions of times
    if not (name.startswith(start) and name.endswith(end) and len(name) >= len(start) + len(end)):
        return False
    at, last = len(start), len(name) - len(end)
    for part in middle:
        at = name.find(part, at, last)
        if at < 0:
            return False
        at += len(part)
    return True


def winner(patterns: Iterable[str], name: str) -> str | None:
    """The pattern that a column without a declaration of its own falls to."""
    fitting = sorted((p for p in patterns if matches(p, name)), key=len, reverse=True)
    if len(fitting) > 1 and len(fitting[0]) == len(fitting[1]):
        raise SchemaError(
            f"The column {name!r} fits the patterns {fitting[0]!r} and {fitting[1]!r}, which are equally long; "
            "declare it by its name, or make one of them longer."
        )
    return fitting[0] if fitting else None


def assign(declared: Sequence[str], patterns: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """For each declared column, in the order of the table, the name or pattern that declares it."""
    exact = set(declared)
    found = {name: name if name in exact else winner(patterns, name) for name in names}
    for pattern in patterns:
        if not any(matches(pattern, name) for name in names):
            raise SchemaError(f"The pattern {pattern!r} fits no column of the table; correct or remove it.")
    found.update({name: name for name in declared if name not in found})
    return {name: by for name, by in found.items() if by is not None}
