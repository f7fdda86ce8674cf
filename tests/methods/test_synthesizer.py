"""The Synthesizer: what its rows keep, over every kind of column and target, and that measurements are all it reads."""

import dataclasses
import inspect

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.methods import METHODS, synthesizer_counts
from gnomon.methods import synthesizer as method
from gnomon.methods.public import Public
from gnomon.methods.synthesizer import Synthesizer
from gnomon.methods.synthesizer_plan import BudgetPlan, _shares
from gnomon.model.columns import Attribute, Bins
from gnomon.model.marginal import Counts, marginal_of
from gnomon.model.tuning import Tuning
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ApproxDP, PureDP
from gnomon.table.encode import Encoder
from gnomon.table.rows import CELL

VALUES = ("a", "b", "c", "d")
INFINITE = {"epsilon": float("inf"), "not_private": True}


def number(name: str, low: float, high: float, **more: object) -> gn.Column:
    return gn.Column(name=name, kind="number", low=low, high=high, **more)


SCHEMA = gn.Schema(
    name="mixed",
    columns=(
        number("x", -10, 10),
        number("w", 0, 1000),
        number("money", 1, 1e6, log=True),
        number("age", 0, 90, integer=True),
        number("still", 0, 10),
        number("gap", -10, 10, missing="indicator"),
        gn.Column(name="flag", kind="boolean"),
        gn.Column(name="kind", kind="category", values=VALUES),
        gn.Column(name="grade", kind="category", values=(1, 2, 3, 4), ordered=True),
        gn.Column(name="y", kind="category", values=("no", "yes"), role="target"),
    ),
)


