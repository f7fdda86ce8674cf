"""Pages of utility, written from their lines: the answer and one compact table first, every budget folded below.

`python benchmarks/utility.py page` writes both: that of the synthesizer, and that of the first version.
"""

from __future__ import annotations

import numpy as np

from harness import floors
from harness.show import budgets, long_tables, said
from harness.summary import Group, Groups, chosen, difference, interval, pair
from harness.tables import TABLES

DELTA = 1e-6
NEAR, NEARBY = 0.05, 0.1  # of the score on real rows
SCORE = {"two classes": "AUROC", "classes": "accuracy", "number": "R2"}
SIZES = (("at most 1,000", 0, 1_000), ("1,000 to 30,000", 1_000, 30_000), ("above 30,000", 30_000, np.inf))

READING = """## How to read it

- A score is that of models trained on released rows and tested on held-out real rows: the mean of four learners, with a 95%
  interval over splits.
- The score is AUROC for two classes (0.5 is chance), accuracy for more, R2 for numbers (0 is the mean).
- *Real rows* is the same for models trained on real rows. No release is expected to be above it.
- *Rows* are those that were released: 80% of the table.
- *Against the first version* is the difference on the same splits at epsilon 1.
  Ahead and behind mean that its interval excludes 0.
- Delta is 1e-6; neighbours differ by the replacement of one row. The [protocol](README.md) has the rest."""

COLUMNS = """| column below | what |
|---|---|
| splits | how many times the table was cut, released and scored |
| mean | over learners, with the 95% interval over splits |
| linear, svm, forest, boosting | each learner alone |
| best | the learner with the highest mean |
| transform | the mean of learners that see real rows through the release's `transform` |
| real | the mean of learners on real rows |
| against | the difference to the first version on the same splits |
| took | the method that ran |
| one-way, two-way, three-way | total variation of one, two and three columns; in *real rows* that of rows drawn again |
| spread | standard deviation of a released column over that of the real one |
| at a bound | share of cells at a bound, difference to the real one |
| columns right | columns whose spread and share at a bound are right |
| nearly constant | columns that hardly vary: how many, and their spread beside the real one |
| correlation | slope of released on real correlations: of all, of the median column, of the worst |"""


def synthesizer(mine: Groups, theirs: Groups, ceiling: Groups) -> str:
    """The page of the default method, beside the first version."""
    gaps = _gaps(mine, theirs)
    ahead = sum(mean - half > 0 for mean, half in gaps.values())
    behind = {name: mean for name, (mean, half) in gaps.items() if mean + half < 0}
    named = ", ".join(f"{name} {gap:+.3f}" for name, gap in sorted(behind.items(), key=lambda one: one[1]))
    near = {epsilon: _near(mine, ceiling, epsilon) for epsilon in (1.0, 4.0)}
    was = {epsilon: _near(theirs, ceiling, epsilon) for epsilon in (1.0, 4.0)}
    text = [
        "# Utility of the synthesizer",
        "",
        f"**At epsilon 1, models trained on released rows score within {NEAR} of models trained on real rows on"
        f" {near[1.0]} of {len(gaps)} tables; at epsilon 4 on {near[4.0]}.**",
        f"The median table above 30,000 rows loses {_median(mine, ceiling, 2)} at epsilon 1, one of at most 1,000 rows"
        f" {_median(mine, ceiling, 0)} ([by size](#how-many-rows-it-takes)).",
        "",
        f"The first version was within {NEAR} on {was[1.0]} tables at epsilon 1, and on {was[4.0]} at epsilon 4."
        f" At epsilon 1 the synthesizer is ahead of it on {ahead} tables and level on {len(gaps) - ahead - len(behind)}.",
        f"It is behind on {len(behind)}: {named}." if behind else "It is behind on none.",
        "",
        *_compact(mine, theirs, ceiling),
        "![Models of released rows at epsilon 1 and 4 beside models of real rows, table by table](synthesizer.png)",
        "",
        *READING.splitlines(),
        "",
        "## How many rows it takes",
        "",
        "Median over tables of the distance to the score on real rows.",
        "",
        *_by_size(mine, ceiling),
        *_by_epsilon(mine, ceiling),
        *_floors(mine, theirs, ceiling),
    ]
    return "\n".join(text + _made("synthesizer") + _folded(mine, theirs, ceiling))


