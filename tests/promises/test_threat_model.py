"""The threat model names every promise that is tested here; that the tests of its lines exist, tests/docs asks."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "threat-model.md"


def test_every_promise_of_this_folder_is_a_line_of_the_page() -> None:
    named = set(re.findall(r"`tests/promises/(\w+\.py)`", PAGE.read_text(encoding="utf-8")))
    there = {path.name for path in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
    assert named == there
