"""gnomon init: a draft schema from column names and types."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnomon.commands.options import Data
from gnomon.commands.output import new_file
from gnomon.commands.terminal import say

NAME = "init"


def run(
    data: Data,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the draft.")
    ] = Path("schema.toml"),
) -> None:
    """Draft a schema: the names and kinds of the columns, for you to complete.

    Bounds and categories stay blank on purpose. Everything in a schema is public, so it must come from public
    knowledge (a code book, a norm, common sense) and never from the rows.

    [bold]Example[/]: gnomon init ward.parquet --out schema.toml
    """
    from gnomon.table.schema import Schema
    from gnomon.table.source import open_source

    source = open_source(data)
    draft = Schema.draft(source)
    with new_file(out) as file:
        file.write_text(draft, encoding="utf-8")
    say(f"Wrote {out}: {len(source.names)} columns, of which only names and types were read.")
    say(f"Fill in the blanks from public knowledge, then: gnomon check {data} --schema {out}")