def mixed(n: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    yes = x + 0.5 * rng.standard_normal(n) > 0.3
    kind = np.where(yes, rng.choice(4, n, p=[0.6, 0.2, 0.15, 0.05]), rng.choice(4, n, p=[0.1, 0.3, 0.3, 0.3]))
    gap = np.where(rng.random(n) < 0.3, np.nan, x + 0.7 * rng.standard_normal(n))
    return pa.table(
        {
            "x": x,
            "w": 300 + 2 * x + rng.standard_normal(n),
            "money": np.exp(3 + x + rng.standard_normal(n)),
            "age": np.clip(np.rint(40 + 12 * x), 0, 90).astype(np.int64),
            "still": np.full(n, 4.0),
            "gap": pa.array(gap, mask=np.isnan(gap)),
            "flag": rng.random(n) < np.where(yes, 0.7, 0.2),
            "kind": np.array(VALUES)[kind],
            "grade": 1 + np.searchsorted([-1.0, 0.0, 1.5], x + 0.5 * rng.standard_normal(n)),
            "y": np.where(yes, "yes", "no"),
        }
    )


def columns(table: pa.Table) -> dict[str, np.ndarray]:
    found = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    return found | {"gap": found["gap"].astype(np.float64)} if "gap" in found else found


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    both = ~(np.isnan(a) | np.isnan(b))
    return float(np.corrcoef(a[both], b[both])[0, 1])


@pytest.fixture(scope="module")
def real() -> pa.Table:
    return mixed(20_000)


@pytest.fixture(
    scope="module", params=[{"epsilon": 4.0, "delta": 1e-6}, INFINITE], ids=["epsilon 4", "no noise"]
)
def released(request: pytest.FixtureRequest, real: pa.Table) -> dict[str, np.ndarray]:
    return columns(Synthesizer(**request.param, schema=SCHEMA, random_state=1).fit(real).sample(20_000))


def test_spreads_and_shares_of_every_kind_of_column(real: pa.Table, released: dict[str, np.ndarray]) -> None:
    true = columns(real)
    for name in ("x", "w", "age"):
        assert 0.85 < released[name].std() / true[name].std() < 1.2
    assert 0.8 < np.log(released["money"]).std() / np.log(true["money"]).std() < 1.2
    assert released["flag"].mean() == pytest.approx(true["flag"].mean(), abs=0.02)
    for name in ("kind", "grade", "y"):
        for value in np.unique(true[name]):
            assert (released[name] == value).mean() == pytest.approx((true[name] == value).mean(), abs=0.025)
    assert np.isnan(released["gap"]).mean() == pytest.approx(0.3, abs=0.02)
    assert released["age"].dtype == np.int64


def test_a_constant_column_stays_constant(released: dict[str, np.ndarray]) -> None:
    assert np.ptp(released["still"]) < 0.5


def test_columns_go_together_as_they_do(real: pa.Table, released: dict[str, np.ndarray]) -> None:
    true = columns(real)
    for a, b in (("x", "w"), ("x", "age"), ("x", "gap"), ("x", "flag"), ("x", "grade")):
        now, then = (correlation(t[a].astype(float), t[b].astype(float)) for t in (released, true))
        assert now == pytest.approx(then, abs=0.12)
    for value in VALUES:
        for label in ("no", "yes"):
            now, then = (np.mean((t["kind"] == value) & (t["y"] == label)) for t in (released, true))
            assert now == pytest.approx(then, abs=0.03)
    gaps = [correlation(t["x"], t["gap"]) for t in (released, true)]
    assert gaps[0] > 0.85 * gaps[1]  # missing cells do not shrink a correlation


def test_a_class_is_told_apart_as_well_as_in_real_rows(
    real: pa.Table, released: dict[str, np.ndarray]
) -> None:
    mean = {label: released["x"][released["y"] == label].mean() for label in ("no", "yes")}
    true = columns(real)
    gap = true["x"][true["y"] == "yes"].mean() - true["x"][true["y"] == "no"].mean()
    assert mean["yes"] - mean["no"] == pytest.approx(gap, rel=0.15)


def two_way(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    cuts = np.quantile(b["x"], [0.2, 0.4, 0.6, 0.8])
    tables = [
        np.histogram2d(np.searchsorted(cuts, t["x"]), np.searchsorted(VALUES, t["kind"]), [5, 4])[0]
        for t in (a, b)
    ]
    return float(np.abs(tables[0] / tables[0].sum() - tables[1] / tables[1].sum()).sum() / 2)


def test_more_budget_is_not_worse(real: pa.Table) -> None:
    true, found = columns(real), []
    for epsilon in (0.1, 1.0, 20.0):
        makes = [
            Synthesizer(epsilon=epsilon, delta=1e-6, schema=SCHEMA, random_state=s).fit(real)
            for s in range(3)
        ]
        found.append(np.mean([two_way(columns(made.sample(20_000)), true) for made in makes]))
    assert found[0] > found[1] > found[2] - 0.005
    assert found[2] < 0.06


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_numeric_target_follows_its_columns(delta: float) -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (20_000, 4))
    y = 2 * X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(20_000)
    made = Synthesizer(epsilon=4, delta=delta, bounds=(-2, 2), target_bounds=(-6, 6), random_state=0).fit(
        X, y
    )
    Z, z = made.sample(20_000)
    slopes = np.linalg.lstsq(Z, z, rcond=None)[0]
    assert slopes == pytest.approx([2, -1, 0, 0], abs=0.3)
    predicted = X @ slopes
    assert 1 - ((y - predicted) ** 2).mean() / y.var() > 0.85


@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_no_target_pure_epsilon(epsilon: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20_000, 3)) @ np.array([[1, 0.9, 0], [0, 0.4, 0], [0, 0, 1.0]])
    Z = Synthesizer(epsilon=epsilon, bounds=(-6, 6), random_state=0).fit(X).sample(10_000)
    assert np.corrcoef(Z.T) == pytest.approx(np.corrcoef(X.T), abs=0.15)
    assert Z.std(axis=0) == pytest.approx(X.std(axis=0), rel=0.2)


def test_cells_show_two_groups_inside_a_class() -> None:
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 40_000)
    centre = np.where(
        y == 0, rng.choice([-1.0, 1.0], 40_000), 0.0
    )  # one class is two groups around the other
    shared = (rng.standard_normal(40_000) * 0.15 + centre)[:, None]
    X = np.hstack(
        [shared + 0.2 * rng.standard_normal((40_000, 30)), 0.5 * rng.standard_normal((40_000, 170))]
    )
    made = Synthesizer(epsilon=1, delta=1e-6, bounds=(-4, 4), classes=[0, 1], random_state=0).fit(X, y)
    Z, z = made.sample(10_000)
    side = Z[z == 0, :30].mean(axis=1)
    assert np.mean(np.abs(side) < 0.5) < 0.35


def test_every_seed_gives_the_same_rows_again_and_another_seed_others(real: pa.Table) -> None:
    made = Synthesizer(epsilon=1, delta=1e-6, schema=SCHEMA, random_state=5).fit(real.slice(0, 2_000))
    again = Synthesizer(epsilon=1, delta=1e-6, schema=SCHEMA, random_state=5).replay(
        SCHEMA, 2_000, made.answers_, 5
    )
    assert made.sample(500).equals(made.sample(500))
    assert again.sample(500).equals(made.sample(500))
    assert not made.sample(500, random_state=6).equals(made.sample(500))


