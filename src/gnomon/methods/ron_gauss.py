"""RON-Gauss: a random orthonormal projection and a Gaussian model of what it shows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from gnomon.errors import ParameterError
from gnomon.methods.gaussian_model import LOCATION, gaussian_model
from gnomon.methods.gaussian_model_paper import MEAN, gaussian_model_as_printed
from gnomon.methods.model_release import ModelRelease
from gnomon.methods.parameters import check_choice, is_number
from gnomon.methods.planning import MethodPlan, moment_plan
from gnomon.methods.public import Notes, Public
from gnomon.privacy.guarantee import GaussianDP, Guarantee, PureDP, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import moment_error
from gnomon.projection.orthonormal import haar
from gnomon.statistics.frame import Frame, projected_length
from gnomon.statistics.grid import Matrix
from gnomon.table.encode import Encoder

VISIBLE = {
    PureDP: 0.7,
    GaussianDP: 4.0,
}  # the largest noise-to-signal ratio of a direction at which repair still helps


@dataclass(eq=False, repr=False)
class RonGauss(ModelRelease):
    """Differentially private synthetic rows by random orthonormal projection and a Gaussian (mixture) model.

    Reference: Chanyaswad, Liu, Mittal, "RON-Gauss: Enhancing Utility in Non-Interactive Private Data Release",
    PoPETs 2019, Algorithms 1 to 5.

    Guarantee: epsilon-DP (delta = 0) or (epsilon, delta)-DP for replacing one row, its label included, with n public; or
    for adding or removing one row (`adjacency="add-remove"`) or one person (a schema with `person`), with n private.

    Differs from the paper (`calibration="sound"`): one integer moment matrix of (x, lambda) per class is released by
    an exact mechanism calibrated to its true sensitivity, which protects counts and labels too; rows are centred and
    rescaled after the projection, where the mean costs p numbers and not m; W is Haar and shared by all classes; the
    covariance is repaired with the known law of the noise. `calibration="paper"` uses the printed scales.

    Parameters
    ----------
    epsilon, delta : the budget; delta = 0 asks for pure epsilon-DP.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`; classes="private" pays
        for a private selection of the classes.
    target, task : which column to predict and how; by default as the schema declares.
    n_components : the dimension p, or "auto" (a rule on public numbers, see `auto_dimension`).
    epsilon_mu, epsilon_sigma : the parts of epsilon for the mean and the covariance, which add up to it; one is enough.
        By default a tenth and the rest, and with calibration="paper" 0.3 and 0.7 of epsilon, as in the paper.
    rows : "normalise" scales every row to length 1 as the paper does; "clip" keeps relative lengths.
    expected_rows : the public order of magnitude of a private n, if not that of the schema's [table].
    strict : whether a table with cells that do not fit is refused, which narrows the promise to tables that fit.
    random_state : seeds the projection and the sampling of the model, never the noise.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> method = gn.RonGauss(4.0, bounds=(0, 1)).fit(X)
    >>> method.sample(5).shape, method.certificate_.holds
    ((5, 3), True)
    """

    name: ClassVar[str] = "ron-gauss"

    rows: str = "normalise"
    epsilon_mu: float | None = None
    epsilon_sigma: float | None = None

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_choice(self, "rows", ("normalise", "clip"))
        self._mean_share()
        if self.calibration == "paper" and public.guarantee.delta > 0:
            raise ParameterError(
                "RON-Gauss as printed is pure epsilon-DP; leave delta at 0 with calibration='paper'."
            )

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        """Algorithms 1 and 2, a random view around a noisy mean; 3 to 5, a Gaussian for each class of what it shows."""
        if self.calibration == "paper":
            self.frame_, self.model_ = gaussian_model_as_printed(
                data, public, notes, self.n_components, mean_share=self._mean_share()
            )
            return
        p, loss = self._plan(public)
        W = haar(public.m, p, public.rng())
        start = random_view(public.m, W, normalise=self.rows == "normalise")
        self.frame_, self.model_ = gaussian_model(data, public, notes, start, loss, self._mean_share())

    def _mean_share(self) -> float:
        """The part of the budget for the mean: epsilon_mu / epsilon."""
        mu, sigma = self.epsilon_mu, self.epsilon_sigma
        if mu is None and sigma is None:
            return MEAN if self.calibration == "paper" else LOCATION
        given = [part for part in (mu, sigma) if part is not None]
        for part in given:
            if not is_number(part) or not 0 < part < self.epsilon:
                raise ParameterError(
                    f"The 'epsilon_mu' and 'epsilon_sigma' parameters of RonGauss must be parts of epsilon = "
                    f"{self.epsilon:g}, between 0 and that. Got {part!r} instead."
                )
        if len(given) == 2 and not math.isclose(sum(given), self.epsilon, rel_tol=1e-9):
            raise ParameterError(
                f"The 'epsilon_mu' and 'epsilon_sigma' parameters of RonGauss must add up to epsilon = {self.epsilon:g}. "
                f"Got {mu!r} and {sigma!r} instead; leave one of them out."
            )
        share = mu if mu is not None else self.epsilon - given[0]
        return float(share / self.epsilon) if math.isfinite(self.epsilon) else LOCATION

    def _plan(self, public: Public) -> tuple[int, Spendable]:
        """The dimension and the kind of loss, from public numbers alone."""
        extra = 2 if public.target.is_number else 1
        p = self.n_components
        if p == "auto":
            p = auto_dimension(public.m, public.rows, public.target.blocks, public.best_budget, extra)
        return int(p), public.best_budget(int(p) + extra)

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What a budget buys, by public numbers: one moment matrix for each class in the chosen dimension."""
        return moment_plan(cls.name, encoder, n, guarantee, auto_dimension)


def auto_dimension(
    m: int, n: int, classes: int, spendable: Callable[[int], Spendable], extra: int = 1
) -> int:
    """The largest p whose noise leaves the projected rows visible; public numbers only, so it is free.

    Rows in the unit ball spread about 1/2 of variance over p directions; the noise of a class's second moment
    reaches 2 e / sqrt(q) in its largest eigenvalue, where e is its root-mean-square Frobenius error. p grows while
    that edge, over the n / sqrt(L) rows of a class in a pooled model, stays below VISIBLE times the variance of one
    direction. The constants were set on four tables (docs/explanation/methods/ron-gauss.md), not on one.
    """
    best = 1
    for p in range(1, min(m, 512) + 1):
        loss = spendable(p + extra)
        edge = 2 * 1.25 * moment_error(p + extra, loss, blocks=classes) / math.sqrt(p + extra)
        if edge * math.sqrt(classes) / n > VISIBLE[type(loss)] * 0.5 / p:
            break
        best = p
    return best


def random_view(m: int, W: Matrix, *, normalise: bool) -> Frame:
    """Rows of length at most 1 seen through W, in the ball that holds nearly all of them whatever the data are."""
    start = Frame.identity(m, radius=1.0, normalise=normalise)
    longest = 1.0 if normalise else math.sqrt(m)
    return start.project(W, radius=longest * projected_length(W.shape[1], m))
