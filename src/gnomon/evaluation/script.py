"""A user's own analysis as a metric: a Python file with a function `analyse(table) -> dict[str, float]`."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from gnomon.errors import DataError, ParameterError

Analysis = Callable[[pa.Table], Mapping[str, float]]


def load_script(path: str | Path | Analysis) -> Analysis:
    """The function `analyse` of a Python file, which is executed; or a function, as it is."""
    if callable(path):
        return path
    file = Path(path)
    if not file.is_file():
        raise DataError(f"The script {str(file)!r} does not exist; check the path.")
    try:
        found: Any = runpy.run_path(str(file)).get("analyse")
    except Exception as problem:
        raise ParameterError(
            f"The script {str(file)!r} stopped with {type(problem).__name__} when it was loaded; correct it."
        ) from problem
    if not callable(found):
        raise ParameterError(
            f"The script {str(file)!r} must define a function analyse(table) -> dict[str, float]."
        )
    analysis: Analysis = found
    return analysis


def analysed(analysis: Analysis, table: pa.Table, which: str) -> dict[str, float]:
    """The numbers of one table; an exception is named by its kind only, as its text may quote a cell."""
    try:
        found = analysis(table)
        return {str(name): float(value) for name, value in dict(found).items()}
    except Exception as problem:
        raise ParameterError(
            f"The script's analyse(table) stopped with {type(problem).__name__} on the {which} rows; it must take an "
            "Arrow table and return a dict of numbers."
        ) from problem
