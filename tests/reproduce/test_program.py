"""A program that answers requests: each answer is its own request's, and what goes wrong starts it again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from gnomon.errors import DataError
from gnomon.reproduce import program as module
from gnomon.reproduce.program import Program

STUB = """
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if asked["do"] == "end":
        sys.exit(3)
    if asked["do"] == "print":
        print("a word that is no answer", flush=True)
    if asked["do"] == "work":
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
    print(json.dumps({"number": asked["number"], "cpu": 0.3 if asked["do"] == "work" else 0.0}), flush=True)
    if asked["do"] == "stay":
        time.sleep(60)
"""


@pytest.fixture
def stub(tmp_path: Path) -> Program:
    (tmp_path / "stub.py").write_text(STUB)
    return Program((sys.executable, str(tmp_path / "stub.py")))


def ask(program: Program, number: int, do: str = "answer") -> int:
    found: int = program.ask({"algorithm": "stub", "number": number, "do": do})["number"]
    return found


def test_a_program_that_ends_is_an_error_and_is_started_again(stub: Program) -> None:
    assert ask(stub, 1) == 1
    with pytest.raises(DataError, match="stub ended with the exit code 3"):
        ask(stub, 2, "end")
    assert ask(stub, 3) == 3
    assert stub.close() == 0


def test_no_answer_is_taken_for_that_of_another_request(stub: Program) -> None:
    with pytest.raises(json.JSONDecodeError):
        ask(stub, 1, "print")
    assert ask(stub, 2) == 2


def test_an_interrupt_leaves_no_answer_behind(stub: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = json.loads
    monkeypatch.setattr(module.json, "loads", lambda line: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        ask(stub, 1)
    monkeypatch.setattr(module.json, "loads", loads)
    assert ask(stub, 2) == 2


def test_its_processor_time_counts_once_also_when_it_has_ended(stub: Program) -> None:
    def spent() -> float:
        return module._of_children() + stub.spent

    before = spent()
    ask(stub, 1, "work")
    assert spent() - before == pytest.approx(0.3, abs=0.05)
    stub.close()
    assert spent() - before == pytest.approx(0.3, abs=0.05)


def test_a_program_that_does_not_end_is_ended(stub: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    ask(stub, 1, "stay")
    assert stub.close() != 0
