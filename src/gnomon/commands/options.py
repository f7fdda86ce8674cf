"""Options that several commands share, so that they are explained once and alike."""

from __future__ import annotations

from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnomon.errors import ParameterError, SchemaError

if TYPE_CHECKING:
    from gnomon.table.base import Source
    from gnomon.table.schema import Schema


def prose(doc: str | None) -> str:
    """A docstring for the help page: one line a paragraph, which the terminal wraps at its own width."""
    return "\n\n".join(" ".join(part.split()) for part in cleandoc(doc or "").split("\n\n"))


_FORMATS = (
    "The table: .parquet, .csv, .tsv, .txt, .jsonl (text also .gz, .zst), .xlsx, .arrow, .feather, or a folder of "
    "Parquet files"
)
Data = Annotated[Path, typer.Argument(metavar="DATA", help=f"{_FORMATS}.")]
DataOrDatabase = Annotated[
    Path | None, typer.Argument(metavar="[DATA]", help=f"{_FORMATS}; or --database.", show_default=False)
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        metavar="URL",
        help="postgresql://... or sqlite:///..., without a password: that comes from the environment or the driver's file.",
    ),
]
SqlQuery = Annotated[
    str | None, typer.Option("--query", metavar="SQL", help="The rows of the database to read.")
]
SqlTable = Annotated[
    str | None, typer.Option("--table", metavar="NAME", help="The table of the database to read.")
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
    str,
    typer.Option(
        "--delta",
        "-d",
        metavar="D",
        help="auto: 1e-6, or the power of ten at or below 1/(10 rows) if that is less. 0 asks for pure epsilon-DP, "
        "which costs several times the noise where there are many columns.",
    ),
]
ClaimedDelta = Annotated[
    float,
    typer.Option("--delta", "-d", metavar="D", help="Of the claim that is attacked; 0 is pure epsilon-DP."),
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
        help="What is protected: row or attribute (one cell of it). A schema that names persons protects persons.",
    ),
]
Neighbouring = Annotated[
    str,
    typer.Option(
        "--adjacency",
        metavar="HOW",
        help="replace-one (the number of rows is public), or add-remove: it is private, and rows in the schema's \\[table] "
        "says about how many there are.",
    ),
]
AccountOption = Annotated[
    str | None,
    typer.Option(
        "--account",
        metavar="NAME",
        help="The budget account to charge, if not the schema's (\\[table] account, or else its name).",
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
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="What reads the rows: local (threads of this process), dask or spark.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="URL",
        help="The scheduler (tcp://... for dask, spark://... or sc://... for spark); by default on this machine.",
    ),
]
Shared = Annotated[
    str | None,
    typer.Option(
        "--shared",
        metavar="DIR",
        help="A folder that this machine and all workers see, for encoded rows while the release runs.",
    ),
]


def opened(
    data: Path | None,
    database: str | None,
    query: str | None,
    table: str | None,
    schema: Schema | None = None,
) -> Source:
    """The table that a command was given: a file, or a query or table of a database."""
    from gnomon.table.source import open_source

    if (data is None) == (database is None):
        raise ParameterError("Give either DATA or --database, and not both.")
    if database is None:
        if query is not None or table is not None:
            raise ParameterError("The options --query and --table belong to --database; name one.")
        return open_source(data, schema=schema)
    from gnomon.table.database import open_database

    return open_source(open_database(database, query=query, table=table, schema=schema), schema=schema)


def schema_of(path: Path) -> Schema:
    """The schema in a file; where it has several gaps, the error says who lists them all."""
    from gnomon.table.gaps import load_gaps
    from gnomon.table.schema import Schema

    try:
        return Schema.load(path)
    except SchemaError as problem:
        more = len(load_gaps(path).sentences) - 1
        if more < 1:
            raise
        gaps = "1 more gap" if more == 1 else f"{more:,} more gaps"
        raise SchemaError(f"{problem} ({gaps} of the schema: 'gnomon check' lists all)") from None


def delta_of(text: str) -> float | str:
    """What --delta says: auto, or a number."""
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            f"The option --delta must be auto or a number from 0 to below 1. Got {text!r} instead."
        ) from None


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that an option does not know."""
    if value not in allowed:
        names = " or ".join(allowed) if len(allowed) < 3 else f"one of {', '.join(allowed)}"
        raise ParameterError(f"The option {option} must be {names}. Got {value!r} instead.")
