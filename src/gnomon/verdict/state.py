"""Verdicts after a release, from released numbers and the laws of the noise alone.

The method is tried again: on the released rows, which are what is known of the table, and on the reference table of the
schema, which they must not contradict. Where noise drowns a column, the released rows say nothing about it and look easy
to release again; the reference table does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from gnomon.methods.base import Release
from gnomon.methods.bounds import share_of
from gnomon.verdict.levels import PARTS, Level, Verdict, Verdicts, judged_relation
from gnomon.verdict.predict import TRIALS, Run, compared, expected, released_schema
from gnomon.verdict.simulate import NotSimulatedError, Trial

LATER = 100  # seeds of trials on released rows, which are other than those of reference tables
GIVEN = (
    "bounds",
    "classes",
    "target_bounds",
    "target",
    "task",
    "strict",
)  # decided by the schema of the release


def state(method: Release) -> Verdicts:
    """A verdict for every column, every class and the relation to the target of a release that was made."""
    trial = trial_of(method)
    before = expected(trial)
    if method.data_schema_ is not method.schema_:  # components of rows, of which nothing else is known
        return Verdicts(method.name, "stated", before.columns, before.classes, before.relation)
    try:
        runs = _again(method, trial)
    except NotSimulatedError:
        return Verdicts(method.name, "stated", before.columns, before.classes, before.relation)
    columns = tuple(_both(one, [run.columns[one.name] for run in runs]) for one in before.columns)
    classes = tuple(_both(one, [run.classes[one.name] for run in runs]) for one in before.classes)
    relation = before.relation
    if relation is not None:
        again = [judged_relation(relation.name, run.relation) for run in runs]
        relation = _both(relation, again)
    return Verdicts(method.name, "stated", columns, classes, relation)


def trial_of(method: Release) -> Trial:
    """The release as a trial: its parameters, its schema and what its method could spend."""
    parameters = {key: value for key, value in method.get_params(deep=False).items() if key not in GIVEN}
    rows = method.n_rows_ or 1
    left = 1 - share_of(method.declared_schema_)
    return Trial(type(method), parameters, released_schema(method.schema_), rows, method.guarantee_, left)


def _again(method: Release, trial: Trial) -> list[Run]:
    """The method on its own released rows."""
    table = pa.concat_tables(_first(method.sample_batches(_asked(method, trial)), trial.size))
    return [compared(trial.on(table, LATER + seed)) for seed in range(TRIALS)]


def _asked(method: Release, trial: Trial) -> int:
    return trial.size if method.publishes == "model" else trial.rows


def _first(batches: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The first rows of some batches."""
    for batch in batches:
        yield batch.slice(0, rows)
        rows -= batch.num_rows
        if rows <= 0:
            return


def _both(before: Verdict, again: list[Verdict]) -> Verdict:
    """The worse of what was expected and of what every trial came to; lost only where both are."""

    def worse(expected_: Level | None, tried: list[Level | None]) -> Level | None:
        known = [level for level in tried if level is not None]
        if expected_ is None or not known:
            return expected_
        worst = max(expected_, *known)
        return Level.WEAK if worst is Level.LOST and min(expected_, max(known)) < Level.LOST else worst

    level = worse(before.level, [one.level for one in again])
    assert level is not None
    location, spread, marginal = (
        worse(getattr(before, part), [getattr(one, part) for one in again]) for part in PARTS
    )
    return Verdict(before.kind, before.name, level, location, spread, marginal)
