"""Class labels that nobody declared: found by a paid selection, a noisy histogram of which only full bins are shown.

A label set read from the rows is not private for any epsilon: a label that one record alone has is there or not. The
selection shows a label only if its noisy count exceeds a threshold that a label of one unit's rows hardly ever reaches.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gnomon.errors import DataError, ParameterError
from gnomon.methods.public import Notes, Public
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ApproxDP, PureDP
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, vector_noise
from gnomon.privacy.noise.laplace import discrete_laplace
from gnomon.privacy.sensitivity import Norm, histogram
from gnomon.statistics.grid import Integers
from gnomon.statistics.queries import Query
from gnomon.table.column import Scalar
from gnomon.table.raw import LabelRows, label_counts

SHARE = 0.10  # of epsilon, and half of delta, for the selection
MOST = 4_096  # labels that are shown: the fullest


@dataclass(frozen=True, eq=False)
class FrequentLabels(Query):
    """The labels whose noisy count exceeds a threshold, the fullest first, each as JSON.

    Claim. With discrete Laplace noise Z of scale D / epsilon on the count of every label that occurs, D the L1
    sensitivity of a histogram, and a threshold t with k P(k + Z > t) <= delta / (1 + e^epsilon), the labels above t with
    their noisy counts are (epsilon, delta)-DP. k is the number of rows of a unit (1 for a row).
    Proof. Let M* be the selection that shows only labels that occur in both neighbouring tables: it is epsilon-DP, as the
    counts of these labels move by at most D. A label in one table alone belongs to rows of the unit, at most k labels of
    at most k rows each, so M differs from M* on either table with probability at most d = k P(k + Z > t). Hence
    P[M(A) in S] <= P[M*(A) in S] + d <= e^epsilon P[M*(B) in S] + d <= e^epsilon P[M(B) in S] + (1 + e^epsilon) d.
    Worst pair: one record with a label of its own.

    `labels` are private: a query that was asked is dropped, and only its answer is kept.
    """

    column: str
    labels: tuple[str, ...] = ()

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return f"set of labels of {self.column!r}"

    def zero(self) -> Integers:
        return np.zeros(len(self.labels), dtype=np.int64)

    def of_batch(self, rows: Any) -> Integers:
        counts = label_counts(rows.column(self.column))
        return np.array([counts[label] for label in self.labels], dtype=np.int64)

    def noise(self, loss: ApproxDP) -> Noise:
        moved = histogram(Norm.L1, columns=1, adjacency=loss.adjacency).protecting(loss)
        found = vector_noise(moved, PureDP(loss.epsilon, *loss.neighbours))
        return replace(found, mechanism="thresholded-laplace") if found.scale > 0 else found

    def threshold(self, loss: ApproxDP) -> int:
        """P(Z >= z) = q^z / (1 + q) < e^(-z / scale) for z >= 1, so that t - k + 1 >= scale ln(k / d) suffices."""
        scale, k = self.noise(loss).scale, loss.rows
        if scale == 0:
            return 0
        d = loss.delta / (1 + math.exp(min(loss.epsilon, 700.0)))
        return k + math.ceil(scale * math.log(k / d) * (1 + 1e-9))

    def selecting(self, loss: ApproxDP) -> _Selection:
        return _Selection(self.column, self.labels, self.threshold(loss))


@dataclass(frozen=True, eq=False)
class _Selection(FrequentLabels):
    """The query with its threshold, which follows from the loss."""

    least: int = 0

    def release(self, exact: Integers, noise: Noise) -> Any:
        drawn = discrete_laplace(noise.scale, exact.shape) if noise.scale > 0 else np.zeros_like(exact)
        noisy = exact + drawn
        # of equal counts the first by name: the order of the rows tells nothing
        shown = sorted(
            (-int(c), label) for c, label in zip(noisy, self.labels, strict=True) if c > self.least
        )
        return np.array([label for _, label in shown[:MOST]], dtype=np.str_)


def with_selected_classes(data: Measurer, public: Public, notes: Notes, rows: LabelRows | None) -> Public:
    """A target whose classes nobody declared has those that a paid selection finds."""
    target = public.schema.target
    assert target is not None
    guarantee = public.guarantee
    if not isinstance(guarantee, ApproxDP):
        raise ParameterError(
            f"The classes of {target.name!r} are to be found privately, which needs delta above 0; "
            "set delta, or declare the classes."
        )
    paying, rest = PureDP(guarantee.epsilon, *guarantee.neighbours).split(SHARE, 1 - SHARE)
    loss = ApproxDP(paying.epsilon, guarantee.delta / 2, *guarantee.neighbours)
    left = ApproxDP(rest.epsilon, guarantee.delta / 2, *guarantee.neighbours)
    labels = () if rows is None else rows.distinct()
    shown = data.measure(FrequentLabels(target.name, labels).selecting(loss), loss, rows=rows).answer
    values = _of_one_kind([json.loads(str(label)) for label in shown])
    if len(values) < 2:
        raise DataError(
            f"Fewer than two labels of {target.name!r} are frequent enough to be found privately at this budget; "
            "declare the classes, or spend more."
        )
    notes.public.append(
        f"classes of {target.name!r}: found by a selection that this release's budget paid for"
    )
    schema = public.schema.with_values(target.name, values)
    return replace(public, schema=schema, left=spendable(left))


def _of_one_kind(values: list[Scalar]) -> tuple[Scalar, ...]:
    """All booleans, all numbers, or all text, as a schema has them; text keeps the fullest label first."""
    kinds = {bool if isinstance(v, bool) else str if isinstance(v, str) else float for v in values}
    if len(kinds) <= 1:
        return tuple(values)
    return tuple(dict.fromkeys(v if isinstance(v, str) else json.dumps(v) for v in values))
