"""Missing cells: released rows have as many as real ones, and the cells that are there are like real ones that are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gnomon.methods.baseline.modips import Modips
from gnomon.methods.ron_gauss import RonGauss
from gnomon.model.missing import CellLaw, missing_cells
from gnomon.model.mixture import Mixture
from gnomon.statistics.frame import Frame
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema

SCHEMA = Schema(
    name="people",
    columns=(
        Column(name="income", kind="number", low=0, high=100, missing="indicator"),
        Column(name="level", kind="number", low=0, high=10, missing="indicator"),
        Column(name="ward", kind="category", values=("a", "b", "c"), missing="indicator"),
        Column(name="smokes", kind="boolean", missing="indicator"),
        Column(name="back", kind="boolean", role="target"),
    ),
)


def people(n: int = 20_000) -> pa.Table:
    """Incomes that one class tells more often than the other, a level that hardly ever lacks."""
    rng = np.random.default_rng(0)
    back = rng.random(n) < 0.3
    income = np.minimum(rng.exponential(12 + 8 * back), 100.0)
    level = np.clip(5 + 1.5 * rng.standard_normal(n) + back, 0, 10)
    return pa.table(
        {
            "income": pa.array(income, mask=rng.random(n) < np.where(back, 0.5, 0.35)),
            "level": pa.array(level, mask=rng.random(n) < 0.03),
            "ward": pa.array(
                np.array(["a", "b", "c"])[rng.choice(3, n, p=[0.6, 0.3, 0.1])], mask=rng.random(n) < 0.3
            ),
            "smokes": pa.array(rng.random(n) < 0.2 + 0.2 * back, mask=rng.random(n) < 0.4),
            "back": back,
        }
    )


def told(table: pa.Table, name: str, back: bool) -> tuple[float, np.ndarray]:
    """The share of a column's cells that are missing in a class, and the others."""
    column = table.filter(pc.equal(table["back"], back))[name]
    return column.null_count / len(column), column.drop_null().to_numpy().astype(float)


@pytest.mark.parametrize("method", [RonGauss, Modips])
def test_as_many_cells_are_missing_as_in_the_table_and_the_others_have_their_mean(method: Any) -> None:
    real = people()
    released = method(4.0, 1e-6, schema=SCHEMA).fit(real).sample(20_000)
    for name, width in (("income", 100), ("level", 10)):
        for back in (False, True):
            missing, cells = told(released, name, back)
            expected, others = told(real, name, back)
            assert 0.3 * expected < missing < 1.5 * expected, name
            assert abs(cells.mean() - others.mean()) < 0.04 * width, name
    smokes = [one["smokes"].drop_null().to_numpy(zero_copy_only=False).mean() for one in (released, real)]
    assert abs(smokes[0] - smokes[1]) < 0.04
    wards = [pc.mean(pc.equal(one["ward"].drop_null(), "b")).as_py() for one in (released, real)]
    assert abs(wards[0] - wards[1]) < 0.03
    assert 0.01 < released["level"].null_count / 20_000 < 0.06
    assert abs(released["ward"].null_count / 20_000 - 0.3) < 0.03


@pytest.mark.parametrize("method", [RonGauss, Modips])
def test_cells_that_one_class_lacks_take_no_share_from_the_other(method: Any) -> None:
    """Most of those who smoke do not say so: what their cells would be must not use up the share of yes."""
    rng = np.random.default_rng(3)
    n = 20_000
    back = np.arange(n) % 2 == 1
    absent = rng.random(n) < np.where(back, 0.8, 0.1)
    yes = rng.random(n) < np.where(back, 0.8, 0.2)
    columns = (*SCHEMA.columns[2:4], SCHEMA.columns[4])
    wards = np.where(yes, "a", np.where(rng.random(n) < 0.5, "b", "c"))
    real = pa.table(
        {"ward": pa.array(wards, mask=absent), "smokes": pa.array(yes, mask=absent), "back": back}
    )
    released = method(8.0, 1e-6, schema=Schema(name="t", columns=columns)).fit(real).sample(20_000)
    for name, value in (("smokes", True), ("ward", "a")):
        shares = [pc.mean(pc.equal(one[name].drop_null(), value)).as_py() for one in (released, real)]
        assert abs(shares[0] - shares[1]) < 0.04


