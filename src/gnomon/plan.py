"""What a budget buys, before it is spent: noise, expected error and advice per method; no data are read.

A method describes itself in a classmethod `plan(encoder, n, guarantee) -> MethodPlan` and refuses there what it
cannot keep.
"""

from __future__ import annotations

from typing import Any

from gnomon.errors import ParameterError
from gnomon.methods import DEFAULT, METHODS
from gnomon.methods.planning import MethodPlan
from gnomon.privacy.guarantee import Guarantee, Unit
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema

# By docs/results/comparison.md: where counts keep more than moments.
FEW_COLUMNS, FEW_VALUES, MOSTLY = 20, 16, 0.5


def plan(schema: Schema, rows: int, guarantee: Guarantee, target: str | None = None) -> list[MethodPlan]:
    """One plan per method that can keep the guarantee, best first; reads no data."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 2:
        raise ParameterError(
            f"The 'rows' parameter of plan must be an integer of at least 2. Got {rows!r} instead."
        )
    declared = schema if target is None else schema.with_target(target)
    encoder = Encoder(declared.with_any_estimates())
    plans = []
    for name in METHODS:
        try:
            plans.append(_plan_of(name, METHODS[name], encoder, rows, guarantee))
        except ParameterError:
            continue  # a method that cannot keep this kind of guarantee has nothing to plan
    return sorted(plans, key=lambda planned: (planned.road != "model", planned.error))


def elsewhere(schema: Schema) -> str | None:
    """What a tool of another kind would likely keep better, by the schema alone; None where gnomon's own will do.

    Tools such as AIM and MST publish noisy counts of the values of columns and of pairs of columns. That is most of a
    narrow table of categories, of which a moment matrix says less; with many columns or numbers it is the other way round.
    """
    columns = schema.released
    listed = sum(_listed(column) for column in columns)
    if len(columns) > FEW_COLUMNS or listed <= MOSTLY * len(columns):
        return None
    return (
        f"{listed} of the {len(columns)} released columns take a few declared values only: a marginal-based tool such as "
        "AIM or MST may keep pairs of them better, if these matter more to you than a classifier."
    )


def _listed(column: Column) -> bool:
    """Is every value of the column declared, and are there few numbers among them?"""
    if column.kind in ("category", "boolean"):
        return True
    if column.kind != "number" or not column.integer or column.estimate:
        return False
    return bool(column.high - column.low < FEW_VALUES)  # type: ignore[operator]


def choose(schema: Schema, rows: int, guarantee: Guarantee, target: str | None = None) -> str:
    """The method that `auto` stands for: the default one, or the best that can keep the guarantee where it cannot."""
    plans = plan(schema, rows, guarantee, target)
    if not plans:
        raise ParameterError("No method can keep this guarantee for this schema; name a method to learn why.")
    return DEFAULT if DEFAULT in {planned.method for planned in plans} else plans[0].method


def _plan_of(name: str, method: Any, encoder: Encoder, rows: int, guarantee: Guarantee) -> MethodPlan:
    if guarantee.unit is Unit.ATTRIBUTE and "unit" not in method.parameter_names():
        raise ParameterError(f"The method {name} protects rows, not one attribute.")
    if guarantee.adjacency not in method.adjacencies:
        raise ParameterError(f"The method {name} makes the number of rows public.")
    if not hasattr(method, "plan"):
        raise ParameterError(f"The method {name} does not say what it would do with a budget.")
    own: MethodPlan = method.plan(encoder, rows, guarantee)
    return own
