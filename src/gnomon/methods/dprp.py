"""DPRP: every record reconstructed from a noisy row and the noisy covariance of all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.methods.dprp_paper import PAPER_SHARES, Reconstruction, Shares, dprp_as_printed
from gnomon.methods.planning import MethodPlan, PlannedNoise, advise
from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import RowRelease
from gnomon.model.denoise import AffineMap, NoisyMoments, row_model
from gnomon.model.shrinkage import signal_share
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import Adjacency, GaussianDP, Guarantee, Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, NoiseLaw, vector_noise
from gnomon.privacy.rounding import float_up, fraction, root_up
from gnomon.privacy.sensitivity import Norm, Sensitivity, moments, rows_with_moments
from gnomon.projection.orthonormal import haar
from gnomon.release.analyst.law import NAME as LAW
from gnomon.release.analyst.law import RowLaw
from gnomon.release.analyst.rows import GAUSSIAN_FOURTH
from gnomon.release.map import PublicMap
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID, Integers
from gnomon.statistics.queries import Moments, RowQuery, RowSum
from gnomon.table.encode import Encoder
from gnomon.table.rows import Rows
from gnomon.table.schema import Schema
from gnomon.table.target import Target

LABEL = GRID * 5 // 4  # a label's coordinate beside features that are at most GRID long
CONSTANT = GRID // 2  # where there are no classes, a constant coordinate carries the mean
JOINT = "one row for each record, and the second moments of all rows (a symmetric Gaussian matrix), together"
SUMMED = "second moments of all rows, as part of the joint release"
LOCATION, WIDE = 0.1, 0.75  # the share of the budget for where rows lie, and the ball in which it is measured
SMALLEST, LARGEST = (
    1e-9,
    1e9,
)  # of a share or a radius: beyond, noise or cells leave 64-bit numbers after the charge
BALL = 0.35  # the default radius, relative to that of the box of all cells
WEIGHTS = {
    "boolean": 0.5,
    "one-hot": 0.7,
}  # how loud a cell is; a boolean would dominate numbers, which spread less


@dataclass(eq=False, repr=False)
class Dprp(RowRelease):
    """The table again, record for record: noisy rows, seen through a model of their free noisy moments.

    Reference: Gondara, Wang, "Differentially Private Small Dataset Release Using Random Projections", UAI 2020,
    Algorithm 1.

    Guarantee: (epsilon, delta)-DP for replacing one record, its label included; n is public, the order of rows is not.

    Differs from the paper (`calibration="sound"`): a projection to k1 >= m dimensions adds nothing, so rows are released
    as they are; rows and their second moments are one Gaussian release, in which the moments are free or nearly so;
    labels are scaled one-hots inside the row; nothing is tuned on the private rows, so nothing is spent on that; and a
    noisy row is published as a model of the noisy moments has rows (see gnomon.model.denoise), its label as the most
    probable one. `calibration="paper"` follows Algorithm 1 as printed.

    Parameters
    ----------
    epsilon, delta : the budget; delta must be positive.
    schema, bounds, target, task : as in RonGauss. A declared `fill` value is also where a column is centred; where a
        column declares none, a tenth of the budget measures where the rows lie.
    n_components : k2, the largest number of directions kept, or "auto": all that stand out of the noise (paper: 0.6 m).
    k1 : the dimension of the random projection, any positive number, or "auto". Sound: none, and below m an orthonormal
        one. Paper: chosen by 5% of the budget.
    row_share : how much of the precision the rows take from the moments, at most 1. At 1 rows are as exact as if they were
        released alone, s = 2B/mu, and the moments are free; below, rows are noisier and the moments up to twice as exact.
    radius : rows are clipped to this length around the centre; by default 0.35 of the box's half diagonal.
    b1, b2, b3 : with calibration="paper", the parts of epsilon and delta for the rows, the covariance and the choice of k1.
    z : with calibration="paper", the distance of neighbouring rows that the printed noise is made for; unit rows are up to
        2 apart.
    order : "shuffled", or "kept", which publishes the order of the table; the custodian finds it in `permutation_`.
    random_state : seeds the projection and the draws of the model, never the noise and never the order.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> rows = gn.Dprp(8.0, 1e-6, bounds=(0, 1)).fit(X)
    >>> rows.sample().shape  # record for record, in a random order
    (200, 3)
    """

    name: ClassVar[str] = "dprp"

    k1: int | str = "auto"
    row_share: float = 0.03
    radius: float | None = None
    b1: float = PAPER_SHARES.rows
    b2: float = PAPER_SHARES.covariance
    b3: float = PAPER_SHARES.choice
    z: float = 1.0

    def _guarantee(self, n: int | None) -> Guarantee:
        found = super()._guarantee(n)
        if found.delta == 0:
            raise ParameterError(
                "The 'delta' parameter of Dprp must be positive, because its noise is Gaussian; use JlLaplace for rows "
                "under pure epsilon-DP, or a method that fits a model."
            )
        return found

    def _check(self, public: Public) -> None:
        super()._check(public)
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

        self._check_printed()

    def _check_printed(self) -> None:
        parts = {"b1": self.b1, "b2": self.b2, "b3": self.b3}
        for name, value in parts.items():
            if not (isinstance(value, int | float) and SMALLEST <= value <= 1):
                raise ParameterError(
                    f"The '{name}' parameter of Dprp must be from {SMALLEST:g} to 1. Got {value!r} instead."
                )
        if sum(parts.values()) > 1 + 1e-9:
            raise ParameterError(
                f"The 'b1', 'b2' and 'b3' parameters of Dprp must add up to at most 1. Got {sum(parts.values()):g} instead."
            )
        if not (isinstance(self.z, int | float) and 1e-3 <= self.z <= 1e3):
            raise ParameterError(
                f"The 'z' parameter of Dprp must be from 0.001 to 1000. Got {self.z!r} instead."
            )
        if self.calibration != "paper" and (self._shares != PAPER_SHARES or self.z != 1.0):
            raise ParameterError(
                "The 'b1', 'b2', 'b3' and 'z' parameters of Dprp are for calibration='paper'; the sound release shares out "
                "its budget by row_share, and its rows lie in a declared ball."
            )

    @property
    def _shares(self) -> Shares:
        return Shares(self.b1, self.b2, self.b3)

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        self._reconstruction: Reconstruction | None = None
        if self.calibration == "paper":
            printed = dprp_as_printed(
                data,
                public,
                notes,
                self.k1,
                self.n_components,
                self._shares,
                self.z,
                shuffled=self.order == "shuffled",
            )
            self.frame_ = Frame.identity(public.m, radius=1.0)
            self.rows_, self.noise_ = printed.rows, printed.measured.noise
            self._reconstruction = printed.reconstruction
            return
        frame, loss = located(data, public, row_frame(public.encoder, self.radius), public.budget)
        self.frame_ = narrowed(frame, self.k1, public.rng())
        query = LabelledRows(labelled_moments(self.frame_, public.target), self.row_share)
        noise = query.moment_noise(loss)
        self.rows_, released, summed = data.release_rows(
            query, loss, jointly=(query.moments, noise), shuffled=self.order == "shuffled"
        )
        assert summed is not None
        self.noise_ = released.noise
        self.moments_ = noisy_moments(query.moments, summed, noise, public.rows)
        self.model_ = row_model(
            self.moments_, None if self.n_components == "auto" else int(self.n_components)
        )
        self._into_cells = cells_of(self.frame_, public.target, self.model_.transport(self._row_noise))
        notes.public.append(
            f"the noise of the second moments, {noise.scale:.17g} on the diagonal and 1/sqrt(2) of it beside: the "
            "sensitivity of rows and moments together counts a change of the moments by the ratio of the two noises"
        )
        notes.post_processing += [
            "the noisy moments' eigenvalues shrunk by the semicircle law, class counts onto the simplex of n",
            "noisy rows brought back to the spread that the model of the moments has; labels the most probable ones",
        ]

    # --- the released rows ---

    @property
    def _row_noise(self) -> float:
        """The standard deviation of the noise of a row, in units of the frame's ball."""
        return self.noise_.diagonal / self.frame_.unit

    def _released(self, chunk: npt.NDArray[Any], rng: np.random.Generator) -> pa.Table:
        """Rows as the model has them; a label is estimated from the row as it is published."""
        if self._reconstruction is not None:
            return self._reconstruction(chunk, self.encoder_)
        target, m, p = self.encoder_.target, self.frame_.n_features, self.frame_.n_components
        if not target.is_class:
            cells = self._into_cells(chunk.astype(np.float32), None)
            return self.encoder_.decode(
                cells[:, :m], np.clip(cells[:, m], -1.0, 1.0) if target.is_number else None
            )
        noisy, scale = chunk / self.frame_.unit, LABEL / self.frame_.unit
        c = self.model_.guess(noisy[:, :p], noisy[:, p:], self._row_noise, scale, rng)
        features = self.encoder_.decode(self._into_cells(chunk[:, :p].astype(np.float32), c))
        published = self.frame_.components(self.encoder_.encode(features, target=False))
        y = self.model_.label(published, noisy[:, p:], self._row_noise, scale, rng)
        assert target.name is not None
        place = self.encoder_.columns.index(target.name)
        table = features.add_column(place, target.name, self.encoder_.decode_target(y))
        return self.encoder_.keep_rules(table)

    def public_map(self) -> PublicMap:
        """The frame, and the law of the noisy rows, which distances need.

        They are distances as the frame weighs and clips rows; as printed, of rows of length 1 with their labels.
        """
        k = self.frame_.n_components
        if self._reconstruction is not None:
            k1 = self.rows_.width
            law = RowLaw(self.noise_.diagonal / GRID, GAUSSIAN_FOURTH, 2 / k1, GRID, 0.0, "none")
        else:
            m = self.frame_.n_features
            natural = math.sqrt(m / k) * float(
                self.frame_.radius[0]
            )  # k1 below m shortens rows by sqrt(k1 / m)
            stretch, steps = 2 * (m - k) / (k * (m + 2)), self.frame_.unit / natural
            law = RowLaw(self._row_noise * natural, GAUSSIAN_FOURTH, stretch, steps, LABEL, "none")
        return PublicMap(self.frame_, extra={LAW: law.array()})

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What the release would show, from public numbers alone: the noise of rows and of their covariance."""
        loss = spendable(guarantee)
        if not isinstance(loss, GaussianDP):
            raise ParameterError("DPRP adds Gaussian noise, which needs delta > 0.")
        query = LabelledRows(labelled_moments(row_frame(encoder, None), encoder.target), 0.03)
        scale, beside = query.noise(loss).scale, query.moment_noise(loss).law.off_diagonal
        variance = 0.5 / encoder.width
        error = beside / GRID**2 / n / variance
        noise = (
            PlannedNoise(
                "one cell of a row", "rounded-gaussian", scale / GRID / math.sqrt(variance), "spreads"
            ),
            PlannedNoise("covariance of all rows", "rounded-gaussian", error, "variances"),
        )
        return MethodPlan(cls.name, "rows", encoder.width, noise, error, advise(error))


# --- rows and their moments, in one release ---


def labelled_moments(frame: Frame, target: Target) -> Moments:
    """Sums of outer products of (features, label) or, where there are no classes, of (features, number, constant)."""
    return Moments(SUMMED, frame, target, label=LABEL, constant=0 if target.is_class else CONSTANT)


@dataclass(frozen=True, eq=False)
class LabelledRows(RowQuery):
    """The integer rows (features, label) whose moments are summed, without their constant: one for each record."""

    moments: Moments
    row_share: float
    statistic: str = JOINT

    @property
    def width(self) -> int:  # type: ignore[override]
        return self.moments.width - bool(self.moments.constant)

    @property
    def bound(self) -> float:  # type: ignore[override]
        return 2.0 * GRID

    def of_batch(self, rows: Rows) -> Integers:
        return self.moments.integers(rows)[0][:, : self.width].astype(np.int64)

    def noise(self, loss: Spendable) -> Noise:
        return vector_noise(joint_release(self.moments.ball, self.row_share)[0], loss)

    def moment_noise(self, loss: Spendable) -> Noise:
        """The noise of the sums beside that of the rows, which one event covers."""
        scale = float_up(
            fraction(self.noise(loss).scale) * joint_release(self.moments.ball, self.row_share)[1]
        )
        alone = moments(
            Norm.FROBENIUS, width=self.moments.width, ball=self.moments.ball, adjacency=loss.adjacency
        )
        if scale == 0:
            return Noise("none", alone, 0.0, NoiseLaw("none", 0.0, 0.0))
        return Noise("goe", alone, scale, NoiseLaw("goe", scale, scale / math.sqrt(2)))


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


def noisy_moments(query: Moments, answer: Integers, noise: Noise, n: int) -> NoisyMoments:
    """The moments in units of the frame's ball."""
    unit = query.frame.unit
    return NoisyMoments(
        answer[0] / unit**2,
        noise.law.off_diagonal / unit**2,
        n,
        (LABEL if query.target.is_class else CONSTANT) / unit,
        query.target.blocks,
    )


