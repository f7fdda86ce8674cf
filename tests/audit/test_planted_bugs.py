"""Bugs that a release tool could have, planted one by one: the audit catches each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gnomon as gn
from gnomon.audit import attacks_on, audit
from gnomon.audit.methods import few_records, model_attack
from gnomon.audit.moments import moment_attack
from gnomon.audit.vectors import count_attack, sum_attack
from gnomon.privacy import mechanism
from gnomon.privacy.guarantee import ApproxDP, PureDP
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.release import dprp, pca_stages
from gnomon.release import map as public_map
from gnomon.statistics.grid import GRID

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
    right = mechanism._moment_draw

    def half(plan, blocks):
        return right(plan, blocks) * (np.arange(blocks) % 2)[:, None, None]

    monkeypatch.setattr(mechanism, "_moment_draw", half)
    finding = audit(moment_attack(2, ApproxDP(0.5, 1e-5), mechanism="goe", moved_label=True, learn=True), 80)
    assert finding.broken
    assert not finding.repeats


class LabelInTheClear(gn.RonGauss):
    """Publishes the shares of the classes as they are."""

    def _release(self, table, account) -> None:
        super()._release(table, account)
        counts = table.sum(
            lambda rows: np.bincount(rows.codes, minlength=2), np.zeros(2, int), stage="counting"
        )
        self.model_ = replace(self.model_, weights=counts / table.n)


def test_label_in_the_clear() -> None:
    method = LabelInTheClear(0.5, bounds=(-1, 1), classes=[0, 1], n_components=2, random_state=0)
    attack = model_attack(method, "planted", PureDP(0.5), *few_records(2), pair="another class")
    assert audit(attack, 60).broken


def test_clipping_removed(monkeypatch) -> None:
    def unclipped(U, fine, out=None):
        return np.rint(np.multiply(U, public_map.GRID / fine, out=out), out=out)

    monkeypatch.setattr(public_map, "into_ball", unclipped)
    assert audit(moment_attack(4, LOOSE, mechanism="goe", moved_label=True), 300).broken


class BoundsFromTheData(gn.RonGauss):
    """Takes the bounds of the columns from the rows."""

    def _open(self, X, y, progress):
        self.bounds = (X.min(), X.max())
        return super()._open(X, y, progress)


def test_bounds_from_the_data() -> None:
    method = BoundsFromTheData(0.5, n_components=2, random_state=0)
    X = np.tile([0.4, 0.6], (2, 30_000, 1))
    X[1, 0] = 1.0, 1.0  # one record lies farther out, and all others move
    assert audit(model_attack(method, "planted", PureDP(0.5), X, pair="an outlier"), 40).broken


def test_seeded_noise(monkeypatch) -> None:
    right = mechanism._moment_draw

    def seeded(plan, blocks):
        with fixed_noise(7):
            return right(plan, blocks)

    monkeypatch.setattr(mechanism, "_moment_draw", seeded)
    finding = audit(moment_attack(2, LOOSE, mechanism="goe"), 20)
    assert finding.repeats
    assert finding.broken


# --- bugs of whole methods, which the likelihood of all that comes out finds ---


def test_pca_gauss_charges_a_smaller_ball_than_its_rows_lie_in(monkeypatch) -> None:
    monkeypatch.setattr(pca_stages, "ball", lambda lam, extra=0: (GRID**2 + lam**2 + extra) // 4)
    whole = attacks_on("pca-gauss", epsilon=4.0, delta=1e-5)[-2]
    assert whole.reach is not None
    assert whole.reach() > 3 * 4.0
    assert audit(whole, 120).broken


def test_dprp_understates_rows_with_their_moments(monkeypatch) -> None:
    right = dprp.joint_release

    def understated(ball, share):
        sensitivity, ratio = right(ball, share)
        return replace(sensitivity, value=sensitivity.value / 4), ratio

    monkeypatch.setattr(dprp, "joint_release", understated)
    whole = attacks_on("dprp", epsilon=4.0, delta=1e-5)[-2]
    assert audit(whole, 120).broken


def test_dprp_releases_its_moments_without_noise(monkeypatch) -> None:
    monkeypatch.setattr(dprp, "noisy_moments", lambda sums, noise: sums.astype(np.float64))
    assert audit(attacks_on("dprp", epsilon=4.0, delta=1e-5)[-2], 160).broken
