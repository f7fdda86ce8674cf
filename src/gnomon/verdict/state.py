"""Verdicts after a release, from released numbers and the laws of the noise alone.

The method is tried again: on the released rows, which are what is known of the table, and on the reference table of the
schema. Where a column is noise-dominated, the released rows say nothing about it and look easy to release again; the
reference table does not. What neither shows, heaps that the bins of a model cannot resolve, the noisy counts do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from gnomon.methods.base import Release
from gnomon.verdict.compare import Distance, distance, either_way, off_by
from gnomon.verdict.levels import PARTS, Level, Verdict, Verdicts, judged, judged_relation
from gnomon.verdict.predict import compared, judged_trials, trial_of, tried_on_reference, unknown
from gnomon.verdict.residual import Differences, differences, worst
from gnomon.verdict.simulate import DRAWN, NotSimulatedError, Trial, Tried, flag_noise

NOTHING = Distance(math.inf, math.inf, math.inf)  # known before: counts show a difference, and no column lost
LATER = 100  # seeds of trials on released rows, which are other than those of reference tables
AGAIN = 3  # trials on released rows


def state(method: Release) -> Verdicts:
    """A verdict for every column, every class and the relation to the target of a release that was made."""
    trial = trial_of(method, method.schema_, method.declared_schema_, method.n_rows_ or 1, method.guarantee_)
    try:
        reference = tried_on_reference(trial)
    except NotSimulatedError:
        return replace(unknown(trial), basis="stated")
    before = judged_trials(trial, reference)
    return together(before, reference.columns, again(method, trial), beside_counts(method, trial))


def again(method: Release, trial: Trial) -> list[Tried]:
    """The method tried on its own released rows; on none where these are components, of which nothing else is known."""
    if method.data_schema_ is not method.schema_:
        return []
    table = _released(method, trial, trial.size)
    try:
        return [trial.on(table, LATER + seed) for seed in range(AGAIN)]
    except NotSimulatedError:
        return []


def beside_counts(method: Release, trial: Trial) -> dict[str, list[Differences]]:
    """Released rows beside the noisy counts of their columns."""
    return differences(method, _released(method, trial, min(trial.rows, DRAWN))) if method.counts_ else {}


def together(
    before: Verdicts, reference: list[Tried], tried: list[Tried], counted: dict[str, list[Differences]]
) -> Verdicts:
    """What was expected, what trials on the released rows came to, and what their counts show; none is lost for these."""
    if not tried:
        return replace(before, basis="stated")
    run, flags = compared(tried, apart=either_way), _flags(before, reference, tried)

    def column(one: Verdict) -> Verdict:
        first, second = flags.get(one.name, (one, run.columns[one.name]))
        found = _both(first, second)
        if one.name not in counted:
            return found
        return _worse(found, judged("column", one.name, worst(counted[one.name]), NOTHING))

    relation = before.relation
    if relation is not None:
        relation = _both(relation, judged_relation(relation.name, run.relation))
    classes = tuple(_both(one, run.classes[one.name]) for one in before.classes)
    return Verdicts(before.method, "stated", tuple(map(column, before.columns)), classes, relation)


def _flags(
    before: Verdicts, reference: list[Tried], tried: list[Tried]
) -> dict[str, tuple[Verdict, Verdict]]:
    """Booleans by the noise that all of them meet alike, beside the deviation of each: as expected, and as tried.

    A share p with noise of deviation s is wrong by s / sqrt(p (1 - p)) deviations. The trials of all booleans together
    know s far better than those of one, and p is as it was released.
    """
    names = {one.name for one in before.columns} & tried[0].flags
    noises = [flag_noise(trials) for trials in (reference, tried)]
    found = {}
    for name in names:
        true, prior = tried[0].true.columns[name], tried[0].prior.columns[name]
        one, other = (judged("column", name, off_by(noise, true), distance(prior, true)) for noise in noises)
        found[name] = one, other
    return found


def _released(method: Release, trial: Trial, rows: int) -> pa.Table:
    asked = rows if method.publishes == "model" else trial.rows
    return pa.concat_tables(_first(method.sample_batches(asked), rows))


def _first(batches: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The first rows of some batches."""
    for batch in batches:
        yield batch.slice(0, rows)
        rows -= batch.num_rows
        if rows <= 0:
            return


def _both(before: Verdict, tried: Verdict) -> Verdict:
    """The worse of what was expected and of what trials came to; lost only where both are."""

    def worse(one: Level | None, other: Level | None) -> Level | None:
        if one is None or other is None:
            return one
        worst = max(one, other)
        return Level.WEAK if worst is Level.LOST and min(one, other) < Level.LOST else worst

    level = worse(before.level, tried.level)
    assert level is not None
    location, spread, marginal = (worse(getattr(before, part), getattr(tried, part)) for part in PARTS)
    return Verdict(before.kind, before.name, level, location, spread, marginal)


def _worse(verdict: Verdict, counted: Verdict) -> Verdict:
    """A column no better than the counts of its own cells show it."""
    location = verdict.location
    if location is not None and counted.location is not None:
        location = max(location, counted.location)
    marginal = verdict.marginal
    if marginal is not None and counted.marginal is not None:
        marginal = max(marginal, counted.marginal)
    return replace(verdict, level=max(verdict.level, counted.level), location=location, marginal=marginal)
