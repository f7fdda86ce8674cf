"""gnomon check: does every cell fit the schema; for the custodian's eyes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnomon.commands.options import Data, SchemaFile, Target
from gnomon.commands.terminal import Watch, console, printable, say
from gnomon.errors import DataError

if TYPE_CHECKING:
    from gnomon.table.check import CheckReport

NAME = "check"


def run(data: Data, schema: SchemaFile, target: Target = None) -> None:
    """Compare every cell of a table with its schema and count what does not fit.

    The counts come from the private rows: they are for you, the custodian, and not for publication. Cells
    out of bounds are clipped by a release; cells of the other kinds make it refuse. Nothing is charged.

    [bold]Example[/]: gnomon check ward.parquet --schema schema.toml
    """
    from gnomon.table.check import check
    from gnomon.table.schema import Schema
    from gnomon.table.source import open_source

    loaded = Schema.load(schema)
    declared = loaded if target is None else loaded.with_target(target)
    source = open_source(data, schema=declared)
    with Watch(passes=1) as watch:
        report = check(source, declared, watch)
    _print(report)
    if not report.ok:
        count = len(report.problems)
        more = "" if count == 1 else f" (the first of {count} problems, listed above)"
        raise DataError(report.problems[0] + more)
    say("The table fits its schema: a release would accept it.")


def _print(report: CheckReport) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("column")
    for head in ("missing", "out of bounds", "not declared", "wrong type"):
        table.add_column(head, justify="right")
    plain = 0
    for column in report.columns:
        counts = (column.missing, column.out_of_bounds, column.unknown, column.alien)
        if any(counts):
            table.add_row(printable(column.name), *(f"{count:,}" if count else "-" for count in counts))
        else:
            plain += 1
    say(
        f"{report.rows:,} rows, {len(report.columns):,} released columns. Not for release: counts of private "
        "cells."
    )
    if table.row_count:
        console().print(table)
    if plain:
        say(f"{plain:,} column{'' if plain == 1 else 's'} without any remark.")
    if report.undeclared:
        say(f"Not in the schema, and never read: {', '.join(report.undeclared)}.")
    for remark in report.remarks:
        say(remark)
    if len(report.problems) > 1:
        for problem in report.problems:
            say(f"- {problem}")
