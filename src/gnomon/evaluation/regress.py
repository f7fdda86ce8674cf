"""Train a regression on some rows, test it on real ones; targets are scaled to [-1, 1] by their declared bounds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon.evaluation.limits import Limits
from gnomon.evaluation.sides import Side

MODELS = ("ridge", "kernel ridge", "forest")
METRICS = ("RMSE", "R2")


def floor(train: Side, test: Side) -> dict[str, float]:
    """The mean of the real training targets, whatever the row says."""
    return _tested(DummyRegressor().fit(train.X, train.y), test)


def score(model: str, train: Side, test: Side, limits: Limits, rng: np.random.Generator) -> dict[str, float]:
    """Root mean squared error and R2 of one model."""
    if model == "kernel ridge" and len(train) > limits.kernel:
        train = train.take(rng.choice(len(train), limits.kernel, replace=False))
    made: dict[str, Any] = {
        "ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
        "kernel ridge": lambda: _CentredKernelRidge(),
        "forest": lambda: RandomForestRegressor(n_estimators=100, random_state=int(rng.integers(2**31))),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _tested(made[model]().fit(train.X, train.y), test)


class _CentredKernelRidge:
    """Kernel ridge has no intercept: the mean of the target is taken off before and put back after."""

    def fit(self, X: Any, y: Any) -> _CentredKernelRidge:
        self._mean = float(np.mean(y))
        self._model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", gamma=1 / X.shape[1]))
        self._model.fit(X, y - self._mean)
        return self

    def predict(self, X: Any) -> Any:
        return self._model.predict(X) + self._mean


def _tested(model: Any, test: Side) -> dict[str, float]:
    predicted = model.predict(test.X)
    error = float(np.sqrt(np.mean((predicted - test.y) ** 2)))
    return {"RMSE": error, "R2": float(r2_score(test.y, predicted))}
