"""Identity queries behind a subspace that fits the data (Jiang et al.): principal or discriminant directions."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from gnomon.baseline.identity import IdentityQuery
from gnomon.errors import ParameterError
from gnomon.model.mixture import Mixture
from gnomon.model.repair import Sums, mixture_of
from gnomon.privacy.accounting import mu_of
from gnomon.privacy.guarantee import Adjacency, GaussianDP, Spendable
from gnomon.privacy.mechanism import release_moments
from gnomon.projection.gaussian import on_grid
from gnomon.release.base import Account, Table, Task
from gnomon.release.jl_laplace import auto_dimension
from gnomon.release.map import PublicMap
from gnomon.release.ron_gauss import LAMBDA
from gnomon.statistics.grid import Matrix
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Rows
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

RIDGE = 1e-2  # of the mean variance, so that the discriminant of a noisy covariance stays bounded


class SubspaceIdentity(IdentityQuery):
    """Base of PcaIdentity and LdaIdentity: pay for directions (or take public ones), then release rows in them."""

    projection: str = "orthonormal"
    share: float
    public: Any

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
        radius: float | None = None,
        label_weight: float = 0.5,
        share: float = 0.3,
        public: Any = None,
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
        self.radius = radius
        self.label_weight = label_weight
        self.share = share
        self.public = public
        self.random_state = random_state
        self.not_private = not_private

    def _check(self, table: Table) -> None:
        super()._check(table)
        if not (isinstance(self.share, int | float) and 0 < self.share < 1):
            raise ParameterError(
                f"The 'share' parameter of {type(self).__name__} must be between 0 and 1. Got {self.share!r} instead."
            )
        if self.public is not None:
            self._public_model(table)  # refused before anything is charged

    def _plan(self, table: Table, account: Account) -> tuple[int, Spendable]:
        k = self._dimension(table)
        loss: Spendable = self._all_of_it(account)
        if self.public is not None:
            model = self._public_model(table)
            account.public.append("the directions of the projection, from rows that were declared public")
        else:
            paying, loss = self._shares(account)
            model = self._paid_model(table, account, paying)
        self._directions = on_grid(self._found(model, k))
        return k, loss

    def _draw(self, m: int, k: int) -> Matrix:
        return self._directions

    def _dimension(self, table: Table) -> int:
        k = self.n_components
        if k == "auto":
            return auto_dimension(table.encoder, self.epsilon, self.unit, self.projection)
        return int(k)

    def _shares(self, account: Account) -> tuple[Spendable, Spendable]:
        """The directions' share and the rows' pure rest; with delta > 0 the directions spend what mu fits beside it."""
        paying, rows = self._all_of_it(account).split(self.share, 1 - self.share)
        if self.delta == 0 or math.isinf(self.epsilon):
            return paying, rows
        mu = mu_of(self.epsilon, self.delta, pure=rows.epsilon)
        return GaussianDP(mu, paying.unit, paying.adjacency), rows

    def _paid_model(self, table: Table, account: Account, loss: Spendable) -> Mixture:
        """Noisy moments of all rows, or of every class, in the ball that holds every encoded row."""
        classes = self._classes(table)
        chart = PublicMap.identity(table.m, radius=math.sqrt(len(table.encoder.groups)))

        def moments(rows: Rows) -> Moments:
            return Moments.of_batch(
                chart.integers(rows.X, LAMBDA), rows.codes if classes > 1 else None, classes
            )

        noisy = account.record(
            release_moments(
                table.sum(moments, Moments.zero(table.m + 1, classes), stage="finding the directions").matrix,
                ball(LAMBDA),
                loss,
                statistic="second moments, for the directions of the projection",
                adjacency=Adjacency.REPLACE_ONE,
            )
        )
        return mixture_of(
            Sums.of_moments(noisy.value, noisy.noise, unit=chart.unit, lam=LAMBDA), table.n
        ).mixture

    def _public_model(self, table: Table) -> Mixture:
        """The same moments, without noise, of the public rows."""
        X, codes = _encoded(self.public, table)
        if self._classes(table) == 1:
            codes = np.zeros(len(X), np.int64)
        groups = [X[codes == c] for c in range(self._classes(table))]
        if min(len(group) for group in groups) < 2:
            raise ParameterError(
                f"The 'public' parameter of {type(self).__name__} must hold at least two rows of every class."
            )
        weights = np.array([len(group) for group in groups]) / len(X)
        means = np.stack([group.mean(axis=0) for group in groups])
        return Mixture(weights, means, np.stack([np.cov(group.T, bias=True) for group in groups]))

    @abstractmethod
    def _classes(self, table: Table) -> int:
        """How many groups of rows the directions are found from."""

    @abstractmethod
    def _found(self, model: Mixture, k: int) -> Matrix:
        """W (m, k) with orthonormal columns."""


class PcaIdentity(SubspaceIdentity):
    """One noisy row of principal components for each record.

    Reference: Jiang et al. (PCA and identity query), as RON-Gauss and PCA-Gauss compare with it.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP, for replacing one record, its label included; n and the order of rows
    are public.

    Differs from the papers: they print no noise for it. The principal directions are paid for (`share` of epsilon, by the
    exact moment mechanism; with delta > 0 by Gaussian noise that fits beside the pure rows), or come from rows that are
    declared public; the rows' Laplace noise is calibrated to the directions that were found.

    Parameters
    ----------
    epsilon, delta, schema, bounds, target, task, n_components, radius, label_weight, random_state : as BernoulliIdentity.
    share : the directions' share of epsilon.
    public : rows of the same schema that anybody may see; the directions then come from them and cost nothing.
    """

    name: ClassVar[str] = "pca-identity"

    def _classes(self, table: Table) -> int:
        return 1

    def _found(self, model: Mixture, k: int) -> Matrix:
        W: Matrix = np.linalg.eigh(model.covariances[0])[1][:, ::-1][:, :k]
        return W


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
    """

    name: ClassVar[str] = "lda-identity"

    def _check(self, table: Table) -> None:
        super()._check(table)
        if table.task != "classification":
            raise ParameterError(
                f"LdaIdentity needs classes to tell apart, but the task is {table.task}; declare a category target."
            )
        if self.n_components != "auto" and int(self.n_components) > table.n_classes - 1:
            raise ParameterError(
                f"The 'n_components' parameter of LdaIdentity must be at most {table.n_classes - 1}, one fewer than the "
                f"classes. Got {self.n_components} instead."
            )

    def _dimension(self, table: Table) -> int:
        most = min(table.n_classes - 1, table.m)
        return most if self.n_components == "auto" else int(self.n_components)

    def _classes(self, table: Table) -> int:
        return table.n_classes

    def _found(self, model: Mixture, k: int) -> Matrix:
        within = np.einsum("c,cij->ij", model.weights, model.covariances)
        away = model.means - model.weights @ model.means
        between = np.einsum("c,ci,cj->ij", model.weights, away, away)
        ridge = max(RIDGE * float(np.trace(within)) / len(within), 1e-9)
        directions = eigh(between, within + ridge * np.eye(len(within)))[1][:, ::-1][:, :k]
        W: Matrix = np.linalg.qr(directions)[0]
        return W


def _encoded(public: Any, table: Table) -> tuple[Matrix, Any]:
    """Public rows as the private ones are encoded, and the codes of their classes."""
    rows, y = public if isinstance(public, tuple) else (public, None)
    source = open_source(rows, y, schema=table.schema)
    parts = [table.encoder.encode(batch) for batch in source.batches(table.encoder.columns)]
    codes = np.concatenate([part.codes for part in parts]) if table.task == "classification" else None
    return np.concatenate([part.X for part in parts]), codes
