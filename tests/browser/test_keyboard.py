"""The whole journey without a mouse, by Tab, arrows, Enter, Space and shortcuts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnomon.release.verify import verify
from gnomon.table.schema import Schema

pytest.importorskip("selenium", reason="The page in a real browser is tested by `make test-browser`.")
from selenium.webdriver.common.keys import Keys


def test_the_whole_journey_by_the_keyboard(
    server: Any, folder: Path, browse: Callable[..., Any], write_ward: Callable[..., Path]
) -> None:
    write_ward(n=2000, labs=3)
    lines = ["sex,category,,,f|m", "ward,category,,,north|south|east", "admitted,date,2000-01-01,2030-12-31,"]
    lines += ["outcome,category,,,home|care|died"]
    (folder / "book.csv").write_text("\n".join(["name,kind,min,max,values", *lines, ""]))
    page = browse()
    page.driver.get(server.address)
    page.has("Which table shall be released?")
    page.keys(Keys.TAB)
    assert page.run("return document.activeElement.id") == "skip"
    page.tab_to("A file")
    page.keys(Keys.ENTER)
    page.one("dialog .entry")
    page.tab_to("ward.parquet")
    page.keys(Keys.ENTER)
    page.tab_to("Choose")
    page.keys(Keys.ENTER)
    page.button("Open the table")
    page.tab_to("Open the table")
    page.keys(Keys.ENTER)
    page.button("Say what everyone may know")
    page.tab_to("Say what everyone may know")
    page.keys(Keys.ENTER)
    page.one(".grid [data-row]")

    # a codebook by the chooser; the focus comes back to its button
    page.tab_to("Codebook…")
    page.keys(Keys.ENTER)
    page.one("dialog .entry")
    page.tab_to("book.csv")
    page.keys(Keys.ENTER)
    page.tab_to("Choose")
    page.keys(Keys.ENTER)
    page.has("4 columns filled in.")
    page.tab_to("All suggestions")
    page.keys(Keys.ENTER)
    page.has("got bounds by name")
    assert str(page.run("return document.activeElement.innerText")) == "All suggestions"
    page.tab_to("Undo")
    page.keys(Keys.ENTER)
    page.has("Undone.")
    page.tab_to("Redo")
    page.keys(Keys.ENTER)
    page.has("Done again.")

    # into the grid: select three rows, and edit them at once; then the target, by letters
    for _ in range(40):
        if page.run("return document.activeElement.closest('.grid .inner') !== null"):
            break
        page.keys(Keys.TAB)
    page.ctrl(Keys.HOME)
    for _ in range(8):
        page.keys(Keys.ARROW_DOWN)
    page.wait(lambda: str(page.run("return document.activeElement.innerText")).startswith("lab_000"))
    page.keys(Keys.SPACE, Keys.ARROW_DOWN, Keys.SPACE, Keys.ARROW_DOWN, Keys.SPACE)
    page.has("3 selected")
    page.keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.keys("0", Keys.ENTER)
    page.wait(lambda: page.one('.grid [data-row="10"][data-column="2"]').text == "0")
    page.keys(Keys.ARROW_UP, Keys.ARROW_RIGHT, "2", "0", "0", Keys.ENTER)
    page.has("Nothing is left open.")
    page.keys(Keys.ESCAPE)
    page.lacks("3 selected")
    page.ctrl(Keys.END)
    page.keys(Keys.HOME, Keys.ENTER)
    page.has("The target: what models will learn to predict")
    page.tab_to("The target")
    page.keys(Keys.SPACE)
    page.tab_to("Keep")
    page.keys(Keys.ENTER)
    page.wait(lambda: Schema.load(folder / "schema.toml").target is not None)

    page.tab_to("Choose a budget", 120)
    page.keys(Keys.ENTER)
    page.has("What it buys")
    page.tab_to("Epsilon, as a slider")
    before = page.field("Epsilon").get_attribute("value")
    for _ in range(5):
        page.keys(Keys.ARROW_RIGHT)
    page.wait(lambda: float(page.field("Epsilon").get_attribute("value")) > float(before))
    page.has("reference table of your schema", 60)
    page.tab_to("Go on to the release")
    page.keys(Keys.ENTER)
    page.has("What will be made")
    page.tab_to("Make the release")
    page.keys(Keys.ENTER)
    page.has("The release is made", 120)
    assert str(page.run("return document.activeElement.innerText")) == "The release is made"
    assert verify(folder / "ward-release", replay=False)
