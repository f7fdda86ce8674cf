"""RON-Gauss: a random orthonormal projection and a Gaussian model of what it shows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gnomon.errors import GnomonWarning, ParameterError
from gnomon.model.repair import Sums, mixture_of, shrink_weight
from gnomon.privacy.guarantee import Adjacency, GaussianDP, PureDP, Spendable
from gnomon.privacy.mechanism import moment_error, release_moments, release_vector
from gnomon.privacy.sensitivity import Norm, located_sum
from gnomon.projection.orthonormal import haar
from gnomon.release.base import Account, ModelRelease, Table, Task
from gnomon.release.map import PublicMap, Vector, projected_length
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Rows
from gnomon.table.schema import Schema

LAMBDA = GRID // 2  # the constant coordinate of a row: counts and means come with the second moments
BESIDE = GRID // 2  # the integer weight of a number beside the row: a regression target, a row's length
LOOK, MODEL = 0.1, 0.9  # shares of the budget: where the rows lie, and the model
VISIBLE = {
    PureDP: 0.7,
    GaussianDP: 4.0,
}  # how far the noise may drown one direction before repair stops to help


class RonGauss(ModelRelease):
    """Differentially private synthetic rows by random orthonormal projection and a Gaussian (mixture) model.

    Reference: Chanyaswad, Liu, Mittal, "RON-Gauss: Enhancing Utility in Non-Interactive Private Data Release",
    PoPETs 2019, Algorithms 1 to 5.

    Guarantee: epsilon-DP (delta = 0) or (epsilon, delta)-DP for replacing one record, its label included; n public.

    Differs from the paper (`calibration="sound"`): one integer moment matrix of (x, lambda) per class is released by
    an exact mechanism calibrated to its true sensitivity, which protects counts and labels too; rows are centred and
    rescaled after the projection, where the mean costs p numbers and not m; W is Haar and shared by all classes; the
    covariance is repaired with the known law of the noise. `calibration="paper"` uses the printed scales.

    Parameters
    ----------
    epsilon, delta : the budget; delta = 0 asks for pure epsilon-DP.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; by default as the schema declares.
    n_components : the dimension p, or "auto" (a rule on public numbers, see `auto_dimension`).
    rows : "normalise" scales every row to length 1 as the paper does; "clip" keeps relative lengths.
    random_state : seeds the projection and the sampling of the model, never the noise.
    """

    name: ClassVar[str] = "ron-gauss"

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
        rows: str = "normalise",
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
        self.rows = rows
        self.random_state = random_state
        self.not_private = not_private

    def _check(self, table: Table) -> None:
        super()._check(table)
        if self.rows not in ("normalise", "clip"):
            raise ParameterError(
                f"The 'rows' parameter of RonGauss must be 'normalise' or 'clip'. Got {self.rows!r} instead."
            )
        if self.calibration == "paper" and self.delta > 0:
            raise ParameterError(
                "RON-Gauss as printed is pure epsilon-DP; leave delta at 0 with calibration='paper'."
            )

    def _release(self, table: Table, account: Account) -> None:
        if self.calibration == "paper":
            from gnomon.release.ron_gauss_paper import ron_gauss_as_printed

            self.map_, self.model_ = ron_gauss_as_printed(table, account, self.n_components, self._rng())
            return
        p, loss = self._plan(table, account)
        W = haar(table.m, p, self._rng())
        start = first_map(table.m, W, normalise=self.rows == "normalise")
        self.map_, model_loss = look(table, account, start, loss)
        sums = class_sums(table, account, self.map_, model_loss)
        fitted = mixture_of(sums, table.n)
        self.model_ = fitted.mixture
        if table.task == "regression":
            self.model_ = self.model_.scaled(np.r_[np.ones(p), self.map_.unit / BESIDE])
        account.post_processing.append(
            "counts onto the simplex of n, class means and covariances shrunk by their noise, eigenvalues by the "
            "semicircle law"
        )
        if fitted.fallback:
            warnings.warn(
                f"{len(fitted.fallback)} of {table.n_classes} classes are too small for the noise at this budget; "
                "they use the pooled model.",
                GnomonWarning,
                stacklevel=3,
            )

    def _plan(self, table: Table, account: Account) -> tuple[int, Spendable]:
        """The dimension and the kind of loss, from public numbers alone."""
        extra = 2 if table.task == "regression" else 1
        p = self.n_components
        if p == "auto":
            p = auto_dimension(table.m, table.n, table.n_classes, account.spendable, extra)
        return int(p), account.spendable(int(p) + extra)


def auto_dimension(
    m: int, n: int, classes: int, spendable: Callable[[int], Spendable], extra: int = 1
) -> int:
    """The largest p whose noise leaves the projected rows visible; public numbers only, so it is free.

    Rows in the unit ball spread about 1/2 of variance over p directions; the noise of a class's second moment
    reaches 2 e / sqrt(q) in its largest eigenvalue, where e is its root-mean-square Frobenius error. p grows while
    that edge, over the n / sqrt(L) rows of a class in a pooled model, stays below VISIBLE times the variance of one
    direction. The constants were set on four tables (docs/ron-gauss.md), not on one.
    """
    best = 1
    for p in range(1, min(m, 512) + 1):
        loss = spendable(p + extra)
        edge = 2 * 1.25 * moment_error(p + extra, loss, blocks=classes) / math.sqrt(p + extra)
        if edge * math.sqrt(classes) / n > VISIBLE[type(loss)] * 0.5 / p:
            break
        best = p
    return best


def first_map(m: int, W: Matrix, *, normalise: bool) -> PublicMap:
    """Rows of length at most 1 seen through W, in the ball that holds nearly all of them whatever the data are."""
    start = PublicMap.identity(m, radius=1.0, normalise=normalise)
    longest = 1.0 if normalise else math.sqrt(m)
    return start.project(W, radius=longest * projected_length(W.shape[1], m))


def look(table: Table, account: Account, start: PublicMap, loss: Spendable) -> tuple[PublicMap, Spendable]:
    """Spend a share on where the projected rows lie, so that the model's ball fits them (Algorithm 1)."""
    looking, modelling = loss.split(LOOK, MODEL)
    p = start.n_components
    norm = Norm.L1 if isinstance(looking, PureDP) else Norm.L2
    noisy = account.record(
        release_vector(
            table.sum(
                lambda rows: located(start.integers(rows.X, 0)[:, :-1], rows.X).sum(axis=0),
                np.zeros(p + 2, dtype=np.int64),
                stage="looking where the rows lie",
            ),
            located_sum(norm, columns=p, radius=GRID, beside=BESIDE, adjacency=Adjacency.REPLACE_ONE).on_grid(
                1, coordinates=1
            ),
            looking,
            statistic="sum, squared length and original length of the projected rows",
        )
    )
    mean, std = noisy.value / table.n, noisy.noise.diagonal / table.n
    centre, radius = zoom(mean[:p] / start.unit, mean[p] * GRID / start.unit**2, std / start.unit)
    length = math.sqrt(table.m) * min(max(float(mean[-1]) / BESIDE, 0.05), 1.0) if start.normalise else 1.0
    found = replace(start, length=length)
    return found.zoom(start.radius * centre, start.radius * radius), modelling


