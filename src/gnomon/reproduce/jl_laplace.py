"""The experiments of JL + Laplace (Dhaliwal et al.): two Gaussian clusters through a noisy random projection.

The paper promises epsilon = 4 for neighbours whose difference has norm 1 at most, on clusters that nothing bounds. Here
cells lie in [-CELL, CELL] and rows in a ball, so any change of a cell is 2 CELL long at most, and the same noise is what
JlLaplace adds at an epsilon that many times larger: "neighbours within 1" declares that one. The lines of "any cell" and
"any record" have epsilon = 4 for everything a person's cell or row may be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from gnomon.methods import METHODS
from gnomon.methods.charging import unaccounted
from gnomon.methods.jl_laplace import JlLaplace
from gnomon.projection.gaussian import gaussian
from gnomon.release.analyst.rows import Law
from gnomon.reproduce import plot
from gnomon.reproduce.experiment import Calibration, Cell, Experiment, Numbers
from gnomon.reproduce.results import Results
from gnomon.statistics.grid import Matrix

PAPER = (
    'Dhaliwal, So, Parker-Wood, Beck, "Utility Preserving Secure Private Data Release", 2019 (JL + Laplace)'
)
EPSILON, APART = 4.0, 4.0  # the paper's, and the distance of its two centres
ROWS = 1000  # the paper does not say how many
PAIRS = 1000
DRAWN = 20  # trials in a histogram
CELL = 8.0  # six deviations beyond a centre
SHAPES = ((3, 2), (10, 3), (50, 10), (100, 20))  # (d, k) of Table 1
PRINTED = {
    "none": (0.9783, 0.9772, 0.9771, 0.9797),
    "attribute": (0.9441, 0.9082, 0.6954, 0.6927),
    "row": (0.9477, 0.909, 0.6796, 0.6668),
}
UNITS = {"attribute": "element-wise", "row": "row-wise"}
WHOLE = {"attribute": "any cell", "row": "any record"}
CALIBRATIONS: tuple[Calibration, ...] = ("paper", "sound")
COMPONENTS = (1, 2, 3, 5, 10, 20, 50, 100)  # of Figure 4
ADJACENCY = (
    "The paper's neighbours differ by 1 at most, which is no promise to a person whose cell may lie anywhere. The noise of "
    f"*neighbours within 1* protects a whole cell (width {2 * CELL:g}) or record at {2 * CELL:g} or more times epsilon = 4."
)
THRESHOLD = (
    "Row-wise, the paper does not print its t; the noise here has t at the threshold of Theorem 5, which fits the order of "
    "its figures and where the theorem's delta is 1."
)

NO_RECORDS = "The synthesizer releases a model and no records, so it has no line here."


def blobs(d: int, rows: int, seed: int) -> tuple[Matrix, Matrix]:
    """Two clusters of unit variance around +-2 in a random direction, and which one each row is of."""
    direction = np.random.default_rng([7, seed]).standard_normal(d)
    centre = APART / 2 * direction / np.linalg.norm(direction)
    X, y = make_blobs(rows, centers=np.array([centre, -centre]), cluster_std=1.0, random_state=seed)
    return X, y


def ball(d: int) -> float:
    """Rows are clipped to this length, which touches about none of them: it is six beyond the typical one."""
    return math.sqrt(d) + 6.0


def release(
    X: Matrix, k: int, unit: str, calibration: str, trial: int, *, whole: bool = False, secret: bool = False
) -> JlLaplace:
    """Algorithm 1, for neighbours within 1 or (`whole`) for any change of a cell or record; P is published, or `secret`."""
    d = X.shape[1]
    widest = 2 * CELL if unit == "attribute" else 2 * ball(d)
    method = JlLaplace(
        EPSILON if whole else EPSILON * widest,
        bounds=(-CELL, CELL),
        n_components=k,
        unit=unit,
        radius=None if unit == "attribute" else ball(d) / CELL,
        calibration=calibration,
        order="kept",  # records are compared with their rows
        publish_projection=not secret,
        random_state=trial,
    )
    method.fit(X, charge=unaccounted)
    return method


def clustered(X: Matrix, y: Matrix, seed: int) -> float:
    """The share of rows that two-means puts with their own."""
    same = float(np.mean(KMeans(2, n_init=10, random_state=seed).fit_predict(X) == y))
    return max(same, 1 - same)


def accuracy(d: int, k: int, unit: str, calibration: str, whole: bool, trial: int) -> float:
    X, y = blobs(d, ROWS, trial)
    if unit == "none":
        return clustered(X, y, trial)
    return clustered(release(X, k, unit, calibration, trial, whole=whole).components(), y, trial)


def beside(d: int, trial: int) -> float:
    """Two-means on rows of the synthesizer at epsilon = 4 for any record; its centres then name the real rows."""
    X, y = blobs(d, ROWS, trial)
    made = METHODS["synthesizer"](EPSILON, bounds=(-CELL, CELL), random_state=trial).fit(
        X, charge=unaccounted
    )
    found = KMeans(2, n_init=10, random_state=trial).fit(np.asarray(made.sample(ROWS))).predict(X)
    same = float(np.mean(found == y))
    return max(same, 1 - same)


def table1(data: Path) -> list[Cell]:
    found = []
    for place, (d, k) in enumerate(SHAPES):
        lines: list[tuple[str, str, Calibration, bool]] = [("no privacy", "none", "none", False)]
        for unit, name in UNITS.items():
            lines += [
                (f"{name}, neighbours within 1", unit, calibration, False) for calibration in CALIBRATIONS
            ]
            lines.append((f"{name}, {WHOLE[unit]}", unit, "sound", True))
        for row, unit, calibration, whole in lines:
            printed = None if whole else PRINTED[unit][place]
            run = partial(accuracy, d, k, unit, calibration, whole)
            found.append(Cell(row, f"d={d}, k={k}", calibration, printed, "generated", run))
        own = partial(beside, d)
        found.append(Cell("Synthesizer, any record", f"d={d}, k={k}", "sound", None, "generated", own))
    return found


def shape(X: Matrix, y: Matrix) -> dict[str, float]:
    """How far apart the clusters are, in deviations along the line that tells them apart, and how long they are drawn."""
    parts = [X[y == c] for c in (0, 1)]
    within = sum(np.cov(part.T) * len(part) for part in parts) / len(X)
    between = parts[0].mean(axis=0) - parts[1].mean(axis=0)
    values = np.linalg.eigvalsh(within)
    return {
        "separation": float(np.sqrt(between @ np.linalg.solve(within, between))),
        "longest over shortest axis": float(np.sqrt(values[-1] / values[0])),
    }


def drawn_out(unit: str, calibration: str, trial: int) -> Numbers:
    X, y = blobs(3, ROWS, trial)
    return shape(X if unit == "none" else release(X, 2, unit, calibration, trial).components(), y)


def figure1(data: Path) -> list[Cell]:
    before = partial(drawn_out, "none", "none")
    return [Cell("the rows in 3 dimensions", "", "none", None, "generated", before)]


def draw1(results: Results, folder: Path) -> None:
    X, y = blobs(3, ROWS, 0)
    drawn = plot.figure()[0]
    drawn.clear()
    axes = drawn.add_subplot(projection="3d")
    for c, colour in ((0, "tab:blue"), (1, "tab:orange")):
        axes.scatter(*X[y == c].T, s=4, alpha=0.5, color=colour, linewidths=0)
    axes.set_title("the original rows, two clusters", fontsize=9)
    plot.save(drawn, folder)


def figure2(data: Path) -> list[Cell]:
    before = partial(drawn_out, "none", "none")
    return [
        Cell("the rows in 3 dimensions", "", "none", None, "generated", before),
        *of_units(drawn_out, ", 2 dimensions", ""),
    ]


def of_units(
    run: Callable[[str, str, int], Numbers],
    row: str,
    column: str,
    printed: Mapping[str, Mapping[str, float]] | None = None,
) -> list[Cell]:
    """A cell for each unit and calibration."""
    return [
        Cell(
            name + row,
            column,
            calibration,
            None if printed is None else printed[unit],
            "generated",
            partial(run, unit, calibration),
        )
        for unit, name in UNITS.items()
        for calibration in CALIBRATIONS
    ]


def draw2(results: Results, folder: Path) -> None:
    """One release of each kind; its noise is new each time that the figure is drawn."""
    X, y = blobs(3, ROWS, 0)
    drawn, axes = plot.figure(4, width=3.4, height=3.6)
    scatter(axes[0], X[:, :2], y, "before (two of three coordinates)")
    for panel, (unit, calibration) in zip(
        axes[1:], (("attribute", "paper"), ("row", "paper"), ("row", "sound")), strict=True
    ):
        seen = release(X, 2, unit, calibration, 0).components() * CELL
        scatter(panel, seen, y, f"{UNITS[unit]}, {'as printed' if calibration == 'paper' else 'sound'}")
    plot.save(drawn, folder)


def scatter(axes: Any, X: Matrix, y: Matrix, title: str) -> None:
    for c, colour in ((0, "tab:blue"), (1, "tab:orange")):
        axes.scatter(*X[y == c].T, s=4, alpha=0.5, color=colour, linewidths=0)
    axes.set(title=title, aspect="equal", adjustable="datalim")
    axes.title.set_fontsize(9)
    axes.grid(alpha=0.25)


def recovered(unit: str, calibration: str, trial: int) -> tuple[Matrix, Matrix, float]:
    """Errors of the recovered squared distances of PAIRS pairs, the distances, and the noise's deviation.

    As in the paper every pair meets a projection of its own: what the noise adds comes from a release, and how a
    projection stretches the pair from a fresh matrix (one release has one matrix, which would stretch all pairs alike).
    """
    X, _ = blobs(3, 2 * PAIRS, 0)  # the same pairs every time, as in the paper
    method = release(X, 2, unit, calibration, trial)
    first, second = np.arange(PAIRS), np.arange(PAIRS, 2 * PAIRS)
    difference = X[first] - X[second]
    true = np.sum(difference**2, axis=1)
    projected = np.sum((difference @ method.projection_) ** 2, axis=1)
    noise = method.distances(first, second).value * CELL**2 - projected
    fresh = gaussian(3, 2 * PAIRS, np.random.default_rng([11, trial])) * math.sqrt(PAIRS)
    stretched = np.einsum("pd,dpk->pk", difference, fresh.reshape(3, PAIRS, 2))
    return noise + np.sum(stretched**2, axis=1) - true, true, method.noise_std_ * CELL


def distance_errors(unit: str, calibration: str, trial: int) -> dict[str, float]:
    errors, true, noise = recovered(unit, calibration, trial)
    s2, k = noise**2, 2
    printed = 2 / k * true**2 + 2 * k * (7 * s2**2 - s2) + 4 * s2 * true  # Claim 7
    return {
        "mean error": float(np.mean(errors)),
        "mean true distance": float(np.mean(true)),
        "variance": float(np.mean(errors**2)),
        "variance by Claim 7": float(np.mean(printed)),
        "variance, Claim 7 corrected": float(
            np.mean(Law(s2**0.5, JlLaplace.fourth, 2 / k).variance(true, k))
        ),
    }


def figure3(data: Path) -> list[Cell]:
    printed = {"attribute": {"mean error": 0.006}, "row": {"mean error": -0.011}}
    return of_units(distance_errors, ", neighbours within 1", "", printed)


def draw3(results: Results, folder: Path) -> None:
    """Histograms of the errors of some trials' pairs."""
    drawn, axes = plot.figure(2, width=4.6, height=3.4)
    for panel, (unit, name) in zip(axes, UNITS.items(), strict=True):
        for calibration in CALIBRATIONS:
            errors = np.concatenate([recovered(unit, calibration, trial)[0] for trial in range(DRAWN)])
            measured = results.measure(f"{name}, neighbours within 1", "", calibration, "mean error")
            mean = "" if measured is None else f", mean {measured.mean:.3f}"
            label = ("as printed" if calibration == "paper" else "sound") + mean
            panel.hist(
                errors, bins=np.linspace(-60, 60, 81).tolist(), histtype="step", density=True, label=label
            )
        panel.set(title=name, xlabel="recovered minus true squared distance", ylabel="density")
        panel.legend(fontsize=8)
    plot.save(drawn, folder)


