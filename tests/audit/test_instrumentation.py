"""Watching a release and repeating its outcome on the neighbouring table."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.audit.instrumentation import SERIAL, ControlFlowDiverged, Step, Watch
from gnomon.audit.whole import CERTAIN, Trials
from gnomon.audit.worst import worst_pair
from gnomon.errors import GnomonWarning
from gnomon.methods import METHODS
from gnomon.privacy.guarantee import Adjacency, ApproxDP, PureDP
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import vector_noise
from gnomon.privacy.sensitivity import Norm, class_counts
from gnomon.statistics.queries import Count
from gnomon.table.rows import RowCache, Rows

CLAIM, LOOSE = PureDP(4.0), ApproxDP(4.0, 1e-5)
ADDED = PureDP(4.0, adjacency=Adjacency.ADD_REMOVE)


def trials(method: str, claim=CLAIM, *, same: bool = False) -> Trials:
    worst = worst_pair(method, claim)
    X, y = list(worst.X), None if worst.y is None else list(worst.y)
    if same:
        X[1] = X[0]
        if y is not None:
            y[1] = y[0]
    adjacency = claim.adjacency.value
    parameters = {"bounds": (-1.0, 1.0), "adjacency": adjacency, **worst.parameters}
    return Trials.of(METHODS[method](claim.epsilon, claim.delta, **parameters), claim, X, y)


@pytest.mark.parametrize("method", ["ron-gauss", "pca-gauss", "lda-identity", "exponential"])
def test_the_same_table_has_the_same_likelihood(method) -> None:
    scores = trials(method, same=True).scores(False, 5)
    assert (scores == 0.0).all()


@pytest.mark.parametrize("claim", [CLAIM, ADDED])
def test_a_repetition_ends_as_the_first_run_did_from_other_exact_values(claim) -> None:
    mine, others = trials("ron-gauss", claim).run(False)
    assert [step.kind for step in mine] == ["discrete-laplace", "matrix-laplace"]
    for step, other in zip(mine, others, strict=True):
        assert step.scale == other.scale
        assert (step.released == other.released).all()
        assert (step.exact != other.exact).any()
        assert (step.exact != step.released).any()


def test_later_steps_follow_the_outcome_of_earlier_ones() -> None:
    """The second step's frame comes from the first step's noise, so its exact value differs between runs (clipped rows
    may coincide in some)."""
    several = trials("modips")
    seconds = [several.run(True)[1][1].exact for _ in range(60)]
    assert any((second != seconds[0]).any() for second in seconds)


class NoNoiseError(Exception):
    pass


def refuse() -> Any:
    raise NoNoiseError


def test_a_repetition_draws_no_noise() -> None:
    watch, noise = Watch(), vector_noise(class_counts(Norm.L1, adjacency=Adjacency.REPLACE_ONE), CLAIM)
    watch.repeat([Step(noise.mechanism, noise.scale, np.array([1, 2]), np.array([5, 6]))])
    assert watch.outcome(noise, np.array([2, 1]), refuse).tolist() == [5, 6]
    assert watch.finish()[0].exact.tolist() == [2, 1]
    watch.note()
    with pytest.raises(NoNoiseError):
        watch.outcome(noise, np.array([2, 1]), refuse)


@pytest.mark.parametrize(
    ("kind", "exact"),
    [("rounded-gaussian", np.array([1, 2])), ("discrete-laplace", np.array([1, 2, 3]))],
    ids=["another law", "another shape"],
)
def test_another_step_is_refused(kind, exact) -> None:
    watch, noise = Watch(), vector_noise(class_counts(Norm.L1, adjacency=Adjacency.REPLACE_ONE), CLAIM)
    watch.repeat([Step(kind, noise.scale, exact, exact)])
    with pytest.raises(ControlFlowDiverged):
        watch.outcome(noise, np.array([2, 1]), refuse)


def test_a_step_more_or_less_is_refused() -> None:
    watch, noise = Watch(), vector_noise(class_counts(Norm.L1, adjacency=Adjacency.REPLACE_ONE), CLAIM)
    watch.repeat([])
    with pytest.raises(ControlFlowDiverged):
        watch.outcome(noise, np.array([2, 1]), refuse)
    watch.repeat([Step(noise.mechanism, noise.scale, np.array([1, 2]), np.array([5, 6]))])
    with pytest.raises(ControlFlowDiverged):
        watch.finish()


@pytest.mark.parametrize(
    ("method", "claim", "events"),
    [
        ("dprp", LOOSE, 2),  # rows and their moments are one event, and two steps
        ("pca-identity", CLAIM, 2),
        ("blocki", LOOSE, 1),
        ("pca-gauss", LOOSE, 3),
        ("ron-gauss", ADDED, 2),
    ],
)
def test_every_event_of_a_certificate_is_a_step_that_was_seen(method, claim, events) -> None:
    """A step that a certificate lists and no observer saw would be missing from the likelihood."""
    worst, watch = worst_pair(method, claim), Watch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        done = trials(method, claim).method.fit(
            worst.X[0], None if worst.y is None else worst.y[0], observer=watch, engine=SERIAL
        )
    assert len(done.events_) == events
    assert len(watch.steps) == len(done.answers_) == events + (method == "dprp")
    seen = {(step.kind, step.scale) for step in watch.steps}
    assert {(event.mechanism, event.scale) for event in done.events_} <= seen


@dataclass(eq=False, repr=False)
class AnotherRoad(gn.RonGauss):
    """Releases a second time when it does not like what it sees."""

    def _release(self, data, public, notes) -> None:
        super()._release(data, public, notes)
        if next(data.rows.parts()).load().X[0, 0] > 0:
            data.measure(Count("another look"), public.pure_budget)


def test_control_flow_that_depends_on_the_table_tells_it() -> None:
    worst = worst_pair("ron-gauss", CLAIM)
    method = AnotherRoad(4.0, bounds=(-1, 1), n_components=1, classes=[0, 1], random_state=0)
    several = Trials.of(method, CLAIM, worst.X, worst.y)
    with pytest.raises(ControlFlowDiverged):
        several.run(False)
    assert set(several.scores(False, 4)) == {-CERTAIN}
    assert set(several.scores(True, 4)) == {CERTAIN}


def test_the_serial_engine_folds_and_writes_every_part() -> None:
    cache = RowCache(1)
    for n in (2, 3):
        cache.append(Rows.of(np.zeros((n, 1))))
    assert Measurer(cache, SERIAL).engine.fold(cache, Count("n"), stage="") == 5
    lengths: list[int] = []
    SERIAL.write(cache, len, lengths.append, stage="")
    assert lengths == [2, 3]
