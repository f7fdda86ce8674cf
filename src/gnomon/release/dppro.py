"""DPPro: a random projection of every record, with Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gnomon.errors import ParameterError
from gnomon.plan import MethodPlan
from gnomon.privacy.accounting import epsilon_of, spendable
from gnomon.privacy.guarantee import Adjacency, GaussianDP, Guarantee, Spendable, Unit
from gnomon.privacy.mechanism import release_vector
from gnomon.privacy.printed import paper_dppro_sigma
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.release.base import Account, Table, Task
from gnomon.release.jl_laplace import row_plan
from gnomon.release.projected import LARGEST, ProjectedRows, best_dimension, widest_attribute
from gnomon.release.rows import attributes_of, even_spread
from gnomon.statistics.grid import Matrix
from gnomon.table.encode import Encoder, Rows
from gnomon.table.schema import Schema

ESTIMATE = 0.05  # the share of the budget for the typical distance, where it is to be estimated
SUM_GRID = 2**16  # integers per unit of the sums that the typical distance comes from


class DpPro(ProjectedRows):
    """One noisy random projection for each record, for distances, learning and linear queries.

    Reference: Xu, Ren, Zhang, Qin, Ren, "DPPro: Differentially Private High-Dimensional Data Release via Random
    Projection", IEEE TIFS 2017, Algorithms 1 and 2, Theorem 3, Lemmas 4 and 5.

    Guarantee: (epsilon, delta)-DP for one attribute of one record (unit="attribute", the paper's) or for the whole record
    (unit="row"); n and the order of rows are public.

    Differs from the paper (`calibration="sound"`): the noise is calibrated to the realised theta_2(R), by the analytic
    Gaussian mechanism, and counts both cells of a category that changes and the full width of a number.
    `calibration="paper"` uses Lemma 4's sigma = 4 sqrt(ln(1/delta)) / epsilon.

    Parameters
    ----------
    epsilon, delta : the budget; delta must be positive.
    n_components : the dimension k, or "auto": the optimal dimension (Lemma 5) for `typical_distance`.
    typical_distance : the distance of records that shall be recovered best: a declared number, "estimate" (5% of the
        budget), or None for rows that are spread evenly over what the schema declares.
    schema, bounds, target, task, unit, projection, radius, label_weight, random_state : as in JlLaplace.
    """

    name: ClassVar[str] = "dppro"
    norm: ClassVar[Norm] = Norm.L2
    fourth: ClassVar[float] = 8.0

    def __init__(
        self,
        epsilon: float,
        delta: float,
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
        typical_distance: float | str | None = None,
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
        self.typical_distance = typical_distance
        self.random_state = random_state
        self.not_private = not_private

    def _guarantee(self) -> Guarantee:
        found = super()._guarantee()
        if found.delta == 0:
            raise ParameterError(
                "The 'delta' parameter of DpPro must be positive, because its noise is Gaussian; "
                "use JlLaplace for pure epsilon-DP."
            )
        return found

    def _check(self, table: Table) -> None:
        super()._check(table)
        asked = self.typical_distance
        number = isinstance(asked, int | float) and not isinstance(asked, bool) and 0 < asked <= LARGEST
        if not (asked is None or asked == "estimate" or number):
            raise ParameterError(
                f"The 'typical_distance' parameter of DpPro must be a positive number of at most {LARGEST:g}, 'estimate' "
                f"or None. Got {asked!r} instead."
            )
        if asked is not None and self.n_components != "auto":
            raise ParameterError(
                "The 'typical_distance' parameter of DpPro chooses the dimension; leave n_components at 'auto'."
            )
        if self.calibration == "paper" and (self.projection != "gaussian" or self.unit != "attribute"):
            raise ParameterError(
                "DPPro as printed is for unit='attribute' and a Gaussian projection; set both, or calibration='sound'."
            )
        if self.calibration == "paper" and (self.typical_distance == "estimate" or math.isinf(self.epsilon)):
            raise ParameterError(
                "DPPro as printed has no price for an estimated typical distance and no noise for an infinite epsilon; "
                "declare both, or use calibration='sound'."
            )

    def _plan(self, table: Table, account: Account) -> tuple[int, Spendable]:
        loss = spendable(account.guarantee) if account.left is None else account.left
        if self.n_components != "auto":
            return int(self.n_components), loss
        if self.typical_distance == "estimate":
            paying, loss = loss.split(ESTIMATE, 1 - ESTIMATE)
            squared = private_typical_square(table, account, paying)
        elif self.typical_distance is None:
            squared = even_spread(table.encoder)
        else:
            squared = float(self.typical_distance) ** 2
        assert isinstance(loss, GaussianDP)
        return auto_dimension(table.encoder, loss.mu, self.unit, self.projection, squared), loss

    def _calibrated(
        self,
        sensitivity: Sensitivity,
        loss: Spendable,
        grid: float,
        R: Matrix,
        table: Table,
        account: Account,
    ) -> tuple[Sensitivity, Spendable]:
        if self.calibration != "paper":
            return sensitivity, loss
        # Lemma 4 is for cells that move by 1; a number in [-1, 1] moves by 2, a cell of a category by 1
        width = 2.0 if widest_attribute(attributes_of(table.encoder)) >= 2 else 1.0
        sigma = paper_dppro_sigma(self.epsilon, self.delta) * width * grid
        mu = float(sensitivity.value) / sigma
        account.delivered = epsilon_of(mu, self.delta)
        account.caveats += printed_conditions(R.shape, self.epsilon, self.delta)
        account.caveats.append(
            f"Lemma 4's noise with the projection that was drawn and is published delivers epsilon "
            f"{account.delivered:.4g} at delta {self.delta:g}."
        )
        claimed = replace(sensitivity, value=fraction(sigma))
        return claimed, GaussianDP(1.0, loss.unit, loss.adjacency)

    def linear(self, queries: npt.ArrayLike) -> Answers:
        """Answers to linear queries sum_i <q, x_i> over the encoded rows, one for each row q of `queries` (c, m).

        <z_i, qR> estimates <x_i, q> without bias, as E[RR'] = I; the standard error is that of the noise, sqrt(n) s ||qR||,
        and leaves out what the projection distorts. A share of a category is the query of its one-hot column over n.
        """
        Q = np.atleast_2d(np.asarray(queries, dtype=np.float64))
        if Q.ndim != 2 or Q.shape[1] != self.map_.n_features or not np.isfinite(Q).all():
            raise ParameterError(
                f"The 'queries' parameter must be finite numbers of shape (c, {self.map_.n_features}), one column for "
                f"each encoded column. Got the shape {np.shape(queries)} instead."
            )
        k = self.n_components_
        total = sum(
            (chunk[:, :k].sum(axis=0, dtype=np.float64) for chunk in self.spool_.chunks()), np.zeros(k)
        )
        seen = Q @ self.projection_
        error = math.sqrt(self.n_rows_) * self.noise_std_ * np.linalg.norm(seen, axis=1)
        return Answers(seen @ total / self._grid, error)

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What a row release would show, from public numbers alone."""
        loss = spendable(guarantee)
        if not isinstance(loss, GaussianDP):
            raise ParameterError("DPPro adds Gaussian noise, which needs delta > 0.")
        unit = guarantee.unit.value
        k = auto_dimension(encoder, loss.mu, unit, "gaussian", even_spread(encoder))
        std = expected_stretch(encoder, unit, "gaussian")(k) / loss.mu
        return row_plan(cls.name, encoder, k, std, "rounded-gaussian", cls.fourth)


@dataclass(frozen=True)
class Answers:
    """Answers to linear queries and the standard errors that the noise gives them."""

    value: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]


def optimal_dimension(distance: float, sigma: float) -> int:
    """Lemma 5: k = rho^2 / (2 sigma^2) minimises 2 rho^4/k + 8 rho^2 sigma^2 + 8 k sigma^4, for a sigma that is given.

    d/dk = -2 rho^4/k^2 + 8 sigma^4 = 0 at k = rho^2 / (2 sigma^2) (the paper differentiates in rho^2, and arrives at the
    same k).
    """
    return max(1, round(distance**2 / (2 * sigma**2)))


def expected_stretch(encoder: Encoder, unit: str, projection: str) -> Any:
    """About how far a change reaches in L2 through a random matrix of k columns: for choosing k, not for the noise."""
    m, rows = encoder.width, 2 * math.sqrt(len(encoder.groups))

    def of(k: int) -> float:
        if unit == "attribute":
            return 2 * (1.0 if projection == "sign" else 1 + math.sqrt(math.log(m + 1) / k))
        return rows * (math.sqrt(m / k) + (0.0 if projection == "orthonormal" else 1.0))

    return of


def auto_dimension(encoder: Encoder, mu: float, unit: str, projection: str, squared: float) -> int:
    """Lemma 5 with the noise that each dimension needs: the dimension with the smallest variance of Theorem 3."""
    if math.isinf(mu):
        return encoder.width
    stretch = expected_stretch(encoder, unit, projection)
    return best_dimension(encoder.width, squared, lambda k: stretch(k) / mu, DpPro.fourth)


def spread_sums(*, attributes: int, unit: Unit, adjacency: Adjacency) -> Sensitivity:
    """The L2 sensitivity of (sum of rows, sum of their squared lengths) for encoded rows of `attributes` attributes.

    Claim. One attribute: 2. One row: sqrt(4 a + a^2) for a attributes.
    Proof. A number moves by d = |x - y| and its square by d |x + y| with d + |x + y| <= 2, so the squared change is at most
    d^2 (1 + (2 - d)^2), which increases in d up to 4 at d = 2; a category moves by sqrt(2) and its square not at all; a
    missing number by at most sqrt(2), its square by at most 1. A row: ||x - y|| <= 2 sqrt(a), lengths^2 lie in [0, a].
    Worst pair: a number at -1 and 1; for rows the bound has slack.
    """
    value = (
        Fraction(2)
        if unit is Unit.ATTRIBUTE
        else fraction(math.sqrt(4 * attributes + attributes**2) * (1 + 1e-15))
    )
    return Sensitivity(Norm.L2, value, adjacency=adjacency, unit=unit)


def private_typical_square(table: Table, account: Account, loss: Spendable) -> float:
    """The mean squared distance of two records, 2 (E ||x||^2 - ||E x||^2), from noisy sums."""

    def sums(rows: Rows) -> npt.NDArray[np.int64]:
        X = np.rint(rows.X * SUM_GRID)
        lengths = np.rint(np.einsum("ij,ij->i", X, X) / SUM_GRID)
        return np.append(X.sum(axis=0), lengths.sum()).astype(np.int64)

    m = table.m
    total = table.sum(sums, np.zeros(m + 1, np.int64), stage="estimating a typical distance")
    whole = spread_sums(attributes=len(table.encoder.groups), unit=loss.unit, adjacency=loss.adjacency)
    noisy = account.record(
        release_vector(
            total,
            # cells are rounded before they are summed, so only the squared lengths meet another rounding
            whole.on_grid(SUM_GRID, coordinates=1, error=2.0**-20),
            loss,
            statistic="sum of the rows and of their squared lengths, for a typical distance",
        )
    )
    found = noisy.value / (SUM_GRID * table.n)
    noise = m * (noisy.noise.diagonal / (SUM_GRID * table.n)) ** 2
    squared = 2 * (found[-1] - max(float(found[:-1] @ found[:-1]) - noise, 0.0))
    return float(min(max(squared, 0.01 * even_spread(table.encoder)), 4.0 * len(table.encoder.groups)))


def printed_conditions(shape: tuple[int, ...], epsilon: float, delta: float) -> list[str]:
    """Which conditions of Lemma 4 this release does not meet."""
    m, k = shape
    found = []
    least = 2 * (math.log(m) + math.log(2 / delta))
    if not k > least:
        found.append(f"Lemma 4 is for k > {least:.3g}; this release has k = {k}.")
    if not epsilon < math.log(1 / delta):
        found.append(f"Lemma 4 is for epsilon < ln(1/delta) = {math.log(1 / delta):.3g}.")
    return found
