"""Figures of the pages of results, drawn from the tables on these pages: `python docs/tools/figures.py`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

RESULTS = Path(__file__).parents[1] / "results"
BLUE, SAND, GREY = "#2f5d7c", "#d9a65a", "#7a8594"


def tables(page: str) -> list[tuple[str, list[list[str]]]]:
    """Heading before it, and cells of every table of a page."""
    found, heading, rows = list[tuple[str, list[list[str]]]](), "", list[list[str]]()
    for line in [*(RESULTS / f"{page}.md").read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
            continue
        if rows:
            found.append((heading, [rows[0], *rows[2:]]))
            rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def number(cell: str) -> float:
    """The first number of a cell, without its marks; two with a semicolon between them count together."""
    if ";" in cell:
        return sum(number(part) for part in cell.split(";"))
    return float(re.search(r"[-+]?[\d,]*\.?\d+", cell.replace("**", "")).group().replace(",", ""))


def save(figure, page: str) -> None:
    figure.savefig(RESULTS / f"{page}.png", dpi=110, facecolor="white")
    plt.close(figure)
    print(RESULTS / f"{page}.png")


def ron_gauss() -> None:
    found = [one for one in tables("ron-gauss") if one[1][0][:2] == ["epsilon", "delta"]]
    figure, grid = plt.subplots(2, len(found) // 2, figsize=(7.5, 6.2), layout="constrained")
    for axis, (heading, (head, *rows)) in zip(grid.flat, found, strict=True):
        sizes = [int(cell) for cell in head[2:-1]]
        shades = plt.cm.viridis(np.linspace(0, 0.85, len(rows)))
        for row, colour in zip(rows, shades, strict=True):
            label = f"ε {row[0]}, δ {row[1]}"
            axis.plot(
                sizes,
                [number(cell) for cell in row[2:-1]],
                marker="o",
                markersize=3,
                color=colour,
                label=label,
            )
            chosen = int(re.search(r"p = (\d+)", row[-1]).group(1))
            axis.plot(
                chosen,
                number(row[-1]),
                marker="*",
                markersize=11,
                color=colour,
                markeredgecolor="black",
                linestyle="",
            )
        axis.set(
            title=heading.split(" (")[0],
            xlabel="dimension p (star: automatic)",
            xscale="log",
            xticks=sizes,
            ylim=(0, 1),
        )
        axis.set_xticks(sizes, head[2:-1])
        axis.minorticks_off()
        axis.legend(frameon=False, fontsize=7, loc="best")
    for axis in grid[:, 0]:
        axis.set_ylabel("accuracy on real rows")
    save(figure, "ron-gauss")


def dprp() -> None:
    head, *rows = tables("dprp")[1][1]
    names = list(dict.fromkeys(row[0] for row in rows))
    figure, grid = plt.subplots(2, 4, figsize=(7.5, 4.6), sharey=True, layout="constrained")
    axes = grid.flat[: len(names)]
    for axis in grid.flat[len(names) :]:
        axis.axis("off")
    for axis, name in zip(axes, names, strict=True):
        mine = [row for row in rows if row[0] == name]
        epsilons = [number(row[1]) for row in mine]
        axis.plot(
            epsilons,
            [number(row[5]) for row in mine],
            marker="o",
            markersize=4,
            color=BLUE,
            label="here, sound",
        )
        axis.plot(
            epsilons, [number(row[6]) for row in mine], marker="s", markersize=4, color=SAND, label="printed"
        )
        axis.plot(epsilons, [number(row[8]) for row in mine], color=GREY, linestyle=":", label="chance")
        axis.set_title(name.replace("_", " ").replace("breast cancer ", "bc "), fontsize=8)
        axis.set_xlabel("epsilon")
    axes[0].set(ylim=(0, 1.02))
    for axis in grid[:, 0]:
        axis.set_ylabel("AUPRC")
    grid.flat[-1].legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=9, loc="center")
    assert head[5] == "AUPRC"
    save(figure, "dprp")


def bars(
    page: str, which: int, label: int | slice, values: dict[int, str], xlabel: str, *, log: bool = False
) -> None:
    _, *rows = tables(page)[which][1]
    rows = [row for row in rows if all(re.search(r"\d", row[column]) for column in values)]
    places = np.arange(len(rows))[::-1]
    figure, axis = plt.subplots(
        figsize=(7.5, 0.6 + 0.32 * len(rows) * max(1, len(values) * 0.7)), layout="constrained"
    )
    width = 0.8 / len(values)
    for turn, (column, name) in enumerate(values.items()):
        heights = [number(row[column]) for row in rows]
        colour = (BLUE, SAND, GREY)[turn]
        axis.barh(places - (turn - (len(values) - 1) / 2) * width, heights, width, color=colour, label=name)
    labels = [", ".join(row[label]) if isinstance(label, slice) else row[label] for row in rows]
    short = [textwrap.fill(textwrap.shorten(one, 90, placeholder=" ..."), 48) for one in labels]
    axis.set_yticks(places, short, fontsize=8)
    axis.set(xlabel=xlabel, xscale="log" if log else "linear")
    if len(values) > 1:
        axis.legend(frameon=False, fontsize=8, ncols=len(values), loc="lower center", bbox_to_anchor=(0.5, 1))
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, page)


def ablation() -> None:
    _, *rows = tables("ablation")[1][1]
    names = list(dict.fromkeys(row[0] for row in rows))
    figure, axis = plt.subplots(figsize=(7.5, 0.24 * len(names) + 0.8), layout="constrained")
    for place, name in enumerate(reversed(names)):
        for shift, row in zip((-0.18, 0.18), [row for row in rows if row[0] == name], strict=True):
            mean, spread = (float(part) for part in row[2].split(" ± "))
            axis.errorbar(
                mean, place + shift, xerr=spread, marker="o", markersize=3, color=BLUE, capsize=2, linewidth=1
            )
    axis.axvline(0, color=GREY, linewidth=0.8)
    axis.set_yticks(range(len(names)), list(reversed(names)), fontsize=8)
    axis.set_xlabel("mean score on large tables, difference to the chosen value (twice the standard error)")
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "ablation")


def limits() -> None:
    head, *rows = tables("limits")[0][1]
    figure, axis = plt.subplots(figsize=(7.5, 0.32 * len(rows) + 1), layout="constrained")
    places = np.arange(len(rows))[::-1]
    for column, (colour, mark) in {2: (GREY, "s"), 4: (SAND, "D"), 5: (BLUE, "o")}.items():
        axis.plot([number(row[column]) for row in rows], places, mark, color=colour, label=head[column])
    axis.set_yticks(places, [f"{row[0]}, {row[1]}" for row in rows], fontsize=8)
    axis.set_xlabel("score on real rows: AUROC, accuracy or R2")
    axis.grid(axis="y", linewidth=0.3)
    axis.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "limits")


def engines() -> None:
    rows = tables("engines")[0][1][1:]
    figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for engine, mark, colour in zip(
        dict.fromkeys(row[1] for row in rows), "os^D", (BLUE, SAND, GREY, "black"), strict=True
    ):
        some = [(number(row[0]), number(row[2])) for row in rows if row[1] == engine]
        axis.plot(*zip(*some, strict=True), marker=mark, color=colour, label=engine)
    axis.axhline(1.5, color="black", linestyle=":", label="aim, at most")
    axis.set(xscale="log", xlabel="million rows x 100 columns", ylabel="moments / bare loop", ylim=(0, 2))
    axis.set_xticks([1, 5, 20], ["1", "5", "20"])
    axis.minorticks_off()
    axis.legend(frameon=False, ncols=5, loc="upper center")
    save(figure, "engines")


def coverage() -> None:
    rows = tables("coverage")[0][1][1:]
    figure, axis = plt.subplots(figsize=(7, 0.32 * len(rows) + 0.8), layout="constrained")
    for place, row in enumerate(reversed(rows)):
        low, high = (float(part) for part in re.findall(r"[\d.]+", row[1]))
        axis.plot([low, high], [place, place], color=BLUE, linewidth=5, solid_capstyle="butt")
    axis.axvline(95, color=SAND, linestyle="--", label="nominal")
    axis.set_yticks(range(len(rows)), [row[0] for row in reversed(rows)], fontsize=8)
    axis.set(xlabel="% of intervals that held the truth, by the kind of release", xlim=(90, 100.3))
    axis.legend(frameon=False, fontsize=8, loc="upper left")
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "coverage")


def house() -> None:
    """What a reader of the code meets: counts of cycles, imports, literals and files."""
    rows = [row for row in tables("house")[0][1][1:] if 0 < number(row[1]) < 150 and number(row[2]) < 150]
    names = [row[0].replace("`", "") for row in rows]
    names = [
        name.replace("the same in the default method", "numeric literals in the default method")
        for name in names
    ]
    places = np.arange(len(rows))[::-1]
    figure, axis = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    for shift, column, colour, name in ((0.2, 1, BLUE, "before"), (-0.2, 2, SAND, "after")):
        counts = [number(row[column]) for row in rows]
        drawn = axis.barh(places + shift, counts, 0.4, color=colour, label=name)
        axis.bar_label(drawn, fontsize=7, padding=2)
    axis.set_yticks(places, names, fontsize=8)
    axis.set_xlabel("number")
    axis.legend(frameon=False, fontsize=8, loc="lower right")
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "house")


def first_version() -> None:
    _, *rows = tables("utility/first-version")[0][1]
    figure, axis = plt.subplots(figsize=(6.5, 3), layout="constrained")
    for tier, colour in (("quick", BLUE), ("full", SAND)):
        mine = [(number(row[1]), number(row[5])) for row in rows if row[0] == tier]
        axis.plot(*zip(*mine, strict=True), marker="o", color=colour, label=f"{tier} tier")
    axis.set(xscale="log", ylim=(0, None), xlabel="epsilon", ylabel="median distance from real rows")
    axis.set_xticks([0.25, 0.5, 1, 2, 4, 8, 100], ["0.25", "0.5", "1", "2", "4", "8", "100"])
    axis.minorticks_off()
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "utility/first-version")


def synthesizer() -> None:
    head, *rows = tables("utility/synthesizer")[0][1]
    places = np.arange(len(rows))[::-1]
    figure, axis = plt.subplots(figsize=(7.5, 0.26 * len(rows) + 0.9), layout="constrained")
    drawn = {"epsilon 1": ("o", BLUE), "epsilon 4": ("s", SAND), "real rows": ("|", "black")}
    for name, (mark, colour) in drawn.items():
        values = [number(row[head.index(name)]) for row in rows]
        axis.scatter(
            values, places, marker=mark, color=colour, s=70 if mark == "|" else 26, zorder=2, label=name
        )
    for place, row in zip(places, rows, strict=True):
        across = [number(row[head.index(name)]) for name in drawn]
        axis.hlines(place, min(across), max(across), color=GREY, linewidth=0.8, zorder=1)
    axis.set_yticks(places, [f"{row[0]} ({row[1]})" for row in rows], fontsize=8)
    axis.set(
        xlabel="score on real rows, mean of four learners (rows of the table in brackets)", xlim=(0, 1.02)
    )
    axis.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
    axis.spines[["top", "right"]].set_visible(False)
    save(figure, "utility/synthesizer")


def main() -> None:
    first_version()
    ron_gauss()
    dprp()
    ablation()
    limits()
    bars("row-streaming", 0, 0, {3: "seconds of processors"}, "seconds of processors, 10 million rows")
    bars(
        "robustness",
        3,
        0,
        {1: "our mutations", 2: "atheris", 3: "Hypothesis"},
        "inputs that were watched",
        log=True,
    )
    engines()
    synthesizer()
    bars("verdicts", 0, 0, {2: "measured", 1: "wanted"}, "% of columns")
    bars("journey", 0, 0, {2: "edits", 3: "processor seconds, init to release"}, "edits, seconds")
    bars("replay-pairs", 0, slice(0, 2), {5: "worst pair"}, "share of what is charged (1: all of it)")
    bars("baselines", 0, 0, {1: "logistic", 2: "SVM", 3: "forest"}, "AUROC on real rows, epsilon 1")
    coverage()
    house()
    bars("speed", 0, 0, {1: "measured", 2: "aim, at most"}, "in units of the bare loop (see the table)")


if __name__ == "__main__":
    main()
