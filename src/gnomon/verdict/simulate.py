"""A method tried on a table that everyone may see, with noise of the same laws relative to its rows.

The noise here protects nobody: the table is made from the schema, or was released. It is seeded, so that the verdict of a
release can be made again from the release alone. Noise enters sums, and signal grows with the rows: a table of n' rows with
n / n' times the loss meets the same signal-to-noise ratio in every query as one of n rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import GnomonError, GnomonWarning
from gnomon.methods.base import Release
from gnomon.methods.charging import unaccounted
from gnomon.privacy.accounting import epsilon_of, mu_of
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.mechanism import Noise
from gnomon.table.schema import Schema
from gnomon.verdict.compare import Described, described, prior

FEWEST_ROWS, MOST_ROWS = 500, 5_000  # of a table to try a method on; fewer where there are over 40 columns
MOST_NOISY_ROWS = 50_000  # where every row meets noise alone, so that rows cannot stand for more
DRAWN = 5_000  # rows of a model, at most, that are compared
MATRICES = ("goe", "discrete-goe", "matrix-laplace", "upper-laplace")
LARGEST_EPSILON = 1e6  # beyond it there is no noise to speak of


class NotSimulatedError(GnomonError):
    """A method that cannot be tried on this table, or a mechanism whose law is not simulated."""


@dataclass
class Redrawn:
    """An observer that puts seeded noise of the known law in the place of a fresh one."""

    rng: np.random.Generator

    def outcome(self, noise: Noise, exact: Any, release: Callable[[], Any]) -> Any:
        if noise.mechanism == "public":
            return release()
        exact = np.asarray(exact)
        if noise.mechanism == "none":
            return release()
        if noise.mechanism == "noisy-max":
            return np.array(np.argmax(exact + self.rng.laplace(scale=noise.scale, size=exact.shape)))
        if noise.mechanism == "exponential":
            return np.array(np.argmin(exact / noise.scale - self.rng.gumbel(size=exact.shape)))
        if noise.law.diagonal == 0:
            raise NotSimulatedError(f"The mechanism {noise.mechanism} is not simulated.")
        return exact + np.rint(self._drawn(noise, exact.shape)).astype(np.int64)

    def _drawn(self, noise: Noise, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Noise by its standard deviations: Laplace where it is Laplace, else Gaussian."""
        laplace = "laplace" in noise.mechanism and noise.mechanism != "matrix-laplace"
        unit = self.rng.laplace(scale=math.sqrt(0.5), size=shape) if laplace else self.rng.normal(size=shape)
        if noise.mechanism not in MATRICES:
            return unit * noise.law.diagonal * (1.0 if noise.weights is None else np.asarray(noise.weights))
        upper = np.triu(unit, 1) * noise.law.off_diagonal
        diagonal = np.einsum("bii->bi", unit) * noise.law.diagonal
        return np.asarray(upper + upper.transpose(0, 2, 1) + np.eye(shape[1]) * diagonal[:, None, :])


