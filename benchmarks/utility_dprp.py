"""DPRP's seven small tables: a random forest trained on the release and tested on real rows, beside the printed figures.

python benchmarks/utility_dprp.py --data DIR [--runs 50] [--jobs 2] [--out docs/results/dprp.md]

Every run splits a table 80/20, releases the 80% (sound calibration, the schemas that gnomon.reproduce declares), trains
scikit-learn's default random forest on the release and tests it on the 20%. Missing cells are filled with the declared
values. AUPRC is the average precision of every class, weighted by how frequent it is.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from threadpoolctl import threadpool_limits

import gnomon as gn
from gnomon import reproduce
from gnomon.reproduce.dprp_printed import DPRP as PRINTED
from gnomon.reproduce.dprp_printed import EPSILONS
from gnomon.table.encode import Encoder

DELTA = 1e-4
Array = npt.NDArray[Any]
SCHEMAS = Path(reproduce.__file__).parent / "schemas"


def scores(X: Array, y: Array, test: Array, truth: Array, classes: int, seed: int) -> tuple[float, float]:
    """Accuracy and weighted average precision of a default forest."""
    forest = RandomForestClassifier(random_state=seed).fit(X, y)
    chance = np.zeros((len(test), classes))
    chance[:, forest.classes_] = forest.predict_proba(test)
    shares = [
        (np.mean(truth == c), average_precision_score(truth == c, chance[:, c])) for c in np.unique(truth)
    ]
    return float(np.mean(chance.argmax(axis=1) == truth)), float(sum(share * ap for share, ap in shares))


def chance_precision(truth: Array, seed: int) -> float:
    """The weighted average precision of random scores; on a small test it lies well above the classes' shares."""
    guesses = np.random.default_rng([9, seed]).random((100, len(truth)))
    found = [
        np.mean(truth == c) * np.mean([average_precision_score(truth == c, guess) for guess in guesses])
        for c in np.unique(truth)
    ]
    return float(np.sum(found))


def one_run(folder: str, data: str, epsilon: float, run: int, share: float) -> dict[str, tuple[float, float]]:
    """Release, real and majority scores of one split; the split is the same for every epsilon."""
    table = pq.read_table(Path(data) / folder / "data.parquet")
    schema = gn.Schema.load(SCHEMAS / f"{folder}.toml")
    encoder = Encoder(schema)
    order = np.random.default_rng(run).permutation(table.num_rows)
    cut = round(0.2 * table.num_rows)
    test, train = encoder.encode(table.take(order[:cut])), table.take(pa.array(order[cut:]))
    classes = len(encoder.classes or ())
    with threadpool_limits(1):
        if epsilon == 0:  # the real rows
            rows = encoder.encode(train)
            largest = np.bincount(rows.codes).argmax()
            share_of = [np.mean(test.codes == c) for c in range(classes)]
            return {
                "real": scores(rows.X, rows.codes, test.X, test.codes, classes, run),
                "majority": (float(np.mean(test.codes == largest)), float(np.sum(np.square(share_of)))),
                "chance": (0.0, chance_precision(test.codes, run)),
            }
        method = gn.Dprp(epsilon, DELTA, schema=schema, row_share=share).fit(train)
        released = encoder.encode(pa.concat_tables(method.sample_batches()))
        return {"release": scores(released.X, released.codes, test.X, test.codes, classes, run)}


