"""The figure of the papers' summary: eight claims in their own units, from the trials that are kept.

    python benchmarks/reproduced_figure.py

Writes docs/results/reproduce.png. A panel has what the paper prints, ours with its printed noise, ours sound and the
synthesizer at the same guarantee, with 95% intervals over trials; lines are real rows and what needs no features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from reproduced import RESULTS, numbers

from gnomon.evaluation.measure import Measure
from gnomon.reproduce import dprp_printed as printed

NAMES = ("printed in the paper", "printed noise", "sound", "synthesizer")
COLOURS = ("black", "#b5403a", "#1f6f8b", "#d08a1d")
LOGARITHMS = "RMSE, logarithms of counts"


@dataclass(frozen=True)
class Panel:
    """A claim: the printed value, then ours with printed noise, sound and by the synthesizer; None where there is none."""

    title: str
    axis: str
    printed: float | None
    ours: tuple[Measure | None, Measure | None, Measure | None]
    real: float | None
    floor: tuple[str, float] | None
    better: str = "right"


def best(name: str, row: str, column: str, calibration: str, smallest: bool = False) -> Measure:
    """The best mean of a sweep, as the papers report it."""
    known = numbers(name, row, column, calibration)
    return (min if smallest else max)(known.values(), key=lambda measure: measure.mean)


def one(name: str, row: str, column: str, calibration: str, part: str = "") -> Measure:
    return numbers(name, row, column, calibration)[part]


def over_tables(after: str, column: str, calibration: str) -> Measure:
    """Accuracy over DPRP's seven tables, averaged in every trial that all of them have."""
    tables = [
        one("dprp-table2", f"{name}{after}", column, calibration, "accuracy").values
        for name in printed.NAMES.values()
    ]
    trials = min(map(len, tables))
    means = np.mean([np.ravel(of)[:trials] for of in tables], axis=0)
    return Measure(tuple((float(value),) for value in means))


def gauss() -> list[Panel]:
    """RON-Gauss and PCA-Gauss at epsilon 1."""
    t3, t4, t5, p3, p4 = (
        "ron-gauss-table3",
        "ron-gauss-table4",
        "ron-gauss-table5",
        "pca-gauss-table3",
        "pca-gauss-table4",
    )
    real, accuracy = "silhouette on real rows", "accuracy, %"
    found = [
        Panel(
            "RON-Gauss Table 3: clusters of faces",
            "silhouette on real rows",
            None,
            (
                best(t3, "RON-Gauss", real, "paper"),
                best(t3, "RON-Gauss", real, "sound"),
                one(t3, "Synthesizer", real, "sound"),
            ),
            one(t3, "real data", real, "none").mean,
            None,
        )
    ]
    for title, name, rows, value in (
        ("RON-Gauss Table 4", t4, ("RON-Gauss", "RON-Gauss"), 87.16),
        ("PCA-Gauss Table III", p3, ("PCA-Gauss, Pub-PCA", "PCA-Gauss, Pub-PCA"), 76.36),
    ):
        found.append(
            Panel(
                f"{title}: movements, SVM",
                "accuracy, % (the paper's is of another table)",
                value,
                (
                    best(name, rows[0], accuracy, "paper"),
                    best(name, rows[1], accuracy, "sound"),
                    one(name, "Synthesizer", accuracy, "sound"),
                ),
                one(name, "real data", accuracy, "none").mean,
                ("more frequent class", one(name, "majority class", accuracy, "none").mean),
            )
        )
    for title, name, row in (
        ("RON-Gauss Table 5", t5, "RON-Gauss"),
        ("PCA-Gauss Table IV", p4, "PCA-Gauss, Pub-PCA"),
    ):
        found.append(
            Panel(
                f"{title}: activity",
                "RMSE of logarithms",
                None,
                (
                    best(name, row, LOGARITHMS, "paper", smallest=True),
                    best(name, row, LOGARITHMS, "sound", smallest=True),
                    one(name, "Synthesizer", LOGARITHMS, "sound"),
                ),
                one(name, "real data", LOGARITHMS, "none").mean,
                ("a constant", one(name, "mean of the targets", LOGARITHMS, "none").mean),
                better="left",
            )
        )
    return found


