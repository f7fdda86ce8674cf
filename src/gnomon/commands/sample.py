"""gnomon sample: more rows from the model of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gnomon.commands.output import format_of, new_file, write_tables
from gnomon.commands.terminal import Watch, facts, say
from gnomon.errors import ParameterError, columns_instead

NAME = "sample"


def run(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A release folder of a method that fits a model.")
    ],
    rows: Annotated[int, typer.Option("--rows", "-n", metavar="N", min=1, help="How many rows to draw.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write the rows: .parquet or .csv.")
    ],
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            metavar="NAME=VALUE",
            help="Only rows with this cell: a value, LOW..HIGH for numbers and dates, or nothing for a missing cell. "
            "Repeat it for more columns, or for several values of one.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Repeats the draw.")] = None,
) -> None:
    """Draw more rows from the model of a release, all of them or only such as have given cells.

    The model follows from the measurements in the folder, so this needs no table and no budget: the rows are as private as
    the release. More rows make files larger, not knowledge. Rows with given cells are drawn until enough fit; cells that
    the model does not have are refused.

    [bold]Example[/]: gnomon sample ward-release --rows 1000 --given ward=north --given age=60..80 --out north.parquet
    """
    from gnomon.release.formats import FORMATS
    from gnomon.release.verify import open_release

    format = format_of(out)
    opened = open_release(folder, replay=False)
    model = opened.model
    FORMATS[format].check(model.data_schema_)
    condition = conditions(given or [], {c.name: c.kind for c in model.data_schema_.released})
    with new_file(out) as file, Watch(passes=1) as watch:
        count = 0

        def told() -> Any:
            nonlocal count
            for table in model.given_batches(rows, seed, condition or None):
                count += table.num_rows
                watch("drawing rows", count, rows)
                yield table

        write_tables(file, told(), format)
    facts(out=out, rows=rows)
    say(f"Wrote {out}: {rows:,} rows drawn from the model of {folder}.")
    say("They are as private as the release, whose certificate holds for them too.")


def conditions(pairs: list[str], kinds: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        # a name may hold an equals sign, and so may a value: the longest name that is a column decides
        name = max((n for n in kinds if pair.startswith(f"{n}=")), key=len, default=None)
        if name is None:
            instead = columns_instead(pair.split("=")[0], kinds)
            raise ParameterError(
                f"The option --given must be NAME=VALUE with a column of the release; {instead} Got {pair!r} instead."
            )
        text = pair[len(name) + 1 :]
        value: Any = text or None
        if kinds[name] in ("number", "date") and ".." in text:
            low, _, high = text.partition("..")
            value = (low or None, high or None)
        if name in found:
            if value is None or isinstance(value, tuple) or not isinstance(found[name], list):
                raise ParameterError(
                    f"The option --given names {name!r} twice; repeat it for single values only."
                )
            found[name].append(value)
        else:
            found[name] = [value] if isinstance(value, str) else value
    return found
