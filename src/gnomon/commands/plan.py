"""gnomon plan: what a budget buys, before it is spent."""

from __future__ import annotations

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
    schema_of,
)
from gnomon.commands.terminal import console, facts, printable, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnomon.methods.planning import MethodPlan
    from gnomon.verdict.levels import Verdict, Verdicts

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
    """Show what a budget buys, by column and by method. Reads no data and charges nothing.

    A column is good (total variation of its marginal below 0.1, mean within 0.1 deviations), usable (0.25 and 0.3), weak,
    or lost: no better than what is public before, even between the declared bounds. The verdict is that of a table of
    usual shapes; yours may be easier or harder, and the release says how it came out.

    Spreads are standard deviations of the data themselves: noise of 0.1 spreads is a tenth of what people
    differ by anyway. Plan as often as you like, with several epsilons, before you release once.

    [bold]Example[/]: gnomon plan --schema schema.toml --rows 5000 --epsilon 1
    """
    from gnomon.plan import plan_by_numbers
    from gnomon.report.words import protects

    one_of("--unit", unit, ("row", "attribute"))
    one_of("--adjacency", adjacency, ("replace-one", "add-remove"))
    loaded = schema_of(schema)
    found = plan_by_numbers(
        loaded, rows, epsilon=epsilon, delta=delta_of(delta), target=target, unit=unit, adjacency=adjacency
    )
    guarantee, columns = found.guarantee, len(loaded.released)
    facts(**found.to_dict())
    shown = "pure" if guarantee.delta == 0 else f"delta = {guarantee.delta:g}"
    say(
        f"{found.rows:,} rows, epsilon = {epsilon:g} ({shown}) for {protects(guarantee)} "
        f"({guarantee.adjacency.value}), {columns:,} released column{'' if columns == 1 else 's'}. No data were read."
    )
    say(f"--method auto means {found.verdicts.method}. {found.verdicts.summary()}")
    _print_verdicts(found.verdicts)
    say()
    _print(found.methods)
    say()
    for planned in found.methods:
        say(f"{planned.method}: {planned.advice}")
    for note in found.notes:
        say(note)


def _print_verdicts(verdicts: Verdicts) -> None:
    """Columns that have the same verdict stand in one line."""
    from rich.table import Table

    from gnomon.verdict.levels import some

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("verdict", "location", "spread", "marginal", "columns", "the next level takes about"):
        table.add_column(head, overflow="fold")
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in sorted(verdicts.columns, key=lambda verdict: -verdict.level):
        levels = (one.level, one.location, one.spread, one.marginal)
        key = (*("" if level is None else level.word for level in levels), _takes(one))
        alike.setdefault(key, []).append(one.name)
    for (*words, takes), names in alike.items():
        table.add_row(*words, printable(some(names)), takes)
    console().print(table)


def _takes(verdict: Verdict) -> str:
    remedy = verdict.remedy
    if remedy is None:
        return "" if verdict.level == 0 else "more than 1,000 times the rows, or fewer columns"
    ways = []
    if remedy.delta is not None:
        ways.append(f"--delta {remedy.delta:g}")
    if remedy.rows is not None:
        ways.append(f"{remedy.rows:,} rows")
    if remedy.epsilon is not None:
        ways.append(f"--epsilon {remedy.epsilon:g}")
    return " or ".join(ways)


def _print(plans: Sequence[MethodPlan]) -> None:
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
