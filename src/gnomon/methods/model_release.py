"""A release that publishes a model of the rows: any number of synthetic rows can be drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.methods.base import Release
from gnomon.model.conditional import Condition, conditional_batches
from gnomon.model.missing import CellLaw, missing_cells
from gnomon.model.mixture import Mixture
from gnomon.privacy.guarantee import Adjacency
from gnomon.release.map import PublicMap
from gnomon.release.transform import transformed
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import Matrix

SAMPLING = 1  # the stream of the seed that rows are drawn from; projections have the seed itself


class ModelRelease(Release):
    """Base of the methods that measure sums and publish a model of them."""

    publishes: ClassVar[str] = "model"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE)

    frame_: Frame
    model_: Mixture

    @property
    def n_components_(self) -> int:
        return self.frame_.n_components

    @property
    def projection_(self) -> Matrix:
        W = self.frame_.projection
        return np.eye(self.frame_.n_features) if W is None else W

    def sample_batches(self, n: int, seed: int | None = None) -> Iterator[pa.Table]:
        """n synthetic rows as Arrow tables, a batch at a time; the same for the same seed.

        Parameters
        ----------
        n : how many rows.
        seed : another seed gives other rows; None gives those that the release holds.
        """
        rng = np.random.default_rng([SAMPLING, self.seed_ if seed is None else seed])
        shares = self._shares()
        missing = missing_cells(self.encoder_.groups, CellLaw.of(self.frame_, self.model_))
        for C, codes in self.model_.sample_batches(n, rng):
            y: npt.NDArray[Any] | None = None
            if self.encoder_.target.is_number:
                C, y = C[:, :-1], np.clip(C[:, -1], -1.0, 1.0)
            elif self.encoder_.target.is_class:
                y = self.model_.classes[codes]
            cells = self.frame_.lift(C)
            for column in missing:
                column.impute(cells, codes)
            yield self.encoder_.decode(cells, y, shares)

    def _shares(self) -> dict[str, list[float]]:
        """How frequent each category is by the released means; decoding keeps to it, where rounding would not."""
        means = self.model_.means[:, : self.frame_.n_components]
        cells = self.frame_.lift(np.average(means, axis=0, weights=self.model_.weights)[None, :])[0]
        found = {}
        for group in self.encoder_.groups:
            inside = cells[group.place]
            if group.indicator:  # a missing cell counts as 0
                inside = inside[:-1] / np.clip(1 - inside[-1], 1e-6, 1.0)
            if group.kind == "one-hot":
                shares = np.clip(inside, 1e-6, 1.0)
                found[group.name] = (shares / shares.sum()).tolist()
            elif group.kind == "boolean":
                true = float(np.clip((inside[0] + 1) / 2, 0.0, 1.0))
                found[group.name] = [1 - true, true]
        return found

    def sample(
        self,
        n: int | None = None,
        random_state: int | None = None,
        *,
        given: Mapping[str, Any] | None = None,
    ) -> Any:
        """n synthetic rows with the columns and the frame type of the input; the same rows for the same random_state.

        By default as many as were read (or counted, with noise), and those that the release itself holds. `given` maps
        columns to cells that all rows shall have: a value, a list of them, a pair (low, high) of numbers or dates, or None
        for a missing cell. These rows are drawn by rejection (`gnomon.model.conditional`).

        Parameters
        ----------
        n : how many rows.
        random_state : another seed gives other rows; None gives those that the release holds.
        """
        wanted = self.n_rows_ if n is None else n
        if not isinstance(wanted, (int, np.integer)) or wanted < 1:
            raise ParameterError(
                f"The 'n' parameter of sample must be a positive integer. Got {n!r} instead."
            )
        return self._like(pa.concat_tables(self.given_batches(int(wanted), random_state, given)))

    def given_batches(
        self, n: int, seed: int | None = None, given: Mapping[str, Any] | None = None
    ) -> Iterator[pa.Table]:
        """`sample_batches` of rows that have given cells."""
        if given is None:
            return self.sample_batches(n, seed)
        condition = Condition.of(self.data_schema_, given)
        return conditional_batches(self.sample_batches, condition, n, self.seed_ if seed is None else seed)

    def transform(self, X: Any) -> Any:
        """Real rows into the released space, by public knowledge only: through the frame and back into columns.

        Parameters
        ----------
        X : real rows with the columns of the table.
        """
        return transformed(X, self.schema_, self.public_map())

    def public_map(self) -> PublicMap:
        """What `map.npz` of the release holds."""
        return PublicMap(self.frame_)
