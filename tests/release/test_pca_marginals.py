"""Shapes of columns in PCA-Gauss: what one record can move, what is paid, and what rows look like."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gnomon.errors import GnomonWarning
from gnomon.evaluate.fidelity import marginals
from gnomon.model.mixture import Mixture
from gnomon.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from gnomon.release import pca_gauss, pca_marginals
from gnomon.release.base import Account
from gnomon.release.gaps import CellLaw
from gnomon.release.map import PublicMap
from gnomon.release.pca_gauss import PcaGauss, plan
from gnomon.release.pca_marginals import CLASSES, bins_of, numbers, parts, shapes
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema

SCHEMA = Schema(
    name="visits",
    columns=(
        Column(name="stay", kind="number", low=0, high=60, missing="indicator"),
        Column(name="cost", kind="number", low=0, high=50_000, log=True),
        Column(name="age", kind="number", low=0, high=110, integer=True),
        Column(name="pain", kind="category", values=("none", "some", "much"), ordered=True),
        Column(name="ward", kind="category", values=("a", "b")),
        Column(name="back", kind="boolean", role="target"),
    ),
)


def visits(n: int, seed: int = 0) -> pa.Table:
    """Zeros, two humps, whole numbers, missing cells: nothing here is normal."""
    rng = np.random.default_rng(seed)
    back = rng.random(n) < 0.3
    stay = np.where(rng.random(n) < 0.5, 0.0, np.minimum(rng.exponential(5 + 5 * back), 60.0))
    cost = np.where(stay > 0, np.exp(6 + 0.1 * stay + rng.standard_normal(n)), 0.0)
    age = np.rint(
        np.clip(np.where(rng.random(n) < 0.4 + 0.2 * back, 75, 28) + 8 * rng.standard_normal(n), 0, 110)
    )
    return pa.table(
        {
            "stay": pa.array(stay, mask=rng.random(n) < 0.15),
            "cost": np.minimum(cost, 50_000.0),
            "age": age.astype(np.int64),
            "pain": np.array(["none", "some", "much"])[rng.choice(3, n, p=[0.7, 0.1, 0.2])],
            "ward": np.array(["a", "b"])[(rng.random(n) < 0.5).astype(int)],
            "back": back,
        }
    )


def counts_of(table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> tuple[list[np.ndarray], list[float]]:
    """What is counted in the columns of a table, by a model that does not depend on it; and the charged distances."""
    found: list[np.ndarray] = []
    charged: list[float] = []
    real = pca_marginals.release_vector

    def watched(value: np.ndarray, sensitivity: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(value.copy())
        charged.append(float(sensitivity.value))
        return real(value, sensitivity, *args, **kwargs)

    method = PcaGauss(1.0, 1e-6, schema=SCHEMA)
    opened = method._open(table, None, lambda *told: None)
    same = PublicMap.identity(opened.m, radius=1.0)
    model = Mixture(np.array([0.7, 0.3]), np.zeros((2, opened.m)), np.tile(np.eye(opened.m) / 4, (2, 1, 1)))
    with monkeypatch.context() as patched:
        patched.setattr(pca_marginals, "release_vector", watched)
        shapes(opened, Account(method._guarantee()), GaussianDP(0.5), CellLaw.of(same, model))
    return found, charged


def test_one_record_moves_the_counts_as_far_as_is_charged_and_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Records at opposite ends of every column, of other classes, with and without missing cells."""
    table = visits(400)
    ends = pa.table(
        {
            "stay": pa.array([0.0, 60.0, None, 30.0]),
            "cost": [0.0, 50_000.0, 10.0, 200.0],
            "age": pa.array([0, 110, 50, 50]),
            "pain": ["none", "much", "some", "some"],
            "ward": ["a", "b", "a", "b"],
            "back": [False, True, False, True],
        }
    ).cast(table.schema)
    worst, pure = np.zeros(2), float(pca_marginals._sensitivity(4, PureDP(1.0)).value)
    for i in range(4):
        for j in range(4):
            one, charged = counts_of(pa.concat_tables([table, ends.slice(i, 1)]), monkeypatch)
            two, _ = counts_of(pa.concat_tables([table, ends.slice(j, 1)]), monkeypatch)
            moved = [float(np.linalg.norm(a - b)) for a, b in zip(one, two, strict=True)]
            assert all(far <= most for far, most in zip(moved, charged, strict=True))
            assert all(np.abs(a - b).sum() <= pure for a, b in zip(one, two, strict=True))
            worst = np.maximum(worst, moved)
    assert worst == pytest.approx(math.sqrt(2 * 4))  # four columns of numbers: the charge is tight


