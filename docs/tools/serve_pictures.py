"""The pictures of docs/how-to/serve.md, by Debian's Chromium: `python docs/tools/serve_pictures.py` renews them.

A table of a hospital is drawn, and the page is walked through as its tests do.
"""

from __future__ import annotations

import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs/how-to/serve"


def keep(page: Any, name: str, height: int, below: str | None = None) -> None:
    """So much of the page from its top, or from the element `below` on, in 256 colours."""
    shot = Path(tempfile.gettempdir()) / f"gnomon-{name}.png"
    page.picture(shot)
    top = 0 if below is None else page.run("return arguments[0].getBoundingClientRect().top", page.one(below))
    image = Image.open(BytesIO(shot.read_bytes())).convert("RGB")
    shot.unlink()
    image = image.crop((0, int(top), image.width, min(image.height, int(top) + height)))
    image.quantize(256, Image.Quantize.MAXCOVERAGE).save(OUT / f"{name}.png", optimize=True)


def walk(folder: Path, server: Any, page: Any, phone: Any) -> None:
    page.open_table(server)
    page.complete()
    page.lacks("4 columns filled in")
    keep(page, "schema", 860)
    page.press("Choose a budget")
    page.cap("3")
    judged = "return document.querySelector('.judged')?.getAttribute('aria-busy') === 'false'"
    page.wait(lambda: page.run(judged), 60)
    keep(page, "budget", 1010)
    page.look(phone)
    keep(page, "phone", 800)
    page.look(page.usual)
    page.press("Go on to the release")
    page.type("The release folder", str(folder / "ward-release"))
    page.press("Make the release", "main")
    page.has("The release is made", 240)
    page.driver.switch_to.frame(page.one("figure.report iframe"))
    page.has("How good it is", 60)
    page.driver.switch_to.default_content()
    keep(page, "release", 1250)
    page.driver.get(f"{server.origin}/#/accounts")
    page.press("History")
    page.has("The chain of these entries ends in")
    keep(page, "accounts", 900)
    page.driver.get(f"{server.origin}/#/analyst")
    page.type("Release folder", str(folder / "ward-release"))
    page.press("Open", "main .card")
    page.has("The first released rows")
    page.type("Column", "outcome")
    page.press("Ask", "form")
    page.has("95% interval")
    keep(page, "analyst", 940, 'form[aria-label="Ask the release"]')


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests/browser"))
    from conftest import Browser, Look, Server, _ward

    with tempfile.TemporaryDirectory(prefix="gnomon-") as place:
        folder = Path(place) / "tables"
        folder.mkdir()
        _ward(folder, n=20_000)
        server, page = Server(folder), Browser(Path(place) / "browser", width=1180)
        try:
            walk(folder, server, page, Look(390, 800, dark=True))
        finally:
            page.driver.quit()
            server.kill()


if __name__ == "__main__":
    main()