@dataclass(frozen=True)
class Trial:
    """A method as it is to be tried: its class, parameters, the schema of its rows, and what it may spend on how many.

    share  of the budget that is left once bounds and classes were estimated
    """

    method: type[Release]
    parameters: dict[str, Any]
    schema: Schema
    rows: int
    guarantee: Guarantee
    share: float = 1.0

    @property
    def size(self) -> int:
        """Rows of a table to try it on."""
        most = MOST_NOISY_ROWS if self.method.publishes == "rows" else MOST_ROWS
        return min(self.rows, max(FEWEST_ROWS, min(most, 40 * most // len(self.schema.released))))

    def on(self, table: pa.Table, seed: int) -> Tried:
        """The method fitted to `table`, with noise as that of `rows` rows meets, and what it was to show."""
        try:
            return self._tried(table, seed)
        except (GnomonError, ArithmeticError, ValueError, np.linalg.LinAlgError) as problem:
            # a release that was paid for must not fail for its verdict
            raise NotSimulatedError(f"The method {self.method.name} could not be tried.") from problem

    def _tried(self, table: pa.Table, seed: int) -> Tried:
        method = self.method(**self._parameters(table.num_rows, seed))
        rng = np.random.default_rng([seed, table.num_rows])
        with warnings.catch_warnings():  # which are about this table
            warnings.simplefilter("ignore", GnomonWarning)
            method.fit(table, charge=unaccounted, observer=Redrawn(rng))
        wanted = table.num_rows if method.publishes == "rows" else min(self.rows, DRAWN)
        released = pa.concat_tables(method.sample_batches(wanted))
        schema, counted = method.data_schema_, counted_columns(method)
        if schema is not method.schema_:  # components, each of which is shown as it is but for its noise
            table, counted = _components(method, table), frozenset(c.name for c in schema.released)
        flags = frozenset(column.name for column in schema.features if column.kind == "boolean")
        return Tried(described(released, schema), described(table, schema), prior(schema), counted, flags)

    def _parameters(self, rows: int, seed: int) -> dict[str, Any]:
        single = self.method.publishes == "rows"  # a row meets its noise alone
        found = {
            **self.parameters,
            "epsilon": scaled_epsilon(self.guarantee, 1.0 if single else self.rows / rows, self.share),
            "delta": self.guarantee.delta,
            "schema": self.schema,
            "adjacency": self.guarantee.adjacency.value,
            "expected_rows": rows,
            "random_state": seed,
            "order": "kept",
            "not_private": True,
        }
        return {key: value for key, value in found.items() if key in self.method.parameter_names()}


@dataclass(frozen=True)
class Tried:
    """What a trial released, what it was to show, what was public before, the columns whose values it counted, and those
    that are booleans."""

    released: Described
    true: Described
    prior: Described
    counted: frozenset[str]
    flags: frozenset[str]


def flag_noise(tried: list[Tried]) -> float:
    """The deviation of the error of a boolean's mean, over all booleans and trials."""
    errors = [
        (one.released.columns[name].mean or 0.0) - (one.true.columns[name].mean or 0.0)
        for one in tried
        for name in one.flags
    ]
    return math.sqrt(sum(error**2 for error in errors) / len(errors)) if errors else 0.0


def _components(method: Release, table: pa.Table) -> pa.Table:
    """Rows as a projecting method would show them without noise, with their target."""
    target = method.schema_.target
    seen = method.transform(table)
    return (
        seen
        if target is None or target.name in seen.column_names
        else seen.append_column(target.name, table[target.name])
    )


def scaled_epsilon(guarantee: Guarantee, factor: float, share: float = 1.0) -> float:
    """The epsilon whose noise is `factor` times smaller, of a share of the budget, for one row."""
    factor = factor / guarantee.rows
    if math.isinf(guarantee.epsilon):
        return math.inf
    if guarantee.delta == 0:
        return min(guarantee.epsilon * factor * share, LARGEST_EPSILON)
    if factor == 1 and share == 1:
        return guarantee.epsilon
    mu = mu_of(guarantee.epsilon, guarantee.delta) * factor * math.sqrt(share)
    return min(epsilon_of(mu, guarantee.delta), LARGEST_EPSILON)


def column_places(method: Release) -> dict[int, str]:
    """The columns by the first encoded one of each; a numeric target stands past the last."""
    places = {group.place.start: group.name for group in method.encoder_.groups}
    target = method.encoder_.schema.target
    if target is not None and method.encoder_.target.is_number:
        places[method.encoder_.width] = target.name
    return places


def counted_columns(method: Release) -> frozenset[str]:
    """The columns whose values or bins a release counted, by the queries that it made; all of a category's are."""
    places, target = column_places(method), method.encoder_.schema.target
    known = {group.name for group in method.encoder_.groups if group.kind in ("one-hot", "boolean")}
    if target is not None and method.encoder_.target.is_class:
        known.add(target.name)
    for counts in method.counts_:
        for binning in counts.binnings:
            if binning.bins - (binning.indicator is not None) > 1:
                known.add(places[binning.columns[0]])
    return frozenset(known)
