"""Every sum of every release, on an engine that runs tasks twice: the integers of one machine, by no rounded function."""

from __future__ import annotations

import importlib.util
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import gnomon
from gnomon.baseline import PrivateSvm
from gnomon.engine.cluster import Encode, Fold, Task
from gnomon.engine.local import LOCAL
from gnomon.errors import ParameterError
from gnomon.methods import METHODS
from gnomon.privacy.measure import _Together
from gnomon.statistics.queries import Query
from gnomon.table.schema import Schema

TARGETS = {
    "classes": '[columns.y]\nkind = "category"\nvalues = ["no", "yes"]\nrole = "target"\n',
    "estimated classes": '[columns.y]\nkind = "category"\nestimate = true\nrole = "target"\n',
    "number": '[columns.y]\nkind = "number"\nlow = 0\nhigh = 1\nrole = "target"\n',
    "no target": "",
}
COLUMNS = '[columns.x0]\nkind = "number"\nestimate = true\n' + "".join(
    f'[columns.x{j}]\nkind = "number"\nlow = -4\nhigh = 4\n' for j in range(1, 6)
)
ROWS = "[table]\nrows = 400\n"
OPTIONS: list[dict[str, Any]] = [
    {"delta": 1e-6},
    {"calibration": "paper"},
    {"adjacency": "add-remove", "delta": 1e-6},
    {},
    {"calibration": "paper", "delta": 1e-6},
    {"calibration": "paper", "delta": 1e-6, "pca": "analyze-gauss"},
    {"delta": 1e-6, "typical_distance": "estimate"},
    {"delta": 1e-6, "epsilon": 100.0},
]
ROUNDED = ("log", "log2", "log10", "log1p", "exp", "expm1", "exp2", "sin", "cos", "tan", "tanh", "arctan")


def restless(place: Path) -> Any:
    spec = importlib.util.spec_from_file_location(
        "cluster_tests", Path(__file__).with_name("test_cluster.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Restless(place)


class Compared:
    """An engine whose every sum must be that of one machine, over the rows that it has committed."""

    def __init__(self, engine: Any) -> None:
        self._engine, self.seen = engine, set[type]()
        self.encode, self.write = engine.encode, engine.write

    def fold(self, source: Any, query: Any, **told: Any) -> Any:
        self.seen |= set(_within(query))
        found = self._engine.fold(source, query, **told)
        expected = LOCAL.fold(source, query, stage="")
        assert found.dtype == expected.dtype == np.int64
        assert np.array_equal(found, expected)
        return found


def _within(query: Any) -> Iterator[type]:
    """The kinds of a query and of those that it is made of."""
    yield from type(query).__mro__
    for part in query.queries if isinstance(query, _Together) else vars(query).values():
        if isinstance(part, Query):
            yield from _within(part)


@pytest.fixture
def no_rounded_function(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Logarithms and the like, whose last bit differs between processors, fail in tasks that sum or encode."""
    run: Callable[[Task, Any], Any] = Task.__call__

    def refused(*_: Any) -> Any:
        raise AssertionError("a rounded function on a worker")

    def watched(task: Task, item: Any) -> Any:
        if not isinstance(task.function, Fold | Encode):
            return run(task, item)
        with monkeypatch.context() as patched:
            for name in ROUNDED:
                patched.setattr(np, name, refused)
                if hasattr(math, name):
                    patched.setattr(math, name, refused)
            return run(task, item)

    monkeypatch.setattr(Task, "__call__", watched)
    return None


def table(target: str, folder: Path) -> Path:
    """A file in several row groups, which workers read."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 6)), columns=[f"x{j}" for j in range(6)])
    if target != "no target":
        high = frame["x1"] + frame["x2"] > 0
        frame["y"] = rng.uniform(size=400) if target == "number" else np.where(high, "yes", "no")
    frame.to_parquet(folder / f"{target}.parquet", row_group_size=150)
    return folder / f"{target}.parquet"


def fitted(method: Any, target: str, data: Path, engine: Any, **told: Any) -> bool:
    """Whether the method takes such a table at all."""
    for columns in (COLUMNS, COLUMNS.replace("estimate = true", "low = -4\nhigh = 4")):
        try:
            method(**{"epsilon": 3.0} | told, schema=Schema.loads(ROWS + columns + TARGETS[target])).fit(
                data, engine=engine
            )
        except (ParameterError, TypeError):  # of an option that it does not have
            continue
        return True
    return False


def all_queries() -> set[type]:
    for module in pkgutil.walk_packages(gnomon.__path__, "gnomon."):
        if module.name.startswith(("gnomon.statistics", "gnomon.methods")):
            importlib.import_module(module.name)
    found, left = set(), [Query]
    while left:
        left += (below := left.pop().__subclasses__())
        found |= {one for one in below if not inspect.isabstract(one) and one.__module__.startswith("gnomon")}
    return found


@pytest.mark.filterwarnings("ignore")
def test_every_sum_of_every_release_is_that_of_one_machine(
    tmp_path: Path, no_rounded_function: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda file: None)
    engine, data = Compared(restless(tmp_path)), {target: table(target, tmp_path) for target in TARGETS}
    for name, method in {**METHODS, "private-svm": PrivateSvm}.items():
        small = {"candidates": 64} if name == "exponential" else {}
        taken = [
            fitted(method, target, data[target], engine, **small, **more)
            for target in TARGETS
            for more in (OPTIONS if target == "classes" else OPTIONS[:3])
        ]
        assert any(taken), name
    missing = {query.__name__ for query in all_queries() - engine.seen}
    assert not missing, f"queries that no release here has asked: {sorted(missing)}"
