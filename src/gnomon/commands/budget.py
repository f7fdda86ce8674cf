"""gnomon budget: the ledger of what was spent, by account."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnomon.commands.options import LedgerFile, one_of
from gnomon.commands.speech import speaking
from gnomon.commands.terminal import console, facts, printable, say
from gnomon.errors import LedgerError, ParameterError
from gnomon.privacy.guarantee import USUAL_CAP

if TYPE_CHECKING:
    from gnomon.privacy.ledger import Balance, Entry

LARGEST = 2**26  # bytes of an exported account that somebody sends

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=(
        "Say how much may be spent, and see what was spent. A budget is an account with a name: the one in the schema "
        "(\\[table] account, or else its name), or that of --account. The ledger is a local file; it is not published."
    ),
)

AccountName = Annotated[
    str,
    typer.Argument(
        metavar="ACCOUNT",
        help="The account: \\[table] account of the schema, or else the table's name there.",
    ),
]


@app.command()
@speaking
def show(
    account: Annotated[
        str | None,
        typer.Argument(metavar="ACCOUNT", help="The account; every one of them where it is left out."),
    ] = None,
    ledger: LedgerFile = None,
) -> None:
    """Show what an account may spend, what was spent, and what is left.

    [bold]Example[/]: gnomon budget show ward-2026
    """
    from gnomon.privacy.ledger import Ledger

    book = Ledger(ledger)
    balances = book.accounts() if account is None else [book.show(account)]
    facts(accounts=[asdict(balance) for balance in balances])
    for balance in balances:
        tell_left(balance)
    if not balances:
        say("The ledger has no account.")


@app.command()
@speaking
def cap(
    account: AccountName,
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon", "-e", metavar="E", help="The epsilon that all releases together may spend."
        ),
    ],
    delta: Annotated[
        float,
        typer.Option(
            "--delta",
            "-d",
            metavar="D",
            help="The delta that all releases together may spend: by default ten times the usual one; 0 is pure.",
        ),
    ] = USUAL_CAP,
    unit: Annotated[
        str,
        typer.Option(
            "--unit",
            metavar="UNIT",
            help="What the account counts: row, attribute (one cell of a row) or person.",
        ),
    ] = "row",
    adjacency: Annotated[
        str | None,
        typer.Option(
            "--adjacency",
            metavar="HOW",
            help="replace-one (the number of rows is public) or add-remove (it is private; always so for persons).",
        ),
    ] = None,
    rows_per_person: Annotated[
        int,
        typer.Option(
            "--rows-per-person", metavar="K", min=1, help="With --unit person: rows of one person at most."
        ),
    ] = 1,
    ledger: LedgerFile = None,
) -> None:
    """Set how much all releases from an account together may spend; a later cap replaces an earlier one.

    The first cap or release fixes what the account counts. Releases of another kind are converted to it by a proved
    bound, or refused.

    [bold]Example[/]: gnomon budget cap ward-2026 --epsilon 2 --delta 1e-5
    """
    from gnomon.privacy.guarantee import Adjacency, Unit
    from gnomon.privacy.ledger import Ledger

    one_of("--unit", unit, ("row", "attribute", "person"))
    adjacency = adjacency or ("add-remove" if unit == "person" else "replace-one")
    one_of("--adjacency", adjacency, ("replace-one", "add-remove"))
    if Path(account).is_file():
        raise ParameterError(
            f"{account!r} is a file, and an account is a name; give [table] account of its schema, or the name there."
        )
    book = Ledger(ledger)
    kind = {"unit": Unit(unit), "adjacency": Adjacency(adjacency), "rows": rows_per_person}
    balance = book.cap(account, epsilon, delta, **kind)  # type: ignore[arg-type]
    facts(**asdict(balance))
    say(left(balance))


@app.command()
@speaking
def history(account: AccountName, ledger: LedgerFile = None) -> None:
    """List every cap and every charge of an account, oldest first.

    [bold]Example[/]: gnomon budget history ward-2026
    """
    from rich.table import Table

    from gnomon.privacy.ledger import Ledger

    entries = Ledger(ledger).history(account)
    facts(account=account, entries=[asdict(entry) for entry in entries])
    if not entries:
        say(f"Nothing was spent from {account}, and no cap was set.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("time (UTC)", "entry", "epsilon", "delta", "unit", "what"):
        table.add_column(head, justify="right" if head in ("epsilon", "delta") else "left")
    for entry in entries:
        numbers = (f"{entry.epsilon:g}", f"{entry.delta:g}")
        table.add_row(
            entry.time[:19].replace("T", " "), entry.kind, *numbers, entry.unit, printable(_what(entry))
        )
    console().print(table)
    say(f"The chain of these entries ends in {entries[-1].hash}.")


@app.command()
@speaking
def export(
    account: AccountName,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write, which must not exist.")
    ],
    ledger: LedgerFile = None,
) -> None:
    """Write an account, with its history and its key, to a file that another machine can import.

    Release from one of the two machines only: histories that part cannot be joined. The file is as private as the ledger.

    [bold]Example[/]: gnomon budget export ward-2026 --out ward-2026.json
    """
    import json

    from gnomon.commands.output import new_file
    from gnomon.privacy.ledger import Ledger

    document = Ledger(ledger).export(account)
    with new_file(out, mode=0o600) as path:
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    facts(account=account, out=out, entries=len(document["entries"]))
    say(f"Wrote {out}: {len(document['entries'])} entries of {account}. It is not for publication.")


@app.command("import")
@speaking
def import_(
    account: AccountName,
    file: Annotated[
        Path, typer.Option("--from", "-f", metavar="FILE", help="What 'gnomon budget export' wrote.")
    ],
    ledger: LedgerFile = None,
) -> None:
    """Add an account that another machine exported; refused where it exists with another history.

    [bold]Example[/]: gnomon budget import ward-2026 --from ward-2026.json
    """
    from gnomon.privacy.ledger import Ledger

    book = Ledger(ledger)
    added = book.import_account(_document(file), account)
    facts(added=added, **asdict(book.show(account)))
    say(f"Added {added} entr{'y' if added == 1 else 'ies'}. {left(book.show(account))}")


def _document(file: Path) -> object:
    import json

    try:
        if file.stat().st_size > LARGEST:
            raise LedgerError(f"The file {str(file)!r} is longer than {LARGEST} bytes, which no account is.")
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise LedgerError(f"The file {str(file)!r} cannot be read ({problem.strerror}).") from None
    except (ValueError, RecursionError):
        raise LedgerError(f"The file {str(file)!r} is not an exported account; export it again.") from None


def _what(entry: Entry) -> str:
    table = f"from {entry.table}" if entry.table else ""
    asked = f"(itself {entry.asked})" if entry.asked else ""
    return " ".join(part for part in (entry.method, entry.note, table, asked) if part)


def tell_left(balance: Balance) -> None:
    """What is left, and that all releases together are a weak promise where they are."""
    from gnomon.privacy.meaning import weak_together

    say(left(balance))
    if weak := weak_together(balance.account, balance.charges, balance.epsilon_spent, balance.delta_spent):
        say(f"Note: {weak}")


def left(balance: Balance) -> str:
    """One line: spent, cap, left."""
    from gnomon.privacy.ledger import words

    spent = _pair(balance.epsilon_spent, balance.delta_spent)
    releases = f"{balance.charges} release{'' if balance.charges == 1 else 's'}"
    if balance.neighbours is not None:
        releases += f" ({words(balance.neighbours)})"
    if balance.epsilon_left is None or balance.delta_left is None or balance.epsilon_cap is None:
        return (
            f"Budget of {balance.account}: {spent} spent in {releases}; no cap is set "
            "(set one with 'gnomon budget cap')."
        )
    whole = _pair(balance.epsilon_cap, balance.delta_cap or 0.0)
    rest = _pair(balance.epsilon_left, balance.delta_left)
    return f"Budget of {balance.account}: {spent} spent in {releases}, of {whole}; {rest} left."


def _pair(epsilon: float, delta: float) -> str:
    return f"epsilon {epsilon:.6g}" + (f" and delta {delta:.6g}" if delta else "")