def others() -> list[Panel]:
    """JL + Laplace at epsilon 4, DPPro and DPRP."""
    table1, figure4, place = "jl-laplace-table1", "dppro-figure4", "d=10, k=3"
    constrained = "constrained least squares"
    floors = [
        one("dprp-table2", name, "no privacy", "none", "most frequent class, accuracy").mean
        for name in printed.NAMES.values()
    ]
    at = printed.EPSILONS.index(4)
    return [
        Panel(
            "JL + Laplace Table 1: (10, 3), sound for any record",
            "accuracy of two-means",
            0.91,
            (
                one(table1, "element-wise, neighbours within 1", place, "paper"),
                one(table1, "row-wise, any record", place, "sound"),
                one(table1, "Synthesizer, any record", place, "sound"),
            ),
            None,
            ("rows that say nothing", 0.51),
        ),
        Panel(
            "DPPro Figure 4: marginals of Adult, epsilon 1",
            "total variation (k = 100)",
            None,
            (
                one(figure4, "Adult, k=100", "epsilon 1", "paper", constrained),
                one(figure4, "Adult, k=100", "epsilon 1", "sound", constrained),
                one(figure4, "Adult, Synthesizer", "epsilon 1", "sound"),
            ),
            None,
            ("all values alike", one(figure4, "Adult, all values equally frequent", "", "none").mean),
            better="left",
        ),
        Panel(
            "DPRP Table 2: seven small tables, epsilon 4",
            "mean accuracy of a forest",
            float(np.mean([printed.DPRP[folder][at][0] for folder in printed.NAMES])),
            (
                over_tables("", "epsilon 4", "paper"),
                over_tables("", "epsilon 4", "sound"),
                over_tables(", synthesizer", "epsilon 4", "sound"),
            ),
            float(
                np.mean(
                    [
                        one("dprp-table2", n, "no privacy", "none", "accuracy").mean
                        for n in printed.NAMES.values()
                    ]
                )
            ),
            ("most frequent class", float(np.mean(floors))),
        ),
    ]


def drawn(axes: Any, panel: Panel) -> None:
    values = [None if panel.printed is None else Measure(((panel.printed,),)), *panel.ours]
    for place, (measure, colour) in enumerate(zip(values, COLOURS, strict=True)):
        if measure is None:
            axes.text(0.02, place, "no value", transform=axes.get_yaxis_transform(), va="center", fontsize=7)
            continue
        interval = measure.interval if len(measure.values) > 1 else None
        half = 0.0 if interval is None else (interval[1] - interval[0]) / 2
        mark = "D" if place == 0 else "o"
        axes.errorbar(measure.mean, place, xerr=half or None, fmt=mark, color=colour, capsize=3, markersize=6)
        many = "" if place == 0 else f" ({len(measure.values)})"
        axes.annotate(
            f"{measure.mean:.3g}{many}",
            (measure.mean, place),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=7,
        )
    if panel.real is not None:
        axes.axvline(panel.real, color="#3a7d44", linestyle="--", linewidth=1.2)
    if panel.floor is not None:
        axes.axvline(panel.floor[1], color="#8a8a8a", linestyle=":", linewidth=1.4)
    axes.set_yticks(range(len(NAMES)), NAMES, fontsize=8)
    axes.set_ylim(len(NAMES) - 0.2, -0.7)
    axes.margins(x=0.15)
    if panel.floor is not None:  # named on the side with more room
        side = "right" if panel.floor[1] > sum(axes.get_xlim()) / 2 else "left"
        style = {"fontsize": 7, "color": "#5a5a5a", "va": "bottom", "ha": side}
        axes.text(panel.floor[1], 3.62, f" {panel.floor[0]} ", **style)
    axes.set_title(panel.title, fontsize=9, loc="left")
    axes.set_xlabel(f"{panel.axis}; better to the {panel.better}", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(axis="x", alpha=0.25)


def main() -> None:
    panels = [*gauss(), *others()]
    figure = Figure(figsize=(13, 10), layout="constrained")
    for axes, panel in zip(figure.subplots(4, 2).ravel(), panels, strict=True):
        drawn(axes, panel)
    figure.suptitle(
        "Dots with 95% intervals over trials (their number in brackets); green dashes: real rows", fontsize=10
    )
    figure.savefig(RESULTS / "reproduce.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
