"""JL + Laplace: a random projection of every record, with Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from gnomon.errors import ParameterError
from gnomon.methods.distance_dimension import expected_l1, laplace_dimension, row_plan
from gnomon.methods.jl_laplace_paper import check_inputs, printed_length
from gnomon.methods.planning import MethodPlan
from gnomon.methods.projected import LaplaceRows
from gnomon.methods.projected_query import View
from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import attributes_of
from gnomon.privacy.guarantee import ApproxDP, Guarantee, PureDP, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.rounding import float_up, fraction
from gnomon.privacy.sensitivity import Sensitivity
from gnomon.privacy.tails import projected_l1_quantile
from gnomon.projection.gaussian import FINE
from gnomon.projection.kinds import unseeded
from gnomon.statistics.grid import Matrix
from gnomon.table.encode import Encoder

UNSEEDED = "projection, drawn after the table was fixed"
BY_TAIL = "for a sensitivity that the law of the projection exceeds with probability delta"


@dataclass(eq=False, repr=False)
class JlLaplace(LaplaceRows):
    """One noisy random projection for each record, from which distances between records can be recovered.

    Reference: Dhaliwal, So, Parker-Wood, Beck, "Utility Preserving Secure Private Data Release", 2019, Algorithms 1 and 2.

    Guarantee: epsilon-DP (delta = 0), or (epsilon, delta)-DP with no more noise, for replacing one record (unit="row") or
    one attribute of one record (unit="attribute", the paper's element-wise privacy); n is public, the order of rows is not.

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
    order : "shuffled", or "kept", which publishes the order of the table; the custodian finds it in `permutation_`.
    publish_projection : False withholds R: it then comes from no seed, and only the custodian has it (`projection_`). The
        guarantee is the same, as it holds for every R, and whoever knows some records can find R from their rows.
    c, t : with calibration="paper", the length that the noise is made for: c itself or, for unit="row", t in c = k t. By
        default c = 2 sqrt(k) (Theorem 3), and t by the declared delta or, without one, at its threshold (Theorem 5).
    random_state : seeds the projection, never the noise and never the order.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> rows = gn.JlLaplace(8.0, bounds=(0, 1), n_components=2).fit(X)
    >>> rows.sample().shape
    (200, 2)
    >>> low, high = rows.distances(0, 1).interval()
    >>> bool(low < high)  # squared distance of two records
    True
    """

    name: ClassVar[str] = "jl-laplace"

    c: float | None = None
    t: float | None = None

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_inputs(self)
        if self.calibration == "paper" and self.projection != "gaussian":
            raise ParameterError(
                "The 'projection' parameter of JlLaplace must be 'gaussian' with calibration='paper'. "
                f"Got {self.projection!r} instead."
            )

    def _draw(self, data: Measurer, public: Public, k: int) -> Matrix:
        """Where the promise counts on the law of R, no seed may fix R beforehand."""
        self._by_tail, self._tail_delta = self._may_count_on_the_tail(data, public), 0.0
        if not self._by_tail or not self.publish_projection:
            return super()._draw(data, public, k)
        return data.draw_public(UNSEEDED, partial(unseeded, self.projection, public.m, k)) / FINE

    def _may_count_on_the_tail(self, data: Measurer, public: Public) -> bool:
        """By what the caller asked for, never by the seed that is recorded; a replay does as the first run did."""
        granted = public.guarantee.delta > 0 and self.projection == "gaussian"
        if not self.publish_projection:  # then no seed ever fixes R
            return granted
        if data.recorded:
            return data.drew(UNSEEDED)
        return granted and self.random_state is None

    def _features(self, view: View, public: Public, notes: Notes) -> Sensitivity:
        """By the drawn R or, where that is shorter and a delta is granted, by the tail of its law.

        The label's steps are made from what is returned here, so that the label, whose change no projection shortens, is
        covered too.
        """
        drawn = super()._features(view, public, notes)
        if not self._by_tail or self.calibration == "paper":
            return drawn
        delta = public.guarantee.delta
        length = tail_length(view.R, self._widest(view, public), delta)
        tail = replace(drawn, value=fraction(length))
        if tail.value >= drawn.value:
            return drawn
        self._tail_delta = delta
        notes.public.append(
            f"the law of the projection, which was drawn after the table was fixed: with probability {delta:g} "
            "it stretches one given change beyond what the noise was made for"
        )
        return tail

    def _charge(self, loss: Spendable) -> tuple[ApproxDP | None, str]:
        """By the tail the rows cost (epsilon, delta): the length that the noise is made for is exceeded with delta."""
        if not self._tail_delta:
            return None, ""
        assert isinstance(loss, PureDP)
        return ApproxDP(loss.epsilon, self._tail_delta, *loss.neighbours), BY_TAIL

    def _widest(self, view: View, public: Public) -> float:
        """The largest change in L2, before the projection, that is protected."""
        if self.unit == "row":
            return 2 * float_up(view.longest)
        return max(attribute.width for attribute in attributes_of(public.encoder))

    def _calibrated(
        self, true: Sensitivity, loss: Spendable, grid: float, view: View, public: Public, notes: Notes
    ) -> tuple[Sensitivity, Spendable]:
        if self.calibration != "paper":
            return true, loss
        delta = public.guarantee.delta
        c, words, delta = printed_length(view.R.shape[1], self.unit, delta, self.c, self.t)
        claimed = replace(true, value=fraction(c * self._widest(view, public) * grid))
        notes.delivered = self.epsilon * float_up(true.value / claimed.value)
        notes.caveats += [
            words,
            f"For a fixed table and a projection drawn after it, delta is {delta:.3g} and not what is declared; "
            f"for the projection that was drawn and is published, epsilon is {notes.delivered:.4g} with delta 0.",
        ]
        return claimed, loss

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What a row release would show, from public numbers alone."""
        unit = guarantee.unit.value
        k = laplace_dimension(encoder, guarantee.epsilon, unit, "gaussian")
        std = math.sqrt(2) * expected_l1(encoder, unit, "gaussian", k) / guarantee.epsilon
        return row_plan(cls.name, encoder, k, std, "discrete-laplace", cls.fourth)


def tail_length(R: Matrix, widest: float, delta: float) -> float:
    """A length in L1 that a given change of L2 length `widest` exceeds with probability at most delta.

    The image of a fixed change v under N(0, 1/k) entries is ||v|| N(0, I/k); rounding R to its grid moves the image of v
    by at most k ||v||_1 / (2 FINE) <= k sqrt(m) ||v|| / (2 FINE) in L1.
    """
    m, k = R.shape
    return float(widest * (projected_l1_quantile(k, delta) + k * math.sqrt(m) / FINE) * (1 + 1e-12))
