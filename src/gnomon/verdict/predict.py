"""Verdicts before a release, from schema, rows and guarantee alone: a method is tried on a reference table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from gnomon.errors import GnomonError, ParameterError
from gnomon.methods import DEFAULT, METHODS
from gnomon.methods.bounds import share_of
from gnomon.privacy.guarantee import ApproxDP, Guarantee, Unit
from gnomon.table.column import Column
from gnomon.table.schema import Schema
from gnomon.verdict.compare import distance, relative
from gnomon.verdict.levels import PARTS, Level, Remedy, Verdict, Verdicts, judged, judged_relation
from gnomon.verdict.reference import reference_table
from gnomon.verdict.simulate import NotSimulatedError, Trial, Tried, scaled_epsilon

TRIALS = 2
MOST_DOUBLINGS = 10  # of rows or epsilon, for what would reach the next level
UNMEASURED = Level.WEAK  # of a marginal whose shape a method assumes instead of counting it
SOME_DELTA = 1e-6


def predict(
    schema: Schema,
    rows: int,
    guarantee: Guarantee,
    *,
    method: str = DEFAULT,
    target: str | None = None,
    remedies: bool = True,
) -> Verdicts:
    """A verdict for every column, every class and the relation to the target; reads no data and costs nothing.

    Columns of one kind are judged together, by the median over the reference table's. `remedies` says for each what
    would reach the next level, which takes a few more trials.
    """
    if method not in METHODS:
        raise ParameterError(f"The 'method' must be one of {', '.join(METHODS)}. Got {method!r} instead.")
    declared = schema if target is None else schema.with_target(target)
    trial = planned_trial(METHODS[method], declared, rows, guarantee)
    found = expected(trial)
    return with_remedies(found, trial) if remedies else found


def planned_trial(method: Any, schema: Schema, rows: int, guarantee: Guarantee) -> Trial:
    """A trial of a method with its usual parameters; what is to be estimated is paid for first."""
    parameters = {"unit": "attribute"} if guarantee.unit is Unit.ATTRIBUTE else {}
    return Trial(method, parameters, released_schema(schema), rows, guarantee, 1 - share_of(schema))


def released_schema(schema: Schema) -> Schema:
    """The released columns alone, with some bounds and classes in place of those that are to be estimated."""
    return Schema(name=schema.name, columns=schema.with_any_estimates().released)


def expected(trial: Trial, trials: int = TRIALS) -> Verdicts:
    """What a release of such a table is expected to be worth: medians over columns of one kind and over trials."""
    try:
        return _expected(_Key(trial, trials))
    except NotSimulatedError:
        unknown = [
            Verdict("column", c.name, UNMEASURED, None, None, UNMEASURED) for c in trial.schema.released
        ]
        return Verdicts(trial.method.name, "predicted", tuple(unknown))


@dataclass(frozen=True)
class _Key:
    """A trial as a key: it is a value, but its parameters are a dictionary."""

    trial: Trial
    trials: int

    def __hash__(self) -> int:
        return hash(
            (self.trial.method, self.trial.schema, self.trial.rows, self.trial.guarantee, self.trials)
        )


@lru_cache(maxsize=16)
def _expected(key: _Key) -> Verdicts:
    trial = key.trial
    runs = [_run(trial, seed) for seed in range(key.trials)]
    alike: dict[Any, list[Verdict]] = defaultdict(list)
    kinds = {column.name: _kind(column) for column in trial.schema.released}
    for run in runs:
        for name, verdict in run.columns.items():
            alike[kinds.get(name)].append(verdict)
    columns = tuple(typical(name, alike[kinds.get(name)]) for name in runs[0].columns)
    classes = tuple(typical(name, [run.classes[name] for run in runs]) for name in runs[0].classes)
    target = trial.schema.target
    relation = None
    if target is not None:
        relation = judged_relation(target.name, float(np.mean([run.relation for run in runs])))
    return Verdicts(trial.method.name, "predicted", columns, classes, relation)


@dataclass(frozen=True)
class Run:
    """What one trial came to."""

    columns: dict[str, Verdict]
    classes: dict[str, Verdict]
    relation: float


def _run(trial: Trial, seed: int) -> Run:
    return compared(trial.on(reference_table(trial.schema, trial.size, seed), seed))


def compared(tried: Tried) -> Run:
    """A trial's release beside the table that it was of, and beside what was public."""
    seen, true, known = tried.released, tried.true, tried.prior
    columns = {
        name: _assumed(
            judged("column", name, distance(seen.columns[name], one), distance(known.columns[name], one)),
            name in tried.counted,
        )
        for name, one in true.columns.items()
    }
    classes = {
        name: judged("class", name, distance(seen.classes[name], one), distance(known.classes[name], one))
        for name, one in true.classes.items()
    }
    return Run(columns, classes, relative(seen.relation, true.relation))


