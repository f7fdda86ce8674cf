"""Blocki et al., adapted: a Gaussian projection of the records (not of the columns), and a Gaussian model of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gnomon.errors import ParameterError
from gnomon.methods.baseline.base import Compared, all_columns, check_full_dimension
from gnomon.methods.baseline.sketch import sketch_lift
from gnomon.methods.gaussian_model import BESIDE, CONSTANT, class_moments
from gnomon.methods.model_release import ModelRelease
from gnomon.methods.public import Notes, Public
from gnomon.model.repair import mixture_of, rows_of
from gnomon.model.sums import Sums
from gnomon.privacy.guarantee import ApproxDP, Unit
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, NoiseLaw
from gnomon.privacy.noise.sketch import TOTAL_VARIATION, gaussian_sketch
from gnomon.privacy.sensitivity import Norm
from gnomon.privacy.sensitivity import moments as moments_sensitivity
from gnomon.statistics.grid import GRID, Integers, Matrix
from gnomon.statistics.queries import Moments, Query

LARGEST = 2**24  # numbers of one sketch


@dataclass(eq=False, repr=False)
class BlockiGauss(Compared, ModelRelease):
    """Differentially private synthetic rows from a Johnson-Lindenstrauss sketch of the records.

    Reference: Blocki, Blum, Datta, Sheffet, "The Johnson-Lindenstrauss Transform Itself Preserves Differential Privacy",
    FOCS 2012, covariance release; adapted by PCA-Gauss (its section VI-B) with a Gaussian model, or one for each class.

    R A is published for a matrix R of r independent rows of standard normals and a table A whose singular values are
    lifted by w; (R A)'(R A)/r - w^2 I then estimates A'A.

    Guarantee: (epsilon, delta)-DP, delta > 0, for replacing one record, its label included, with n public; or for
    adding or removing one, with n private. No pure epsilon is possible: the densities of the sketches of neighbours have
    an unbounded ratio.

    Differs from the paper: w is found from the exact Renyi divergence of the worst neighbours
    (`gnomon.methods.baseline.sketch`) instead of a tail bound; w^2 is added to A'A, which is the same as lifting the
    singular values; rows carry a constant and every class has its own sketch, so that means, counts and labels are
    covered by the same budget. No paper prints r or w for this adaptation, so there is no paper calibration. As r grows,
    the error falls toward that of Gaussian noise on A'A (`Modips` with delta > 0) and never below it.

    Parameters
    ----------
    epsilon, delta : the budget; delta must be positive.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; by default as the schema declares.
    n_components : "auto" or the number of encoded columns: the records are projected, not the columns.
    sketch_rows : r, or "auto": four for each column, at least 512, at most n.
    random_state : seeds the sampling of the model, never the sketch.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> method = gn.baseline.BlockiGauss(4.0, 1e-6, bounds=(0, 1)).fit(X)
    >>> method.sample(5).shape, method.certificate_.holds
    ((5, 3), True)
    """

    name: ClassVar[str] = "blocki"

    sketch_rows: int | str = "auto"

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_full_dimension(self, public)
        r = self.sketch_rows
        if r != "auto" and (not isinstance(r, (int, np.integer)) or isinstance(r, bool) or r < 1):
            raise ParameterError(
                f"The 'sketch_rows' parameter of BlockiGauss must be 'auto' or a positive integer. Got {r!r} instead."
            )
        if public.guarantee.delta == 0:
            raise ParameterError(
                "The 'delta' parameter of BlockiGauss must be positive, because a Gaussian sketch is not "
                "epsilon-DP for any epsilon. Got 0 instead."
            )
        if self.calibration == "paper":
            raise ParameterError("No paper prints the noise of BlockiGauss; use calibration='sound'.")
        if public.guarantee.unit is Unit.PERSON:
            raise ParameterError(
                "The sketch of BlockiGauss is proved for one row, not for a person with several; remove person from the "
                "schema, or use another method."
            )
        if public.schema.estimated:
            raise ParameterError(
                f"BlockiGauss cannot pay for what is estimated of {public.schema.estimated[0].name!r} beside its sketch; "
                "declare its bounds or classes."
            )
        if math.isfinite(self.epsilon) and self._ideal_delta(public) < public.guarantee.delta / 2:
            raise ParameterError(
                "The 'delta' parameter of BlockiGauss must be larger at this epsilon, because its sampler is exact only "
                f"to 2^-50. Got {public.guarantee.delta:g} instead."
            )
        width = self._width(public)
        if width > 4096 or self._sketch_rows(public) * width > LARGEST or public.rows > 2**27:
            raise ParameterError(
                f"A sketch of {self._sketch_rows(public)} rows and {width} columns of {public.rows} records is too large "
                "to be drawn exactly; give a smaller sketch_rows or release fewer columns or records."
            )

    def _ideal_delta(self, public: Public) -> float:
        """What the ideal sketch may cost: a sampler within t of it, for each of two neighbours, adds (1 + e^epsilon) t."""
        if not self.epsilon < 700:
            return public.guarantee.delta if math.isinf(self.epsilon) else 0.0
        return public.guarantee.delta - (1 + math.exp(self.epsilon)) * TOTAL_VARIATION * public.target.blocks

    @staticmethod
    def _width(public: Public) -> int:
        return public.m + (2 if public.target.is_number else 1)

    def _sketch_rows(self, public: Public) -> int:
        if self.sketch_rows == "auto":
            return min(public.rows, max(512, 4 * self._width(public)))
        return int(self.sketch_rows)

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        assert isinstance(public.guarantee, ApproxDP)
        self.frame_ = all_columns(public.m, normalise=False)
        r = self._sketch_rows(public)
        query = GaussianSketch(class_moments(public, self.frame_), r, self._ideal_delta(public))
        sketches = data.measure(query, public.guarantee).answer
        sums = sums_of_sketches(sketches, query.lift(public.guarantee), self.frame_.unit)
        self.model_ = mixture_of(sums, public.n).mixture
        notes.rows = rows_of(sums)
        if public.target.is_number:
            self.model_ = self.model_.scaled(np.r_[np.ones(public.m), self.frame_.unit / BESIDE])
        notes.post_processing.append(
            f"the sketch of {r} rows a class is turned into counts, means and covariances, its lift taken off and its "
            "sampling error shrunk"
        )


@dataclass(frozen=True, eq=False)
class GaussianSketch(Query):
    """r rows of N(0, S + w^2 I) for the moment matrix S of every class; the scale of its noise is the lift w^2."""

    moments: Moments
    sketch_rows: int
    delta: float  # of the ideal sketch

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return "Gaussian sketch of every class"

    def zero(self) -> Integers:
        return self.moments.zero()

    def of_batch(self, rows: Any) -> Integers:
        return self.moments.of_batch(rows)

    def lift(self, loss: ApproxDP) -> int:
        """w^2; the sampler is proved from GRID^2 on."""
        return max(sketch_lift(loss.epsilon, self.delta, self.sketch_rows, self.moments.ball), GRID**2)

    def noise(self, loss: ApproxDP) -> Noise:
        query = self.moments
        sensitivity = moments_sensitivity(
            Norm.FROBENIUS, width=query.width, ball=query.ball, blocks=query.blocks, adjacency=loss.adjacency
        )
        lift = float(self.lift(loss))
        return Noise("gaussian-sketch", sensitivity, lift, NoiseLaw("gaussian-sketch", 0.0, 0.0))

    def release(self, exact: Integers, noise: Noise) -> Integers:
        squared = int(noise.scale)
        lifted = exact.astype(object) + squared * np.eye(self.moments.width, dtype=int).astype(object)
        return np.stack([gaussian_sketch(S, self.sketch_rows) for S in lifted])


def sums_of_sketches(sketches: Integers, squared: int, unit: float) -> Sums:
    """Y'Y/r - w^2 I for every class, in natural units; an entry ij errs by sqrt((S_ii S_jj + S_ij^2) / r)."""
    _, r, width = sketches.shape
    S: Matrix = np.stack([(Y.T.astype(np.float64) @ Y) / r for Y in sketches])
    found = S - squared * np.eye(width)
    constant = float(S[:, -1, -1].max())
    typical = float(np.trace(S[:, :-1, :-1], axis1=1, axis2=2).max()) / (width - 1)
    return Sums(
        counts=found[:, -1, -1] / CONSTANT**2,
        first=found[:, :-1, -1] / (unit * CONSTANT),
        second=found[:, :-1, :-1] / unit**2,
        count_noise=float(np.sqrt(2 / r)) * constant / CONSTANT**2,
        first_noise=float(np.sqrt(constant * typical / r)) / (unit * CONSTANT),
        second_noise=typical / float(np.sqrt(r)) / unit**2,
    )
