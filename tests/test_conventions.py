"""What every command has: --json, --quiet, --verbose and completion; and what Ctrl-C says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.main

import gnomon as gn
from gnomon.cli import app, main
from gnomon.engine.base import quiet
from gnomon.engine.local import LocalEngine
from gnomon.release.folder import open_release

SCHEMA = gn.Schema.of_arrays(3, (0.0, 1.0), classes=[0, 1])


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    rng = np.random.default_rng(0)
    table = pa.table({**{f"x{j}": rng.random(300) for j in range(3)}, "y": rng.integers(0, 2, 300)})
    pq.write_table(table, tmp_path / "ward.parquet")
    SCHEMA.save(tmp_path / "schema.toml")
    return tmp_path


def commands() -> list[tuple[str, ...]]:
    """Every command, as one would type it."""
    group = typer.main.get_command(app)
    found: list[tuple[str, ...]] = []
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        found += [(name,)] if below is None else [(name, one) for one in below]
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_has_the_three_options(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--help"]) == 0
    said = capsys.readouterr().out
    for option in ("--json", "--quiet", "--verbose", "-v", "-q"):
        assert option in said


def release(ward: Path, *more: str) -> list[str]:
    schema = ["--schema", str(ward / "schema.toml"), "--out", str(ward / "out")]
    return ["release", str(ward / "ward.parquet"), *schema, "--epsilon", "2", "--delta", "1e-5", *more]


def test_a_journey_in_json(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def asked(*command: str) -> dict[str, object]:
        code = main([*command, "--json"])
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        assert found.get("exit_code", 0) == code
        return found

    data, schema, out = str(ward / "ward.parquet"), str(ward / "schema.toml"), str(ward / "out")
    drafted = asked("init", data, "--out", str(ward / "draft.toml"))
    assert drafted["columns"] == ["x0", "x1", "x2", "y"]
    assert len(drafted["open"]) == 2  # type: ignore[arg-type] - the pattern x*, and y
    gaps = asked("check", data, "--schema", str(ward / "draft.toml"))
    assert "has no low and high" in str(gaps["error"])
    assert gaps["open"] == drafted["open"]
    assert asked("check", data, "--schema", schema)["fits"] is True
    planned = asked("plan", "--schema", schema, "--rows", "300", "--epsilon", "2", "--delta", "1e-5")
    assert planned["methods"]
    names = [verdict["name"] for verdict in planned["verdicts"]["columns"]]  # type: ignore[index]
    assert names == ["x0", "x1", "x2", "y"]
    released = asked(*release(ward))
    assert (released["rows"], released["epsilon"], released["holds"]) == (300, 2.0, True)
    assert released["balance"]["epsilon_spent"] == 2.0  # type: ignore[index]
    assert [verdict["name"] for verdict in released["verdicts"]["columns"]] == names  # type: ignore[index]
    assert asked("verify", out)["replayed"] is True
    assert asked("sample", out, "--rows", "7", "--out", str(ward / "more.csv"))["rows"] == 7
    assert asked("transform", data, "--release", out, "--out", str(ward / "seen.csv"))["rows"] == 300
    assert asked("export", out, "--registry", str(ward / "r.yaml"))["open"]
    assert asked("budget", "show")["accounts"][0]["epsilon_spent"] == 2.0  # type: ignore[index]
    assert len(asked("budget", "history", "array")["entries"]) == 1  # type: ignore[arg-type]
    refused = asked("budget", "cap", "array")
    assert "Missing option" in str(refused["error"])


def test_quiet_is_silent_but_for_errors(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(release(ward, "--quiet")) == 0
    assert capsys.readouterr() == ("", "")
    assert main(release(ward, "--quiet")) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "exists" in err


def test_verbose_says_what_is_done_and_how_long_it_takes(
    ward: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(release(ward, "-v")) == 0
    err = capsys.readouterr().err
    assert "method synthesizer, account array, ledger" in err
    assert re.search(r"pass 1 of 9, encoding the rows: \d+\.\d seconds", err)
    assert all(len(line) <= 80 for line in err.splitlines() if "pass " in line)
    assert "A test that raises a false alarm 1% of the time" in err


def test_completion_for_shells(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "gnomon.cli"]
    asked = {**os.environ, "_GNOMON_COMPLETE": "complete_bash", "COMP_WORDS": "gnomon re", "COMP_CWORD": "1"}
    found = subprocess.run(program, env=asked, capture_output=True, text=True, check=False)
    assert found.stdout.split() == ["release", "reproduce"]
    shown = subprocess.run(
        [*program, "--show-completion", "bash"],
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "_GNOMON_COMPLETE=complete_bash" in shown.stdout


def stopping(monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    """Ctrl-C while a pass is under way."""
    fold, write = LocalEngine.fold, LocalEngine.write

    def folded(self, source, query, *, stage: str, progress=quiet):  # type: ignore[no-untyped-def]
        _stop(stage)
        return fold(self, source, query, stage=stage, progress=progress)

    def written(self, source, row_map, sink, *, stage: str, progress=quiet):  # type: ignore[no-untyped-def]
        _stop(stage)
        return write(self, source, row_map, sink, stage=stage, progress=progress)

    def _stop(now: str) -> None:
        if now == stage:
            raise KeyboardInterrupt

    monkeypatch.setattr(LocalEngine, "fold", folded)
    monkeypatch.setattr(LocalEngine, "write", written)


def test_ctrl_c_before_the_charge_says_so(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopping(monkeypatch, "encoding the rows")
    assert main(release(ward, "--holdout", "0.2")) == 130
    assert "Interrupted before the charge: nothing was spent" in capsys.readouterr().err
    assert not gn.Ledger().accounts()
    assert not (ward / "out-holdout").exists()


def test_ctrl_c_after_the_charge_says_how_to_go_on(
    ward: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as stopped:
        stopping(stopped, "count, sum and second moment of every class")
        assert main(release(ward, "--holdout", "0.2", "--method", "ron-gauss", "--even-if-useless")) == 130
    said = capsys.readouterr().err
    assert "Interrupted after the charge to account 'array': run the same command again" in said
    assert not (ward / "out").exists()
    assert main(release(ward, "--holdout", "0.2", "--method", "ron-gauss", "--even-if-useless")) == 0
    assert gn.Ledger().show("array").epsilon_spent == 2.0  # charged once
    assert open_release(ward / "out").certificate.holds
