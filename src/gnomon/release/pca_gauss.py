"""PCA-Gauss: principal components of a noisy moment matrix, and a Gaussian model for each class of what they show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.model.labels import Labels, grown, learned, pooled_labels
from gnomon.model.linear import Slope
from gnomon.model.marginals import Shape, give_shapes
from gnomon.model.repair import mixture_of
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ZCDP, GaussianDP, Guarantee, PureDP, Spendable
from gnomon.privacy.mechanism import moment_noise
from gnomon.projection.orthonormal import haar
from gnomon.release.base import Account, ModelRelease, Table, Task, _seed
from gnomon.release.gaps import CellLaw, gaps
from gnomon.release.kept import KeptSource
from gnomon.release.map import PublicMap
from gnomon.release.pca_labels import DRAWS, pooled_is_better, question
from gnomon.release.pca_look import Fit, affordable, look
from gnomon.release.pca_marginals import SHARE as SHAPES
from gnomon.release.pca_marginals import bins_of, numbers, shapes
from gnomon.release.pca_paper import Wanted, dimension, paper_algorithm
from gnomon.release.pca_regression import HOLDS, stages, with_target
from gnomon.release.pca_source import SOURCES, check_public
from gnomon.release.pca_stages import (
    LABEL,
    LAMBDA,
    Model,
    bearable_dimensions,
    classified,
    gaussian,
    warn_of_small,
)
from gnomon.release.ron_gauss import auto_dimension, class_sums, first_map
from gnomon.release.ron_gauss import look as look_projected
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.moments import ball
from gnomon.table.schema import Column, Schema

if TYPE_CHECKING:
    from gnomon.plan import MethodPlan
    from gnomon.table.encode import Encoder

FIRST = 0.5  # stage one's share of what the look leaves, when there is a stage two
FIRST_OF_ALL = 0.25  # the same where stage two can bear all columns, should it have to
FEWEST = 12  # stage two runs if it can bear this many dimensions (or all columns)
ALL = Fit(1.0, 0.9)  # where stage two can bear all columns, each counts alike
ALL_OF_REGRESSION = Fit(0.5, 0.95)  # the same with a numeric target: hardly any row is shortened
KEPT = 0.4  # of the columns' dimensions must be borne for their shapes to be counted
# With fewer directions above the noise than this, stage one shows too little.
DROWNED: dict[type, float] = {PureDP: 8, GaussianDP: 2, ZCDP: 2}
FITS = {
    "classification": Fit(0.5, 0.9),
    "clustering": Fit(0.5, 0.9),
    "regression": Fit(1.0, HOLDS, absolute=True),
}


@dataclass(frozen=True)
class Plan:
    """What a table can afford, from public numbers alone: the shares of the look, and stage two's dimensions."""

    shares: dict[str, float]
    most: int | None = None  # None: everything goes to stage one
    first: float = 1.0  # stage one's share of what the look leaves
    fit: Fit = FITS["classification"]

    @property
    def part(self) -> float:
        """Stage one's share of the whole budget."""
        return self.first * (1 - sum(self.shares.values()))

    def split(self, loss: Spendable) -> tuple[dict[str, Spendable], Spendable, Spendable | None]:
        left = 1 - sum(self.shares.values())
        stages = [left] if self.most is None else [self.part, (1 - self.first) * left]
        parts = loss.split(*self.shares.values(), *stages)
        steps: dict[str, Spendable] = dict(zip(self.shares, parts, strict=False))
        return steps, parts[len(steps)], parts[len(steps) + 1] if self.most is not None else None


def plan(
    n: int, m: int, classes: int, task: str, loss: Spendable, wanted: int | None = None, *, numbers: int = 0
) -> Plan:
    """What a table can afford: the look, the shapes of `numbers` of its m columns, and a second stage.

    Columns are counted where the model keeps enough of their dimensions: a row that was put together from a few
    directions is better seen through the same directions than made to look like a real one. Whoever asks for few gets few.
    """
    shares = affordable(n, m + (task == "regression"), loss)
    if (wanted or m) == m and bins_of(n, numbers, loss.split(SHAPES)[0]):
        shaped, dimensions = _staged(n, m, classes, task, loss, wanted, shares | {"shapes": SHAPES})
        if dimensions >= (m if task == "regression" else KEPT * m):
            return shaped
    return _staged(n, m, classes, task, loss, wanted, shares)[0]


