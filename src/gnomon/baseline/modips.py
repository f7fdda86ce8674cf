"""MODIPS: a Gaussian (mixture) by its noisy sufficient statistics, without any reduction of dimension."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from gnomon.baseline.base import Compared
from gnomon.errors import ParameterError
from gnomon.model.mixture import Mixture
from gnomon.model.repair import mixture_of
from gnomon.privacy import printed
from gnomon.privacy.guarantee import PureDP
from gnomon.release.base import Account, ModelRelease, Table, Task
from gnomon.release.map import PublicMap
from gnomon.release.ron_gauss import BESIDE, class_sums, look
from gnomon.release.ron_gauss_paper import COVARIANCE, LABEL, MEAN, mixture, supervised, unsupervised
from gnomon.table.schema import Schema


class Modips(Compared, ModelRelease):
    """Differentially private synthetic rows from a Gaussian model of all columns.

    Reference: Liu, "Model-based Differentially Private Data Synthesis" (arXiv 1606.08052): sanitise the sufficient
    statistics of a model, draw rows from it. RON-Gauss and PCA-Gauss compare with it as a Gaussian (clustering,
    regression) or one Gaussian for each class (classification) in all m dimensions, which is what this is.

    Guarantee: epsilon-DP (delta = 0) or (epsilon, delta)-DP for replacing one record, its label included; n public.

    Differs from the paper (`calibration="sound"`): RON-Gauss's road with the identity in place of the projection, so
    a comparison of the two shows the projection alone: one exact moment matrix of (x, lambda) for each class, repaired
    by the known law of its noise. Liu draws the parameters from a posterior; here they are the repaired statistics
    themselves. `calibration="paper"` takes RON-Gauss's printed scales (its Lemmas 2, 4 and 5) at p = m, as
    RON-Gauss prints no other noise for this method.

    Parameters
    ----------
    epsilon, delta : the budget; delta = 0 asks for pure epsilon-DP.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; by default as the schema declares.
    n_components : "auto" or the number of encoded columns: this method has no other dimension.
    rows : "clip" keeps relative lengths; "normalise" scales every row to length 1, as RON-Gauss does.
    random_state : seeds the sampling of the model, never the noise.
    """

    name: ClassVar[str] = "modips"

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
        rows: str = "clip",
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
        check_full_dimension(self, table)
        if self.rows not in ("normalise", "clip"):
            raise ParameterError(
                f"The 'rows' parameter of Modips must be 'normalise' or 'clip'. Got {self.rows!r} instead."
            )
        if self.calibration == "paper" and self.delta != 0:
            raise ParameterError(
                "MODIPS as the papers ran it is pure epsilon-DP; leave delta at 0 with calibration='paper'."
            )

    def _release(self, table: Table, account: Account) -> None:
        if self.calibration == "paper":
            self.map_, self.model_ = modips_as_printed(table, account)
            return
        extra = 2 if table.task == "regression" else 1
        start = whole_row_map(table.m, normalise=self.rows == "normalise")
        self.map_, loss = look(table, account, start, account.spendable(table.m + extra))
        fitted = mixture_of(class_sums(table, account, self.map_, loss), table.n)
        self.model_ = fitted.mixture
        if table.task == "regression":
            self.model_ = self.model_.scaled(np.r_[np.ones(table.m), self.map_.unit / BESIDE])
        account.post_processing.append(
            "counts onto the simplex of n, class means and covariances shrunk by their noise, eigenvalues by the "
            "semicircle law"
        )


def whole_row_map(m: int, *, normalise: bool) -> PublicMap:
    """All m columns as they are, in the ball that holds every row of cells in [-1, 1]."""
    return PublicMap.identity(m, radius=1.0 if normalise else math.sqrt(m), normalise=normalise)


def check_full_dimension(method: ModelRelease, table: Table) -> None:
    """Refuse a dimension for a method that has none."""
    if method.n_components not in ("auto", table.m):
        raise ParameterError(
            f"The 'n_components' parameter of {type(method).__name__} must be 'auto' or {table.m}, the number of "
            f"encoded columns, because it does not reduce them. Got {method.n_components!r} instead."
        )


def modips_as_printed(table: Table, account: Account) -> tuple[PublicMap, Mixture]:
    """RON-Gauss's Algorithms 3, 4 and 5 with W = I, at their printed scales."""
    assert isinstance(account.guarantee, PureDP)
    mean_loss, covariance_loss = account.guarantee.split(MEAN, COVARIANCE)
    facts: Any = {
        "epsilon_mean": mean_loss.epsilon,
        "epsilon": covariance_loss.epsilon,
        "label": LABEL if table.task == "regression" else None,
        "classes": table.n_classes,
    }
    account.caveats += printed.ron_gauss_caveats(table.m, **facts)
    account.delivered = printed.ron_gauss_delivered(table.m, **facts)
    algorithm = {"clustering": unsupervised, "regression": supervised, "classification": mixture}[table.task]
    start = PublicMap.identity(table.m, radius=1.0, normalise=True)
    return algorithm(table, account, start, np.eye(table.m), mean_loss, covariance_loss)
