"""What the site adds to its pages while MkDocs builds it.

- CONTRIBUTING, CHANGELOG and SECURITY stand at the root of the repository and are pages of the site too.
- Each tutorial has a notebook, made from its page.
- An example that no test executes fails the build.
- A figure is a link to itself at full size, for a phone.
- A number keeps its interval on its line, and a page with a wide table has the room of its table of contents.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

from examples import unexecuted
from notebooks import TUTORIALS, notebook_text

ROOT = Path(__file__).parents[2]
OUTSIDE = {"CONTRIBUTING.md": "about/contributing.md", "CHANGELOG.md": "about/changelog.md"}
OUTSIDE["SECURITY.md"] = "about/security.md"
WIDE = 7  # columns of a table
_LONG_NAME = re.compile(
    r"^\| \w+_\w+ \|", re.MULTILINE
)  # of a table, in its first column: a phone breaks it there
_FIGURE = re.compile(
    r"^!\[[^\]]*\]\(([^)]+\.png)\)$", re.MULTILINE
)  # alone on its line: a link to its full size
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")


def on_files(files: Any, config: Any) -> Any:
    for name, uri in OUTSIDE.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text(encoding="utf-8")))
    for name in TUTORIALS:
        files.append(File.generated(config, f"tutorials/{name}.ipynb", content=notebook_text(name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    uri = page.file.src_uri
    wrong = unexecuted(markdown)
    if wrong:
        raise PluginError(f"{uri}: {wrong}")
    source = next((name for name, where in OUTSIDE.items() if where == uri), f"docs/{uri}")
    markdown = _LINK.sub(lambda found: _link(found, source, uri), markdown)
    markdown = re.sub(r"(?<=[\d*]) ± (?=\d)", "\u00a0±\u00a0", markdown)
    markdown = _FIGURE.sub(r"[\g<0>](\g<1>)", markdown)
    markdown = _LONG_NAME.sub(lambda found: found.group().replace("_", "_<wbr>"), markdown)
    if any(line.startswith("|") and line.count("|") > WIDE for line in markdown.splitlines()):
        page.meta.setdefault("hide", ["toc"])
    if posixpath.dirname(uri) == "tutorials" and Path(uri).stem in TUTORIALS:
        line = f"\n[This page as a notebook]({Path(uri).stem}.ipynb){{ .md-button download }}\n\n## "
        markdown = markdown.replace("\n## ", line, 1)
    return markdown


def _link(found: re.Match[str], source: str, uri: str) -> str:
    """A link as it is written in the repository, as the site needs it."""
    before, target, after = found.groups()
    if "://" in target or target.startswith("mailto:"):
        return found.group()
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    if path in OUTSIDE:
        place = OUTSIDE[path]
    elif path.startswith("docs/") and not source.startswith("docs/"):
        place = path.removeprefix("docs/")
    else:
        return found.group()
    return before + os.path.relpath(place, posixpath.dirname(uri) or ".") + after
