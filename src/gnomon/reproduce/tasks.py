"""The three tasks of RON-Gauss and PCA-Gauss: clustering faces, classifying movements, predicting activity.

Columns are scaled to [-1, 1] by declared bounds, from what they mean and not from the rows. A trial's number draws the
split; every score trains on at most `LIMITS` rows, released or real alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.evaluation import classify, cluster, regress
from gnomon.evaluation.limits import Limits
from gnomon.evaluation.sides import Side
from gnomon.reproduce.data import read
from gnomon.reproduce.experiment import Best, Data
from gnomon.statistics.grid import Matrix

LIMITS = Limits(train=1_500, test=1_500, kernel=1_500, silhouette=750)
CLUSTERED = 1_000  # rows that K-means looks for clusters among
HELD_OUT = 0.2  # of the rows (of the recordings, for movements) are tested on
SUBSAMPLED = (
    "Trained on at most 1,500 rows (K-means: 1,000), released or real alike, and tested on at most 1,500 held-out real "
    "rows; silhouettes are of 750 rows. The paper does not say what it did where time grows with the square of the rows."
)
# sitting, standing, lying, standing in a lift, stepper, cross trainer, rowing and jumping are the other nine
DISPLACING = (5, 6, 8, 9, 10, 11, 12, 15, 16, 19)
# m/s^2, rad/s, gauss: what body-worn sensors usually read; what goes beyond is clipped
SENSORS = {"acc": 20.0, "gyro": 5.0, "mag": 1.2}
STEPS = 3  # consecutive readings in a row, which makes 135 columns where REALDISP has 117
KINECT = {"x": 640.0, "y": 480.0, "z": 2000.0}  # pixels of the image, and millimetres to a person at a desk
DAYS = range(6)
COUNTS, LENGTHS, PER_MILLION = 1e5, 1e3, 1e6  # tweets of a topic and day, of a discussion, of all
BUZZ = {
    "NCD": COUNTS, "AI": COUNTS, "NAC": COUNTS, "NA": COUNTS, "NAD": COUNTS, "AT": LENGTHS, "ADL": LENGTHS,
    "AS(NA)": 1.0, "AS(NAC)": 1.0, "BL": 1.0, "CS": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class Split:
    """Rows to release, rows to test on, a few rows that count as public, and what is declared about all of them."""

    X: Matrix
    y: npt.NDArray[Any] | None
    X_test: Matrix
    y_test: npt.NDArray[Any] | None
    X_public: Matrix
    y_public: npt.NDArray[Any] | None
    told: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A table, how it is split, and what models trained on a release of it are worth on real rows."""

    kind: Literal["clustering", "classification", "regression"]
    file: str
    data: Data
    metrics: tuple[str, ...]
    best: Best
    split: Callable[[Path, int], Split]

    def score(self, X: Matrix, y: Any, split: Split, seen: Matrix | None, trial: int) -> dict[str, float]:
        """Metrics of a model of (X, y); `seen` are the test rows in the space of X, None where there is no way there."""
        rng = np.random.default_rng([7, trial])
        train = _some(X, y, CLUSTERED if self.kind == "clustering" else LIMITS.train, rng)
        if self.kind == "clustering":
            return _clustered(train.X, split, seen, rng)
        assert seen is not None
        test = _side(seen, split.y_test)
        if self.kind == "classification":
            found = classify.score("svm", train, test, LIMITS, rng)
            return {"accuracy, %": 100 * found["accuracy"]}
        return {"RMSE": regress.score("kernel ridge", train, test, LIMITS, rng)["RMSE"]}

    def floor(self, split: Split) -> dict[str, float]:
        """What one gets without reading a row of features."""
        test = _side(split.X_test, split.y_test)
        if self.kind == "classification":
            return {"accuracy, %": 100 * classify.floor(_side(split.X, split.y), test)["accuracy"]}
        return {"RMSE": regress.floor(_side(split.X, split.y), test)["RMSE"]}


def _side(X: Matrix, y: Any) -> Side:
    return Side(pa.table({}), X, y)


def _some(X: Matrix, y: Any, most: int, rng: np.random.Generator) -> Side:
    side = _side(X, y)
    return side if len(X) <= most else side.take(rng.choice(len(X), most, replace=False))


def _clustered(X: Matrix, split: Split, seen: Matrix | None, rng: np.random.Generator) -> dict[str, float]:
    """The paper's silhouette, of the clusters among the released rows; and what these clusters say of real rows."""
    model, own = cluster.best_clusters(X, LIMITS, rng)
    if seen is None:
        return {"silhouette": own}
    labels = model.predict(seen)
    return {
        "silhouette": own,
        "silhouette on real rows": cluster.silhouette(split.X_test, labels, LIMITS, rng),
    }


def _cut(n: int, trial: int, public: int = 0) -> tuple[Any, Any, Any]:
    """Places of the rows to release, to test on (no more than are needed) and to take as public."""
    order = np.random.default_rng([3, trial]).permutation(n)
    held = round(HELD_OUT * n)
    return order[held + public :], order[: min(held, LIMITS.test)], order[held : held + public]


