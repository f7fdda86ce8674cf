"""Watching a release and repeating its outcome on the neighbouring table."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.audit.doors import OtherRoadError, watched
from gnomon.audit.whole import CERTAIN, Trials, likelihood_attack
from gnomon.audit.worst import worst_pair
from gnomon.privacy import mechanism
from gnomon.privacy.guarantee import ApproxDP, PureDP
from gnomon.release import METHODS, dprp, rows

CLAIM = PureDP(4.0)


def trials(method: str, claim=CLAIM, *, same: bool = False) -> Trials:
    worst = worst_pair(method, claim)
    X = worst.X.copy()
    y = None if worst.y is None else worst.y.copy()
    if same:
        X[1] = X[0]
        if y is not None:
            y[1] = y[0]
    made = METHODS[method](claim.epsilon, claim.delta, bounds=(-1.0, 1.0), **worst.parameters)
    return Trials.of(made, claim, X, y)


@pytest.mark.parametrize("method", ["ron-gauss", "pca-gauss", "lda-identity", "exponential"])
def test_the_same_table_has_the_same_likelihood(method) -> None:
    scores = trials(method, same=True).scores(False, 5)
    assert (scores == 0.0).all()


def test_a_repetition_ends_as_the_first_run_did_from_other_exact_values() -> None:
    with watched() as watch:
        mine, others = trials("ron-gauss").run(watch, False)
    assert [step.kind for step in mine] == ["discrete-laplace", "matrix-laplace"]
    for step, other in zip(mine, others, strict=True):
        assert step.scale == other.scale
        assert (step.released == other.released).all()
        assert (step.exact != other.exact).any()
        assert (step.exact != step.released).any()


def test_later_steps_follow_the_outcome_of_earlier_ones() -> None:
    """The second step's map comes from the first step's noise, so its exact value differs between runs (clipped rows
    may coincide in some)."""
    with watched() as watch:
        several = trials("modips")
        seconds = [several.run(watch, True)[1][1].exact for _ in range(60)]
    assert any((second != seconds[0]).any() for second in seconds)


def test_all_doors_are_as_before() -> None:
    before = (mechanism.release_vector, mechanism._moment_draw, rows.map_batches, dprp.noisy_moments)
    with watched():
        assert mechanism.release_vector is not before[0]
        assert rows.map_batches is not before[2]
    assert (mechanism.release_vector, mechanism._moment_draw, rows.map_batches, dprp.noisy_moments) == before


def test_every_step_of_an_account_went_through_a_door() -> None:
    """A step that a certificate lists and no door saw would be missing from the likelihood."""
    for method, claim in (
        ("dprp", ApproxDP(4.0, 1e-5)),
        ("pca-identity", CLAIM),
        ("blocki", ApproxDP(4.0, 1e-5)),
    ):
        several = trials(method, claim)
        with watched() as watch:
            steps = several.run(watch, False)[0]
        # rows and their moments are one event of DPRP, and the sketches of three classes one of Blocki's
        assert len(steps) == {"dprp": 3, "pca-identity": 2, "blocki": 3}[method]


class AnotherRoad(gn.RonGauss):
    """Releases a second time when it does not like what it sees."""

    def _release(self, table, account) -> None:
        super()._release(table, account)
        if table.sum(lambda rows: np.array([rows.X[0, 0]]), np.zeros(1), stage="looking")[0] > 0:
            super()._release(table, account)


def test_a_road_that_depends_on_the_table_tells_it() -> None:
    worst = worst_pair("ron-gauss", CLAIM)
    method = AnotherRoad(4.0, bounds=(-1, 1), n_components=1, classes=[0, 1], random_state=0)
    several = Trials.of(method, CLAIM, worst.X, worst.y)
    with watched() as watch, pytest.raises(OtherRoadError):
        several.run(watch, False)
    attack = likelihood_attack(
        gn.RonGauss(4.0, bounds=(-1, 1), classes=[0, 1]), "x", CLAIM, worst.X, worst.y, pair=""
    )
    assert attack.slow > 1
    assert set(several.scores(False, 4)) == {-CERTAIN}
    assert set(several.scores(True, 4)) == {CERTAIN}
