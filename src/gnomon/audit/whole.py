"""Attacks on whole releases by likelihood: real code, real noise, and how likely the outcome is for both tables."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from sklearn.base import clone

from gnomon.audit.attack import Attack, Runs
from gnomon.audit.bound import gaussian_family
from gnomon.audit.instrumentation import SERIAL, ControlFlowDiverged, Step, Watch
from gnomon.audit.likelihood import CHOICES, GAUSSIAN, PURE, Cost, Part, cost, log_likelihood, parts
from gnomon.audit.pair import Tables, Targets
from gnomon.audit.sketch import sketch_family, stands_out
from gnomon.errors import GnomonWarning
from gnomon.methods.base import Release
from gnomon.methods.baseline.sketch import sketch_epsilon
from gnomon.methods.opening import open_table, public_rows
from gnomon.methods.public import Notes, Public
from gnomon.privacy.accounting import epsilon_of
from gnomon.privacy.guarantee import Adjacency, Guarantee
from gnomon.privacy.measure import Measurer
from gnomon.table.encode import EncodedRows

SLOW = 10  # a whole fit and its repetition cost as much as this many runs of a mechanism
CERTAIN = 1e6  # the score of an outcome that only one table can have
TRIALS = 40  # runs over which the cost of a pair is averaged
CHECKED = 24  # runs by which steps that always cost the same are told from others
STEADY = 1e-3  # how far the cost of such a step may vary between runs


@dataclass
class Trials:
    """Runs of one method on two neighbouring tables; tables are read and encoded once, and released many times.

    The tables may differ in their number of rows where the method keeps that private.
    """

    method: Release
    public: tuple[Public, Public]
    rows: tuple[EncodedRows, EncodedRows]
    claim: Guarantee
    watch: Watch = field(default_factory=Watch)
    _first_exact: dict[bool, Step] = field(default_factory=dict)

    @classmethod
    def of(cls, method: Release, claim: Guarantee, X: Tables, y: Targets | None) -> Trials:
        fresh: Release = clone(method)
        seed = fresh._seed()  # what is drawn in public is the same for both
        opened = [open_table(fresh, X[i], None if y is None else y[i]) for i in (0, 1)]
        private_n = fresh._guarantee(None).adjacency is Adjacency.ADD_REMOVE
        known = [None if private_n else public_rows(one.source) for one in opened]
        public = [
            fresh._declared(one.schema, n, fresh._guarantee(n), seed)
            for one, n in zip(opened, known, strict=True)
        ]
        rows = [
            EncodedRows(one.source, known.encoder, SERIAL) for one, known in zip(opened, public, strict=True)
        ]
        return cls(fresh, (public[0], public[1]), (rows[0], rows[1]), claim)

    def run(self, neighbour: bool) -> tuple[list[Step], list[Step]]:
        """The steps of one release, and those of the other table with the same outcomes."""
        self.watch.note()
        mine = self._release(neighbour)
        if len(mine) == 1 and neighbour in self._first_exact:  # nothing comes before a first step
            known = self._first_exact[neighbour]
            return mine, [Step(known.kind, known.scale, known.exact, mine[0].released, known.weights)]
        self.watch.repeat(mine)
        others = self._release(not neighbour)
        if len(mine) == 1:
            self._first_exact[neighbour] = others[0]
        return mine, others

    def _release(self, neighbour: bool) -> list[Step]:
        which = int(neighbour)
        data = Measurer(self.rows[which], SERIAL, observer=self.watch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GnomonWarning)  # the tables of an attack are small on purpose
            self.method._release(data, self.public[which], Notes())
        return self.watch.finish()

    def in_order(self, neighbour: bool) -> tuple[list[Step], list[Step]]:
        """The steps of the first table and of the second with the outcome of one of them: a score is of the outcome."""
        mine, others = self.run(neighbour)
        return (others, mine) if neighbour else (mine, others)

    def scores(self, neighbour: bool, runs: int) -> Runs:
        """The log-likelihood ratio of the outcome of every run: the second table against the first."""
        found = np.empty(runs)
        for i in range(runs):
            try:
                first, second = self.in_order(neighbour)
                told = sum(map(log_likelihood, second)) - sum(map(log_likelihood, first))
                found[i] = np.clip(told, -CERTAIN, CERTAIN)
            except ControlFlowDiverged:
                found[i] = CERTAIN if neighbour else -CERTAIN
        return found

    def reach(self) -> float:
        """The epsilon that this pair costs, averaged over the outcomes that later steps depend on."""
        costs = [epsilon_of_run(*self.run(bool(i % 2)), self.claim.delta) for i in range(TRIALS)]
        return float(np.mean(costs))


def epsilon_of_run(mine: list[Step], others: list[Step], delta: float) -> float:
    """What the two lists of exact values cost together."""
    if mine[0].kind == "gaussian-sketch":
        tau = stands_out(mine[0], others[0])
        return sketch_epsilon(Fraction(tau), mine[0].released.shape[1], delta)
    spent = sum(map(cost, mine, others), Cost())
    if spent.squared_mu == 0 or math.isinf(spent.epsilon):
        return spent.epsilon
    return epsilon_of(math.sqrt(spent.squared_mu), delta, pure=spent.epsilon)


# --- Scores of independent parts ---


@dataclass(frozen=True)
class PartTrials:
    """Trials whose runs have a score for each independent part: those of pure steps, then one of all Gaussian steps.

    Only the steps of `steady` are scored. They change by as much in every run, whatever came out before, so that the law
    of a part's score does not depend on the others (but for what they are allowed to vary by). Leaving out the rest
    hides something and spoils nothing: of a step that for once has other parts, the score is 0.
    """

    trials: Trials
    steady: tuple[int, ...]
    counts: dict[int, int] = field(default_factory=dict)  # of parts, by step

    @classmethod
    def of(cls, trials: Trials, allowed: float = STEADY) -> PartTrials:
        costs, counts = [], []
        for i in range(CHECKED):
            pairs = list(zip(*trials.in_order(bool(i % 2)), strict=True))
            spent = [cost(*pair) for pair in pairs]
            costs.append([(one.epsilon, math.sqrt(one.squared_mu)) for one in spent])
            counts.append([len(parts(*pair)) if pair[0].kind in PURE else 1 for pair in pairs])
        varies = np.ptp(np.array(costs), axis=0).max(axis=1)
        steady = np.flatnonzero(varies <= allowed).tolist()
        usual = np.median(np.array(counts), axis=0).astype(int)
        return cls(trials, tuple(steady), {i: int(usual[i]) for i in steady})

    def covers(self, steps: list[Step]) -> bool:
        """Whether pure steps, and Gaussian ones, are among those that are scored where the release has any."""
        kinds, scored = {step.kind for step in steps}, {steps[i].kind for i in self.steady}
        return all(scored & family for family in (PURE, GAUSSIAN) if kinds & family)

    def scores(self, neighbour: bool, runs: int) -> Runs:
        """The scores (runs, k) of the parts of every run."""
        found = []
        for _ in range(runs):
            pure, gaussian = self._apart(neighbour)
            told = [part.score for _, part in pure]
            found.append([*told, sum(gaussian)] if gaussian else told)
        return np.array(found)

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The places of pure parts that have the same law: those of one step that cost the same."""
        found: dict[tuple[int, float], list[int]] = {}
        for place, (step, part) in enumerate(self._apart(False)[0]):
            found.setdefault((step, round(part.epsilon, 3)), []).append(place)
        return tuple(map(tuple, found.values()))

    def _apart(self, neighbour: bool) -> tuple[list[tuple[int, Part]], list[float]]:
        """The parts of pure steps, each with the place of its step, and the scores of Gaussian steps."""
        pairs = list(zip(*self.trials.in_order(neighbour), strict=True))
        steps = [(i, pairs[i]) for i in self.steady]
        pure = [(i, part) for i, pair in steps if pair[0].kind in PURE for part in self._parts(i, pair)]
        gaussian = [
            log_likelihood(second) - log_likelihood(first)
            for _, (first, second) in steps
            if first.kind in GAUSSIAN
        ]
        return pure, gaussian

    def _parts(self, step: int, pair: tuple[Step, Step]) -> list[Part]:
        found = parts(*pair)
        return found if len(found) == self.counts[step] else [Part(0.0, 0.0)] * self.counts[step]