def test_every_row_is_in_one_bin_of_every_column_whose_cell_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    table = visits(500)
    (overall, classes), _ = counts_of(table, monkeypatch)
    assert overall.sum() == classes.sum() == 4 * 500 - table["stay"].null_count
    assert overall.min() >= 0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_shapes_are_paid_from_the_budget_and_no_budget_is_left_or_overdrawn(delta: float) -> None:
    fitted = PcaGauss(1.0, delta, schema=SCHEMA).fit(visits(20_000))
    assert fitted.shapes_
    told = [event for event in fitted.events_ if event.statistic.startswith("histograms of 4 columns")]
    assert len(told) == 2
    if delta == 0:
        assert sum(event.loss.epsilon for event in fitted.events_) == pytest.approx(1.0)
    else:
        mu = math.sqrt(sum(event.loss.mu**2 for event in fitted.events_))
        assert mu == pytest.approx(Account(ApproxDP(1.0, delta)).spendable(8).mu)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_plan_names_the_noise_of_a_bin(delta: float) -> None:
    guarantee = ApproxDP(1.0, delta) if delta else PureDP(1.0)
    planned = PcaGauss.plan(Encoder(SCHEMA), 20_000, guarantee)
    line = next(line for line in planned.noise if line.statistic == "bin of a column of numbers")
    event = next(
        event
        for event in PcaGauss(1.0, delta, schema=SCHEMA).fit(visits(20_000)).events_
        if event.statistic == "histograms of 4 columns"
    )
    assert line.mechanism == event.mechanism
    assert line.std == pytest.approx(event.scale * (1 if delta else math.sqrt(2)), rel=0.01)
    few = PcaGauss.plan(Encoder(SCHEMA), 400, guarantee)
    assert all(line.statistic != "bin of a column of numbers" for line in few.noise)


