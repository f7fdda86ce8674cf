"""A run of cells: what it writes, what it skips, what a kill costs, and what an error stops."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gnomon.errors import DataError, GnomonError, OutputError, ParameterError
from gnomon.evaluation.measure import Measure
from gnomon.reproduce import plot
from gnomon.reproduce.experiment import Cell, Experiment, Numbers
from gnomon.reproduce.results import Journal
from gnomon.reproduce.run import reproduce


def toy(cells: list[Cell], **more: object) -> Experiment:
    settings: dict[str, object] = {"trials": 7, "files": ()}
    settings.update(more)
    return Experiment(
        name="toy-table1",
        paper="A paper",
        title="toys",
        says="toys are best.",
        cells=lambda data: cells,
        **settings,  # type: ignore[arg-type]
    )


def cell(row: str, calibration: str, run: Callable[[int], Numbers], **more: object) -> Cell:
    settings: dict[str, object] = {"column": "score", "printed": None, "data": "generated"}
    settings.update(more)
    return Cell(row=row, calibration=calibration, run=run, **settings)  # type: ignore[arg-type]


def table(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "table.csv").open() as file:
        return {"/".join([r["row"], r["name"]]).strip("/"): r for r in csv.DictReader(file)}


def test_a_line_holds_printed_paper_and_sound_values_with_their_trials(tmp_path: Path) -> None:
    cells = [
        cell("real", "none", lambda trial: 9.0, printed=8.5),
        cell("ours", "paper", lambda trial: 1.0 + trial, printed=2.0),
        cell("ours", "sound", lambda trial: 4.0, printed=2.0),
    ]
    reproduce(toy(cells), tmp_path, tmp_path / "out", trials=3)
    text = (tmp_path / "out" / "toy-table1" / "table.md").read_text()
    assert "| real, score | 8.5 | 9.000 ± 0 | 9.000 ± 0 | 3 | generated |" in text
    # mean 2 of 1, 2, 3; the half width is t(2) * 1 / sqrt(3) = 4.303 / 1.732
    assert "| ours, score | 2 | 2.000 ± 2.5 | 4.000 ± 0 | 3 | generated |" in text
    assert "--trials 3" in text
    assert "toys are best." in text
    numbers = table(tmp_path / "out" / "toy-table1")["ours"]
    assert float(numbers["paper half width"]) == pytest.approx(2.4841, abs=1e-3)
    assert float(numbers["sound mean"]) == 4.0


@pytest.mark.parametrize(("best", "value"), [("largest", "3.000"), ("smallest", "1.000")])
def test_a_sweep_reports_its_best_mean_and_where_and_is_shown_whole(
    tmp_path: Path, best: str, value: str
) -> None:
    sweep = cell("ours", "sound", lambda trial: {"p=1": 1.0, "p=2": 3.0, "p=4": 2.0}, best=best, printed=2.5)
    reproduce(toy([sweep]), tmp_path, tmp_path, trials=1)
    text = (tmp_path / "toy-table1" / "table.md").read_text()
    where = {"largest": "p=2", "smallest": "p=1"}[best]
    assert f"| ours, score | 2.5 | – | {value} (at {where}) | 1 | generated |" in text
    assert "| ours, score, p=4 | – | – | 2.000 | 1 | generated |" in text
    assert "chosen after the fact" in text
    assert set(table(tmp_path / "toy-table1")) == {"ours/p=1", "ours/p=2", "ours/p=4"}


def test_named_numbers_are_lines_with_their_own_printed_values(tmp_path: Path) -> None:
    two = cell("ours", "paper", lambda trial: {"accuracy": 0.5, "AUPRC": 0.25}, printed={"AUPRC": 0.3})
    reproduce(toy([two]), tmp_path, tmp_path, trials=1)
    text = (tmp_path / "toy-table1" / "table.md").read_text()
    assert "| ours, score, accuracy | – | 0.5000 | – | 1 |" in text
    assert "| ours, score, AUPRC | 0.3 | 0.2500 | – | 1 |" in text


def test_a_second_run_measures_only_what_is_missing(tmp_path: Path) -> None:
    asked: list[int] = []

    def run(trial: int) -> float:
        asked.append(trial)
        return float(trial)

    experiment = toy([cell("ours", "sound", run)])
    reproduce(experiment, tmp_path, tmp_path, trials=2)
    reproduce(experiment, tmp_path, tmp_path, trials=4)
    assert asked == [0, 1, 2, 3]
    # the trial is what seeds splits, so its number must be the one that the record carries
    assert [(record.trial, record.value) for record in Journal(tmp_path / "toy-table1")] == [
        (k, float(k)) for k in range(4)
    ]


def test_the_trials_of_a_cell_are_one_line_that_holds_them_all(tmp_path: Path) -> None:
    def named(trial: int) -> Numbers:
        return {"a": 1 / 3, "b": float(trial)} if trial else {"a": 0.0}

    def refused_once(trial: int) -> float:
        if trial == 1:
            raise GnomonError("no.")
        return float(trial)

    cells = [cell("plain", "sound", float), cell("named", "sound", named), cell("gap", "sound", refused_once)]
    before = reproduce(toy(cells), tmp_path, tmp_path, trials=3)
    lines = [json.loads(line) for line in (tmp_path / "toy-table1" / "trials.jsonl").read_text().splitlines()]
    together = {line["row"]: (line["trials"], line["values"]) for line in lines if "trials" in line}
    assert together["plain"] == (3, [0.0, 1.0, 2.0])
    assert together["named"] == (3, {"a": [0.0, 0.333333, 0.333333], "b": [None, 1.0, 2.0]})
    assert together["gap"] == (1, [0.0])
    assert sorted((line["trial"], line["error"]) for line in lines if "trial" in line) == [
        (1, "no."),
        (2, None),
    ]
    again = {(record.key, record.trial): record.value for record in Journal(tmp_path / "toy-table1")}
    assert again[("named", "score", "sound"), 0] == {"a": 0.0}
    assert set(again) == set(before.records)


def test_no_trial_begins_after_its_minutes_and_the_page_says_what_is_missing(tmp_path: Path) -> None:
    run = cell("slow", "sound", lambda trial: time.sleep(0.05) or 1.0)  # type: ignore[func-returns-value]
    found = reproduce(toy([run]), tmp_path, tmp_path, trials=7, minutes=0.06 / 60)
    assert 1 <= found.trials < 7
    text = (tmp_path / "toy-table1" / "table.md").read_text()
    assert f"{7 - found.trials} trials are missing" in text
    assert "--trials 7` continues" in text
    assert "missing" not in _page(reproduce(toy([run]), tmp_path, tmp_path, trials=7), tmp_path)


def _page(results: object, folder: Path) -> str:
    return (folder / "toy-table1" / "table.md").read_text()


def test_without_a_number_five_trials_are_run_or_as_few_as_the_paper_has(tmp_path: Path) -> None:
    run = cell("ours", "sound", lambda trial: 1.0)
    assert len(reproduce(toy([run], trials=100), tmp_path, tmp_path / "a").records) == 5
    assert len(reproduce(toy([run], trials=1), tmp_path, tmp_path / "b").records) == 1


def test_lines_are_chosen_by_a_part_of_their_name_and_the_others_are_kept(tmp_path: Path) -> None:
    asked: list[str] = []

    def run(name: str) -> Callable[[int], float]:
        return lambda trial: float(asked.append(name) or 1.0)  # type: ignore[func-returns-value]

    cells = [
        cell(name, "sound", run(name)) for name in ("PrivBayes", "JTree", "Retail", "Retail, Synthesizer")
    ]
    reproduce(toy(cells), tmp_path, tmp_path, trials=1)
    asked.clear()
    reproduce(
        toy(cells), tmp_path, tmp_path, trials=3, only=["retail", "jtree"], without=["synthesizer"]
    )  # capitals do not matter
    assert asked == ["JTree", "Retail"] * 2
    text = (tmp_path / "toy-table1" / "table.md").read_text()
    assert "| PrivBayes, score | – | – | 1.000 | 1 | generated |" in text
    assert "| Retail, score | – | – | 1.000 ± 0 | 3 | generated |" in text
    assert "Up to 6 trials of a line are missing" in text
    with pytest.raises(ParameterError, match="No line has such a name"):
        reproduce(toy(cells), tmp_path, tmp_path, trials=1, only=["nobody"])


def test_a_torn_last_line_is_measured_again(tmp_path: Path) -> None:
    experiment = toy([cell("ours", "sound", lambda trial: 1.0)])
    reproduce(experiment, tmp_path, tmp_path, trials=3)
    journal = tmp_path / "toy-table1" / "trials.jsonl"
    with journal.open("ab") as file:
        file.write(b'{"row": "ours", "column": "score", "calibration": "sound", "trial": 3, "val')
    reproduce(experiment, tmp_path, tmp_path, trials=4)
    assert [record.trial for record in Journal(journal.parent)] == [0, 1, 2, 3]


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    experiment = toy([cell("ours", "sound", lambda trial: 1.0)])
    reproduce(experiment, tmp_path, tmp_path, trials=1)
    journal = tmp_path / "toy-table1" / "trials.jsonl"
    journal.write_text("nonsense\n" + journal.read_text())
    with pytest.raises(DataError, match="Line 1 of"):
        reproduce(experiment, tmp_path, tmp_path, trials=1)


def test_an_error_is_a_sentence_in_the_table_stops_nothing_and_is_tried_again(tmp_path: Path) -> None:
    broken = True

    def refuse(trial: int) -> float:
        if broken:
            raise ParameterError("The peer is not installed.")
        return 2.0

    def crash(trial: int) -> float:
        raise ValueError("cell says 17 years")

    cells = [cell("a", "sound", refuse), cell("b", "sound", crash), cell("c", "sound", lambda trial: 1.0)]
    results = reproduce(toy(cells), tmp_path, tmp_path, trials=1)
    text = (tmp_path / "toy-table1" / "table.md").read_text()
    assert "- no value: a, score: The peer is not installed." in text
    assert "unexpected ValueError" in text
    assert "17 years" not in text
    assert results.measure("c", "score", "sound") is not None
    broken = False
    reproduce(toy(cells), tmp_path, tmp_path, trials=1)
    assert "The peer" not in (tmp_path / "toy-table1" / "table.md").read_text()


def test_progress_counts_cells(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    cells = [cell("a", "sound", lambda trial: 1.0), cell("b", "sound", lambda trial: 1.0)]
    reproduce(toy(cells), tmp_path, tmp_path, trials=2, progress=lambda *now: seen.append(now))
    assert seen[0] == ("toy-table1", 0, 4)
    assert seen[-1] == ("toy-table1", 4, 4)


def test_what_cannot_run_is_refused_in_a_sentence(tmp_path: Path) -> None:
    fine = cell("a", "sound", lambda trial: 1.0)
    with pytest.raises(DataError, match=r"toy-table1 reads gfe/data\.parquet, which the folder"):
        reproduce(toy([fine], files=("gfe/data.parquet",)), tmp_path, tmp_path, trials=1)
    with pytest.raises(ParameterError, match="--trials must be a positive integer"):
        reproduce(toy([fine]), tmp_path, tmp_path, trials=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError):
        reproduce(toy([fine]), tmp_path, tmp_path / "file", trials=1)
    assert issubclass(OutputError, GnomonError)


KILLED = """
import sys, time
from pathlib import Path
from gnomon.reproduce.experiment import Cell, Experiment
from gnomon.reproduce.results import Journal
from gnomon.reproduce.run import reproduce

