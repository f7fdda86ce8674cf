"""Missing cells: released rows have as many as real ones, and the cells that are there are like real ones that are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gnomon.baseline.modips import Modips
from gnomon.model.mixture import Mixture
from gnomon.projection.orthonormal import haar
from gnomon.release.gaps import CellLaw, gaps
from gnomon.release.map import PublicMap
from gnomon.release.pca_gauss import PcaGauss
from gnomon.release.ron_gauss import RonGauss
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


@pytest.mark.parametrize("method", [PcaGauss, RonGauss, Modips])
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


def test_cells_that_are_there_have_their_shape() -> None:
    real = people()
    fitted = PcaGauss(8.0, 1e-6, schema=SCHEMA).fit(real)
    assert [shape.place for shape in fitted.shapes_] == [0, 2]
    for back in (False, True):
        (_, cells), (_, others) = (told(one, "income", back) for one in (fitted.sample(20_000), real))
        low, middle, high = np.quantile(others, [0.1, 0.5, 0.9])
        assert np.quantile(cells, [0.1, 0.5, 0.9]) == pytest.approx([low, middle, high], rel=0.1, abs=0.8)


@pytest.mark.parametrize("method", [PcaGauss, RonGauss])
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
    released = PcaGauss(2.0, 1e-6, schema=SCHEMA).fit(table).sample(1_000)
    assert released["income"].null_count > 900
    assert released["level"].null_count < 100


def drawn(mark: float, cell: float, spread: float, between: float, n: int = 50_000) -> tuple[Any, np.ndarray]:
    """A column with gaps alone, by a Gaussian of one component with the moments of such cells."""
    schema = Schema(name="t", columns=SCHEMA.columns[:1])
    q, square = mark, (1 - mark) * (spread**2 + cell**2)
    mean = np.array([(1 - q) * cell, q])
    covariance = np.array([[square - mean[0] ** 2, between], [between, q * (1 - q)]])
    mixture = Mixture(np.ones(1), mean[None], covariance[None])
    (gap,) = gaps(Encoder(schema).groups, CellLaw.of(PublicMap.identity(2, radius=1.0), mixture))
    rng = np.random.default_rng(1)
    cells = rng.multivariate_normal(mean, covariance, n, check_valid="ignore")
    gap.settle(cells, np.zeros(n, dtype=np.int64))
    return gap, cells


@pytest.mark.parametrize("mark", [0.02, 0.4, 0.9])
def test_moments_of_what_is_there_are_read_from_those_of_all(mark: float) -> None:
    between = -mark * (1 - mark) * -0.8  # missing cells count as 0, the others lie around -0.8
    gap, cells = drawn(mark, -0.8, 0.1, between)
    assert gap.level[0, 0] == pytest.approx(-0.8)
    assert gap.spread[0, 0] == pytest.approx(0.1)
    assert set(np.unique(cells[:, 1])) == {0.0, 1.0}
    assert cells[:, 1].mean() == pytest.approx(mark, abs=0.01)
    there = cells[cells[:, 1] == 0, 0]
    assert there.mean() == pytest.approx(-0.8, abs=0.01)
    assert there.std() == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(("mark", "missing"), [(0.0, 0.0), (1.0, 1.0)])
def test_a_column_with_no_gap_or_no_cell_stays_so(mark: float, missing: float) -> None:
    _, cells = drawn(mark, 0.3, 0.2, 0.0)
    assert cells[:, 1].mean() == missing
    assert np.isfinite(cells).all()


def test_a_variance_that_is_too_small_leaves_cells_their_spread() -> None:
    """Of Var(cell), nearly all is that cells are missing: a tenth less of it must not be taken for no spread at all."""
    schema = Schema(name="t", columns=SCHEMA.columns[:1])
    mean, q = np.array([-0.32, 0.6]), 0.6
    covariance = np.array([[0.4 * (0.1**2 + 0.8**2) - 0.32**2, 0.8 * 0.24], [0.8 * 0.24, 0.24]])
    mixture = Mixture(np.ones(1), mean[None], 0.9 * covariance[None])
    (gap,) = gaps(Encoder(schema).groups, CellLaw.of(PublicMap.identity(2, radius=1.0), mixture))
    assert gap.spread[0, 0] == pytest.approx(0.1, rel=0.1)
    assert gap.there[0] == pytest.approx(1 - q)


def test_a_cell_that_the_model_cannot_tell_from_its_mark_still_varies() -> None:
    schema = Schema(name="t", columns=SCHEMA.columns[:1])
    both = np.array([0.3, 0.4])
    mixture = Mixture(np.ones(1), np.array([[-0.2, 0.4]]), np.outer(both, both)[None])
    (gap,) = gaps(Encoder(schema).groups, CellLaw.of(PublicMap.identity(2, radius=1.0), mixture))
    assert gap.spread[0, 0] == pytest.approx(0.3)


def test_noise_that_makes_moments_absurd_gives_numbers() -> None:
    schema = Schema(name="t", columns=SCHEMA.columns[:1])
    for mean, scale in (([0.9, -0.3], 1e-14), ([-3.0, 1.4], 5.0), ([0.5, 0.999], 1e-3)):
        mixture = Mixture(np.ones(1), np.array([mean]), scale * np.array([[[1.0, 0.999], [0.999, 1.0]]]))
        (gap,) = gaps(Encoder(schema).groups, CellLaw.of(PublicMap.identity(2, radius=1.0), mixture))
        cells = np.random.default_rng(2).standard_normal((100, 2))
        gap.settle(cells, np.zeros(100, dtype=np.int64))
        assert np.isfinite(cells).all()
        assert -1 <= gap.level[0, 0] <= 1
        assert 0 < gap.spread[0, 0] <= 1


def test_covariances_of_cells_are_those_of_rows_as_they_are_drawn() -> None:
    """In fewer dimensions than columns, with unequal weights and spread left outside the subspace."""
    rng = np.random.default_rng(8)
    m, p, n = 5, 2, 200_000
    W, weight, outside = haar(m, p, rng), rng.uniform(0.3, 3.0, m), rng.uniform(0.1, 0.5, m)
    chart = PublicMap(rng.uniform(-0.2, 0.2, m), weight, False, W, np.zeros(p), 0.7)
    mixture = Mixture(np.ones(1), np.zeros((1, p)), np.array([[[0.5, 0.2], [0.2, 0.3]]]))
    law = CellLaw.of(chart, mixture, outside)
    E = rng.standard_normal((n, m)) * outside
    E -= (E @ W) @ W.T
    cells = chart.lift(rng.multivariate_normal(np.zeros(p), mixture.covariances[0], n)) + E / weight
    i, j = np.triu_indices(m)
    found = law.covariances(list(i), list(j))[0]
    assert np.allclose(found, np.cov(cells.T)[i, j], atol=0.02 * float(np.abs(found).max()))
