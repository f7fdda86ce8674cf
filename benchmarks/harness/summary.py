"""Lines of results by table, budget and method: means over splits and learners, 95% intervals, differences."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from scipy.stats import t as student

Line = dict[str, Any]
Cell = tuple[str, str, float | None, float | None, str]  # tier, table, epsilon, delta, method
Groups = dict[Cell, "Group"]


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half of the 95% interval over splits by Student's law; NaN for a single one."""
    if not values:
        return float("nan"), float("nan")
    if len(values) < 2:
        return float(values[0]), float("nan")
    half = student.ppf(0.975, len(values) - 1) * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return float(np.mean(values)), float(half)


class Group:
    """The splits of one table, budget and method."""

    def __init__(self, lines: list[Line]) -> None:
        self.lines = sorted(lines, key=lambda line: line["split"])

    def beside(self, other: Group) -> Group:
        """The splits that the other has too, or all where it has none of them."""
        theirs = {line["split"] for line in other.lines}
        return Group([line for line in self.lines if line["split"] in theirs] or self.lines)

    def learner(self, name: str, view: str = "direct") -> dict[int, float]:
        """Scores by split."""
        found = {line["split"]: line.get(view, {}).get(name) for line in self.lines}
        return {split: value for split, value in found.items() if value is not None}

    def learners(self, view: str = "direct") -> list[str]:
        return list(dict.fromkeys(name for line in self.lines for name in line.get(view, {})))

    def means(self, view: str = "direct") -> dict[int, float]:
        """The mean over learners by split."""
        found = {}
        for line in self.lines:
            values = [value for value in line.get(view, {}).values() if value is not None]
            if values:
                found[line["split"]] = float(np.mean(values))
        return found

    def best(self, view: str = "direct") -> tuple[str, float, float]:
        """The learner with the highest mean over splits, and its interval."""
        found = [(name, *interval(list(self.learner(name, view).values()))) for name in self.learners(view)]
        return max(found, key=lambda item: item[1], default=("-", float("nan"), float("nan")))

    def number(self, name: str, place: int | None = None) -> list[float]:
        """Another figure of the lines, by split, where it is there."""
        found = [line.get(name) for line in self.lines]
        values = [value if place is None or value is None else value[place] for value in found]
        return [value for value in values if value is not None]

    def mean(self, name: str, place: int | None = None) -> float:
        return interval(self.number(name, place))[0]


def groups(lines: list[Line]) -> Groups:
    found: dict[Cell, list[Line]] = defaultdict(list)
    for line in lines:
        if "refused" not in line:
            found[(line["tier"], line["table"], line["epsilon"], line["delta"], line["method"])].append(line)
    return {cell: Group(of) for cell, of in found.items()}


def difference(mine: dict[int, float], theirs: dict[int, float]) -> tuple[float, float]:
    """Mean and half interval of the differences on the splits that both have."""
    return interval([mine[split] - theirs[split] for split in sorted(set(mine) & set(theirs))])


def chosen(groups: Groups, tier: str, table: str, epsilon: float | None, delta: float | None) -> Group | None:
    """The group of a table and budget; of `auto` where there are several methods."""
    found = {cell[4]: group for cell, group in groups.items() if cell[:4] == (tier, table, epsilon, delta)}
    return found.get("auto") or next(iter(found.values()), None)


def pair(found: tuple[float, float], sign: bool = False) -> str:
    mean, half = found
    if np.isnan(mean):
        return ""
    shown = f"{mean:+.3f}" if sign else f"{mean:.3f}"
    return shown if np.isnan(half) else f"{shown} ± {half:.3f}"