def first_version(mine: Groups, ceiling: Groups) -> str:
    """The page of what went before, in the same protocol."""
    count = sum(cell[0] == "full" and cell[2:4] == (1.0, DELTA) for cell in mine)
    one, four = (_near(mine, ceiling, epsilon, NEARBY) for epsilon in (1.0, 4.0))
    text = [
        "# Utility of the first version",
        "",
        f"At epsilon 1 models trained on the first version's rows stay within {NEARBY} of models trained on real rows on"
        f" {one} of {count} tables; at epsilon 4 on {four}.",
        "The page of the method that followed, with both side by side: [the synthesizer](synthesizer.md).",
        "",
        *_by_epsilon(mine, ceiling)[2:],
        "![Median distance from real rows by epsilon, first version](first-version.png)",
        "",
        "`auto` is the first version's own choice among its methods.",
        "The [protocol](README.md) is that of all pages of utility.",
        "",
    ]
    return "\n".join(text + _made("first-version") + _folded(mine, {}, ceiling))


def _tables(mine: Groups, epsilon: float, tier: str = "full") -> dict[str, Group]:
    found = {name: chosen(mine, tier, name, epsilon, DELTA) for name in TABLES}
    return {name: group for name, group in found.items() if group is not None}


def _real(ceiling: Groups, name: str, tier: str = "full") -> Group:
    return ceiling[tier, name, None, None, "real"]


def _score(group: Group) -> float:
    return interval(list(group.means().values()))[0]


def _distance(group: Group, ceiling: Groups, name: str, tier: str = "full") -> float:
    """From the score on real rows, on the splits that both have."""
    return _score(_real(ceiling, name, tier).beside(group)) - _score(group)


def _near(mine: Groups, ceiling: Groups, epsilon: float, within: float = NEAR) -> int:
    return sum(_distance(group, ceiling, name) <= within for name, group in _tables(mine, epsilon).items())


def _gaps(mine: Groups, theirs: Groups) -> dict[str, tuple[float, float]]:
    """Against the first version at epsilon 1, table by table."""
    before = _tables(theirs, 1.0)
    return {
        name: difference(group.means(), before[name].means()) for name, group in _tables(mine, 1.0).items()
    }


def _compact(mine: Groups, theirs: Groups, ceiling: Groups) -> list[str]:
    head = ["table", "rows", "score", "epsilon 1", "epsilon 4", "real rows", "first version, epsilon 1"]
    head += ["against the first version"]
    first, four, before = _tables(mine, 1.0), _tables(mine, 4.0), _tables(theirs, 1.0)
    gaps = _gaps(mine, theirs)
    text = [_line(head), "|" + "---|" * len(head)]
    for name in sorted(first, key=lambda name: _real(ceiling, name).mean("rows")):
        mean, half = gaps[name]
        verdict = "ahead" if mean - half > 0 else "behind" if mean + half < 0 else "level"
        cells = [name, f"{_real(ceiling, name).mean('rows'):,.0f}", SCORE[TABLES[name].task]]
        for group in (first[name], four.get(name), _real(ceiling, name).beside(first[name]), before[name]):
            cells.append("" if group is None else pair(interval(list(group.means().values()))))
        text.append(_line([*cells, f"{verdict} {mean:+.3f}"]))
    return [*text, ""]


