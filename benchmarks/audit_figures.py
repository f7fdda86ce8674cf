"""The figures of the long audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

BLUE, RED, GREY = "#1f6f8b", "#b5403a", "#8a8a8a"
Lines = list[dict[str, Any]]


def _label(line: dict[str, Any]) -> str:
    epsilon, delta = line["claim"]
    name = line["attack"].replace(": all that comes out", "").replace("moment matrix of ", "")
    return (
        f"{name}, {line['pair']} ({epsilon:.3g}{f', {delta:g}' if delta else ''}; {line['runs'][-1]:,} runs)"
    )


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _bars(axes: Any, held: Lines, colour: str) -> None:
    for place, line in enumerate(held):
        epsilon = line["claim"][0]
        low, high = line["certain"][-1] / epsilon, line["epsilon"][-1] / epsilon
        axes.plot([low, high], [place, place], color=colour, linewidth=5, solid_capstyle="butt")
        axes.plot(high, place, "|", color=colour, markersize=12, markeredgewidth=2)
        if line["reach"] is not None:
            axes.plot(line["reach"] / epsilon, place, "D", color="black", markersize=4, fillstyle="none")
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_yticks(range(len(held)), [_label(line) for line in held], fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)


def bounds_figure(held: Lines, path: Path) -> None:
    """Sound claims: how much of the declared epsilon each attack proves is spent."""
    groups = [[line for line in held if line["group"] == group] for group in ("mechanism", "method")]
    figure = Figure(figsize=(11, 1.6 + 0.27 * sum(map(len, groups))), layout="constrained")
    axes = figure.subplots(2, 1, height_ratios=[max(1, len(group)) for group in groups])
    for axis, group, title in zip(axes, groups, ("mechanisms", "whole methods"), strict=True):
        _bars(axis, group, BLUE)
        axis.axvline(0.8, color=GREY, linestyle=":")
        axis.set_xlim(0, 1.05)
        axis.set_title(f"Sound {title}: lower bound over declared epsilon", fontsize=10, loc="left")
    ends = "left end of a bar: the bound with 99.9% confidence; right end: with 95%"
    axes[-1].set_xlabel(f"{ends}\ndiamond: what the pair costs by the proofs", fontsize=8)
    _save(figure, path)


def printed_figure(held: Lines, path: Path) -> None:
    """Printed claims: beyond one, the claim does not hold."""
    group = [line for line in held if line["group"] == "printed"]
    figure = Figure(figsize=(10, 1.4 + 0.3 * len(group)), layout="constrained")
    axes = figure.subplots()
    for place, line in enumerate(group):
        _bars_one(axes, place, line)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_yticks(range(len(group)), [_label(line) for line in group], fontsize=8)
    axes.invert_yaxis()
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlim(left=0)
    axes.set_xlabel(
        "lower bound over printed epsilon\nleft end: 99.9% confidence, right end: 95%; red: broken at 99.9%",
        fontsize=8,
    )
    _save(figure, path)


def _bars_one(axes: Any, place: int, line: dict[str, Any]) -> None:
    epsilon = line["claim"][0]
    ends = [line["certain"][-1] / epsilon, line["epsilon"][-1] / epsilon]
    colour = RED if line["broken"] else BLUE
    axes.plot(ends, [place, place], color=colour, linewidth=5, solid_capstyle="butt")
    axes.plot(ends[1], place, "|", color=colour, markersize=12, markeredgewidth=2)


def power_figure(held: Lines, path: Path) -> None:
    """How the bound grows with the runs: whole methods, and matrix Laplace beside what its law allows."""
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for line in held:
        if line["group"] == "method":
            share = [epsilon / line["claim"][0] for epsilon in line["epsilon"]]
            left.plot(line["runs"], share, ".-", linewidth=1, label=line["key"])
    by_key = {line["key"]: line for line in held}
    for place, name in enumerate(("2", "3", "5", "2 blocks", "3 blocks", "5 blocks")):
        colour = f"C{place}"
        label = name.replace(" blocks", ", label moves, by blocks")
        if f"law {name}" in by_key:
            curve = by_key[f"law {name}"]
            text = f"{label} (epsilon {curve['claim'][0]:g})"
            right.plot(curve["runs"], curve["share"], "--", color=colour, linewidth=1, label=text)
        if f"matrix {name}" in by_key:
            line = by_key[f"matrix {name}"]
            share = [epsilon / line["claim"][0] for epsilon in line["epsilon"]]
            right.plot(line["runs"], share, "o", color=colour, label=f"{label}, found")
    titles = ("Whole methods", "Matrix Laplace by coordinates: found (dots), expected by its law (dashed)")
    for axis, title in zip((left, right), titles, strict=True):
        axis.set_xscale("log")
        axis.axhline(1.0, color="black", linewidth=1)
        axis.axhline(0.8, color=GREY, linestyle=":")
        axis.set_title(title, fontsize=10, loc="left")
        axis.set_xlabel("runs per table")
        axis.grid(alpha=0.3)
    left.set_ylabel("95% lower bound over declared epsilon")
    left.set_ylim(0, 1.05)
    left.legend(fontsize=6, ncols=2)
    right.legend(fontsize=8, loc="lower right")
    _save(figure, path)
