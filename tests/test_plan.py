"""What a budget buys: numbers that agree with the mechanisms, and advice that follows from them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gnomon.errors import ParameterError, SchemaError
from gnomon.methods import DEFAULT, METHODS
from gnomon.methods.gaussian_model import CONSTANT
from gnomon.methods.planning import LARGE, SMALL, MethodPlan, PlannedNoise, advise, distortion
from gnomon.plan import FEW_COLUMNS, FEW_VALUES, choose, elsewhere, plan
from gnomon.privacy.guarantee import Adjacency, ApproxDP, PureDP, Unit
from gnomon.projection.orthonormal import haar
from gnomon.table.schema import Column, Schema


def schema(columns: int = 20, classes: int = 2) -> Schema:
    numbers = [Column(name=f"x{j}", kind="number", low=0, high=1) for j in range(columns)]
    if classes:
        values = tuple(f"c{i}" for i in range(classes))
        numbers.append(Column(name="y", kind="category", values=values, role="target"))
    return Schema(name="t", columns=tuple(numbers))


def ron_gauss(plans: list[MethodPlan]) -> MethodPlan:
    return next(planned for planned in plans if planned.method == "ron-gauss")


def noise(planned: MethodPlan, statistic: str) -> float:
    return next(line.std for line in planned.noise if line.statistic == statistic)


def test_every_method_is_planned() -> None:
    plans = plan(schema(), 5000, PureDP(1.0))
    assert {planned.method for planned in plans} <= set(METHODS)
    assert "ron-gauss" in {planned.method for planned in plans}
    for planned in plan(schema(), 5000, ApproxDP(1.0, 1e-6)):
        assert planned.noise
        assert planned.advice.endswith(".")
        assert planned.n_components >= 1
        assert math.isfinite(planned.error)
        assert all(isinstance(line, PlannedNoise) and line.std >= 0 for line in planned.noise)


def test_model_releases_come_first_and_auto_is_the_default_method() -> None:
    plans = plan(schema(), 5000, PureDP(1.0))
    kinds = [planned.publishes for planned in plans]
    assert kinds == sorted(kinds, key=lambda kind: kind != "model")
    assert choose(schema(), 5000, PureDP(1.0)) == DEFAULT
    attribute = PureDP(1.0, Unit.ATTRIBUTE)
    assert choose(schema(), 5000, attribute) == plan(schema(), 5000, attribute)[0].method != DEFAULT


def test_a_private_number_of_rows_leaves_the_model_releases() -> None:
    plans = plan(schema(), 5000, PureDP(1.0, Unit.ROW, Adjacency.ADD_REMOVE))
    assert {planned.publishes for planned in plans} == {"model"}


@pytest.mark.parametrize("better", [{"rows": 50_000}, {"epsilon": 10.0}])
def test_more_rows_or_more_epsilon_never_make_it_worse(better: dict[str, float]) -> None:
    few = ron_gauss(plan(schema(), 5000, PureDP(1.0)))
    many = ron_gauss(plan(schema(), int(better.get("rows", 5000)), PureDP(better.get("epsilon", 1.0))))
    assert many.n_components >= few.n_components
    assert many.error < few.error


def test_the_planned_noise_is_the_noise_of_the_release() -> None:
    """A real release of the advised dimension meets the planned noise in its class counts."""
    n = 400
    planned = ron_gauss(plan(schema(4), n, PureDP(1.0)))
    rng = np.random.default_rng(0)
    X, y = rng.random((n, 4)), rng.integers(0, 2, n)
    method = METHODS["ron-gauss"](epsilon=1.0, bounds=(0, 1), classes=[0, 1], random_state=0).fit(X, y)
    assert method.n_components_ == planned.n_components
    from gnomon.privacy.mechanism import moment_noise

    event = method.events_[-1]
    q = planned.n_components + 1
    law = moment_noise(q, event.loss, ball=event.sensitivity.value / 2, blocks=2).law
    assert noise(planned, "size of a class") == pytest.approx(law.diagonal / CONSTANT**2, rel=1e-6)


def test_no_noise_without_privacy() -> None:
    planned = ron_gauss(plan(schema(), 5000, PureDP(math.inf)))
    assert all(line.std == 0 for line in planned.noise)
    assert "not private" in planned.advice


def test_tasks_change_what_is_released() -> None:
    clustering = ron_gauss(plan(schema(classes=0), 5000, PureDP(1.0)))
    assert "mean of all rows" in {line.statistic for line in clustering.noise}
    assert "size of a class" not in {line.statistic for line in clustering.noise}
    regression = ron_gauss(plan(schema(), 5000, PureDP(1.0), target="x0"))
    assert "mean of all rows" in {line.statistic for line in regression.noise}


def test_a_small_table_is_told_what_it_takes() -> None:
    planned = ron_gauss(plan(schema(100), 50, PureDP(0.1)))
    assert planned.error > LARGE
    assert "It takes" in planned.advice


def test_estimated_bounds_can_be_planned() -> None:
    columns = (Column(name="x", kind="number", estimate=True), Column(name="z", kind="boolean"))
    assert plan(Schema(name="t", columns=columns), 1000, PureDP(1.0))


def test_advice_follows_the_error() -> None:
    assert "enough" in advise(SMALL)
    assert "some loss" in advise(LARGE)
    assert "Little" in advise(LARGE + 0.01)


def test_distortion_is_the_spread_of_projected_squared_lengths() -> None:
    m, p, draws = 12, 4, 4000
    rng = np.random.default_rng(5)
    x = np.ones(m) / math.sqrt(m)
    lengths = np.array([np.sum((x @ haar(m, p, rng)) ** 2) for _ in range(draws)])
    assert lengths.std() / lengths.mean() == pytest.approx(distortion(p, m), rel=0.1)
    assert distortion(m, m) == 0


@pytest.mark.parametrize("rows", [1, 0, -5, True, 2.5])
def test_rows_must_be_a_number_of_rows(rows: object) -> None:
    with pytest.raises(ParameterError, match="'rows'"):
        plan(schema(), rows, PureDP(1.0))  # type: ignore[arg-type]


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(SchemaError, match="'mood'"):
        plan(schema(), 100, PureDP(1.0), target="mood")


def census(categories: int, numbers: int, **number: object) -> Schema:
    kind = {"low": 0, "high": 100, **number}
    columns = [Column(name=f"c{j}", kind="category", values=("a", "b", "c")) for j in range(categories)]
    columns += [Column(name=f"x{j}", kind="number", **kind) for j in range(numbers)]  # type: ignore[arg-type]
    return Schema(name="t", columns=tuple(columns))


def test_a_narrow_table_of_categories_is_sent_to_marginal_based_tools() -> None:
    hint = elsewhere(census(10, 5))
    assert hint is not None
    assert "10 of the 15" in hint
    assert "such as AIM may keep pairs of them better" in hint


@pytest.mark.parametrize(
    "other",
    [
        census(5, 5),  # half of the columns are not most of them
        census(FEW_COLUMNS, 1),  # too many columns
        census(0, 10),
    ],
)
def test_other_tables_are_kept(other: Schema) -> None:
    assert elsewhere(other) is None


def test_whole_numbers_with_few_values_count_as_categories() -> None:
    assert elsewhere(census(0, 10, integer=True, high=FEW_VALUES - 1)) is not None
    assert elsewhere(census(0, 10, integer=True, high=FEW_VALUES)) is None
    assert elsewhere(census(0, 10, high=FEW_VALUES - 1)) is None


def test_a_number_without_bounds_is_no_category() -> None:
    columns = tuple(Column(name=f"x{j}", kind="number", integer=True, estimate=True) for j in range(4))
    assert elsewhere(Schema(name="t", columns=columns)) is None
