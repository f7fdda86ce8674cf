"""MODIPS: a Gaussian (mixture) by its noisy sufficient statistics, without any reduction of dimension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.errors import ParameterError
from gnomon.methods.baseline.base import Compared, all_columns, check_full_dimension
from gnomon.methods.gaussian_model import gaussian_model
from gnomon.methods.gaussian_model_paper import gaussian_model_as_printed
from gnomon.methods.model_release import ModelRelease
from gnomon.methods.public import Notes, Public
from gnomon.privacy.measure import Measurer


@dataclass(eq=False, repr=False)
class Modips(Compared, ModelRelease):
    """Differentially private synthetic rows from a Gaussian model of all columns.

    Reference: Liu, "Model-based Differentially Private Data Synthesis" (arXiv 1606.08052): sanitise the sufficient
    statistics of a model, draw rows from it. RON-Gauss and PCA-Gauss compare with it as a Gaussian (clustering,
    regression) or one Gaussian for each class (classification) in all m dimensions, which is what this is.

    Guarantee: epsilon-DP (delta = 0) or (epsilon, delta)-DP for replacing one record, its label included, with n public;
    or for adding or removing one, with n private.

    Differs from the paper (`calibration="sound"`): RON-Gauss's steps with the identity in place of the projection, so
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

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> method = gn.baseline.Modips(4.0, bounds=(0, 1)).fit(X)
    >>> method.sample(5).shape, method.certificate_.holds
    ((5, 3), True)
    """

    name: ClassVar[str] = "modips"

    rows: str = "clip"

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_full_dimension(self, public)
        if self.rows not in ("normalise", "clip"):
            raise ParameterError(
                f"The 'rows' parameter of Modips must be 'normalise' or 'clip'. Got {self.rows!r} instead."
            )
        if self.calibration == "paper" and public.guarantee.delta != 0:
            raise ParameterError(
                "MODIPS as the papers ran it is pure epsilon-DP; leave delta at 0 with calibration='paper'."
            )

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        if self.calibration == "paper":
            identity = np.eye(public.m)
            self.frame_, self.model_ = gaussian_model_as_printed(data, public, notes, public.m, identity)
            return
        start = all_columns(public.m, normalise=self.rows == "normalise")
        loss = public.best_budget(public.m + (2 if public.target.is_number else 1))
        self.frame_, self.model_ = gaussian_model(data, public, notes, start, loss)
