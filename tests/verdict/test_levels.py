"""Levels follow from distances and the public prior; verdicts are plain values."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gnomon.methods import METHODS
from gnomon.privacy.guarantee import ApproxDP, PureDP
from gnomon.table.schema import Column, Schema
from gnomon.verdict.compare import Distance, described, distance, off_by, prior, relative
from gnomon.verdict.levels import DEVIATIONS, VARIATION, Level, Verdict, Verdicts, judged, level_of
from gnomon.verdict.predict import MOST, planned_trial, predict, typical, with_fewer_columns
from gnomon.verdict.reference import reference_table
from gnomon.verdict.simulate import flag_noise, scaled_epsilon


def schema() -> Schema:
    return Schema(
        name="ward",
        columns=(
            Column(name="age", kind="number", low=0, high=100),
            Column(name="cost", kind="number", low=0, high=1e6, missing="indicator"),
            Column(name="smokes", kind="boolean"),
            Column(name="ward", kind="category", values=("north", "south", "east")),
            Column(name="ill", kind="category", values=("no", "yes"), role="target"),
        ),
    )


@pytest.mark.parametrize(
    ("error", "before", "level"),
    [(0.05, 0.9, Level.GOOD), (0.2, 0.9, Level.USABLE), (0.5, 0.9, Level.WEAK), (0.95, 0.9, Level.LOST)],
)
def test_levels_of_a_marginal(error: float, before: float, level: Level) -> None:
    assert level_of(error, VARIATION, before) is level


def test_what_is_usable_is_not_lost_where_the_prior_is_better_still() -> None:
    assert level_of(0.2, VARIATION, 0.01) is Level.USABLE


def test_a_column_is_as_good_as_the_worse_of_location_and_marginal() -> None:
    verdict = judged("column", "age", Distance(0.05, 0.2, 5.0), Distance(0.5, 1.0, 1.0))
    assert (verdict.marginal, verdict.location, verdict.spread) == (Level.GOOD, Level.USABLE, Level.LOST)
    assert verdict.level is Level.USABLE
    category = judged("column", "ward", Distance(0.05), Distance(0.5))
    assert (category.level, category.location) == (Level.GOOD, None)


def test_distances_are_those_of_the_definition() -> None:
    """Total variation over twenty bins of the declared width, missing cells apart; means in deviations of the truth."""
    age = Schema(name="t", columns=(Column(name="age", kind="number", low=0, high=100, missing="indicator"),))
    true = described(pa.table({"age": [12.0, 12.0, 12.0, 88.0]}), age).columns["age"]
    seen = described(pa.table({"age": [12.0, 12.0, 88.0, None]}), age).columns["age"]
    found = distance(seen, true)
    assert found.variation == pytest.approx(0.25)
    std = np.std([12, 12, 12, 88])
    assert found.location == pytest.approx(abs(np.mean([12, 12, 88]) - np.mean([12, 12, 12, 88])) / std)
    assert found.spread == pytest.approx(abs(np.std([12, 12, 88]) - std) / std)


def test_the_prior_is_even_between_bounds_and_over_classes() -> None:
    known = prior(schema())
    assert known.columns["ward"].shares == pytest.approx([1 / 3] * 3)
    assert known.columns["age"].shares[:20] == pytest.approx([1 / 20] * 20, abs=0.003)
    assert known.columns["age"].mean == pytest.approx(0)
    assert [one.shares[1] for one in known.classes.values()] == pytest.approx([0.5, 0.5])


def test_the_relation_is_relative_to_its_size() -> None:
    assert relative(np.array([0.3, 0.0]), np.array([0.3, 0.4])) == pytest.approx(0.8)
    assert relative(np.zeros(2), np.array([0.3, 0.4])) == pytest.approx(1)
    assert math.isinf(relative(np.zeros(2), np.zeros(2)))


def test_a_reference_table_fits_its_schema_and_is_the_same_at_every_call() -> None:
    table = reference_table(schema(), 500, seed=1)
    assert table.equals(reference_table(schema(), 500, seed=1))
    assert table.column_names == [column.name for column in schema().released]
    assert 0 < table["cost"].null_count < 250
    assert set(table["ill"].to_pylist()) == {"no", "yes"}
    related = described(table, schema()).relation
    assert np.abs(related).max() > 0.1


def test_fewer_rows_stand_for_more_by_a_larger_epsilon() -> None:
    from gnomon.privacy.accounting import mu_of

    assert scaled_epsilon(PureDP(0.5), 4.0) == 2.0
    assert scaled_epsilon(PureDP(math.inf), 4.0) == math.inf
    larger = scaled_epsilon(ApproxDP(1.0, 1e-6), 4.0)
    assert mu_of(larger, 1e-6) == pytest.approx(4 * mu_of(1.0, 1e-6), rel=1e-6)
    assert scaled_epsilon(ApproxDP(1.0, 1e-6), 1.0) == 1.0


def test_verdicts_are_predicted_for_every_column_and_class_from_public_numbers() -> None:
    found = predict(schema(), 50_000, ApproxDP(2.0, 1e-6), remedies=False)
    assert [verdict.name for verdict in found.columns] == [column.name for column in schema().released]
    assert [verdict.name for verdict in found.classes] == ["no", "yes"]
    assert all(verdict.level <= Level.USABLE for verdict in found.columns)
    assert found.relation is not None
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["columns"][0] == {
        "kind": "column",
        "name": "age",
        "level": "good",
        "location": "good",
        "spread": "good",
        "marginal": "good",
        "next": None,
    }


def test_a_hopeless_budget_is_lost_and_told_what_it_takes() -> None:
    numbers = Schema(
        name="t", columns=tuple(Column(name=f"x{j}", kind="number", low=0, high=1) for j in range(12))
    )
    found = predict(numbers, 50, PureDP(0.01))
    assert found.everything_lost
    assert found.columns[0].remedy is not None
    assert found.columns[0].remedy.rows is not None
    assert found.columns[0].remedy.rows > 50
    assert found.columns[0].remedy.epsilon == pytest.approx(0.01 * found.columns[0].remedy.rows / 50, rel=0.1)


def test_a_summary_names_what_is_weak_or_lost() -> None:
    columns = tuple(
        Verdict("column", name, level)
        for name, level in (("a", Level.GOOD), ("b", Level.WEAK), ("c", Level.LOST), ("d", Level.GOOD))
    )
    words = Verdicts("synthesizer", "stated", columns, (), Verdict("relation", "y", Level.USABLE)).summary()
    assert words == "4 columns: 2 good, 1 weak, 1 lost. Weak: b. Lost: c. The relation to y is usable."


def test_thresholds_are_the_published_ones() -> None:
    assert VARIATION == (0.1, 0.25)
    assert DEVIATIONS == (0.1, 0.3)


def numbers(columns: int) -> Schema:
    """Columns of four kinds in turn, and a target."""
    kinds = (
        {"kind": "number", "low": 0, "high": 1},
        {"kind": "number", "low": 0, "high": 1},
        {"kind": "boolean"},
        {"kind": "category", "values": ("a", "b", "c")},
    )
    made = [Column(name=f"x{j}", **kinds[j % 4]) for j in range(columns)]
    return Schema(columns=(*made, Column(name="y", kind="category", values=(0, 1), role="target")))


def test_some_columns_of_every_kind_stand_for_all_with_their_part_of_the_budget() -> None:
    trial = planned_trial(METHODS["synthesizer"], numbers(400), 20_000, ApproxDP(1.0, 1e-6))
    fewer = with_fewer_columns(trial, 40)
    kept = fewer.schema.released
    assert len(kept) == pytest.approx(41, abs=2)
    assert {column.kind for column in kept} == {"number", "boolean", "category"}
    assert fewer.schema.target is not None
    assert fewer.share == pytest.approx(len(kept) / 401)
    assert with_fewer_columns(replace(trial, schema=numbers(30)), 40).schema == numbers(30)


@pytest.mark.parametrize("guarantee", [ApproxDP(1.0, 1e-6), PureDP(4.0)])
def test_fewer_columns_meet_the_noise_of_all(guarantee: Any) -> None:
    """The errors of 40 columns with their part of the budget are those of 120, within a third."""
    whole = planned_trial(METHODS["synthesizer"], numbers(120), 20_000, guarantee)
    errors = []
    for trial in (whole, with_fewer_columns(whole, 40)):
        tried = [trial.on(reference_table(trial.schema, trial.size, seed), seed) for seed in range(2)]
        apart = [
            distance(one.released.columns[c.name], one.true.columns[c.name]).variation
            for one in tried
            for c in trial.schema.features
            if c.kind == "number"
        ]
        errors.append(float(np.mean(apart)))
    assert errors[1] == pytest.approx(errors[0], rel=1 / 3)


def test_every_column_of_a_wide_table_has_a_verdict_in_order() -> None:
    found = predict(numbers(200), 50_000, ApproxDP(1.0, 1e-6), remedies=False)
    assert [one.name for one in found.columns] == [c.name for c in numbers(200).released]
    assert [one.name for one in found.classes] == ["0", "1"]
    assert len({one.level for one in found.columns if one.name in ("x0", "x1", "x196")}) == 1


def test_a_boolean_is_off_by_its_noise_in_deviations_of_its_share() -> None:
    true = described(
        pa.table({"f": [True] + [False] * 9}), Schema(columns=(Column(name="f", kind="boolean"),))
    ).columns["f"]
    noise = 0.02  # of the mean 2 p - 1
    found = off_by(noise, true)
    assert found.variation == pytest.approx(0.01)
    assert found.location == pytest.approx(0.01 / np.sqrt(0.1 * 0.9))
    moved = 2 * np.sqrt(0.101 * 0.899) - 2 * np.sqrt(
        0.1 * 0.9
    )  # of the deviation, as p moves by a thousandth
    assert found.spread == pytest.approx(10 * moved / (2 * np.sqrt(0.1 * 0.9)), rel=0.05)


def test_the_noise_of_booleans_is_pooled_over_columns_and_trials() -> None:
    flags = Schema(columns=tuple(Column(name=f"f{j}", kind="boolean") for j in range(20)))
    trial = planned_trial(METHODS["synthesizer"], flags, 5_000, ApproxDP(1.0, 1e-6))
    tried = [trial.on(reference_table(flags, 5_000, seed), seed) for seed in range(2)]
    off = [
        (one.released.columns[name].mean or 0) - (one.true.columns[name].mean or 0)
        for one in tried
        for name in one.flags
    ]
    assert len(off) == 40
    assert flag_noise(tried) == pytest.approx(np.sqrt(np.mean(np.square(off))))


def test_a_level_is_predicted_that_most_columns_of_a_kind_reach() -> None:
    def of(good: int, weak: int, lost: int) -> str:
        levels = [Level.GOOD] * good + [Level.WEAK] * weak + [Level.LOST] * lost
        return typical(
            "", [Verdict("column", "", level, None, None, level) for level in levels], MOST
        ).level.word

    assert of(9, 1, 0) == "good"
    assert of(8, 2, 0) == "weak"  # the median is good: a fifth of such columns is not
    assert of(2, 4, 4) == "weak"  # lost only where the median is
    assert of(0, 5, 5) == "lost"
    assert of(1, 0, 0) == "good"
