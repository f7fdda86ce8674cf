"""The identity query: every projected record itself, with Laplace noise (Li et al., with a Bernoulli projection)."""

from __future__ import annotations

from typing import Any, ClassVar

from gnomon.baseline.base import Compared
from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import PureDP, Spendable
from gnomon.privacy.sensitivity import Norm
from gnomon.release.base import Account, Table, Task
from gnomon.release.jl_laplace import auto_dimension
from gnomon.release.projected import ProjectedRows
from gnomon.table.schema import Schema


class IdentityQuery(Compared, ProjectedRows):
    """Base of the methods that answer the identity query: x -> xR plus Laplace noise on every coordinate."""

    norm: ClassVar[Norm] = Norm.L1
    fourth: ClassVar[float] = 14.0
    unit: str = "row"

    def _check(self, table: Table) -> None:
        super()._check(table)
        who = type(self).__name__
        if self.calibration == "paper":
            raise ParameterError(f"No paper prints the noise of {who}; use calibration='sound'.")
        if self.delta > 0 and table.schema.estimated:
            raise ParameterError(
                f"The column {table.schema.estimated[0].name!r} has estimate = true, and {who} spends what is left as "
                "pure epsilon; set delta to 0, or declare its low and high."
            )

    @staticmethod
    def _all_of_it(account: Account) -> PureDP:
        """The whole budget as pure epsilon: Laplace noise has no use for delta."""
        if isinstance(account.left, PureDP):
            return account.left
        guarantee = account.guarantee
        return PureDP(guarantee.epsilon, guarantee.unit, guarantee.adjacency)


class BernoulliIdentity(IdentityQuery):
    """One noisy projection onto random signs for each record.

    Reference: Li et al., as RON-Gauss and PCA-Gauss compare with it: identity query behind a random projection with
    Bernoulli entries, here +-1/sqrt(k).

    Guarantee: epsilon-DP for replacing one record, its label included; n and the order of rows are public.

    Differs from the papers: they print no noise for it. Ours is calibrated to the L1 sensitivity of the matrix that was
    drawn; the label stands beside the row and is covered by the same noise.

    Parameters
    ----------
    epsilon, delta : the budget; the noise is Laplace, so all of epsilon is spent purely and delta buys nothing.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column stands beside the row; by default as the schema declares.
    n_components : the dimension k, or "auto": where distances of evenly spread rows vary least (public numbers).
    radius : rows are clipped to this length; by default to none.
    label_weight : how far a change of label moves a row, relative to a change of all features.
    random_state : seeds the projection, never the noise.
    """

    name: ClassVar[str] = "bernoulli-identity"
    projection: str = "sign"

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
        self.random_state = random_state
        self.not_private = not_private

    def _plan(self, table: Table, account: Account) -> tuple[int, Spendable]:
        k = self.n_components
        if k == "auto":
            k = auto_dimension(table.encoder, self.epsilon, self.unit, self.projection)
        return int(k), self._all_of_it(account)
