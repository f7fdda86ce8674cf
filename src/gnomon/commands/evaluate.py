"""gnomon evaluate: what a release is worth beside the real rows, for the custodian's eyes only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnomon.commands.terminal import Watch, facts, say
from gnomon.errors import ParameterError

if TYPE_CHECKING:
    from gnomon.evaluation.result import Evaluation

NAME = "evaluate"


def run(
    release: Annotated[
        list[Path],
        typer.Option(
            "--release",
            "-r",
            metavar="DIR",
            help="A release folder; repeat it for independent releases of the same table.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="A new folder for metrics.json and evaluation.html."),
    ],
    real: Annotated[
        Path | None,
        typer.Option(
            "--real", metavar="TRAIN", help="The table that was released, if not made with --holdout."
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test",
            metavar="TEST",
            help="Real rows of the same kind that were not released; by default what --holdout kept back.",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task", metavar="TASK", help="clustering leaves the target out; by default as declared."
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", metavar="N", help="How often rows are drawn again for the intervals.")
    ] = 5,
    rows: Annotated[
        int, typer.Option("--rows", metavar="N", help="At most so many rows to train on, and to test on.")
    ] = 5_000,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script",
            metavar="FILE",
            help="A Python file with analyse(table) -> dict of numbers; it is executed on real and released rows.",
        ),
    ] = None,
    membership: Annotated[
        bool,
        typer.Option("--membership", help="Also attack the method with shadow models (fits it 11 times)."),
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="Repeats subsamples and models.")
    ] = None,
) -> None:
    """Measure what a release is worth: train on it, test on real rows, compare the distributions.

    The result compares with the real data. It is for you, the custodian, and not for release: it spends no
    budget because nobody else may see it.

    [bold]Example[/]: gnomon evaluate --release ward-release --real ward.parquet --test new.parquet --out worth
    """
    from gnomon.evaluation.limits import Limits
    from gnomon.evaluation.run import evaluate
    from gnomon.release.folder import check_place

    check_place(out)
    if rows < 10:
        raise ParameterError(f"The option --rows must be at least 10. Got {rows} instead.")
    with Watch(passes=0, unit="trials") as watch:
        found = evaluate(
            release,
            real,
            test,
            task=task,
            trials=trials,
            limits=Limits(train=rows, test=rows),
            script=script,
            membership=membership,
            random_state=seed,
            progress=watch,
        )
        found.save(out)
    _tell(found, out)


def _tell(found: Evaluation, out: Path) -> None:
    from gnomon.evaluation.page import summary, worst_sentence
    from gnomon.evaluation.result import STAMP

    facts(out=out, summary=summary(found), worst=[column.name for column in found.worst], **found.to_dict())
    say(summary(found))
    worst = worst_sentence(found)
    if worst is not None:
        say(worst)
    for note in found.notes:
        say(f"  {note}")
    say(f"Wrote {out / 'metrics.json'} and {out / 'evaluation.html'}.")
    say(f"{STAMP[0].upper()}{STAMP[1:]}.")
