"""MNIST by the protocol of the papers that print it: 60,000 rows released, 10,000 tested, (1, 1e-5), one line a classifier.

    python benchmarks/mnist.py --data DIR [--splits 1] [--models LR,RF,MLP] [--out docs/results/comparison/mnist.jsonl]

The classifiers are scikit-learn's with the settings of the code that DP-MERF's authors published. A split is a seed of the
release; the rows are always the published ones. A line is one classifier, and one that is there is not run again: what a
run that was cut short lacks learns from another release.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from gnomon.methods import METHODS

OUT = Path(__file__).resolve().parent.parent / "docs" / "results" / "comparison" / "mnist.jsonl"
EPSILON, DELTA = 1.0, 1e-5
MODELS = {
    "LR": lambda split: LogisticRegression(max_iter=5000),
    "RF": lambda split: RandomForestClassifier(class_weight="balanced", random_state=split),
    "MLP": lambda split: MLPClassifier(random_state=split),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GNOMON_DATA"))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--out", type=Path, default=OUT)
    told = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = told.out.read_text().splitlines() if told.out.is_file() else []
    done = {(line["split"], line["model"]) for line in map(json.loads, lines)}
    table = pq.read_table(Path(told.data) / "mnist" / "data.parquet")
    X = np.column_stack([table[f"pixel{j}"].to_numpy() for j in range(784)]).astype(np.float64)
    y, train = table["label"].to_numpy().astype(np.int64), np.asarray(table["split"].to_pylist()) == "train"
    for split in range(told.splits):
        wanted = [name for name in told.models.split(",") if (split, name) not in done]
        if not wanted:
            continue
        start = time.process_time()
        method = METHODS["synthesizer"](
            EPSILON, DELTA, bounds=(0.0, 255.0), classes=list(range(10)), random_state=split
        )
        made, labels = method.fit(X[train], y[train]).sample(int(train.sum()))
        spent = round(time.process_time() - start, 1)
        for name in wanted:
            model = MODELS[name](split).fit(made / 255, labels)
            score = round(float(model.score(X[~train] / 255, y[~train])), 4)
            line = {"split": split, "model": name, "accuracy": score, "rows": int(train.sum())}
            with told.out.open("a") as log:
                log.write(json.dumps({**line, "release_cpu": spent}) + "\n")
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