@pytest.mark.parametrize(
    ("target", "task"), [("back", "classification"), ("cost", "regression"), (None, "clustering")]
)
def test_released_columns_look_like_real_ones(
    target: str | None, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = (
        column.model_copy(update={"role": "target" if column.name == target else None})
        for column in SCHEMA.columns
    )
    schema = Schema(name="visits", columns=tuple(columns))
    table = visits(20_000)
    with_shapes = PcaGauss(1.0, 1e-6, schema=schema).fit(table)
    assert with_shapes.encoder_.task == task
    assert len(with_shapes.shapes_) >= 2
    monkeypatch.setattr(pca_gauss, "bins_of", lambda *told: 0)
    without = PcaGauss(1.0, 1e-6, schema=schema).fit(table)
    assert not without.shapes_
    near, far = (
        float(np.mean(marginals(pa.concat_tables(one.sample_batches(20_000)), table, schema)))
        for one in (with_shapes, without)
    )
    assert near < 0.6 * far


def test_what_depends_on_each_other_still_does() -> None:
    table = visits(20_000)
    fitted = PcaGauss(1.0, 1e-6, schema=SCHEMA).fit(table)
    drawn = pa.concat_tables(fitted.sample_batches(20_000))
    real, ours = (np.corrcoef(Encoder(SCHEMA).encode(rows.combine_chunks()).X.T) for rows in (table, drawn))
    assert np.abs(real).max(where=~np.eye(len(real), dtype=bool), initial=0) > 0.5
    assert np.abs(real - ours).max() < 0.2


def test_real_rows_need_no_map_beside_rows_that_have_their_shapes() -> None:
    table = visits(20_000)
    fitted = PcaGauss(1.0, 1e-6, schema=SCHEMA).fit(table)
    assert fitted.published_map_.projection is None
    seen = fitted.transform(table.slice(0, 50))
    for name in ("age", "pain", "ward", "back"):
        assert seen[name].to_pylist() == table[name][:50].to_pylist()
    assert np.allclose(seen["cost"].to_numpy(), table["cost"][:50].to_numpy(), rtol=1e-12, atol=1e-9)
    held = PublicMap.of_arrays(fitted.public_arrays())
    assert held.shows_all
    assert not fitted.map_.shows_all
    assert held.n_features == fitted.map_.n_features


def test_public_numbers_decide_who_is_counted() -> None:
    loss = GaussianDP(0.2)
    assert "shapes" in plan(30_000, 40, 2, "classification", loss, numbers=10).shares
    assert "shapes" not in plan(300, 40, 2, "classification", loss, numbers=10).shares
    assert "shapes" not in plan(30_000, 40, 2, "classification", loss).shares
    assert "shapes" not in plan(60_000, 784, 10, "classification", loss, numbers=784).shares  # few directions
    for planned in (
        plan(30_000, 40, 2, "classification", loss, numbers=10),
        plan(30_000, 40, 1, "regression", loss, numbers=10),
    ):
        assert planned.shares["shapes"] == pca_marginals.SHARE
    assert bins_of(1_000, 0, loss) == 0
    assert bins_of(10**6, 10, PureDP(0.1)) > 0


def test_a_second_fit_forgets_the_shapes_of_the_first() -> None:
    table = visits(20_000)
    method = PcaGauss(1.0, 1e-6, schema=SCHEMA).fit(table)
    assert method.shapes_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        method.fit(table.slice(0, 100))
    assert not method.shapes_


def test_many_classes_share_the_counts_of_all_rows() -> None:
    rng = np.random.default_rng(3)
    n, classes = 60_000, CLASSES + 2
    X, y = rng.beta(0.5, 2, (n, 3)), rng.integers(0, classes, n)
    fitted = PcaGauss(4.0, 1e-6, bounds=(0, 1), classes=list(range(classes))).fit(X, y)
    told = [event.statistic for event in fitted.events_ if event.statistic.startswith("histograms of")]
    assert told == ["histograms of 3 columns"]
    drawn, _ = fitted.sample(20_000)
    assert abs(float(np.mean(drawn < 0.05)) - float(np.mean(X < 0.05))) < 0.05


def test_the_models_cells_are_as_the_law_says() -> None:
    """Means and deviations of cells by formula, and of a large sample that was lifted and spread."""
    rng = np.random.default_rng(4)
    W = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    chart = PublicMap(
        rng.uniform(-0.3, 0.3, 6), rng.uniform(0.5, 3, 6), False, W, rng.standard_normal(3), 0.7
    )
    A = rng.standard_normal((2, 3, 3))
    mixture = Mixture(np.array([0.5, 0.5]), rng.standard_normal((2, 3)), A @ A.transpose(0, 2, 1))
    fitted = PcaGauss(1.0, bounds=(-1, 1))
    fitted.map_, fitted.model_, fitted.outside_ = chart, mixture, rng.uniform(0, 1, 6)
    law = fitted._law()
    means, spreads = law.means, law.spreads()
    pairs = [0, 0, 2], [1, 5, 3]
    for c in (0, 1):
        one = Mixture(np.eye(2)[c], mixture.means, mixture.covariances)
        C, _ = next(one.sample_batches(200_000, rng, 200_000))
        cells = chart.lift(C) + fitted._spread(len(C), rng)
        assert np.allclose(cells.mean(axis=0), means[c], atol=0.02 * spreads[c].max())
        assert np.allclose(cells.std(axis=0), spreads[c], rtol=0.02)
        together = np.cov(cells.T)[pairs]
        assert np.allclose(law.covariances(*pairs)[c], together, atol=0.02 * spreads[c].max() ** 2)


def test_columns_of_numbers_are_those_with_an_order() -> None:
    assert [group.name for group in numbers(Encoder(SCHEMA))] == ["stay", "cost", "age", "pain"]


def test_pure_counts_are_charged_by_all_bins_that_move() -> None:
    charged = pca_marginals._sensitivity(5, PureDP(1.0))
    assert charged.norm.value == "L1"
    assert charged.value == 10


def test_the_certificate_says_how_many_columns_have_their_shape() -> None:
    fitted = PcaGauss(1.0, 1e-6, schema=SCHEMA).fit(visits(20_000))
    assert f"the shape of {len(fitted.shapes_)} of 4 columns" in " ".join(fitted.certificate_.post_processing)


def test_a_dimension_that_is_asked_for_is_seen_through_its_map() -> None:
    loss = GaussianDP(0.2)
    assert "shapes" in plan(100_000, 40, 2, "classification", loss, numbers=40).shares
    assert "shapes" not in plan(100_000, 40, 2, "classification", loss, wanted=30, numbers=40).shares
    assert "shapes" in plan(100_000, 40, 2, "classification", loss, wanted=40, numbers=40).shares


@pytest.mark.parametrize("log", [False, True])
def test_whole_numbers_come_back_by_their_shares(log: bool) -> None:
    column = Column(name="visits", kind="number", low=0, high=20, integer=True, log=log)
    schema = Schema(name="t", columns=(column, Column(name="x", kind="number", low=0, high=1)))
    rng = np.random.default_rng(5)
    table = pa.table({"visits": np.minimum(rng.poisson(1.0, 30_000), 20), "x": rng.random(30_000)})
    drawn = pa.concat_tables(PcaGauss(20.0, 1e-6, schema=schema).fit(table).sample_batches(30_000))
    real, ours = (np.bincount(rows["visits"].to_numpy(), minlength=4)[:4] / 30_000 for rows in (table, drawn))
    assert np.abs(real - ours).max() < 0.02


def test_values_that_floating_point_cannot_tell_apart_do_no_harm() -> None:
    large = 2**53
    column = Column(name="id", kind="number", low=large, high=large + 4000, integer=True, log=True)
    schema = Schema(name="t", columns=(column, Column(name="x", kind="number", low=0, high=1)))
    rng = np.random.default_rng(6)
    table = pa.table({"id": large + 2 * rng.integers(0, 2000, 20_000), "x": rng.random(20_000)})
    fitted = PcaGauss(2.0, 1e-6, schema=schema).fit(table)
    drawn = pa.concat_tables(fitted.sample_batches(1_000))
    assert fitted.shapes_
    assert large <= min(drawn["id"].to_pylist()) <= max(drawn["id"].to_pylist()) <= large + 4000


def test_classes_get_the_larger_part_and_too_many_of_them_none() -> None:
    together, classes = parts(PureDP(1.0), 2)
    assert together.epsilon < classes.epsilon
    assert [len(parts(PureDP(1.0), L)) for L in (1, 2, CLASSES, CLASSES + 1)] == [1, 2, 2, 1]
