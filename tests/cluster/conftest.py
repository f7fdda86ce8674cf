"""Real clusters on loopback: worker processes that tests may kill, and tables to release."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gnomon.table.rows import Layout, Rows
from gnomon.table.schema import Schema


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("GNOMON_TEST_CLUSTER"):
        return
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.skip(reason="starts a cluster or a server: run by make test-cluster"))


SCHEMA = """[columns.x]
kind = "number"
low = 0
high = 9
[columns.z]
kind = "number"
low = -3
high = 3
missing = "indicator"
[columns.kind]
kind = "category"
values = ["a", "b", "c"]
[columns.y]
kind = "category"
values = [0, 1]
role = "target"
"""


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("queries_of_tests", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def queries() -> ModuleType:
    """Every query, random partitions and a table, as the tests of queries have them."""
    return _load(Path(__file__).parents[1] / "statistics" / "test_queries.py")


class AsTheyAre:
    """An encoder of rows that are encoded already."""

    def __init__(self, width: int) -> None:
        self.layout, self.portable = Layout(width, classes=True, number=True), False

    def encode(self, rows: Rows) -> Rows:
        return rows


@pytest.fixture(scope="session")
def as_they_are() -> type[AsTheyAre]:
    return AsTheyAre


@pytest.fixture(scope="session")
def schema() -> Schema:
    return Schema.loads(SCHEMA)


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    rng, n = np.random.default_rng(0), 4000
    z = rng.normal(size=n)
    z[::7] = np.nan
    return pd.DataFrame(
        {
            "x": rng.uniform(0, 9, n),
            "z": z,
            "kind": rng.choice(["a", "b", "c"], n),
            "y": rng.choice([0, 1], n),
            "secret": rng.choice(["1-800-SECRET"], n),
        }
    )


def answers(method: Any) -> list[Any]:
    return [answer.value for answer in method.answers_]


@pytest.fixture
def leftovers(tmp_path: Path) -> Iterator[Path]:
    """A shared folder that must be empty in the end."""
    yield tmp_path
    assert not list(tmp_path.glob("gnomon-*"))
