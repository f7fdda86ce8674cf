"""DPRP's Table 2 with its two GANs run: DPGAN and DP-CGAN by DP-SGD through Opacus, in an environment of their own."""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gnomon.errors import DataError
from gnomon.evaluation.sides import Side
from gnomon.reproduce import dprp_printed as printed
from gnomon.reproduce.dprp import (
    DELTA,
    FILES,
    PAPER,
    READING,
    TRAINED,
    _forest,
    as_described,
    declared,
    pair,
    scored,
    side,
    split,
)
from gnomon.reproduce.experiment import Cell, Experiment, Numbers
from gnomon.reproduce.program import program
from gnomon.table.encode import Encoder

GANS = {"DPGAN": ("dpgan", printed.DPGAN), "DP-CGAN": ("dp-cgan", printed.DP_CGAN)}
STEPS = 1000  # of the grid on which cells are given to a GAN
ACCOUNTED = "epsilon by the accountant"


def command() -> list[str]:
    """The interpreter with Opacus and the script of the GANs; both belong to a checkout and are no part of the package."""
    home = Path(os.environ.get("GNOMON_PEERS", Path.home() / ".cache" / "gnomon-peers")) / "opacus"
    script = Path(__file__).parents[3] / "benchmarks" / "peers" / "opacus_gan.py"
    if not (home / "complete").is_file() or not script.is_file():
        raise DataError(
            "dprp-gans runs DPGAN and DP-CGAN in an environment of their own, which is missing; in a checkout of gnomon, "
            "'python benchmarks/peers/environments.py opacus' makes it."
        )
    return [str(home / "bin" / "python"), str(script)]


def made(
    algorithm: str,
    train: Side,
    classes: int,
    epsilon: float,
    delta: float = DELTA,
    settings: dict[str, float] | None = None,
) -> tuple[Side, dict[str, Any]]:
    """As many rows as there are, from a GAN that saw encoded cells and labels; and what its accountant says.

    `settings` are epochs and rate, where they are not the paper's.
    """
    assert train.y is not None
    columns = {f"c{j}": np.rint((x + 1) / 2 * STEPS).astype(np.int64) for j, x in enumerate(train.X.T)}
    domain = [{"name": name, "size": STEPS + 1, "ordered": True, "exact": False} for name in columns]
    domain.append({"name": "label", "size": classes, "ordered": False, "exact": True})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(pa.table({**columns, "label": train.y.astype(np.int64)}), folder / "binned.parquet")
        (folder / "domain.json").write_text(json.dumps(domain))
        out = folder / "out.parquet"
        asked = {
            "algorithm": algorithm,
            "folder": name,
            "epsilon": epsilon,
            "delta": delta,
            "rows": len(train),
        }
        told = program(tuple(command())).ask({**asked, "out": str(out), "settings": settings or {}})
        rows = pq.read_table(out)
    X = np.column_stack([2 * rows[name].to_numpy() / STEPS - 1 for name in columns])
    return Side(train.table, X, rows["label"].to_numpy()), told


def gan(data: Path, folder: str, algorithm: str, epsilon: float, trial: int) -> Numbers:
    """Accuracy and AUPRC on real rows of a forest that saw the GAN's rows only."""
    encoder = Encoder(declared(folder))
    train, test = (side(table, encoder) for table in split(data, folder, trial))
    seen, told = made(algorithm, train, len(encoder.classes or ()), epsilon)
    return {
        **_forest(seen, test, trial),
        ACCOUNTED: told["epsilon"],
        "noise multiplier": told["noise_multiplier"],
        "training, seconds": told["cpu"],
    }


def gans(data: Path) -> list[Cell]:
    command()  # before anything is measured
    found = []
    for folder, name in printed.NAMES.items():
        for place, epsilon in enumerate(printed.EPSILONS):
            column = f"epsilon {epsilon}"
            ours = partial(scored, data, folder, partial(as_described, epsilon, "sound"))
            values = pair(printed.DPRP[folder][place])
            found.append(Cell(f"{name}, DPRP", column, "sound", values, "original", ours))
            for row, (algorithm, values_of) in GANS.items():
                run = partial(gan, data, folder, algorithm, epsilon)
                values = pair(values_of[folder][place])
                found.append(Cell(f"{name}, {row}", column, "sound", values, "original", run))
    return found


EXPERIMENTS = (
    Experiment(
        "dprp-gans",
        PAPER,
        "DPGAN and DP-CGAN on seven small tables",
        "DPRP outperforms DPGAN and DP-CGAN on all tables and for all privacy budgets, and takes 65 to 90% less time.",
        50,
        FILES,
        gans,
        notes=(
            TRAINED,
            READING,
            "The GANs are trained by DP-SGD through Opacus with the paper's networks, batches and epochs. The noise is the "
            f"smallest for (epsilon, {DELTA:g}) by its Renyi accountant, and *{ACCOUNTED}* is what that says at the "
            "end. Their guarantee is for adding or removing a row, DPRP's for replacing one.",
            "*training, seconds* is processor time without the start of the program and, of all but one trial, without the "
            "search for the noise.",
        ),
    ),
)
