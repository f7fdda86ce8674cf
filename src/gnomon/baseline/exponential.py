"""Blum, Ligett and Roth: the exponential mechanism over synthetic databases, made tractable by a random public net."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.baseline.base import Compared
from gnomon.baseline.modips import check_full_dimension, whole_row_map
from gnomon.baseline.net import Net, Queries
from gnomon.errors import ParameterError
from gnomon.model.mixture import BATCH
from gnomon.privacy.guarantee import Adjacency, PureDP
from gnomon.privacy.mechanism import Event
from gnomon.privacy.noise.choice import exponential_choice
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.release.base import Account, ModelRelease, Table, Task, _seed
from gnomon.table.schema import Schema

Whole = npt.NDArray[np.int64]
CELLS = 2**25  # of all candidate databases together, where their number is left to "auto"


class ExponentialMechanism(Compared, ModelRelease):
    """A small synthetic database, chosen among public candidates by how well it answers counting queries.

    Reference: Blum, Ligett, Roth, "A Learning Theory Approach to Noninteractive Database Privacy", STOC 2008, Algorithm 1:
    all databases of s rows are candidates; D is scored by -max_q |q(D) - q(table)| over a class of counting queries and
    chosen with probability proportional to exp(epsilon n score / 2).

    Guarantee: epsilon-DP for replacing one record, its label included; n public. The choice is exact: no floating-point
    error reaches its probabilities (`gnomon.privacy.noise.choice`).

    Differs from the paper: all databases cannot be listed, so the candidates are a net of K databases drawn from a
    public law (`gnomon.baseline.net`): random clusters over the declared bounds, of random widths and sizes, one or more
    for each class. The queries are random half-spaces, within every class. Both are drawn before the table is read. The
    paper's accuracy holds relative to the net: with probability 1 - beta the chosen database answers all queries within
    2 ln(K / beta) / (epsilon n) of the best candidate; how good that one is, the net decides, and in many dimensions no
    net of this size is good. There is no printed noise, so there is no paper calibration.

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
    """

    name: ClassVar[str] = "exponential"

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        schema: Schema | None = None,
        bounds: Any = None,
        target: str | None = None,
        task: Task | None = None,
        classes: Any = None,
        target_bounds: Any = None,
        n_components: int | str = "auto",
        calibration: str = "sound",
        database_rows: int = 100,
        candidates: int | str = "auto",
        queries: int = 64,
        random_state: Any = None,
        not_private: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.bounds = bounds
        self.target = target
        self.task = task
        self.classes = classes
        self.target_bounds = target_bounds
        self.n_components = n_components
        self.calibration = calibration
        self.database_rows = database_rows
        self.candidates = candidates
        self.queries = queries
        self.random_state = random_state
        self.not_private = not_private

    def _check(self, table: Table) -> None:
        super()._check(table)
        check_full_dimension(self, table)
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
        if self.delta > 0 and table.schema.estimated:
            raise ParameterError(
                f"The column {table.schema.estimated[0].name!r} has estimate = true, and ExponentialMechanism spends what "
                "is left as pure epsilon; set delta to 0, or declare its low and high."
            )

    def _release(self, table: Table, account: Account) -> None:
        """Algorithm 1: draw the candidates, score them, choose one."""
        rng = self._rng()
        queries = Queries.drawn(self.queries, table, rng)
        net = Net(table, self._candidates(table), self.database_rows, int(rng.integers(2**62)))
        counts = table.sum(queries.counts, np.zeros(queries.size, np.int64), stage="answering the queries")
        errors = largest_errors(counts, table.n, net, queries)
        chosen, event = choose(errors, self.database_rows, self._pure(account))
        account.events.append(event)
        account.public.append(
            f"{net.size} candidate databases of {self.database_rows} rows and {queries.size} queries, drawn before the "
            "table was read"
        )
        self.map_ = whole_row_map(table.m, normalise=False)
        self.database_ = net.database(chosen)

    @staticmethod
    def _pure(account: Account) -> PureDP:
        left, guarantee = account.left, account.guarantee
        if isinstance(left, PureDP):
            return left
        return PureDP(guarantee.epsilon, guarantee.unit, guarantee.adjacency)

    def _candidates(self, table: Table) -> int:
        if self.candidates != "auto":
            return int(self.candidates)
        return int(np.clip(CELLS // (self.database_rows * table.m), 256, 2**14))

    def sample_batches(self, n: int) -> Iterator[pa.Table]:
        """n rows of the chosen database, drawn with replacement."""
        rng = np.random.default_rng(None if self.random_state is None else [1, _seed(self.random_state)])
        X, y = self.database_
        for start in range(0, n, BATCH):
            places = rng.integers(0, len(X), min(BATCH, n - start))
            yield self.encoder_.decode(X[places], None if y is None else y[places])


def largest_errors(counts: Whole, n: int, net: Net, queries: Queries) -> Whole:
    """max_q |s q(table) - n q(D)| for every candidate D, in whole numbers: the paper's score times -s n."""
    found = [
        np.abs(net.rows * counts - n * queries.counts_each(X, y)).max(axis=1) for X, y in net.databases()
    ]
    return np.concatenate(found)


def choose(errors: Whole, rows: int, loss: PureDP) -> tuple[int, Event]:
    """A candidate with probability proportional to exp(-epsilon error / (2 s)), s = `rows`.

    Claim: epsilon-DP. Proof: replacing one record changes each count of the table by at most 1, so each s q(table) by
    at most s, and a largest absolute error by at most s; the exponential mechanism with sensitivity s is epsilon-DP.
    Worst pair: a record that alone decides every query (counts that go up for the neighbour's best candidate).
    """
    change = Sensitivity(Norm.L1, Fraction(rows), adjacency=Adjacency.REPLACE_ONE)
    gaps = errors - errors.min()
    if np.isinf(loss.epsilon):
        return int(np.argmin(errors)), Event("choice of a database", "none", change, 0.0, loss)
    rate = fraction(loss.epsilon) / (2 * rows)
    chosen = exponential_choice(gaps, rate)
    return chosen, Event("choice of a database", "exponential", change, float(1 / rate), loss)