def test_a_column_without_any_cell_is_released_without_any() -> None:
    table = people(20_000).set_column(0, "income", pa.nulls(20_000, pa.float64()))
    released = Modips(2.0, 1e-6, schema=SCHEMA).fit(table).sample(1_000)
    assert released["income"].null_count > 900
    assert released["level"].null_count < 100


def drawn(mark: float, cell: float, spread: float, between: float, n: int = 50_000) -> tuple[Any, np.ndarray]:
    """A column with columns alone, by a Gaussian of one component with the moments of such cells."""
    schema = Schema(name="t", columns=SCHEMA.columns[:1])
    q, square = mark, (1 - mark) * (spread**2 + cell**2)
    mean = np.array([(1 - q) * cell, q])
    covariance = np.array([[square - mean[0] ** 2, between], [between, q * (1 - q)]])
    mixture = Mixture(np.ones(1), mean[None], covariance[None])
    (column,) = missing_cells(Encoder(schema).groups, CellLaw.of(Frame.identity(2, radius=1.0), mixture))
    rng = np.random.default_rng(1)
    cells = rng.multivariate_normal(mean, covariance, n, check_valid="ignore")
    column.impute(cells, np.zeros(n, dtype=np.int64))
    return column, cells


@pytest.mark.parametrize("mark", [0.02, 0.4, 0.9])
def test_moments_of_what_is_there_are_read_from_those_of_all(mark: float) -> None:
    between = -mark * (1 - mark) * -0.8  # missing cells count as 0, the others lie around -0.8
    column, cells = drawn(mark, -0.8, 0.1, between)
    assert column.level[0, 0] == pytest.approx(-0.8)
    assert column.spread[0, 0] == pytest.approx(0.1)
    assert set(np.unique(cells[:, 1])) == {0.0, 1.0}
    assert cells[:, 1].mean() == pytest.approx(mark, abs=0.01)
    there = cells[cells[:, 1] == 0, 0]
    assert there.mean() == pytest.approx(-0.8, abs=0.01)
    assert there.std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(("mark", "missing"), [(0.0, 0.0), (1.0, 1.0)])
def test_a_column_with_no_column_or_no_cell_stays_so(mark: float, missing: float) -> None:
    _, cells = drawn(mark, 0.3, 0.2, 0.0)
    assert cells[:, 1].mean() == missing
    assert np.isfinite(cells).all()


def test_a_variance_that_is_too_small_leaves_cells_their_spread() -> None:
    """Of Var(cell), nearly all is that cells are missing: a tenth less of it must not be taken for no spread at all."""
    schema = Schema(name="t", columns=SCHEMA.columns[:1])
    mean, q = np.array([-0.32, 0.6]), 0.6
    covariance = np.array([[0.4 * (0.1**2 + 0.8**2) - 0.32**2, 0.8 * 0.24], [0.8 * 0.24, 0.24]])
    mixture = Mixture(np.ones(1), mean[None], 0.9 * covariance[None])
    (column,) = missing_cells(Encoder(schema).groups, CellLaw.of(Frame.identity(2, radius=1.0), mixture))
    assert column.spread[0, 0] == pytest.approx(0.1, rel=0.1)
    assert column.observed[0] == pytest.approx(1 - q)


def test_a_cell_that_the_model_cannot_tell_from_its_mark_still_varies() -> None:
    schema = Schema(name="t", columns=SCHEMA.columns[:1])
    both = np.array([0.3, 0.4])
    mixture = Mixture(np.ones(1), np.array([[-0.2, 0.4]]), np.outer(both, both)[None])
    (column,) = missing_cells(Encoder(schema).groups, CellLaw.of(Frame.identity(2, radius=1.0), mixture))
    assert column.spread[0, 0] == pytest.approx(0.3)


def test_noise_that_makes_moments_absurd_gives_numbers() -> None:
    schema = Schema(name="t", columns=SCHEMA.columns[:1])
    for mean, scale in (([0.9, -0.3], 1e-14), ([-3.0, 1.4], 5.0), ([0.5, 0.999], 1e-3)):
        mixture = Mixture(np.ones(1), np.array([mean]), scale * np.array([[[1.0, 0.999], [0.999, 1.0]]]))
        (column,) = missing_cells(Encoder(schema).groups, CellLaw.of(Frame.identity(2, radius=1.0), mixture))
        cells = np.random.default_rng(2).standard_normal((100, 2))
        column.impute(cells, np.zeros(100, dtype=np.int64))
        assert np.isfinite(cells).all()
        assert -1 <= column.level[0, 0] <= 1
        assert 0 < column.spread[0, 0] <= 1
