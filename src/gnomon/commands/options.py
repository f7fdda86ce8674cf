"""Options that several commands share, so that they are explained once and alike."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path
from typing import Annotated

import typer

from gnomon.errors import ParameterError


def prose(doc: str | None) -> str:
    """A docstring for the help page: one line a paragraph, which the terminal wraps at its own width."""
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(doc or "").split("\n\n"))


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="The table: .parquet, .csv, .csv.gz, .arrow, .feather, or a folder of Parquet files.",
    ),
]
SchemaFile = Annotated[Path, typer.Option("--schema", "-s", metavar="FILE", help="The schema (schema.toml).")]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon",
        "-e",
        metavar="E",
        help="The budget: smaller is more private. 0.1 is strict, 1 is common, above 5 protects little.",
    ),
]
Delta = Annotated[
    float,
    typer.Option(
        "--delta",
        "-d",
        metavar="D",
        help="0 asks for pure epsilon-DP; a small value such as 1e-6 (far below 1/rows) allows less noise.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="The column to predict, if not the schema's target."
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="clustering (no target), classification or regression; by default as the target is declared.",
    ),
]
ProtectedUnit = Annotated[
    str,
    typer.Option(
        "--unit",
        metavar="UNIT",
        help="What is protected: row (a whole record) or attribute (one cell of it).",
    ),
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        metavar="FILE",
        help="The ledger of budgets, if not the usual one (GNOMON_LEDGER, or gnomon's folder in your home).",
    ),
]


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that an option does not know."""
    if value not in allowed:
        names = " or ".join(allowed) if len(allowed) < 3 else f"one of {', '.join(allowed)}"
        raise ParameterError(f"The option {option} must be {names}. Got {value!r} instead.")
