"""--json, --quiet and --verbose for every command, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from gnomon.commands.terminal import output, print_facts, set_output

_OPTIONS: dict[str, Any] = {
    "json_": Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of lines, errors included.")
    ],
    "quiet_": Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")],
    "verbose_": Annotated[
        bool, typer.Option("--verbose", "-v", help="Also say on stderr what is done, and how long it takes.")
    ],
}


def speaking(run: Callable[..., None]) -> Callable[..., None]:
    """The command with the three options; its own function does not see them."""
    hints = get_type_hints(run, include_extras=True)
    own = [
        p.replace(annotation=hints.get(p.name, p.annotation))
        for p in inspect.signature(run).parameters.values()
    ]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]

    @functools.wraps(run)
    def command(**given: Any) -> None:
        how = {name.rstrip("_"): given.pop(name) for name in _OPTIONS}
        set_output(**how)
        run(**given)
        if output().json:
            print_facts()

    command.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    command.__annotations__ = {**hints, **_OPTIONS}
    return command
