"""Results as text: scores with 95% intervals over splits and differences, likeness of columns, floors."""

from __future__ import annotations

import argparse

import numpy as np

from harness import floors, summary
from harness.learners import TIERS
from harness.summary import Cell, Group, Groups, Line, difference, groups, interval, pair
from harness.tables import TABLES

Budget = tuple[str, str, float | None, float | None]  # tier, method, epsilon, delta


def show(told: argparse.Namespace, lines: list[Line], against: list[Line], real: list[Line]) -> str:
    mine = {cell: group for cell, group in groups(lines).items() if _wanted(told, cell)}
    theirs, ceiling = groups(against), groups(real)
    text = []
    for budget in budgets(mine):
        tier, method, *_ = budget
        text += [f"## {method}, {tier} tier{said(budget)}", "", *long_tables(budget, mine, theirs, ceiling)]
    refused = [line for line in lines if "refused" in line]
    text += [
        f"- refused: {line['table']}, epsilon {line['epsilon']:g}: {line['refused']}" for line in refused
    ]
    text += floors.report(mine, theirs, ceiling)
    return "\n".join(text)


def budgets(mine: Groups) -> list[Budget]:
    """What was run, in the order of a page."""
    return sorted(
        {(cell[0], cell[4], cell[2], cell[3]) for cell in mine},
        key=lambda b: (list(TIERS).index(b[0]), b[1], b[3] or 0, b[2] or 0),
    )


def said(budget: Budget) -> str:
    _, _, epsilon, delta = budget
    return "" if epsilon is None else f", epsilon {epsilon:g}, delta {delta:g}"


def long_tables(budget: Budget, mine: Groups, theirs: Groups, ceiling: Groups) -> list[str]:
    """Every table at one budget: scores, then likeness."""
    tier, _, epsilon, delta = budget
    chosen = {c[1]: g for c, g in mine.items() if (c[0], c[4], c[2], c[3]) == budget}
    order = list(TABLES)
    text = _scores(tier, epsilon, delta, chosen, theirs, ceiling, order)
    return text + _likeness(tier, chosen, ceiling, order)


def _wanted(told: argparse.Namespace, cell: Cell) -> bool:
    tier, table, epsilon, delta, _ = cell
    return (
        told.tier in (None, tier)
        and table in told.tables
        and (not told.epsilon or epsilon is None or epsilon in told.epsilon)
        and (told.delta is None or delta is None or delta == told.delta)
    )


def _scores(
    tier: str,
    epsilon: float | None,
    delta: float | None,
    chosen: dict[str, Group],
    theirs: Groups,
    ceiling: Groups,
    order: list[str],
) -> list[str]:
    names = list(TIERS[tier].learners)
    head = ["table", "score", "splits", "mean", *names, "best", "transform", "real", "against", "took"]
    text = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    score = {"two classes": "AUROC", "classes": "accuracy", "number": "R2"}
    for table in order:
        if table not in chosen:
            continue
        group = chosen[table]
        other = summary.chosen(theirs, tier, table, epsilon, delta)
        real = ceiling.get((tier, table, None, None, "real"))
        cells = [
            table,
            score[TABLES[table].task],
            str(len(group.lines)),
            pair(interval(list(group.means().values()))),
        ]
        cells += [_short(interval(list(group.learner(name).values()))[0]) for name in names]
        cells.append(f"{_short(group.best()[1])} {group.best()[0]}")
        cells.append(pair(interval(list(group.means("transform").values()))))
        cells.append(_short(interval(list(real.beside(group).means().values()))[0]) if real else "")
        cells.append(pair(difference(group.means(), other.means()), sign=True) if other else "")
        cells.append(", ".join(dict.fromkeys(line.get("took", "") for line in group.lines)))
        text.append("| " + " | ".join(cells) + " |")
    return [*text, ""]


def _likeness(tier: str, chosen: dict[str, Group], ceiling: Groups, order: list[str]) -> list[str]:
    head = ["table", "one-way", "two-way", "three-way", "(real rows)", "spread median, least, most"]
    head += ["at a bound, median, most", "columns right", "nearly constant", "correlation all, median, worst"]
    head += ["CPU s"]
    text = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for table in order:
        group = chosen.get(table)
        if group is None or not group.number("tv"):
            continue
        real = ceiling.get((tier, table, None, None, "real"))
        cells = [table, *(f"{group.mean('tv', place):.3f}" for place in range(3))]
        cells.append(" ".join(f"{real.mean('tv', place):.3f}" for place in range(3)) if real else "")
        cells.append(" ".join(f"{group.mean('spread', place):.2f}" for place in range(3)))
        cells.append(" ".join(f"{group.mean('at_bound', place):+.3f}" for place in range(2)))
        cells.append(f"{group.mean('right'):.0%}" if group.number("right") else "")
        cells.append(_constant(group))
        slopes = group.number("correlation")
        cells.append(" ".join(f"{np.mean([s[p] for s in slopes]):.2f}" for p in range(3)) if slopes else "")
        cells.append(
            f"{group.mean('fit_cpu') + group.mean('sample_cpu'):.1f}" if group.number("fit_cpu") else ""
        )
        text.append("| " + " | ".join(cells) + " |")
    return [*text, ""]


def _constant(group: Group) -> str:
    """How many columns are nearly constant, and how far the released ones spread beyond the real ones."""
    found = group.number("constant")
    if not found:
        return ""
    moving = [one["spread"] for one in found if one["spread"]]
    words = f"{np.mean([one['columns'] for one in found]):.0f}"
    still = [one["of_width"] for one in found if one["of_width"] is not None]
    if moving:
        words += f": x{np.mean([m[0] for m in moving]):.3g}, at most x{max(m[1] for m in moving):.3g}"
    if still:
        words += f"; where the real one is 0, at most {max(still):.2g} of the width"
    return words


def _short(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"