def located(Q: Matrix, X: Matrix) -> npt.NDArray[np.int64]:
    """Integer rows, their squared lengths (rounded to the grid), and the length of the encoded rows in [0, BESIDE]."""
    cells = np.rint(X * 2.0**20)
    lengths = np.sqrt(np.einsum("ij,ij->i", cells, cells) / X.shape[1]) / 2.0**20
    squares = np.rint(np.einsum("ij,ij->i", Q, Q) / GRID)
    return np.column_stack([Q, squares, np.rint(np.minimum(lengths, 1.0) * BESIDE)]).astype(np.int64)


def zoom(mean: Vector, square: float, std: float) -> tuple[Vector, float]:
    """Centre and radius of a ball that holds nearly all rows, from their noisy mean and mean squared length.

    Everything is in units of the first ball and known up to the standard deviation `std` a number. The centre is
    shrunk by its noise; the radius allows for what is left of that noise, and never grows past the first ball.
    """
    noise = len(mean) * std**2
    centre = mean * shrink_weight(float(mean @ mean), noise)
    variance = max(square - float(mean @ mean) + noise, 0.0) + min(noise, float(mean @ mean)) + std
    return centre, min(1.0, max(1.5 * math.sqrt(variance), 0.02))


def class_sums(table: Table, account: Account, chart: PublicMap, loss: Spendable) -> Sums:
    """The noisy moments of every class; for regression, of rows with their target beside them (Algorithms 3 to 5)."""
    regression = table.task == "regression"

    def moments(rows: Rows) -> Moments:
        Q = chart.integers(rows.X, LAMBDA, rows.numbers if regression else None, BESIDE)
        return Moments.of_batch(Q, rows.codes if table.task == "classification" else None, table.n_classes)

    width = chart.n_components + (2 if regression else 1)
    noisy = account.record(
        release_moments(
            table.sum(moments, Moments.zero(width, table.n_classes), stage="summing the moments").matrix,
            ball(LAMBDA, BESIDE**2 if regression else 0),
            loss,
            statistic="count, sum and second moment of every class",
            adjacency=Adjacency.REPLACE_ONE,
        )
    )
    return Sums.of_moments(noisy.value, noisy.noise, unit=chart.unit, lam=LAMBDA)
