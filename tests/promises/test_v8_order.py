"""V8: the order of rows is not published."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.audit.instrumentation import Watch
from gnomon.release.folder import write_release
from gnomon.release.measurements import read_measurements

N = 2000
METHODS = {
    "JlLaplace": (50.0,),
    "DpPro": (50.0, 1e-6),
    "Dprp": (50.0, 1e-6),
}  # weak budgets: rows stay visible
UNRELATED = 0.15  # of a correlation, which has the standard deviation 1/sqrt(N) after a shuffle


def released(custodian: Any, name: str, seed: int | None) -> np.ndarray:
    """The first column of a row release of a table that is kept sorted by its one column."""
    table = pa.table({"x0": np.linspace(-1, 1, N)})
    method = getattr(gn, name)(*METHODS[name], schema=gn.Schema.of_arrays(1, (-1, 1)), random_state=seed)
    return custodian.publish(table, method).rows.column(0).to_numpy()


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    return abs(float(np.corrcoef(a, b)[0, 1]))


@pytest.mark.parametrize("name", METHODS)
def test_released_rows_are_shuffled(custodian: Any, name: str) -> None:
    """A row release is a multiset: the place of a released row says nothing of its record.

    In a sorted table the place alone would tell a record's value. The permutation is free post-processing.
    """
    assert correlation(released(custodian, name, None), np.arange(N)) < UNRELATED


@pytest.mark.parametrize("name", METHODS)
def test_the_permutation_is_not_seeded(custodian: Any, name: str) -> None:
    """Two releases with one `random_state` have unrelated orders: a recorded seed would give the order back."""
    first, second = (released(custodian, name, seed=0) for _ in range(2))
    assert correlation(first, second) < UNRELATED


@pytest.mark.parametrize("name", METHODS)
def test_an_estimator_shuffles_too(name: str) -> None:
    """`sample` of a row release returns the rows in the shuffled order, the same at every call."""
    method = getattr(gn, name)(*METHODS[name], bounds=(-1, 1)).fit(np.linspace(-1, 1, N)[:, None])
    rows = np.asarray(method.sample())[:, 0]
    assert np.array_equal(rows, np.asarray(method.sample())[:, 0])
    assert correlation(rows, np.arange(N)) < UNRELATED


@pytest.mark.parametrize("name", METHODS)
def test_the_custodian_may_keep_the_permutation(name: str, tmp_path: Path) -> None:
    """`permutation_` tells the record of every released row; no file of the folder has it, and no replay."""
    X = np.linspace(-1, 1, N)[:, None]
    method = getattr(gn, name)(1e6, *METHODS[name][1:], bounds=(-1, 1)).fit(X)
    rows, order = np.asarray(method.sample())[:, 0], method.permutation_
    assert sorted(order) == list(range(N))
    assert correlation(rows, X[order, 0]) > 0.9
    write_release(method, tmp_path / "out")
    recorded = read_measurements(tmp_path / "out")
    for answer in recorded.answers:
        assert not np.array_equal(np.sort(np.ravel(_integers(answer))), np.arange(N))
    assert recorded.replay().permutation_ is None
    assert pickle.loads(pickle.dumps(method)).permutation_ is None


def _integers(answer: Any) -> np.ndarray:
    value = answer.value
    return np.asarray(value) if isinstance(value, np.ndarray) else np.concatenate(list(value.chunks()))[:, 0]


@pytest.mark.parametrize("name", METHODS)
def test_an_order_that_is_kept_is_said_to_be_public(name: str) -> None:
    X = np.linspace(-1, 1, N)[:, None]
    method = getattr(gn, name)(*METHODS[name], bounds=(-1, 1), order="kept").fit(X)
    assert correlation(np.asarray(method.sample())[:, 0], np.arange(N)) > 0.3
    assert any("order of the rows" in line for line in method.certificate_.public)
    assert np.array_equal(method.permutation_, np.arange(N))
    usual = getattr(gn, name)(*METHODS[name], bounds=(-1, 1)).fit(X).certificate_
    assert not any("order of the rows" in line for line in usual.public)
    assert any("shuffled" in line for line in usual.post_processing)


def test_another_word_for_an_order_is_refused(refusal: type[Exception]) -> None:
    with pytest.raises(refusal, match="must be 'shuffled' or 'kept'"):
        gn.JlLaplace(1.0, bounds=(-1, 1), order="sorted").fit(np.zeros((5, 2)))


def test_an_observer_sees_the_rows_in_the_order_of_the_table() -> None:
    """Audits compare released rows with records; what is published is shuffled all the same."""
    X, watch = np.linspace(-1, 1, N)[:, None], Watch()
    method = gn.JlLaplace(1e6, bounds=(-1, 1)).fit(X, observer=watch)
    seen = [step for step in watch.steps if np.shape(step.released)[:1] == (N,)]
    assert correlation(seen[-1].released[:, 0], np.arange(N)) > 0.99
    assert correlation(np.asarray(method.sample())[:, 0], np.arange(N)) < UNRELATED