def _assumed(verdict: Verdict, counted: bool) -> Verdict:
    """A marginal that was not counted is no better than weak, however near it lies to that of one table."""
    if counted or verdict.marginal is None:
        return verdict
    return replace(verdict, level=max(verdict.level, UNMEASURED), marginal=max(verdict.marginal, UNMEASURED))


def _kind(column: Column) -> tuple[Any, ...]:
    """Columns that a method cannot tell apart by the schema."""
    return column.kind, len(column.values), column.ordered, column.missing == "indicator", column.role


def typical(name: str, verdicts: Iterable[Verdict]) -> Verdict:
    """The median of each level, the worse of the two middle ones."""
    found = list(verdicts)

    def median(levels: Iterable[Level | None]) -> Level | None:
        known = sorted(level for level in levels if level is not None)
        return known[len(known) // 2] if known else None

    level = median(one.level for one in found)
    assert level is not None
    location, spread, marginal = (median(getattr(one, part) for one in found) for part in PARTS)
    return Verdict(found[0].kind, name, level, location, spread, marginal)


def with_remedies(verdicts: Verdicts, trial: Trial) -> Verdicts:
    """The same verdicts with what would reach the next level: rows, epsilon, or a delta where there is none."""
    wanted = {verdict.name for verdict in verdicts.columns if verdict.level is not Level.GOOD}
    factor: dict[str, int] = {}
    for doubling in range(1, MOST_DOUBLINGS + 1):
        if wanted <= factor.keys():
            break
        try:
            more = expected(replace(trial, rows=trial.rows << doubling), 1)
        except GnomonError:  # past what the method takes
            break
        for before, after in zip(verdicts.columns, more.columns, strict=True):
            if before.name in wanted and before.name not in factor and after.level < before.level:
                factor[before.name] = 1 << doubling
    with_delta = _levels_with_delta(trial) if wanted else {}
    columns = tuple(_with_remedy(verdict, trial, factor, with_delta) for verdict in verdicts.columns)
    return replace(verdicts, columns=columns)


def _levels_with_delta(trial: Trial) -> dict[str, Level]:
    """Levels where a pure guarantee is given up for an approximate one."""
    if trial.guarantee.delta > 0:
        return {}
    delta = min(SOME_DELTA, 0.1 / trial.rows)
    guarantee = ApproxDP(trial.guarantee.epsilon, delta, *trial.guarantee.neighbours)
    return {one.name: one.level for one in expected(replace(trial, guarantee=guarantee)).columns}


def _with_remedy(
    verdict: Verdict, trial: Trial, factor: dict[str, int], with_delta: dict[str, Level]
) -> Verdict:
    if verdict.level is Level.GOOD:
        return verdict
    times = factor.get(verdict.name)
    better = with_delta.get(verdict.name, verdict.level) < verdict.level
    if times is None and not better:
        return verdict
    epsilon = None if times is None else float(f"{scaled_epsilon(trial.guarantee, times):.2g}")
    rows = None if times is None else trial.rows * times
    delta = min(SOME_DELTA, 0.1 / trial.rows) if better else None
    return replace(verdict, remedy=Remedy(Level(verdict.level - 1), rows, epsilon, delta))
