"""The pages of results have the numbers of the runs that are kept beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


GENERATED = ("index", "comparison", "reproduce")  # a list; pages whose programs decide their order
RESULTS = ROOT / "docs" / "results"
UTILITY = [RESULTS / "utility" / f"{name}.md" for name in ("synthesizer", "first-version")]
PAGES = [*(page for page in sorted(RESULTS.glob("*.md")) if page.stem not in GENERATED), *UTILITY]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_page_of_results_answers_then_shows_a_table_a_figure_and_the_command(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    answer = next(line for line in text.splitlines()[1:] if line.strip())
    assert answer[0].isalnum() or answer.startswith("**"), "the first line is the answer"
    places = [text.find(mark) for mark in (answer, "\n|", "![", "## Made by")]
    commands = text.find("python ", places[3])
    assert -1 < places[0] < places[1] < places[2] < places[3] < commands


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def test_the_summary_of_the_papers_has_the_numbers_of_the_trials() -> None:
    import reproduced

    kept = (ROOT / "docs" / "results" / "reproduce.md").read_text(encoding="utf-8")
    assert kept == reproduced.page(), "python benchmarks/reproduced.py --write makes the page again"


def test_the_comparison_has_the_numbers_of_its_lines() -> None:
    import comparison

    kept = (ROOT / "docs" / "results" / "comparison.md").read_text(encoding="utf-8")
    assert kept == comparison.page(), "python benchmarks/comparison.py makes the page again"


def test_the_comparison_marks_one_run_and_leaves_out_what_was_not_measured() -> None:
    import comparison

    runs = [
        {
            "split": 0,
            "direct": {"linear": 0.5, "svm": 0.7},
            "tv": [0.1, 0.2, 0.3],
            "correlation": [-0.001, 0, 0],
        },
        {"split": 1, "direct": {"linear": 0.7, "svm": 0.9}, "tv": [0.1, 0.4, 0.3]},
    ]
    one, two = comparison.Group(runs[:1]), comparison.Group(runs)
    shown = [[comparison._short(group, of) for of in comparison.DIGESTS.values()] for group in (one, two)]
    assert shown == [[".600¹", ".200¹", "-.001¹"], [".700", ".300", "-.001¹"]]
    assert comparison._short(comparison.Group(runs[1:]), comparison.slopes) == "–"
    found = {("full", "wine", 1.0, 1e-6, "aim"): one}
    words = "{{wine aim 1 score}} {{wine aim 1 2-way}} {{wine aim 1 slope}} {{wine aim 1 runs}}"
    assert comparison.filled(words, found) == "0.600 0.200 0.00 1"
    with pytest.raises(SystemExit, match="not run on wine at epsilon 4"):
        comparison.filled("{{wine aim 4 score}}", found)


@pytest.mark.parametrize("page", UTILITY, ids=lambda path: path.stem)
def test_a_page_of_utility_has_the_numbers_of_its_lines(page: Path) -> None:
    import utility

    kept = page.read_text(encoding="utf-8")
    assert kept == utility.pages()[page.stem], "python benchmarks/utility.py page makes the page again"


def test_the_page_of_limits_has_the_numbers_of_its_lines() -> None:
    import limits

    kept = (RESULTS / "limits.md").read_text(encoding="utf-8")
    assert "\n".join(limits.table(limits.FILE)) in kept, "python benchmarks/limits.py show has the table"


def test_a_page_of_utility_folds_its_long_tables() -> None:
    """The answer, the compact table and the figure are read before anything is unfolded."""
    for page in UTILITY:
        open_part = re.sub(r"<details.*?</details>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert len(open_part.split()) < 1_500
        assert "transform" not in open_part.split("![")[0]


def test_a_number_that_no_trial_has_is_no_number_of_the_page() -> None:
    import reproduced

    with pytest.raises(SystemExit, match="no trial"):
        reproduced.filled("{{jl-laplace-figure3|nobody||paper|mean error}}")
    assert reproduced.filled("{{trials jl-laplace-figure1}}") == "1"


def test_claims_are_counted_in_the_table_itself() -> None:
    import reproduced

    known = {word: int(reproduced.holds(word)) for word in ("all", *reproduced.VERDICTS)}
    assert known["all"] == sum(known[word] for word in reproduced.VERDICTS) > 30
    lines = (ROOT / "docs" / "results" / "reproduce.md").read_text(encoding="utf-8").splitlines()
    assert sum("| **open**" in line for line in lines) == known["open"]


def test_the_figure_of_the_papers_has_the_numbers_of_the_page() -> None:
    import reproduced
    import reproduced_figure

    panels = [*reproduced_figure.gauss(), *reproduced_figure.others()]
    shown = {panel.title.split(":")[0]: panel.ours[1] for panel in panels}
    sound = shown["RON-Gauss Table 4"]
    assert sound is not None
    assert (
        reproduced.said(sound, ".1f")
        == reproduced.cell("ron-gauss-table4", "RON-Gauss", "accuracy, %", "sound", "max", ".1f")
    )  # fmt: skip
    assert len(panels) == 8
