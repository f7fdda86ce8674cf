"""PCA-Gauss's principal components with sound noise: their eigenvalues, and directions of a public table (Pub-PCA)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.errors import DataError, ParameterError
from gnomon.methods.public import Notes, Public
from gnomon.model.mixture import Mixture
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, vector_noise, vector_norm
from gnomon.privacy.sensitivity import eigenvalues
from gnomon.statistics.eigen import eigenvalues_within
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID, Integers, Matrix
from gnomon.statistics.queries import Count, Derived, Moments
from gnomon.table.base import Source
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.source import open_source


def leading(S: Matrix, p: int) -> Matrix:
    """The p leading eigenvectors (m, p) of a symmetric matrix."""
    W: Matrix = np.linalg.eigh(S)[1][:, ::-1][:, :p]
    return W


def box_view(m: int) -> Frame:
    """Rows as they are encoded, in the ball that holds every row of cells in [-1, 1]."""
    return Frame.identity(m, radius=math.sqrt(m))


@dataclass(frozen=True, eq=False)
class Eigenvalues(Derived):
    """The P largest eigenvalues of the second moment of all rows, rounded to integers."""

    summed: Moments
    count: int
    rows: int  # a bound on the number of rows, for the error of the eigensolver

    @property
    def error(self) -> float:
        """How far an eigenvalue may be from the true one, in steps: 2^-48 of GRID^2 n m, which `finish` sees to."""
        return float(self.rows) * GRID**2 * self.summed.width * 2.0**-48

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return f"the {self.count} largest eigenvalues"

    def finish(self, total: Integers) -> Integers:
        top = eigenvalues_within(total[0], self.error)[::-1][: self.count]
        return np.rint(top).astype(np.int64)

    def noise(self, loss: Spendable) -> Noise:
        exact = eigenvalues(vector_norm(loss), count=self.count, ball=GRID**2, adjacency=loss.adjacency)
        return vector_noise(exact.on_grid(1, coordinates=self.count, error=self.error).protecting(loss), loss)


def unsupervised(data: Measurer, public: Public, notes: Notes, P: int) -> tuple[Frame, Mixture]:
    """Algorithm 1 with noise on the P eigenvalues, which are all that its covariance holds; samples are components."""
    frame = box_view(public.m)
    loss = public.budget
    n: float = public.rows
    if public.n is None:
        counting, loss = loss.split(0.1, 0.9)
        n = notes.rows = max(1, int(data.measure(Count("number of rows"), counting).answer))
    # the error of the eigensolver grows with the rows: a private number of them is bounded by what sums can hold
    query = Eigenvalues(Moments("", frame), P, public.n or 2**30)
    noisy = data.measure(query, loss).answer
    notes.post_processing.append("negative eigenvalues become zero")
    return components_of(np.diag(np.maximum(noisy / (n * frame.unit**2), 0.0)))


def components_of(covariance: Matrix) -> tuple[Frame, Mixture]:
    """A Gaussian of mean zero over components that nobody can map a row to."""
    P = len(covariance)
    return Frame.identity(P, radius=1.0), Mixture(np.ones(1), np.zeros((1, P)), covariance[None])


# --- Pub-PCA ---


def public_table(table: Any, schema: Schema, p: int) -> Source:
    """A public table with the features of the private one, and at least P rows."""
    if table is None:
        raise ParameterError(
            "The 'public' parameter of PcaGauss must be a table when pca='public'. Got None instead."
        )
    features = Schema(name=schema.name, columns=schema.features)
    source = open_source(table, None, schema=features)
    lacking = [column.name for column in features.released if column.name not in source.names]
    if lacking:
        raise DataError(f"The public table lacks the column {lacking[0]!r} that the private one has; add it.")
    if source.n_rows() < max(p, 2):
        raise DataError(
            f"The public table has {source.n_rows()} rows, too few for {p} components; "
            "give more public rows or ask for fewer components."
        )
    return source


def public_pca(table: Source, schema: Schema, p: int) -> Matrix:
    """The principal components of a public table, centred by its own mean; free."""
    encoder = Encoder(Schema(name=schema.name, columns=schema.features))
    X = np.vstack([encoder.matrix(batch) for batch in table.batches(encoder.columns)])
    centred = X - X.mean(axis=0)
    return leading(centred.T @ centred, p)
