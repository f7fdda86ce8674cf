"""gnomon plan: what a budget buys, before it is spent."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from gnomon.commands.options import (
    Delta,
    Epsilon,
    Neighbouring,
    ProtectedUnit,
    SchemaFile,
    Target,
    delta_of,
    one_of,
)
from gnomon.commands.terminal import console, facts, say
from gnomon.errors import ParameterError

if TYPE_CHECKING:
    from gnomon.methods.planning import MethodPlan

NAME = "plan"


def run(
    schema: SchemaFile,
    epsilon: Epsilon,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            "-n",
            metavar="N",
            help="How many rows the table has, if not about as many as the schema says.",
        ),
    ] = None,
    delta: Delta = "auto",
    target: Target = None,
    unit: ProtectedUnit = "row",
    adjacency: Neighbouring = "replace-one",
) -> None:
    """Show what a budget buys, per method. Reads no data and charges nothing.

    Spreads are standard deviations of the data themselves: noise of 0.1 spreads is a tenth of what people
    differ by anyway. Plan as often as you like, with several epsilons, before you release once.

    [bold]Example[/]: gnomon plan --schema schema.toml --rows 5000 --epsilon 1
    """
    from gnomon.methods.opening import promised
    from gnomon.plan import choose, elsewhere, plan
    from gnomon.privacy.guarantee import Adjacency, Unit
    from gnomon.report.words import protects
    from gnomon.table.schema import Schema

    one_of("--unit", unit, ("row", "attribute"))
    one_of("--adjacency", adjacency, ("replace-one", "add-remove"))
    loaded = Schema.load(schema)
    rows = loaded.rows if rows is None else rows
    if rows is None:
        raise ParameterError(
            "The option --rows must be given, because the [table] of the schema says no rows."
        )
    guarantee = promised(
        loaded, epsilon, delta_of(delta), unit=Unit(unit), adjacency=Adjacency(adjacency), rows=rows
    )
    plans = plan(loaded, rows, guarantee, target)
    facts(rows=rows, epsilon=epsilon, delta=guarantee.delta, methods=[asdict(planned) for planned in plans])
    shown = "pure" if guarantee.delta == 0 else f"delta = {guarantee.delta:g}"
    say(
        f"{rows:,} rows, epsilon = {epsilon:g} ({shown}) for {protects(guarantee)} ({guarantee.adjacency.value}), "
        f"{len(loaded.released):,} released columns. No data were read."
    )
    _print(plans)
    say()
    if loaded.estimated:
        from gnomon.methods.bounds import SHARE

        names = ", ".join(column.name for column in loaded.estimated)
        say(f"{SHARE:.0%} of the budget, left out above, would go to what is estimated of: {names}.")
    for planned in plans:
        say(f"{planned.method}: {planned.advice}")
    if plans:
        say(f"--method auto means {choose(loaded, rows, guarantee)}.")
    hint = elsewhere(loaded)
    if hint is not None:
        say(hint)


def _print(plans: list[MethodPlan]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head, side in [
        ("method", "left"),
        ("dimension", "right"),
        ("statistic", "left"),
        ("noise (sd)", "left"),
    ]:
        table.add_column(head, justify="right" if side == "right" else "left")
    table.add_column("mechanism")
    table.add_column("expected error", justify="right")
    for planned in plans:
        for i, noise in enumerate(planned.noise):
            first = (planned.method, str(planned.n_components)) if i == 0 else ("", "")
            error = _percent(planned.error) if i == 0 else ""
            table.add_row(*first, noise.statistic, f"{noise.std:.3g} {noise.unit}", noise.mechanism, error)
    console().print(table)


def _percent(error: float) -> str:
    if error >= 10:
        return "over 1,000%"
    return f"{100 * error:.0f}%" if error >= 0.1 else f"{100 * error:.2g}%"
