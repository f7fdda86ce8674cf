"""DPRP: every record reconstructed from a noisy row and the noisy covariance of all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.methods import dprp_paper as paper
from gnomon.methods.dprp_frame import cells_of, located, narrowed, row_frame
from gnomon.methods.dprp_rows import LABEL, LabelledRows, labelled_moments, noisy_moments
from gnomon.methods.parameters import check, check_number, is_integer
from gnomon.methods.planning import MethodPlan, PlannedNoise, advise
from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import GaussianNoise
from gnomon.model.denoise import row_model
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import GaussianDP, Guarantee
from gnomon.privacy.measure import Measurer
from gnomon.projection.kinds import stretch_variance
from gnomon.release.analyst.law import NAME as LAW
from gnomon.release.analyst.law import RowLaw
from gnomon.release.analyst.rows import GAUSSIAN_FOURTH
from gnomon.release.map import PublicMap
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID
from gnomon.table.encode import Encoder

ROW_SHARE = 0.03  # of the precision, which the rows take from the moments
SMALLEST, LARGEST = (
    1e-9,
    1e9,
)  # of a share or a radius: beyond, noise or cells leave 64-bit numbers after the charge


@dataclass(eq=False, repr=False)
class Dprp(GaussianNoise):
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
    row_share: float = ROW_SHARE
    radius: float | None = None
    b1: float = paper.PRINTED.rows
    b2: float = paper.PRINTED.covariance
    b3: float = paper.PRINTED.choice
    z: float = 1.0

    def _check(self, public: Public) -> None:
        super()._check(public)
        fits = self.k1 == "auto" or (is_integer(self.k1) and int(self.k1) >= 1)
        check(self, "k1", fits, "'auto' or a positive integer")
        check_number(self, "row_share", SMALLEST, 1)
        check_number(self, "radius", SMALLEST, LARGEST, optional=True)
        paper.check_inputs(self)

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        """Algorithm 1: noisy rows, the noisy second moments of all rows, and rows seen through what those show."""
        shuffled = self.order == "shuffled"
        self._reconstruction: paper.Reconstruction | None = None
        if self.calibration == "paper":
            inputs = paper.Inputs(self.k1, self.n_components, paper.Shares(self.b1, self.b2, self.b3), self.z)
            self.frame_ = Frame.identity(public.m, radius=1.0)
            self.rows_, self.noise_, self._reconstruction = paper.as_printed(
                data, public, notes, inputs, shuffled=shuffled
            )
            return
        frame, loss = located(data, public, row_frame(public.encoder, self.radius), public.budget)
        self.frame_ = narrowed(frame, self.k1, public.rng())
        query = LabelledRows(labelled_moments(self.frame_, public.target), self.row_share)
        noise = query.moment_noise(loss)
        self.rows_, released, summed = data.release_rows(
            query, loss, jointly=(query.moments, noise), shuffled=shuffled
        )
        assert summed is not None
        self.noise_ = released.noise
        self.moments_ = noisy_moments(query.moments, summed, noise, public.rows)
        k2 = None if self.n_components == "auto" else int(self.n_components)
        self.model_ = row_model(self.moments_, k2)
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
            natural = math.sqrt(m / k) * float(self.frame_.radius[0])  # k1 < m shortens rows by sqrt(k1 / m)
            stretch, steps = stretch_variance("orthonormal", m, k), self.frame_.unit / natural
            law = RowLaw(self._row_noise * natural, GAUSSIAN_FOURTH, stretch, steps, LABEL, "none")
        return PublicMap(self.frame_, extra={LAW: law.array()})

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What the release would show, from public numbers alone: the noise of rows and of their covariance."""
        loss = spendable(guarantee)
        if not isinstance(loss, GaussianDP):
            raise ParameterError("DPRP adds Gaussian noise, which needs delta > 0.")
        query = LabelledRows(labelled_moments(row_frame(encoder, None), encoder.target), ROW_SHARE)
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
