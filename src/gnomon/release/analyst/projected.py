"""Counts, sums and tables from rows behind a public projection, the label beside them included."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gnomon.errors import ParameterError
from gnomon.model.shrinkage import onto_simplex
from gnomon.release.analyst.columns import Columns
from gnomon.release.analyst.estimates import COUNTED, Estimates
from gnomon.release.analyst.linear import (
    Matrix,
    Quantity,
    Totals,
    Vector,
    constrained,
    possible_sums,
    products,
    raked,
    sums,
)


@dataclass(frozen=True)
class Labels:
    """The released label of every row before it is decoded: one noisy coordinate for each class, or a noisy number."""

    Y: Matrix
    noise: float

    def counts(self) -> Estimates:
        n = len(self.Y)
        error = np.full(self.Y.shape[1], np.sqrt(n) * self.noise)
        linear = Estimates(self.Y.sum(axis=0), error, least=0.0, most=float(n), about=COUNTED)
        return constrained(linear, onto_simplex(linear.value, n), 0.0, float(n))


@dataclass(frozen=True, eq=False)
class ProjectedAnswers:
    """What can be asked of all rows of a projected release."""

    Z: Matrix
    R: Matrix
    noise: float
    orthonormal: bool
    columns: Columns
    labels: Labels | None = None

    @property
    def rows(self) -> float:
        return float(len(self.Z))

    @cached_property
    def totals(self) -> Totals:
        """Of rows around the middle of what is declared."""
        found = Totals.of(self.Z, self.R, self.noise, orthonormal=self.orthonormal)
        return found.moved(self.columns.domain.centre)

    @cached_property
    def possible(self) -> Vector:
        """The possible sums of encoded columns that fit the rows best."""
        whole = Totals.of(self.Z, self.R, self.noise, orthonormal=self.orthonormal)
        return possible_sums(whole, self.columns.domain)

    def query(self, quantities: list[Quantity], *, limited: bool) -> Estimates:
        """Sums of quantities over all records; `limited` to what rows in the declared bounds can have."""
        linear = sums(self.totals, [self._around(one) for one in quantities])
        if not limited:
            return linear
        n = self.rows
        ends = np.array([self.columns.domain.range_of(one) for one in quantities])
        value = np.array([one.constant * n + float(one.weights @ self.possible) for one in quantities])
        return constrained(linear, value, *(n * ends.T))

    def target_table(self) -> Estimates:
        if self.labels is None:
            raise ParameterError("This release has no label beside its rows.")
        return self.labels.counts()

    def table(self, first: list[Quantity], second: list[Quantity], *, limited: bool) -> Estimates:
        """Counts of pairs (rows times columns): products of indicators."""
        around = [[self._around(one) for one in side] for side in (first, second)]
        linear = products(self.totals, [(a, b) for a in around[0] for b in around[1]])
        if not limited:
            return linear
        return self._limited(linear, *(self.query(side, limited=True).value for side in (first, second)))

    def table_by_class(self, quantities: list[Quantity], *, limited: bool) -> Estimates:
        """Counts by value and class: each row's noisy class times its indicator, which meet independent noise."""
        if self.labels is None:
            raise ParameterError("This release has no label beside its rows.")
        found = np.array([self._by_class(self._around(one)) for one in quantities])  # (values, 2, classes)
        value, error = found[:, 0].ravel(), found[:, 1].ravel()
        linear = Estimates(value, error, degrees=max(self.totals.k - 1, 1))
        if not limited:
            return linear
        return self._limited(linear, self.query(quantities, limited=True).value, self.labels.counts().value)

    def _by_class(self, quantity: Quantity) -> tuple[Vector, Vector]:
        """sum (c + a.z) y: it varies by sum y (a.w), read off the other directions, and by the label's own noise."""
        assert self.labels is not None
        Z, Y, totals = self.Z - self.columns.domain.centre @ self.R, self.labels.Y, self.totals
        u, q = quantity.weights @ self.R, quantity.weights
        a = u * (float(q @ q) / float(u @ u))
        seen = quantity.constant + Z @ a
        cross = Z.T @ Y
        rest = cross - np.outer(u, u @ cross) / float(u @ u)
        if totals.k == 1:  # no other direction tells how far the projection leads astray
            return seen @ Y, np.full(Y.shape[1], np.inf)
        left = totals._square[0] - float(u @ totals.Y @ u) / float(u @ u)
        own = self.labels.noise**2 * left / (totals.k - 1)
        spread = np.maximum((rest**2).sum(axis=0) / (totals.k - 1) - own, 0.0)
        variance = float(a @ a) * spread + self.labels.noise**2 * float(seen @ seen)
        return seen @ Y, np.sqrt(variance)

    def _limited(self, linear: Estimates, rows: Vector, columns: Vector) -> Estimates:
        """A table that is possible, with the margins that are."""
        table = onto_simplex(linear.value, self.rows).reshape(len(rows), len(columns))
        return constrained(linear, raked(table, rows, columns).ravel(), 0.0, self.rows)

    def covariance(self) -> Estimates:
        """The covariance matrix of the encoded columns, flattened: second moments of rows around their mean."""
        n, m = len(self.Z), len(self.R)
        Z = self.Z - self.Z.mean(axis=0)
        totals = Totals.of(Z, self.R, self.noise, orthonormal=self.orthonormal)
        unit = [Quantity(row) for row in np.eye(m)]
        upper = products(totals, [(unit[i], unit[j]) for i in range(m) for j in range(i, m)])
        value, error = (_symmetric(one, m).ravel() / n for one in (upper.value, upper.standard_error))
        return Estimates(value, error, upper.degrees)

    def _around(self, quantity: Quantity) -> Quantity:
        """The same quantity of rows around the middle."""
        moved = float(quantity.weights @ self.columns.domain.centre)
        return Quantity(quantity.weights, quantity.constant + moved)


def _symmetric(upper: Vector, m: int) -> Matrix:
    found = np.zeros((m, m))
    found[np.triu_indices(m)] = upper
    return found + np.triu(found, 1).T
