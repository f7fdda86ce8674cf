"""The built documentation and the handout of a report, in a real browser."""

from __future__ import annotations

import base64
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import gnomon as gn

ROOT = Path(__file__).parents[2]
LOOKED_AT = (
    "index",
    "start/custodian",
    "tutorials/first-release",
    "how-to/choose-epsilon-and-delta",
    "reference/cli",
)
LOOKED_AT += (
    "reference/api/methods",
    "reference/glossary",
    "explanation/proofs/moments",
    "results/utility/synthesizer",
)
WIDTHS = (1280, 390)
PAPERS = {"A4": (8.27, 11.69), "Letter": (8.5, 11)}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not all(importlib.util.find_spec(name) for name in ("mkdocs", "material", "mkdocstrings")):
        pytest.skip("needs gnomon[docs]: mkdocs-material and mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    return folder


@pytest.fixture
def page(browse: Callable[..., Any]) -> Any:
    return browse()


def test_no_page_of_the_site_is_wider_than_its_screen(site: Path, page: Any) -> None:
    for width in WIDTHS:
        page.look(replace(page.usual, width=width))
        for path in sorted(site.rglob("*.html")):
            page.driver.get(path.as_uri())
            wide = page.run("return document.documentElement.scrollWidth")
            assert wide <= width, f"{path.relative_to(site)} at {width} is {wide} wide"


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_of_the_site_is_accessible_on_a_desktop_and_a_phone_in_light_and_dark(
    site: Path, page: Any, name: str
) -> None:
    for width in WIDTHS:
        for dark in (False, True):
            page.look(replace(page.usual, width=width, dark=dark))
            page.driver.get((site / "404.html").as_uri())
            page.run("localStorage.clear()")
            page.driver.get((site / f"{name}.html").as_uri())  # the scheme is chosen when a page is opened
            page.drawn()
            assert page.run("return document.body.dataset.mdColorScheme") == ("slate" if dark else "default")
            page.accessible()


@pytest.mark.parametrize("columns", [3, 300])
def test_the_handout_of_a_report_is_one_printed_page(tmp_path: Path, page: Any, columns: int) -> None:
    schema = gn.Schema(
        name="ward",
        columns=tuple(
            gn.Column(name=f"lab_result_{j}", kind="number", low=0, high=1) for j in range(columns)
        ),
    )
    table = pa.table({column.name: [j % 7 / 7 for j in range(300)] for column in schema.columns})
    ledger = gn.Ledger(tmp_path / "ledger.sqlite")
    gn.publish(table, tmp_path / "out", schema=schema, epsilon=8, ledger=ledger, even_if_useless=True)
    page.driver.get((tmp_path / "out" / "report.html").as_uri())
    whole = {name: printed(page, paper) for name, paper in PAPERS.items()}
    page.run(
        "const after = document.querySelectorAll('main > .first + h2, main > .first + h2 ~ *, footer');"
        "after.forEach(one => one.remove())"
    )
    for name, paper in PAPERS.items():
        assert (printed(page, paper), whole[name] > 1) == (1, True), name


def printed(page: Any, paper: tuple[float, float]) -> int:
    """How many sheets it takes."""
    asked = {"paperWidth": paper[0], "paperHeight": paper[1], "preferCSSPageSize": False}
    made = page.driver.execute_cdp_cmd("Page.printToPDF", asked)["data"]
    return len(re.findall(rb"/Type\s*/Page[^s]", base64.b64decode(made)))
