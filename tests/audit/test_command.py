"""`gnomon audit`: what reaches the library, what it prints, and its exit code."""

from __future__ import annotations

import pytest

from gnomon import audit as library
from gnomon.audit import Attack, Finding
from gnomon.cli import main
from gnomon.privacy.guarantee import PureDP


@pytest.fixture
def found(monkeypatch):
    """Replaces the attacks and their runs; returns what the command asked for and what it shall be told."""
    asked: dict[str, object] = {}
    told = {"certain": 0.8, "repeats": False, "silent": False}

    def attacks_on(method, **options):
        asked.update(method=method, **options)
        claim = PureDP(options["epsilon"])
        return [Attack("an attack", "a pair", claim, lambda *_: None, slow=20, reach=lambda: 0.875)]

    def audit(attack, runs):
        asked["runs"] = runs
        return Finding(attack, runs, 0.9, told["certain"], told["repeats"], told["silent"])

    monkeypatch.setattr(library, "attacks_on", attacks_on)
    monkeypatch.setattr(library, "audit", audit)
    return asked, told


ARGUMENTS = [
    "audit",
    "--method",
    "ron-gauss",
    "--components",
    "16",
    "--calibration",
    "paper",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
]


def test_options_reach_the_library(found, capsys) -> None:
    assert main([*ARGUMENTS, "--runs", "4000", "--unit", "row"]) == 0
    assert found[0] == {
        "method": "ron-gauss",
        "components": 16,
        "calibration": "paper",
        "epsilon": 1.0,
        "delta": 1e-6,
        "unit": "row",
        "adjacency": "replace-one",
        "rows": 1,
        "runs": 200,
    }
    printed = capsys.readouterr().out
    assert "an attack" in printed
    assert "0.875" in printed
    assert "No attack exceeded the claim" in printed


def test_a_person_reaches_the_library_with_all_rows(found) -> None:
    assert main([*ARGUMENTS, "--unit", "person", "--rows-per-person", "4"]) == 0
    assert (found[0]["unit"], found[0]["rows"]) == ("person", 4)


def test_a_broken_claim_exits_with_one(found, capsys) -> None:
    found[1]["certain"] = 1.5
    assert main(ARGUMENTS) == 1
    assert "does NOT hold: an attack costs epsilon at least 1.5" in capsys.readouterr().out


def test_repeating_noise_exits_with_one(found, capsys) -> None:
    found[1]["repeats"] = True
    assert main(ARGUMENTS) == 1
    assert "same numbers in every run" in capsys.readouterr().out


def test_noise_that_is_honestly_too_small_to_show_is_explained_in_a_sentence(found, capsys) -> None:
    found[1]["silent"] = True
    assert main(ARGUMENTS) == 0
    assert "In 1 of 1 attacks every run gave the same numbers: at so large an epsilon" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--method nobody --epsilon 1", "The method must be one of "),
        ("--method ron-gauss --epsilon 0", "'epsilon' parameter must be a positive number"),
        ("--method ron-gauss --epsilon 1 --components 0", "must be at least 1. Got 0 instead"),
        ("--method ron-gauss --epsilon 1 --unit attribute", "protects one row, not one attribute"),
        ("--method ron-gauss --epsilon 1 --unit house", "must be row, attribute or person"),
        ("--method dppro --epsilon 1 --delta 1e-6 --unit person", "publishes one row for each record"),
        ("--method ron-gauss --epsilon 1 --unit person --rows-per-person 0", "Got 0 instead"),
        ("--method ron-gauss --epsilon 1 --rows-per-person 2", "Got 2 instead"),
        ("--method ron-gauss --epsilon 1 --calibration best", "must be 'sound' or 'paper'"),
        ("--method ron-gauss --epsilon 1 --runs 3", "must be at least 20. Got 3 instead"),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence, capsys) -> None:
    assert main(["audit", *arguments.split()]) == 2
    complaint = capsys.readouterr().err
    assert sentence in complaint
    assert complaint.count("\n") == 1


def test_a_printed_claim_is_broken_by_command(capsys) -> None:
    assert (
        main(
            [
                "audit",
                "--method",
                "ron-gauss",
                "--components",
                "16",
                "--calibration",
                "paper",
                "--epsilon",
                "4",
                "--runs",
                "2000",
            ]
        )
        == 1
    )
    assert "RON-Gauss covariance of 16 components, as printed" in capsys.readouterr().out
