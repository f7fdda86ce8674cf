"""DPRP: every record reconstructed from a noisy row and the noisy covariance of all rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.model.denoise import Lens, NoisyMoments, RowModel, row_model
from gnomon.model.repair import shrink_weight
from gnomon.plan import MethodPlan, PlannedNoise, advise
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import Adjacency, GaussianDP, Guarantee, Spendable
from gnomon.privacy.mechanism import release_vector
from gnomon.privacy.rounding import float_up, fraction, root_up
from gnomon.privacy.sensitivity import Norm, Sensitivity, row_sum, rows_with_moments
from gnomon.projection.orthonormal import haar
from gnomon.release.base import Account, Table, Task
from gnomon.release.map import PublicMap
from gnomon.release.rows import Integers, RowRelease, in_order, release_rows_and_sum
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.moments import Moments
from gnomon.table.encode import Encoder, Rows
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

LABEL = GRID * 5 // 4  # a label's coordinate beside features that are at most GRID long
CONSTANT = GRID // 2  # where there are no classes, a constant coordinate carries the mean
JOINT = "one row for each record, and the second moments of all rows (a symmetric Gaussian matrix), together"
LOOK, WIDE = 0.1, 0.75  # the share of the budget for where rows lie, and the ball of that first look
SMALLEST, LARGEST = (
    1e-9,
    1e9,
)  # of a share or a radius: beyond, noise or cells leave 64-bit numbers after the charge
BALL = 0.35  # the default radius, relative to that of the box of all cells
WEIGHTS = {
    "boolean": 0.5,
    "one-hot": 0.7,
}  # how loud a cell is; a boolean would drown numbers, which spread less


class Dprp(RowRelease):
    """The table again, record for record: noisy rows, seen through a model of their free noisy moments.

    Reference: Gondara, Wang, "Differentially Private Small Dataset Release Using Random Projections", UAI 2020,
    Algorithm 1.

    Guarantee: (epsilon, delta)-DP for replacing one record, its label included; n and the order of rows are public.

    Differs from the paper (`calibration="sound"`): a projection to k1 >= m dimensions adds nothing, so rows are released
    as they are; rows and their second moments are one Gaussian release, in which the moments are free or nearly so;
    labels are scaled one-hots inside the row; nothing is tuned on the private rows, so nothing is spent on that; and a
    noisy row is published as a model of the noisy moments has rows (see gnomon.model.denoise), its label as the most
    probable one. `calibration="paper"` follows Algorithm 1 as printed.

    Parameters
    ----------
    epsilon, delta : the budget; delta must be positive.
    schema, bounds, target, task : as in RonGauss. A declared `fill` value is also where a column is centred; where a
        column declares none, a tenth of the budget finds out where the rows lie.
    n_components : k2, the largest number of directions kept, or "auto": all that stand out of the noise (paper: 0.6 m).
    k1 : the dimension of the random projection, any positive number, or "auto". Sound: none, and below m an orthonormal
        one. Paper: chosen by 5% of the budget.
    row_share : how much of the precision the rows take from the moments, at most 1. At 1 rows are as exact as if they were
        released alone, s = 2B/mu, and the moments are free; below, rows are noisier and the moments up to twice as exact.
    radius : rows are clipped to this length around the centre; by default 0.35 of the box's half diagonal.
    random_state : seeds the projection and the draws of the model, never the noise.
    """

    name: ClassVar[str] = "dprp"

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        schema: Schema | None = None,
        bounds: Any = None,
        target: str | None = None,
        task: Task | None = None,
        classes: Any = None,
        target_bounds: Any = None,
        n_components: int | str = "auto",
        k1: int | str = "auto",
        calibration: str = "sound",
        row_share: float = 0.03,
        radius: float | None = None,
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
        self.k1 = k1
        self.calibration = calibration
        self.row_share = row_share
        self.radius = radius
        self.random_state = random_state
        self.not_private = not_private

    def _guarantee(self) -> Guarantee:
        found = super()._guarantee()
        if found.delta == 0:
            raise ParameterError(
                "The 'delta' parameter of Dprp must be positive, because its noise is Gaussian; use JlLaplace for rows "
                "under pure epsilon-DP, or a method that fits a model."
            )
        return found

    def _check(self, table: Table) -> None:
        super()._check(table)
        k1, share, radius = self.k1, self.row_share, self.radius
        if k1 != "auto" and (not isinstance(k1, int | np.integer) or isinstance(k1, bool) or k1 < 1):
            raise ParameterError(
                f"The 'k1' parameter of Dprp must be 'auto' or a positive integer. Got {k1!r} instead."
            )
        if not (isinstance(share, int | float) and SMALLEST <= share <= 1):
            raise ParameterError(
                f"The 'row_share' parameter of Dprp must be from {SMALLEST:g} to 1. Got {share!r} instead."
            )
        if radius is not None and not (isinstance(radius, int | float) and SMALLEST <= radius <= LARGEST):
            raise ParameterError(
                f"The 'radius' parameter of Dprp must be a number from {SMALLEST:g} to {LARGEST:g} (cells are encoded "
                f"into [-1, 1]). Got {radius!r} instead."
            )

    def _release(self, table: Table, account: Account) -> None:
        self._seed = int(self._rng().integers(2**62))
        self._reconstruction: Callable[[npt.NDArray[Any], Encoder], pa.Table] | None = None
        if self.calibration == "paper":
            from gnomon.release.dprp_paper import dprp_as_printed

            self.map_, self._reconstruction = dprp_as_printed(self, table, account)
            return
        loss = spendable(account.guarantee) if account.left is None else account.left
        chart, loss = look(table, account, row_map(table.encoder, self.radius), loss)
        self.map_ = narrowed(chart, self.k1, self._rng())
        rows = LabelledRows(self.map_, table.task, table.n_classes)
        joint, ratio = joint_release(rows.ball, self.row_share)
        self.spool_, law, event, sums = release_rows_and_sum(
            table,
            rows.whole,
            rows.shown,
            2.0 * GRID,
            joint,
            loss,
            JOINT,
            Moments.of_batch,
            Moments.zero(rows.width),
        )
        account.events.append(event)
        noise = float_up(fraction(event.scale) * ratio)
        account.public.append(
            f"the noise of the second moments, {noise:.17g} on the diagonal and 1/sqrt(2) of it beside: the sensitivity of "
            "rows and moments together counts a change of the moments by the ratio of the two noises"
        )
        self.moments_ = NoisyMoments(
            noisy_moments(sums.matrix[0], noise) / self.map_.unit**2,
            noise / math.sqrt(2) / self.map_.unit**2,
            table.n,
            rows.beside / self.map_.unit,
            rows.classes,
        )
        most = None if self.n_components == "auto" else int(self.n_components)
        self.model_: RowModel = row_model(self.moments_, most)
        self._row_noise, self._rows = law.diagonal / self.map_.unit, rows
        self._lens = self._into_cells(self.model_.lens(self._row_noise))
        account.post_processing += [
            "the noisy moments' eigenvalues shrunk by the semicircle law, class counts onto the simplex of n",
            "noisy rows brought back to the spread that the model of the moments has; labels the most probable ones",
        ]

    # --- the released rows ---

    @property
    def n_components_(self) -> int:
        return self.map_.n_components

    def sample_batches(self, n: int | None = None) -> Iterator[pa.Table]:
        self._refuse_other(n)
        yield from in_order(self._published, enumerate(self.spool_.chunks()))

    def _published(self, numbered: tuple[int, npt.NDArray[Any]]) -> pa.Table:
        """One batch of rows; its place seeds its draws, so every look shows the same rows."""
        place, chunk = numbered
        if self._reconstruction is not None:
            return self._reconstruction(chunk, self.encoder_)
        return self._seen(chunk, np.random.default_rng([2, self._seed, place]))

    def _into_cells(self, lens: Lens) -> Lens:
        """From the spool's integers to encoded cells, and to the target where that is a number."""
        p, unit = self.map_.n_components, self.map_.unit
        base = self.map_.lift(np.zeros((1, p)))
        slope = self.map_.lift(np.eye(p)) - base
        if self._rows.task == "regression":
            slope = np.block([[slope, np.zeros((p, 1))], [np.zeros((1, slope.shape[1])), unit / LABEL]])
            base = np.append(base, 0.0)[None, :]
        found = lens.then(slope, base[0])
        return replace(found, matrix=found.matrix / unit).single()

    def _seen(self, chunk: npt.NDArray[Any], rng: np.random.Generator) -> pa.Table:
        """Rows as the model sees them; a label is told from the row as it is published."""
        rows, p, s, m = self._rows, self.map_.n_components, self._row_noise, self.map_.n_features
        if rows.task != "classification":
            cells = self._lens(chunk.astype(np.float32), None)
            return self.encoder_.decode(
                cells[:, :m], np.clip(cells[:, m], -1.0, 1.0) if rows.task == "regression" else None
            )
        scale, noisy = rows.beside / self.map_.unit, chunk / self.map_.unit
        c = self.model_.guess(noisy[:, :p], noisy[:, p:], s, scale, rng)
        features = self.encoder_.decode(self._lens(chunk[:, :p].astype(np.float32), c))
        published = self.map_.components(self.encoder_.encode(features, target=False).X)
        y = self.model_.label(published, noisy[:, p:], s, scale, rng)
        place = [column.name for column in self.schema_.released].index(self._target_name)
        return features.add_column(place, self._target_name, self.encoder_.decode_target(y))

    @property
    def _target_name(self) -> str:
        target = self.schema_.target
        assert target is not None
        return target.name

    def transform(self, X: Any) -> Any:
        """Real rows into the released space: through the projection, if there is one, and back into columns."""
        from gnomon.release.folder import transform_batches

        source = open_source(X, None, schema=self.schema_)
        return source.like(pa.concat_tables(list(transform_batches(source, self.schema_, self.map_))))

    def public_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What `map.npz` of the release holds."""
        return self.map_.arrays()

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What the release would show, from public numbers alone: the noise of rows and of their covariance."""
        loss = spendable(guarantee)
        if not isinstance(loss, GaussianDP):
            raise ParameterError("DPRP adds Gaussian noise, which needs delta > 0.")
        rows = LabelledRows(row_map(encoder, None), encoder.task, _classes(encoder))
        joint, ratio = joint_release(rows.ball, 0.03)
        scale = float(joint.value) / loss.mu
        variance = 0.5 / encoder.width
        error = scale * float(ratio) / math.sqrt(2) / GRID**2 / n / variance
        noise = (
            PlannedNoise(
                "one cell of a row", "rounded-gaussian", scale / GRID / math.sqrt(variance), "spreads"
            ),
            PlannedNoise("covariance of all rows", "rounded-gaussian", error, "variances"),
        )
        return MethodPlan(cls.name, "rows", encoder.width, noise, error, advise(error))


