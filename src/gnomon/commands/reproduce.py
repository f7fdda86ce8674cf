"""gnomon reproduce: a paper's table or figure, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnomon.commands.terminal import Watch, complain, console, facts, say
from gnomon.errors import DataError, ParameterError

if TYPE_CHECKING:
    from gnomon.reproduce import Experiment

NAME = "reproduce"


def run(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A name from --list, or all.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            envvar="GNOMON_DATA",
            metavar="DIR",
            help="The papers' tables: one folder each (gfe, mnist, ...) with data.parquet in it.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Results go to DIR/NAME, and continue there."),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            metavar="N",
            help="How often everything is repeated; 5 for a first look, the papers ran 50 or 100.",
            show_default=False,
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            "--minutes",
            metavar="M",
            help="Begin no trial after M minutes; the same command continues.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="PART",
            help="Only lines with this part in their name (row, column, calibration); may be repeated.",
            show_default=False,
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="PART",
            help="No line with this part in its name; may be repeated.",
            show_default=False,
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Name the experiments and stop.")] = False,
) -> None:
    """Measure a paper's table or figure again: the printed value beside ours, with its noise and with sound noise.

    DIR/NAME gets table.md and table.csv (printed value, our value with the paper's calibration, our value sound,
    trials, and whether the data are the original, a part of it or a stand-in), and figure.png and figure.svg where the
    paper has one. Every number is written to trials.jsonl as soon as it is known: run the same command again after
    an interruption and it continues, or with more --trials and it adds them.

    The tables are public benchmarks; nothing is charged. They are not part of gnomon.

    [bold]Example[/]: gnomon reproduce ron-gauss-table4 --data datasets --out results --trials 10
    """
    from gnomon.reproduce import experiments, named, reproduce

    if listed:
        facts(experiments={one.name: one.title for one in experiments().values()})
        _print(list(experiments().values()))
        return
    if name is None or data is None or out is None:
        lacking = "a NAME" if name is None else "--data DIR (or GNOMON_DATA)" if data is None else "--out DIR"
        raise ParameterError(
            f"gnomon reproduce needs {lacking}; 'gnomon reproduce --list' shows what there is."
        )
    wanted = named(name)
    refused = 0
    for experiment in wanted:
        try:
            with Watch(passes=0, unit="cells") as watch:
                results = reproduce(
                    experiment,
                    data,
                    out,
                    trials=trials,
                    minutes=minutes,
                    only=only or (),
                    without=without or (),
                    progress=watch,
                )
        except DataError as refusal:
            if len(wanted) == 1:
                raise
            refused += 1
            complain(str(refusal))
            continue
        for record in results.errors:
            complain(f"no value for {record.row}, {record.column}: {record.error}")
        facts(**{experiment.name: out / experiment.name / "table.md"})
        say(f"Wrote {out / experiment.name / 'table.md'}.")
    if refused:
        raise DataError(f"{refused} of {len(wanted)} experiments lacked their data, as said above.")


def _print(known: list[Experiment]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("name", "what", "paper's trials", "reads"):
        table.add_column(head)
    for experiment in known:
        reads = ", ".join(sorted({file.split("/")[0] for file in experiment.files})) or "generated data"
        table.add_row(experiment.name, experiment.title, str(experiment.trials), reads)
    console().print(table)
