"""One pair of neighbouring tables through whole releases: how much of its charge does the pair use up?

Both tables are released by the same code with the same outcomes, so that later steps, which depend on earlier answers,
ask both the same. Each answer is then compared exactly: no measurement may move by more than its event says, and all of
them together may cost no more than the release declares. A table is a multiset: noisy rows are compared as one. Whether
there is a release is an outcome too: what is refused by what was measured must be refused for both tables.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone

from gnomon.audit.instrumentation import SERIAL, ControlFlowDiverged, Step, Watch
from gnomon.audit.likelihood import Cost, cost
from gnomon.audit.sketch import stands_out
from gnomon.errors import GnomonError, GnomonWarning
from gnomon.methods.base import Release
from gnomon.methods.baseline.sketch import sketch_epsilon
from gnomon.methods.charging import unaccounted
from gnomon.privacy.accounting import epsilon_of, mu_of
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.mechanism import Noise

SELECTED = "thresholded-laplace"  # labels of private classes, the only step whose length is private


class Rehearsal(Watch):
    """An observer that also keeps what every step claims, and can let the noise be zero, which is an outcome too."""

    def __init__(self, *, silent: bool = False) -> None:
        super().__init__()
        self.silent, self.noises = silent, list[Noise]()

    def outcome(self, noise: Noise, exact: Any, release: Callable[[], Any]) -> Any:
        self.noises.append(noise)
        quiet = self.silent and noise.mechanism in ("discrete-laplace", "rounded-gaussian", "goe")
        return super().outcome(noise, exact, (lambda: exact) if quiet else release)

    def _repeated(self, noise: Noise, exact: Any) -> Any:
        place = len(self.steps)
        if noise.mechanism == SELECTED and self._expected is not None and place < len(self._expected):
            return self._expected[place].released
        return super()._repeated(noise, exact)


@dataclass(frozen=True)
class Replayed:
    """What a pair uses up: of every step's claim, and of all that is declared. Above 1 a promise is broken.

    Parameters
    ----------
    steps : the share of its own claim that each measurement uses up.
    whole : the share of what is declared that all of them use up.
    """

    steps: tuple[tuple[str, float], ...]  # mechanism and share
    whole: float

    @property
    def worst(self) -> float:
        """The largest share, of a single step or of the whole."""
        return max([self.whole, *(share for _, share in self.steps)])


@dataclass
class Pair:
    """Two neighbouring tables, as sources that may give their rows in another order at every read.

    Parameters
    ----------
    method : the method, not yet fitted.
    tables : two functions that open the two tables.
    outcomes : of an earlier release; fresh where none are given.
    silent : whether the outcomes are those of a release whose noise is zero.
    steps : what both releases measured, once `replayed` has run.
    n : the number of rows, where it is public.
    """

    method: Release
    tables: tuple[Callable[[], Any], Callable[[], Any]]
    outcomes: Sequence[Step] | None = None  # of an earlier release; fresh where none are given
    silent: bool = False
    steps: list[list[Step]] = field(default_factory=list)
    n: int | None = None  # the number of rows, where it is public

    def replayed(self) -> Replayed:
        """Release both tables and compare; a release that takes other steps, or is refused, gives itself away."""
        watch = Rehearsal(silent=self.silent)
        try:
            first, refused = self._release(0, watch, self.outcomes)
            self.outcomes = first if self.outcomes is None else self.outcomes
            second, also = self._release(1, watch, self.outcomes)
            if refused != also:
                raise ControlFlowDiverged
            self.steps = [first, second]
            return _shares(self.method, self.n, first, second, watch.noises[len(first) :])
        except ControlFlowDiverged:
            return Replayed((), math.inf)

    def _release(
        self, which: int, watch: Rehearsal, outcomes: Sequence[Step] | None
    ) -> tuple[list[Step], str]:
        """The steps of a release, and in which words it was refused after them, if it was."""
        if outcomes is None:
            watch.note()
        else:
            watch.repeat(list(outcomes))
        method, refused = clone(self.method), ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GnomonWarning)  # the tables of an attack are small on purpose
            try:
                method.fit(self.tables[which](), observer=watch, charge=unaccounted, engine=SERIAL)
            except GnomonError as problem:
                if not watch.steps and which == 0:
                    raise  # before anything was measured: no pair to compare
                refused = str(problem)
        self.n = getattr(method, "n_public_", None)
        return watch.finish(), refused


def _shares(
    method: Release, n: int | None, first: list[Step], second: list[Step], noises: list[Noise]
) -> Replayed:
    claim = method._guarantee(n)
    spent, found, chosen = Cost(), [], 0.0
    rowwise = method.publishes == "rows"
    jointly = (
        method.name == "dprp"
    )  # one event covers its rows and moments, so that only the whole is claimed
    for one, other, noise in zip(first, second, noises, strict=True):
        if one.kind == "gaussian-sketch":
            tau = Fraction(stands_out(one, other))
            return Replayed((), sketch_epsilon(tau, one.released.shape[1], claim.delta) / claim.epsilon)
        if one.kind == SELECTED:
            lost = _labels(one, other) / one.scale
            chosen += lost
        else:
            rows = rowwise and np.ndim(one.exact) == 2 and len(one.exact) == n
            step = cost(*_changed_rows(one, other)) if rows else cost(one, other)
            spent, lost = spent + step, step.epsilon + math.sqrt(step.squared_mu)
            if jointly and (rows or one.kind == "goe"):
                continue
        if noise.sensitivity is not None and noise.scale > 0:
            found.append((one.kind, lost / _claimed(noise)))
    return Replayed(tuple(found), _whole(claim, spent, chosen))


def _claimed(noise: Noise) -> float:
    """The loss that the event of a step pays for, epsilon or mu."""
    distance = float(noise.sensitivity.value)
    if noise.mechanism == "exponential":
        distance *= 2
    return distance / noise.scale / (2 if noise.mechanism == "matrix-laplace" else 1)


def _whole(claim: Guarantee, spent: Cost, chosen: float) -> float:
    """The share of the declared guarantee that all steps cost: of epsilon, or of mu where that is what is spent."""
    delta = claim.delta / 2 if chosen else claim.delta
    mu, epsilon = math.sqrt(spent.squared_mu), spent.epsilon
    if math.isinf(epsilon) or math.isinf(mu):
        return math.inf
    if mu == 0:
        return (epsilon + chosen) / claim.epsilon
    if epsilon == 0 and not chosen:
        return mu / mu_of(claim.epsilon, delta)
    return (chosen + epsilon_of(mu, delta, pure=epsilon)) / claim.epsilon


def _changed_rows(one: Step, other: Step) -> tuple[Step, Step]:
    """The rows of a row release that differ, as multisets: one of each table, or they tell too much."""
    rows = [[row.tobytes() for row in np.asarray(step.exact, dtype=np.int64)] for step in (one, other)]
    counted = [Counter(some) for some in rows]
    left = [list((counted[i] - counted[1 - i]).elements()) for i in (0, 1)]
    exact = [np.array([np.frombuffer(row, np.int64) for row in some]) for some in left]
    if len(left[0]) != len(left[1]) or len(left[0]) > 1:
        raise ControlFlowDiverged
    nothing = np.zeros((1, 1), dtype=np.int64)
    pair = [part if len(part) else nothing for part in exact]
    return Step(one.kind, one.scale, pair[0], None), Step(other.kind, other.scale, pair[1], None)


def _labels(one: Step, other: Step) -> float:
    """The L1 distance of the counts of two lists of labels, by name: each count stands beside another, or alone."""
    first, second = (np.asarray(step.exact, dtype=np.float64) for step in (one, other))
    best = np.concatenate([[0.0], np.cumsum(second)])
    for count in first:
        row = [best[0] + count]
        for place, theirs in enumerate(second):
            row.append(min(best[place] + abs(count - theirs), best[place + 1] + count, row[-1] + theirs))
        best = np.array(row)
    return float(best[-1])
