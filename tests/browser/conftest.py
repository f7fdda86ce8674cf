"""A real browser, Debian's Chromium, on a real server: `make test-browser` installs what is needed and runs these tests."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
AXE = ROOT / ".venv" / "axe" / "package" / "axe.min.js"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
SERIOUS = ("serious", "critical")
PASTED = (
    "name\tkind\tlow\thigh\tvalues\trole\nsex\tcategory\t\t\tf|m\t\nward\tcategory\t\t\tnorth|south|east\t\n"
    "admitted\tdate\t2000-01-01\t2030-12-31\t\t\noutcome\tcategory\t\t\thome|care|died\ttarget\nnobody\tnumber\t0\t1\t\t"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("GNOMON_TEST_BROWSER"):
        why = "The page in a real browser is tested by `make test-browser`."
    elif not (shutil.which("chromium") and shutil.which("chromedriver")):
        why = "Chromium and its driver are not installed; `apt-get install chromium chromium-driver` brings them."
    else:
        return
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.skip(reason=why))


@dataclass(frozen=True)
class Look:
    """How a page is looked at."""

    width: int
    height: int
    dark: bool

    @property
    def words(self) -> str:
        return f"{'phone' if self.width < 600 else 'desktop'}-{'dark' if self.dark else 'light'}"


LOOKS = [Look(*size, dark) for size in ((1280, 900), (390, 800)) for dark in (False, True)]


class Server:
    """gnomon serve, as a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: Any = None
        self.start()

    def start(self, port: int = 0) -> None:
        command = [
            sys.executable,
            "-m",
            "gnomon",
            "serve",
            str(self.folder),
            "--no-browser",
            "--port",
            str(port),
        ]
        env = {**os.environ, "GNOMON_LEDGER": str(self.folder.parent / "private" / "ledger.sqlite")}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        found = re.search(r"(http://127\.0\.0\.1:\d+)/#token=\S+", self.process.stdout.readline())
        assert found
        self.address, self.origin = found[0], found[1]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()


