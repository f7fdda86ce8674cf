"""The custodian's page: what the release is worth, in tables and small pictures; self-contained."""

from __future__ import annotations

import math
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gnomon.evaluation import fidelity
from gnomon.evaluation.closest import WARNING
from gnomon.evaluation.measure import Measure

WIDTH = 240
NAMES = {"release": "release", "mapped": "real, mapped", "real": "real", "floor": "floor"}
FIRST = {
    "classification": ("logistic", "accuracy"),
    "regression": ("ridge", "RMSE"),
    "clustering": ("K-means", "silhouette on real rows"),
}


def evaluation_page(found: Any, stamp: str, sides: dict[str, str]) -> str:
    """An evaluation as an HTML page without scripts and with nothing from elsewhere."""
    pages = Environment(
        loader=PackageLoader("gnomon", "evaluation"), autoescape=True, undefined=StrictUndefined
    )
    certificate = found.published.certificate
    within = (0.0, 1.0) if found.task == "classification" else (-math.inf, math.inf)
    return pages.get_template("page.html").render(
        stamp=stamp,
        title=certificate.table,
        method=certificate.method,
        epsilon="∞" if math.isinf(certificate.privacy.epsilon) else f"{certificate.privacy.epsilon:g}",
        delta=f"{certificate.privacy.delta:g}",
        holds=certificate.holds,
        task=found.task,
        summary=summary(found),
        worst=[(column.name, f"{column.distance:.2f}", bars(column)) for column in found.worst],
        utility=[
            (model, [row(metric, sides, within) for metric, sides in metrics.items()])
            for model, metrics in found.utility.items()
        ],
        fidelity=[row(metric, sides, (0.0, math.inf)) for metric, sides in found.fidelity.items()],
        meanings=fidelity.METRICS,
        script=[row(metric, sides) for metric, sides in found.script.items()],
        closest=[(name, number(measure.mean)) for name, measure in found.closest.items()],
        closest_warning=WARNING,
        membership=found.membership,
        percent=lambda share: f"{100 * share:.1f}%",
        notes=found.notes,
        sides=sides,
        names=NAMES,
        counts={name: f"{count:,}" for name, count in found.counts.items()},
    )


RARE = 0.2  # a class with a smaller share of the test rows: guessing the others is right too often to compare with


def summary(found: Any) -> str:
    """The first thing to know, in one sentence; where a class is rare, classes count equally."""
    if found.rarest is not None and found.rarest < RARE:
        return _balanced(found.utility["logistic"], found.rarest)
    model, metric = FIRST[found.task]
    sides = found.utility[model][metric]
    what = {
        "classification": "A logistic regression trained on the release is right on {} of real rows",
        "regression": "A ridge regression trained on the release predicts real rows with a root mean squared error of {}",
        "clustering": "Clusters found in the release separate real rows with a silhouette of {}",
    }[found.task]
    shown = _share if found.task == "classification" else number
    return (
        what.format(shown(sides["release"].mean))
        + f". From the real rows it is {shown(sides['real'].mean)}, and without looking at the row "
        f"{shown(sides['floor'].mean)}."
    )


def _balanced(logistic: dict[str, dict[str, Measure]], rarest: float) -> str:
    right, auroc = logistic["balanced accuracy"], logistic["AUROC"]
    return (
        f"A logistic regression trained on the release is right on {_share(right['release'].mean)} of real rows, classes "
        f"weighted equally, with an AUROC of {auroc['release'].mean:.2f}. From the real rows it is "
        f"{_share(right['real'].mean)} and {auroc['real'].mean:.2f}, and without looking at the row "
        f"{_share(right['floor'].mean)} and 0.50. (The rarest class has {rarest:.1%} of the rows.)"
    )


def worst_sentence(found: Any) -> str | None:
    """Which columns are farthest from the real ones."""
    if not found.columns:
        return None
    if not found.worst:
        return "No column is far from the real one: every total variation distance is below 0.1."
    named = ", ".join(f"{column.name} ({column.distance:.2f})" for column in found.worst)
    return (
        f"The worst columns, by total variation distance from the real ones (0 equal, 1 disjoint): {named}."
    )


def bars(column: Any) -> Markup:
    """The shares of a column's bins, real beside released."""
    n, top = len(column.labels), max((*column.real, *column.released, 1e-9))
    step = (WIDTH - 8) / n
    marks = Markup("")
    for i, label in enumerate(column.labels):
        for j, (side, shares) in enumerate((("real", column.real), ("release", column.released))):
            x, height = 4 + (i + 0.45 * j) * step, 60 * shares[i] / top
            marks += Markup(
                '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}: {}</title></rect>'
            ).format(side, x, 64 - height, step * 0.42, height, label, _share(shares[i]))
    words = "; ".join(
        f"{label} {_share(a)} real, {_share(b)} released"
        for label, a, b in zip(column.labels, column.real, column.released, strict=True)
        if label
    )
    return Markup('<svg class="bars" viewBox="0 0 {} 66" role="img" aria-label="{}: {}">{}</svg>').format(
        WIDTH, column.name, words, marks
    )


def _share(value: float) -> str:
    return f"{100 * value:.1f}%"


def row(
    metric: str, sides: dict[str, Measure], within: tuple[float, float] = (-math.inf, math.inf)
) -> dict[str, Any]:
    """One line of a table: every side's mean and interval (within what the metric can be), and a picture of them."""
    cells = {side: cell(sides[side], within) if side in sides else ("", "") for side in NAMES}
    return {"metric": metric, "cells": cells, "picture": picture(metric, sides)}


def cell(measure: Measure, within: tuple[float, float]) -> tuple[str, str]:
    interval = measure.interval
    if interval is None:
        return number(measure.mean), ""
    low, high = max(interval[0], within[0]), min(interval[1], within[1])
    spread = f"{number(low)} to {number(high)}"
    return number(measure.mean), spread


def number(value: float) -> str:
    """Three or four figures, without powers of ten where they can be avoided."""
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return f"{value:.2e}"


def picture(metric: str, sides: dict[str, Measure]) -> Markup:
    """Means as marks and intervals as lines on one axis, from the smallest to the largest of them."""
    ends = [end for m in sides.values() for end in (m.mean, *(m.interval or ()))]
    low, high = min(ends), max(ends)
    room = (high - low) or 1.0

    def x(value: float) -> float:
        return float(8 + (WIDTH - 16) * (value - low) / room)

    marks = Markup("")
    for place, (side, measure) in enumerate(sides.items()):
        y = 7 + 6 * place
        if measure.interval is not None:
            marks += Markup('<line class="{0}" x1="{1:.1f}" x2="{2:.1f}" y1="{3}" y2="{3}"/>').format(
                side, x(measure.interval[0]), x(measure.interval[1]), y
            )
        marks += Markup('<circle class="{}" cx="{:.1f}" cy="{}" r="3"/>').format(side, x(measure.mean), y)
    words = ", ".join(f"{NAMES[side]} {number(measure.mean)}" for side, measure in sides.items())
    return Markup('<svg viewBox="0 0 {} 32" role="img" aria-label="{}: {}">{}</svg>').format(
        WIDTH, metric, words, marks
    )
