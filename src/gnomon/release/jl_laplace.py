"""JL + Laplace: a random projection of every record, with Laplace noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from gnomon.errors import ParameterError
from gnomon.plan import MethodPlan, PlannedNoise, advise
from gnomon.privacy import printed
from gnomon.privacy.guarantee import Guarantee, PureDP, Spendable
from gnomon.privacy.rounding import float_up, fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.privacy.tails import projected_l1_quantile
from gnomon.projection.gaussian import FINE, unseeded_gaussian
from gnomon.release.base import Account, Table, Task
from gnomon.release.projected import (
    ProjectedRows,
    best_dimension,
    distance_variance,
    longest_row,
    widest_attribute,
)
from gnomon.release.rows import attributes_of, even_spread
from gnomon.statistics.grid import Matrix
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema


class JlLaplace(ProjectedRows):
    """One noisy random projection for each record, from which distances between records can be recovered.

    Reference: Dhaliwal, So, Parker-Wood, Beck, "Utility Preserving Secure Private Data Release", 2019, Algorithms 1 and 2.

    Guarantee: epsilon-DP (delta = 0), or (epsilon, delta)-DP with no more noise, for replacing one record (unit="row") or
    one attribute of one record (unit="attribute", the paper's element-wise privacy); n and the order of rows are public.

    Differs from the paper (`calibration="sound"`): the noise is calibrated to the L1 sensitivity of the matrix that was
    drawn, so pure epsilon-DP holds for all data and the matrix is published; with delta > 0, to the exact tail of its
    law where that is less; rows lie in a declared ball; a category's two cells are both counted. The noise is exact
    discrete Laplace on a grid. Claim 7's variance is corrected. `calibration="paper"` prints c = 2 sqrt(k) and c = k t.

    Parameters
    ----------
    epsilon, delta : the budget. The exact tail needs a projection that nobody could know before: random_state=None.
    schema : Schema or path, or for arrays `bounds=(low, high)`.
    n_components : the dimension k, or "auto": where distances of evenly spread rows vary least (public numbers).
    unit : "row" or "attribute".
    projection : "gaussian" (N(0, 1/k)), "orthonormal" (scaled by sqrt(m/k)) or "sign" (+-1/sqrt(k)).
    radius : rows are clipped to this length (unit="row"); by default to none, as encoded rows have length at most
        the root of the number of attributes.
    label_weight : how far a change of label moves a row, relative to a change of all features (unit="row").
    random_state : seeds the projection, never the noise.
    """

    name: ClassVar[str] = "jl-laplace"
    norm: ClassVar[Norm] = Norm.L1
    fourth: ClassVar[float] = 14.0

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        schema: Schema | None = None,
        bounds: Any = None,
        target: str | None = None,
        task: Task | None = None,
        classes: Any = None,
        target_bounds: Any = None,
        n_components: int | str = "auto",
        calibration: str = "sound",
        unit: str = "row",
        projection: str = "gaussian",
        radius: float | None = None,
        label_weight: float = 0.5,
        random_state: Any = None,
        not_private: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.bounds = bounds
        self.target = target
        self.task = task
        self.classes = classes
        self.target_bounds = target_bounds
        self.n_components = n_components
        self.calibration = calibration
        self.unit = unit
        self.projection = projection
        self.radius = radius
        self.label_weight = label_weight
        self.random_state = random_state
        self.not_private = not_private

    def _check(self, table: Table) -> None:
        super()._check(table)
        if self.delta > 0 and table.schema.estimated:
            raise ParameterError(
                f"The column {table.schema.estimated[0].name!r} has estimate = true, and JlLaplace spends what is left "
                "as pure epsilon; set delta to 0, or declare its low and high."
            )
        if self.calibration == "paper" and self.projection != "gaussian":
            raise ParameterError(
                "The 'projection' parameter of JlLaplace must be 'gaussian' with calibration='paper'. "
                f"Got {self.projection!r} instead."
            )

    def _plan(self, table: Table, account: Account) -> tuple[int, Spendable]:
        guarantee = account.guarantee
        pure = PureDP(guarantee.epsilon, guarantee.unit, guarantee.adjacency)
        loss = pure if account.left is None else account.left
        if self.n_components != "auto":
            return int(self.n_components), loss
        return auto_dimension(table.encoder, self.epsilon, self.unit, self.projection), loss

    def _draw(self, m: int, k: int) -> Matrix:
        """Where the promise counts on the law of R, no seed may fix R beforehand."""
        return unseeded_gaussian(m, k) if self._by_tail else super()._draw(m, k)

    @property
    def _by_tail(self) -> bool:
        return self.delta > 0 and self.projection == "gaussian" and self.random_state is None

    def _calibrated(
        self,
        sensitivity: Sensitivity,
        loss: Spendable,
        grid: float,
        R: Matrix,
        table: Table,
        account: Account,
    ) -> tuple[Sensitivity, Spendable]:
        k = R.shape[1]
        widest = self._widest(table)
        if self.calibration == "paper":
            c, words, delta = printed_length(k, self.unit, self.delta)
            claimed = replace(sensitivity, value=fraction(c * widest * grid))
            account.caveats += words
            account.delivered = self.epsilon * float_up(sensitivity.value / claimed.value)
            account.caveats.append(
                f"For a fixed table and a projection drawn after it, delta is {delta:.3g} and not what is declared; "
                f"for the projection that was drawn and is published, epsilon is {account.delivered:.4g} with delta 0."
            )
            return claimed, loss
        if self._tail_counts:
            account.public.append(
                f"the law of the projection, which was drawn after the table was fixed: with probability {self.delta:g} "
                "it stretches one given change beyond what the noise was made for"
            )
        return sensitivity, loss

    def _features(self, R: Matrix, table: Table, radius: float) -> Sensitivity:
        """By the drawn R or, where that is shorter and a delta is granted, by the tail of its law.

        The label's steps are made from what is returned here, so that the label, whose change no projection shortens, is
        covered too.
        """
        found = super()._features(R, table, radius)
        self._reach = float_up(longest_row(R, radius))
        self._tail_counts = False
        if not self._by_tail or self.calibration == "paper":
            return found
        tail = replace(found, value=fraction(tail_length(R, self._widest(table), self.delta, table.m)))
        self._tail_counts = tail.value < found.value
        return tail if self._tail_counts else found

    def _widest(self, table: Table) -> float:
        """The largest change in L2, before the projection, that is protected."""
        return 2 * self._reach if self.unit == "row" else widest_attribute(attributes_of(table.encoder))

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What a row release would show, from public numbers alone."""
        unit = guarantee.unit.value
        k = auto_dimension(encoder, guarantee.epsilon, unit, "gaussian")
        std = math.sqrt(2) * expected_length(encoder, unit, "gaussian")(k) / guarantee.epsilon
        return row_plan(cls.name, encoder, k, std, "discrete-laplace", cls.fourth)


def expected_length(encoder: Encoder, unit: str, projection: str) -> Any:
    """About how far a change reaches in L1 through a random matrix of k columns: for choosing k, not for the noise."""
    m, rows = encoder.width, 2 * math.sqrt(len(encoder.groups))

    def of(k: int) -> float:
        if unit == "attribute":
            return 2 * (math.sqrt(2 * k / math.pi) + 0.6 * math.sqrt(2 * math.log(m + 1)))
        return rows * (math.sqrt(m) + (0.8 * math.sqrt(k) if projection != "orthonormal" else 0.0))

    return of


def auto_dimension(encoder: Encoder, epsilon: float, unit: str, projection: str) -> int:
    """The dimension at which squared distances of evenly spread rows vary least."""
    length = expected_length(encoder, unit, projection)
    if math.isinf(epsilon):
        return encoder.width
    return best_dimension(
        encoder.width, even_spread(encoder), lambda k: math.sqrt(2) * length(k) / epsilon, JlLaplace.fourth
    )


def row_plan(name: str, encoder: Encoder, k: int, std: float, mechanism: str, fourth: float) -> MethodPlan:
    """The plan of a release of projected rows: the relative error of a squared distance of evenly spread rows."""
    a = even_spread(encoder)
    error = math.sqrt(float(distance_variance(np.array([a]), k, std**2, fourth, 2 / k)[0])) / a
    noise = PlannedNoise(
        "one component of a row", mechanism, std / math.sqrt(a / 2 / encoder.width), "spreads"
    )
    return MethodPlan(name, "rows", k, (noise,), error, advise(error))


def tail_length(R: Matrix, widest: float, delta: float, m: int) -> float:
    """A length in L1 that a given change of L2 length `widest` exceeds with probability at most delta.

    The image of a fixed change v under N(0, 1/k) entries is ||v|| N(0, I/k); rounding R to its grid moves the image of v
    by at most k ||v||_1 / (2 FINE) <= k sqrt(m) ||v|| / (2 FINE) in L1.
    """
    k = R.shape[1]
    return float(widest * (projected_l1_quantile(k, delta) + k * math.sqrt(m) / FINE) * (1 + 1e-12))


def printed_length(k: int, unit: str, delta: float) -> tuple[float, list[str], float]:
    """The c that the paper prints for changes of length 1, what is wrong with its claim, and the true delta."""
    if unit == "attribute":
        words = "Theorem 3 prints c = 2 sqrt(k) and claims epsilon-DP with probability 1 - m exp(-k/2)"
        return (
            2 * math.sqrt(k),
            [words + ", which is no guarantee of privacy."],
            printed.paper_jl_cell_delta(k),
        )
    t = math.sqrt(2 * math.log(2 * k / delta) / k) if delta > 0 else math.sqrt(2 * math.log(2 * k) / k)
    words = "Theorem 5 prints c = k t with delta = 2 k exp(-k t^2 / 2)"
    at = "" if delta > 0 else "; with delta = 0, t is at its threshold, where that bound is 1"
    return k * t, [words + at + "."], printed.paper_jl_row_delta(k, t)
