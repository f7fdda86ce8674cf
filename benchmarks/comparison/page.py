"""The page of the comparison and its plots, from the lines that the runs wrote."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

from comparison.methods import AUTO, BASELINES, OURS, PEERS, REAL
from comparison.plots import budgets_plot, cost_plot, utility_plot
from comparison.tables import TABLES
from comparison.words import CONCLUSIONS, HOW, NOT_RUN

Line = dict[str, Any]
EPSILONS = (0.5, 1.0, 4.0)
NONE = "–"


class Results:
    """Lines by table, method and epsilon; means over trials."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.tables = [name for name in TABLES if any(line["table"] == name for line in lines)]

    def of(self, table: str, method: str, epsilon: float) -> list[Line]:
        key = (table, method, epsilon)
        return [line for line in self.lines if (line["table"], line["method"], line["epsilon"]) == key]

    def done(self, table: str, method: str, epsilon: float) -> list[Line]:
        return [line for line in self.of(table, method, epsilon) if line["status"] == "done"]

    def exceeded(self, table: str, method: str) -> list[Line]:
        mine = [line for line in self.lines if (line["table"], line["method"]) == (table, method)]
        return [line for line in mine if line["status"] == "exceeded"]

    def real(self, table: str) -> list[Line]:
        return self.done(table, REAL, 0.0)

    def known(self, table: str) -> Line:
        """What is public about the table."""
        return self.done(table, AUTO, 0.0)[0]

    def metric(self, table: str) -> str:
        """AUROC of two classes, accuracy of more, R2 of a regression."""
        classes = self.known(table)["classes"]
        return "R2" if classes == 0 else "AUROC" if classes == 2 else "accuracy"

    def score(self, table: str, method: str, epsilon: float, metric: str | None = None) -> float | None:
        """Of the model that does best on average, as an analyst would choose it; nothing where nothing was released."""
        lines = self.done(table, method, epsilon)
        if not lines:
            return None
        by = metric or self.metric(table)
        models = [model for model in lines[0]["utility"] if model != "floor"]
        return max(mean(line["utility"][model][by] for line in lines) for model in models)

    def spread(self, table: str, method: str, epsilon: float) -> float | None:
        """Half of the range of the trials of the model that `score` shows."""
        lines, by = self.done(table, method, epsilon), self.metric(table)
        if len(lines) < 2:
            return None
        models = [model for model in lines[0]["utility"] if model != "floor"]
        best = max(models, key=lambda model: mean(line["utility"][model][by] for line in lines))
        values = [line["utility"][best][by] for line in lines]
        return (max(values) - min(values)) / 2

    def floor(self, table: str, metric: str) -> float:
        return mean(line["utility"]["floor"][metric] for line in self.real(table))

    def average(self, table: str, method: str, epsilon: float, what: str) -> float | None:
        found = [line[what] for line in self.done(table, method, epsilon) if what in line]
        return mean(found) if found else None

    def why(self, table: str, method: str, epsilon: float) -> str:
        """What stands in the place of a number that is not there."""
        lines = [line for line in self.of(table, method, epsilon) if line["status"] != "done"]
        if lines:
            return f"{lines[0]['status']} ({lines[0]['why'].split(';')[0].rstrip('.')[:90]})"
        if self.exceeded(table, method):
            return "not run: exceeded at another epsilon"
        return "not run"

    def auto(self, table: str, epsilon: float) -> str:
        found: str = self.known(table)["auto"][f"{epsilon:g}"]
        return found


def report(lines: list[Line], out: Path) -> None:
    found = Results(lines)
    found.tables = [t for t in found.tables if found.real(t) and found.done(t, AUTO, 0.0)]
    utility_plot(found, out / "comparison-utility.png")
    budgets_plot(found, out / "comparison-epsilon.png")
    cost_plot(found, out / "comparison-cost.png")
    dates = sorted({line["date"] for line in lines})
    text = [
        "# One comparison: gnomon, the methods that its papers compare with, and the tools that people use",
        "",
    ]
    text += [HOW.replace("DATES", " to ".join(dict.fromkeys((dates[0], dates[-1])))), "", CONCLUSIONS, ""]
    text += ["## At epsilon 1, all tables", "", *_summary(found), ""]
    text += ["![What a model trained on the release reaches, by table](comparison-utility.png)", ""]
    text += ["![Utility against epsilon](comparison-epsilon.png)", ""]
    text += ["![Seconds and megabytes](comparison-cost.png)", ""]
    for table in found.tables:
        text += _table(found, table)
    text += ["## What was not run, and why", "", NOT_RUN, ""]
    (out / "comparison.md").write_text("\n".join(text), encoding="utf-8")


