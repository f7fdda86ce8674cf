"""DPPro: a random projection of every record, with Gaussian noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from gnomon.errors import ParameterError
from gnomon.methods.planning import MethodPlan
from gnomon.methods.projected import (
    LARGEST,
    ProjectedRows,
    best_dimension,
    row_plan,
    widest_attribute,
)
from gnomon.methods.projected_query import View
from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import attributes_of, even_spread
from gnomon.privacy.accounting import epsilon_of, spendable
from gnomon.privacy.guarantee import GaussianDP, Guarantee, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.printed import paper_dppro, paper_dppro_sigma, paper_dppro_theorem_2
from gnomon.privacy.sensitivity import Norm, Sensitivity, spread_sums
from gnomon.release.analyst.estimates import Estimates
from gnomon.release.analyst.linear import Quantity, Totals, sums
from gnomon.release.analyst.rows import GAUSSIAN_FOURTH
from gnomon.statistics.grid import Integers
from gnomon.statistics.queries import VectorQuery
from gnomon.table.encode import Encoder
from gnomon.table.rows import CELL, Rows

THEOREM_2, LEMMA_4 = "theorem-2", "lemma-4"
ESTIMATE = 0.05  # the share of the budget for the typical distance, where it is to be estimated
SUM_GRID = 2**16  # integers per unit of the sums that the typical distance comes from


@dataclass(eq=False, repr=False)
class DpPro(ProjectedRows):
    """One noisy random projection for each record, for distances, learning and linear queries.

    Reference: Xu, Ren, Zhang, Qin, Ren, "DPPro: Differentially Private High-Dimensional Data Release via Random
    Projection", IEEE TIFS 2017, Algorithms 1 and 2, Theorems 2 and 3, Lemmas 4 and 5.

    Guarantee: (epsilon, delta)-DP for one attribute of one record (unit="attribute", the paper's) or for the whole record
    (unit="row"); n is public, the order of rows is not.

    Differs from the paper (`calibration="sound"`): the noise is calibrated to the realised theta_2(R), by the analytic
    Gaussian mechanism, and counts both cells of a category that changes and the full width of a number.
    `calibration="paper"` uses Theorem 2's sigma = theta_2(R) sqrt(2 (ln(1/(2 delta)) + epsilon)) / epsilon, or Lemma 4's.

    Parameters
    ----------
    epsilon, delta : the budget; delta must be positive.
    n_components : the dimension k, or "auto": the optimal dimension (Lemma 5) for `typical_distance`.
    typical_distance : the distance of records that shall be recovered best: a declared number, "estimate" (5% of the
        budget), or None for rows that are spread evenly over what the schema declares.
    printed : with calibration="paper", "theorem-2" or "lemma-4" (sigma = 4 sqrt(ln(1/delta)) / epsilon, only for k above
        2 (ln m + ln(2/delta))).
    sigma : with calibration="paper", the noise itself, as the paper's figures name it; what epsilon it gives is certified.
    schema, bounds, target, task, unit, projection, radius, label_weight, order, publish_projection, random_state : as in
        JlLaplace.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> rows = gn.DpPro(8.0, 1e-6, bounds=(0, 1), n_components=2).fit(X)
    >>> rows.sample().shape
    (200, 2)
    >>> low, high = rows.distances(0, 1).interval()
    >>> bool(low < high)  # squared distance of two records
    True
    """

    name: ClassVar[str] = "dppro"
    norm: ClassVar[Norm] = Norm.L2
    fourth: ClassVar[float] = GAUSSIAN_FOURTH

    typical_distance: float | str | None = None
    printed: str = THEOREM_2
    sigma: float | None = None

    def _guarantee(self, n: int | None) -> Guarantee:
        found = super()._guarantee(n)
        if found.delta == 0:
            raise ParameterError(
                "The 'delta' parameter of DpPro must be positive, because its noise is Gaussian; "
                "use JlLaplace for pure epsilon-DP."
            )
        return found

    def _check(self, public: Public) -> None:
        super()._check(public)
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
        self._check_printed(public)
        if self.calibration == "paper" and (self.projection != "gaussian" or self.unit != "attribute"):
            raise ParameterError(
                "DPPro as printed is for unit='attribute' and a Gaussian projection; set both, or calibration='sound'."
            )
        if self.calibration == "paper" and (self.typical_distance == "estimate" or math.isinf(self.epsilon)):
            raise ParameterError(
                "DPPro as printed has no price for an estimated typical distance and no noise for an infinite epsilon; "
                "declare both, or use calibration='sound'."
            )

    def _check_printed(self, public: Public) -> None:
        if self.printed not in (THEOREM_2, LEMMA_4):
            raise ParameterError(
                f"The 'printed' parameter of DpPro must be {THEOREM_2!r} or {LEMMA_4!r}. Got {self.printed!r} instead."
            )
        sigma = self.sigma
        if sigma is not None and not (isinstance(sigma, int | float) and 1e-6 <= sigma <= LARGEST):
            raise ParameterError(
                f"The 'sigma' parameter of DpPro must be a number from 1e-06 to {LARGEST:g}. Got {sigma!r} instead."
            )
        if self.calibration != "paper":
            if sigma is not None or self.printed != THEOREM_2:
                raise ParameterError(
                    "The 'printed' and 'sigma' parameters of DpPro are for calibration='paper'; sound noise follows from "
                    "the matrix that is drawn."
                )
            return
        if self.printed == LEMMA_4 and sigma is None and self.n_components != "auto":
            unmet = printed_conditions(
                (public.m, int(self.n_components)), self.epsilon, public.guarantee.delta
            )
            if unmet:
                raise ParameterError(f"{unmet[0]} Use printed={THEOREM_2!r}, which holds for every k.")

    def _plan(self, data: Measurer, public: Public, notes: Notes) -> tuple[int, Spendable]:
        loss = public.budget
        if self.n_components != "auto":
            return int(self.n_components), loss
        if self.typical_distance == "estimate":
            paying, loss = loss.split(ESTIMATE, 1 - ESTIMATE)
            squared = typical_square(data, public, paying)
        elif self.typical_distance is None:
            squared = even_spread(public.encoder)
        else:
            squared = float(self.typical_distance) ** 2
        assert isinstance(loss, GaussianDP)
        return auto_dimension(public.encoder, loss.mu, self.unit, self.projection, squared), loss

    def _calibrated(
        self, true: Sensitivity, loss: Spendable, grid: float, view: View, public: Public, notes: Notes
    ) -> tuple[Sensitivity, Spendable]:
        if self.calibration != "paper":
            return true, loss
        sigma, words = self._printed_sigma(view, public)
        sigma *= grid
        delta = public.guarantee.delta
        notes.delivered = epsilon_of(float(true.value) / sigma, delta)
        if self.printed == LEMMA_4 and self.sigma is None:
            notes.caveats += printed_conditions(view.R.shape, self.epsilon, delta)
        notes.caveats.append(
            f"{words} with the projection that was drawn and is published delivers epsilon {notes.delivered:.4g} at delta "
            f"{delta:g}."
        )
        return true, GaussianDP(
            float(true.value) / sigma, *loss.neighbours
        )  # what the printed sigma really costs

    def _printed_sigma(self, view: View, public: Public) -> tuple[float, str]:
        """The standard deviation of a component as printed, for cells of width 1: a number in [-1, 1] has width 2."""
        attributes = attributes_of(public.encoder)
        width = 2.0 if widest_attribute(attributes) >= 2 else 1.0
        if self.sigma is not None:
            return self.sigma * width, f"The given sigma, {self.sigma:g},"
        if self.printed == LEMMA_4:
            return paper_dppro_sigma(self.epsilon, public.guarantee.delta) * width, "Lemma 4's noise"
        theta = paper_dppro(view.R, attributes).printed
        return theta * paper_dppro_theorem_2(
            self.epsilon, public.guarantee.delta
        ) * width, "Theorem 2's noise"

    def linear(self, queries: npt.ArrayLike) -> Estimates:
        """Answers to linear queries sum_i <q, x_i> over the encoded rows, one for each row q of `queries` (c, m).

        Each is a regression of the sum of the released rows on qR, and its interval includes the projection (see
        `gnomon.release.analyst.linear`). A share of a category is the query of its one-hot column over n.
        """
        Q, m = np.atleast_2d(np.asarray(queries, dtype=np.float64)), self.frame_.n_features
        if Q.ndim != 2 or Q.shape[1] != m or not np.isfinite(Q).all():
            raise ParameterError(
                f"The 'queries' parameter must be finite numbers of shape (c, {m}), one column for "
                f"each encoded column. Got the shape {np.shape(queries)} instead."
            )
        return sums(self._totals(), [Quantity(q) for q in Q])

    def _totals(self) -> Totals:
        orthonormal = self.projection == "orthonormal"
        return Totals.of(self.components(), self.projection_, self.noise_std_, orthonormal=orthonormal)

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What a row release would show, from public numbers alone."""
        loss = spendable(guarantee)
        if not isinstance(loss, GaussianDP):
            raise ParameterError("DPPro adds Gaussian noise, which needs delta > 0.")
        unit = guarantee.unit.value
        k = auto_dimension(encoder, loss.mu, unit, "gaussian", even_spread(encoder))
        std = expected_l2(encoder, unit, "gaussian", k) / loss.mu
        return row_plan(cls.name, encoder, k, std, "rounded-gaussian", cls.fourth)


# --- the dimension ---


def optimal_dimension(distance: float, sigma: float) -> int:
    """Lemma 5: k = rho^2 / (2 sigma^2) minimises 2 rho^4/k + 8 rho^2 sigma^2 + 8 k sigma^4, for a sigma that is given.

    d/dk = -2 rho^4/k^2 + 8 sigma^4 = 0 at k = rho^2 / (2 sigma^2) (the paper differentiates in rho^2, and arrives at the
    same k).
    """
    return max(1, round(distance**2 / (2 * sigma**2)))


def expected_l2(encoder: Encoder, unit: str, projection: str, k: int) -> float:
    """About how far a change reaches in L2 through a random matrix of k columns: for choosing k, not for the noise."""
    m = encoder.width
    if unit == "attribute":
        return 2 * (1.0 if projection == "sign" else 1 + math.sqrt(math.log(m + 1) / k))
    stretch = math.sqrt(m / k) + (0.0 if projection == "orthonormal" else 1.0)
    return 2 * math.sqrt(len(encoder.groups)) * stretch


def auto_dimension(encoder: Encoder, mu: float, unit: str, projection: str, squared: float) -> int:
    """Lemma 5 with the noise that each dimension needs: the dimension with the smallest variance of Theorem 3."""
    if math.isinf(mu):
        return encoder.width

    def noise_of(k: int) -> float:
        return expected_l2(encoder, unit, projection, k) / mu

    return best_dimension(encoder.width, squared, noise_of, GAUSSIAN_FOURTH)


@dataclass(frozen=True, eq=False)
class Spread(VectorQuery):
    """The sum of the rows, and of their squared lengths, (m + 1,), on the grid SUM_GRID."""

    statistic: str
    columns: int
    attributes: int

    def zero(self) -> Integers:
        return np.zeros(self.columns + 1, dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        X = np.rint(rows.cells * (SUM_GRID / CELL))
        lengths = np.rint(np.einsum("ij,ij->i", X, X) / SUM_GRID)
        return np.append(X.sum(axis=0), lengths.sum()).astype(np.int64)

    def sensitivity(self, norm: Norm, loss: Spendable) -> Sensitivity:
        exact = spread_sums(norm, attributes=self.attributes, unit=loss.unit, adjacency=loss.adjacency)
        # cells are rounded before they are summed, so only the squared lengths meet another rounding
        return exact.on_grid(SUM_GRID, coordinates=1, error=2.0**-20)


def typical_square(data: Measurer, public: Public, loss: Spendable) -> float:
    """The mean squared distance of two records, 2 (E ||x||^2 - ||E x||^2), from noisy sums."""
    attributes = len(public.encoder.groups)
    statistic = "sum of the rows and of their squared lengths, for a typical distance"
    measured = data.measure(Spread(statistic, public.m, attributes), loss)
    mean = measured.answer / (SUM_GRID * public.rows)
    noise = public.m * (measured.noise.diagonal / (SUM_GRID * public.rows)) ** 2
    squared = 2 * (mean[-1] - max(float(mean[:-1] @ mean[:-1]) - noise, 0.0))
    return float(min(max(squared, 0.01 * even_spread(public.encoder)), 4.0 * attributes))


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
