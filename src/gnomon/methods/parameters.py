"""Checks of parameters: each refusal is one sentence with the parameter, what it must be, and what came instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.errors import ParameterError


def check(method: Any, name: str, fits: bool, must_be: str) -> None:
    """Refuse the parameter `name` of a method unless it fits."""
    if not fits:
        raise ParameterError(
            f"The '{name}' parameter of {type(method).__name__} must be {must_be}. "
            f"Got {getattr(method, name)!r} instead."
        )


def check_choice(method: Any, name: str, choices: Sequence[str]) -> None:
    *others, last = map(repr, choices)
    check(method, name, getattr(method, name) in choices, f"{', '.join(others)} or {last}")


def check_number(method: Any, name: str, least: float, most: float, *, optional: bool = False) -> None:
    value = getattr(method, name)
    fits = (optional and value is None) or (is_number(value) and least <= value <= most)
    check(method, name, fits, f"from {least:g} to {most:g}")


def check_positive(method: Any, name: str, most: float, *, optional: bool = False) -> None:
    value = getattr(method, name)
    fits = (optional and value is None) or (is_number(value) and 0 < value <= most)
    check(method, name, fits, f"a positive number of at most {most:g}")


def check_integer(method: Any, name: str, most: int, least: int = 1) -> None:
    value = getattr(method, name)
    check(method, name, is_integer(value) and least <= value <= most, f"an integer from {least} to {most}")


def check_share(method: Any, name: str) -> None:
    check_number(method, name, 0.01, 0.99)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
