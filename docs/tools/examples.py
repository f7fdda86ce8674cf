"""The examples of the documentation: every block that can be executed is executed by
`tests/docs/test_examples.py`.

`python` runs in one namespace a page, `sh` line by line, `toml` is written to the file that its title names
(a schema without a title is `schema.toml`; a part of one is read as such). `text`, `yaml`, `json` and `html`
show what comes out, or what needs a server or hours. Nothing else is allowed, so that no example escapes.

`python docs/tools/examples.py PAGE...` executes pages, puts what their blocks print into the `text` blocks
right after them, and copies the figures that they save beside them. Noise cannot be seeded: another run
prints other numbers.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import types
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

WIDTH = 98  # characters of a line that a page shows without scrolling
EXECUTED = frozenset({"python", "sh", "toml"})
SHOWN = frozenset({"text", "yaml", "json", "html"})
_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```[ \t]*$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')


def blocks(text: str) -> list[tuple[str, str, str]]:
    """Language, title and body of every fenced block."""
    return [_parts(found) for found in _FENCE.finditer(text)]


def _parts(found: re.Match[str]) -> tuple[str, str, str]:
    indent, info, body = found.groups()
    language = info.split()[0] if info.strip() else ""
    title = _TITLE.search(info)
    lines = (line.removeprefix(indent) for line in body.splitlines(keepends=True))
    return language, title.group(1) if title else "", "".join(lines)


def unexecuted(text: str) -> str:
    """What is wrong with a page's blocks, in a sentence; nothing where all are executed or only shown."""
    for language, _, body in blocks(text):
        if language not in EXECUTED | SHOWN:
            first = body.strip().splitlines()[0] if body.strip() else ""
            return (
                f"the block of {language or 'no language'!r} that begins with {first!r} is never executed; "
                f"use one of {', '.join(sorted(EXECUTED))}, or text for what is only shown."
            )
    return ""


def run(text: str, folder: Path, name: str) -> list[str]:
    """Execute the blocks of a page in order, in the current folder; what each of them printed."""
    module = types.ModuleType(name)
    sys.modules[name] = module  # classes of an example are pickled by the name of their module
    printed = []
    try:
        for language, title, body in blocks(text):
            out = io.StringIO()
            with redirect_stdout(out), redirect_stderr(out):
                if language == "python":
                    exec(compile(body, name, "exec"), module.__dict__)
                elif language == "sh":
                    shell(body)
                elif language == "toml":
                    declared(body, title, folder)
            printed.append(out.getvalue())
    finally:
        del sys.modules[name]
    return printed


def shell(commands: str) -> None:
    """One command a line (or more, by a backslash): gnomon's own in this process, others by the shell."""
    from gnomon.cli import main

    for line in commands.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "gnomon":
            assert main(words[1:]) == 0, line
        else:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", line], check=True, capture_output=True, text=True
            )
            print(done.stdout, end="")


def declared(body: str, title: str, folder: Path) -> None:
    """A whole schema is written; a part of one must be readable as a part of one."""
    from gnomon import Schema

    if title or body.startswith("format = "):
        (folder / (title or "schema.toml")).write_text(body, encoding="utf-8")
        return
    head = "format = 2\n" if "[table]" in body else 'format = 2\n[table]\nname = "part"\n'
    tail = "" if "[columns." in body else '[columns.any]\nkind = "boolean"\n'
    Schema.loads(f"{head}{body}\n{tail}", folder)


def refreshed(text: str, printed: list[str]) -> str:
    """The page with what its blocks printed in the `text` blocks right after them."""
    found = list(_FENCE.finditer(text))
    made, at = [], 0
    for place, block in enumerate(found):
        before = found[place - 1] if place else None
        follows = before is not None and not text[before.end() : block.start()].strip()
        if (
            _parts(block)[0] == "text"
            and follows
            and _parts(before)[0] in EXECUTED
            and printed[place - 1].strip()
        ):
            made += [
                text[at : block.start()],
                "```text\n",
                wrapped(printed[place - 1].rstrip()) + "\n",
                "```",
            ]
            at = block.end()
    return "".join([*made, text[at:]])


def wrapped(printed: str) -> str:
    """Long sentences as a terminal would show them; lines with columns stay as they are."""
    lines = (
        textwrap.wrap(line, WIDTH) if len(line) > WIDTH and "  " not in line.strip() else [line]
        for line in printed.splitlines()
    )
    return "\n".join(part.rstrip() for line in lines for part in line)


def main(names: list[str]) -> None:
    os.environ.update(MPLBACKEND="Agg", COLUMNS=str(WIDTH), NO_COLOR="1")
    for name in names:
        page, here = Path(name).resolve(), Path.cwd()
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GNOMON_LEDGER"] = f"{folder}/ledger.sqlite"
            os.chdir(folder)
            try:
                printed = run(text, Path(folder), "example")
            finally:
                os.chdir(here)
            page.write_text(refreshed(text, printed), encoding="utf-8")
            for figure in Path(folder).glob("*.png"):
                (page.parent / figure.name).write_bytes(figure.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1:])
