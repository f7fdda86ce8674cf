"""The demo makes a real release, says what it did, and never overwrites what is not its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gnomon.demo.__main__ import MARK, main
from gnomon.privacy.certificate import Certificate


def test_the_demo_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    assert main(folder) == 0
    said = capsys.readouterr().out
    assert "Not for release" in said
    assert re.search(rf"gnomon serve {folder} --ledger {folder}/ledger.sqlite$", said.strip())
    scores = [float(number) for number in re.findall(r"([\d.]+)% right", said)]
    assert len(scores) == 3
    assert scores[2] > 90
    release = folder / "release"
    assert {path.name for path in release.iterdir()} >= {"data.parquet", "certificate.yaml", "report.html"}
    certificate = Certificate.from_yaml((release / "certificate.yaml").read_text(encoding="utf-8"))
    assert certificate.holds
    assert certificate.guarantee.epsilon == 1.0
    assert main(folder) == 0


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    assert main(mine) == 2
    assert "not the demo's" in capsys.readouterr().err
    assert (mine / "thesis.txt").read_text() == "years of work"
    assert not (mine / MARK).exists()


def test_the_demo_stops_where_the_command_line_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gnomon.demo.__main__.EPSILON", "3")
    assert main(tmp_path / "demo") == 3
    assert "remaining 2" in capsys.readouterr().err
