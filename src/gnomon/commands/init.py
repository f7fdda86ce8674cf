"""gnomon init: a draft schema from names, types and the form of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnomon.commands.options import Database, DataOrDatabase, SqlQuery, SqlTable, opened
from gnomon.commands.output import new_file
from gnomon.commands.terminal import facts, say

NAME = "init"


def run(
    data: DataOrDatabase = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the draft.")
    ] = Path("schema.toml"),
    database: Database = None,
    query: SqlQuery = None,
    table: SqlTable = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            "--codebook",
            metavar="FILE",
            help="What is publicly known of the columns: a CSV (name, kind, low, high, values, label, missing), a "
            "Frictionless Table Schema, SDV metadata or Croissant.",
        ),
    ] = None,
    from_public: Annotated[
        Path | None,
        typer.Option(
            "--from-public",
            metavar="FILE",
            help="Another table, which anybody may see: its bounds and categories go into the schema, and are published.",
        ),
    ] = None,
) -> None:
    """Draft a schema: the kinds of the columns and hints, for you to complete.

    Bounds and categories stay blank on purpose, unless a codebook or a public table gives them. Everything in a schema
    is public, so it must come from public knowledge (a code book, a norm, common sense) and never from the rows.

    [bold]Example[/]: gnomon init ward.parquet --out schema.toml
    """
    from gnomon.table.codebook import read_codebook
    from gnomon.table.draft import draft
    from gnomon.table.learn import learn, refuse_same

    book = None if codebook is None else read_codebook(codebook)
    if from_public is not None and data is not None:
        refuse_same(from_public, data)
    given = data if database is None else opened(data, database, query, table)
    drafted = draft(given, book, None if from_public is None else learn(from_public))
    with new_file(out) as file:
        drafted.save(file)
    say(f"Wrote {out}: {len(drafted.names):,} columns, drafted from their names, types and form.")
    for remark in drafted.remarks:
        say(remark)
    gaps = drafted.gaps()
    facts(out=out, columns=list(drafted.names), remarks=list(drafted.remarks), open=list(gaps))
    count, named = len(gaps), data or "--database ..."
    if count:
        many = "1 declaration is" if count == 1 else f"{count} declarations are"
        say(f"{many} to be completed from public knowledge; then: gnomon check {named} --schema {out}")
    else:
        say(f"Nothing is left open. Read it, then: gnomon check {named} --schema {out}")
