"""Whether accessibility is checked: without axe-core every step is walked, and this test is skipped with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_axe_core_is_there() -> None:
    script = Path(__file__).parents[2] / ".venv" / "axe" / "package" / "axe.min.js"
    if not script.exists():
        pytest.skip(
            "axe-core is not there, so accessibility was not checked; `make test-browser` fetches it from npm."
        )
    assert "axe.run" in script.read_text()
