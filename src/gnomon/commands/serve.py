"""gnomon serve: the whole journey in a local page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gnomon.commands.options import LedgerFile
from gnomon.commands.terminal import say
from gnomon.errors import ParameterError

NAME = "serve"
MINUTE = 60.0


def run(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FOLDER]...",
            help="The folders that the page may see; by default the one you are in, and your home.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="P", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in your browser.")
    ] = True,
    idle: Annotated[
        float, typer.Option("--idle", metavar="MINUTES", help="End after so many minutes without use.")
    ] = 60.0,
    ledger: LedgerFile = None,
) -> None:
    """Open a page on this machine that walks you from a table to a release: no terminal needed from there on.

    The page is served to this machine alone, behind a token in its address. It asks nothing of any other server, and no
    cell of your table reaches the browser. What you do there are the commands of this program: the same schema.toml, the
    same ledger, the same release folders.

    [bold]Example[/]: gnomon serve ~/tables
    """
    from gnomon.privacy.ledger import Ledger

    try:
        from gnomon.app.places import Places
        from gnomon.app.server import serve
        from gnomon.app.workspace import Workspace
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        raise ParameterError("The page needs the extra 'app'; install gnomon[app].") from None

    if not idle > 0:
        raise ParameterError(f"The option --idle must be above 0 minutes. Got {idle:g} instead.")
    places = Places.of(folders or [Path.cwd(), Path.home()])
    serve(Workspace(places, Ledger(ledger)), port=port, idle=idle * MINUTE, browser=browser, say=_say)


def _say(line: str) -> None:
    """At once, also where a program reads the address from a pipe."""
    say(line)
    sys.stdout.flush()
