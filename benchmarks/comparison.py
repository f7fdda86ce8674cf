"""The page of the comparison with other tools, from the lines that `utility.py run --method TOOL` wrote.

    python benchmarks/peers/environments.py                          makes the tools' environments, once
    python benchmarks/utility.py run --tier full --method TOOL --tables NAME,... --epsilon 1 --splits 3 \\
        --out docs/results/comparison/TOOL.jsonl --data DIR          adds lines; the names are in harness/peers.py
    python benchmarks/peers/samplers.py run --data DIR               do the tools draw what they fitted
    python benchmarks/comparison.py                                  docs/results/comparison.md
    python benchmarks/comparison_figures.py                          its figures

What the page says in words stands in docs/results/comparison/words.txt, with the place of every number:
{{TABLE TOOL EPSILON WHAT}}, where WHAT is mean (over four learners, with its interval), score (the same without it), a
learner, 1-way, 2-way, 3-way, slope (of correlations), seconds, megabytes or runs; {{MNIST MODEL}} is ours by the papers'
protocol.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.peers import PEERS
from harness.summary import Group, Groups, groups, interval, pair
from harness.tables import TABLES
from peers.samplers import table_of

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
LEARNERS = ("linear", "svm", "forest", "boosting")
SCORE = {"two classes": "AUROC", "classes": "accuracy", "number": "R2"}
NONE, ONE_RUN = "–", "¹"
EPSILONS = (0.5, 1.0, 4.0)
MNIST = ("LR", "RF", "MLP")
Line = dict[str, Any]


def read(path: Path) -> list[Line]:
    return [json.loads(text) for text in path.read_text().splitlines()] if path.is_file() else []


def kept() -> tuple[list[Line], Groups]:
    """All lines, and those that ended, by table, budget and tool."""
    lines = [line for name in PEERS for line in read(RESULTS / "comparison" / f"{name}.jsonl")]
    return lines, groups(lines)


def real_rows() -> Groups:
    return groups(read(RESULTS / "utility" / "real-rows.jsonl"))


def page() -> str:
    lines, found = kept()
    real = real_rows()
    words = filled((RESULTS / "comparison" / "words.txt").read_text(), found).rstrip()
    text = [words.replace("{digest}", "\n".join(_digest(found, lines, real))), ""]
    for table in TABLES:
        mine = {cell: group for cell, group in found.items() if cell[1] == table}
        stopped = [line for line in lines if line["table"] == table and "refused" in line]
        if mine or stopped:
            text += _table(table, mine, stopped, real.get(("full", table, None, None, "real")))
    text += ["## Do the tools draw what they fitted?", "", SAMPLERS, ""]
    text += [table_of(read(RESULTS / "comparison" / "samplers.json")), ""]
    text += ["## MNIST beside quoted figures", "", filled(QUOTED, found), "", *_mnist(), ""]
    return "\n".join(text)


def _digest(found: Groups, lines: list[Line], real: Groups) -> list[str]:
    """Scores and variations of pairs: a row a table, a column a tool that ran on several, three budgets in a cell."""
    ran = {name: {line["table"] for line in lines if line["method"] == name} for name in PEERS}
    tools = [name for name, tables in ran.items() if len(tables) > 1]
    text = []
    for title, values in DIGESTS.items():
        text += [f"| {title}, ε 0.5 · 1 · 4 | " + " | ".join(tools) + " | real rows |"]
        text += ["|" + "---|" * (len(tools) + 2)]
        for table in TABLES:
            if not any(cell[1] == table for cell in found):
                continue
            cells = [
                " · ".join(_short(_of(found, table, tool, e), values) for e in EPSILONS) for tool in tools
            ]
            cells = [_limit(table, tool, lines) if set(c) <= set(f"{NONE} ·") else c
                     for tool, c in zip(tools, cells, strict=True)]  # fmt: skip
            whole = real.get(("full", table, None, None, "real"))
            cells.append(_short(Group(whole.lines[:5]) if whole else None, values))
            text.append(f"| {table} | " + " | ".join(cells) + " |")
        text.append("")
    return text[:-1]


def _limit(table: str, tool: str, lines: list[Line]) -> str:
    """What is said where a tool has no figure: the limit, where it met it."""
    stopped = [
        line["refused"]
        for line in lines
        if (line["table"], line["method"]) == (table, tool) and "refused" in line
    ]
    return stopped[0].split(":")[0] if stopped else "not run"


def _of(found: Groups, table: str, tool: str, epsilon: float) -> Group | None:
    cells = [cell for cell in found if cell[1:3] == (table, epsilon) and cell[4] == tool]
    return found[cells[0]] if cells else None


def _short(group: Group | None, values: Callable[[Group], list[float]]) -> str:
    """The mean of the runs without its leading zero, with a mark where it is of one run."""
    known = values(group) if group else []
    if not known:
        return NONE
    return f"{interval(known)[0]:.3f}".replace("0.", ".", 1) + (ONE_RUN if len(known) == 1 else "")


def filled(words: str, found: Groups) -> str:
    """The words with their numbers; one that was not run is no number."""

    def number(match: re.Match[str]) -> str:
        if match[1].startswith("MNIST"):
            return f"{interval(_ours(match[1].split()[1]))[0]:.3f}"
        table, tool, epsilon, what = match[1].split()
        group = _of(found, table, tool, float(epsilon))
        if group is None:
            raise SystemExit(f"{tool} was not run on {table} at epsilon {epsilon}.")
        scores = group.means() if what in ("mean", "score") else group.learner(what)
        if what == "mean":
            return pair(interval(list(scores.values())))
        if what.endswith("-way"):
            return f"{group.mean('tv', int(what[0]) - 1):.3f}"
        if what == "slope":
            return f"{interval(slopes(group))[0]:z.2f}"
        if what in ("seconds", "megabytes"):
            value = group.mean("fit_cpu" if what == "seconds" else "peak_mb")
            return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
        return str(len(group.lines)) if what == "runs" else f"{interval(list(scores.values()))[0]:.3f}"

    return re.sub(r"\{\{(.+?)\}\}", number, words)


def _table(name: str, found: dict[Any, Group], stopped: list[Line], real: Group | None) -> list[str]:
    head = ["tool", "promise", "ε", "runs", "mean of four", *LEARNERS, "1-way", "2-way", "3-way"]
    head += ["slope", "spread: median, least, most", "at a bound: median, most", "CPU s", "MB"]
    text = [f"## {name}", "", f"{SCORE[TABLES[name].task]} on held-out real rows.", ""]
    text += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    order = sorted(found, key=lambda cell: (cell[2], -interval(score(found[cell]))[0]))
    for cell in order:
        text.append(_row(cell[4], PEERS[cell[4]].adjacency, f"{cell[2]:g}", found[cell]))
    if real is not None:
        text.append(_row("real rows", NONE, NONE, Group(real.lines[:5])))
    for line in stopped:
        text += ["", f"- {line['method']} at epsilon {line['epsilon']:g}: {line['refused']}."]
    return [*text, ""]


def score(group: Group) -> list[float]:
    """By run: the mean over four learners."""
    return list(group.means().values())


def pairs(group: Group) -> list[float]:
    """By run: the variation of pairs of columns."""
    return group.number("tv", 1)


def slopes(group: Group) -> list[float]:
    """By run: that of released on real correlations of numbers; a table of few numbers has none."""
    return group.number("correlation", 0)


DIGESTS = {
    "mean score of four learners": score,
    "two-way variation": pairs,
    "slope of released on real correlations": slopes,
}


def _row(tool: str, promise: str, epsilon: str, group: Group) -> str:
    cells = [f"**{tool}**" if tool.startswith("gnomon") else tool, promise, epsilon, str(len(group.lines))]
    cells.append(pair(interval(score(group))) or NONE)
    for learner in LEARNERS:
        values = list(group.learner(learner).values())
        cells.append(f"{interval(values)[0]:.3f}" if values else NONE)
    for place in range(3):
        cells.append(f"{group.mean('tv', place):.3f}" if group.number("tv") else NONE)
    for what, places, form in (("correlation", 1, ".2f"), ("spread", 3, ".2f"), ("at_bound", 2, "+.3f")):
        known = bool(group.number(what))
        cells.append(" ".join(f"{group.mean(what, p):{form}}" for p in range(places)) if known else NONE)
    cells.append(f"{group.mean('fit_cpu'):.1f}" if group.number("fit_cpu") else NONE)
    cells.append(f"{group.mean('peak_mb'):,.0f}" if group.number("peak_mb") else NONE)
    return "| " + " | ".join(cells) + " |"


def _mnist() -> list[str]:
    head = ["method", "promise", "runs", "LR", "RF", "MLP", "CNN", "from"]
    text = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    ours = {name: _ours(name) for name in MNIST}
    if any(ours.values()):
        runs = " to ".join(dict.fromkeys(str(n) for n in sorted(len(of) for of in ours.values() if of)))
        scores = [pair(interval(of)) or NONE for of in ours.values()]
        told = ["**gnomon**", "replace", runs, *scores, NONE, "benchmarks/mnist.py"]
        text.append("| " + " | ".join(told) + " |")
    for name, scores in QUOTED_SCORES.items():
        text.append("| " + " | ".join([name, "as its paper says", "quoted", *scores, "quoted"]) + " |")
    return text


def _ours(model: str) -> list[float]:
    lines = read(RESULTS / "comparison" / "mnist.jsonl")
    return [line["accuracy"] for line in lines if line["model"] == model]


SAMPLERS = """`python benchmarks/peers/samplers.py run`, Adult, (1, 1e-6), 30,000 rows. Mean total variation between a
fitted model's own marginals and those of its rows, beside what as many independent draws from the model have. A right
sampler has both alike, as AIM's and OpenDP's MST drawn with `sample` have; `round`, mbi's default, has not. The models of
dpmm round counts instead of drawing, which leaves less variation than independent draws. DP-MERF's line is of the label's
pairs with categories, which it measures with noise. Its network is a fit of them, so that more is left than drawing costs.
Tab-PE has no such model.

