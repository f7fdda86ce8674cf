"""Blum, Ligett and Roth: the exponential mechanism over synthetic databases, made tractable by a random public net."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.methods.baseline.base import Compared, all_columns, check_full_dimension
from gnomon.methods.baseline.net import Net, Queries
from gnomon.methods.model_release import SAMPLING, ModelRelease
from gnomon.methods.public import Notes, Public
from gnomon.model.mixture import BATCH
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, NoiseLaw
from gnomon.privacy.noise.choice import exponential_choice
from gnomon.privacy.rounding import float_up, fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.statistics.grid import Integers
from gnomon.statistics.queries import Query
from gnomon.table.rows import Rows

NONE = NoiseLaw("none", 0.0, 0.0)
CELLS = 2**25  # of all candidate databases together, where their number is left to "auto"


@dataclass(eq=False, repr=False)
class ExponentialMechanism(Compared, ModelRelease):
    """A small synthetic database, chosen among public candidates by how well it answers counting queries.

    Reference: Blum, Ligett, Roth, "A Learning Theory Approach to Noninteractive Database Privacy", STOC 2008, Algorithm 1:
    all databases of s rows are candidates; D is scored by -max_q |q(D) - q(table)| over a class of counting queries and
    chosen with probability proportional to exp(epsilon n score / 2).

    Guarantee: epsilon-DP for replacing one record, its label included, with n public; or for adding or removing one,
    with n private. The choice is exact: no floating-point error reaches its probabilities (`gnomon.privacy.noise.choice`).

    Differs from the paper: all databases cannot be listed, so the candidates are a net of K databases drawn from a
    public law (`gnomon.methods.baseline.net`): random clusters over the declared bounds, of random widths and sizes, one
    or more for each class. The queries are random half-spaces, within every class. Both are drawn before the table is
    read. The paper's accuracy holds relative to the net: with probability 1 - beta the chosen database answers all
    queries within 2 ln(K / beta) / (epsilon n) of the best candidate; how good that one is, the net decides,
    and in many dimensions no net of this size is good. There is no printed noise, so there is no paper calibration.

    Parameters
    ----------
    epsilon, delta : the budget; the choice is pure, so delta buys nothing.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; by default as the schema declares.
    n_components : "auto" or the number of encoded columns: this method has no other dimension.
    database_rows : s, the size of a candidate; `sample(n)` draws from these rows with replacement.
    candidates : K, or "auto": as many as make 2^25 cells, between 256 and 16,384.
    queries : how many half-spaces the databases are compared on.
    random_state : seeds the net, the queries and the drawing of rows, never the choice.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> method = gn.baseline.ExponentialMechanism(4.0, bounds=(0, 1)).fit(X)
    >>> method.sample(5).shape, method.certificate_.holds
    ((5, 3), True)
    """

    name: ClassVar[str] = "exponential"

    database_rows: int = 100
    candidates: int | str = "auto"
    queries: int = 64

    def _pure(self) -> bool:
        return True

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_full_dimension(self, public)
        if self.calibration == "paper":
            raise ParameterError(
                "No paper prints the noise of ExponentialMechanism; use calibration='sound'."
            )
        numbers = {"database_rows": self.database_rows, "queries": self.queries}
        if self.candidates != "auto":
            numbers["candidates"] = self.candidates  # type: ignore[assignment]
        for name, value in numbers.items():
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value <= 2**20:
                raise ParameterError(
                    f"The '{name}' parameter of ExponentialMechanism must be an integer from 1 to 1048576. "
                    f"Got {value!r} instead."
                )
        if public.guarantee.delta > 0 and public.schema.estimated:
            raise ParameterError(
                f"The column {public.schema.estimated[0].name!r} has estimate = true, and ExponentialMechanism spends what "
                "is left as pure epsilon; set delta to 0, or declare its bounds or classes."
            )

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        """Algorithm 1: draw the candidates, score them, choose one."""
        rng = public.rng()
        queries = Queries.drawn(self.queries, public, rng)
        net = Net(public, self._candidates(public), self.database_rows, int(rng.integers(2**62)))
        chosen = data.select(BestDatabase(queries, net, public.rows), public.pure_budget)
        notes.public.append(
            f"{net.size} candidate databases of {self.database_rows} rows and {queries.size} queries, drawn before the "
            "table was read"
        )
        notes.rows, notes.counted = public.rows, False
        self.frame_ = all_columns(public.m, normalise=False)
        self.database_ = net.database(chosen)

    def _candidates(self, public: Public) -> int:
        if self.candidates != "auto":
            return int(self.candidates)
        return int(np.clip(CELLS // (self.database_rows * public.m), 256, 2**14))

    def sample_batches(self, n: int, seed: int | None = None) -> Iterator[pa.Table]:
        """n rows of the chosen database, drawn with replacement."""
        rng = np.random.default_rng([SAMPLING, self.seed_ if seed is None else seed])
        X, y = self.database_
        for start in range(0, n, BATCH):
            places = rng.integers(0, len(X), min(BATCH, n - start))
            yield self.encoder_.decode(X[places], None if y is None else y[places])


@dataclass(frozen=True, eq=False)
class BestDatabase(Query):
    """The place of a candidate, chosen with probability proportional to exp(-epsilon error / (2 s)), s its rows.

    The error of a candidate D is max_q |s q(table) - N q(D)| in whole numbers, the paper's score times -s N, where N is
    the public number of rows, or its public order of magnitude.

    Claim: epsilon-DP. Proof: one record that is replaced, added or removed changes each count of the table by at most 1,
    so each s q(table) by at most s, and a largest absolute error by at most s; the exponential mechanism with
    sensitivity s is epsilon-DP. Worst pair: a record that alone decides every query (counts that go up for the
    neighbour's best candidate).
    """

    queries: Queries
    net: Net
    rows: int

    @property
    def statistic(self) -> str:  # type: ignore[override]
        return "choice of a database"

    def zero(self) -> Integers:
        return np.zeros(self.queries.size, dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        return self.queries.counts(rows)

    def finish(self, total: Integers) -> Integers:
        """How much worse than the best each candidate is."""
        s, databases = self.net.rows, self.net.databases()
        found = [
            np.abs(s * total - self.rows * self.queries.counts_each(X, y)).max(axis=1) for X, y in databases
        ]
        errors = np.concatenate(found)
        return np.asarray(errors - errors.min())

    def noise(self, loss: PureDP) -> Noise:
        change = Sensitivity(Norm.L1, Fraction(self.net.rows), adjacency=loss.adjacency).protecting(loss)
        if np.isinf(loss.epsilon):
            return Noise("none", change, 0.0, NONE)
        return Noise("exponential", change, float_up(2 * change.value / fraction(loss.epsilon)), NONE)

    def release(self, exact: Integers, noise: Noise) -> Integers:
        if noise.mechanism == "none":
            return np.array(np.argmin(exact))
        return np.array(exponential_choice(exact, 1 / fraction(noise.scale)))