def run(trial):
    time.sleep(0.05)
    return float(trial)

cells = [Cell(f"cell {k}", "score", "sound", None, "generated", run) for k in range(4)]
toy = Experiment("toy", "A paper", "toys", "toys.", 100, (), lambda data: cells)
reproduce(toy, Path("."), Path(sys.argv[1]), trials=int(sys.argv[2]))
"""


def test_a_killed_run_continues_where_it_was(tmp_path: Path) -> None:
    journal = tmp_path / "toy" / "trials.jsonl"
    running = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path), "1000"])
    patience = time.monotonic() + 60
    while (not journal.exists() or journal.read_bytes().count(b"\n") < 6) and time.monotonic() < patience:
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    assert not (tmp_path / "toy" / "table.md").exists()
    before = journal.read_text()
    held = before.count("\n")
    assert held >= 6
    trials = held // 4 + 1
    cells = [cell(f"cell {k}", "sound", float) for k in range(4)]
    reproduce(replace(toy(cells), name="toy"), tmp_path, tmp_path, trials=trials)
    assert sorted((record.trial, record.row) for record in Journal(journal.parent)) == [
        (trial, f"cell {k}") for trial in range(trials) for k in range(4)
    ]
    assert (tmp_path / "toy" / "table.md").exists()


def test_a_figure_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ParameterError, match="pip install"):
        plot.figure()


def test_one_legend_for_all_panels_that_have_none_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn, panels = plot.figure(3)
    known = Measure(((1.0,), (2.0,)))
    for place, axes in enumerate(panels):
        lines = [plot.Curve(label, [(1.0, known)]) for label in ("both", f"alone {place}")]
        plot.curves(axes, lines, title="", x="", y="")
    panels[2].legend()
    plot.save(drawn, tmp_path)
    (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == ["both", "alone 0", "alone 1"]
    assert panels[0].get_legend() is None
