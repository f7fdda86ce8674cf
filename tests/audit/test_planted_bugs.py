"""Bugs that a release tool could have, planted one by one: the audit catches each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import gnomon as gn
from gnomon.audit import attacks_on, audit
from gnomon.audit.instrumentation import ControlFlowDiverged
from gnomon.audit.methods import few_records, model_attack
from gnomon.audit.moments import moment_attack
from gnomon.audit.vectors import count_attack, sum_attack
from gnomon.audit.whole import likelihood_attack
from gnomon.audit.worst import worst_pair
from gnomon.methods import dprp_rows
from gnomon.methods.baseline.exponential import BestDatabase
from gnomon.privacy import mechanism
from gnomon.privacy.guarantee import Adjacency, ApproxDP, PureDP, declared
from gnomon.privacy.mechanism import Noise, NoiseLaw
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.statistics import frame
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import Count, Location, Moments

LOOSE = ApproxDP(4.0, 1e-5)


@pytest.fixture
def half_the_noise(monkeypatch):
    right = mechanism._scale
    monkeypatch.setattr(mechanism, "_scale", lambda distance, loss: right(distance, loss) / 2)


@pytest.mark.usefixtures("half_the_noise")
@pytest.mark.parametrize(
    ("attack", "runs"),
    [
        (lambda: moment_attack(40, LOOSE, mechanism="goe"), 6000),
        (lambda: sum_attack(LOOSE, 4), 6000),
        (lambda: count_attack(PureDP(1.0)), 20_000),
        (lambda: moment_attack(1, PureDP(1.0), mechanism="upper-laplace", moved_label=True), 20_000),
        (lambda: moment_attack(2, PureDP(1.0), mechanism="matrix-laplace"), 60_000),
    ],
    ids=["goe", "rounded-gaussian", "discrete-laplace", "upper-laplace", "matrix-laplace"],
)
def test_noise_halved(attack, runs) -> None:
    assert audit(attack(), runs).broken


def test_one_class_unnoised(monkeypatch) -> None:
    right = mechanism.draw

    def half(noise, shape):
        return right(noise, shape) * (np.arange(shape[0]) % 2)[:, None, None]

    monkeypatch.setattr(mechanism, "draw", half)
    finding = audit(moment_attack(2, ApproxDP(0.5, 1e-5), mechanism="goe", moved_label=True, learn=True), 80)
    assert finding.broken
    assert not finding.repeats


@dataclass(eq=False, repr=False)
class LabelInTheClear(gn.RonGauss):
    """Publishes the shares of the classes as they are."""

    def _release(self, data, public, notes) -> None:
        super()._release(data, public, notes)
        counts = sum(np.bincount(part.load().codes, minlength=2) for part in data.rows.parts())
        self.model_ = replace(self.model_, weights=counts / public.rows)


def test_label_in_the_clear() -> None:
    method = LabelInTheClear(0.5, bounds=(-1, 1), classes=[0, 1], n_components=2, random_state=0)
    few = few_records(2)
    attack = model_attack(method, "planted", PureDP(0.5), few.X, few.y, pair="another class")
    assert audit(attack, 60).broken


def test_clipping_removed(monkeypatch) -> None:
    def unclipped(U, fine, out=None):
        return np.rint(np.multiply(U, GRID / fine, out=out), out=out)

    monkeypatch.setattr(frame, "into_ball", unclipped)
    assert audit(moment_attack(4, LOOSE, mechanism="goe", moved_label=True), 300).broken


@dataclass(eq=False, repr=False)
class BoundsFromTheData(gn.RonGauss):
    """Takes the bounds of the columns from the rows."""

    def fit(self, X, y=None, **more):
        self.bounds = (X.min(), X.max())
        return super().fit(X, y, **more)


def test_bounds_from_the_data() -> None:
    method = BoundsFromTheData(0.5, n_components=2, random_state=0)
    X = np.tile([0.4, 0.6], (2, 30_000, 1))
    X[1, 0] = 1.0, 1.0  # one record lies farther out, and all others move
    assert audit(model_attack(method, "planted", PureDP(0.5), X, pair="an outlier"), 40).broken


def test_seeded_noise(monkeypatch) -> None:
    right = mechanism.draw

    def seeded(noise, shape):
        with fixed_noise(7):
            return right(noise, shape)

    monkeypatch.setattr(mechanism, "draw", seeded)
    finding = audit(moment_attack(2, LOOSE, mechanism="goe"), 20)
    assert finding.repeats
    assert finding.broken


# --- bugs of whole methods, which the likelihood of all that comes out finds ---


def test_pca_gauss_charges_a_smaller_ball_than_its_rows_lie_in(monkeypatch) -> None:
    right = Moments.ball.fget
    monkeypatch.setattr(Moments, "ball", property(lambda self: right(self) // 4))
    whole = attacks_on("pca-gauss", epsilon=4.0, delta=1e-5)[-2]
    assert whole.reach is not None
    assert whole.reach() > 3 * 4.0
    assert audit(whole, 120).broken


def test_dprp_understates_rows_with_their_moments(monkeypatch) -> None:
    right = dprp_rows.joint_release

    def understated(ball, share):
        sensitivity, ratio = right(ball, share)
        return replace(sensitivity, value=sensitivity.value / 4), ratio

    monkeypatch.setattr(dprp_rows, "joint_release", understated)
    whole = attacks_on("dprp", epsilon=4.0, delta=1e-5)[-2]
    assert audit(whole, 120).broken


def test_dprp_releases_its_moments_without_noise(monkeypatch) -> None:
    none = Noise("none", None, 0.0, NoiseLaw("none", 0.0, 0.0))
    monkeypatch.setattr(dprp_rows.LabelledRows, "moment_noise", lambda self, loss: none)
    assert audit(attacks_on("dprp", epsilon=4.0, delta=1e-5)[-2], 160).broken


def test_the_exponential_mechanism_forgets_the_two(monkeypatch) -> None:
    """Its noise has scale s / epsilon where 2 s / epsilon is needed."""
    right = BestDatabase.noise
    monkeypatch.setattr(
        BestDatabase,
        "noise",
        lambda self, loss: replace(right(self, loss), scale=right(self, loss).scale / 2),
    )
    for adjacency in ("replace-one", "add-remove"):
        assert attacks_on("exponential", epsilon=1.5, adjacency=adjacency)[-2].reach() > 1.7 * 1.5


# --- bugs of a private number of rows, which a record that is added or removed finds ---

ADDED, ADDED_LOOSE = (
    PureDP(4.0, adjacency=Adjacency.ADD_REMOVE),
    ApproxDP(4.0, 1e-5, adjacency=Adjacency.ADD_REMOVE),
)


def added(method: gn.RonGauss, claim) -> object:
    worst = worst_pair("ron-gauss", claim)
    method.set_params(bounds=(-1.0, 1.0), adjacency="add-remove", **worst.parameters)
    return likelihood_attack(method, "planted", claim, worst.X, worst.y, pair="one record more")


@dataclass(eq=False, repr=False)
class CountInTheClear(gn.RonGauss):
    """Counts the rows without noise."""

    def _release(self, data, public, notes) -> None:
        data.measure(Count("number of rows"), PureDP(np.inf, adjacency=Adjacency.ADD_REMOVE))
        super()._release(data, public, notes)


def test_a_private_number_of_rows_in_the_clear() -> None:
    attack = added(CountInTheClear(1.0), PureDP(1.0, adjacency=Adjacency.ADD_REMOVE))
    assert attack.reach() == np.inf
    assert audit(attack, 60).broken


@dataclass(eq=False, repr=False)
class StepsByTheNumberOfRows(gn.RonGauss):
    """Measures once more where there are many rows."""

    def _release(self, data, public, notes) -> None:
        super()._release(data, public, notes)
        if data.rows.n >= 300:
            data.measure(Count("number of rows"), public.pure_budget)


def test_control_flow_by_a_private_number_of_rows() -> None:
    method, worst = StepsByTheNumberOfRows(4.0), worst_pair("ron-gauss", ADDED)
    assert [len(X) for X in worst.X] == [299, 300]
    method.set_params(bounds=(-1.0, 1.0), adjacency="add-remove", **worst.parameters)
    with pytest.raises(ControlFlowDiverged):
        likelihood_attack(method, "planted", ADDED, worst.X, worst.y, pair="one record more")


@pytest.mark.parametrize("claim", [ADDED, ADDED_LOOSE], ids=["pure", "gaussian"])
def test_a_count_that_its_sensitivity_forgets(claim, monkeypatch) -> None:
    """The constant coordinate of the location is summed and not charged for."""
    right = Location.sensitivity
    monkeypatch.setattr(
        Location, "sensitivity", lambda self, norm, loss: right(replace(self, constant=0), norm, loss)
    )
    attack = added(gn.RonGauss(claim.epsilon, claim.delta), claim)
    assert attack.reach() > claim.epsilon * 1.005  # the location is a tenth of the budget


@pytest.mark.parametrize(
    ("epsilon", "delta", "factor", "runs"),
    [(2.0, 0.0, 4, 240), (4.0, 1e-5, 2, 160)],
    ids=["pure", "gaussian"],
)
def test_too_little_noise_under_a_record_more(epsilon, delta, factor, runs, monkeypatch) -> None:
    """With the noise fixed for the test, which is so short that other noise would once in a while hide the bug."""
    right = mechanism._scale
    monkeypatch.setattr(mechanism, "_scale", lambda distance, loss: right(distance, loss) / factor)
    claim = declared(epsilon, delta, adjacency=Adjacency.ADD_REMOVE)
    with fixed_noise(5):
        finding = audit(added(gn.RonGauss(epsilon, delta), claim), runs)
    assert finding.broken
    assert not finding.repeats
