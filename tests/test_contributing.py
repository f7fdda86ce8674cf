"""CONTRIBUTING's examples work as written: a query, a method and an engine from outside the package."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.methods import METHODS
from gnomon.plan import plan
from gnomon.privacy.guarantee import PureDP
from gnomon.release.folder import write_release
from gnomon.release.measurements import read_measurements

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def example() -> Any:
    """The names that the page's Python blocks define, in order."""
    import sys
    import types

    module = types.ModuleType("contributed")
    sys.modules["contributed"] = module
    for block in re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        exec(compile(block, "CONTRIBUTING.md", "exec"), module.__dict__)
    yield module
    METHODS.unregister("corners")
    del sys.modules["contributed"]


def rows(n: int = 2000) -> np.ndarray:
    return np.random.default_rng(0).beta([1, 2, 5], [5, 2, 1], (n, 3))


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_toy_method_is_a_release_like_any_other(
    example: Any, tmp_path: Path, adjacency: str, delta: float
) -> None:
    method = METHODS["corners"](
        epsilon=1.0,
        delta=delta,
        schema=gn.Schema.of_arrays(3, (0, 1)),
        adjacency=adjacency,
        expected_rows=2000,
    )
    method.fit(rows())
    assert method.certificate_.holds
    assert [event.statistic for event in method.events_] == ["high cells of every column"]
    write_release(method, tmp_path / "first", rows=100)
    write_release(read_measurements(tmp_path / "first").replay(), tmp_path / "second", rows=100)
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()


def test_the_toy_method_shows_the_shares(example: Any) -> None:
    method = example.Corners(np.inf, bounds=(0, 1), not_private=True).fit(rows())
    share = (rows() > 0.5).mean(axis=0)
    assert np.allclose(method.model_.means[0], 2 * share - 1, atol=1e-3)


def test_the_toy_method_without_a_plan_is_passed_over(example: Any) -> None:
    assert "corners" in METHODS
    assert "corners" not in {one.method for one in plan(gn.Schema.of_arrays(3, (0, 1)), 100, PureDP(1.0))}


def test_the_toy_engine_gives_the_same_integers(example: Any) -> None:
    for name in ("corners", "ron-gauss", "modips"):
        told = {"epsilon": np.inf, "bounds": (0, 1), "not_private": True, "random_state": 1}
        here = METHODS[name](**told).fit(rows())
        there = METHODS[name](**told).fit(rows(), engine=example.OneByOne())
        for first, second in zip(here.answers_, there.answers_, strict=True):
            assert np.array_equal(first.value, second.value)


def test_the_toy_query_is_a_plain_value(example: Any) -> None:
    query = pickle.loads(pickle.dumps(example.HighCells("x", 3)))
    assert query.noise(PureDP(2.0)).scale == pytest.approx(1.5)


def test_every_file_of_the_walk_exists() -> None:
    section = TEXT[TEXT.index("One release, file by file") : TEXT.index("## Rules")]
    named = re.findall(r"`((?:\w+/)*\w+(?:\.py|/))`", section)
    assert 20 <= len(named) <= 25
    for name in named:
        assert (Path(gn.__file__).parent / name).exists(), name