def _classes(encoder: Encoder) -> int:
    return 1 if encoder.classes is None else len(encoder.classes)


class LabelledRows:
    """Integer rows (features, label) in one ball, and the rows whose moments are summed."""

    def __init__(self, chart: PublicMap, task: str, n_classes: int) -> None:
        self.chart, self.task = chart, task
        self.classes = n_classes if task == "classification" else 1
        self.beside = LABEL if task == "classification" else CONSTANT
        extra = {"classification": LABEL**2, "regression": LABEL**2 + CONSTANT**2, "clustering": CONSTANT**2}
        self.ball = GRID**2 + extra[task]
        shown = {"classification": self.classes, "regression": 1, "clustering": 0}
        self.shown = chart.n_components + shown[task]
        self.width = chart.n_components + self.classes + (task == "regression")

    def whole(self, rows: Rows) -> Matrix:
        """(features, label, constant), as far as the task has them; the first `shown` columns are released."""
        if self.task == "regression":
            return self.chart.integers(rows.X, CONSTANT, rows.numbers, LABEL)
        if self.task == "clustering":
            return self.chart.integers(rows.X, CONSTANT)
        p = self.chart.n_components
        found = np.zeros((p + self.classes, len(rows.X)))
        found[:p] = self.chart.integers(rows.X, 0).T[:p]
        found[p + rows.codes, np.arange(len(rows.X))] = LABEL
        return found.T


