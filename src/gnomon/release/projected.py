"""Rows through a public random projection: what JL + Laplace and DPPro share.

A record's encoded features x become xR, R drawn at random and published; its label, if any, stands beside them as a
scaled one-hot. The integer row is published with noise, and squared distances are recovered without bias.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import Adjacency, Guarantee, Spendable, Unit
from gnomon.privacy.rounding import fraction, root_up
from gnomon.privacy.sensitivity import Attribute, Norm, Sensitivity, attribute_change, row_change
from gnomon.projection.gaussian import FINE, gaussian, on_grid
from gnomon.projection.orthonormal import haar
from gnomon.projection.sign import sign
from gnomon.release.base import Account, Table
from gnomon.release.map import PublicMap
from gnomon.release.rows import Integers, RowRelease, attributes_of, release_rows
from gnomon.statistics.grid import Matrix
from gnomon.table.column import Column
from gnomon.table.encode import Rows
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

PROJECTIONS = ("gaussian", "orthonormal", "sign")
ROUNDING = (
    2.0**14
)  # grid steps per coordinate that a sensitivity spans: rounding adds under 1e-4 of the noise
LARGEST = 1e6  # of a parameter that scales rows or labels: beyond, noise would leave 64-bit integers after the charge
FLOAT_ERROR = 2.0**-20  # of a grid step: what one multiplication and one rounding of integers can be off by


@dataclass(frozen=True)
class Distances:
    """Estimated squared distances of records, with the variance of each estimate."""

    value: npt.NDArray[np.float64]
    variance: npt.NDArray[np.float64]

    @property
    def standard_error(self) -> npt.NDArray[np.float64]:
        return np.sqrt(self.variance)


@dataclass(frozen=True)
class Label:
    """The label beside a projected row: how many coordinates, and how many grid steps one of them counts."""

    width: int
    steps: int

    def integers(self, rows: Rows) -> Integers:
        found = np.zeros((len(rows.X), self.width), dtype=np.int64)
        if self.width == 1:
            found[:, 0] = np.rint(rows.numbers * self.steps)
        elif self.width:
            found[np.arange(len(found)), rows.codes] = self.steps
        return found


class ProjectedRows(RowRelease):
    """Base of the methods that publish xR plus noise."""

    norm: ClassVar[Norm]
    fourth: ClassVar[float]  # Var of a squared difference of two noises, in squares of the noise variance

    unit: str
    projection: str
    radius: float | None
    label_weight: float

    # --- parameters ---

    def _guarantee(self) -> Guarantee:
        if self.unit not in ("row", "attribute"):
            raise ParameterError(
                f"The 'unit' parameter of {type(self).__name__} must be 'row' or 'attribute'. Got {self.unit!r} instead."
            )
        return super()._guarantee()

    def _check(self, table: Table) -> None:
        super()._check(table)
        who = type(self).__name__
        if self.projection not in PROJECTIONS:
            raise ParameterError(
                f"The 'projection' parameter of {who} must be 'gaussian', 'orthonormal' or 'sign'. "
                f"Got {self.projection!r} instead."
            )
        for name, value in (("radius", self.radius), ("label_weight", self.label_weight)):
            if value is not None and not (isinstance(value, int | float) and 0 < value <= LARGEST):
                raise ParameterError(
                    f"The '{name}' parameter of {who} must be a positive number of at most {LARGEST:g}. "
                    f"Got {value!r} instead."
                )
        if self.unit == "attribute" and self.radius is not None:
            raise ParameterError(
                f"The 'radius' parameter of {who} is for unit='row': clipping a row to a ball would spread the change "
                "of one attribute over all of them; leave it out."
            )
        if self.unit == "attribute" and table.schema.estimated:
            raise ParameterError(
                f"The column {table.schema.estimated[0].name!r} has estimate = true, which protects rows; "
                "declare its low and high for unit='attribute'."
            )

    # --- the release ---

    def _release(self, table: Table, account: Account) -> None:
        """Algorithm 1 of both papers: draw R, project, calibrate, add noise."""
        k, loss = self._plan(table, account)
        R = self._draw(table.m, k)
        box = math.sqrt(
            len(table.encoder.groups)
        )  # no encoded row is longer: each attribute has length at most 1
        radius = box if self.radius is None else min(self.radius, box)
        features = self._features(R, table, radius)
        grid = 2.0 ** math.ceil(math.log2(ROUNDING * k / float(features.value)))
        label = self._label(table, features, grid)
        sensitivity = with_label(features, label, grid, one=label.width == 1).on_grid(
            Fraction(grid), coordinates=k, error=FLOAT_ERROR
        )
        sensitivity, loss = self._calibrated(sensitivity, loss, grid, R, table, account)
        rows = _Projected(R, radius, grid, label, clip=radius < box)
        self.spool_, self.noise_, event = release_rows(
            table, rows, k + label.width, rows.bound, sensitivity, loss
        )
        account.events.append(event)
        account.public.append(
            f"the projection R ({table.m} to {k}, {self.projection}), published with the rows"
        )
        account.public.append(
            f"the grid of the released rows, {grid:.17g} steps to a unit: the sensitivity and the scale of their noise "
            "count its steps"
        )
        self._grid, self._label_held, self._source_kind = grid, label, table.source.kind
        chart = PublicMap.identity(table.m, radius=1.0)
        self.map_ = replace(chart.project(R, radius=1.0), components_only=True)
        self._data_schema = self._schema_of_data(table, rows.bound)

    @abstractmethod
    def _plan(self, table: Table, account: Account) -> tuple[int, Spendable]:
        """The dimension k and what the rows may spend."""

    def _calibrated(
        self,
        sensitivity: Sensitivity,
        loss: Spendable,
        grid: float,
        R: Matrix,
        table: Table,
        account: Account,
    ) -> tuple[Sensitivity, Spendable]:
        """What the noise is made for; a paper's calibration prints something else."""
        return sensitivity, loss

    def _draw(self, m: int, k: int) -> Matrix:
        rng = self._rng()
        if self.projection == "orthonormal":
            return on_grid(haar(m, k, rng) * math.sqrt(m / k))
        return (gaussian if self.projection == "gaussian" else sign)(m, k, rng)

    def _features(self, R: Matrix, table: Table, radius: float) -> Sensitivity:
        """How far one record, or one attribute of it, moves the projected row: by the drawn R, not by its law."""
        if self.unit == "attribute":
            return attribute_change(
                self.norm, R, attributes_of(table.encoder), adjacency=Adjacency.REPLACE_ONE
            )
        return row_change(self.norm, R, radius=longest_row(R, radius), adjacency=Adjacency.REPLACE_ONE)

    def _label(self, table: Table, features: Sensitivity, grid: float) -> Label:
        """One attribute is protected at a time, so a label that moves no farther than the features is free."""
        width = {"clustering": 0, "regression": 1, "classification": table.n_classes}[table.task]
        share = 1.0 if self.unit == "attribute" else self.label_weight
        farthest = 2.0 if self.norm is Norm.L1 or width == 1 else math.sqrt(2)
        return Label(width, math.floor(share * float(features.value) * grid / farthest))

    def _schema_of_data(self, table: Table, bound: float) -> Schema:
        """The released columns: k components in public bounds, and the label as it was declared."""
        end = float((bound + 4 * self.noise_.diagonal) / self._grid)
        components = [Column(name=name, kind="number", low=-end, high=end) for name in self.component_names_]
        target = [] if table.schema.target is None else [table.schema.target]
        return Schema(name=table.schema.name, columns=(*components, *target))

    # --- the released rows ---

    @property
    def data_schema_(self) -> Schema:
        return self._data_schema

    @property
    def n_components_(self) -> int:
        return self.map_.n_components

    @property
    def component_names_(self) -> list[str]:
        return [f"c{j}" for j in range(self.spool_.width - self._label_held.width)]

    @property
    def projection_(self) -> Matrix:
        R = self.map_.projection
        assert R is not None
        return R

    @property
    def noise_std_(self) -> float:
        """The standard deviation of the noise of one component."""
        return self.noise_.diagonal / self._grid

    def components(self, places: npt.ArrayLike | None = None) -> Matrix:
        """The released components (n, k), of all records or of some by their places."""
        k = self.n_components_
        if places is None:
            return np.concatenate([chunk[:, :k] for chunk in self.spool_.chunks()]) / self._grid
        found: Matrix = self.spool_.take(self._places(places))[:, :k] / self._grid
        return found

    def _places(self, places: npt.ArrayLike) -> npt.NDArray[np.int64]:
        asked = np.asarray(places)
        if asked.dtype.kind not in "iu" or (
            asked.size and not 0 <= asked.min() <= asked.max() < self.n_rows_
        ):
            raise ParameterError(f"The places of records must be integers from 0 to {self.n_rows_ - 1}.")
        return asked.astype(np.int64)

    def _released(self, chunk: npt.NDArray[Any]) -> pa.Table:
        k = self.n_components_
        cells = np.ascontiguousarray(chunk[:, :k].T) / self._grid
        found = pa.table(list(cells), names=self.component_names_)
        if self._label_held.width == 0:
            return found
        target = self.encoder_.schema.target
        assert target is not None
        if self._label_held.width == 1:
            y: npt.NDArray[Any] = np.clip(chunk[:, k] / self._label_held.steps, -1.0, 1.0)
        else:
            y = np.argmax(chunk[:, k:], axis=1)
        return found.append_column(target.name, self.encoder_.decode_target(y))

    def sample(self, n: int | None = None) -> Any:
        """The released rows: components c0, c1, ... and the label; arrays give (components, y) or components."""
        table = pa.concat_tables(self.sample_batches(n))
        if self._source_kind != "array":
            return self._like(table)
        X = np.column_stack([table[name].to_numpy() for name in self.component_names_])
        target = self.encoder_.schema.target
        return X if target is None else (X, table[target.name].to_numpy(zero_copy_only=False))

    def transform(self, X: Any) -> Any:
        """Real rows into the released space: their components, without noise."""
        from gnomon.release.folder import transform_batches

        source = open_source(X, None, schema=self.schema_)
        table = pa.concat_tables(list(transform_batches(source, self.schema_, self.map_)))
        if source.kind == "array":
            return np.column_stack([table[name].to_numpy() for name in self.component_names_])
        return source.like(table)

    def public_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What `map.npz` holds: the map, and the noise of a component, which distances need."""
        return {**self.map_.arrays(), "noise_std": np.array(self.noise_std_)}

    # --- distances ---

    def distances(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Distances:
        """Squared distances of records i and j before the projection (Algorithm 2), one pair or many at once.

        value = ||z_i - z_j||^2 - 2 k s^2 is unbiased over the projection and the noise of variance s^2. Its variance is
        v a^2 + 8 s^2 a + f k s^4 for the squared distance a, which is estimated by the value: v = 2/k for a Gaussian
        projection (2(m - k)/(k(m + 2)) for an orthonormal one, an upper bound 2/k for signs), f = 14 for Laplace noise
        and 8 for Gaussian.
        """
        first, second = np.broadcast_arrays(np.atleast_1d(i), np.atleast_1d(j))
        difference = self.components(first) - self.components(second)
        k, s2 = self.n_components_, self.noise_std_**2
        value = np.einsum("ij,ij->i", difference, difference) - 2 * k * s2
        a = np.maximum(value, 0.0)
        variance = distance_variance(a, k, s2, self.fourth, self.stretch_variance_)
        if np.ndim(i) == 0 and np.ndim(j) == 0:
            return Distances(value[0], variance[0])
        return Distances(value, variance)

    @property
    def stretch_variance_(self) -> float:
        """The variance of ||vR||^2 for a unit vector v."""
        k, m = self.n_components_, self.map_.n_features
        return 2 * (m - k) / (k * (m + 2)) if self.projection == "orthonormal" else 2 / k


def _fine(R: Matrix, radius: float) -> float:
    """A power of two such that rows of this length on its grid, times R on its own, sum to integers below 2^52."""
    return 2.0 ** min(26, math.floor(52 - math.log2(FINE * (radius + 1) * _longest(R))))


def _longest(R: Matrix) -> float:
    """No column of R is as long as this."""
    return float(np.linalg.norm(R, axis=0).max()) + 1.0


@dataclass(frozen=True)
class _Projected:
    """Encoded rows -> integer rows (xR, label) on the grid 1/`grid`; exact, so a row is the same in every batch.

    x is clipped to the radius (where one is declared) and rounded to multiples of 1/fine, R has multiples of 1/FINE, and
    every partial sum of their products is an integer below 2^53: BLAS adds them without error in any order.
    """

    R: Matrix
    radius: float
    grid: float
    label: Label
    clip: bool

    @property
    def bound(self) -> float:
        return 1.01 * (self.radius * _longest(self.R) * self.grid + self.label.steps)

    def __call__(self, rows: Rows) -> Integers:
        fine = _fine(self.R, self.radius)
        Z = np.multiply(rows.X, fine, order="F")
        if self.clip:
            lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
            Z *= np.minimum(1.0, fine * self.radius / np.maximum(lengths, 1.0))[:, None]
        Y = (self.R * FINE).T @ np.rint(Z, out=Z).T  # columns stay together
        Y *= self.grid / (fine * FINE)
        found = np.empty((len(Y) + self.label.width, len(Z)), dtype=np.int64)
        np.copyto(found[: len(Y)], np.rint(Y, out=Y), casting="unsafe")
        if self.label.width:
            found[len(Y) :] = self.label.integers(rows).T
        return found.T


def longest_row(R: Matrix, radius: float) -> Fraction:
    """Clipping in doubles, then rounding to the fine grid, may lengthen a row a little beyond its radius."""
    return fraction(radius) * (1 + Fraction(1, 2**40)) + (math.isqrt(len(R)) + 1) / (
        2 * fraction(_fine(R, radius))
    )


def with_label(features: Sensitivity, label: Label, grid: float, *, one: bool) -> Sensitivity:
    """The sensitivity of a projected row with its label beside it, the label scaled by t = steps / grid.

    Claim. The label moves by at most 2t in L1, and by sqrt(2) t (one-hot) or 2t (one number in [-t, t]) in L2. A whole
    row: L1 adds, L2 adds in squares, since features and label are separate coordinates. One attribute: the larger of
    the two, since it is either a feature or the label. Worst pair: the worst pair of the features, with two labels.
    """
    if label.width == 0:
        return features
    t = Fraction(label.steps) / fraction(grid)
    moved = 2 * t if features.norm is Norm.L1 or one else root_up(2 * t * t)
    if features.unit is Unit.ATTRIBUTE:
        value = max(features.value, moved)
    elif features.norm is Norm.L1:
        value = features.value + moved
    else:
        value = root_up(features.value**2 + moved**2)
    return replace(features, value=value)


def distance_variance(
    a: npt.NDArray[np.float64], k: int, s2: float, fourth: float, stretch: float
) -> npt.NDArray[np.float64]:
    """Variance of the recovered squared distance for true squared distances a: stretch a^2 + 8 s^2 a + fourth k s^4.

    With d = (x_i - x_j)R and e the difference of two noises of variance s^2 each, the estimate is ||d||^2 + 2<d, e> +
    ||e||^2 - 2 k s^2; its three random parts are uncorrelated, with variances stretch a^2, 4 * 2 s^2 * a and k Var(e^2).
    Var(e^2) is 8 s^4 for Gaussian noise and 14 s^4 for Laplace noise (whose fourth moment is 6 s^4).
    """
    found: npt.NDArray[np.float64] = stretch * a**2 + 8 * s2 * a + fourth * k * s2**2
    return found


def best_dimension(m: int, squared: float, noise_of: Any, fourth: float) -> int:
    """The k in 1..m whose distance estimates vary least for pairs at squared distance `squared`; public numbers only.

    `noise_of(k)` is the expected noise deviation of a component at k. With a noise that does not depend on k this is
    Lemma 5 of DPPro, k = rho^2 / (2 s^2) for Gaussian noise.
    """
    choices = range(1, min(m, 1024) + 1)
    a = np.array([squared])
    return min(choices, key=lambda k: float(distance_variance(a, k, noise_of(k) ** 2, fourth, 2 / k)[0]))


def widest_attribute(attributes: list[Attribute]) -> float:
    """The largest distance of two codes of one attribute, before any projection."""
    corners = [np.asarray(attribute.corners) for attribute in attributes]
    return max(float(np.linalg.norm(c[:, None] - c[None, :], axis=2).max()) for c in corners)
