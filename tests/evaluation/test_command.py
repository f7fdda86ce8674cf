"""gnomon evaluate: what reaches the library, what is said, and what is refused."""

import json

import pytest

from gnomon.cli import main


def test_it_writes_and_says_what_it_found(ward, tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "worth"
    code = main(
        ["evaluate", "--release", str(ward / "model"), "--real", str(ward / "train.parquet"),
         "--test", str(ward / "test.parquet"), "--out", str(out), "--trials", "1", "--rows", "200", "--seed", "0"]
    )  # fmt: skip
    said = capsys.readouterr().out
    assert code == 0
    assert "A logistic regression trained on the release is right on" in said
    assert "Of 800 real rows, 200 drawn at random" in said
    assert "not for release" in said
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["trials"] == 1
    assert metrics["limits"]["test"] == 200


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"--rows": "3"}, "at least 10"),
        ({"--release": "nowhere"}, "does not exist"),
        ({"--trials": "0"}, "from 1 to 1000"),
        ({"--task": "regression"}, "'clustering' or None"),
    ],
)
def test_refusals_are_one_line_and_write_nothing(ward, tmp_path, capsys, changed, sentence) -> None:  # type: ignore[no-untyped-def]
    options = {
        "--release": str(ward / "model"),
        "--real": str(ward / "train.parquet"),
        "--test": str(ward / "test.parquet"),
        "--out": str(tmp_path / "out"),
        **changed,
    }
    assert main(["evaluate", *(part for pair in options.items() for part in pair)]) == 2
    problem = capsys.readouterr().err.strip()
    assert sentence in problem
    assert "\n" not in problem
    assert not (tmp_path / "out").exists()
