"""Plots of the comparison: a small panel for each table, so that every method can be found by its colour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from comparison.methods import BASELINES, OURS, PEERS, REAL
from comparison.tables import TABLES

STYLES = {
    **{m: (f"C{i}", "o") for i, m in enumerate(OURS)},
    **{m: (f"C{i + 4}", "x") for i, m in enumerate(BASELINES)},
    **{m: (f"C{i}", "^") for i, m in enumerate(PEERS)},
}
SHOWN = ("pca-gauss", "ron-gauss", "dprp", "modips", *(m for m in PEERS if PEERS[m].releases))


def _panels(count: int, height: float = 2.6) -> tuple[Any, list[Any]]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    wide = 4
    deep = -(-count // wide)
    figure, axes = plt.subplots(deep, wide, figsize=(13, height * deep), squeeze=False)
    flat = [axis for row in axes for axis in row]
    for axis in flat[count:]:
        axis.set_axis_off()
    return figure, flat[:count]


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=90, bbox_inches="tight")
    plt.close(figure)


def utility_plot(found: Any, path: Path) -> None:
    """One bar a method at epsilon 1, sorted, with the real rows and the floor as lines."""
    figure, axes = _panels(len(found.tables), 3.6)
    for axis, table in zip(axes, found.tables, strict=True):
        scores = {m: found.score(table, m, 1.0) for m in (*OURS, *BASELINES, *PEERS)}
        ranked = sorted(((s, m) for m, s in scores.items() if s is not None))
        colours = ["C0" if m in OURS else "C7" if m in BASELINES else "C1" for _, m in ranked]
        left = -0.2 if found.metric(table) == "R2" else 0.0
        values = [max(s, left) - left for s, _ in ranked]
        axis.barh([m for _, m in ranked], values, left=left, color=colours, height=0.7)
        axis.axvline(found.score(table, REAL, 0.0), color="black", linewidth=1)
        axis.axvline(found.floor(table, found.metric(table)), color="black", linewidth=1, linestyle=":")
        axis.set_xlim(left, 1.0)
        axis.tick_params(labelsize=7)
        axis.set_title(f"{TABLES[table].title} ({found.metric(table)})", fontsize=9)
    figure.suptitle(
        "Epsilon 1. Blue: gnomon; grey: compared methods; orange: peers. Line: real rows; dotted: no rows.",
        fontsize=11,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.985))
    _save(figure, path)


def budgets_plot(found: Any, path: Path) -> None:
    """Utility against epsilon of the model releases and the peers that finished."""
    figure, axes = _panels(len(found.tables))
    known: dict[str, Any] = {}
    for axis, table in zip(axes, found.tables, strict=True):
        for method in SHOWN:
            points = [(e, found.score(table, method, e)) for e in (0.5, 1.0, 4.0)]
            points = [(e, s) for e, s in points if s is not None]
            if points:
                colour, marker = STYLES[method]
                dashes = "--" if method in PEERS else "-"
                x, y = zip(*points, strict=True)
                lines = axis.plot(
                    x, y, color=colour, marker=marker, linestyle=dashes, markersize=4, linewidth=1
                )
                known[method] = lines[0]
        axis.axhline(found.score(table, REAL, 0.0), color="black", linewidth=0.8)
        axis.set_xscale("log", base=2)
        axis.set_xticks([0.5, 1, 4], ["0.5", "1", "4"])
        axis.set_xlim(0.45, 4.4)
        axis.set_ylim(bottom=max(axis.get_ylim()[0], -0.3))
        axis.tick_params(labelsize=7)
        axis.set_title(f"{TABLES[table].title} ({found.metric(table)})", fontsize=9)
    figure.legend(known.values(), known.keys(), loc="lower right", ncols=4, fontsize=8)
    figure.suptitle("Utility against epsilon; black: real rows; dashed: peers", fontsize=11)
    figure.tight_layout(rect=(0, 0.01, 1, 0.98))
    _save(figure, path)


def cost_plot(found: Any, path: Path) -> None:
    """Seconds of processor time and peak memory at epsilon 1, by table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13, 5.5), sharey=True)
    titles = [TABLES[table].title for table in found.tables]
    for axis, what, name in zip(
        axes, ("cpu", "peak_mb"), ("CPU seconds, fit + sample", "peak MB"), strict=True
    ):
        for method in (*OURS, *BASELINES, *PEERS):
            points = [(found.average(t, method, 1.0, what), i) for i, t in enumerate(found.tables)]
            points = [(max(v, 1e-2), i) for v, i in points if v is not None]
            if points:
                colour, marker = STYLES[method]
                x, y = zip(*points, strict=True)
                axis.scatter(x, y, color=colour, marker=marker, s=28, label=method)
            stopped = [
                (line[what], i)
                for i, t in enumerate(found.tables)
                for line in found.exceeded(t, method)
                if what in line
            ]
            for used, i in stopped:
                axis.scatter(
                    [used],
                    [i],
                    edgecolors=STYLES[method][0],
                    facecolors="none",
                    marker=STYLES[method][1],
                    s=45,
                )
        axis.set_xscale("log")
        axis.set_xlabel(name)
        axis.grid(alpha=0.3)
        if what == "peak_mb":
            axis.set_xticks([250, 500, 1000, 2000, 4000], ["250", "500", "1,000", "2,000", "4,000"])
            axis.minorticks_off()
        axis.set_yticks(range(len(titles)), titles, fontsize=8)
    axes[0].invert_yaxis()
    axes[0].axvline(600, color="black", linestyle=":", linewidth=1)
    axes[0].scatter([], [], edgecolors="black", facecolors="none", s=45, label="hollow: stopped")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="center right", fontsize=8)
    figure.tight_layout(rect=(0, 0, 0.86, 1))
    _save(figure, path)
