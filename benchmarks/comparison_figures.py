"""The figures of docs/results/comparison.md, from the lines that are kept: `python benchmarks/comparison_figures.py`."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from comparison import RESULTS, SCORE, kept, pairs, real_rows, score, slopes
from harness.summary import Group, Groups
from harness.tables import TABLES

EPSILONS = (0.5, 1.0, 4.0)
# name: colour, marker; gnomon in one colour, tools of marginals in warm ones, networks and evolution in cold ones
TOOLS = {
    "gnomon": ("#12405f", "o"),
    "gnomon-add-remove": ("#5b9bc8", "o"),
    "aim": ("#c8502d", "s"),
    "opendp-mst": ("#d9a23b", "D"),
    "dpmm-privbayes": ("#8a5a2b", "v"),
    "dp-merf": ("#5f8f4e", "^"),
    "tab-pe": ("#8d6aa8", "P"),
}
SHORT = {"breast_cancer_wisconsin_diagnostic": "wisconsin"}


def draw(name: str, what: str, value: Callable[[Group], list[float]], found: Groups, real: Groups) -> None:
    """A panel for each table, a line for each tool over epsilon; what real rows have is dashed."""
    tables = [table for table in TABLES if any(cell[1] == table for cell in found)]
    figure, axes = plt.subplots(2, -(-len(tables) // 2), figsize=(13, 6.2), layout="constrained")
    for axis, table in zip(axes.flat, tables, strict=False):
        heights = []
        for tool, (colour, marker) in TOOLS.items():
            known = {
                cell[2]: value(group) for cell, group in found.items() if cell[1] == table and cell[4] == tool
            }
            places = [place for place, epsilon in enumerate(EPSILONS) if epsilon in known]
            if not places:
                continue
            runs = [known[EPSILONS[place]] for place in places]
            means = np.array([np.mean(values) for values in runs])
            ends = np.array(
                [[m - min(values), max(values) - m] for m, values in zip(means, runs, strict=True)]
            )
            x = np.array(places) + (list(TOOLS).index(tool) - 3) * 0.05
            line = {"color": colour, "marker": marker, "markersize": 5, "linewidth": 1.3, "elinewidth": 0.8}
            axis.errorbar(x, means, ends.T, label=tool, **line)
            heights += [value for values in runs for value in values]
        whole = float(np.mean(value(Group(real["full", table, None, None, "real"].lines[:5]))))
        axis.axhline(whole, color="#555555", linestyle="--", linewidth=1)
        low, high = min([*heights, whole]), max([*heights, whole])
        axis.set_ylim(low - 0.08 * (high - low) - 1e-3, high + 0.08 * (high - low) + 1e-3)
        axis.set_xticks(range(3), [f"{epsilon:g}" for epsilon in EPSILONS])
        axis.set_xlim(-0.4, 2.4)
        kind = f" ({SCORE[TABLES[table].task]})" if value is score else ""
        axis.set_title(SHORT.get(table, table) + kind, fontsize=10)
        axis.grid(alpha=0.25)
    for axis in axes.flat[len(tables) :]:
        axis.axis("off")
    handles = {}
    for axis in axes.flat:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    shown = [tool for tool in TOOLS if tool in handles]
    figure.legend(
        [handles[tool] for tool in shown], shown, loc="outside lower center", ncols=len(shown), frameon=False
    )
    note = "by epsilon (delta 1e-6); bars: lowest and highest run; dashed: real rows"
    figure.suptitle(f"{what}, {note}", fontsize=11)
    figure.savefig(RESULTS / f"{name}.png", dpi=110, facecolor="white")
    plt.close(figure)


def main() -> None:
    found, real = kept()[1], real_rows()
    draw(
        "comparison",
        "Mean score of four learners on held-out real rows (higher is better)",
        score,
        found,
        real,
    )
    draw("comparison-pairs", "Mean total variation of pairs of columns (lower is better)", pairs, found, real)
    draw("comparison-slopes", "Slope of released on real correlations (1 is best)", slopes, found, real)


if __name__ == "__main__":
    main()
