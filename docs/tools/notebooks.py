"""Notebooks of the tutorials, made from their pages: `python docs/tools/notebooks.py FOLDER`.

A page is the only source. Its prose becomes Markdown cells, `python` and `sh` blocks become code cells, a
`toml` block becomes a cell that writes the file of its title. Output (`text`) and pictures of the page are
left out: a notebook makes its own.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
TUTORIALS = ("first-release", "first-model", "first-method")
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```[ \t]*\n?", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'title="([^"]+)"')
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)[^)]*\)")
_IMAGE = re.compile(r"^!\[[^\]]*\]\([^)]*\)(\{[^}]*\})?\n", re.MULTILINE)


def cells(page: str) -> list[dict[str, Any]]:
    """The cells of a page, in order."""
    found, at = list[dict[str, Any]](), 0
    for block in _BLOCK.finditer(page):
        _prose(found, page[at : block.start()])
        at = block.end()
        info, body = block.groups()
        language = info.split()[0]
        title = _TITLE.search(info)
        if language == "python":
            _code(found, body)
        elif language == "sh":
            _code(found, "".join(f"!{line}\n" for line in body.splitlines() if line.strip()))
        elif language == "toml":
            assert title, "a schema in a tutorial has a title, the name of its file"
            _code(found, f"%%writefile {title.group(1)}\n{body}")
    _prose(found, page[at:])
    return found


def _prose(found: list[dict[str, Any]], text: str) -> None:
    text = _LINK.sub(r"\1", _IMAGE.sub("", text)).strip()
    if text:
        found.append({"cell_type": "markdown", "metadata": {}, "source": text})


def _code(found: list[dict[str, Any]], text: str) -> None:
    found.append(
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": text.rstrip("\n"),
        }
    )


def notebook_text(name: str) -> str:
    """The notebook of a tutorial, as JSON."""
    made = cells((DOCS / "tutorials" / f"{name}.md").read_text(encoding="utf-8"))
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for tutorial in TUTORIALS:
        (folder / f"{tutorial}.ipynb").write_text(notebook_text(tutorial), encoding="utf-8")
        print(folder / f"{tutorial}.ipynb")