class Browser:
    """What a person does: read, press, type; by the words on the page."""

    def __init__(self, place: Path, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*FLAGS.split(), f"--user-data-dir={place}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.usual = Look(width, height, dark)
        self.look(self.usual)

    def look(self, how: Look) -> None:
        """Show the page at a width, light or dark."""
        metrics = {
            "width": how.width,
            "height": how.height,
            "deviceScaleFactor": 1,
            "mobile": how.width < 600,
        }
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        theme = {"name": "prefers-color-scheme", "value": "dark" if how.dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})

    def step(self, name: str) -> None:
        """Desktop and phone, light and dark: nothing sticks out, and axe-core finds nothing serious.

        Where GNOMON_SCREENSHOTS names a folder, pictures of it are kept there.
        """
        kept = os.environ.get("GNOMON_SCREENSHOTS")
        for how in LOOKS:
            self.look(how)
            self.drawn()
            if kept:
                self.picture(Path(kept) / f"{name}-{how.words}.png")
            self.fits()
            self.accessible()
        self.look(self.usual)
        self.drawn()

    def drawn(self) -> None:
        """What follows the width, the theme or a key is drawn in the next frames."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60)))"
        )

    def picture(self, path: Path) -> None:
        self.run("scrollTo(0, 0)")
        size = self.run("return [innerWidth, Math.min(3000, document.documentElement.scrollHeight)]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": max(size[1], 300), "scale": 1}
        if self.all("dialog[open]"):
            clip["height"] = self.run("return innerHeight")
        told = {"clip": clip, "captureBeyondViewport": not self.all("dialog[open]")}
        made = self.driver.execute_cdp_cmd("Page.captureScreenshot", told)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(made["data"]))

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def wait(self, find: Callable[[], Any], seconds: float = 30.0, what: str = "") -> Any:
        from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
        from selenium.webdriver.support.ui import WebDriverWait

        ignored = [StaleElementReferenceException, WebDriverException]
        return WebDriverWait(self.driver, seconds, 0.05, ignored).until(lambda _: find(), what)

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", css))

    def one(self, css: str) -> Any:
        return self.wait(lambda: self.driver.find_element("css selector", css), what=css)

    def focus(self, css: str) -> None:
        """Put the focus on a part, and again where the page drew the part anew and lost it."""

        def held() -> bool:
            found = "document.querySelector(arguments[0])"
            self.run(f"{found}.focus()", css)
            self.drawn()
            return bool(self.run(f"return {found} === document.activeElement", css))

        self.wait(held, what=f"no focus on {css}")

    def click(self, css: str) -> None:
        """Click a part by its place on the page, wherever it is scrolled to."""
        self.one(css)
        self.run("document.querySelector(arguments[0]).click()", css)

    @property
    def text(self) -> str:
        return str(self.run("return document.body.innerText"))

    def has(self, words: str, seconds: float = 30.0) -> None:
        try:
            self.wait(lambda: words in self.text, seconds)
        except Exception as problem:
            raise AssertionError(f"{words!r} is not on the page:\n{self.text[:3000]}") from problem

    def lacks(self, words: str) -> None:
        self.wait(lambda: words not in self.text, what=f"{words!r} is still on the page")

    def button(self, words: str, within: str = "body") -> Any:
        def find() -> Any:
            pressed = self.all(f"{within} button, {within} a, {within} summary")
            return next(
                (one for one in pressed if one.is_displayed() and one.text.strip().startswith(words)), None
            )

        return self.wait(find, what=f"no button {words!r} on the page:\n{self.text[:3000]}")

    def press(self, words: str, within: str = "body") -> None:
        self.steadily(lambda: self._click(self.button(words, within)))

    def _click(self, button: Any) -> None:
        self.run("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    def steadily(self, act: Callable[[], Any], seconds: float = 30.0) -> None:
        """Act; and again, as a person would, where the page drew the part anew between a look and the act."""
        from selenium.common.exceptions import (
            ElementClickInterceptedException,
            StaleElementReferenceException,
        )

        end = time.monotonic() + seconds
        while True:
            try:
                act()
                return
            except (StaleElementReferenceException, ElementClickInterceptedException):
                if time.monotonic() > end:
                    raise

    def field(self, label: str, within: str = "body") -> Any:
        def find() -> Any:
            labels = (one for one in self.all(f"{within} label") if one.text.strip().startswith(label))
            shown = next((one for one in labels if one.is_displayed()), None)
            return shown and self.driver.find_element("id", shown.get_attribute("for"))

        return self.wait(find, what=f"no field {label!r}")

    def type(self, label: str, text: str, within: str = "body") -> None:
        self.steadily(lambda: self._fill(self.field(label, within), text))

    def _fill(self, control: Any, text: str) -> None:
        self.run(
            "const one = arguments[0]; one.scrollIntoView({block: 'center'}); one.focus(); one.select()",
            control,
        )
        control.send_keys(text)

    def keys(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def ctrl(self, key: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()

    def paste(self, text: str) -> None:
        """What Ctrl+V does, where a headless browser has no clipboard."""
        self.run(
            "const data = new DataTransfer(); data.setData('text/plain', arguments[0]);"
            "document.activeElement.dispatchEvent(new ClipboardEvent('paste', "
            "{clipboardData: data, bubbles: true, cancelable: true}))",
            text,
        )

    def accessible(self) -> None:
        """axe-core finds nothing serious on the page as it is now."""
        if not AXE.exists():  # which a test of its own says
            return
        # by the driver, whose scripts the page's policy does not concern
        self.run(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "axe.run(document, {iframes: false}).then(arguments[arguments.length - 1])"
        )
        bad = [one for one in found["violations"] if one["impact"] in SERIOUS]
        assert not bad, [(one["id"], [node["html"][:200] for node in one["nodes"][:3]]) for one in bad]

    def fits(self) -> None:
        """Nothing sticks out of the width of the screen."""
        wide = self.run("return [document.documentElement.scrollWidth, innerWidth, visualViewport.width]")
        assert wide[0] <= wide[2] + 1, wide

    # The steps that every test walks

    def open_table(self, server: Server) -> None:
        self.driver.get(server.address)
        self.has("Which table shall be released?")
        self.press("A file")
        self.press("ward.parquet", "dialog")
        self.press("Choose", "dialog")
        self.press("Open the table")
        self.press("Say what everyone may know")
        self.has("What may everyone know?")
        self.one(".grid [data-row]")

    def complete(self) -> None:
        """Fill in the schema of the ward: by names, by a paste, by a pattern."""
        self.press("All suggestions")
        self.has("got bounds by name")
        self.press("Paste…")
        self.run("arguments[0].value = arguments[1]", self.one("dialog textarea"), PASTED)
        self.press("Fill in", "dialog")
        self.has("4 columns filled in. 1 name in it is not in the table: nobody.")
        self.press("Pattern…")
        pattern = self.one("dialog input")
        pattern.clear()
        pattern.send_keys("lab_*")
        self.press("Go on", "dialog")
        self.has("All columns lab_*")
        self.type("Lowest that could occur", "0", "dialog")
        self.type("Highest that could occur", "200", "dialog")
        self.press("Keep", "dialog")
        self.has("Nothing is left open.")

    def cap(self, epsilon: str) -> None:
        self.press("Set a cap…")
        self.type("Epsilon", epsilon, "dialog")
        self.press("Set the cap", "dialog")
        self.lacks("A cap for")

    def tab_to(self, words: str, most: int = 80) -> None:
        """Tab, and Tab again, to what says these words."""
        from selenium.webdriver.common.keys import Keys

        here = (
            "const one = document.activeElement; if (one.matches('h1, h2')) return ''; "
            "return one.ariaLabel || one.innerText || one.labels?.[0]?.innerText || ''"
        )
        for _ in range(most):
            if str(self.run(here)).strip().startswith(words):
                return
            self.keys(Keys.TAB)
        raise AssertionError(f"no way by Tab to {words!r}; the focus is on {self.run(here)!r}")

    def complaints(self) -> list[str]:
        """What the browser complained about: errors, refused requests, violated policies."""
        return [
            one["message"] for one in self.driver.get_log("browser") if one["level"] in ("SEVERE", "WARNING")
        ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "tables"
    made.mkdir()
    return made


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    one = Server(folder)
    yield one
    one.kill()


@pytest.fixture
def browse(tmp_path: Path) -> Iterator[Callable[..., Browser]]:
    made: list[Browser] = []

    def start(**how: Any) -> Browser:
        place = tmp_path / f"browser-{len(made)}"
        place.mkdir()
        made.append(Browser(place, **how))
        return made[-1]

    yield start
    for one in made:
        one.driver.quit()


@pytest.fixture
def write_ward(folder: Path) -> Callable[..., Path]:
    return lambda **how: _ward(folder, **how)


def _ward(folder: Path, n: int = 2000, labs: int = 30) -> Path:
    """A table of a hospital: 10 columns of every kind, and its laboratory values."""
    rng = np.random.default_rng(n)
    columns: dict[str, Any] = {
        "patient_id": [f"p{i:06d}" for i in range(n)],
        "age": rng.integers(18, 99, n),
        "sex": rng.choice(["f", "m"], n),
        "weight_kg": rng.normal(75, 12, n).round(1),
        "systolic": rng.normal(130, 15, n).round(),
        "smoker": rng.random(n) < 0.3,
        "ward": rng.choice(["north", "south", "east"], n),
        "admitted": [f"20{10 + i % 15}-0{1 + i % 9}-1{i % 10}" for i in range(n)],
        **{f"lab_{j:03d}": rng.normal(50, 10, n) for j in range(labs)},
        "comment": [f"seen again on day {i} by the nurse in the evening" for i in range(n)],
        "outcome": rng.choice(["home", "care", "died"], n),
    }
    path = folder / "ward.parquet"
    pq.write_table(pa.table(columns), path)
    pq.write_table(pa.table(columns).slice(0, 200), folder / "held-out.parquet")
    return path
