"""gnomon audit: attack a method's guarantee with its own noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gnomon.commands.options import ClaimedDelta, Epsilon, Neighbouring
from gnomon.commands.terminal import console, facts, say

if TYPE_CHECKING:
    from gnomon.audit import Finding

NAME = "audit"
BROKEN = 1


def run(
    method: Annotated[str, typer.Option("--method", "-m", metavar="NAME", help="The method to attack.")],
    epsilon: Epsilon,
    delta: ClaimedDelta = 0.0,
    components: Annotated[
        int | None,
        typer.Option(
            "--components",
            "-p",
            metavar="P",
            help="The dimension of the projection; 2 shows an attacker most.",
        ),
    ] = None,
    calibration: Annotated[
        str, typer.Option("--calibration", metavar="HOW", help="sound, or paper: the noise as it is printed.")
    ] = "sound",
    unit: Annotated[str, typer.Option("--unit", metavar="UNIT", help="row, attribute or person.")] = "row",
    adjacency: Neighbouring = "replace-one",
    rows_per_person: Annotated[
        int,
        typer.Option(
            "--rows-per-person", metavar="K", help="For --unit person: how many rows of a person may be used."
        ),
    ] = 1,
    runs: Annotated[
        int,
        typer.Option(
            "--runs", metavar="N", help="Runs per table; whole releases get a tenth or a hundredth."
        ),
    ] = 10_000,
) -> None:
    """Attack a method: run it many times on two tables that differ in one record, and see what its output tells.

    No data are needed and nothing is charged. Each line is an attack on the real code with the real noise; it proves
    that epsilon is at least so much; "pair costs" is what the two tables cost by the proofs, where that is known. A
    bound far below the claim means that this attack saw little; a bound above it, with 99.9% confidence, means that the
    claim does not hold, and the exit code is 1.

    [bold]Example[/]: gnomon audit --method ron-gauss --components 16 --calibration paper --epsilon 4
    """
    from gnomon.audit import attacks_on, audit
    from gnomon.audit.attack import FEWEST

    found = []
    for attack in attacks_on(
        method,
        epsilon=epsilon,
        delta=delta,
        components=components,
        calibration=calibration,
        unit=unit,
        adjacency=adjacency,
        rows=rows_per_person,
    ):
        found.append(audit(attack, max(FEWEST, runs // attack.slow) if runs >= FEWEST else runs))
    _print(found)
    broken = [finding for finding in found if finding.broken]
    facts(
        holds=not broken,
        attacks=[
            {
                "attack": finding.attack.name,
                "neighbours": finding.attack.pair,
                "runs": finding.runs,
                "claimed": finding.attack.claim.epsilon,
                "at least (95%)": finding.epsilon,
                "at least (99.9%)": finding.certain,
            }
            for finding in found
        ],
    )
    if broken:
        say(f"The claim does NOT hold: {_why(broken[0])}.")
        raise typer.Exit(BROKEN)
    if silent := sum(finding.silent for finding in found):
        say(
            f"In {silent} of {len(found)} attacks every run gave the same numbers: at so large an epsilon the noise hardly "
            "ever shows, and these attacks say nothing about it."
        )
    say(
        "No attack exceeded the claim. That proves nothing, but these attacks do catch noise that is too small."
    )


def _why(finding: Finding) -> str:
    if finding.repeats:
        return (
            f"{finding.attack.name} gives the same numbers in every run, so it has no noise or a seeded one"
        )
    return (
        f"{finding.attack.name} costs epsilon at least {finding.certain:.3g}, with 99.9% confidence, "
        f"where {finding.attack.claim.epsilon:.3g} is claimed"
    )


def _print(found: list[Finding]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("attack", "neighbours"):
        table.add_column(head)
    for head in ("runs", "claimed", "pair costs", "at least (95%)", "(99.9%)"):
        table.add_column(head, justify="right")
    for finding in found:
        costs = "" if finding.attack.reach is None else f"{finding.attack.reach():.3g}"
        table.add_row(
            finding.attack.name,
            finding.attack.pair,
            f"{finding.runs:,}",
            f"{finding.attack.claim.epsilon:.3g}",
            costs,
            f"{finding.epsilon:.3g}",
            f"{finding.certain:.3g}",
        )
    console().print(table)
