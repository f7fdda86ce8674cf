"""Figures, with matplotlib from the `plot` extra: imported when one is drawn and not before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.errors import ParameterError
from gnomon.evaluation.measure import Measure

WIDTH, HEIGHT = 5.2, 3.8  # inches of one panel
LETTER, MARK = 0.052, 0.6  # inches of a letter in the legend, and of what stands before a label
MARKED = 8  # places on a logarithmic axis that are named each


def figure(
    panels: int = 1, *, rows: int = 1, width: float = WIDTH, height: float = HEIGHT
) -> tuple[Any, list[Any]]:
    """An empty figure and its axes, `panels` side by side in each of its rows."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ParameterError("Figures need matplotlib: pip install 'gnomon[plot]', then run again.") from None
    drawn = Figure(figsize=(width * panels, height * rows), layout="constrained")
    return drawn, list(drawn.subplots(rows, panels, squeeze=False).ravel())


def save(drawn: Any, folder: Path, *, dpi: int = 110) -> None:
    """figure.png and figure.svg, the same bytes for the same numbers."""
    from matplotlib import rc_context

    _explain(drawn)
    with rc_context({"svg.hashsalt": "gnomon"}):
        drawn.savefig(folder / "figure.png", dpi=dpi, metadata={"Software": None})
        drawn.savefig(folder / "figure.svg", metadata={"Date": None})


def _explain(drawn: Any) -> None:
    """One legend below all panels, where it covers no curve; a panel with a legend of its own keeps that."""
    known: dict[str, Any] = {}
    for axes in drawn.axes:
        if axes.get_legend() is None:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                known.setdefault(label, handle)
    if known:  # a run that was cut short may have measured none of them
        columns = max(1, int(drawn.get_figwidth() / (MARK + LETTER * max(map(len, known)))))
        drawn.legend(
            known.values(), known.keys(), loc="outside lower center", ncols=columns, fontsize=7, frameon=False
        )


@dataclass(frozen=True)
class Curve:
    """A line of a figure: measured values at x, with their intervals as bars."""

    label: str
    points: Sequence[tuple[float, Measure | None]]
    style: str = "o-"
    colour: str | None = None


def curves(axes: Any, drawn: Sequence[Curve], *, title: str, x: str, y: str, log: bool = False) -> None:
    """Curves with error bars on one panel."""
    for curve in drawn:
        known = [(at, measure) for at, measure in curve.points if measure is not None]
        if not known:
            continue
        ends = [measure.interval if len(measure.values) > 1 else None for _, measure in known]
        axes.errorbar(
            [at for at, _ in known],
            [measure.mean for _, measure in known],
            yerr=[0.0 if end is None else (end[1] - end[0]) / 2 for end in ends],
            fmt=curve.style,
            label=curve.label,
            color=curve.colour,
            markersize=3.5,
            linewidth=1.2,
            capsize=2,
        )
    axes.set(title=title, xlabel=x, ylabel=y)
    if log:
        axes.set_xscale("log")
        places = sorted({at for curve in drawn for at, _ in curve.points})
        if len(places) <= MARKED:
            axes.set_xticks(places, [f"{at:g}" for at in places])
            axes.set_xticks([], minor=True)
    axes.grid(alpha=0.25)
