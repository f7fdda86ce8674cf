"""Blocki et al., adapted: a Gaussian projection of the records (not of the columns), and a Gaussian model of it."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gnomon.baseline.base import Compared
from gnomon.baseline.modips import check_full_dimension, whole_row_map
from gnomon.baseline.sketch import sketch_lift
from gnomon.errors import ParameterError
from gnomon.model.repair import Sums, mixture_of
from gnomon.privacy.guarantee import Adjacency, ApproxDP
from gnomon.privacy.mechanism import Event
from gnomon.privacy.noise.sketch import TOTAL_VARIATION, gaussian_sketch
from gnomon.privacy.sensitivity import Norm
from gnomon.privacy.sensitivity import moments as moments_sensitivity
from gnomon.release.base import Account, ModelRelease, Table, Task
from gnomon.release.map import PublicMap
from gnomon.release.ron_gauss import BESIDE, LAMBDA
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Rows
from gnomon.table.schema import Schema

LARGEST = 2**24  # numbers of one sketch


class BlockiGauss(Compared, ModelRelease):
    """Differentially private synthetic rows from a Johnson-Lindenstrauss sketch of the records.

    Reference: Blocki, Blum, Datta, Sheffet, "The Johnson-Lindenstrauss Transform Itself Preserves Differential Privacy",
    FOCS 2012, covariance release; adapted by PCA-Gauss (its section VI-B) with a Gaussian model, or one for each class.

    R A is published for a matrix R of r independent rows of standard normals and a table A whose singular values are
    lifted by w; (R A)'(R A)/r - w^2 I then estimates A'A.

    Guarantee: (epsilon, delta)-DP, delta > 0, for replacing one record, its label included; n public. No pure epsilon
    is possible: the densities of the sketches of neighbours have an unbounded ratio.

    Differs from the paper: w is found from the exact Renyi divergence of the worst neighbours
    (`gnomon.baseline.sketch`) instead of a tail bound; w^2 is added to A'A, which is the same as lifting the singular
    values; rows carry a constant and every class has its own sketch, so that means, counts and labels are covered by
    the same budget. No paper prints r or w for this adaptation, so there is no paper calibration. As r grows, the
    error falls toward that of Gaussian noise on A'A (`Modips` with delta > 0) and never below it.

    Parameters
    ----------
    epsilon, delta : the budget; delta must be positive.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; by default as the schema declares.
    n_components : "auto" or the number of encoded columns: the records are projected, not the columns.
    sketch_rows : r, or "auto": four for each column, at least 512, at most n.
    random_state : seeds the sampling of the model, never the sketch.
    """

    name: ClassVar[str] = "blocki"

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
        sketch_rows: int | str = "auto",
        calibration: str = "sound",
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
        self.sketch_rows = sketch_rows
        self.calibration = calibration
        self.random_state = random_state
        self.not_private = not_private

    def _check(self, table: Table) -> None:
        super()._check(table)
        check_full_dimension(self, table)
        r = self.sketch_rows
        if r != "auto" and (not isinstance(r, (int, np.integer)) or isinstance(r, bool) or r < 1):
            raise ParameterError(
                f"The 'sketch_rows' parameter of BlockiGauss must be 'auto' or a positive integer. Got {r!r} instead."
            )
        if self.delta == 0:
            raise ParameterError(
                "The 'delta' parameter of BlockiGauss must be positive, because a Gaussian sketch is not "
                "epsilon-DP for any epsilon. Got 0 instead."
            )
        if self.calibration == "paper":
            raise ParameterError("No paper prints the noise of BlockiGauss; use calibration='sound'.")
        if table.schema.estimated:
            raise ParameterError(
                f"BlockiGauss cannot pay for the bounds of the column {table.schema.estimated[0].name!r} beside its "
                "sketch; declare low and high in the schema."
            )
        if math.isfinite(self.epsilon) and self._ideal_delta(table) < self.delta / 2:
            raise ParameterError(
                "The 'delta' parameter of BlockiGauss must be larger at this epsilon, because its sampler is exact only "
                f"to 2^-50. Got {self.delta:g} instead."
            )
        width = self._width(table)
        if width > 4096 or self._sketch_rows(table) * width > LARGEST or table.n > 2**27:
            raise ParameterError(
                f"A sketch of {self._sketch_rows(table)} rows and {width} columns of {table.n} records is too large to be "
                "drawn exactly; give a smaller sketch_rows or release fewer columns or records."
            )

    def _ideal_delta(self, table: Table) -> float:
        """What the ideal sketch may cost: a sampler within t of it, for each of two neighbours, adds (1 + e^epsilon) t."""
        if not self.epsilon < 700:
            return self.delta if math.isinf(self.epsilon) else 0.0
        return self.delta - (1 + math.exp(self.epsilon)) * TOTAL_VARIATION * table.n_classes

    @staticmethod
    def _width(table: Table) -> int:
        return table.m + (2 if table.task == "regression" else 1)

    def _sketch_rows(self, table: Table) -> int:
        if self.sketch_rows == "auto":
            return min(table.n, max(512, 4 * self._width(table)))
        return int(self.sketch_rows)

    def _release(self, table: Table, account: Account) -> None:
        assert isinstance(account.guarantee, ApproxDP)
        self.map_ = whole_row_map(table.m, normalise=False)
        r, width = self._sketch_rows(table), self._width(table)
        T = ball(LAMBDA, BESIDE**2 if table.task == "regression" else 0)
        squared = max(
            sketch_lift(self.epsilon, self._ideal_delta(table), r, T), GRID**2
        )  # the sampler is proved from there on
        A = class_moments(table, self.map_)
        lifted = A.matrix.astype(object) + squared * np.eye(width, dtype=int).astype(object)
        sketches = [gaussian_sketch(S, r) for S in lifted]
        account.events.append(sketch_event(account.guarantee, width, T, table.n_classes, squared))
        self.model_ = mixture_of(sums_of_sketches(sketches, squared, self.map_.unit), table.n).mixture
        if table.task == "regression":
            self.model_ = self.model_.scaled(np.r_[np.ones(table.m), self.map_.unit / BESIDE])
        account.post_processing.append(
            f"the sketch of {r} rows a class is turned into counts, means and covariances, its lift taken off and its "
            "sampling error shrunk"
        )


def class_moments(table: Table, chart: PublicMap) -> Moments:
    """The exact moments of every class; for regression, of rows with their target beside them."""
    regression = table.task == "regression"

    def moments(rows: Rows) -> Moments:
        Q = chart.integers(rows.X, LAMBDA, rows.numbers if regression else None, BESIDE)
        return Moments.of_batch(Q, rows.codes if table.task == "classification" else None, table.n_classes)

    width = chart.n_components + (2 if regression else 1)
    total: Moments = table.sum(moments, Moments.zero(width, table.n_classes), stage="summing the moments")
    return total


def sketch_event(loss: ApproxDP, width: int, T: int, classes: int, squared: int) -> Event:
    """What the sketches of all classes cost together; the scale is the lift w^2."""
    sensitivity = moments_sensitivity(
        Norm.FROBENIUS, width=width, ball=T, blocks=classes, adjacency=Adjacency.REPLACE_ONE
    )
    return Event("Gaussian sketch of every class", "gaussian-sketch", sensitivity, float(squared), loss)


def sums_of_sketches(sketches: list[npt.NDArray[np.int64]], squared: int, unit: float) -> Sums:
    """Y'Y/r - w^2 I for every class, in natural units; an entry ij errs by sqrt((S_ii S_jj + S_ij^2) / r)."""
    r, width = sketches[0].shape
    S: Matrix = np.stack([(Y.T.astype(np.float64) @ Y) / r for Y in sketches])
    found = S - squared * np.eye(width)
    constant = float(S[:, -1, -1].max())
    typical = float(np.trace(S[:, :-1, :-1], axis1=1, axis2=2).max()) / (width - 1)
    return Sums(
        counts=found[:, -1, -1] / LAMBDA**2,
        first=found[:, :-1, -1] / (unit * LAMBDA),
        second=found[:, :-1, :-1] / unit**2,
        count_noise=float(np.sqrt(2 / r)) * constant / LAMBDA**2,
        first_noise=float(np.sqrt(constant * typical / r)) / (unit * LAMBDA),
        second_noise=typical / float(np.sqrt(r)) / unit**2,
    )
