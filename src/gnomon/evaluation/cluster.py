"""K-means on some rows, judged on those rows and on real ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score

from gnomon.evaluation.limits import Limits
from gnomon.evaluation.sides import Side
from gnomon.statistics.grid import Matrix

MODELS = ("K-means",)
METRICS = ("silhouette", "silhouette on real rows", "agreement with real clusters", "clusters")
MOST = 10  # clusters that the silhouette analysis tries


def best_clusters(X: Matrix, limits: Limits, rng: np.random.Generator) -> tuple[KMeans, float]:
    """The K-means with the largest silhouette among 2 to MOST clusters, and that silhouette."""
    found = []
    for k in range(2, min(MOST, len(X) - 1) + 1):
        model = KMeans(k, n_init=4, random_state=int(rng.integers(2**31))).fit(X)
        found.append((silhouette(X, model.labels_, limits, rng), model))
    best, model = max(found, key=lambda pair: pair[0])
    return model, best


def silhouette(X: Matrix, labels: npt.NDArray[Any], limits: Limits, rng: np.random.Generator) -> float:
    """The mean silhouette of at most `limits.silhouette` rows; 0 where there is but one cluster."""
    if len(X) > limits.silhouette:
        some = rng.choice(len(X), limits.silhouette, replace=False)
        X, labels = X[some], labels[some]
    if not 2 <= len(np.unique(labels)) < len(X):
        return 0.0
    return float(silhouette_score(X, labels))


def score(
    train: Side, test: Side, real: KMeans, limits: Limits, rng: np.random.Generator
) -> dict[str, float]:
    """Clusters of `train`: how separate they are there and on the real rows `test`, and whether they are the real ones."""
    model, own = best_clusters(train.X, limits, rng)
    labels = model.predict(test.X)
    return {
        "silhouette": own,
        "silhouette on real rows": silhouette(test.X, labels, limits, rng),
        "agreement with real clusters": float(adjusted_rand_score(real.predict(test.X), labels)),
        "clusters": float(model.n_clusters),
    }


def floor(test: Side, real: KMeans, limits: Limits, rng: np.random.Generator) -> dict[str, float]:
    """Clusters drawn at random."""
    labels = rng.integers(0, real.n_clusters, len(test))
    spread = silhouette(test.X, labels, limits, rng)
    return {
        "silhouette": spread,
        "silhouette on real rows": spread,
        "agreement with real clusters": float(adjusted_rand_score(real.predict(test.X), labels)),
        "clusters": float(real.n_clusters),
    }
