"""What keeps models of released rows below models of real rows where there is hardly any noise: the model, or its decoding?

    python benchmarks/limits.py run --data DIR [--tables NAME,...] [--splits 3]
    python benchmarks/limits.py show

The protocol is the quick tier of `utility.py`, on the tables whose scores at epsilon 100 are more than 7% below those of
real rows, and MNIST. Learners are trained on 3,000 rows of five kinds, and tested on held-out real rows as they are:

- *real*: rows of the table;
- *one Gaussian*: rows of one Gaussian a class on raw cells, with the exact means and covariances of the class;
- *cells*: the same for `CELLS` cells a class, found by k-means on the real rows;
- *no noise*: the synthesizer at epsilon infinity;
- *epsilon 100*: the synthesizer.

Both kinds of exact Gaussians are not private, and need no marginals. A numeric target is one more cell of a row. One line
of JSON for each run; a line that is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from harness import learners
from harness.arrays import Rows
from harness.learners import QUICK
from harness.summary import interval
from harness.tables import TABLES
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler
from utility import DELTA, RESULTS, Split, read, rounded

CHOSEN = ("faces-2", "faces-9", "sports-channel", "blogfeedback", "mnist", "indian_liver_patient")
KINDS = ("real", "one Gaussian", "cells", "no noise", "epsilon 100")
CELLS = 8  # as many as the synthesizer has at most
FILE = RESULTS / "limits.jsonl"


def gaussian_rows(rows: Rows, number: bool, cells: int, n: int, rng: np.random.Generator) -> Rows:
    """n rows of Gaussians with the exact moments of each class's cells: sums of a cell's rows with normal weights."""
    X = np.column_stack([rows.X, rows.y]) if number else rows.X
    codes = np.zeros(len(X), dtype=np.int64) if number else rows.y
    Z = StandardScaler().fit_transform(X)
    found, labels = [], []
    for c in np.unique(codes):
        mine = np.flatnonzero(codes == c)
        k = min(cells, len(mine) // 2)
        parts = KMeans(k, n_init=1, random_state=0).fit_predict(Z[mine]) if k > 1 else np.zeros(len(mine))
        for part in np.unique(parts):
            M = X[mine[parts == part]]
            drawn = max(round(n * len(M) / len(X)), 1)
            weights = rng.standard_normal((drawn, len(M))) / math.sqrt(len(M))
            found.append(M.mean(axis=0) + weights @ (M - M.mean(axis=0)))
            labels.append(np.full(drawn, c))
    drawn_rows = np.vstack(found)
    return Rows(drawn_rows[:, :-1], drawn_rows[:, -1]) if number else Rows(drawn_rows, np.concatenate(labels))


def measure(split: Split, kind: str) -> dict[str, float | None]:
    """Scores of the quick learners on one kind of rows."""
    if kind in ("no noise", "epsilon 100"):
        epsilon = math.inf if kind == "no noise" else 100.0
        return dict(split.measure("synthesizer", epsilon, DELTA, QUICK)["direct"])
    task = split.table.task
    if kind == "real":
        rows = Rows.of(split.some(split.train, QUICK.rows), split.schema)
    else:
        rng = np.random.default_rng([51, split.seed])
        every = Rows.of(split.train, split.schema)
        rows = gaussian_rows(every, task == "number", CELLS if kind == "cells" else 1, QUICK.rows, rng)
    target = split.schema.target
    classes = len(target.values) if target is not None and target.kind == "category" else 1
    found = learners.scores(rows, {"direct": split.test_rows}, task, classes, QUICK, split.seed)
    return {name: rounded(value) for name, value in found["direct"].items()}


def run(told: argparse.Namespace) -> None:
    known = {(line["table"], line["kind"], line["split"]) for line in read(told.out)}
    for name in told.tables.split(","):
        rows = None
        for seed in range(told.splits):
            wanted = [kind for kind in KINDS if (name, kind, seed) not in known]
            if not wanted:
                continue
            rows = TABLES[name].load(told.data) if rows is None else rows
            split = Split(TABLES[name], rows, seed)
            for kind in wanted:
                line = {"table": name, "kind": kind, "split": seed, "direct": measure(split, kind)}
                with told.out.open("a") as out:
                    out.write(json.dumps(line, separators=(",", ":")) + "\n")
                print(json.dumps(line), flush=True)


def table(path: Path) -> list[str]:
    """The lines of the page's table."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in read(path):
        for learner, value in line["direct"].items():
            found[line["table"], learner][line["kind"]].append(value)
    lines = ["| table | learner | " + " | ".join(KINDS) + " |", "|---" * (len(KINDS) + 2) + "|"]
    for (name, learner), of in found.items():
        cells = ["{:.3f} ± {:.3f}".format(*interval(of[kind])) for kind in KINDS]
        lines.append(f"| {name} | {learner} | " + " | ".join(cells) + " |")
    return lines


def show(told: argparse.Namespace) -> None:
    print("\n".join(table(told.out)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for do in (run, show):
        one = commands.add_parser(do.__name__)
        one.add_argument("--out", type=Path, default=FILE)
        one.set_defaults(do=do)
        if do is run:
            one.add_argument("--data", type=Path, required=True)
            one.add_argument("--tables", default=",".join(CHOSEN))
            one.add_argument("--splits", type=int, default=QUICK.splits)
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    told.do(told)


if __name__ == "__main__":
    main()
