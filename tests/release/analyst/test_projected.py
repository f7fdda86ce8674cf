"""Counts by value and class from projected rows with a noisy label beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.methods.charging import unaccounted
from gnomon.release.analyst.columns import Columns
from gnomon.release.analyst.projected import Labels, ProjectedAnswers
from gnomon.release.folder import write_release

VALUES = ("a", "b", "c", "d")
COLUMNS = Columns(
    gn.Schema(
        name="t",
        columns=(
            *(gn.Column(name=f"x{j}", kind="category", values=VALUES) for j in range(5)),
            gn.Column(name="y", kind="category", values=("p", "q"), role="target"),
        ),
    )
)


def answers(k: int, s: float, rng: np.random.Generator) -> tuple[ProjectedAnswers, np.ndarray]:
    n, m = 400, 20
    y = np.arange(n) % 4 == 0
    X = np.zeros((n, m))
    for j in range(5):
        X[np.arange(n), 4 * j + (np.arange(n) // (j + 3) + y) % 4] = 1.0
    Y = np.column_stack([~y, y]).astype(float)
    R = rng.standard_normal((m, k)) / np.sqrt(k)
    Z = X @ R + s * rng.standard_normal((n, k))
    labels = Labels(Y + 0.7 * s * rng.standard_normal((n, 2)), 0.7 * s)
    return ProjectedAnswers(Z, R, s, False, COLUMNS, labels), X.T @ Y


def test_intervals_of_counts_by_class_hold() -> None:
    rng, held, counts = np.random.default_rng(0), [], []
    _, quantities = COLUMNS.table("x1")
    for k, s in ((6, 0.5), (12, 2.0), (16, 0.2)):
        for _ in range(250):
            asked, truth = answers(k, s, rng)
            found = asked.table_by_class(quantities, limited=False)
            low, high = found.interval()
            inside = (low <= truth[4:8].ravel()) & (truth[4:8].ravel() <= high)
            held.append(inside.mean())
            low, high = asked.target_table().interval()
            counts.append(np.mean((low <= [300, 100]) & (high >= [300, 100])))
    assert 0.93 <= np.mean(held) <= 0.985
    assert 0.93 <= np.mean(counts) <= 0.97


def test_limited_tables_are_possible() -> None:
    asked, _ = answers(12, 1.0, np.random.default_rng(1))
    _, quantities = COLUMNS.table("x1")
    found = asked.table_by_class(quantities, limited=True)
    assert found.value.min() >= 0
    assert abs(found.value.sum() - 400) < 1e-6
    low, high = found.interval()
    assert np.all((low >= 0) & (high <= 400))


@pytest.mark.parametrize("k", [1, 2])
def test_a_release_of_one_or_two_components_says_that_it_knows_nothing(k: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = (
        gn.Column(name="ward", kind="category", values=("a", "b", "c")),
        gn.Column(name="home", kind="boolean"),
        gn.Column(name="ill", kind="boolean", role="target"),
    )
    table = pa.table(
        {"ward": rng.choice(["a", "b", "c"], 80), "home": rng.random(80) < 0.5, "ill": rng.random(80) < 0.4}
    )
    schema = gn.Schema(name="t", columns=columns)
    method = gn.JlLaplace(4.0, 0.0, schema=schema, n_components=k, random_state=1)
    write_release(method.fit(table, charge=unaccounted), tmp_path / "out")
    opened = gn.open_release(tmp_path / "out")
    for asked, told in ((["ward", "ill"], 2), (["ward", "home"], 3), (["ward"], 2)):
        counts = opened.marginal(asked).counts
        low, high = counts.interval()
        assert counts.value.sum() == pytest.approx(80)
        assert np.isfinite(counts.standard_error).all() == (k >= told)
        assert np.all(low >= 0)
        assert np.all(high <= 80)