def joint_release(ball: int, share: float) -> tuple[Sensitivity, Fraction]:
    """The sensitivity of rows with their moments, in units of the rows' noise, and the ratio of the two noises.

    A row r of squared length T at most, released with noise s, and the sum of rr' with noise s' = ratio s (a GOE), cost
    mu = sup sqrt(||r - t||^2 + ||rr' - tt'||_F^2 / ratio^2) / s. With ratio = sqrt(2 share T) that is sqrt(T) (1 + share) /
    (sqrt(share) mu') for `rows_with_moments`: so s' = sqrt(2) T (1 + share) / mu, from the moments alone (share 0) to twice
    that, where rows have s = 2 sqrt(T) / mu, as if they were alone (share 1).
    A constant coordinate in the summed rows only makes the change of a row smaller than the ball allows.
    """
    radius, ratio = root_up(ball), root_up(2 * fraction(share) * ball)
    return rows_with_moments(Norm.L2, radius=radius, ratio=ratio, adjacency=Adjacency.REPLACE_ONE), ratio


def noisy_moments(sums: Integers, noise: float) -> Matrix:
    """The moment matrix with its part of the joint release's noise."""
    from gnomon.privacy.noise.symmetric import goe

    noisy: Matrix = (sums + goe(len(sums), noise) if noise > 0 else sums).astype(np.float64)
    return noisy