def _staged(
    n: int, m: int, classes: int, task: str, loss: Spendable, wanted: int | None, shares: dict[str, float]
) -> tuple[Plan, int]:
    """Stage two runs where the noise of a class covariance stays below the covariance itself in enough dimensions.

    Beside the plan, how many dimensions its last stage bears.
    """
    left = 1 - sum(shares.values())
    if task == "regression":
        most = (stages(n, m, loss.split(left)[0], wanted).most or 0) if "columns" in shares else 0
        return Plan(shares, fit=ALL_OF_REGRESSION if most == m else FITS[task]), most
    if task != "classification":
        return Plan(shares, fit=FITS[task]), _bearable(n, m, 1, loss.split(left)[0])
    if _bearable(n, m, classes, loss.split((1 - FIRST_OF_ALL) * left)[0]) == m:
        return Plan(shares, m, FIRST_OF_ALL, ALL), m
    most = _bearable(n, m, classes, loss.split((1 - FIRST) * left)[0])
    if most >= min(m, wanted or m, FEWEST):
        return Plan(shares, most, FIRST), most
    return Plan(shares), 0


def affordable_plan(
    encoder: Encoder, n: int, account: Account, wanted: int | None = None
) -> tuple[Plan, Spendable]:
    """The plan of a table, and the kind of loss that serves it: pure or Gaussian, by what stage one's share buys."""
    m, classes = encoder.width, len(encoder.classes) if encoder.classes else 1

    def of(loss: Spendable) -> Plan:
        return plan(n, m, classes, encoder.task, loss, wanted, numbers=len(numbers(encoder)))

    loss = account.spendable(m + classes, of(spendable(account.guarantee)).part)
    return of(loss), loss


def drowned(planned: Plan, n: int, m: int, classes: int, loss: Spendable) -> bool:
    """Whether so few equal directions would rise above stage one's noise that a random projection shows more.

    A projection to p dimensions makes the noise of a pure moment matrix m / p times smaller or better, Gaussian noise
    not at all: a pure budget turns to it sooner.
    """
    _, first, _ = planned.split(loss)
    fine = 2**20
    law = moment_noise(m + classes, first, ball=fine * (1 + (LABEL / GRID) ** 2)).law
    edge = 2 * math.sqrt(m) * law.off_diagonal / fine / n
    return DROWNED[type(first)] * edge > 0.5


def _bearable(n: int, m: int, classes: int, loss: Spendable) -> int:
    return bearable_dimensions(n, m, loss, beside=1, ball=ball(LAMBDA), classes=classes)


