"""Identity queries behind a subspace that fits the data (Jiang et al.): principal or discriminant directions."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from gnomon.errors import ParameterError
from gnomon.methods.baseline.base import IdentityQuery
from gnomon.methods.gaussian_model import CONSTANT
from gnomon.methods.parameters import check, is_number
from gnomon.methods.public import Notes, Public
from gnomon.model.mixture import Mixture
from gnomon.model.repair import mixture_of
from gnomon.model.sums import Sums
from gnomon.privacy.accounting import mu_of
from gnomon.privacy.guarantee import GaussianDP, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.projection.gaussian import FINE, on_grid
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import Integers, Matrix
from gnomon.statistics.queries import Moments
from gnomon.table.source import open_source

RIDGE = 1e-2  # of the mean variance, so that the discriminant of a noisy covariance stays bounded
DIRECTIONS = "directions of the projection, from rows that were declared public"


@dataclass(eq=False, repr=False)
class SubspaceIdentity(IdentityQuery):
    """Base of PcaIdentity and LdaIdentity: pay for directions (or take public ones), then release rows in them."""

    drawn: ClassVar[bool] = False

    projection: str = field(default="orthonormal", init=False)
    share: float = 0.3
    public: Any = None

    def _check(self, public: Public) -> None:
        super()._check(public)
        check(self, "share", is_number(self.share) and 0 < self.share < 1, "between 0 and 1")

    def _check_inputs(self, public: Public) -> None:
        super()._check_inputs(public)
        if self.public is not None:
            self._public_model(public)

    def _projection(self, data: Measurer, public: Public, notes: Notes) -> tuple[Matrix, Spendable]:
        k = self._dimension(public)
        if self.public is not None or data.drew(DIRECTIONS):
            notes.public.append("the directions of the projection, from rows that were declared public")
            return data.draw_public(DIRECTIONS, lambda: self._public_directions(public, k)) / FINE, (
                public.pure_budget
            )
        paying, rows = self._shares(public)
        return on_grid(self._directions(self._paid_model(data, public, paying), k)), rows

    def _shares(self, public: Public) -> tuple[Spendable, Spendable]:
        """The directions' share and the rows' pure rest; with delta > 0 the directions spend what mu fits beside it."""
        paying, rows = public.pure_budget.split(self.share, 1 - self.share)
        delta = public.guarantee.delta
        if delta == 0 or math.isinf(self.epsilon):
            return paying, rows
        mu = mu_of(self.epsilon, delta, pure=rows.epsilon)
        return GaussianDP(mu, *paying.neighbours), rows

    def _paid_model(self, data: Measurer, public: Public, loss: Spendable) -> Mixture:
        """Noisy moments of all rows, or of every class, in the ball that holds every encoded row."""
        query = Moments(
            "second moments, for the directions of the projection",
            Frame.identity(public.m, radius=math.sqrt(len(public.encoder.groups))),
            public.target,
            constant=CONSTANT,
            by_class=self._classes(public) > 1,
        )
        return mixture_of(Sums.of(data.measure(query, loss)), public.n).mixture

    def _public_directions(self, public: Public, k: int) -> Integers:
        W = self._directions(self._public_model(public), k)
        return np.rint(W * FINE).astype(np.int64)

    def _public_model(self, public: Public) -> Mixture:
        """The same moments, without noise, of the public rows."""
        X, codes = _encoded(self.public, public)
        if self._classes(public) == 1:
            codes = np.zeros(len(X), np.int64)
        groups = [X[codes == c] for c in range(self._classes(public))]
        if min(len(group) for group in groups) < 2:
            raise ParameterError(
                f"The 'public' parameter of {type(self).__name__} must hold at least two rows of every class."
            )
        weights = np.array([len(group) for group in groups]) / len(X)
        means = np.stack([group.mean(axis=0) for group in groups])
        return Mixture(weights, means, np.stack([np.cov(group.T, bias=True) for group in groups]))

    @abstractmethod
    def _classes(self, public: Public) -> int:
        """How many groups of rows the directions are estimated from."""

    @abstractmethod
    def _directions(self, model: Mixture, k: int) -> Matrix:
        """W (m, k) with orthonormal columns."""


@dataclass(eq=False, repr=False)
class PcaIdentity(SubspaceIdentity):
    """One noisy row of principal components for each record.

    Reference: Jiang et al. (PCA and identity query), as RON-Gauss and PCA-Gauss compare with it.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP, for replacing one record, its label included; n is public, the
    order of rows is not.

    Differs from the papers: they print no noise for it. The principal directions are paid for (`share` of epsilon, by the
    exact moment mechanism; with delta > 0 by Gaussian noise that fits beside the pure rows), or come from rows that are
    declared public; the rows' Laplace noise is calibrated to these directions.

    Parameters
    ----------
    epsilon, delta, schema, bounds, target, task, n_components, radius, label_weight, random_state : as BernoulliIdentity.
    share : the directions' share of epsilon.
    public : rows of the same schema that anybody may see; the directions then come from them and cost nothing.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> gn.baseline.PcaIdentity(8.0, bounds=(0, 1), n_components=2).fit(X).sample().shape[0]
    200
    """

    name: ClassVar[str] = "pca-identity"

    def _classes(self, public: Public) -> int:
        return 1

    def _directions(self, model: Mixture, k: int) -> Matrix:
        W: Matrix = np.linalg.eigh(model.covariances[0])[1][:, ::-1][:, :k]
        return W


@dataclass(eq=False, repr=False)
class LdaIdentity(SubspaceIdentity):
    """One noisy row of linear discriminants for each record; for classification only.

    Reference: Jiang et al. (LDA and identity query), as PCA-Gauss compares with it, there for two classes.

    Guarantee: as PcaIdentity.

    Differs from the papers: any number of classes, k at most one fewer; the classes' moments are paid for together, label
    included, or come from public rows; the discriminant directions are made orthonormal, which keeps the noise small.

    Parameters
    ----------
    epsilon, delta, schema, bounds, target, radius, label_weight, share, public, random_state : as PcaIdentity.
    n_components : at most the number of classes less one, which is what "auto" takes.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> gn.baseline.LdaIdentity(8.0, bounds=(0, 1), classes=[0, 1]).fit(X, y).sample()[0].shape[0]
    200
    """

    name: ClassVar[str] = "lda-identity"

    def _check(self, public: Public) -> None:
        super()._check(public)
        target = public.target
        if not target.is_class:
            raise ParameterError(
                f"LdaIdentity needs classes to tell apart, but the task is {target.task}; declare a category target."
            )
        if self.n_components != "auto" and int(self.n_components) > target.classes - 1:
            raise ParameterError(
                f"The 'n_components' parameter of LdaIdentity must be at most {target.classes - 1}, one fewer than the "
                f"classes. Got {self.n_components} instead."
            )

    def _dimension(self, public: Public) -> int:
        if self.n_components != "auto":
            return int(self.n_components)
        return min(public.target.classes - 1, public.m)

    def _classes(self, public: Public) -> int:
        return public.target.classes

    def _directions(self, model: Mixture, k: int) -> Matrix:
        within = np.einsum("c,cij->ij", model.weights, model.covariances)
        away = model.means - model.weights @ model.means
        between = np.einsum("c,ci,cj->ij", model.weights, away, away)
        ridge = max(RIDGE * float(np.trace(within)) / len(within), 1e-9)
        directions = eigh(between, within + ridge * np.eye(len(within)))[1][:, ::-1][:, :k]
        W: Matrix = np.linalg.qr(directions)[0]
        return W


def _encoded(rows: Any, public: Public) -> tuple[Matrix, Any]:
    """Public rows as the private ones are encoded, and the codes of their classes."""
    X, y = rows if isinstance(rows, tuple) else (rows, None)
    source = open_source(X, y, schema=public.schema)
    parts = [public.encoder.encode(batch) for batch in source.batches(public.encoder.columns)]
    codes = [part.codes for part in parts if part.codes is not None]
    return np.concatenate([part.X for part in parts]), np.concatenate(codes) if codes else None
