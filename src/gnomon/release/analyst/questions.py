"""The questions of an analyst, on a release folder that is opened."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from gnomon.engine.base import Progress, quiet
from gnomon.errors import DataError, ParameterError
from gnomon.release.analyst.columns import Columns
from gnomon.release.analyst.estimates import Estimates
from gnomon.release.analyst.linear import Quantity
from gnomon.release.analyst.rows import Clusters, Distances, Neighbours, NoisyRows

if TYPE_CHECKING:
    import pyarrow as pa

    from gnomon.privacy.certificate import Certificate
    from gnomon.release.analyst.draws import Draws
    from gnomon.release.analyst.model import ModelAnswers
    from gnomon.release.analyst.projected import ProjectedAnswers
    from gnomon.release.map import PublicMap
    from gnomon.table.schema import Schema

NOISY_ROWS = "noisy_rows.parquet"
Query = Mapping[str, float] | str | npt.ArrayLike


@dataclass(frozen=True)
class Table:
    """Counts of the values of one column, or of pairs of values of two; `values` names them side by side."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    counts: Estimates


class Questions:
    """Distances, neighbours and clusters of records; sums and tables of all rows; more draws of a model."""

    path: Path
    certificate: Certificate
    schema: Schema
    map: PublicMap
    if TYPE_CHECKING:

        @property
        def data(self) -> pa.Table: ...

        @property
        def synthetic(self) -> bool: ...

    # --- single records, of row releases ---

    @cached_property
    def noisy_rows(self) -> NoisyRows:
        """The released rows as numbers around their records, before anything else was done to them."""
        law = self.map.row_law
        if law is None:
            raise DataError(
                "This release has no row for each record, so that it knows no distances of records; "
                "use its rows as if they were the table's."
            )
        if self.map.components_only:
            return NoisyRows(self._components, law.law)
        k = self.map.frame.n_components if law.label_steps else None
        return NoisyRows(self._noisy_integers[:, :k] / law.steps, law.law)

    def distances(self, i: npt.ArrayLike, j: npt.ArrayLike) -> Distances:
        """Squared distances of the records of released rows i and j, without bias, with standard errors.

        Parameters
        ----------
        i, j : places of released rows, as numbers or arrays of the same length.
        """
        return self.noisy_rows.distances(i, j)

    def neighbours(self, i: int, count: int = 5) -> Neighbours:
        """The released rows nearest to row i, with their squared distances.

        Parameters
        ----------
        i : the place of a released row.
        count : how many neighbours.
        """
        return self.noisy_rows.neighbours(i, count)

    def clusters(self, count: int, *, random_state: int | None = 0) -> Clusters:
        """K-means of the records.

        Parameters
        ----------
        count : how many clusters.
        random_state : seeds the first centres.
        """
        return self.noisy_rows.clusters(count, random_state=random_state)

    # --- all rows ---

    def query(self, weights: Query | Sequence[Query], *, constrained: bool = True) -> Estimates:
        """Sums over all rows of the table, one for each query.

        A query is a term ("ward=north" counts rows, "age" adds up ages), a mapping of terms to weights, or numbers for
        the encoded columns. `constrained` answers are what rows within the declared bounds can have.

        Parameters
        ----------
        weights : one query, or a list of queries.
        """
        many: list[Any] = (
            list(weights) if isinstance(weights, list | tuple) and _is_many(weights) else [weights]
        )
        return self._marked(self._answers.query([self._quantity(one) for one in many], limited=constrained))

    def marginal(self, columns: str | Sequence[str], *, constrained: bool = True) -> Table:
        """The counts of the values of one column, or of the pairs of values of two.

        Parameters
        ----------
        columns : one name, or two.
        constrained : whether counts are limited to what rows within the declared bounds can have.
        """
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        if len(names) not in (1, 2) or len(set(names)) < len(names):
            raise ParameterError(f"A marginal is of one column or of two. Got {', '.join(names)} instead.")
        if len(names) == 1:
            labels, counts = self._one_way(names[0], constrained)
            table = Table(names, tuple((label,) for label in labels), counts)
        else:
            table = self._two_way(names[0], names[1], constrained)
        return replace(table, counts=self._marked(table.counts))

    def covariance(self) -> tuple[list[str], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The covariance matrix of the encoded columns: their names, the matrix, and its standard errors."""
        found = self._answers.covariance()
        m = self._columns.encoder.width
        names = list(self._columns.encoder.feature_names)
        return names, found.value.reshape(m, m), found.standard_error.reshape(m, m)

    def draws(self, count: int = 5, rows: int | None = None, *, progress: Progress = quiet) -> Draws:
        """Independent draws of a model release, with rules that combine their means and regressions.

        Parameters
        ----------
        count : how many draws; each takes as long as a release.
        rows : how many rows each has; by default as many as the release.
        progress : called as the draws go on.
        """
        from gnomon.release.analyst.draws import drawn
        from gnomon.release.measurements import read_measurements

        self._refuse_components()
        return drawn(read_measurements(self.path), self.schema, count, rows, progress)

    # --- how ---

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self.schema)

    @property
    def _components(self) -> npt.NDArray[np.float64]:
        data = self.data
        return np.column_stack([data[f"c{j}"].to_numpy() for j in range(self.map.frame.n_components)])

    @cached_property
    def _noisy_integers(self) -> npt.NDArray[np.float64]:
        table = pq.read_table(self.path / NOISY_ROWS)
        return np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)

    def _marked(self, found: Estimates) -> Estimates:
        """Of rows that were clipped to a ball before the projection, answers know no more than was left of them."""
        radius = self._radius
        if radius is None or radius >= math.sqrt(len(self._columns.encoder.groups)):
            return found
        return replace(found, about=f"{found.about}; of rows clipped to length {radius:g}")

    @cached_property
    def _radius(self) -> float | None:
        """The length that projected rows were clipped to, if any."""
        from gnomon.release.measurements import read_measurements

        if self.map.row_law is None or not self.map.components_only:
            return None
        radius: float | None = read_measurements(self.path).parameters.get("radius")
        return radius

    @cached_property
    def _answers(self) -> ProjectedAnswers | ModelAnswers:
        law = self.map.row_law
        if self.map.components_only and law is not None:
            return self._projected()
        self._refuse_components()
        return self._modelled()

    def _refuse_components(self) -> None:
        if self.map.components_only:
            raise DataError(
                "This release publishes components whose projection is private: it has no columns to ask for."
            )

    def _projected(self) -> ProjectedAnswers:
        from gnomon.release.analyst.projected import Labels, ProjectedAnswers

        law, R = self.map.row_law, self.map.frame.projection
        assert law is not None
        if self.map.withheld or R is None:
            raise DataError("This release withholds its projection, so that nobody can ask it for columns.")
        if not law.drawn:
            raise DataError(
                "The directions of this release were chosen by the data, so that sums of columns cannot be recovered "
                "from it; a random projection (jl-laplace, dppro) is needed."
            )
        labels = None
        if law.label_steps:
            Y = self._noisy_integers[:, R.shape[1] :] / law.label_steps
            labels = Labels(Y, law.noise * law.steps / law.label_steps)
        return ProjectedAnswers(
            self._components, R, law.noise, law.kind == "orthonormal", self._columns, labels
        )

    def _modelled(self) -> ModelAnswers:
        from gnomon.release.analyst.model import ModelAnswers
        from gnomon.release.measurements import read_measurements

        measurements = read_measurements(self.path).replay().measurements_ if self.synthetic else ()
        known = self.certificate.rows if self.certificate.rows is not None else self.certificate.measured_rows
        rows = self.data.num_rows if known is None else known
        return ModelAnswers(self.data, self._columns, float(rows), measurements)

    def _quantity(self, query: Query) -> Quantity:
        if isinstance(query, str):
            return self._columns.quantity(*self._feature(query))
        if isinstance(query, Mapping):
            parts = [(self._columns.quantity(*self._feature(term)), float(w)) for term, w in query.items()]
            weights = sum((part.weights * w for part, w in parts), np.zeros(self._columns.encoder.width))
            return Quantity(weights, sum(part.constant * w for part, w in parts))
        weights, m = np.asarray(query, dtype=np.float64), self._columns.encoder.width
        if weights.shape != (m,) or not np.isfinite(weights).all():
            raise ParameterError(
                f"A query by numbers must have one finite number for each of the {m} encoded columns. "
                f"Got the shape {weights.shape} instead."
            )
        return Quantity(weights)

    def _feature(self, term: str) -> tuple[str, str | None]:
        name, value = self._columns.split(term)
        if self._columns.is_target(name):
            raise ParameterError(f"The column {name!r} is the target; ask 'marginal' for its counts.")
        return name, value

    def _one_way(self, name: str, limited: bool) -> tuple[list[str], Estimates]:
        from gnomon.release.analyst.model import ModelAnswers

        name, _ = self._columns.split(name)
        if isinstance(self._answers, ModelAnswers):
            return self._answers.marginal(name)
        if self._columns.is_target(name):
            return self._columns.classes(), self._answers.target_table()
        labels, quantities = self._columns.table(name)
        return labels, self._answers.query(quantities, limited=limited)

    def _two_way(self, first: str, second: str, limited: bool) -> Table:
        if self._columns.is_target(
            first
        ):  # the class stands second in the arithmetic, and where it was asked in the table
            found = self._two_way(second, first, limited)
            return _turned(found)
        labels, quantities = self._columns.table(self._columns.split(first)[0])
        if self._columns.is_target(second):
            others: Sequence[Any] = self._columns.classes()
            counts = self._answers.table_by_class(quantities, limited=limited)
        else:
            others, more = self._columns.table(self._columns.split(second)[0])
            counts = self._answers.table(quantities, more, limited=limited)
        pairs = tuple((a, b) for a in labels for b in others)
        return Table((first, second), pairs, counts)


def _is_many(weights: Sequence[Any]) -> bool:
    """Whether a sequence holds queries, and is not one query by numbers."""
    return len(weights) > 0 and not isinstance(weights[0], int | float | np.number)


def _turned(table: Table) -> Table:
    """The same table with its two columns the other way round."""
    a, b = (
        sorted({pair[side] for pair in table.values}, key=[p[side] for p in table.values].index)
        for side in (0, 1)
    )
    order = [i * len(b) + j for j in range(len(b)) for i in range(len(a))]
    numbers = {name: held[order] for name, held in vars(table.counts).items() if np.ndim(held)}
    return Table(table.columns[::-1], tuple((y, x) for y in b for x in a), replace(table.counts, **numbers))
