"""diffprivlib's own models trained on the private rows: what the same budget buys when one model is all that is wanted.

Logistic regression for classes, linear regression for numbers, with declared bounds. Nothing is released but predictions.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression


def main() -> None:
    _, folder, epsilon, _, _, out = sys.argv[1:]
    train, test = (np.load(Path(folder) / f"{name}.npz") for name in ("train", "test"))
    X, y = train["X"].astype(np.float64), train["y"]
    warnings.simplefilter("ignore")
    start, before = time.perf_counter(), time.process_time()
    if y.dtype.kind == "f":
        model = LinearRegression(epsilon=float(epsilon), bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, y)
    else:
        model = LogisticRegression(epsilon=float(epsilon), data_norm=X.shape[1] ** 0.5, max_iter=300).fit(
            X, y
        )
    seconds, cpu = time.perf_counter() - start, time.process_time() - before
    rows = test["X"].astype(np.float64)
    found = {"predicted": model.predict(rows)}
    if y.dtype.kind != "f":
        found |= {"scores": model.predict_proba(rows), "classes": model.classes_}
    np.savez(out, **found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak}))


if __name__ == "__main__":
    main()
