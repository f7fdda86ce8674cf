"""The command line: parse, one library call, print. Refusals are one line on stderr and an exit code.

0 done, 1 a claim did not hold, 2 bad input, 3 budget refused, 4 refused as useless, 70 a bug in gnomon, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from gnomon.commands import (
    analyst,
    audit,
    budget,
    check,
    evaluate,
    export,
    init,
    plan,
    release,
    reproduce,
    sample,
    serve,
    transform,
    verify,
)
from gnomon.commands.options import prose
from gnomon.commands.speech import speaking
from gnomon.commands.terminal import complain, facts, output, print_facts, set_output
from gnomon.errors import GnomonError, GnomonWarning

BUG = 70
INTERRUPTED = 130

app = typer.Typer(
    name="gnomon",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help=(
        "Publish a differentially private release of a table, which ordinary tools can use as if it were the "
        "data."
    ),
    epilog=(
        "A first release: [bold]gnomon init[/] drafts a schema, you complete it from public knowledge, "
        "[bold]gnomon check[/] compares the table with it, [bold]gnomon plan[/] shows what a budget buys, "
        "[bold]gnomon release[/] spends it. The same in a page on this machine: [bold]gnomon serve[/]."
    ),
)
for module in (
    init,
    check,
    plan,
    release,
    verify,
    export,
    sample,
    transform,
    evaluate,
    audit,
    reproduce,
    serve,
):
    app.command(module.NAME, help=prose(module.run.__doc__))(speaking(module.run))
for name, question in analyst.COMMANDS.items():
    app.command(name, help=prose(question.__doc__))(speaking(question))
app.add_typer(budget.app, name="budget")


@app.callback(invoke_without_command=True)
def _version(
    version: bool = typer.Option(False, "--version", help="Print the version and stop.", is_eager=True),
) -> None:
    if version:
        from gnomon import __version__

        print(__version__)
        raise typer.Exit


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code and raises nothing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    set_output(json="--json" in arguments)  # until the command has parsed its options
    try:
        with _warnings_as_lines():
            code = app(args=arguments, prog_name="gnomon", standalone_mode=False)
        code = code if isinstance(code, int) else 0
        return _failed("interrupted; nothing was charged.", code) if code == INTERRUPTED else code
    except GnomonError as refusal:
        return _failed(str(refusal), refusal.exit_code)
    except BrokenPipeError:
        # the reader of a pipe (head, less) left: nothing is wrong, and nobody is there to be told
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:
        return _usage_or_bug(problem)


def _failed(sentence: str, code: int) -> int:
    """One line on stderr, and in JSON where that was asked for, beside what was found before."""
    complain(sentence)
    if output().json:
        facts(error=sentence, exit_code=code)
        print_facts()
    return code


def _usage_or_bug(problem: Exception) -> int:
    if hasattr(problem, "format_message"):  # typer's usage errors; their base class has no public name
        return _usage(problem)
    if os.environ.get("GNOMON_DEBUG"):
        raise problem
    # the text of an unforeseen exception may quote a cell of the private table, so only its kind is shown
    sentence = (
        f"unexpected {type(problem).__name__}; this is a bug, and GNOMON_DEBUG=1 before the command shows where "
        "(keep that output to yourself, it may quote the data)."
    )
    return _failed(sentence, BUG)


def _usage(problem: Any) -> int:
    where = getattr(problem.ctx, "command_path", "gnomon") if problem.ctx else "gnomon"
    message = " ".join(problem.format_message().split()).rstrip(".")
    if not message:  # a bare `gnomon` has printed its help
        return 2
    if message.endswith("?"):  # did you mean another one?
        return _failed(f"{message} See '{where} --help'.", 2)
    return _failed(f"{message}; see '{where} --help'.", 2)


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    """Warnings of gnomon become lines on stderr; those of other libraries might quote data and are dropped."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if not output().quiet:
            complain(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", GnomonWarning)
        warnings.showwarning = show
        yield


def entry() -> None:
    """The `gnomon` program."""
    sys.exit(main())


if __name__ == "__main__":
    entry()
