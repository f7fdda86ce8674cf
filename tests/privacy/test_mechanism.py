"""The scale is sensitivity over loss, the noise has that scale, and the wrong norm is refused."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from gnomon.errors import ParameterError
from gnomon.privacy.accounting import mu_of, rho_of, spendable
from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, PureDP, Unit
from gnomon.privacy.mechanism import (
    Released,
    best_spend,
    draw,
    moment_error,
    moment_noise,
    release_moments,
    release_vector,
    vector_noise,
)
from gnomon.privacy.sensitivity import Norm, Sensitivity, moments

REPLACE, ADD = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE
LOSSES = [PureDP(0.7), GaussianDP(0.4), ZCDP(0.1)]


def sensitivity_for(loss: object, value: float = 5) -> Sensitivity:
    return Sensitivity(Norm.L1 if isinstance(loss, PureDP) else Norm.L2, Fraction(value), adjacency=REPLACE)


def looks_like(noise: np.ndarray, std: float) -> bool:
    """Is the spread within 12% of `std`? For 4,000 values that is over 7 standard errors; 30% off is 15."""
    return bool(0.88 < noise.std() / std < 1.12)


# --- vectors ---


@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_of_a_vector_is_sensitivity_over_loss(loss) -> None:
    noise = vector_noise(sensitivity_for(loss), loss)
    kind, scale, law = noise.mechanism, noise.scale, noise.law
    expected = {"PureDP": 5 / 0.7, "GaussianDP": 5 / 0.4, "ZCDP": 5 / math.sqrt(0.2)}[type(loss).__name__]
    assert scale == pytest.approx(expected, rel=1e-15)
    exact = {"PureDP": Fraction(5) / Fraction(0.7), "GaussianDP": Fraction(5) / Fraction(0.4)}
    assert Fraction(scale) >= exact.get(type(loss).__name__, 0)
    assert law.diagonal == pytest.approx(
        expected * (math.sqrt(2) if kind == "discrete-laplace" else 1), rel=0.01
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_vector_noise_has_the_announced_law_and_no_other(loss) -> None:
    value = np.arange(6000, dtype=np.int64).reshape(100, 60)
    released = release_vector(value, sensitivity_for(loss, 50), loss, statistic="rows")
    noise = released.value - value
    assert noise.shape == value.shape
    assert noise.dtype == np.int64
    assert abs(noise.mean()) < 7 * released.noise.diagonal / math.sqrt(noise.size)
    assert looks_like(noise, released.noise.diagonal)
    assert not looks_like(1.3 * noise, released.noise.diagonal)
    assert not looks_like(noise / 1.3, released.noise.diagonal)
    assert (value == np.arange(6000).reshape(100, 60)).all()


@pytest.mark.parametrize("loss", [PureDP(math.inf), GaussianDP(math.inf), ZCDP(math.inf)])
def test_an_infinite_loss_adds_nothing(loss) -> None:
    value = np.array([1, -2, 3], dtype=np.int64)
    released = release_vector(value, sensitivity_for(loss), loss, statistic="sum")
    assert (released.value == value).all()
    assert (released.event.scale, released.noise.diagonal, released.event.mechanism) == (0.0, 0.0, "none")
    S = np.ones((2, 3, 3), dtype=np.int64)
    matrix = release_moments(S, 9, loss, statistic="moments", adjacency=REPLACE)
    assert (matrix.value == S).all()
    assert moment_error(3, loss) == 0.0


def test_discrete_laplace_variance_is_exact_for_small_scales() -> None:
    for scale in (0.2, 0.5, 1.0, 3.0):
        k = np.arange(-2000, 2001)
        p = np.exp(-np.abs(k) / scale)
        truth = math.sqrt((p * k * k).sum() / p.sum())
        law = vector_noise(Sensitivity(Norm.L1, Fraction(scale), adjacency=REPLACE), PureDP(1.0)).law
        assert law.diagonal == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_weights_scale_the_noise_of_each_coordinate(loss) -> None:
    noise = vector_noise(sensitivity_for(loss, 50), loss, weights=(1.0, 0.5))
    drawn = draw(noise, (3000, 2))
    assert looks_like(drawn[:, 0], noise.law.diagonal)
    assert looks_like(drawn[:, 1], noise.law.diagonal / 2)
    assert not looks_like(drawn[:, 1], noise.law.diagonal / 2 * 1.3)


# --- moment matrices ---


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("adjacency", [REPLACE, ADD])
@pytest.mark.parametrize(
    ("kind", "name", "norm"),
    [
        (PureDP, "matrix-laplace", Norm.NUCLEAR),
        (PureDP, "upper-laplace", Norm.L1),
        (GaussianDP, "goe", Norm.FROBENIUS),
        (ZCDP, "discrete-goe", Norm.FROBENIUS),
    ],
)
def test_the_scale_of_moments_is_sensitivity_over_loss(kind, name, norm, adjacency, blocks) -> None:
    loss = kind(0.5, adjacency=adjacency)
    q, T = 5, 1000
    noise = moment_noise(q, loss, ball=T, blocks=blocks, mechanism=name)
    sensitivity = moments(norm, width=q, ball=T, blocks=blocks, adjacency=adjacency)
    assert noise.sensitivity == sensitivity
    spent = {"matrix-laplace": 2 * 0.5, "discrete-goe": math.sqrt(2 * 0.5)}.get(name, 0.5)
    assert noise.scale == pytest.approx(float(sensitivity.value) / spent, rel=1e-12)
    assert Fraction(noise.scale) * Fraction(spent) >= sensitivity.value * (1 - Fraction(1, 2**50))


def test_goe_loses_exactly_its_mu() -> None:
    noise = moment_noise(6, GaussianDP(0.3), ball=2**32)
    assert noise.sensitivity.norm is Norm.FROBENIUS
    mu = noise.sensitivity.value / Fraction(noise.scale)
    assert mu <= Fraction(0.3)
    assert float(mu) == pytest.approx(0.3, rel=1e-14)


def _draws(loss, name: str, q: int, count: int) -> tuple[np.ndarray, Released]:
    S = np.broadcast_to(np.arange(q * q, dtype=np.int64).reshape(q, q), (count, q, q)).copy()
    released = release_moments(S, 4000, loss, statistic="moments", adjacency=REPLACE, mechanism=name)  # type: ignore[arg-type]
    return released.value - S, released


@pytest.mark.parametrize(
    ("loss", "name", "count"),
    [
        (PureDP(1.0), "matrix-laplace", 1500),
        (PureDP(1.0), "upper-laplace", 2500),
        (GaussianDP(1.0), "goe", 2500),
        (ZCDP(0.5), "discrete-goe", 1000),
    ],
)
def test_moment_noise_is_symmetric_with_the_announced_law(loss, name, count) -> None:
    noise, released = _draws(loss, name, 4, count)
    assert released.event.mechanism == name
    assert (noise == noise.transpose(0, 2, 1)).all()
    diagonal = noise[:, np.arange(4), np.arange(4)]
    beside = noise[(slice(None), *np.triu_indices(4, 1))]
    for part, std in ((diagonal, released.noise.diagonal), (beside, released.noise.off_diagonal)):
        assert abs(part.mean()) < 7 * std / math.sqrt(part.size)
        assert looks_like(part, std)
        assert not looks_like(1.3 * part, std)
        assert not looks_like(part / 1.3, std)
    # the blocks are independent of each other
    assert abs(np.corrcoef(beside[:-1].ravel(), beside[1:].ravel())[0, 1]) < 7 / math.sqrt(beside.size)


# --- the error table, and the choices made from it ---

TABLE = {
    "upper-laplace": [6.3, 20.4, 72.4, 272, 1056, 4160],
    "matrix-laplace": [6.0, 14.1, 36.0, 96.2, 264, 735],
    "discrete-goe": [9.9, 18.1, 34.3, 66.7, 131, 261],
    "goe": [9.1, 16.7, 31.7, 61.5, 121, 241],
}


@pytest.mark.parametrize("name", TABLE)
def test_expected_errors_match_the_table(name: str) -> None:
    """Root mean square Frobenius error at epsilon 1, delta 1e-5, unit rows, for 2 to 64 columns."""
    loss = {
        "goe": GaussianDP(mu_of(1.0, 1e-5)),
        "discrete-goe": ZCDP(rho_of(1.0, 1e-5)),
    }.get(name, PureDP(1.0))
    for q, printed in zip((2, 4, 8, 16, 32, 64), TABLE[name], strict=True):
        found = moment_error(q, loss, mechanism=name)  # type: ignore[arg-type]
        assert found == pytest.approx(printed, rel=0.006, abs=0.05)


def test_closed_forms_of_the_errors() -> None:
    for p in (2, 4, 8):
        assert moment_error(p, PureDP(2.0), mechanism="matrix-laplace") == pytest.approx(
            (p + 1) * math.sqrt(2 * p) / 2, rel=1e-6
        )
        assert moment_error(p, PureDP(1.0), mechanism="upper-laplace") == pytest.approx(
            p * math.sqrt(p * p + 2 * p + 2), rel=1e-6
        )
        assert moment_error(p, GaussianDP(1.0)) == pytest.approx(math.sqrt(p * (p + 1)), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "first_gaussian"), [(0.5, 6), (1.0, 6), (2.0, 7), (4.0, 9), (8.0, 11)])
def test_pure_is_spent_where_its_error_is_smaller(epsilon: float, first_gaussian: int) -> None:
    asked = ApproxDP(epsilon, 1e-5)
    chosen = [type(best_spend(asked, q)) for q in range(1, 20)]
    assert chosen == [PureDP] * (first_gaussian - 1) + [GaussianDP] * (20 - first_gaussian)


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_a_small_share_is_spent_as_gaussian_sooner(share: float) -> None:
    asked = ApproxDP(4.0, 1e-5)
    pure, gaussian = PureDP(4.0), spendable(asked)
    for q in range(1, 12):
        errors = [moment_error(q, loss.split(share)[0]) for loss in (pure, gaussian)]
        assert type(best_spend(asked, q, share=share)) is (PureDP if errors[0] <= errors[1] else GaussianDP)
    assert isinstance(best_spend(asked, 6), PureDP)
    assert isinstance(best_spend(asked, 6, share=0.25), GaussianDP)


def test_a_pure_guarantee_is_never_spent_as_gaussian() -> None:
    assert best_spend(PureDP(1.0), 500) == PureDP(1.0)


def test_best_spend_keeps_unit_and_adjacency() -> None:
    for q in (2, 50):
        spent = best_spend(ApproxDP(1.0, 1e-5, adjacency=ADD), q)
        assert spent.adjacency is ADD


def test_the_best_pure_mechanism_is_chosen_by_its_error() -> None:
    assert moment_noise(1, PureDP(1.0), ball=100).mechanism == "upper-laplace"
    assert moment_noise(2, PureDP(1.0), ball=100).mechanism == "matrix-laplace"
    assert moment_noise(17, PureDP(1.0), ball=100, blocks=3).mechanism == "matrix-laplace"


# --- events, and what is refused ---


def test_an_event_is_frozen_and_plain() -> None:
    loss = GaussianDP(0.5)
    released = release_moments(
        np.zeros((2, 2, 2), np.int64), 100, loss, statistic="moments", adjacency=REPLACE
    )
    event = released.event
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.scale = 1.0  # type: ignore[misc]
    plain = event.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["mechanism"] == "goe"
    assert plain["norm"] == "Frobenius"
    assert plain["loss"] == {"mu": 0.5}
    assert plain["sensitivity"] / plain["scale"] == pytest.approx(0.5)
    assert plain["adjacency"] == "replace-one"


def _vector(loss: object, norm: Norm = Norm.L1, **kinds: object) -> object:
    sensitivity = Sensitivity(norm, Fraction(1), **{"adjacency": REPLACE, **kinds})  # type: ignore[arg-type]
    return release_vector(np.zeros(3, np.int64), sensitivity, loss, statistic="sum")  # type: ignore[arg-type]


def _matrix(S: object = None, loss: object = None, **kinds: object) -> object:
    S = np.zeros((1, 2, 2), np.int64) if S is None else S
    given = {"statistic": "moments", "adjacency": REPLACE, **kinds}
    return release_moments(S, 100, loss or PureDP(1.0), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: _vector(PureDP(1.0), Norm.L2), "L1 norm. Got L2"),
        (lambda: _vector(PureDP(1.0), Norm.NUCLEAR), "L1 norm. Got nuclear"),
        (lambda: _vector(GaussianDP(1.0), Norm.L1), "L2 norm. Got L1"),
        (lambda: _vector(GaussianDP(1.0), Norm.FROBENIUS), "L2 norm. Got Frobenius"),
        (lambda: _vector(ZCDP(1.0), Norm.L1), "L2 norm. Got L1"),
        (lambda: _vector(ApproxDP(1.0, 1e-5)), "ApproxDP instead: convert it with spendable"),
        (lambda: _vector(PureDP(1.0), adjacency=ADD), "they must agree"),
        (lambda: _vector(PureDP(1.0), unit=Unit.ATTRIBUTE), "they must agree"),
        (lambda: _vector(PureDP(1e-30)), "64-bit integers"),
        (lambda: moment_noise(784, PureDP(1.0), ball=2**53), "64-bit integers"),
        (lambda: _matrix(loss=ApproxDP(1.0, 1e-5)), "ApproxDP instead: convert it with spendable"),
        (lambda: _matrix(loss=PureDP(1.0), mechanism="goe"), "'mechanism' parameter"),
        (lambda: _matrix(loss=PureDP(1.0, adjacency=ADD)), "they must agree"),
        (lambda: _matrix(loss=PureDP(1.0, Unit.ATTRIBUTE)), "they must agree"),
        (lambda: _matrix(np.zeros((2, 2), np.int64)), "shape"),
        (lambda: _matrix(np.zeros((1, 2, 3), np.int64)), "shape"),
        (lambda: _matrix(np.zeros((1, 2, 2))), "64-bit integers on a grid"),
    ],
)
def test_what_would_not_be_private_is_refused(call, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        call()


def test_a_mechanism_that_leaves_64_bits_is_no_choice_while_another_stays_within() -> None:
    """At 784 columns and the smallest epsilon, Laplace noise on every entry is too wide, matrix Laplace is not."""
    loss, T = PureDP(0.5e-4), 5 * 2**30
    with pytest.raises(ParameterError, match="64-bit integers"):
        moment_noise(784, loss, ball=T, mechanism="upper-laplace")
    assert moment_noise(784, loss, ball=T).mechanism == "matrix-laplace"
