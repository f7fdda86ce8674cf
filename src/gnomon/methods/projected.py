"""Rows through a public projection: what JL + Laplace, DPPro and the identity queries share.

A record's encoded features x become xR, R published; its label, if any, stands beside them as a scaled one-hot or a
number. The integer row is published with noise, and squared distances are recovered without bias.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.methods.distance_dimension import laplace_dimension
from gnomon.methods.parameters import check, check_choice, check_positive
from gnomon.methods.projected_query import Label, ProjectedQuery, View, with_label
from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import RowRelease, attributes_of
from gnomon.privacy.guarantee import ApproxDP, Spendable, Unit
from gnomon.privacy.measure import Measurer
from gnomon.privacy.sensitivity import Norm, Sensitivity, attribute_change, row_change
from gnomon.projection.gaussian import FINE
from gnomon.projection.kinds import PROJECTIONS, seeded, stretch_variance, unseeded
from gnomon.release.analyst.law import NAME as LAW
from gnomon.release.analyst.law import RowLaw
from gnomon.release.analyst.rows import LAPLACE_FOURTH, Distances, Law, places_of, recovered
from gnomon.release.map import PublicMap
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import Matrix
from gnomon.table.column import Column
from gnomon.table.schema import Schema
from gnomon.table.target import Target

ROWS = "one row for each record"
WITHHELD = "projection, withheld"
WITHHELD_WORDS = (
    "it is withheld, drawn by the operating system's randomness, and in no file of this release. The guarantee holds for "
    "every R, known or not, so withholding it makes it no better: whoever knows some of the records can find R from "
    "their rows"
)
ROUNDING = (
    2.0**14
)  # grid steps per coordinate that a sensitivity spans: rounding adds under 1e-4 of the noise
LARGEST = 1e6  # of a parameter that scales rows or labels: beyond, noise would leave 64-bit integers after the charge
FLOAT_ERROR = 2.0**-20  # of a grid step: what one multiplication and one rounding of integers can be off by


@dataclass(eq=False, repr=False)
class ProjectedRows(RowRelease):
    """Base of the methods that publish xR plus noise."""

    norm: ClassVar[Norm]
    fourth: ClassVar[float]
    drawn: ClassVar[bool] = True  # at random, so that distances and sums before the projection are recovered

    unit: str = "row"
    projection: str = "gaussian"
    radius: float | None = None
    label_weight: float = 0.5
    publish_projection: bool = True

    # --- parameters ---

    def _unit(self) -> Unit:
        check_choice(self, "unit", ("row", "attribute"))
        return Unit(self.unit)

    def _check(self, public: Public) -> None:
        super()._check(public)
        who = type(self).__name__
        check_choice(self, "projection", PROJECTIONS)
        check(self, "publish_projection", isinstance(self.publish_projection, bool), "True or False")
        check_positive(self, "radius", LARGEST, optional=True)
        check_positive(self, "label_weight", LARGEST)
        if self.unit == "attribute" and self.radius is not None:
            raise ParameterError(
                f"The 'radius' parameter of {who} is for unit='row': clipping a row to a ball would spread the change "
                "of one attribute over all of them; leave it out."
            )
        if self.unit == "attribute" and public.schema.estimated:
            raise ParameterError(
                f"The column {public.schema.estimated[0].name!r} has estimate = true, which protects rows; "
                "declare its low and high for unit='attribute'."
            )

    # --- the release ---

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        """Algorithm 1 of both papers: draw R, project every record, add noise, publish the rows with R."""
        R, loss = self._projection(data, public, notes)
        self._query, loss = self._projected(R, loss, public, notes)
        charged, words = self._charge(loss)
        self.rows_, released, _ = data.release_rows(
            self._query, loss, shuffled=self.order == "shuffled", charged=charged, words=words
        )
        self.noise_ = released.noise
        self.frame_ = Frame.identity(public.m, radius=1.0).project(R, radius=1.0)
        self._data_schema = self._schema_of_data(public.schema)
        published = ", published with the rows" if self.publish_projection else f": {WITHHELD_WORDS}"
        notes.public += [
            f"the projection R ({public.m} to {R.shape[1]}, {self.projection}){published}",
            f"the grid of the released rows, {self._query.grid:.17g} steps to a unit: the sensitivity and the scale of "
            "their noise count its steps",
        ]

    def _projected(
        self, R: Matrix, loss: Spendable, public: Public, notes: Notes
    ) -> tuple[ProjectedQuery, Spendable]:
        """The integer row of a record, the change that its noise is made for, and the loss that goes with it."""
        k, view = R.shape[1], self._view(R, public)
        features = self._features(view, public, notes)
        grid = 2.0 ** math.ceil(math.log2(ROUNDING * k / float(features.value)))
        label = self._label(public.target, features, grid)
        true = with_label(features, label, grid).on_grid(Fraction(grid), coordinates=k, error=FLOAT_ERROR)
        change, loss = self._calibrated(true, loss, grid, view, public, notes)
        return ProjectedQuery(ROWS, view, grid, label, change), loss

    def _projection(self, data: Measurer, public: Public, notes: Notes) -> tuple[Matrix, Spendable]:
        """R (m, k) on the grid 1/FINE, and what the rows may spend."""
        k, loss = self._plan(data, public, notes)
        return self._draw(data, public, k), loss

    @abstractmethod
    def _plan(self, data: Measurer, public: Public, notes: Notes) -> tuple[int, Spendable]:
        """The dimension k and what the rows may spend."""

    def _charge(self, loss: Spendable) -> tuple[ApproxDP | None, str]:
        """What the rows cost where that is more than the loss that their noise was made for, and why."""
        return None, ""

    def _draw(self, data: Measurer, public: Public, k: int) -> Matrix:
        """From the seed where R is published; else from no seed, and recorded in no file."""
        if self.publish_projection:
            return seeded(self.projection, public.m, k, public.rng())
        fresh = partial(unseeded, self.projection, public.m, k)
        return data.draw_public(WITHHELD, fresh, withheld=True) / FINE

    def _view(self, R: Matrix, public: Public) -> View:
        """No encoded row is longer than the box allows: each attribute has length at most 1."""
        box = math.sqrt(len(public.encoder.groups))
        radius = box if self.radius is None else min(self.radius, box)
        return View(R, radius, clip=radius < box)

    def _features(self, view: View, public: Public, notes: Notes) -> Sensitivity:
        """How far one record, or one attribute of it, moves the projected row: by the drawn R, not by its law."""
        adjacency = public.guarantee.adjacency
        if self.unit == "attribute":
            return attribute_change(self.norm, view.R, attributes_of(public.encoder), adjacency=adjacency)
        return row_change(self.norm, view.R, radius=view.longest, adjacency=adjacency)

    def _label(self, target: Target, features: Sensitivity, grid: float) -> Label:
        """One attribute is protected at a time, so a label that moves no farther than the features is free."""
        share = 1.0 if self.unit == "attribute" else self.label_weight
        farthest = 2.0 if self.norm is Norm.L1 or target.is_number else math.sqrt(2)
        return Label(target.width, math.floor(share * float(features.value) * grid / farthest))

    def _calibrated(
        self, true: Sensitivity, loss: Spendable, grid: float, view: View, public: Public, notes: Notes
    ) -> tuple[Sensitivity, Spendable]:
        """What the noise is made for; a paper's calibration prints something else."""
        return true, loss

    def _schema_of_data(self, schema: Schema) -> Schema:
        """The released columns: k components in public bounds, and the label as it was declared."""
        end = float((self._query.bound + 4 * self.noise_.diagonal) / self._query.grid)
        components = [Column(name=name, kind="number", low=-end, high=end) for name in self.component_names_]
        target = [] if schema.target is None else [schema.target]
        return Schema(name=schema.name, columns=(*components, *target))

    # --- the released rows ---

    @property
    def data_schema_(self) -> Schema:
        return self._data_schema

    @property
    def component_names_(self) -> list[str]:
        return [f"c{j}" for j in range(self.n_components_)]

    @property
    def projection_(self) -> Matrix:
        """R (m, k); where it is withheld, the custodian may keep it, as a replay needs it."""
        R = self.frame_.projection
        assert R is not None
        return R

    @property
    def noise_std_(self) -> float:
        """The standard deviation of the noise of one component."""
        return self.noise_.diagonal / self._query.grid

    def components(self, places: npt.ArrayLike | None = None) -> Matrix:
        """The released components (n, k), of all records or of some by their places."""
        k, grid = self.n_components_, self._query.grid
        if places is None:
            return np.concatenate([chunk[:, :k] for chunk in self.rows_.chunks()]) / grid
        asked = places_of(places, self.rows_.rows)
        found: Matrix = self.rows_.take(asked.ravel())[:, :k] / grid
        return found.reshape(*asked.shape, k)

    def _released(self, chunk: npt.NDArray[Any], rng: np.random.Generator) -> pa.Table:
        k, label = self.n_components_, self._query.label
        cells = np.ascontiguousarray(chunk[:, :k].T) / self._query.grid
        found = pa.table(list(cells), names=self.component_names_)
        target = self.encoder_.target
        if target.is_none:
            return found
        if target.is_number:
            y: npt.NDArray[Any] = np.clip(chunk[:, k] / label.steps, -1.0, 1.0)
        else:
            y = np.argmax(chunk[:, k:], axis=1)
        return found.append_column(target.name, self.encoder_.decode_target(y))

    def public_map(self) -> PublicMap:
        """The frame, and the law of the noise, which distances and sums need."""
        law = RowLaw(
            self.noise_std_,
            self.fourth,
            self.stretch_variance_,
            self._query.grid,
            float(self._query.label.steps if self._query.label.width else 0),
            self.projection if self.drawn else "chosen",
        )
        extra = {"noise_std": np.array(self.noise_std_), LAW: law.array()}
        frame, hidden = self.frame_, not self.publish_projection
        if hidden:
            frame = Frame.identity(self.n_components_, radius=1.0)
        return PublicMap(frame, components_only=True, withheld=hidden, extra=extra)

    # --- distances ---

    def distances(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Distances:
        """Squared distances of records i and j before the projection (Algorithm 2), one pair or many at once.

        value = ||z_i - z_j||^2 - 2 k s^2 is unbiased over the projection and the noise of variance s^2. Its variance is
        v a^2 + 8 s^2 a + f k s^4 for the squared distance a, which is estimated by the value: v = 2/k for a Gaussian
        projection (2(m - k)/(k(m + 2)) for an orthonormal one, an upper bound 2/k for signs), f = 14 for Laplace noise
        and 8 for Gaussian.
        """
        difference = self.components(i) - self.components(j)
        return recovered(difference, Law(self.noise_std_, self.fourth, self.stretch_variance_))

    @property
    def stretch_variance_(self) -> float:
        """The variance of ||vR||^2 for a unit vector v."""
        if not self.drawn:  # what is recovered are distances that the chosen directions show
            return 0.0
        return stretch_variance(self.projection, self.frame_.n_features, self.n_components_)


@dataclass(eq=False, repr=False)
class LaplaceRows(ProjectedRows):
    """Projected rows with Laplace noise: all of epsilon is spent purely."""

    norm: ClassVar[Norm] = Norm.L1
    fourth: ClassVar[float] = LAPLACE_FOURTH

    def _pure(self) -> bool:
        schema = self._given_schema()  # estimates leave a pure budget whole, and no other
        return super()._pure() or (schema is not None and bool(schema.estimated))

    def _check(self, public: Public) -> None:
        super()._check(public)
        if public.guarantee.delta > 0 and public.schema.estimated:
            raise ParameterError(
                f"The column {public.schema.estimated[0].name!r} has estimate = true, and {type(self).__name__} spends "
                "what is left as pure epsilon; set delta to 0, or declare its bounds or classes."
            )

    def _plan(self, data: Measurer, public: Public, notes: Notes) -> tuple[int, Spendable]:
        return self._dimension(public), public.pure_budget

    def _dimension(self, public: Public) -> int:
        if self.n_components != "auto":
            return int(self.n_components)
        return laplace_dimension(public.encoder, self.epsilon, self.unit, self.projection)
