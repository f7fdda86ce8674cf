"""Attacks on whole releases by likelihood: real code, real noise, and how likely the outcome is for both tables."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import clone

from gnomon.audit.attack import Attack, Runs
from gnomon.audit.bound import gaussian_family
from gnomon.audit.doors import OtherRoadError, Step, Watch, watched
from gnomon.audit.likelihood import Cost, Part, cost, log_likelihood, parts
from gnomon.audit.sketch import sketch_family, stands_out
from gnomon.baseline.sketch import sketch_epsilon
from gnomon.engine.local import quiet
from gnomon.errors import GnomonWarning
from gnomon.privacy.accounting import epsilon_of
from gnomon.privacy.guarantee import Guarantee
from gnomon.release.base import Account, Release, Table
from gnomon.table.base import Source
from gnomon.table.encode import Encoder, Rows

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
SLOW = 10  # a whole fit and its repetition cost as much as this many runs of a mechanism
CERTAIN = 1e6  # the score of an outcome that only one table can have
GAUSSIAN = {"rounded-gaussian", "discrete-gaussian", "goe"}
PURE = {"discrete-laplace", "matrix-laplace", "upper-laplace"}
TRIALS = 40  # runs over which the cost of a pair is averaged


@dataclass
class Trials:
    """Runs of one method on two neighbouring tables; tables are opened and checked once, and released many times."""

    method: Release
    tables: tuple[Table, Table]
    claim: Guarantee
    first_exact: dict[bool, Step]

    @classmethod
    def of(cls, method: Release, claim: Guarantee, X: Matrix, y: Labels | None) -> Trials:
        fresh: Release = clone(method)
        opened = [fresh._open(X[i], None if y is None else y[i], quiet) for i in (0, 1)]
        for table in opened:
            fresh._check(table)
        first, second = (_encoded_once(table) for table in opened)
        return cls(fresh, (first, second), claim, {})

    def run(self, watch: Watch, neighbour: bool) -> tuple[list[Step], list[Step]]:
        """The steps of one release, and those of the other table with the same outcomes."""
        watch.note()
        self._release(neighbour)
        mine = watch.steps
        if len(mine) == 1 and neighbour in self.first_exact:  # nothing comes before a first step
            known = self.first_exact[neighbour]
            return mine, [Step(known.kind, known.scale, known.exact, mine[0].released)]
        watch.repeat(mine)
        self._release(not neighbour)
        if [step.kind for step in watch.steps] != [step.kind for step in mine]:
            raise OtherRoadError
        if len(mine) == 1:
            self.first_exact[neighbour] = watch.steps[0]
        return mine, watch.steps

    def _release(self, neighbour: bool) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GnomonWarning)  # the tables of an attack are small on purpose
            self.method._release(self.tables[int(neighbour)], Account(self.claim))

    def scores(self, neighbour: bool, runs: int) -> Runs:
        """The log-likelihood ratio of the outcome of every run: the second table against the first."""
        found = np.empty(runs)
        with watched() as watch:
            for i in range(runs):
                try:
                    first, second = self._in_order(watch, neighbour)
                    found[i] = sum(map(log_likelihood, second)) - sum(map(log_likelihood, first))
                except OtherRoadError:
                    found[i] = CERTAIN if neighbour else -CERTAIN
        return found

    def by_parts(self, neighbour: bool, runs: int) -> Runs:
        """The scores (runs, k) of the independent parts of every run; those of Gaussian steps are one, the last."""
        found = []
        with watched() as watch:
            for _ in range(runs):
                pure, gaussian = self._apart(watch, neighbour)
                told = [part.score for _, part in pure]
                found.append([*told, sum(gaussian)] if gaussian else told)
        return np.array(found)

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The places of pure parts that have the same law: those of one step that cost the same."""
        found: dict[tuple[int, float], list[int]] = {}
        with watched() as watch:
            for place, (step, part) in enumerate(self._apart(watch, False)[0]):
                found.setdefault((step, round(part.epsilon, 3)), []).append(place)
        return tuple(map(tuple, found.values()))

    def _apart(self, watch: Watch, neighbour: bool) -> tuple[list[tuple[int, Part]], list[float]]:
        """The parts of pure steps, each with the place of its step, and the scores of Gaussian steps."""
        steps = list(enumerate(zip(*self._in_order(watch, neighbour), strict=True)))
        pure = [(i, part) for i, pair in steps if pair[0].kind in PURE for part in parts(*pair)]
        gaussian = [
            log_likelihood(second) - log_likelihood(first)
            for _, (first, second) in steps
            if first.kind in GAUSSIAN
        ]
        return pure, gaussian

    def _in_order(self, watch: Watch, neighbour: bool) -> tuple[list[Step], list[Step]]:
        """The steps of the first table and of the second with the outcome of one of them: a score is of the outcome."""
        mine, others = self.run(watch, neighbour)
        return (others, mine) if neighbour else (mine, others)

    def kinds(self) -> set[str]:
        with watched() as watch:
            return {step.kind for step in self.run(watch, False)[0]}

    def sketch_rows(self) -> int:
        with watched() as watch:
            return len(self.run(watch, False)[0][0].released)

    def reach(self) -> float:
        """The epsilon that this pair costs, averaged over the roads that releases take."""
        costs = []
        with watched() as watch:
            for i in range(TRIALS):
                mine, others = self.run(watch, bool(i % 2))
                costs.append(_epsilon(mine, others, self.claim.delta))
        return float(np.mean(costs))


