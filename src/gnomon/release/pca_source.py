"""Where an independent PCA comes from: a noisy second moment, a public table, or rows that the model never reads."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from gnomon.errors import DataError, ParameterError
from gnomon.privacy import printed
from gnomon.privacy.guarantee import Adjacency, PureDP, Spendable
from gnomon.privacy.mechanism import Event, MomentMechanism, Released, release_moments, release_vector
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.release.base import Account, Table
from gnomon.release.map import PublicMap
from gnomon.statistics.grid import GRID, Matrix
from gnomon.statistics.moments import Moments
from gnomon.table.base import Source
from gnomon.table.encode import Encoder, Rows
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

SOURCES = ("laplace", "analyze-gauss", "public", "split", "matrix-laplace")
MECHANISMS: dict[str, MomentMechanism] = {
    "laplace": "upper-laplace",
    "matrix-laplace": "matrix-laplace",
    "analyze-gauss": "goe",
    "split": "auto",
}


def second_moment(table: Table, start: PublicMap) -> Any:
    """The exact integer sum of outer products of all rows, as `start` shows them."""

    def moments(rows: Rows) -> Moments:
        return Moments.of_batch(start.integers(rows.X, 0)[:, :-1])

    return table.sum(moments, Moments.zero(table.m), stage="summing for the principal components").matrix


def private_pca(
    table: Table, account: Account, start: PublicMap, source: str, loss: Spendable, p: int
) -> tuple[Matrix, Event]:
    """The P leading eigenvectors of the noisy second moment; its event is the caller's to record."""
    noisy = release_moments(
        second_moment(table, start),
        GRID**2,
        loss,
        statistic="second moment of all rows, for the principal components",
        adjacency=Adjacency.REPLACE_ONE,
        mechanism=MECHANISMS[source],
    )
    return leading(noisy.value[0].astype(np.float64), p), noisy.event


def lap_pca_as_printed(table: Table, start: PublicMap, loss: PureDP, p: int) -> tuple[Matrix, Released]:
    """Lap-PCA with Lap(M a^2 / (N eps)) on every entry: M times less than M^2 entries need."""
    exact = second_moment(table, start)
    claimed = Sensitivity(
        Norm.L1, fraction(GRID**2 * printed.paper_lap_pca(table.m).printed / table.m), adjacency=Adjacency.REPLACE_ONE
    )  # fmt: skip
    noisy = release_vector(exact.ravel(), claimed, loss, statistic="second moment for Lap-PCA, as printed")
    S = noisy.value.reshape(table.m, table.m).astype(np.float64)
    return leading((S + S.T) / 2, p), noisy


def leading(S: Matrix, p: int) -> Matrix:
    """The p leading eigenvectors (m, p) of a symmetric matrix."""
    W: Matrix = np.linalg.eigh(S)[1][:, ::-1][:, :p]
    return W


def check_public(public: Any, schema: Schema, p: int) -> Source:
    """A public table with the features of the private one, and at least P rows."""
    if public is None:
        raise ParameterError(
            "The 'public' parameter of PcaGauss must be a table when pca='public'. Got None instead."
        )
    features = schema.with_target(None) if schema.target is None else _features(schema)
    source = open_source(public, None, schema=features)
    lacking = [column.name for column in features.released if column.name not in source.names]
    if lacking:
        raise DataError(f"The public table lacks the column {lacking[0]!r} that the private one has; add it.")
    if source.n_rows() < max(p, 2):
        raise DataError(
            f"The public table has {source.n_rows()} rows, too few for {p} components; "
            "give more public rows or ask for fewer components."
        )
    return source


def public_pca(public: Source, schema: Schema, p: int) -> Matrix:
    """The principal components of a public table, centred by its own mean; free."""
    features = schema if schema.target is None else _features(schema)
    encoder = Encoder(features)
    names = [column.name for column in features.released]
    X = np.vstack([encoder.encode(batch).X for batch in public.batches(names)])
    centred = X - X.mean(axis=0)
    return leading(centred.T @ centred, p)


def _features(schema: Schema) -> Schema:
    return Schema(name=schema.name, columns=schema.features)


class Part(Source):
    """Some consecutive rows of another source; which ones is public, so parts compose in parallel."""

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self._source, self._start, self._stop = source, start, stop
        self.kind, self.label = source.kind, source.label

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._source.arrow_schema

    def n_rows(self) -> int:
        return self._stop - self._start

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterable[pa.RecordBatch]:
        place = 0
        for batch in self._source.batches(columns, rows, raw=raw):
            first, last = max(self._start - place, 0), min(self._stop - place, batch.num_rows)
            if first < last:
                yield batch.slice(first, last - first)
            place += batch.num_rows


def halves(table: Table, share: float) -> tuple[Table, Table]:
    """The first rows for the PCA, the rest for the model."""
    k = min(max(math.ceil(share * table.n), 2), table.n - 2)
    parts = (Part(table.source, 0, k), Part(table.source, k, table.n))
    return replace(table, source=parts[0], n=k), replace(table, source=parts[1], n=table.n - k)
