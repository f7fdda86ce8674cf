"""What a budget buys, before it is spent: noise, expected error and advice per method, and a verdict for every column.

No data are read. A method describes itself in a classmethod `plan(encoder, n, guarantee) -> MethodPlan` and refuses there
what it cannot keep. `gnomon.plan(schema, rows=20_000, epsilon=1)` is the short way; `plan` here takes a guarantee.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from gnomon.errors import ParameterError
from gnomon.methods import DEFAULT, METHODS
from gnomon.methods.opening import named_neighbours, promised
from gnomon.methods.planning import MethodPlan
from gnomon.notebook import listed
from gnomon.privacy.guarantee import Adjacency, ApproxDP, Guarantee, Unit, auto_delta
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.verdict.levels import Verdicts, some
from gnomon.verdict.predict import predict

# By docs/results/comparison.md: where counts of pairs keep more than moments (AIM on Adult's 15 columns, Dermatology's 35).
FEW_COLUMNS, FEW_VALUES, MOSTLY = 40, 16, 0.5


@dataclass(frozen=True)
class Plan:
    """What a guarantee buys for a table of so many rows: by method, and by column for the method that auto stands for.

    Parameters
    ----------
    rows : the number of rows that was asked about.
    guarantee : the budget as a guarantee.
    methods : for each method its dimension, the noise of each statistic, its expected error and advice.
    verdicts : the predicted level of every column, for the method that `auto` stands for.
    notes : further advice, one sentence each.
    """

    rows: int
    guarantee: Guarantee
    methods: tuple[MethodPlan, ...]
    verdicts: Verdicts
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        facts = {one.name: one.level.word for one in self.verdicts.columns}
        title = f"{self.rows:,} rows, epsilon = {self.guarantee.epsilon:g}, delta = {self.guarantee.delta:g}"
        return listed(title, {"in short": self.verdicts.summary(), **facts})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": self.rows,
            "epsilon": self.guarantee.epsilon,
            "delta": self.guarantee.delta,
            "methods": [asdict(planned) for planned in self.methods],
            "verdicts": self.verdicts.to_dict(),
            "notes": list(self.notes),
        }


def plan_by_numbers(
    schema: Schema,
    rows: int | None = None,
    *,
    epsilon: float,
    delta: float | str = "auto",
    method: str = "auto",
    target: str | None = None,
    unit: str = "row",
    adjacency: str = "replace-one",
) -> Plan:
    """What a budget would buy: the short way. `rows` may stand in the schema; `method` is the one that is judged.

    Parameters
    ----------
    schema : the columns, all that is public about them.
    epsilon, delta : the budget; "auto" is 1e-6, or less for a large table.
    target : the column to predict, if not the one that the schema declares.
    unit : "row" or "attribute"; a schema with `person` protects persons.
    adjacency : "replace-one" or "add-remove".

    Examples
    --------
    >>> import gnomon as gn
    >>> schema = gn.Schema.of_arrays(4, bounds=(0, 1))
    >>> found = gn.plan(schema, rows=20_000, epsilon=1)
    >>> found.guarantee.delta, found.verdicts.columns[0].level.word
    (1e-06, 'good')
    """
    rows = schema.rows if rows is None else rows
    if rows is None:
        raise ParameterError(
            "The number of rows must be given (rows=..., --rows), because the [table] of the schema says none."
        )
    protected, change = named_neighbours(unit, adjacency)
    guarantee = promised(schema, epsilon, delta, unit=protected, adjacency=change, rows=rows)
    plans = plan(schema, rows, guarantee, target)
    chosen = choose(schema, rows, guarantee, target) if method == "auto" else method
    verdicts = predict(schema, rows, guarantee, method=chosen, target=target)
    notes = [
        estimated_cost(schema, rows, guarantee),
        price_of_purity(schema, rows, guarantee, chosen, target),
        elsewhere(schema),
    ]
    return Plan(rows, guarantee, tuple(plans), verdicts, tuple(note for note in notes if note is not None))


def estimated_cost(schema: Schema, rows: int, guarantee: Guarantee) -> str | None:
    """What goes to bounds and classes that the schema leaves open; None where it leaves none."""
    if not schema.estimated:
        return None
    from gnomon.methods.bounds import least_within, share_of
    from gnomon.methods.classes import least_shown

    names = some(column.name for column in schema.estimated)
    sentence = f"{share_of(schema, rows, guarantee):.0%} of the budget goes to what is estimated of: {names}."
    within = least_within(schema, rows, guarantee)
    if within is not None:
        sentence += (
            f" Bounds are found where about {within[0]:,.0f} rows lie within a factor of 1.4, or {within[1]:,.0f} within a "
            "factor of 4; a number column without such a place is left out."
        )
    least = least_shown(schema, guarantee)
    if least is not None:
        sentence += (
            f" A category that about {least:,} rows or fewer have would not be found: it is in 'other'."
        )
    return sentence


def price_of_purity(
    schema: Schema, rows: int, guarantee: Guarantee, method: str = DEFAULT, target: str | None = None
) -> str | None:
    """What a delta of 0 costs beside the usual one, in noise; None where a delta is granted or would buy nothing."""
    if guarantee.delta > 0 or guarantee.epsilon == float("inf"):
        return None
    private = guarantee.adjacency is Adjacency.ADD_REMOVE
    delta = auto_delta(None if private else rows)
    other = ApproxDP(guarantee.epsilon, delta, *guarantee.neighbours)
    declared = schema if target is None else schema.with_target(target)
    encoder = Encoder(declared.with_any_estimates())
    try:
        pure, usual = (_plan_of(method, METHODS[method], encoder, rows, one) for one in (guarantee, other))
    except ParameterError:
        return None
    noise = {line.statistic: line.std for line in usual.noise}
    ratios = {
        line.statistic: line.std / noise[line.statistic] for line in pure.noise if noise.get(line.statistic)
    }
    if not ratios or max(ratios.values()) < 1.1:
        return None
    worst = max(ratios, key=lambda statistic: ratios[statistic])
    return (
        f"A delta of 0 costs noise: that of the {worst} is {ratios[worst]:.1f} times what it would be with delta = "
        f"{delta:g}, the default."
    )


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
    return sorted(plans, key=lambda planned: (planned.publishes != "model", planned.error))


def elsewhere(schema: Schema) -> str | None:
    """What a tool of another kind would likely keep better, by the schema alone; None where gnomon's own will do.

    Tools such as AIM publish noisy counts of the values of columns and of pairs of columns that they choose. That is most
    of a narrow table of categories, of which a moment matrix says less. With many columns the pairs are too many to count,
    and numbers have too many values.
    """
    columns = schema.released
    listed = sum(_listed(column) for column in columns)
    if len(columns) > FEW_COLUMNS or listed <= MOSTLY * len(columns):
        return None
    return (
        f"{listed} of the {len(columns)} released columns take a few declared values only: a marginal-based tool such as "
        "AIM may keep pairs of them better."
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


class _CallableModule(ModuleType):
    """`gn.plan(schema, rows=20_000, epsilon=1)` reads well, and this module has that name."""

    def __call__(self, *arguments: Any, **named: Any) -> Plan:
        return plan_by_numbers(*arguments, **named)


sys.modules[__name__].__class__ = _CallableModule