# --- where rows lie ---


def row_frame(encoder: Encoder, radius: float | None) -> Frame:
    """Cells centred where the schema fills missing ones, booleans and categories softened, clipped to a ball."""
    centre, weight = np.zeros(encoder.width), np.ones(encoder.width)
    for group, column in zip(encoder.groups, encoder.schema.features, strict=True):
        width = group.place.stop - group.place.start
        weight[group.place] = WEIGHTS.get(group.kind, 1.0)
        if column.fill is not None:
            cell = pa.table({column.name: pa.array([column.fill])})
            only = Encoder(Schema(name="fill", columns=(column,)))
            centre[group.place] = only.matrix(cell)[0]
        elif group.kind == "one-hot":
            centre[group.place] = 1 / width
    clipping_norm = BALL * float(np.linalg.norm(weight)) if radius is None else radius
    return Frame(centre, weight, np.zeros((1, encoder.width)), np.array([clipping_norm]))


def located(data: Measurer, public: Public, frame: Frame, loss: Spendable) -> tuple[Frame, Spendable]:
    """Where the rows lie, by a tenth of the budget; not spent where every column declares it with a fill value."""
    if all(column.fill is not None for column in public.schema.features):
        return frame, loss
    locating, left = loss.split(LOCATION, 1 - LOCATION)
    radius = WIDE * float(np.linalg.norm(frame.weight))
    wide = replace(frame, radius=np.array([radius]))
    measured = data.measure(RowSum("sum of the rows, to centre them", wide), locating)
    steps = wide.unit * public.rows
    mean, noise = measured.answer[0] / steps, measured.noise.diagonal / steps
    mean = mean * signal_share(float(mean @ mean), public.m * noise**2)
    return replace(frame, centre=frame.centre + mean * radius / frame.weight), left


def narrowed(frame: Frame, k1: int | str, rng: np.random.Generator) -> Frame:
    """The rows through a random orthonormal projection to k1 dimensions, or as they are where k1 is not below m."""
    if k1 == "auto" or int(k1) >= frame.n_features:
        return frame
    return frame.project(haar(frame.n_features, int(k1), rng), radius=float(frame.radius[0]))


def cells_of(frame: Frame, target: Target, transport: AffineMap) -> AffineMap:
    """From the integers of noisy rows to encoded cells, and to the target where that is a number."""
    p, unit = frame.n_components, frame.unit
    base = frame.lift(np.zeros((1, p)))
    slope = frame.lift(np.eye(p)) - base
    if target.is_number:
        slope = np.block([[slope, np.zeros((p, 1))], [np.zeros((1, slope.shape[1])), unit / LABEL]])
        base = np.append(base, 0.0)[None, :]
    found = transport.then(slope, base[0])
    return replace(found, matrix=found.matrix / unit).single()
