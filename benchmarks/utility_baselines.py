"""Gnomon's own model releases beside the compared methods on the Adult table: AUROC of models trained on the release.

    GNOMON_DATA=DIR python benchmarks/utility_baselines.py [releases]

Bounds are declared from the table's documentation. Prints a Markdown table; every figure is a mean over releases.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import gnomon as gn
from gnomon.evaluation import Limits
from gnomon.evaluation.measure import Measure
from gnomon.methods import METHODS

BOUNDS = {
    "age": (16, 91),
    "fnlwgt": (0, 1_500_000),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (0, 100),
}
NAMES = (
    "ron-gauss",
    "pca-gauss",
    "modips",
    "blocki",
    "exponential",
    "bernoulli-identity",
    "pca-identity",
    "lda-identity",
)


def main() -> None:
    releases = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    table = pq.read_table(Path(os.environ["GNOMON_DATA"]) / "adult" / "data.parquet")
    table = table.filter(pc.field("complete"))
    train, test = (
        table.filter(pc.equal(table["split"], "train") if first else pc.not_equal(table["split"], "train"))
        for first in (True, False)
    )
    schema = gn.Schema(
        name="adult",
        columns=tuple(
            gn.Column(name=name, kind="number", low=BOUNDS[name][0], high=BOUNDS[name][1], integer=True)
            if name in BOUNDS
            else gn.Column(
                name=name,
                kind="category",
                values=tuple(sorted(pc.unique(table[name]).to_pylist())),
                role="target" if name == "income" else None,
            )
            for name in table.column_names
            if name not in ("split", "complete")
        ),
    )
    warnings.simplefilter("ignore")
    limits = Limits(train=2000, test=2000, kernel=1000, silhouette=100)
    print("| method | logistic | SVM | forest | one-way marginals | fit, s |\n|---|---|---|---|---|---|")
    for name in NAMES:
        start = time.perf_counter()
        fitted = [METHODS[name](1.0, 1e-6, schema=schema).fit(train) for _ in range(releases)]
        seconds = (time.perf_counter() - start) / releases
        found = gn.evaluate(fitted, train, test, trials=1, limits=limits, random_state=0)
        cells = [_cell(metrics["AUROC"]["release"]) for metrics in found.utility.values()]
        marginals = _cell(found.fidelity["one-way marginals"]["release"])
        print(f"| {name} | {' | '.join(cells)} | {marginals} | {seconds:.1f} |", flush=True)
    ceiling = [f"{metrics['AUROC']['real'].mean:.3f}" for metrics in found.utility.values()]
    print(f"| real rows | {' | '.join(ceiling)} | | |")


def _cell(measure: Measure) -> str:
    interval = measure.interval
    return f"{measure.mean:.3f}" + ("" if interval is None else f" ± {(interval[1] - interval[0]) / 2:.3f}")


if __name__ == "__main__":
    main()
