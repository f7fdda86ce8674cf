"""Verdicts before a release, from schema, rows and guarantee alone: a method is tried on a reference table."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from gnomon.errors import ParameterError, UselessError
from gnomon.methods import DEFAULT, METHODS
from gnomon.methods.base import Release
from gnomon.methods.bounds import hidden, share_of
from gnomon.privacy.guarantee import ApproxDP, Guarantee, Unit
from gnomon.table.column import Column
from gnomon.table.schema import Schema
from gnomon.verdict.compare import Described, Distance, Marginal, average, distance, relative
from gnomon.verdict.levels import PARTS, Kind, Level, Remedy, Verdict, Verdicts, judged, judged_relation
from gnomon.verdict.reference import reference_table
from gnomon.verdict.simulate import NotSimulatedError, Trial, Tried, scaled_epsilon

TRIALS = 2
MOST_COLUMNS = 40  # of a reference table; of more columns some of every kind stand for all
FEW_COLUMNS = 4  # of one for the target alone
HALF = 0.5
MOST = 0.84  # of the columns of a kind reach what is predicted: then 95% of those called good are
# decided by the schema of the release, or in no file of it
GIVEN = ("bounds", "classes", "target_bounds", "target", "task", "strict", "public")
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

    Columns of one kind are judged together, by what most of the reference table's reach. `remedies` says for each what
    would reach the next level, which takes a few more trials.
    """
    if method not in METHODS:
        raise ParameterError(f"The 'method' must be one of {', '.join(METHODS)}. Got {method!r} instead.")
    declared = schema if target is None else schema.with_target(target)
    trial = planned_trial(METHODS[method], declared, rows, guarantee)
    method_ = METHODS[method](guarantee.epsilon, guarantee.delta, not_private=True)
    method_._guarantee(rows)  # refuses what the method cannot keep
    found = expected(trial)
    found = with_remedies(found, trial) if remedies else found
    return _without_estimates(found, hidden(declared, rows, guarantee))


def _without_estimates(verdicts: Verdicts, hidden: frozenset[str]) -> Verdicts:
    """Columns whose bounds or categories the noise would hide are lost."""
    lost = Level.LOST
    columns = (
        Verdict(one.kind, one.name, lost, lost, lost, lost) if one.name in hidden else one
        for one in verdicts.columns
    )
    return replace(verdicts, columns=tuple(columns))


def planned_trial(method: Any, schema: Schema, rows: int, guarantee: Guarantee) -> Trial:
    """A trial of a method with its usual parameters; what is to be estimated is paid for first."""
    parameters = {"unit": "attribute"} if guarantee.unit is Unit.ATTRIBUTE else {}
    return Trial(
        method, parameters, released_schema(schema), rows, guarantee, 1 - share_of(schema, rows, guarantee)
    )


def trial_of(method: Release, schema: Schema, declared: Schema, rows: int, guarantee: Guarantee) -> Trial:
    """A trial of a method as it is set up, on rows of `schema`; `declared` says what had to be estimated."""
    parameters = {key: value for key, value in method.get_params(deep=False).items() if key not in GIVEN}
    if parameters.get("pca") == "public":  # of rows that the folder does not hold
        parameters["pca"] = "auto"
    left = 1 - share_of(declared, rows, guarantee)
    return Trial(type(method), parameters, released_schema(schema), rows, guarantee, left)


def refuse_useless(method: Release, schema: Schema, rows: int, guarantee: Guarantee) -> None:
    """Refuse a release in which every column would be lost, by public numbers, before anything is charged."""
    if method.calibration == "paper":
        return
    out_of_sight = hidden(schema, rows, guarantee)
    if schema.target is not None and schema.target.name in out_of_sight:
        what = "bounds" if schema.target.kind == "number" else "classes"
        raise UselessError(
            f"By public numbers, the noise of this budget would hide the {what} of the target {schema.target.name!r}, "
            "which are to be estimated; declare them, or spend more. Nothing was charged."
        )
    trial = trial_of(method, schema, schema, rows, guarantee)
    found = _without_estimates(expected(trial), out_of_sight)
    if not found.everything_lost:
        return
    times = next((verdict.remedy for verdict in with_remedies(found, trial).columns if verdict.remedy), None)
    takes = "many more rows, or far fewer columns"
    if times is not None and times.rows is not None:
        takes = f"about {times.rows:,} rows, or epsilon {times.epsilon:g}"
        takes += f", or delta {times.delta:g}" if times.delta is not None else ""
    raise UselessError(
        f"By public numbers, every column of this release would be lost: no better than an even spread between the "
        f"declared bounds. It takes {takes}; or ask for it all the same (--even-if-useless, even_if_useless=True). "
        "Nothing was charged."
    )


