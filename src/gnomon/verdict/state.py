"""Verdicts after a release, from released numbers and the laws of the noise alone.

The method is tried again: on the released rows, which are what is known of the table, and on the reference table of the
schema. Where noise drowns a column, the released rows say nothing about it and look easy to release again; the reference
table does not. What neither shows, heaps that the bins of a model cannot resolve, the noisy counts do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from gnomon.methods.base import Release
from gnomon.verdict.compare import Distance, either_way
from gnomon.verdict.levels import PARTS, Level, Verdict, Verdicts, judged, judged_relation
from gnomon.verdict.predict import Run, compared, expected, trial_of
from gnomon.verdict.residual import residuals
from gnomon.verdict.simulate import DRAWN, NotSimulatedError, Trial

NOTHING = Distance(math.inf, math.inf, math.inf)  # known before: counts show a difference, and no column lost
LATER = 100  # seeds of trials on released rows, which are other than those of reference tables
AGAIN = 3  # trials on released rows


def state(method: Release) -> Verdicts:
    """A verdict for every column, every class and the relation to the target of a release that was made."""
    trial = trial_of(method, method.schema_, method.declared_schema_, method.n_rows_ or 1, method.guarantee_)
    return together(expected(trial), again(method, trial), beside_counts(method, trial))


def again(method: Release, trial: Trial) -> list[Run]:
    """The method tried on its own released rows; on none where these are components, of which nothing else is known."""
    if method.data_schema_ is not method.schema_:
        return []
    table = _released(method, trial, trial.size)
    try:
        return [compared([trial.on(table, LATER + seed) for seed in range(AGAIN)], apart=either_way)]
    except NotSimulatedError:
        return []


def beside_counts(method: Release, trial: Trial) -> dict[str, Verdict]:
    """The levels that released rows have beside the noisy counts of their columns; none is lost for that."""
    if not method.counts_:
        return {}
    found = residuals(method, _released(method, trial, min(trial.rows, DRAWN)))
    return {name: judged("column", name, one, NOTHING) for name, one in found.items()}


def together(before: Verdicts, runs: list[Run], counted: dict[str, Verdict]) -> Verdicts:
    """What was expected, what trials on the released rows came to, and what their counts show."""
    columns = tuple(
        _worse(_both(one, [run.columns[one.name] for run in runs]), counted.get(one.name))
        for one in before.columns
    )
    classes = tuple(_both(one, [run.classes[one.name] for run in runs]) for one in before.classes)
    relation = before.relation
    if relation is not None:
        relation = _both(relation, [judged_relation(relation.name, run.relation) for run in runs])
    return Verdicts(before.method, "stated", columns, classes, relation)


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


def _both(before: Verdict, tried: list[Verdict]) -> Verdict:
    """The worse of what was expected and of what every trial came to; lost only where both are."""

    def worse(expected_: Level | None, levels: list[Level | None]) -> Level | None:
        known = [level for level in levels if level is not None]
        if expected_ is None or not known:
            return expected_
        worst = max(expected_, *known)
        return Level.WEAK if worst is Level.LOST and min(expected_, max(known)) < Level.LOST else worst

    level = worse(before.level, [one.level for one in tried])
    assert level is not None
    location, spread, marginal = (
        worse(getattr(before, part), [getattr(one, part) for one in tried]) for part in PARTS
    )
    return Verdict(before.kind, before.name, level, location, spread, marginal)


def _worse(verdict: Verdict, counted: Verdict | None) -> Verdict:
    """A column no better than the counts of its own cells show it."""
    if counted is None or verdict.marginal is None or counted.marginal is None:
        return verdict
    location = verdict.location
    if location is not None and counted.location is not None:
        location = max(location, counted.location)
    marginal = max(verdict.marginal, counted.marginal)
    return replace(verdict, level=max(verdict.level, counted.level), location=location, marginal=marginal)