def spread(unit: str, calibration: str, trial: int) -> dict[str, float]:
    """sqrt(1 + 2 b^2) for clusters of variance 1 in 100 dimensions and noise of scale b."""
    X, _ = blobs(100, 2, trial)
    noise = {k: release(X, k, unit, calibration, trial).noise_std_ * CELL for k in COMPONENTS}
    return {f"k={k}": math.hypot(1.0, std) for k, std in noise.items()}


def figure4(data: Path) -> list[Cell]:
    return of_units(spread, "", "sqrt(1 + 2b^2)")


def draw4(results: Results, folder: Path) -> None:
    drawn, axes = plot.figure()
    lines = [
        plot.Curve(
            f"{name}, {'as printed' if calibration == 'paper' else 'sound'}",
            [(k, results.measure(name, "sqrt(1 + 2b^2)", calibration, f"k={k}")) for k in COMPONENTS],
            "o-" if calibration == "paper" else "s--",
        )
        for name in UNITS.values()
        for calibration in CALIBRATIONS
    ]
    plot.curves(
        axes[0],
        lines,
        title="d = 100, epsilon = 4, neighbours within 1",
        x="k",
        y="standard deviation",
        log=True,
    )
    plot.save(drawn, folder)


EXPERIMENTS = (
    Experiment(
        "jl-laplace-table1",
        PAPER,
        "accuracy of two-means on the release",
        "clustering works well for a small k and deteriorates as k grows.",
        50,
        (),
        table1,
        notes=(
            f"{ROWS} rows a trial; the paper says neither how many rows nor how many runs it took (50 is our number).",
            ADJACENCY,
            THRESHOLD,
            "Two-means on rows that say nothing reaches about 0.51, because the better of two namings counts.",
            "*Synthesizer* has epsilon = 4 for any record: two-means finds its centres among released rows, and these name "
            "the real ones.",
        ),
    ),
    Experiment(
        "jl-laplace-figure1",
        PAPER,
        "the clusters before a release",
        "the original rows in 3 dimensions are two clusters.",
        1,
        (),
        figure1,
        notes=("*separation* as in jl-laplace-figure2; the paper shows one scatter plot and no number.",),
        draw=draw1,
    ),
    Experiment(
        "jl-laplace-figure2",
        PAPER,
        "the clusters before and after",
        "the mechanisms turn the spherical clusters into ellipses and keep them separate.",
        50,
        (),
        figure2,
        notes=(
            "*separation* is the distance of the cluster means in deviations along the line that tells them apart; the "
            "paper shows one scatter plot of each and no number.",
            ADJACENCY,
            NO_RECORDS,
        ),
        draw=draw2,
    ),
    Experiment(
        "jl-laplace-figure3",
        PAPER,
        "recovered minus true squared distance",
        "the squared distances are recovered in expectation (one run: means 0.006 and -0.011).",
        1000,
        (),
        figure3,
        notes=(
            f"A trial is the same {PAIRS} pairs in 3 dimensions through projections to 2, a fresh one for each pair. With "
            "the paper's 1,000 trials that is its million of private pairs. *mean true distance* is that of the squares.",
            NO_RECORDS,
            "Claim 7 subtracts the constant 2k sigma^2 from a variance and takes 4 sigma^2 where the cross term has 8.",
            ADJACENCY,
        ),
        draw=draw3,
    ),
    Experiment(
        "jl-laplace-figure4",
        PAPER,
        "standard deviation against k",
        "the deviation grows with k, and row-wise privacy costs more than element-wise.",
        50,
        (),
        figure4,
        notes=(
            "The printed noise does not depend on the data or on d; the sound noise is that of the matrices drawn, "
            "in 100 dimensions.",
            ADJACENCY,
            THRESHOLD,
        ),
        draw=draw4,
    ),
)