class _EncodedOnce:
    """An encoder that has seen its only batch before; its rows are the same every time, and cannot be written to."""

    def __init__(self, encoder: Encoder, batch: pa.RecordBatch) -> None:
        self._encoder = encoder
        self._rows = encoder.encode(batch)
        self._rows.X.flags.writeable = False

    def encode(self, batch: pa.RecordBatch) -> Rows:
        return self._rows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)


class _OneBatch(Source):
    """A table that was read once and is handed out again without another look."""

    def __init__(self, source: Source, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self.kind, self.label = source.kind, source.label

    @property
    def arrow_schema(self) -> pa.Schema:
        return self._batch.schema

    def n_rows(self) -> int:
        return int(self._batch.num_rows)

    def _read(self, columns: list[str], rows: int, raw: bool) -> Iterator[pa.RecordBatch]:
        yield self._batch


def _encoded_once(table: Table) -> Table:
    """Reading and encoding a small table cost more than releasing it, and give the same rows every time."""
    columns = [column.name for column in table.schema.released]
    (batch,) = table.source.batches(columns)
    return replace(
        table,
        source=_OneBatch(table.source, batch),
        encoder=cast(Encoder, _EncodedOnce(table.encoder, batch)),
    )


def _epsilon(mine: list[Step], others: list[Step], delta: float) -> float:
    """What the two lists of exact values cost together."""
    if mine[0].kind == "gaussian-sketch":
        tau = max(stands_out(step.exact, other.exact) for step, other in zip(mine, others, strict=True))
        return sketch_epsilon(Fraction(tau), len(mine[0].released), delta)
    spent = sum(map(cost, mine, others), Cost())
    if spent.squared_mu == 0:
        return spent.epsilon
    return epsilon_of(math.sqrt(spent.squared_mu), delta, pure=spent.epsilon)


def likelihood_attack(
    method: Release, name: str, claim: Guarantee, X: Matrix, y: Labels | None = None, *, pair: str
) -> Attack:
    """X (2, n, m) and y (2, n) are two neighbouring tables; the score is the likelihood ratio of all that came out.

    Pure releases, and pure steps beside Gaussian ones, are scored part by part. Their noises are independent, and the
    pairs of `worst.py` change each part by as much in every run, whatever came out before, so that the law of a part's
    score does not depend on the others.
    """
    trials = Trials.of(method, claim, X, y)
    kinds = trials.kinds() - {"public"}
    family = gaussian_family(claim.delta) if kinds and kinds <= GAUSSIAN else None
    if kinds == {"gaussian-sketch"}:
        family = sketch_family(claim.delta, trials.sketch_rows())
    mixed = claim.delta > 0 and kinds <= GAUSSIAN | PURE and bool(kinds & GAUSSIAN) and bool(kinds & PURE)
    apart = mixed or ("matrix-laplace" in kinds and kinds <= PURE and claim.delta == 0)
    groups = trials.groups() if apart else ()
    return Attack(
        f"{name}: all that comes out" + ", by parts" * apart,
        pair,
        claim,
        trials.by_parts if apart else trials.scores,
        family=family,
        parts=groups,
        shift=sum(map(len, groups)) if mixed else None,
        slow=SLOW,
        discrete=kinds == {"exponential"},
        reach=trials.reach,
    )
