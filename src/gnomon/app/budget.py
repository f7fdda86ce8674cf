"""What a budget buys, and what an account has left."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any, Literal

from gnomon.app.actions import action
from gnomon.app.project import Project
from gnomon.app.workspace import Workspace
from gnomon.commands.budget import left
from gnomon.errors import ParameterError
from gnomon.methods.opening import magnitude, promised
from gnomon.plan import choose, elsewhere, estimated_cost
from gnomon.plan import plan as plan_methods
from gnomon.privacy.accounting import mu_of
from gnomon.privacy.guarantee import Adjacency, Guarantee, Unit
from gnomon.privacy.ledger import Balance, words
from gnomon.privacy.meaning import (
    percent_up,
    plain_words,
    reach_by_epsilon,
    reach_of_gaussian,
    weak_promises,
)
from gnomon.report.words import protects
from gnomon.verdict.predict import predict

Neighbouring = Literal["replace-one", "add-remove"]


@action
def reach(work: Workspace, *, epsilon: float, delta: float) -> dict[str, Any]:
    """What an attacker reaches, in words and as the two shares that the page draws."""
    if not 0 < epsilon <= 1000 or not 0 <= delta < 1:
        raise ParameterError("Epsilon must be above 0 and at most 1000, and delta in [0, 1).")
    bound = reach_by_epsilon(epsilon, delta)
    exact = reach_of_gaussian(mu_of(epsilon, delta)) if delta > 0 else None
    return {
        "words": plain_words(bound, None),
        "bound": bound.right,
        "bound_words": percent_up(bound.right),
        "exact": None if exact is None else exact.right,
        "exact_words": None if exact is None else percent_up(exact.right, 2),
    }


@action
def plan(
    work: Workspace,
    *,
    id: str,
    epsilon: float,
    delta: float,
    adjacency: Neighbouring = "replace-one",
    rows: int | None = None,
) -> dict[str, Any]:
    """gnomon plan: by method; reads no cell."""
    found = work.project(id)
    schema = found.schema()
    guarantee = promised(schema, epsilon, delta, unit=Unit.ROW, adjacency=Adjacency(adjacency))
    n = rows or public_rows(found, guarantee)
    plans = plan_methods(schema, n, guarantee)
    return {
        "rows": n,
        "private_rows": guarantee.adjacency is Adjacency.ADD_REMOVE,
        "protects": protects(guarantee),
        "released": len(schema.released),
        "estimated": estimated_cost(schema, n, guarantee),
        "methods": [_finite(asdict(one)) for one in plans],
        "auto": choose(schema, n, guarantee) if plans else None,
        "elsewhere": elsewhere(schema),
        "weak": weak_promises(guarantee, n, reach_by_epsilon(epsilon, delta), None),
    }


@action
def verdicts(
    work: Workspace,
    *,
    id: str,
    epsilon: float,
    delta: float,
    adjacency: Neighbouring = "replace-one",
    method: str | None = None,
    remedies: bool = False,
) -> dict[str, Any]:
    """gnomon plan, by column: how good each would be, and with `remedies` what would make it better; reads no cell.

    Of several questions about a table only the last is answered.
    """
    found = work.project(id)
    with found.asked() as last:
        if not last():
            return {"overtaken": True}
        schema = found.schema()
        guarantee = promised(schema, epsilon, delta, unit=Unit.ROW, adjacency=Adjacency(adjacency))
        n = public_rows(found, guarantee)
        chosen = method or choose(schema, n, guarantee)
        with work.jobs.filters:
            seen = predict(schema, n, guarantee, method=chosen, remedies=remedies)
        return {**seen.to_dict(), "overtaken": False, "remedies": remedies, "useless": seen.everything_lost}


def public_rows(found: Project, guarantee: Guarantee) -> int:
    """The number of rows where the promise makes it public; otherwise the declared order of magnitude."""
    schema = found.schema()
    if guarantee.adjacency is Adjacency.ADD_REMOVE:
        return magnitude(schema)
    return max(2, found.data.source(schema).n_rows())


def _finite(item: Any) -> Any:
    """JSON has no infinity."""
    if isinstance(item, float):
        return item if math.isfinite(item) else None
    if isinstance(item, dict):
        return {key: _finite(part) for key, part in item.items()}
    return [_finite(part) for part in item] if isinstance(item, list | tuple) else item


# The ledger


def shown(balance: Balance) -> dict[str, Any]:
    """A balance as the page draws it."""
    return {
        "account": balance.account,
        "counts": None if balance.neighbours is None else words(balance.neighbours),
        "words": left(balance),
        "charges": balance.charges,
        **{
            key: _number(getattr(balance, key))
            for key in (
                "epsilon_cap",
                "epsilon_spent",
                "epsilon_left",
                "delta_cap",
                "delta_spent",
                "delta_left",
            )
        },
    }


def _number(value: float | None) -> float | str | None:
    return "∞" if value is not None and math.isinf(value) else value


@action
def balance(work: Workspace, *, account: str) -> dict[str, Any]:
    """gnomon budget show ACCOUNT."""
    return shown(work.ledger.show(account))


@action
def accounts(work: Workspace) -> dict[str, Any]:
    """gnomon budget show."""
    return {"ledger": str(work.ledger.path), "accounts": [shown(one) for one in work.ledger.accounts()]}


@action
def history(work: Workspace, *, account: str) -> dict[str, Any]:
    """gnomon budget history ACCOUNT, without the prints of tables."""
    entries = work.ledger.history(account)
    keys = ("number", "time", "kind", "unit", "adjacency", "table", "method", "note", "asked")
    return {
        "account": account,
        "balance": shown(work.ledger.show(account)),
        "entries": [
            {**{key: getattr(one, key) for key in keys}, "epsilon": _number(one.epsilon), "delta": one.delta}
            for one in entries
        ],
        "hash": entries[-1].hash if entries else None,
    }


@action
def cap(
    work: Workspace,
    *,
    account: str,
    epsilon: float,
    delta: float = 0.0,
    unit: Literal["row", "attribute", "person"] = "row",
    adjacency: Neighbouring | None = None,
    rows_per_person: int = 1,
) -> dict[str, Any]:
    """gnomon budget cap ACCOUNT."""
    known = work.ledger.show(account).neighbours
    if known is None:
        how = adjacency or ("add-remove" if unit == "person" else "replace-one")
        known = (Unit(unit), Adjacency(how), rows_per_person)
    kept = work.ledger.cap(account, epsilon, delta, unit=known[0], adjacency=known[1], rows=known[2])
    return shown(kept)