def released_schema(schema: Schema) -> Schema:
    """The released columns alone, with some bounds and classes in place of those that are to be estimated."""
    return Schema(name=schema.name, columns=schema.with_any_estimates().released)


def expected(trial: Trial, trials: int = TRIALS) -> Verdicts:
    """What a release of such a table is expected to be worth: what most columns of a kind reach, over trials."""
    try:
        return judged_trials(trial, tried_on_reference(trial, trials), MOST)
    except NotSimulatedError:
        return unknown(trial)


def unknown(trial: Trial) -> Verdicts:
    """What is said of a method that cannot be tried."""
    columns = (Verdict("column", c.name, UNMEASURED, None, None, UNMEASURED) for c in trial.schema.released)
    return Verdicts(trial.method.name, "predicted", tuple(columns))


@dataclass(frozen=True)
class _Key:
    """A trial as a key: it is a value, but its parameters are a dictionary."""

    trial: Trial
    trials: int

    def __hash__(self) -> int:
        return hash(
            (self.trial.method, self.trial.schema, self.trial.rows, self.trial.guarantee, self.trials)
        )


@dataclass(frozen=True)
class OnReference:
    """What trials on reference tables came to: for the columns, and for the target where that takes others."""

    columns: list[Tried]
    target: list[Tried] | None = None


def tried_on_reference(trial: Trial, trials: int = TRIALS) -> OnReference:
    """A method tried on reference tables, of about `MOST_COLUMNS` columns."""
    return _tried(_Key(trial, trials))


@lru_cache(maxsize=64)
def _tried(key: _Key) -> OnReference:
    trial, trials = key.trial, key.trials

    def on(trial: Trial) -> list[Tried]:
        return [trial.on(reference_table(trial.schema, trial.size, seed), seed) for seed in range(trials)]

    fewer = with_fewer_columns(trial, MOST_COLUMNS)
    if fewer is trial or trial.schema.target is None:
        return OnReference(on(fewer))
    # the noise of a target's own counts does not grow with the columns
    return OnReference(on(fewer), on(with_fewer_columns(trial, FEW_COLUMNS, share=1.0)))


def judged_trials(trial: Trial, tried: OnReference, reached: float = HALF) -> Verdicts:
    """For the columns of one kind, the level that the share `reached` of them has, over trials."""
    runs = _each_beside_another(tried.columns)
    alike: dict[Any, list[Verdict]] = defaultdict(list)
    kinds = {column.name: _kind(column) for column in trial.schema.released}
    for run in runs:
        for name, verdict in run.columns.items():
            alike[kinds.get(name)].append(verdict)
    of_kind = {kind: typical("", found, reached) for kind, found in alike.items()}
    names = list(runs[0].columns)
    if len(names) < len(kinds) and set(names) <= kinds.keys():
        names = _features_first(trial.schema)
    columns = {name: replace(of_kind[kinds.get(name)], name=name) for name in names}
    target, relation = trial.schema.target, None
    if target is not None:
        relation = judged_relation(target.name, float(np.mean([run.relation for run in runs])))
        if tried.target is not None:
            runs = _each_beside_another(tried.target)
            columns[target.name] = typical(target.name, [run.columns[target.name] for run in runs], reached)
    classes = tuple(typical(name, [run.classes[name] for run in runs], reached) for name in runs[0].classes)
    return Verdicts(trial.method.name, "predicted", tuple(columns.values()), classes, relation)


def _each_beside_another(tried: list[Tried]) -> list[Run]:
    return [compared([one], tried[place - 1].released) for place, one in enumerate(tried)]


def _features_first(schema: Schema) -> list[str]:
    """Released columns as a trial has them: the target last."""
    return [c.name for c in sorted(schema.released, key=lambda column: column.role == "target")]


def with_fewer_columns(trial: Trial, most: int, share: float | None = None) -> Trial:
    """The same with about so many columns, of every kind some, which get the part of the budget that they have among all.

    One row is in one bin of each of its c columns, and its squared length grows with c. So the noise that counts, means
    and directions of c' columns meet with c' / c of the budget is the one that they meet among c: of a Gaussian budget
    mu sqrt(c' / c), of a pure one epsilon c' / c. Rows that are published each meet noise of their own, and stay.
    """
    columns = trial.schema.released
    if trial.method.publishes == "rows" or len(columns) <= MOST_COLUMNS:
        return trial
    alike: dict[Any, list[Column]] = defaultdict(list)
    for column in columns:
        alike[_kind(column)].append(column)
    kept: list[Column] = []
    for same in alike.values():
        kept += same[: max(1, round(most * len(same) / len(columns)))]
    part = len(kept) / len(columns) if share is None else share
    return replace(
        trial, schema=Schema(name=trial.schema.name, columns=tuple(kept)), share=trial.share * part
    )


