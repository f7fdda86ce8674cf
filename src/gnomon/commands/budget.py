"""gnomon budget: the ledger of what was spent on each table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnomon.commands.options import Data, LedgerFile, ProtectedUnit, one_of
from gnomon.commands.terminal import console, printable, say

if TYPE_CHECKING:
    from gnomon.privacy.ledger import Balance, Dataset, Ledger

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=(
        "Say how much may be spent on a table, and see what was spent. The ledger is a local file that "
        "knows tables "
        "by their content; it is not published."
    ),
)


@app.command()
def show(data: Data, ledger: LedgerFile = None) -> None:
    """Show what may be spent on a table, what was spent, and what is left.

    [bold]Example[/]: gnomon budget show ward.parquet
    """
    from gnomon.privacy.guarantee import Unit

    book, dataset = _open(data, ledger)
    say(left(book.show(dataset)))
    attributes = book.show(dataset, Unit.ATTRIBUTE)
    if attributes.charges or attributes.epsilon_cap is not None:
        say(left(attributes))


@app.command()
def cap(
    data: Data,
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon", "-e", metavar="E", help="The epsilon that all releases together may spend."
        ),
    ],
    delta: Annotated[
        float,
        typer.Option("--delta", "-d", metavar="D", help="The delta that all releases together may spend."),
    ] = 0.0,
    unit: ProtectedUnit = "row",
    ledger: LedgerFile = None,
) -> None:
    """Set how much all releases of a table together may spend; a later cap replaces an earlier one.

    Releases that protect one attribute at a time (--unit attribute) have an account of their own, because an epsilon for
    one attribute says little of a whole row.

    [bold]Example[/]: gnomon budget cap ward.parquet --epsilon 2 --delta 1e-5
    """
    from gnomon.privacy import guarantee

    one_of("--unit", unit, ("row", "attribute"))
    book, dataset = _open(data, ledger)
    say(left(book.cap(dataset, epsilon, delta, guarantee.Unit(unit))))


@app.command()
def history(data: Data, ledger: LedgerFile = None) -> None:
    """List every cap and every charge of a table, oldest first.

    [bold]Example[/]: gnomon budget history ward.parquet
    """
    from rich.table import Table

    book, dataset = _open(data, ledger)
    entries = book.history(dataset)
    if not entries:
        say(f"Nothing was spent on {dataset.label}, and no cap was set.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("time (UTC)", "entry", "epsilon", "delta", "unit", "what"):
        table.add_column(head, justify="right" if head in ("epsilon", "delta") else "left")
    for entry in entries:
        what = " ".join(part for part in (entry.method, entry.note) if part)
        numbers = (f"{entry.epsilon:g}", f"{entry.delta:g}")
        table.add_row(entry.time[:19].replace("T", " "), entry.kind, *numbers, entry.unit, printable(what))
    console().print(table)


def left(balance: Balance) -> str:
    """One line: spent, cap, left."""
    spent = _pair(balance.epsilon_spent, balance.delta_spent)
    releases = f"{balance.charges} release{'' if balance.charges == 1 else 's'}"
    if balance.unit.value == "attribute":
        releases += " for single attributes"
    if balance.epsilon_left is None or balance.delta_left is None or balance.epsilon_cap is None:
        return (
            f"Budget of {balance.label}: {spent} spent in {releases}; no cap is set "
            "(set one with 'gnomon budget cap')."
        )
    whole = _pair(balance.epsilon_cap, balance.delta_cap or 0.0)
    rest = _pair(balance.epsilon_left, balance.delta_left)
    return f"Budget of {balance.label}: {spent} spent in {releases}, of {whole}; {rest} left."


def _pair(epsilon: float, delta: float) -> str:
    return f"epsilon {epsilon:.6g}" + (f" and delta {delta:.6g}" if delta else "")


def _open(data: Path, ledger: Path | None) -> tuple[Ledger, Dataset]:
    from gnomon.privacy.ledger import Dataset, Ledger
    from gnomon.table.source import open_source

    source = open_source(data)
    return Ledger(ledger), Dataset(source.title, source.fingerprint())
