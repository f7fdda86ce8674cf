"""gnomon transform: real rows into the released space."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gnomon.commands.options import Data
from gnomon.commands.output import format_of, new_file, write_tables
from gnomon.commands.terminal import Watch, facts, say

NAME = "transform"


def run(
    data: Data,
    release: Annotated[Path, typer.Option("--release", "-r", metavar="DIR", help="A release folder.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the rows: .parquet or .csv.")
    ],
) -> None:
    """Bring real rows into the space of a release, by public knowledge only.

    A model that was trained on a release has seen the table through its projection; `transform` shows it
    new rows in the same way. It reads the release and your rows, needs no budget, and what it writes is as
    private as your rows are.

    [bold]Example[/]: gnomon transform patients.csv --release ward-release --out seen.parquet
    """
    from gnomon.release.folder import open_release
    from gnomon.release.transform import transform_batches
    from gnomon.table.source import open_source
    from gnomon.table.spreadsheet import refuse_in_csv

    format = format_of(out)
    opened = open_release(release)
    if format == "csv":
        refuse_in_csv(opened.schema)
    source = open_source(data, schema=opened.schema)
    with new_file(out) as file, Watch(passes=1) as watch:
        seen = transform_batches(source, opened.schema, opened.map, progress=watch)
        rows = write_tables(file, seen, format)
    facts(out=out, rows=rows)
    say(f"Wrote {out}: {rows:,} rows as the release in {release} would show them.")
    if opened.map.shows_all:
        say(
            "This release keeps all columns as they are, so rows are only brought within their declared bounds."
        )
    say("These are your own rows, not a release: they carry no guarantee.")