@lru_cache(maxsize=2)
def faces(data: Path, trial: int) -> Split:
    """Grammatical Facial Expressions: 100 points of a face in a Kinect's image."""
    names = tuple(f"{point}{axis}" for point in range(100) for axis in "xyz")
    table = read(data, "gfe", names)
    X = np.column_stack([2 * table[name].to_numpy() / KINECT[name[-1]] - 1 for name in names]).astype(float)
    rest, held, public = _cut(len(X), trial, public=600)
    return Split(X[rest], None, X[held], None, X[public], None, {"bounds": (-1.0, 1.0)})


@lru_cache(maxsize=2)
def movements(data: Path, trial: int) -> Split:
    """Daily and Sports Activities in place of REALDISP: does the activity displace the body or not. Whole recordings
    (a segment of five seconds) are held out, so that no reading is tested between two that were released.
    """
    table = read(data, "daily_sports_activities", file="data_5hz.parquet")
    channels = [name for name in table.column_names if name.endswith(tuple(SENSORS))]
    high = np.array([next(v for kind, v in SENSORS.items() if name.endswith(kind)) for name in channels])
    X = np.column_stack([table[name].to_numpy() for name in channels]) / high
    whole = len(X) // STEPS * STEPS
    X = np.clip(X[:whole].reshape(whole // STEPS, -1), -1.0, 1.0)
    activity, subject, segment = (
        table[name].to_numpy()[:whole:STEPS].astype(np.int64) for name in ("activity", "subject", "segment")
    )
    y = np.isin(activity, DISPLACING).astype(np.int64)
    _, recording = np.unique(np.stack([activity, subject, segment]), axis=1, return_inverse=True)
    count = int(recording.max()) + 1
    order = np.random.default_rng([3, trial]).permutation(count)
    apart = np.isin(recording, order[: round(HELD_OUT * count)])
    rng = np.random.default_rng([4, trial])
    rest, held = np.flatnonzero(~apart), rng.permutation(np.flatnonzero(apart))[: LIMITS.test]
    public = rng.choice(rest, min(600, len(rest) // 4), replace=False)
    mine = np.setdiff1d(rest, public)
    told = {"bounds": (-1.0, 1.0), "classes": [0, 1]}
    return Split(X[mine], y[mine], X[held], y[held], X[public], y[public], told)


def activity(data: Path, trial: int, *, logarithmic: bool) -> Split:
    """Buzz in social media: a topic's active discussions of the seventh day from the eleven columns of six days."""
    names = tuple(f"{kind}_{day}" for kind in BUZZ for day in DAYS)
    table = read(data, "buzz_twitter", (*names, "NAD_6"))
    scale = _logarithmic if logarithmic else _linear
    X = np.column_stack([scale(table[name].to_numpy(), name.rsplit("_", 1)[0]) for name in names])
    y = scale(table["NAD_6"].to_numpy(), "NAD")
    # as large a part of all rows as the paper's 4,715 of 578,535
    rest, held, public = _cut(len(X), trial, public=max(20, round(0.0082 * len(X))))
    told = {"bounds": (-1.0, 1.0), "target_bounds": (-1.0, 1.0)}
    return Split(X[rest], y[rest], X[held], y[held], X[public], y[public], told)


def _linear(values: npt.NDArray[Any], kind: str) -> npt.NDArray[np.float64]:
    """Zero stays zero, as in the papers: their random guesses of [-1, 1] miss by 0.57, the spread of a guess around 0."""
    return np.clip(values.astype(np.float64) / BUZZ[kind], 0.0, 1.0)


def _logarithmic(values: npt.NDArray[Any], kind: str) -> npt.NDArray[np.float64]:
    """Counts and lengths by log(1 + x); shares of all tweets by log(1 + parts per million); ratios as they are."""
    if kind in ("BL", "CS"):
        return 2 * _linear(values, kind) - 1
    per, top = (PER_MILLION, PER_MILLION) if kind.startswith("AS") else (1.0, BUZZ[kind])
    scaled: npt.NDArray[np.float64] = np.log1p(per * values.astype(np.float64)) / np.log1p(top)
    return np.clip(2 * scaled - 1, -1.0, 1.0)


@lru_cache(maxsize=2)
def activity_by_logarithm(data: Path, trial: int) -> Split:
    return activity(data, trial, logarithmic=True)


@lru_cache(maxsize=2)
def activity_as_it_is(data: Path, trial: int) -> Split:
    return activity(data, trial, logarithmic=False)


GFE = Task(
    "clustering",
    "gfe/data.parquet",
    "partial",
    ("silhouette", "silhouette on real rows"),
    "largest",
    faces,
)
SPORTS = Task(
    "classification",
    "daily_sports_activities/data_5hz.parquet",
    "stand-in",
    ("accuracy, %",),
    "largest",
    movements,
)
BUZZ_LOG = Task(
    "regression", "buzz_twitter/data.parquet", "stand-in", ("RMSE",), "smallest", activity_by_logarithm
)
BUZZ_LINEAR = Task(
    "regression", "buzz_twitter/data.parquet", "stand-in", ("RMSE",), "smallest", activity_as_it_is
)
