"""gnomon distances, neighbours, query and marginal: what an analyst asks of a release folder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnomon.commands.terminal import console, facts, printable, say
from gnomon.errors import ParameterError

if TYPE_CHECKING:
    from gnomon.release.folder import Opened

Release = Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")]
Level = Annotated[
    float, typer.Option("--level", metavar="P", help="How often an interval shall hold the truth.")
]
Linear = Annotated[
    bool,
    typer.Option(
        "--linear",
        help="Unbiased answers, which may be impossible ones, in place of those that fit the bounds.",
    ),
]


def distances(
    release: Release,
    rows: Annotated[
        list[int], typer.Argument(metavar="I J [I J]...", help="Pairs of released rows, from 0.")
    ],
    level: Level = 0.95,
) -> None:
    """Squared distances of the records behind released rows, with standard errors.

    For row releases (jl-laplace, dppro, dprp). A distance is that of encoded rows, before projection and noise,
    and free of bias. The interval includes both; where few components leave a distance open above, it ends at inf.

    [bold]Example[/]: gnomon distances ward-release 0 17 0 23
    """
    if len(rows) % 2:
        raise ParameterError("Distances need pairs of rows: give an even number of places.")
    first, second = rows[::2], rows[1::2]
    found = _opened(release).distances(first, second)
    lines = zip(first, second, found.value, found.standard_error, *found.interval(level), strict=True)
    _show(("row", "row ", "squared distance", "standard error", "from", "to"), lines)


def neighbours(
    release: Release,
    row: Annotated[int, typer.Argument(metavar="I", help="A released row, from 0.")],
    count: Annotated[int, typer.Option("--count", "-k", metavar="K", help="How many.")] = 5,
    level: Level = 0.95,
) -> None:
    """The released rows nearest to one, with their squared distances.

    For row releases. The noise adds the same to all distances, so that their order is the best guess of the true one; the
    standard errors say how sure it is.

    [bold]Example[/]: gnomon neighbours ward-release 17 --count 3
    """
    found = _opened(release).neighbours(row, count)
    far = found.distances
    lines = zip(found.places.tolist(), far.value, far.standard_error, *far.interval(level), strict=True)
    _show(("row", "squared distance", "standard error", "from", "to"), lines)


def query(
    release: Release,
    terms: Annotated[
        list[str],
        typer.Argument(
            metavar="TERM...",
            help="NAME=VALUE counts rows, NAME adds up a number; 2.5*NAME weighs it.",
        ),
    ],
    together: Annotated[
        bool, typer.Option("--together", help="Add all terms up, as one linear query.")
    ] = False,
    linear: Linear = False,
    level: Level = 0.95,
) -> None:
    """Counting and linear queries over all rows of the table, with intervals.

    Rows behind a random projection (jl-laplace, dppro) answer by least squares, and the interval includes the projection. A
    model release answers by its noisy counts where these tell the answer; else by its model, which is marked.

    [bold]Example[/]: gnomon query ward-release ward=north age
    """
    weights = [weighed(term) for term in terms]
    asked = [{term: w} for term, w in weights]
    if together:
        asked = [{term: sum(w for other, w in weights if other == term) for term, _ in weights}]
    found = _opened(release).query(asked, constrained=not linear)
    names = [" + ".join(terms)] if together else terms
    lines = zip(names, found.value, found.standard_error, *found.interval(level), strict=True)
    _show(("query", "sum over all rows", "standard error", "from", "to"), lines, found.about)


def marginal(
    release: Release,
    columns: Annotated[list[str], typer.Argument(metavar="NAME [NAME]", help="One column, or two.")],
    linear: Linear = False,
    level: Level = 0.95,
) -> None:
    """How many rows have each value of a column, or each pair of values of two, with intervals.

    [bold]Example[/]: gnomon marginal ward-release ward outcome
    """
    found = _opened(release).marginal(columns, constrained=not linear)
    counts = found.counts
    ends = counts.interval(level)
    values = list(zip(*found.values, strict=True))
    lines = zip(*values, counts.value, counts.standard_error, *ends, strict=True)
    _show((*found.columns, "rows", "standard error", "from", "to"), lines, counts.about)


COMMANDS: dict[str, Callable[..., None]] = {
    "distances": distances,
    "neighbours": neighbours,
    "query": query,
    "marginal": marginal,
}


def _opened(path: Path) -> Opened:
    from gnomon.release.verify import open_release

    return open_release(path, replay=False)


def weighed(term: str) -> tuple[str, float]:
    head, star, rest = term.partition("*")
    try:
        return (rest, float(head)) if star else (term, 1.0)
    except ValueError:
        return term, 1.0


def _show(names: Sequence[str], lines: Any, about: str = "") -> None:
    """A table for people, or a list of objects for programs; a number that is not known is a dash, or null."""
    rows = [tuple(_plain(cell) for cell in line) for line in lines]
    keys = [name.strip().replace(" ", "_") + "_2" * (name != name.strip()) for name in names]
    facts(answers=[dict(zip(keys, row, strict=True)) for row in rows], **({"about": about} if about else {}))
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(printable(name), justify="right")
    for row in rows:
        table.add_row(*(_text(cell) for cell in row))
    console().print(table)
    if about:
        say(f"({about})")


def _plain(cell: Any) -> Any:
    if isinstance(cell, str | int):
        return cell
    number = float(cell)
    return number if math.isfinite(number) else (None if math.isnan(number) else str(number))


def _text(cell: Any) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return printable(cell)
    return str(cell) if isinstance(cell, int) else f"{round(cell, 6):,.6g}"
