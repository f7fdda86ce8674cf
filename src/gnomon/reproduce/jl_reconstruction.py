"""Whether records can be reconstructed from JL + Laplace (Dhaliwal et al.): with P, without it, and with known records.

The paper withholds P "in order to eliminate the possibility of a reconstruction attack" and claims that reconstruction is
impossible. It prints no experiment; this is one. Whoever attacks knows the law of the records, the noise and k.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from gnomon.projection.gaussian import gaussian
from gnomon.reproduce.experiment import Calibration, Cell, Experiment, Numbers
from gnomon.reproduce.jl_laplace import (
    ADJACENCY,
    APART,
    CALIBRATIONS,
    CELL,
    PAPER,
    ROWS,
    UNITS,
    blobs,
    release,
)
from gnomon.statistics.grid import Matrix

SHAPES = ((3, 2), (10, 3), (50, 10))
KNOWN = 200  # of the records, with their rows
PUBLISHED, GUESSED, LEARNT = "P published", "P withheld and guessed", f"P withheld, {KNOWN} records known"


def reconstructed(Z: Matrix, P: Matrix, noise: float, variance: float) -> Matrix:
    """The linear estimate of records from rows xP + e with the least mean squared error."""
    k = P.shape[1]
    return np.asarray(Z @ np.linalg.solve(P.T @ P + noise**2 / variance * np.eye(k), P.T), dtype=np.float64)


def learnt(Z: Matrix, X: Matrix, noise: float) -> Matrix:
    """P by known records and their rows: a ridge regression with the law that P was drawn from."""
    k = Z.shape[1]
    return np.asarray(np.linalg.solve(X.T @ X + k * noise**2 * np.eye(X.shape[1]), X.T @ Z), dtype=np.float64)


def errors(d: int, k: int, unit: str, calibration: str, trial: int) -> Numbers:
    """Squared errors of the other records over their squares: 1 is what naming the middle for all of them scores."""
    X, _ = blobs(d, ROWS, trial)
    told, rest = X[:KNOWN], X[KNOWN:]
    variance = 1 + (APART / 2) ** 2 / d  # of a cell, as its law says
    found = {}
    for name, secret in ((PUBLISHED, False), (GUESSED, True), (LEARNT, True)):
        method = release(X, k, unit, calibration, trial, secret=secret)
        Z, noise = CELL * method.components(), CELL * method.noise_std_
        if name == PUBLISHED:
            P = method.projection_
        elif name == GUESSED:
            P = gaussian(d, k, np.random.default_rng([11, trial]))
        else:
            P = learnt(Z[:KNOWN], told, noise)
        seen = reconstructed(Z[KNOWN:], P, noise, variance)
        found[name] = float(np.sum((seen - rest) ** 2) / np.sum(rest**2))
    return found


def without_noise(d: int, k: int, trial: int) -> Numbers:
    """The same from xP alone."""
    X, _ = blobs(d, ROWS, trial)
    P, other = (gaussian(d, k, np.random.default_rng([which, trial])) for which in (10, 11))
    Z = X @ P
    rest, square = X[KNOWN:], np.sum(X[KNOWN:] ** 2)
    by = {PUBLISHED: P, GUESSED: other, LEARNT: learnt(Z[:KNOWN], X[:KNOWN], 1e-6)}
    return {
        name: float(np.sum((reconstructed(Z[KNOWN:], Q, 1e-6, 1.0) - rest) ** 2) / square)
        for name, Q in by.items()
    }


def cells(data: Path) -> list[Cell]:
    found = []
    for d, k in SHAPES:
        row = f"d={d}, k={k}"
        for unit, name in UNITS.items():
            for c in CALIBRATIONS:
                calibration: Calibration = c
                run = partial(errors, d, k, unit, calibration)
                found.append(Cell(row, name, calibration, None, "generated", run))
        found.append(Cell(row, "no noise", "none", None, "generated", partial(without_noise, d, k)))
    return found


EXPERIMENTS = (
    Experiment(
        "jl-laplace-reconstruction",
        PAPER,
        "reconstruction of records, with P published and withheld",
        "the mechanism, whose P is withheld, makes it impossible to reconstruct the original data.",
        50,
        (),
        cells,
        notes=(
            "Squared error of the reconstructed records over their squares: 0 is exact, 1 is what naming the middle for "
            "every record scores. The paper prints no such experiment.",
            f"*{LEARNT}*: whoever knows so many records with their rows regresses the rows on them, and has P from "
            "then on. That is why the guarantee is that of a published P either way.",
            ADJACENCY,
        ),
    ),
)