mbi 1.1, which OpenDP's MST draws with, was checked on a tree of three columns (`benchmarks/peers/mbi_rounding.py`): the
model's correlation of two columns that share a parent is -0.008. Drawn with `round`, its default, it is 0.952 (total
variation 0.674); with `sample`, as here, -0.009 (0.017, drawing alone 0.019)."""

QUOTED = """60,000 rows to release, 10,000 to test, (1, 1e-5). Lines marked *quoted* are printed in the literature and
were not run by us. Papers differ in classifiers, in what is tuned and in adjacency. DPDM is a diffusion model trained on
graphics processors. Ours is `python benchmarks/mnist.py`: scikit-learn's logistic regression, forest and network of one
layer, with the settings that DP-MERF's authors published.

The papers: Hermite polynomial features (DP-HP, ICML 2022), random features (DP-MERF, AISTATS 2021), adversarial
reconstruction learning (PEARL, ICLR 2022), differentially private diffusion models (DPDM, TMLR 2023)."""

QUOTED_SCORES = {
    "DP-HP": (".811", ".815", ".806", NONE),
    "DP-MERF": (".769", ".686", ".807", NONE),
    "PEARL": (".760", NONE, NONE, NONE),
    "DPDM": (".867", NONE, ".916", ".953"),
}


if __name__ == "__main__":
    (RESULTS / "comparison.md").write_text(page(), encoding="utf-8")
