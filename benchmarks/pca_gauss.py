"""The wall time of a PCA-Gauss fit beside scikit-learn's PCA and numpy's class covariances on the same rows, in one run.

    python benchmarks/pca_gauss.py [--data DIR] [--rows 60000] [--columns 784]

With --data the rows are MNIST's, otherwise generated ones of the same shape.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.decomposition import PCA

import gnomon as gn


def rows(data: Path | None, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    if data is not None:
        frame = pq.read_table(data / "mnist" / "data.parquet").to_pandas()
        return frame.drop(columns=["label", "split"]).to_numpy(np.float64)[:n], frame["label"].to_numpy(int)[
            :n
        ]
    rng = np.random.default_rng(0)
    return rng.uniform(0, 255, (n, m)), rng.integers(0, 10, n)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--columns", type=int, default=784)
    parser.add_argument("--delta", type=float, default=1e-6)
    told = parser.parse_args()
    X, y = rows(told.data, told.rows, told.columns)

    start = time.perf_counter()
    Z = PCA(n_components=30).fit(X).transform(X)
    for c in range(10):
        np.cov(Z[y == c].T)
    np.cov(X.T)
    plain = time.perf_counter() - start

    start = time.perf_counter()
    method = gn.PcaGauss(1.0, told.delta, bounds=(0, 255), classes=list(range(10))).fit(X, y)
    ours = time.perf_counter() - start
    print(f"scikit-learn PCA and numpy covariances: {plain:.2f} s")
    print(f"PCA-Gauss, {len(method.events_)} releases, {method.n_components_} components: {ours:.2f} s")
    print(f"ratio {ours / plain:.2f}")


if __name__ == "__main__":
    main()
