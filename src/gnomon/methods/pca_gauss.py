"""PCA-Gauss: principal components of a noisy moment matrix, and a Gaussian model for each class of what they show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from gnomon.errors import ParameterError
from gnomon.methods import pca_gauss_paper as paper
from gnomon.methods.gaussian_model import LOCATION, gaussian_model
from gnomon.methods.model_release import SAMPLING, ModelRelease
from gnomon.methods.parameters import check_choice, check_share
from gnomon.methods.planning import MethodPlan, moment_plan
from gnomon.methods.principal_components import box_view, leading, public_pca, public_table, unsupervised
from gnomon.methods.public import Notes, Public
from gnomon.privacy.guarantee import Guarantee, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import MomentMechanism
from gnomon.release.map import PublicMap
from gnomon.statistics.grid import Integers, Matrix
from gnomon.statistics.queries import Moments
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema

MECHANISMS: dict[str, MomentMechanism] = {
    "laplace": "upper-laplace",
    "matrix-laplace": "matrix-laplace",
    "analyze-gauss": "goe",
    "split": "auto",
}
SOURCES = ("auto", *MECHANISMS, "public")
PURE_SOURCES = ("laplace", "matrix-laplace")
LARGEST_DIMENSION = 20
PUBLIC_GRID = 2.0**40


@dataclass(eq=False, repr=False)
class PcaGauss(ModelRelease):
    """Differentially private synthetic rows by principal components and a Gaussian (mixture) model.

    Reference: Chanyaswad, Liu, Mittal, "Coupling Dimensionality Reduction with Generative Model for Non-Interactive
    Private Data Release", 2017, Algorithms 1 to 3.

    Guarantee: epsilon-DP (delta = 0) or (epsilon, delta)-DP for replacing one record, its label included, with n public;
    or for adding or removing one (`adjacency="add-remove"`) or one person (a schema with `person`), with n private.

    Differs from the paper (`calibration="sound"`): every measurement has noise at its true sensitivity; the model is one
    moment matrix of (W'x, label, constant) for each class, which protects counts and labels too; rows are centred by
    declared or paid numbers, never by their true mean. `calibration="paper"` uses the printed scales. The paper casts
    rows aside for the PCA and counts both parts as one: but a record can move others between two parts that follow from
    the order of a table. pca="split" therefore pays for both one after another, and lets all rows serve both.

    Parameters
    ----------
    epsilon, delta : the budget; delta = 0 asks for pure epsilon-DP.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; by default as the schema declares.
    n_components : the dimension P, or "auto": a tenth of the columns, from 2 to 20 (the paper sweeps P).
    pca : where the components come from: "laplace" (Lap-PCA), "analyze-gauss" (AG-PCA), "matrix-laplace", "public"
        (Pub-PCA), "split" (the noise that is smallest), or "auto": Gaussian noise where delta allows it, else matrix
        Laplace noise.
    public : for pca="public", a table of the same columns that needs no protection.
    pca_share : the part of the budget that goes to the PCA, the paper's alpha.
    mean_share : of what is left for the model, the part of the means; the covariances have the rest. The paper's 0.1.
    random_state : seeds the sampling of the model, never the noise.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> method = gn.PcaGauss(4.0, 1e-6, bounds=(0, 1), n_components=2).fit(X)
    >>> method.sample(5).shape, method.certificate_.holds
    ((5, 2), True)
    """

    name: ClassVar[str] = "pca-gauss"

    pca: str = "auto"
    public: Any = None
    pca_share: float = 0.5
    mean_share: float = LOCATION

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_choice(self, "pca", SOURCES)
        check_share(self, "pca_share")
        check_share(self, "mean_share")
        if self.pca == "analyze-gauss" and public.guarantee.delta == 0 and not public.target.is_none:
            raise ParameterError("The PCA by Gaussian noise (pca='analyze-gauss') needs delta above 0.")
        if public.schema.estimated and self.pca in PURE_SOURCES and public.guarantee.delta > 0:
            raise ParameterError(
                f"The column {public.schema.estimated[0].name!r} has estimate = true, and pca={self.pca!r} spends what is "
                "left as pure epsilon; set delta to 0, or declare its bounds or classes."
            )
        if self.calibration == "paper":
            paper.check(public.guarantee.delta, self.pca)

    def _pure(self) -> bool:
        if self.pca == "analyze-gauss":
            return False
        schema = self._given_schema()
        estimated = schema is not None and bool(schema.estimated)
        return super()._pure() or (estimated and self.pca in PURE_SOURCES)

    def _check_inputs(self, public: Public) -> None:
        if self.pca == "public" and not public.target.is_none:
            public_table(self.public, public.schema, self._dimension(public))

    def _dimension(self, public: Public) -> int:
        return auto_dimension(public.m) if self.n_components == "auto" else int(self.n_components)

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        P = self._dimension(public)
        self._components_only = public.target.is_none
        if self.calibration == "paper":
            directions = self._public_directions(data, public, P)
            asked = paper.PaperOptions(self._source(public), P, self.pca_share, self.mean_share, directions)
            self.frame_, self.model_ = paper.as_printed(data, public, notes, asked)
        elif public.target.is_none:
            self.frame_, self.model_ = unsupervised(data, public, notes, P)
        else:
            W, loss = self._components(data, public, notes, P)
            start = box_view(public.m).project(W, radius=math.sqrt(public.m))
            self.frame_, self.model_ = gaussian_model(data, public, notes, start, loss, self.mean_share)

    def _source(self, public: Public) -> str:
        if self.pca != "auto":
            return self.pca
        return (
            "laplace"
            if self.calibration == "paper"
            else "analyze-gauss"
            if public.guarantee.delta > 0
            else "matrix-laplace"
        )

    def _components(self, data: Measurer, public: Public, notes: Notes, P: int) -> tuple[Matrix, Spendable]:
        """Section VII: the principal components, and the loss that is left for the model."""
        source = self._source(public)
        directions = self._public_directions(data, public, P)
        if directions is not None:
            notes.public.append("the public table that the principal components come from")
            return directions, public.budget
        loss: Spendable = public.budget if source in ("analyze-gauss", "split") else public.pure_budget
        first, rest = loss.split(self.pca_share, 1 - self.pca_share)
        query = Moments(
            "second moment of all rows, for the principal components",
            box_view(public.m),
            mechanism=MECHANISMS[source],
        )
        return leading(data.measure(query, first).answer[0].astype(np.float64), P), rest

    def _public_directions(self, data: Measurer, public: Public, P: int) -> Matrix | None:
        """Pub-PCA: recorded, so that a replay does not need the public table."""
        if self.pca != "public" or public.target.is_none:
            return None

        def directions() -> Integers:
            W = public_pca(public_table(self.public, public.schema, P), public.schema, P)
            return np.rint(W * PUBLIC_GRID).astype(np.int64)

        return data.draw_public("principal components of a public table", directions) / PUBLIC_GRID

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What a budget buys, by public numbers: the model's moments in the dimension that "auto" takes."""
        return moment_plan(cls.name, encoder, n, guarantee, lambda m, *rest: auto_dimension(m))

    def sample_batches(self, n: int, seed: int | None = None) -> Iterator[pa.Table]:
        """Rows; Algorithm 1 publishes components, not columns: its projection is private."""
        if not self._components_only:
            yield from super().sample_batches(n, seed)
            return
        rng = np.random.default_rng([SAMPLING, self.seed_ if seed is None else seed])
        for C, _ in self.model_.sample_batches(n, rng):
            yield pa.table({f"c{j}": C[:, j] for j in range(C.shape[1])})

    @property
    def data_schema_(self) -> Schema:
        if not self._components_only:
            return self.schema_
        columns = (Column(name=f"c{j}", kind="number", low=-1, high=1) for j in range(self.n_components_))
        return Schema(name=self.schema_.name, columns=tuple(columns))

    def public_map(self) -> PublicMap:
        return PublicMap(self.frame_, components_only=self._components_only)

    def transform(self, X: Any) -> Any:
        """Real rows into the released space; Algorithm 1 has none, since its projection is private."""
        check_is_fitted(self)
        if self._components_only:
            raise ParameterError(
                "PcaGauss without a target publishes components whose projection is private, so there is no map for "
                "real rows; declare a target, or use another method."
            )
        return super().transform(X)


def auto_dimension(m: int) -> int:
    """The paper sweeps P and reports the best; without an oracle, a tenth of the columns, from 2 to 20."""
    return max(1, min(m, LARGEST_DIMENSION, max(2, round(m / 10))))