def row_map(encoder: Encoder, radius: float | None) -> PublicMap:
    """Cells centred where the schema fills missing ones, booleans and categories softened, clipped to a ball."""
    centre, weight = np.zeros(encoder.width), np.ones(encoder.width)
    for group, column in zip(encoder.groups, encoder.schema.features, strict=True):
        width = group.place.stop - group.place.start
        weight[group.place] = WEIGHTS.get(group.kind, 1.0)
        if column.fill is not None:
            cell = pa.table({column.name: pa.array([column.fill])})
            only = Encoder(Schema(name="fill", columns=(column,)))
            centre[group.place] = only.encode(cell).X[0]
        elif group.kind == "one-hot":
            centre[group.place] = 1 / width
    reach = BALL * float(np.linalg.norm(weight)) if radius is None else radius
    return PublicMap(centre, weight, False, None, np.zeros(encoder.width), reach)


def look(table: Table, account: Account, chart: PublicMap, loss: Spendable) -> tuple[PublicMap, Spendable]:
    """Where the rows lie, by a tenth of the budget; not spent where every column declares it with a fill value."""
    if all(column.fill is not None for column in table.schema.features):
        return chart, loss
    looking, left = loss.split(LOOK, 1 - LOOK)
    wide = replace(chart, radius=WIDE * float(np.linalg.norm(chart.weight)))
    noisy = account.record(
        release_vector(
            table.sum(
                lambda rows: wide.integers(rows.X, 0)[:, :-1].sum(axis=0).astype(np.int64),
                np.zeros(table.m, np.int64),
                stage="looking where the rows lie",
            ),
            row_sum(Norm.L2, columns=table.m, radius=GRID, adjacency=Adjacency.REPLACE_ONE),
            looking,
            statistic="sum of the rows, to centre them",
        )
    )
    mean, noise = noisy.value / (wide.unit * table.n), noisy.noise.diagonal / (wide.unit * table.n)
    mean = mean * shrink_weight(float(mean @ mean), table.m * noise**2)
    return replace(chart, centre=chart.centre + mean * wide.radius / chart.weight), left


def narrowed(chart: PublicMap, k1: int | str, rng: np.random.Generator) -> PublicMap:
    """The rows through a random orthonormal projection to k1 dimensions, or as they are where k1 is not below m."""
    if k1 == "auto" or int(k1) >= chart.n_features:
        return chart
    return chart.project(haar(chart.n_features, int(k1), rng), radius=chart.radius)
