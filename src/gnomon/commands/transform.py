"""gnomon transform: real rows into the released space."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnomon.commands.options import Data
from gnomon.commands.output import new_file
from gnomon.commands.terminal import Watch, say
from gnomon.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

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

    format = _format(out)
    opened = open_release(release)
    if format == "csv":
        refuse_in_csv(opened.schema)
    source = open_source(data, schema=opened.schema)
    with new_file(out) as file, Watch(passes=1) as watch:
        seen = transform_batches(source, opened.schema, opened.map, progress=watch)
        rows = _write(file, seen, format)
    say(f"Wrote {out}: {rows:,} rows as the release in {release} would show them.")
    if opened.map.shows_all:
        say(
            "This release keeps all columns as they are, so rows are only brought within their declared bounds."
        )
    say("These are your own rows, not a release: they carry no guarantee.")


def _format(out: Path) -> str:
    if out.suffix not in (".parquet", ".csv"):
        raise ParameterError(
            f"The file {str(out)!r} must end in .parquet or .csv; give it one of these endings."
        )
    return out.suffix[1:]


def _write(file: Path, tables: Iterator[pa.Table], format: str) -> int:
    import pyarrow.csv
    import pyarrow.parquet as pq

    first = next(tables)
    opened = (
        pq.ParquetWriter(file, first.schema)
        if format == "parquet"
        else pyarrow.csv.CSVWriter(file, first.schema)
    )
    with opened as writer:
        rows = 0
        for table in itertools.chain([first], tables):
            writer.write_table(table)
            rows += table.num_rows
    return rows