def _best(found: Results, table: str, methods: Iterable[str], epsilon: float) -> tuple[float, str] | None:
    scores = [(s, m) for m in methods if (s := found.score(table, m, epsilon)) is not None]
    return max(scores) if scores else None


def _summary(found: Results) -> list[str]:
    text = [
        "The best of each family, by the score of the table (AUROC of two classes, accuracy of more, R2). *auto* is what "
        "`--method auto` takes. diffprivlib releases nothing and is not ranked.",
        "",
        "| table | rows x columns | score | auto | best of gnomon | best compared method | best peer | real rows |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for table in found.tables:
        line = found.known(table)
        auto = found.auto(table, 1.0)
        value = found.score(table, auto, 1.0)
        cells = [f"{auto} {_number(value)}"]
        for family in (OURS, BASELINES, [m for m in PEERS if PEERS[m].releases]):
            best = _best(found, table, family, 1.0)
            cells.append(NONE if best is None else f"{best[1]} {_number(best[0])}")
        real = found.score(table, REAL, 0.0)
        text.append(
            f"| {TABLES[table].title} | {line['rows']:,} x {line['columns']} | {found.metric(table)} | "
            + " | ".join(cells)
            + f" | {_number(real)} |"
        )
    return text


def _table(found: Results, table: str) -> list[str]:
    line, metric = found.known(table), found.metric(table)
    other = _other(metric)
    beside = [f"{name} {_number(found.score(table, REAL, 0.0, name))}" for name in (metric, other) if name]
    worst = [f"{name} {_number(found.floor(table, name))}" for name in (metric, other) if name]
    head = ["method", f"{metric}, ε = 0.5", "ε = 1", "ε = 4", *([f"{other}, ε = 1"] if other else [])]
    head += ["one-way TV", "two-way TV", "seconds", "CPU s", "MB"]
    text = [
        f"## {TABLES[table].title}",
        "",
        f"{line['rows']:,} rows to release, {line['columns']} columns ({line['width']} encoded), delta = "
        f"{TABLES[table].delta:g}. Figures with ± are means of two or three trials and half of their range, others one "
        "run. Real rows: "
        f"{', '.join(beside)}; without rows: {', '.join(worst)}. In bold what `--method auto` takes at epsilon 1.",
        "",
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
    ]
    for methods in (OURS, BASELINES, tuple(PEERS)):
        text += [_row(found, table, method, other) for method in methods]
    return [*text, ""]


def _other(metric: str) -> str | None:
    """The second score of a table."""
    return {"AUROC": "accuracy", "accuracy": "AUROC"}.get(metric)


def _row(found: Results, table: str, method: str, other: str | None) -> str:
    cells = []
    for epsilon in EPSILONS:
        value = found.score(table, method, epsilon)
        if value is None:
            cells.append(found.why(table, method, epsilon))
            continue
        half = found.spread(table, method, epsilon)
        cells.append(_number(value) + ("" if half is None else f" ± {half:.2f}"))
    if other:
        cells.append(_number(found.score(table, method, 1.0, other)))
    for what in ("one_way", "two_way"):
        cells.append(_number(found.average(table, method, 1.0, what)))
    for what in ("seconds", "cpu"):
        cells.append(_rounded(found.average(table, method, 1.0, what)))
    cells.append(_rounded(found.average(table, method, 1.0, "peak_mb")))
    name = f"**{method}**" if method == found.auto(table, 1.0) else method
    return f"| {name} | " + " | ".join(cells) + " |"


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return NONE
    return f"{value:.3f}" if value > -1 else "below -1"


def _rounded(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 10 else f"{value:,.0f}"
