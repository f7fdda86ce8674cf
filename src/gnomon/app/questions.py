"""For analysts: what a release folder answers, with intervals. Each is a library call on a verified folder."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from gnomon.app.actions import action
from gnomon.app.workspace import Workspace
from gnomon.commands.analyst import weighed
from gnomon.errors import ParameterError

MOST = 1000  # lines of an answer on the page
LEVEL = 0.95  # how often an interval holds the truth


@action
def marginal(work: Workspace, *, id: str, columns: list[str]) -> dict[str, Any]:
    """gnomon marginal: how many rows have each value of a column, or each pair of values of two."""
    found = work.verified(id).marginal(columns)
    return _answer(found.columns, found.values, found.counts)


@action
def query(work: Workspace, *, id: str, terms: list[str], together: bool = False) -> dict[str, Any]:
    """gnomon query: counts and sums over all rows of the table."""
    if not terms:
        raise ParameterError("Ask for a column, as age, or for a value of one, as ward=north.")
    weights = [weighed(term) for term in terms]
    asked = [dict(weights)] if together else [{term: weight} for term, weight in weights]
    names = [" + ".join(terms)] if together else terms
    found = work.verified(id).query(asked)
    return _answer(["query"], [(name,) for name in names], found)


@action
def distances(work: Workspace, *, id: str, row: int, others: list[int]) -> dict[str, Any]:
    """gnomon distances: squared distances of the records behind released rows."""
    if not others:
        raise ParameterError("Say to which rows the distance is wanted, as 17 or 17 23.")
    found = work.verified(id).distances([row] * len(others), others)
    return _answer(["row", "to row"], [(str(row), str(other)) for other in others], found)


@action
def neighbours(work: Workspace, *, id: str, row: int, count: int = 5) -> dict[str, Any]:
    """gnomon neighbours: the released rows nearest to one."""
    found = work.verified(id).neighbours(row, count)
    return _answer(["row"], [(str(place),) for place in found.places.tolist()], found.distances)


def _answer(heads: Sequence[str], labels: Iterable[Sequence[str]], found: Any) -> dict[str, Any]:
    """Lines of labels, an estimate, its standard error and its interval; what is not known is null."""
    told = zip(found.value, found.standard_error, *found.interval(LEVEL), strict=True)
    keys = ("value", "error", "low", "high")
    lines = [
        {"labels": list(names), **dict(zip(keys, map(_number, numbers), strict=True))}
        for names, numbers in islice(zip(labels, told, strict=True), MOST)
    ]
    return {
        "heads": list(heads),
        "lines": lines,
        "left_out": max(0, len(found.value) - MOST),
        "level": LEVEL,
        "about": getattr(found, "about", ""),
    }


def _number(value: float) -> float | str | None:
    """JSON has no infinity and no NaN."""
    number = float(value)
    return number if math.isfinite(number) else None if math.isnan(number) else "∞"