def test_transform_keeps_what_the_subspace_holds() -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((20_000, 2)) @ rng.standard_normal((2, 12)) + 0.3 * rng.standard_normal(
        (20_000, 12)
    )
    made = Synthesizer(epsilon=4, delta=1e-6, bounds=(-12, 12), random_state=0).fit(X)
    seen = made.transform(X[:2_000])
    assert seen.shape == (2_000, 12)
    assert min(np.corrcoef(seen[:, j], X[:2_000, j])[0, 1] for j in range(12)) > 0.8


def test_transform_leaves_discrete_cells_alone(real: pa.Table) -> None:
    made = Synthesizer(epsilon=4, delta=1e-6, schema=SCHEMA, random_state=0).fit(real)
    seen, some = made.transform(real.slice(0, 300)), real.slice(0, 300)
    for name in ("kind", "flag", "y"):
        assert seen[name].to_pylist() == some[name].to_pylist()
    assert seen["gap"].null_count == some["gap"].null_count


@pytest.mark.parametrize("n", [2, 3, 10, 60])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_tiny_tables_are_released(n: int, delta: float) -> None:
    found = Synthesizer(epsilon=1, delta=delta, schema=SCHEMA, random_state=0).fit(mixed(n)).sample(50)
    assert found.num_rows == 50
    assert found.column_names == [column.name for column in SCHEMA.columns]


@pytest.mark.parametrize("epsilon", [0.5, float("inf")])
def test_one_column_and_one_value(epsilon: float) -> None:
    schema = gn.Schema(
        name="one", columns=(gn.Column(name="only", kind="category", values=("a",)), number("x", 0, 1))
    )
    made = Synthesizer(epsilon=epsilon, not_private=True, schema=schema, random_state=0)
    found = made.fit(pa.table({"only": ["a"] * 40, "x": np.linspace(0, 1, 40)})).sample(30)
    assert set(found["only"].to_pylist()) == {"a"}
    lone = Synthesizer(epsilon=epsilon, not_private=True, bounds=(0, 1), random_state=0).fit(
        np.full((500, 1), 0.5)
    )
    assert lone.sample(40).shape == (40, 1)


def test_the_number_of_rows_may_be_private() -> None:
    made = Synthesizer(
        epsilon=4, delta=1e-6, schema=SCHEMA, adjacency="add-remove", expected_rows=2000, random_state=0
    ).fit(mixed(8_000))
    found = columns(made.sample(4_000))
    assert found["x"].std() == pytest.approx(1.0, abs=0.25)
    assert (found["kind"] == "a").mean() == pytest.approx(0.3, abs=0.1)
    assert {event.sensitivity.adjacency.value for event in made.events_} == {"add-remove"}


def test_a_magnitude_far_above_the_rows_cuts_them_into_no_more_bins_than_they_fill() -> None:
    """Ten times as many rows were declared: columns then came out too narrow, and models explained nothing."""

    def rows(n: int, rng: np.random.Generator) -> np.ndarray:
        X = rng.normal(size=(n, 8))
        X[:, 1] += X[:, 0]
        y = X @ np.linspace(1, 0.2, 8) + rng.normal(size=n) / 2
        return np.clip(np.column_stack([X / 4, y / 8]), -1, 1)

    schema = gn.Schema(
        name="few", rows=3_000, columns=tuple(number(f"x{j}", -1, 1) for j in range(9))
    ).with_target("x8")
    test, found = rows(2_000, np.random.default_rng(9)), []
    for seed in range(4):
        cells = rows(300, np.random.default_rng(seed))
        table = pa.table({f"x{j}": cells[:, j] for j in range(9)})
        made = Synthesizer(epsilon=4, delta=1e-6, schema=schema, adjacency="add-remove", random_state=0).fit(
            table
        )
        assert sum(event.statistic.startswith("sum of the scores") for event in made.events_) == 2
        drawn = columns(made.sample(2_000))
        Z = np.column_stack([drawn[f"x{j}"] for j in range(9)])
        slope = np.linalg.lstsq(np.column_stack([Z[:, :8], np.ones(len(Z))]), Z[:, 8], rcond=None)[0]
        wrong = np.column_stack([test[:, :8], np.ones(len(test))]) @ slope - test[:, 8]
        found.append(1 - float(np.mean(wrong**2)) / test[:, 8].var())
    assert np.mean(found) > 0.7


