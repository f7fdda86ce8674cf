"""Distance to the closest record: popular, easy to read, and no evidence of privacy."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from gnomon.evaluation.limits import Limits
from gnomon.evaluation.sides import Side
from gnomon.statistics.grid import Matrix

WARNING = (
    "No evidence of privacy: rows that lie far from every record can still give a record away, and rows close to one "
    "can be harmless. What protects the records is the guarantee in the certificate."
)


def closest_records(
    released: Side, train: Side, test: Side, limits: Limits, rng: np.random.Generator
) -> dict[str, float]:
    """How far released rows lie from the records they were made of, and from as many others of the same kind.

    A share near one half closer to the training records is what rows without memory would show; a release that
    copies its records shows more.
    """
    size = min(limits.silhouette, len(train), len(test))
    some = released.X[rng.choice(len(released), min(limits.silhouette, len(released)), replace=False)]
    own = _nearest(some, train.X[rng.choice(len(train), size, replace=False)])
    others = _nearest(some, test.X[rng.choice(len(test), size, replace=False)])
    ties = own == others
    return {
        "median distance to the closest training record": float(np.median(own)),
        "median distance to the closest test record": float(np.median(others)),
        "share closer to the training records": float(np.mean((own < others) + ties / 2)),
        "share that equals a training record": float(np.mean(own == 0)),
    }


def _nearest(X: Matrix, records: Matrix) -> Matrix:
    found: Matrix = NearestNeighbors(n_neighbors=1).fit(records).kneighbors(X)[0][:, 0]
    return found
