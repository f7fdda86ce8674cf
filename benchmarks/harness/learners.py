"""The learners of the protocol, trained on released rows and scored on held-out real ones.

Two classes: AUROC; more: accuracy; numbers: R2. One thread each. The RBF machine is scikit-learn's with gamma="scale"; its
kernel is computed by matrix products, which is several times faster on wide rows and gives the same machine.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from harness.arrays import Rows
from harness.tables import Task

MANY_COLUMN_CLASSES, FEWER_ITERATIONS = 500, 30


@dataclass(frozen=True)
class Tier:
    """How many rows are released, which learners see them, over how many splits and budgets."""

    name: str
    rows: int
    learners: tuple[str, ...]
    splits: int
    epsilons: tuple[float, ...]
    forest: dict[str, int]


QUICK = Tier("quick", 3_000, ("linear", "forest"), 3, (1.0,), {"n_estimators": 50, "max_depth": 12})
FULL = Tier("full", 8_000, ("linear", "svm", "forest", "boosting"), 5, (1.0, 4.0), {"n_estimators": 100})
TIERS = {tier.name: tier for tier in (QUICK, FULL)}
SWEEP = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 100.0)


class Rbf(BaseEstimator):  # type: ignore[misc]
    """SVC or SVR on a kernel made by matrix products; a numeric target is standardised, for C and epsilon have its unit."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def fit(self, X: np.ndarray, y: np.ndarray) -> Rbf:
        self.scaler_ = StandardScaler().fit(X)
        self.X_ = self.scaler_.transform(X)
        variance = float(self.X_.var())
        self.gamma_ = 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        number = self.task == "number"
        self.centre_, self.scale_ = (y.mean(), y.std() or 1.0) if number else (0.0, 1.0)
        machine = SVR(kernel="precomputed") if number else SVC(kernel="precomputed", cache_size=1000)
        self.machine_ = machine.fit(self._kernel(self.X_), (y - self.centre_) / self.scale_ if number else y)
        return self

    def _kernel(self, X: np.ndarray) -> np.ndarray:
        return rbf_kernel(X, self.X_, gamma=self.gamma_)

    def predict(self, X: np.ndarray) -> np.ndarray:
        found = self.machine_.predict(self._kernel(self.scaler_.transform(X)))
        return found * self.scale_ + self.centre_ if self.task == "number" else found

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return self.machine_.decision_function(self._kernel(self.scaler_.transform(X)))


def learner(name: str, task: Task, tier: Tier, column_classes: int, seed: int) -> Any:
    number = task == "number"
    if name == "linear":
        return make_pipeline(StandardScaler(), Ridge() if number else LogisticRegression(max_iter=200))
    if name == "svm":
        return Rbf(task)
    if name == "forest":
        if number:  # a third of the columns at each cut, as forests for numbers were proposed
            return RandomForestRegressor(max_features=1 / 3, random_state=seed, n_jobs=1, **tier.forest)
        return RandomForestClassifier(random_state=seed, n_jobs=1, **tier.forest)
    iterations = FEWER_ITERATIONS if column_classes > MANY_COLUMN_CLASSES else 100
    kind = HistGradientBoostingRegressor if number else HistGradientBoostingClassifier
    return kind(max_iter=iterations, random_state=seed)


class Constant(BaseEstimator):  # type: ignore[misc]
    """What is learned from rows of one class only."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Constant:
        self.y_ = y[0]
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.full(len(X), self.y_)

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X))


def score(model: Any, test: Rows, task: Task) -> float:
    if task == "number":
        return float(r2_score(test.y, model.predict(test.X)))
    if task == "classes":
        return float(accuracy_score(test.y, model.predict(test.X)))
    if len(np.unique(test.y)) < 2:
        return math.nan
    if hasattr(model, "predict_proba"):
        return float(roc_auc_score(test.y, model.predict_proba(test.X)[:, 1]))
    return float(roc_auc_score(test.y, model.decision_function(test.X)))


def own_score(told: dict[str, np.ndarray], truth: np.ndarray, task: Task) -> float:
    """The same score of predictions that a tool made itself."""
    if task == "number":
        return math.nan  # in units of the encoding
    if task == "classes":
        return float(np.mean(told["predicted"] == truth))
    place = np.flatnonzero(told["classes"] == 1)
    return float(roc_auc_score(truth, told["scores"][:, place[0]])) if len(place) else math.nan


def majority(train: Rows, test: Rows, task: Task) -> float:
    """What the most frequent class, or the mean, scores."""
    if task == "classes":
        return float(np.mean(test.y == np.bincount(train.y).argmax()))
    return 0.5 if task == "two classes" else 0.0


def scores(
    train: Rows, tests: dict[str, Rows], task: Task, classes: int, tier: Tier, seed: int
) -> dict[str, dict[str, float]]:
    """{view: {learner: score}} for every view of the test rows; each learner is trained once."""
    found: dict[str, dict[str, float]] = {view: {} for view in tests}
    alone = task != "number" and len(np.unique(train.y)) < 2
    for name in tier.learners:
        model = learner(name, task, tier, train.X.shape[1] * classes, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = (Constant() if alone else model).fit(train.X, train.y)
            for view, test in tests.items():
                found[view][name] = score(model, test, task)
    return found
