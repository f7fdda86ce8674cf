"""A few hundred hostile inputs of every kind; the scripts in benchmarks/ try them by the hundred thousand."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, Any]]:
    """The script, and its targets in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    found = importlib.import_module("fuzz_inputs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield found, found.Targets(tmp_path)


COUNTS = {
    "schema": 400,
    "certificate": 40,
    "map": 200,
    "csv": 200,
    "parquet": 200,
    "arrow": 200,
    "command": 20,
}


@pytest.mark.parametrize("target", sorted(COUNTS))
def test_hostile_inputs_meet_an_answer_or_a_sentence(script: tuple[ModuleType, Any], target: str) -> None:
    module, targets = script
    _, lines, wrong = module.fuzz(target, targets, seconds=60, seed=7, slow=60, most=COUNTS[target])
    assert wrong == []
    assert lines > 20


@pytest.mark.parametrize("target", sorted(COUNTS))
def test_inputs_that_are_nearly_right_meet_an_answer_or_a_sentence(
    script: tuple[ModuleType, Any], target: str
) -> None:
    _, targets = script
    tried, wrong = importlib.import_module("fuzz_hypothesis").fuzz(
        target, targets, COUNTS[target] // 2, fixed=True
    )
    assert wrong is None
    assert tried >= COUNTS[target] // 4


def test_a_crash_would_be_seen(script: tuple[ModuleType, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    module, targets = script

    def crash(data: bytes) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(targets, "_schema", crash, raising=False)
    _, _, wrong = module.fuzz("schema", targets, seconds=5, seed=1, slow=60, most=3)
    assert len(wrong) == 3
    assert importlib.import_module("fuzz_hypothesis").fuzz("schema", targets, 5)[1] is not None
