"""Released and real rows side by side, in the same space, ready to be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import DataError, ParameterError
from gnomon.evaluation.limits import Limits
from gnomon.evaluation.shared import shared_rows, warning
from gnomon.methods.base import Release
from gnomon.methods.row_release import KEPT_WORDS
from gnomon.privacy.certificate import Certificate
from gnomon.release.folder import open_release
from gnomon.release.map import PublicMap, load_arrays
from gnomon.release.transform import transform_batches
from gnomon.statistics.grid import Matrix
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import Source, open_source
from gnomon.table.target import Task

Target = npt.NDArray[Any]


@dataclass(frozen=True)
class Side:
    """Some rows: as a table, and as the matrix X and the target y (codes, numbers in [-1, 1], or None)."""

    table: pa.Table
    X: Matrix
    y: Target | None

    def take(self, places: npt.NDArray[np.int64]) -> Side:
        return Side(self.table, self.X[places], None if self.y is None else self.y[places])

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True)
class Published:
    """What anybody can read of a release."""

    certificate: Certificate
    schema: Schema
    map: PublicMap
    rows: Callable[[], Source]
    noise_std: float | None  # of one component of a row release
    redraw: Callable[[int, int], pa.Table] | None = None  # so many rows of its model, by another seed

    @property
    def data_schema(self) -> Schema:
        """The columns of the released rows: those of the table, or components without bounds of their own."""
        if not self.map.components_only:
            return self.schema.as_released()
        wide = [
            Column(name=f"c{j}", kind="number", low=-1e12, high=1e12)
            for j in range(self.map.frame.n_components)
        ]
        target = [] if self.schema.target is None else [self.schema.target]
        return Schema(name=self.schema.name, columns=(*wide, *target))


@dataclass(frozen=True)
class Sides:
    """`released`; real rows through the release's map (`mapped`, `mapped_test`) and as they are (`real`, `real_test`).

    `places` are the places in the table of the rows of `real`, `released_places` those of `released` in the release.
    """

    published: Published
    task: Task
    classes: int
    released: Side
    mapped: Side
    mapped_test: Side
    real: Side
    real_test: Side
    places: npt.NDArray[np.int64]
    aligned: Side | None  # in a row release, the released rows of the records of `real`
    counts: dict[str, int]
    shared: str | None = None  # a sentence, where train and test share rows

    def redrawn(self, rng: np.random.Generator) -> Side:
        """As many released rows again: drawn anew from the model, or resampled where a release has none."""
        if self.published.redraw is None:
            return self.released.take(rng.integers(0, len(self.released), len(self.released)))
        drawn = _side(self.published.redraw(len(self.released), int(rng.integers(2**62))), self.published)
        return drawn if self.released.y is not None else replace(drawn, y=None)

    def without_target(self) -> Sides:
        """The same rows for clustering."""
        sides = ("released", "mapped", "mapped_test", "real", "real_test")
        bare = {name: replace(getattr(self, name), y=None) for name in sides}
        return replace(self, task="clustering", classes=1, **bare)


def published(release: Any) -> Published:
    """A release folder, or a fitted method."""
    if isinstance(release, Release):
        if not hasattr(release, "certificate_"):
            raise ParameterError("The method to evaluate is not fitted; call fit first.")
        found: Any = release
        return Published(
            found.certificate_,
            found.schema_,
            found.public_map(),
            lambda: open_source(pa.concat_tables(found.sample_batches(found.n_rows_))),
            getattr(found, "noise_std_", None),
            _redraw(lambda: found) if found.publishes == "model" else None,
        )
    path = Path(release)
    opened = open_release(path)
    data = [path / name for name in ("data.parquet", "data.csv") if (path / name).is_file()]
    if not data:
        raise DataError(f"The release folder {str(path)!r} has no data; ask its publisher for a whole copy.")
    held = load_arrays(path / "map.npz")
    noise = float(held["noise_std"]) if "noise_std" in held else None
    folder = Published(opened.certificate, opened.schema, opened.map, lambda: open_source(data[0]), noise)
    again = _redraw(lambda: opened.model) if opened.synthetic else None
    return replace(folder, rows=lambda: open_source(data[0], schema=folder.data_schema), redraw=again)


def _redraw(model: Callable[[], Any]) -> Callable[[int, int], pa.Table]:
    return lambda n, seed: pa.concat_tables(model().sample_batches(n, seed))


def in_order(certificate: Certificate) -> bool:
    """Whether released row i is record i."""
    return KEPT_WORDS in certificate.public


def load(release: Any, real: Any, test: Any, limits: Limits, rng: np.random.Generator) -> Sides:
    """Read, subsample and bring into one space what shall be compared; `test` = None tests on the training rows."""
    seen = published(release)
    schema = seen.schema
    columns = [column.name for column in schema.released]
    source = open_source(real, schema=schema)
    tested = source if test is None else open_source(test, schema=schema)
    for one, name in ((source, "real"), (tested, "test")):
        missing = [column for column in columns if column not in one.names]
        if missing:
            raise DataError(f"The {name} table lacks the column {missing[0]!r} of the release; add it.")
    rows = seen.rows()
    drawn, _ = sample(rows, [column.name for column in seen.data_schema.released], limits.train, rng)
    kept, places = sample(source, columns, limits.train, rng)
    kept_test, _ = sample(tested, columns, limits.test, rng)
    encoder = Encoder(schema)
    told = None if test is None else warning(*shared_rows(source, tested, encoder), tested.n_rows())
    aligned = None
    if in_order(seen.certificate) and rows.n_rows() == source.n_rows():
        aligned = _side(take(rows, drawn.column_names, places), seen)
    return Sides(
        published=seen,
        task=encoder.target.task,
        classes=len(encoder.classes or ()) or 1,
        released=_side(drawn, seen),
        mapped=_side(_through(kept, seen), seen),
        mapped_test=_side(_through(kept_test, seen), seen),
        real=_encoded(kept, encoder),
        real_test=_encoded(kept_test, encoder),
        places=places,
        aligned=aligned,
        counts={"released": rows.n_rows(), "real": source.n_rows(), "test": tested.n_rows()},
        shared=told,
    )


def _side(table: pa.Table, seen: Published) -> Side:
    """Components as they are; columns as the schema encodes them."""
    encoder = Encoder(seen.data_schema)
    found = _encoded(table, encoder)
    if not seen.map.components_only:
        return found
    names = [f"c{j}" for j in range(seen.map.frame.n_components)]
    return replace(found, X=np.column_stack([table[name].to_numpy() for name in names]).astype(np.float64))


def _encoded(table: pa.Table, encoder: Encoder) -> Side:
    whole = table.combine_chunks()
    return Side(table, np.ascontiguousarray(encoder.matrix(whole)), encoder.encode_target(whole))


def _through(table: pa.Table, seen: Published) -> pa.Table:
    return pa.concat_tables(list(transform_batches(open_source(table), seen.schema, seen.map)))


def sample(
    source: Source, columns: list[str], limit: int, rng: np.random.Generator
) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """At most `limit` rows, drawn without replacement, in the order of the table, and their places."""
    n = source.n_rows()
    if n < 2:
        raise DataError("A table of fewer than two rows cannot be compared with anything.")
    places = np.arange(n) if n <= limit else np.sort(rng.choice(n, limit, replace=False))
    return take(source, columns, places), places


def take(source: Source, columns: list[str], places: npt.NDArray[np.int64]) -> pa.Table:
    """The rows at ascending places, in one streaming pass."""
    parts, start = [], 0
    for batch in source.batches(columns):
        end = start + batch.num_rows
        inside = places[np.searchsorted(places, start) : np.searchsorted(places, end)] - start
        if len(inside):
            parts.append(pa.Table.from_batches([batch]).select(columns).take(pa.array(inside)))
        start = end
    return pa.concat_tables(parts)