@dataclass(frozen=True)
class Run:
    """What one trial came to."""

    columns: dict[str, Verdict]
    classes: dict[str, Verdict]
    relation: float


def compared(
    trials: Sequence[Tried],
    of_another: Described | None = None,
    apart: Callable[[Marginal, Marginal], Distance] = distance,
) -> Run:
    """Trials of one table, on average, beside that table and beside what was public.

    Public is the prior and, where it is given, what the method releases of another table: a release that is no nearer to
    its own table says nothing about it.
    """
    first = trials[0]
    true, seen = first.true, [one.released for one in trials]
    public = [first.prior] if of_another is None or of_another is seen[0] else [first.prior, of_another]

    def verdict(kind: Kind, part: str, name: str) -> Verdict:
        here, known = getattr(true, part)[name], [getattr(one, part)[name] for one in public]
        errors = [apart(getattr(one, part)[name], here) for one in seen]
        return judged(kind, name, average(errors), _nearest(here, known))

    columns = {
        name: _assumed(verdict("column", "columns", name), name in first.counted) for name in true.columns
    }
    classes = {name: verdict("class", "classes", name) for name in true.classes}
    return Run(columns, classes, float(np.mean([relative(one.relation, true.relation) for one in seen])))


def _nearest(true: Marginal, public: list[Marginal]) -> Distance:
    """In every part, how far the nearest of what is public is from the truth."""
    found = [distance(one, true) for one in public]
    if true.mean is None:
        return Distance(min(one.variation for one in found))
    return Distance(
        min(one.variation for one in found),
        min(one.location or 0.0 for one in found),
        min(one.spread or 0.0 for one in found),
    )


def _assumed(verdict: Verdict, counted: bool) -> Verdict:
    """A marginal that was not counted is no better than weak, however near it lies to that of one table."""
    if counted or verdict.marginal is None:
        return verdict
    return replace(verdict, level=max(verdict.level, UNMEASURED), marginal=max(verdict.marginal, UNMEASURED))


def _kind(column: Column) -> tuple[Any, ...]:
    """Columns that a method cannot tell apart by the schema."""
    size = len(column.values).bit_length()  # of values, within a factor of two
    return column.kind, size, column.ordered, column.missing == "indicator", column.role


def typical(name: str, verdicts: Iterable[Verdict], reached: float = HALF) -> Verdict:
    """The level that the share `reached` of the verdicts has, in each part; lost only where their median is."""
    found = list(verdicts)

    def quantile(levels: Iterable[Level | None]) -> Level | None:
        known = sorted(level for level in levels if level is not None)
        if not known:
            return None
        level, median = known[int(reached * len(known))], known[len(known) // 2]
        return Level.WEAK if level is Level.LOST and median < Level.LOST else level

    level = quantile(one.level for one in found)
    assert level is not None
    location, spread, marginal = (quantile(getattr(one, part) for one in found) for part in PARTS)
    return Verdict(found[0].kind, name, level, location, spread, marginal)


def with_remedies(verdicts: Verdicts, trial: Trial) -> Verdicts:
    """The same verdicts with what would reach the next level: rows, epsilon, or a delta where there is none."""
    if all(verdict.level is Level.GOOD for verdict in verdicts.columns):
        return verdicts

    @cache
    def levels(doublings: int) -> dict[str, Level]:
        more = expected(replace(trial, rows=trial.rows << doublings), 1)
        return {verdict.name: verdict.level for verdict in more.columns}

    def factor(verdict: Verdict) -> int | None:
        """The least power of two by which the rows must grow, found by halving."""
        tried = range(1, MOST_DOUBLINGS + 1)
        place = bisect_left(tried, True, key=lambda d: levels(d)[verdict.name] < verdict.level)
        return 1 << tried[place] if place < len(tried) else None

    with_delta = _levels_with_delta(trial)
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
    verdict: Verdict, trial: Trial, factor: Callable[[Verdict], int | None], with_delta: dict[str, Level]
) -> Verdict:
    if verdict.level is Level.GOOD:
        return verdict
    times = factor(verdict)
    better = with_delta.get(verdict.name, verdict.level) < verdict.level
    if times is None and not better:
        return verdict
    epsilon = None if times is None else float(f"{scaled_epsilon(trial.guarantee, times):.2g}")
    rows = None if times is None else trial.rows * times
    delta = min(SOME_DELTA, 0.1 / trial.rows) if better else None
    return replace(verdict, remedy=Remedy(Level(verdict.level - 1), rows, epsilon, delta))
