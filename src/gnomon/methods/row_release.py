"""What row releases share: one noisy row for each record, drawn once, published in a random order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.engine.local import in_order
from gnomon.errors import ParameterError
from gnomon.methods.base import Release
from gnomon.methods.parameters import check_choice
from gnomon.methods.public import Notes, Public
from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.mechanism import NoiseLaw
from gnomon.privacy.noisy_rows import NoisyRows
from gnomon.privacy.sensitivity import Attribute
from gnomon.release.map import PublicMap
from gnomon.release.transform import transformed
from gnomon.statistics.frame import Frame
from gnomon.table.encode import Encoder

POST_PROCESSING = 2  # the stream of the seed for what is drawn beside noisy rows, by chunk
KEPT_WORDS = "the order of the rows: released row i is record i of the table"


class _Fitted(Release):
    """What `fit` sets."""

    frame_: Frame
    rows_: NoisyRows
    noise_: NoiseLaw  # of every number of a row, in its integer steps


@dataclass(eq=False, repr=False)
class RowRelease(_Fitted):
    """A release of n rows, one for each record; there is no model to draw more of them from.

    Parameters
    ----------
    order : "shuffled" (by the operating system's randomness, never by random_state), or "kept", which publishes
        the order of the table.
    """

    order: str = "shuffled"

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_choice(self, "order", ("shuffled", "kept"))

    @property
    def permutation_(self) -> npt.NDArray[np.int64] | None:
        """The record of every released row, for the custodian alone: it is in no file of a release and in no pickle.

        None where it is not known, as after a replay.
        """
        return np.arange(self.rows_.rows) if self.order == "kept" else self.rows_.permutation()

    def _certify(self, public: Public, notes: Notes) -> Certificate:
        if self.order == "kept":
            notes.public.append(KEPT_WORDS)
        else:
            notes.post_processing.append(
                "rows shuffled uniformly by the operating system's randomness: their order says nothing"
            )
        return super()._certify(public, notes)

    @property
    def n_components_(self) -> int:
        return self.frame_.n_components

    def sample_batches(self, n: int | None = None, seed: int | None = None) -> Iterator[pa.Table]:
        """The released rows as Arrow tables, a batch at a time; a seed is for draws beside them, never the noise."""
        self._refuse_other(n)
        shown = partial(self._chunk, self.seed_ if seed is None else seed)
        yield from in_order(shown, enumerate(self.rows_.chunks()))

    def sample(self, n: int | None = None, random_state: int | None = None) -> Any:
        """The released rows in the frame type of the input; the same rows at every call.

        Parameters
        ----------
        n : None, or the number of released rows: no other number is possible.
        random_state : ignored: the rows are drawn once.
        """
        return self._like(pa.concat_tables(self.sample_batches(n, random_state)))

    def _refuse_other(self, n: int | None) -> None:
        if n is not None and n != self.rows_.rows:
            raise ParameterError(
                f"{type(self).__name__} releases one noisy row for each record, not a model to draw from, so it "
                f"has {self.rows_.rows} rows and no other number. Got {n!r} instead: leave n out, or use a method that "
                "fits a model."
            )

    def _chunk(self, seed: int, numbered: tuple[int, npt.NDArray[Any]]) -> pa.Table:
        """One chunk of rows; its place seeds its draws, so that every reading shows the same rows."""
        place, chunk = numbered
        return self._released(chunk, np.random.default_rng([POST_PROCESSING, seed, place]))

    def _released(self, chunk: npt.NDArray[Any], rng: np.random.Generator) -> pa.Table:
        """Released rows from the noisy integers of some records."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Real rows into the released space, by public knowledge only and without noise.

        Parameters
        ----------
        X : real rows with the columns of the table.
        """
        return transformed(X, self.schema_, self.public_map())

    def public_map(self) -> PublicMap:
        """What `map.npz` of the release holds."""
        return PublicMap(self.frame_)


class GaussianNoise(RowRelease):
    """Row releases whose noise is Gaussian, as printed and sound: delta is positive."""

    def _pure(self) -> bool:
        return False

    def _guarantee(self, n: int | None) -> Guarantee:
        found = super()._guarantee(n)
        if found.delta == 0:
            raise ParameterError(
                f"The 'delta' parameter of {type(self).__name__} must be positive, because its noise is Gaussian; use "
                "JlLaplace for rows under pure epsilon-DP, or a method that fits a model."
            )
        return found


def attributes_of(encoder: Encoder) -> list[Attribute]:
    """The encoded columns of every declared attribute, and the corners of what they can hold."""
    found = []
    for group in encoder.groups:
        columns = range(group.place.start, group.place.stop)
        if group.kind == "one-hot":
            found.append(Attribute.category(columns))
        elif group.indicator:
            found.append(Attribute.number_or_missing(columns[0], columns[1]))
        else:
            found.append(Attribute.number(columns[0]))
    return found


def even_spread(encoder: Encoder) -> float:
    """The mean squared distance of two rows that are spread evenly over what the schema declares; public."""
    numbers = sum(group.kind != "one-hot" for group in encoder.groups)
    categories = [group.place.stop - group.place.start for group in encoder.groups if group.kind == "one-hot"]
    return float(2 / 3 * numbers + sum(2 * (1 - 1 / k) for k in categories))
