"""Which engine a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnomon.cli import main
from gnomon.engine.choice import engine_named
from gnomon.errors import ParameterError


def test_one_machine_needs_no_engine() -> None:
    with engine_named("local") as engine:
        assert engine is None


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        (("local", "tcp://127.0.0.1:1"), "The engine local has no cluster and no shared folder"),
        (("local", None, "/tmp"), "The engine local has no cluster and no shared folder"),
        (("flink",), "The engine must be one of local, dask, spark. Got 'flink' instead."),
        (
            ("spark", "sc://host/;use_ssl=true;token=SECRET"),
            "The address of the cluster holds a token or a password, which",
        ),
        (
            ("spark", "sc://host/;x-api-key=SECRET"),
            "The address of the cluster holds a token or a password, which",
        ),
        (
            ("dask", "tcp://me:SECRET@host:8786"),
            "The address of the cluster holds a token or a password, which",
        ),
    ],
)
def test_what_is_refused(told: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ParameterError) as caught, engine_named(*told):
        pass
    assert str(caught.value).startswith(sentence)
    assert "SECRET" not in str(caught.value)


def test_a_token_on_the_command_line_is_refused_and_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("x\n1\n2\n")
    (tmp_path / "s.toml").write_text('[columns.x]\nkind = "number"\nlow = 0\nhigh = 9\n')
    told = [
        "release",
        str(tmp_path / "t.csv"),
        "--schema",
        str(tmp_path / "s.toml"),
        "-e",
        "1",
        "--even-if-useless",
    ]
    told += ["--engine", "spark", "--cluster", "sc://127.0.0.1:9/;token=SECRET", "--out", str(tmp_path / "o")]
    assert main([*told, "--ledger", str(tmp_path / "ledger")]) == 2
    said = capsys.readouterr()
    assert "holds a token" in said.err
    assert "SECRET" not in said.out + said.err