def _far(mine: Groups, ceiling: Groups, size: int, epsilon: float) -> list[float]:
    """Distances from real rows of the tables of a size."""
    _, low, high = SIZES[size]
    return [
        _distance(group, ceiling, name)
        for name, group in _tables(mine, epsilon).items()
        if low < _real(ceiling, name).mean("rows") / 0.8 <= high
    ]


def _median(mine: Groups, ceiling: Groups, size: int) -> str:
    return f"{np.median(_far(mine, ceiling, size, 1.0)):.3f}"


def _by_size(mine: Groups, ceiling: Groups) -> list[str]:
    head = ["rows of the table", "tables", "epsilon 1", "epsilon 4"]
    text = [_line(head), "|" + "---|" * len(head)]
    for size, (words, _, _) in enumerate(SIZES):
        far = [_far(mine, ceiling, size, epsilon) for epsilon in (1.0, 4.0)]
        text.append(_line([words, str(len(far[0])), *(f"{np.median(of):.3f}" for of in far)]))
    return [*text, ""]


def _by_epsilon(mine: Groups, ceiling: Groups) -> list[str]:
    head = ["tier", "epsilon", "tables", f"within {NEAR} of real rows", f"within {NEARBY}", "median distance"]
    text = ["## By epsilon", "", _line(head), "|" + "---|" * len(head)]
    for tier, _, epsilon, delta in budgets(mine):
        if epsilon is None or delta != DELTA:
            continue
        far = np.array([_distance(g, ceiling, n, tier) for n, g in _tables(mine, epsilon, tier).items()])
        counts = [str((far <= within).sum()) for within in (NEAR, NEARBY)]
        text.append(_line([tier, f"{epsilon:g}", str(len(far)), *counts, f"{np.median(far):.3f}"]))
    return [*text, ""]


def _floors(mine: Groups, theirs: Groups, ceiling: Groups) -> list[str]:
    """How many are met of each kind, those that are missed, and all of them folded."""
    kinds = {kind: of for kind, of in floors.by_kind(mine, theirs, theirs, ceiling).items() if of}
    every = [line for of in kinds.values() for line in of]
    missed = [line for line in every if line.startswith("- MISSED")]
    text = [
        "## Floors",
        "",
        "A floor is what a release must reach at least; some have an aim beyond it.",
        "Of the full tier unless a line says quick.",
        "",
        _line(["floor", "met", "missed"]),
        "|---|---|---|",
    ]
    for kind, of in kinds.items():
        gone = sum(line in missed for line in of)
        text.append(_line([kind, str(len(of) - gone), str(gone)]))
    text.append(_line(["**all**", str(len(every) - len(missed)), str(len(missed))]))
    text += ["", *_details(f"The {len(missed)} that are missed", missed)]
    return text + _details(f"All {len(every)}", every)


def _made(name: str) -> list[str]:
    return [
        "## Made by",
        "",
        "```text",
        f"python benchmarks/utility.py page            # this page, from docs/results/utility/{name}.jsonl",
        "python docs/tools/figures.py                 # its figure, from its first table",
        "```",
        "",
        "Lines are run by `python benchmarks/utility.py run`; which are of which code says the [protocol](README.md).",
        "",
    ]


def _folded(mine: Groups, theirs: Groups, ceiling: Groups) -> list[str]:
    """The long tables, one fold a budget."""
    text = ["## Every table at every budget", "", *_details("What the columns are", COLUMNS.splitlines())]
    several = len({cell[4] for cell in mine}) > 1
    for budget in budgets(mine):
        tier, method, *_ = budget
        title = f"{method}: {tier} tier" if several else f"{tier.capitalize()} tier"
        text += _details(f"{title}{said(budget)}", long_tables(budget, mine, theirs, ceiling))
    return text


def _details(title: str, lines: list[str]) -> list[str]:
    return [
        '<details markdown="1">',
        f"<summary>{title}</summary>",
        "",
        *_trimmed(lines),
        "",
        "</details>",
        "",
    ]


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
