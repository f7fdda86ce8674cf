"""Categories that nobody declared: found by a paid selection, noisy histograms of which only full bins are shown.

A label set read from the rows is not private for any epsilon: a label that one record alone has is there or not. The
selection shows a label only if its noisy count exceeds a threshold that a label of one unit's rows hardly ever reaches.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnomon.errors import NoisyRefusalError, ParameterError
from gnomon.methods.public import Notes, Public
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ApproxDP, Guarantee, PureDP
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, vector_noise
from gnomon.privacy.noise.laplace import discrete_laplace
from gnomon.privacy.sensitivity import Norm, histogram
from gnomon.statistics.grid import Integers
from gnomon.statistics.queries import Query
from gnomon.table.column import Scalar
from gnomon.table.raw import Label, LabelRows, label_counts
from gnomon.table.schema import Schema

SHARE, MOST_SHARE = 0.10, 0.30  # of epsilon, for one column and for all together; and half of delta
MOST = 4_096  # labels of a column that are shown: the fullest


@dataclass(frozen=True, eq=False)
class FrequentLabels(Query):
    """The labels of some columns whose noisy count exceeds a threshold, the fullest first, each as JSON [column, label].

    Claim. With discrete Laplace noise Z of scale D / epsilon on the count of every label that occurs, D the L1
    sensitivity of c histograms, and a threshold t with c k P(k + Z > t) <= delta / (1 + e^epsilon), the labels above t
    with their noisy counts are (epsilon, delta)-DP. k is the number of rows of a unit (1 for a row), c that of columns.
    Proof. Let M* be the selection that shows only labels that occur in both neighbouring tables: it is epsilon-DP, as the
    counts of these labels move by at most D. A label in one table alone belongs to rows of the unit, in each column at
    most k labels of at most k rows each, so M differs from M* on either table with probability at most
    d = c k P(k + Z > t). Hence P[M(A) in S] <= P[M*(A) in S] + d <= e^epsilon P[M*(B) in S] + d <=
    e^epsilon P[M(B) in S] + (1 + e^epsilon) d. Worst pair: one record with labels of its own in all columns.

    `labels` are private: a query that was asked is dropped, and only its answer is kept.
    """

    columns: tuple[str, ...]
    labels: tuple[Label, ...] = ()

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return f"set of labels of {', '.join(map(repr, self.columns))}"

    def zero(self) -> Integers:
        return np.zeros(len(self.labels), dtype=np.int64)

    def of_batch(self, rows: Any) -> Integers:
        counts = {column: label_counts(rows.column(column)) for column in self.columns}
        return np.array([counts[column][label] for column, label in self.labels], dtype=np.int64)

    def noise(self, loss: ApproxDP) -> Noise:
        moved = histogram(Norm.L1, columns=len(self.columns), adjacency=loss.adjacency).protecting(loss)
        found = vector_noise(moved, PureDP(loss.epsilon, *loss.neighbours))
        return replace(found, mechanism="thresholded-laplace") if found.scale > 0 else found

    def threshold(self, loss: ApproxDP) -> int:
        """P(Z >= z) = q^z / (1 + q) < e^(-z / scale) for z >= 1, so that t - k + 1 >= scale ln(c k / d) suffices."""
        scale, k = self.noise(loss).scale, loss.rows
        if scale == 0:
            return 0
        d = loss.delta / (1 + math.exp(min(loss.epsilon, 700.0)))
        return k + math.ceil(scale * math.log(len(self.columns) * k / d) * (1 + 1e-9))

    def selecting(self, loss: ApproxDP) -> _Selection:
        return _Selection(self.columns, self.labels, self.threshold(loss))


@dataclass(frozen=True, eq=False)
class _Selection(FrequentLabels):
    """The query with its threshold, which follows from the loss."""

    least: int = 0

    def release(self, exact: Integers, noise: Noise) -> Any:
        drawn = discrete_laplace(noise.scale, exact.shape) if noise.scale > 0 else np.zeros_like(exact)
        noisy = exact + drawn
        # of equal counts the first by name: the order of the rows tells nothing
        full = sorted((-int(c), label) for c, label in zip(noisy, self.labels, strict=True) if c > self.least)
        shown = [
            label for name in self.columns for label in [one for _, one in full if one[0] == name][:MOST]
        ]
        return np.array([json.dumps([name, json.loads(label)]) for name, label in shown], dtype=np.str_)


# --- what it costs, from public numbers ---


def selected(schema: Schema) -> tuple[str, ...]:
    """The columns whose categories are to be found."""
    return tuple(column.name for column in schema.estimated if column.kind == "category")


def selection_share(columns: int) -> float:
    """Of epsilon: as much for each of several columns as for one, up to three tenths."""
    return min(MOST_SHARE, SHARE * columns)


def selection_losses(guarantee: ApproxDP, columns: int) -> tuple[ApproxDP, ApproxDP]:
    """What the selection may spend, and what is left."""
    share = selection_share(columns)
    paying, rest = PureDP(guarantee.epsilon, *guarantee.neighbours).split(share, 1 - share)
    half = guarantee.delta / 2
    return ApproxDP(paying.epsilon, half, *guarantee.neighbours), ApproxDP(
        rest.epsilon, half, *guarantee.neighbours
    )


def least_shown(schema: Schema, guarantee: Guarantee) -> int | None:
    """The rows that a category must have, about, to be found; None where none is to be."""
    names = selected(schema)
    if not names or not isinstance(guarantee, ApproxDP):
        return None
    return FrequentLabels(names).threshold(selection_losses(guarantee, len(names))[0])


def too_rare(schema: Schema, rows: int, guarantee: Guarantee) -> frozenset[str]:
    """The columns of which no category would be found, even if all rows had one."""
    least = least_shown(schema, guarantee)
    return frozenset(selected(schema)) if least is not None and least >= rows else frozenset()


def refuse_pure(schema: Schema, guarantee: Guarantee) -> None:
    """A selection needs a delta."""
    names = selected(schema)
    if names and guarantee.delta == 0:
        what = "classes" if schema[names[0]].role == "target" else "categories"
        raise ParameterError(
            f"The {what} of {names[0]!r} are to be found privately, which needs delta above 0; "
            f"set delta, or declare the {what}."
        )


# --- the selection ---


def with_selected_labels(
    data: Measurer, public: Public, notes: Notes, rows: LabelRows | None
) -> tuple[Public, list[str]]:
    """Categories that nobody declared are those that a paid selection finds; and the columns of which it finds none."""
    guarantee, names = public.guarantee, selected(public.schema)
    refuse_pure(public.schema, guarantee)
    assert isinstance(guarantee, ApproxDP)
    loss, left = selection_losses(guarantee, len(names))
    labels = () if rows is None else rows.distinct()
    shown = data.measure(FrequentLabels(names, labels).selecting(loss), loss, rows=rows).answer
    found: dict[str, list[Scalar]] = {name: [] for name in names}
    for answer in shown:
        name, value = json.loads(str(answer))
        found[name].append(value)
    schema, lost = public.schema, []
    for name, values in found.items():
        target = schema[name].role == "target"
        if target and len(values) < 2:
            raise NoisyRefusalError(
                f"Fewer than two labels of {name!r} are frequent enough to be found privately at this budget; "
                "declare the classes, or spend more."
            )
        if not values:
            lost.append(name)
            continue
        schema = schema.with_values(name, _of_one_kind(values))
        what = "classes" if target else "categories"
        notes.public.append(f"{what} of {name!r}: found by a selection that this release's budget paid for")
    return replace(public, schema=schema, left=spendable(left)), lost


def _of_one_kind(values: list[Scalar]) -> tuple[Scalar, ...]:
    """All booleans, all numbers, or all text, as a schema has them; text keeps the fullest label first."""
    kinds = {bool if isinstance(v, bool) else str if isinstance(v, str) else float for v in values}
    if len(kinds) <= 1:
        return tuple(values)
    return tuple(dict.fromkeys(v if isinstance(v, str) else json.dumps(v) for v in values))
