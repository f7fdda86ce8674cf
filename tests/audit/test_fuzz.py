"""A few hundred hostile inputs of every kind; benchmarks/fuzz_inputs.py tries them by the hundred thousand."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "fuzz_inputs.py"


@pytest.mark.parametrize(
    ("target", "inputs"),
    [("schema", 400), ("certificate", 40), ("map", 200), ("csv", 200), ("parquet", 200), ("command", 12)],
)
def test_hostile_inputs_meet_an_answer_or_a_sentence(target, inputs, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    spec = importlib.util.spec_from_file_location("fuzz_inputs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        targets = script.Targets(tmp_path)
        (tmp_path / "s.toml").write_text(script.SCHEMA)
        _, lines, wrong = script.fuzz(target, targets, seconds=60, seed=7, slow=20, most=inputs)
    assert wrong == []
    assert lines > 20