def interval(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(1.96 * values.std(ddof=1) / np.sqrt(len(values)))


def measure(
    pool: ProcessPoolExecutor, folder: str, data: str, epsilon: float, runs: int, share: float
) -> dict[str, Array]:
    found = list(
        pool.map(one_run, *zip(*[(folder, data, epsilon, run, share) for run in range(runs)], strict=True))
    )
    return {name: np.array([one[name] for one in found]) for name in found[0]}


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", required=True, help="a folder with one folder per table, each with data.parquet"
    )
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--row-share", type=float, default=0.03)
    parser.add_argument("--tables", nargs="*", default=list(PRINTED))
    parser.add_argument("--epsilons", nargs="*", type=float, default=list(EPSILONS))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    missing = [f for f in options.tables if not (Path(options.data) / f / "data.parquet").is_file()]
    if missing:
        print(f"The folder {options.data!r} lacks {missing[0]}/data.parquet.", file=sys.stderr)
        return 2
    started = time.time()
    lines, wins = [], {e: [0, 0, 0] for e in options.epsilons}
    with ProcessPoolExecutor(options.jobs) as pool:
        for folder in options.tables:
            base = measure(pool, folder, options.data, 0, options.runs, options.row_share)
            majority = interval(base["majority"][:, 0])[0]
            for epsilon in options.epsilons:
                got = measure(pool, folder, options.data, epsilon, options.runs, options.row_share)["release"]
                (acc, d_acc), (ap, d_ap) = interval(got[:, 0]), interval(got[:, 1])
                printed = PRINTED[folder][EPSILONS.index(int(epsilon))]
                wins[epsilon][0] += acc > printed[0]
                wins[epsilon][1] += ap > printed[1]
                wins[epsilon][2] += acc > printed[0] and ap > printed[1]
                below = acc + d_acc < majority
                lines.append(
                    f"| {folder} | {epsilon:g} | **{acc:.3f}** ± {d_acc:.3f} | {printed[0]:.2f} "
                    f"| **{ap:.3f}** ± {d_ap:.3f} | {printed[1]:.2f} "
                    f"| {majority:.3f}{' (below)' if below else ''} "
                    f"| {base['real'][:, 0].mean():.3f} | {base['real'][:, 1].mean():.3f} "
                    f"| {base['chance'][:, 1].mean():.3f} |"
                )
                print(lines[-1], flush=True)
    summary = [
        f"- epsilon {e:g}: of {len(options.tables)} tables, {a} above the printed accuracy, "
        f"{b} above the printed AUPRC, {c} above both."
        for e, (a, b, c) in wins.items()
    ]
    print("\n".join(summary))
    if options.out is not None:
        options.out.write_text(page(options, lines, summary, time.time() - started), encoding="utf-8")
    return 0


def page(options: argparse.Namespace, lines: list[str], summary: list[str], seconds: float) -> str:
    head = "| table | epsilon | accuracy | printed | AUPRC | printed | majority | real acc. | real AUPRC | chance AUPRC |"
    command = f"python benchmarks/utility_dprp.py --data DIR --runs {options.runs} --row-share {options.row_share:g}"
    return "\n".join(
        [
            "# DPRP on the paper's seven tables",
            "",
            f"`{command}` ({seconds / 60:.0f} minutes): {options.runs} random 80/20 splits, delta = {DELTA:g}, default "
            "random forest trained on the release and tested on real rows; means with 95% intervals over the splits.",
            "",
            "*printed* is the paper's DPRP, whose noise does not give the epsilon it declares (the certificate of "
            '`calibration="paper"` says which it gives); our column is (epsilon, delta)-DP with the label inside the row. '
            "*majority* predicts the largest class; *real* trains the same forest on the real rows.",
            "",
            head,
            "|---" * 10 + "|",
            *lines,
            "",
            *summary,
            "",
            NOTES,
        ]
    )


NOTES = """## How far to trust this table

- **The aim, above the printed row on five of seven tables at every epsilon and never below the majority class, is not
  met**: both figures together are above the printed ones on three tables (Coimbra, Wisconsin, Dermatology). Rows
  marked "(below)" have an accuracy below the majority class by more than their interval.
- **The constants were chosen on these tables and these splits** (radius, label weight, share of the rows, and how
  labels are told: about twenty settings on simulated noise, then four on this benchmark, two of them run in full).
  Nothing private depends on them, but the figures are optimistic for a new table; differences of the size of an
  interval mean nothing.
- **The schemas were written after a look at these public tables' ranges and medians**, with clinical limits and
  typical values in mind. A custodian who knows less about the columns should expect less, mostly on the small tables.
- **AUPRC is not defined in the paper.** The average precision of each class weighted by its frequency is the reading
  under which its figures for rare and for many classes are possible; it is our inference. *chance* is what random
  scores reach: on test sets of 16 and 23 rows (Caesarian, Coimbra) it is near or above the printed figures, so being
  above those says little.
- Where the same forest trained on the *real* rows does not reach the printed figure, no release can be expected to:
  compare *printed* with *real* for Indian Liver, HCC and Cervical (accuracy) and for Caesarian (AUPRC).
- At epsilon 1, the noise of a class count on 64 or 93 rows is as large as half the difference of the classes, so the
  larger class itself is mistaken in about one release of five (Caesarian, Coimbra).
"""

if __name__ == "__main__":
    sys.exit(main())
