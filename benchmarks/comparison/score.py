"""What released rows are worth on real ones, with gnomon's own evaluation: the same numbers for every method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from gnomon.evaluation import Limits, classify, fidelity, regress
from gnomon.evaluation.sides import Side
from gnomon.table.schema import Schema

LIMITS = Limits(train=5_000, test=3_000, kernel=2_000, two_way=200)
MODELS = {"classification": ("logistic", "forest"), "regression": ("ridge", "kernel ridge")}


def utility(task: str, train: Side, test: Side, seed: int) -> dict[str, dict[str, float]]:
    """Metrics by model."""
    kind = classify if task == "classification" else regress
    rng = np.random.default_rng([21, seed])
    return {model: kind.score(model, train, test, LIMITS, rng) for model in MODELS[task]}


def floor(task: str, train: Side, test: Side) -> dict[str, dict[str, float]]:
    kind = classify if task == "classification" else regress
    return {"floor": kind.floor(train, test)}


def predictions(task: str, told: Any, truth: Any) -> dict[str, dict[str, float]]:
    """The same metrics of predictions that a tool made itself."""
    if task == "regression":
        return {"its own": {"R2": float(r2_score(truth, told["predicted"]))}}
    shares, areas = [], []
    for c in np.unique(truth):
        place = np.flatnonzero(told["classes"] == c)
        scores = told["scores"][:, place[0]] if len(place) else np.zeros(len(truth))
        shares.append(np.mean(truth == c))
        areas.append(roc_auc_score(truth == c, scores))
    accuracy = float(accuracy_score(truth, told["predicted"]))
    return {"its own": {"accuracy": accuracy, "AUROC": float(np.average(areas, weights=shares))}}


def likeness(released: pa.Table, real: pa.Table, schema: Schema, seed: int) -> dict[str, float]:
    """Mean total variation of one-way and (at most 200) two-way marginals."""
    rng = np.random.default_rng([22, seed])
    return {
        "one_way": float(np.mean(fidelity.marginals(released, real, schema))),
        "two_way": float(np.mean(fidelity.joint_marginals(released, real, schema, LIMITS, rng))),
    }


def some(side: Side, most: int, rng: np.random.Generator) -> Side:
    """At most so many rows, the table along with them."""
    if len(side) <= most:
        return side
    places = np.sort(rng.choice(len(side), most, replace=False))
    taken: Any = side.take(places)
    return Side(side.table.take(pa.array(places)), taken.X, taken.y)
