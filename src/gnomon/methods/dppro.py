"""DPPro: a random projection of every record, with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from gnomon.errors import ParameterError
from gnomon.methods import dppro_paper as paper
from gnomon.methods.distance_dimension import expected_l2, gaussian_dimension, row_plan
from gnomon.methods.parameters import check, is_number
from gnomon.methods.planning import MethodPlan
from gnomon.methods.projected import LARGEST, ProjectedRows
from gnomon.methods.projected_query import View
from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import GaussianNoise, even_spread
from gnomon.methods.typical_distance import typical_square
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import GaussianDP, Guarantee, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.release.analyst.estimates import Estimates
from gnomon.release.analyst.linear import Quantity, Totals, sums
from gnomon.release.analyst.rows import GAUSSIAN_FOURTH
from gnomon.table.encode import Encoder

ESTIMATE = 0.05  # the share of the budget for the typical distance, where it is to be estimated


@dataclass(eq=False, repr=False)
class DpPro(GaussianNoise, ProjectedRows):
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
    printed: str = paper.THEOREM_2
    sigma: float | None = None

    def _check(self, public: Public) -> None:
        super()._check(public)
        asked = self.typical_distance
        fits = asked in (None, "estimate") or (is_number(asked) and 0 < float(asked) <= LARGEST)
        check(self, "typical_distance", fits, f"a positive number of at most {LARGEST:g}, 'estimate' or None")
        if asked is not None and self.n_components != "auto":
            raise ParameterError(
                "The 'typical_distance' parameter of DpPro chooses the dimension; leave n_components at 'auto'."
            )
        paper.check_inputs(self, public)

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
        return gaussian_dimension(public.encoder, loss.mu, self.unit, self.projection, squared), loss

    def _calibrated(
        self, true: Sensitivity, loss: Spendable, grid: float, view: View, public: Public, notes: Notes
    ) -> tuple[Sensitivity, Spendable]:
        if self.calibration != "paper":
            return true, loss
        mu = paper.printed_mu(self.printed, self.sigma, view.R, true, grid, public, notes)
        return true, GaussianDP(mu, *loss.neighbours)

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
        k = gaussian_dimension(encoder, loss.mu, unit, "gaussian", even_spread(encoder))
        std = expected_l2(encoder, unit, "gaussian", k) / loss.mu
        return row_plan(cls.name, encoder, k, std, "rounded-gaussian", cls.fourth)