class PcaGauss(ModelRelease):
    """Differentially private synthetic rows by principal components and a Gaussian (mixture) model.

    Reference: Chanyaswad, Liu, Mittal, "Coupling Dimensionality Reduction with Generative Model for Non-Interactive
    Private Data Release", 2017, Algorithms 1 to 3.

    Guarantee: epsilon-DP (delta = 0) or (epsilon, delta)-DP for replacing one record, its label included; n public.

    Differs from the paper (`pca="auto"`, the default): stage one releases one noisy moment matrix of (x, label,
    constant) in the full dimension, which yields counts, means, the covariance and its spectrum together; where public
    numbers allow it, stage two releases the moments of every class in the subspace that stage one found, and a small
    histogram of real rows tells whether labels are better redrawn at the released rows (`pca_labels.py`). Noisy
    histograms of columns give released ones their shapes where there are rows enough (`pca_marginals.py`). Rows are
    centred, scaled and clipped by paid or declared numbers. A table with classes that is too small for the noise of a
    matrix in the full dimension is seen through a random projection instead, as RON-Gauss sees it. `pca="laplace"`
    and the other sources run the paper's own Algorithms 1 to 3, with sound noise or (`calibration="paper"`) with the
    printed scales.

    Parameters
    ----------
    epsilon, delta : the budget; delta = 0 asks for pure epsilon-DP.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; by default as the schema declares.
    n_components : the dimension P, or "auto" (what the spectrum shows above the known noise).
    pca : "auto", or for the paper's algorithms "laplace", "analyze-gauss", "public", "split", "matrix-laplace".
    public : for pca="public", a table of the same columns that needs no protection.
    pca_share : for the paper's algorithms, the part of the budget (of the rows, for "split") that goes to the PCA.
    random_state : seeds the sampling of the model, never the noise.
    """

    name: ClassVar[str] = "pca-gauss"
    shapes_: Sequence[Shape] = ()  # of columns whose values were counted
    labels_: Labels | None = None  # a rule that labels decoded rows; None: they keep the class that drew them

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
        pca: str = "auto",
        public: Any = None,
        pca_share: float = 0.5,
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
        self.pca = pca
        self.public = public
        self.pca_share = pca_share
        self.random_state = random_state
        self.not_private = not_private

    def _check(self, table: Table) -> None:
        super()._check(table)
        known = ("auto", *SOURCES)
        if self.pca not in known:
            raise ParameterError(
                f"The 'pca' parameter of PcaGauss must be one of {', '.join(map(repr, known))}. Got {self.pca!r} instead."
            )
        if self.pca != "auto" and table.schema.estimated:
            raise ParameterError(
                f"The column {table.schema.estimated[0].name!r} has estimate = true, which pca={self.pca!r} cannot pay; "
                "declare its bounds, or use pca='auto'."
            )
        if not 0.01 <= self.pca_share <= 0.99:
            raise ParameterError(
                f"The 'pca_share' parameter of PcaGauss must be from 0.01 to 0.99. Got {self.pca_share!r} instead."
            )
        if self.pca == "analyze-gauss" and self.delta == 0 and table.task != "clustering":
            raise ParameterError("The PCA by Gaussian noise (pca='analyze-gauss') needs delta above 0.")
        if self.calibration == "paper" and self.delta > 0 and self.pca != "analyze-gauss":
            raise ParameterError(
                "The paper prints Laplace noise, which is pure; set delta=0, or pca='analyze-gauss' for its Gaussian PCA."
            )
        if self.calibration == "paper" and self.pca in ("split", "matrix-laplace"):
            raise ParameterError(
                f"The paper prints no noise for pca={self.pca!r}; use calibration='sound', "
                "or pca='laplace', 'analyze-gauss' or 'public'."
            )
        if self.pca == "split" and table.n < 4:
            raise ParameterError("The PCA from a part of the rows (pca='split') needs at least 4 rows.")
        if self.pca == "public" and table.task != "clustering":
            check_public(self.public, table.schema, self._paper_dimension(table))

    def _paper_dimension(self, table: Table) -> int:
        return dimension(table.m) if self.n_components == "auto" else int(self.n_components)

    def _release(self, table: Table, account: Account) -> None:
        self.labels_, self.shapes_ = None, []
        if self.calibration == "paper" or self.pca != "auto":
            pca = "laplace" if self.pca == "auto" else self.pca
            printed = self.calibration == "paper"
            sought = Wanted(pca, self.public, self.pca_share, self._paper_dimension(table), printed)
            self.map_, self.model_ = paper_algorithm(table, account, sought)
            self.outside_ = np.zeros(self.map_.n_features)
            return
        wanted = None if self.n_components == "auto" else int(self.n_components)
        planned, loss = affordable_plan(table.encoder, table.n, account, wanted)
        steps, first, second = planned.split(loss)
        table = replace(table, source=KeptSource(table.source))
        if (
            table.task == "classification"
            and wanted is None
            and drowned(planned, table.n, table.m, table.n_classes, loss)
        ):
            self._keep(self._projected(table, account))
            account.public.append(
                f"a random projection to {self.n_components_} dimensions, drawn without a look at any row"
            )
            return
        asked: Spendable | None = None
        place = look(table, account, steps, planned.fit)
        if table.task == "classification":
            most = table.m if planned.most is None else planned.most
            if second is not None:
                asked, second = question(second, table.n, table.m, table.n_classes)
            model = classified(table, account, place, first, second, most, wanted)
        elif table.task == "regression":
            model = with_target(table, account, place, first, wanted)
        else:
            model = gaussian(table, account, place, first, wanted)
        self._keep(model)
        if "shapes" in steps:
            self.shapes_ = shapes(table, account, steps["shapes"], self._law())
        if asked is not None:
            self._ask_for_labels(table, account, asked)
        account.public.append(
            "the constants of the method: shares of the budget, weights of label and mean, grids of lengths"
        )
        account.post_processing.append(
            "dimension, class sizes, means, covariances and slopes, each shrunk by the known law of the noise"
        )

    @property
    def published_map_(self) -> PublicMap:
        """Rows whose columns have their shapes look like real ones, which then need no map."""
        return PublicMap.identity(self.map_.n_features, radius=1.0) if self.shapes_ else self.map_

    def _keep(self, model: Model) -> None:
        self.map_, self.model_, self.outside_ = model.chart, model.mixture, model.outside

    def _law(self) -> CellLaw:
        return CellLaw.of(self.map_, self.model_, self.outside_)

    def _projected(self, table: Table, account: Account) -> Model:
        """What a table too small for its noise releases: the moments of every class through a random projection.

        Fewer numbers meet less noise; the mechanism, its charge and its proof are those of RON-Gauss.
        """
        p = auto_dimension(table.m, table.n, table.n_classes, account.spendable)
        start = first_map(table.m, haar(table.m, p, self._rng()), normalise=True)
        chart, loss = look_projected(table, account, start, account.spendable(p + 1))
        fitted = mixture_of(class_sums(table, account, chart, loss), table.n)
        warn_of_small(len(fitted.fallback), table.n_classes)
        account.post_processing.append(
            "class sizes, means and covariances, each shrunk by the known law of the noise"
        )
        return Model(chart, fitted.mixture, np.zeros(table.m))

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What a budget buys, by public numbers: the road that a release would take, and its noise."""
        from gnomon.plan import moment_plan, subspace_plan

        m, classes = encoder.width, len(encoder.classes) if encoder.classes else 1
        planned, loss = affordable_plan(encoder, n, Account(guarantee))
        if encoder.task == "classification" and drowned(planned, n, m, classes, loss):
            return moment_plan(cls.name, encoder, n, guarantee)
        return subspace_plan(cls.name, encoder, n, guarantee)

    def sample_batches(self, n: int) -> Iterator[pa.Table]:
        """n synthetic rows as Arrow tables: the model's components, lifted, with the spread left outside them."""
        if self.map_.components_only:
            yield from self._component_batches(n)
            return
        rng = np.random.default_rng(None if self.random_state is None else [1, _seed(self.random_state)])
        p, shares = self.map_.n_components, self._shares()
        missing = gaps(self.encoder_.groups, self._law())
        rows = max(256, min(65_536, 2**23 // self.map_.n_features))
        for C, codes in self.model_.sample_batches(n, rng, rows):
            cells = self.map_.lift(C[:, :p]) + self._spread(len(C), rng)
            for gap in missing:
                gap.settle(cells, codes)
            give_shapes(self.shapes_, cells, codes)
            table = self.encoder_.decode(cells, priors=shares)
            if self.encoder_.task == "clustering":
                yield table
                continue
            y = codes if self.encoder_.task == "classification" else C[:, -1]
            target = self.encoder_.decode_target(self._target(table, y, rng))
            name = self.encoder_.schema.target.name  # type: ignore[union-attr]
            yield table.append_column(name, target).select(self.encoder_.columns)

    def _target(self, table: pa.Table, y: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[Any]:
        """What stands beside decoded features: y as it was drawn with the components, or as the features now say.

        Decoding cuts cells at their bounds, rounds them and takes one category of many. A number drawn with the
        components would not follow what is left of them, and a model trained on the rows would learn another slope.
        """
        if self.labels_ is not None:
            return self.labels_.drawn(self._components(table), rng)
        if self.encoder_.task == "classification":
            return y
        if self.calibration == "sound" and self.pca == "auto":
            found = Slope.of(self.model_)
            away = (self._components(table) - found.mean) @ found.slope
            y = found.level + away + math.sqrt(found.rest) * rng.standard_normal(len(y))
        within: npt.NDArray[Any] = np.clip(y, -1.0, 1.0)
        return within

    def _components(self, table: pa.Table) -> Matrix:
        return self.map_.components(self.encoder_.encode(table, target=False).X)

    def _ask_for_labels(self, table: Table, account: Account, loss: Spendable) -> None:
        """Take the labels of a pooled rule where, by the noisy answer of the real rows, a learner needs them."""
        drawn = pa.concat_tables(self.sample_batches(DRAWS)).combine_chunks()
        rows = self.encoder_.encode(drawn)
        X, Z = np.asarray(rows.X, dtype=np.float64), self.map_.components(rows.X)
        pooled = pooled_labels(self.model_, Z, rows.codes)
        seed = _seed(self.random_state)
        relabelled = pooled.drawn(Z, np.random.default_rng(seed))
        own, other = (
            (learned(X, codes, table.n_classes).best, grown(X, codes, seed))
            for codes in (rows.codes, relabelled)
        )
        if pooled_is_better(table, account, loss, own, other):
            self.labels_ = pooled
            account.post_processing.append(
                "labels drawn for the decoded rows, with one covariance for all classes: the noisy count asked for it"
            )

    def _component_batches(self, n: int) -> Iterator[pa.Table]:
        """Algorithm 1 publishes components, not columns: its projection is private."""
        rng = np.random.default_rng(None if self.random_state is None else [1, _seed(self.random_state)])
        for C, _ in self.model_.sample_batches(n, rng):
            yield pa.table({f"c{j}": C[:, j] for j in range(C.shape[1])})

    @property
    def data_schema_(self) -> Schema:
        if not self.map_.components_only:
            return self.schema_
        columns = (Column(name=f"c{j}", kind="number", low=-1, high=1) for j in range(self.map_.n_components))
        return Schema(name=self.schema_.name, columns=tuple(columns))

    def transform(self, X: Any) -> Any:
        """Real rows into the released space; Algorithm 1 has none, since its projection is private."""
        if self.map_.components_only:
            raise ParameterError(
                "Algorithm 1 keeps its projection private, so real rows cannot be transformed; use pca='auto'."
            )
        return super().transform(X)

    def _spread(self, n: int, rng: np.random.Generator) -> Matrix:
        """Noise outside the subspace, so that released columns vary as much as the real ones do."""
        W, weight = self.projection_, self.map_.weight
        if not self.outside_.any():
            return np.zeros((1, len(weight)))
        E = rng.standard_normal((n, len(weight))) * self.outside_
        E -= (E @ W) @ W.T
        spread: Matrix = E / weight
        return spread
