"""Train a classifier on some rows, test it on real ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gnomon.evaluation.limits import Limits
from gnomon.evaluation.sides import Side

MODELS = ("logistic", "svm", "forest")
METRICS = ("accuracy", "balanced accuracy", "AUROC", "AUPRC")


def floor(train: Side, test: Side) -> dict[str, float]:
    """The most frequent class of the training rows, whatever the row says."""
    return _tested(DummyClassifier(strategy="most_frequent").fit(train.X, train.y), test)


def score(model: str, train: Side, test: Side, limits: Limits, rng: np.random.Generator) -> dict[str, float]:
    """The four metrics of one model; a training set with one class only can but repeat it."""
    seed = int(rng.integers(2**31))
    if model == "svm" and len(train) > limits.kernel:
        train = train.take(rng.choice(len(train), limits.kernel, replace=False))
    if len(np.unique(np.asarray(train.y))) < 2:
        return floor(train, test)
    made: dict[str, Any] = {
        "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "svm": lambda: make_pipeline(StandardScaler(), SVC(random_state=seed)),
        "forest": lambda: RandomForestClassifier(n_estimators=100, random_state=seed),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a solver that stops early on noisy rows is a result, not an error
        return _tested(made[model]().fit(train.X, train.y), test)


def _tested(model: Any, test: Side) -> dict[str, float]:
    """AUROC and AUPRC are one class against the rest, averaged by the classes' shares of the test rows."""
    assert test.y is not None
    scores = _scores(model, test.X)
    # of two classes the larger score is the prediction, and a kernel machine need not be asked twice
    predicted = model.classes_[np.argmax(scores, axis=1)] if scores.shape[1] == 2 else model.predict(test.X)
    shares, roc, precision = [], [], []
    for c in np.unique(test.y):
        mine = test.y == c
        place = np.flatnonzero(model.classes_ == c)
        column = scores[:, place[0]] if len(place) else np.zeros(len(mine))
        shares.append(mine.mean())
        roc.append(roc_auc_score(mine, column) if not mine.all() else 0.5)
        precision.append(average_precision_score(mine, column))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that only the prediction has
        balanced = balanced_accuracy_score(test.y, predicted)
    return {
        "accuracy": float(accuracy_score(test.y, predicted)),
        "balanced accuracy": float(balanced),
        "AUROC": float(np.average(roc, weights=shares)),
        "AUPRC": float(np.average(precision, weights=shares)),
    }


def _scores(model: Any, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """A column of scores for each class that the model knows."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    decided = np.asarray(model.decision_function(X))
    return np.column_stack([-decided, decided]) if decided.ndim == 1 else decided