def test_a_public_number_of_rows_is_known_before_it_is_counted() -> None:
    known = public(3_000, ApproxDP(4.0, 1e-6))
    plan = BudgetPlan.of(known, Tuning())
    assert plan.fitted(known, 60) is plan
    private = dataclasses.replace(known, n=None)
    fitted = plan.fitted(private, 60)
    assert fitted.losses == plan.losses
    assert plan.counted
    assert not fitted.counted
    assert fitted.dimension < plan.dimension


def public(n: int, guarantee: gn.PureDP | gn.ApproxDP) -> Public:
    return Public(SCHEMA, Encoder(SCHEMA), n, n, guarantee, 0)


@pytest.mark.parametrize("guarantee", [ApproxDP(1.0, 1e-6), PureDP(1.0)])
@pytest.mark.parametrize("n", [60, 3_000, 1_000_000])
def test_losses_are_fixed_by_public_numbers_and_never_add_up_to_more(
    n: int, guarantee: ApproxDP | PureDP
) -> None:
    plan = BudgetPlan.of(public(n, guarantee), Tuning())
    whole = spendable(guarantee)
    if isinstance(whole, PureDP):
        assert 0.999 < sum(loss.epsilon for loss in plan.losses.values()) / whole.epsilon <= 1
    else:
        assert 0.999 < sum(loss.mu**2 for loss in plan.losses.values()) / whole.mu**2 <= 1
    assert plan.counted == (n > 3_000 or (n > 60 and not isinstance(whole, PureDP)))
    assert set(plan.losses) <= set(_shares(public(n, guarantee), Tuning()))


@pytest.mark.parametrize("n", [300, 20_000])
def test_events_are_those_of_the_plan(n: int) -> None:
    made = Synthesizer(epsilon=1, delta=1e-6, schema=SCHEMA, random_state=0).fit(mixed(n))
    spent = [event.loss.mu for event in made.events_]
    assert spent == [loss.mu for loss in made.plan_.losses.values()]


def test_tuning_is_small_and_synthesize_is_short() -> None:
    assert len(dataclasses.fields(Tuning)) <= 25
    assert len(inspect.getsource(method.synthesize).splitlines()) <= 15
    assert METHODS["synthesizer"] is Synthesizer


def heaps(n: int) -> np.ndarray:
    """Rows close above zero, between far bounds: two counts do not resolve them."""
    rng = np.random.default_rng(12)
    return np.column_stack([rng.exponential(scale, n) for scale in (0.001, 0.002, 0.004)])


def test_columns_are_counted_a_third_time_where_there_are_no_classes() -> None:
    n = 30_000
    found = gn.Synthesizer(1.0, delta=1e-6, bounds=(0, 1), random_state=0).fit(heaps(n))
    assert found.plan_.of_classes is False
    assert [event.loss.mu for event in found.events_] == [loss.mu for loss in found.plan_.losses.values()]
    X, Y = heaps(n), found.sample(n)
    for j in range(3):
        edges = np.quantile(X[:, j], np.linspace(0, 1, 21))[1:-1]
        now, then = (np.bincount(np.searchsorted(edges, t[:, j]), minlength=20) / n for t in (Y, X))
        assert np.abs(now - then).sum() / 2 < 0.04


def test_a_table_without_numbers_spends_nothing_on_counting_them_again() -> None:
    flags = gn.Schema(name="t", columns=[gn.Column(name=f"b{j}", kind="boolean") for j in range(5)])
    public = Public(flags, Encoder(flags), 5_000, 5_000, ApproxDP(1.0, 1e-6), 0)
    plan = BudgetPlan.of(public, Tuning())
    assert plan.counted
    assert "third" not in plan.losses
    assert sum(loss.mu**2 for loss in plan.losses.values()) == pytest.approx(public.budget.mu**2)


def test_rare_booleans_stay_rare_where_the_noise_of_one_hides_its_share() -> None:
    """Their mean over the columns is known well, so that no column is drawn towards one half."""
    rng, n, noise = np.random.default_rng(1), 10_000.0, 4_000.0
    bins = Bins(np.array([0, CELL]), np.array([-1.0, 1.0]), np.array([-1.0, 1.0]))
    few = tuple(
        Attribute(f"c{j}", "boolean", slice(j, j + 1), None, np.array([-1.0, 1.0])) for j in range(100)
    )
    true = np.array([0.95 * n, 0.05 * n])
    counts = [Counts(bins, true + noise * rng.standard_normal(2), np.full(2, noise), 4.0) for _ in few]
    found = [marginal_of(one, n, Tuning()).mass[1] for one in synthesizer_counts._alike(few, counts)]
    assert np.mean(found) == pytest.approx(0.05, abs=0.05)
    assert max(found) < 0.25