def likelihood_attack(
    method: Release,
    name: str,
    claim: Guarantee,
    X: Tables,
    y: Targets | None = None,
    *,
    pair: str,
    steady: float = STEADY,
) -> Attack:
    """X and y are two neighbouring tables; the score is the likelihood ratio of all that came out.

    Pure releases by matrix noise, and pure steps beside Gaussian ones, are scored part by part: their noises are
    independent. `steady` is how far the cost of such a step may vary between runs.
    """
    trials = Trials.of(method, claim, X, y)
    steps = trials.run(False)[0]
    kinds = {step.kind for step in steps} - {"public"}
    family = gaussian_family(claim.delta) if kinds and kinds <= GAUSSIAN else None
    if kinds == {"gaussian-sketch"}:
        family = sketch_family(claim.delta, steps[0].released.shape[1])
    mixed = claim.delta > 0 and kinds <= GAUSSIAN | PURE and bool(kinds & GAUSSIAN) and bool(kinds & PURE)
    apart = mixed or ("matrix-laplace" in kinds and kinds <= PURE and claim.delta == 0)
    by_parts = PartTrials.of(trials, steady) if apart else None
    if by_parts is not None and not by_parts.covers(steps):  # nothing to add up: all in one score
        by_parts, mixed = None, False
    groups = () if by_parts is None else by_parts.groups()
    return Attack(
        f"{name}: all that comes out" + ", by parts" * (by_parts is not None),
        pair,
        claim,
        trials.scores if by_parts is None else by_parts.scores,
        family=family,
        parts=groups,
        shift=sum(map(len, groups)) if mixed else None,
        slow=SLOW,
        discrete=bool(kinds) and kinds <= CHOICES,
        reach=trials.reach,
    )
