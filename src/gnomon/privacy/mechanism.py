"""A value, a sensitivity and a loss go in; a noisy value comes out, with the event that it cost.

Pure epsilon takes an L1 sensitivity (discrete Laplace) or a nuclear one (matrix Laplace); mu takes an L2 or
Frobenius one (rounded Gaussian, GOE); rho the same (discrete Gaussian). A sensitivity in another norm is
refused. Values are integers on a grid, so integer noise is the whole truth: value + round(Z) = round(value
+ Z) is post-processing of the ideal release. Scales are exact fractions rounded up to a double. An infinite
loss means no noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ZCDP, Adjacency, ApproxDP, GaussianDP, Guarantee, PureDP, Spendable
from gnomon.privacy.noise import sampler
from gnomon.privacy.rounding import float_up, fraction, root_up
from gnomon.privacy.sensitivity import Norm, Number, Sensitivity, moments

Integers = NDArray[np.int64]
MomentMechanism = Literal["auto", "matrix-laplace", "upper-laplace", "goe", "discrete-goe"]

_LARGEST_SCALE = 2.0**55  # noise of this scale still fits in 64 bits, up to a chance below e^-60
_ROUNDING = 1 / 12  # the variance that rounding to a whole number adds


@dataclass(frozen=True)
class NoiseLaw:
    """The standard deviation of the noise in units of the value; a vector has no off-diagonal of its own."""

    kind: str
    diagonal: float
    off_diagonal: float


@dataclass(frozen=True)
class Noise:
    """The noise that a statistic would meet, chosen without any data: how it is drawn, its scale and its law.

    `weights`, if any, are relative: coordinate i of a vector meets noise of scale `scale` times weights[i], and the
    sensitivity is that of the vector divided by its weights.
    """

    mechanism: str
    sensitivity: Sensitivity
    scale: float
    law: NoiseLaw
    weights: tuple[float, ...] | None = None

    def event(self, statistic: str, loss: Spendable | ApproxDP, words: str = "") -> Event:
        return Event(statistic, self.mechanism, self.sensitivity, self.scale, loss, words)


@dataclass(frozen=True)
class Event:
    """One use of the private rows: what was released, how, and what it cost; `words` go on about the mechanism."""

    statistic: str
    mechanism: str
    sensitivity: Sensitivity
    scale: float
    loss: Spendable | ApproxDP
    words: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a certificate, in a fixed order."""
        loss = self.loss
        spent = (
            {"epsilon": loss.epsilon, "delta": loss.delta}
            if isinstance(loss, ApproxDP)
            else dict([loss_parts(loss)])
        )
        return {
            "statistic": self.statistic,
            "mechanism": f"{self.mechanism}, {self.words}" if self.words else self.mechanism,
            "norm": self.sensitivity.norm.value,
            "sensitivity": float_up(self.sensitivity.value),
            "scale": self.scale,
            "loss": spent,
            "unit": self.sensitivity.unit.value,
            "adjacency": self.sensitivity.adjacency.value,
            "rows": self.sensitivity.rows,
        }


@dataclass(frozen=True)
class Released:
    """A noisy value, the law of its noise, and the event that it cost."""

    value: Integers
    noise: NoiseLaw
    event: Event


def loss_parts(loss: Spendable) -> tuple[str, float]:
    """The name and the amount of a loss: epsilon, mu or rho."""
    if isinstance(loss, PureDP):
        return "epsilon", loss.epsilon
    return ("mu", loss.mu) if isinstance(loss, GaussianDP) else ("rho", loss.rho)


# --- Scales ---


def _not_spendable(loss: object) -> ParameterError:
    return ParameterError(
        f"A mechanism spends PureDP, GaussianDP or ZCDP. Got {type(loss).__name__} instead: "
        "convert it with spendable first."
    )


def _check(sensitivity: Sensitivity, loss: Spendable, needed: dict[type, tuple[Norm, ...]]) -> None:
    allowed = needed.get(type(loss))
    if allowed is None:
        raise _not_spendable(loss)
    if sensitivity.norm not in allowed:
        names = " or ".join(norm.value for norm in allowed)
        raise ParameterError(
            f"A {type(loss).__name__} loss needs a sensitivity in the {names} norm. "
            f"Got {sensitivity.norm.value} instead."
        )
    if sensitivity.neighbours != loss.neighbours:
        raise ParameterError(
            f"The sensitivity protects one {sensitivity.unit.value} under {sensitivity.adjacency.value}, "
            f"the loss one {loss.unit.value} under {loss.adjacency.value}; they must agree."
        )


def _scale(distance: Fraction, loss: Spendable) -> float:
    """distance / epsilon, distance / mu or distance / sqrt(2 rho), rounded up; zero for an infinite loss."""
    amount = loss_parts(loss)[1]
    if math.isinf(amount):
        return 0.0
    exact = fraction(amount)
    scale = float_up(root_up(distance**2 / (2 * exact)) if isinstance(loss, ZCDP) else distance / exact)
    return _fitting(scale)


class _TooWideError(ParameterError):
    """A noise that would leave 64-bit integers."""


def _fitting(spread: float) -> float:
    """The spread of a noise, refused where it would leave 64-bit integers."""
    if spread > _LARGEST_SCALE:
        raise _TooWideError(
            "The loss is too small: its noise would not fit into 64-bit integers; "
            "spend more or use a coarser grid."
        )
    return spread


def _gaussian_std(sigma: float) -> float:
    return math.sqrt(sigma * sigma + _ROUNDING)


def _laplace_std(scale: float) -> float:
    """The discrete Laplace law with P(z) ~ e^(-|z|/scale) has variance 1 / (2 sinh^2(1 / (2 scale)))."""
    return 1 / (math.sqrt(2) * math.sinh(1 / (2 * scale))) if scale > 1e-3 else 0.0


# --- Vectors ---

_VECTOR_NORMS: dict[type, tuple[Norm, ...]] = {
    PureDP: (Norm.L1,),
    GaussianDP: (Norm.L2,),
    ZCDP: (Norm.L2,),
}


def vector_norm(loss: Spendable) -> Norm:
    """The norm in which a vector's sensitivity must be known to spend this loss."""
    return Norm.L1 if isinstance(loss, PureDP) else Norm.L2


def vector_noise(
    sensitivity: Sensitivity, loss: Spendable, weights: tuple[float, ...] | None = None
) -> Noise:
    """The mechanism, its scale and its law for a vector, without any data."""
    _check(sensitivity, loss, _VECTOR_NORMS)
    scale = _scale(sensitivity.value, loss)
    if scale == 0:
        return Noise("none", sensitivity, 0.0, NoiseLaw("none", 0.0, 0.0), weights)
    if isinstance(loss, PureDP):
        kind, std = "discrete-laplace", _laplace_std(scale)
    elif isinstance(loss, GaussianDP):
        kind, std = "rounded-gaussian", _gaussian_std(scale)
    else:
        kind, std = "discrete-gaussian", scale
    return Noise(kind, sensitivity, scale, NoiseLaw(kind, std, std), weights)


def release_vector(value: Integers, sensitivity: Sensitivity, loss: Spendable, *, statistic: str) -> Released:
    """Integers of any shape plus independent noise: a vector, or rows of which a record changes one."""
    noise = vector_noise(sensitivity, loss)
    return Released(value + draw(noise, _integers(value).shape), noise.law, noise.event(statistic, loss))


def draw(noise: Noise, shape: tuple[int, ...]) -> Integers:
    """Fresh noise of this shape: a matrix law draws (blocks, q, q), any other each coordinate by itself."""
    if noise.mechanism == "none":
        return np.zeros(shape, dtype=np.int64)
    sample = sampler(noise.mechanism)
    if noise.mechanism in _MOMENT_NORMS:
        blocks, q, _ = shape
        return np.asarray(sample(q, noise.scale, blocks))
    if noise.weights is None:
        return np.asarray(sample(noise.scale, shape))
    weights, found = np.broadcast_to(noise.weights, shape), np.zeros(shape, dtype=np.int64)
    for weight in np.unique(weights):
        mine = weights == weight
        scale = float_up(fraction(noise.scale) * fraction(float(weight)))
        found[mine] = sample(scale, (int(mine.sum()),))
    return found


def _integers(value: Integers) -> Integers:
    if not isinstance(value, np.ndarray) or value.dtype != np.int64:
        raise ParameterError(
            "A mechanism releases 64-bit integers on a grid; round the value to its grid first."
        )
    return value


# --- Moment matrices ---

_MOMENT_NORMS: dict[str, Norm] = {
    "matrix-laplace": Norm.NUCLEAR,
    "upper-laplace": Norm.L1,
    "goe": Norm.FROBENIUS,
    "discrete-goe": Norm.FROBENIUS,
}
_CHOICES: dict[type, tuple[str, ...]] = {
    PureDP: ("upper-laplace", "matrix-laplace"),
    GaussianDP: ("goe",),
    ZCDP: ("discrete-goe",),
}


def matrix_error(law: NoiseLaw, q: int) -> float:
    """Root mean square Frobenius error of one q x q block, in units of the value."""
    return math.sqrt(q * law.diagonal**2 + q * (q - 1) * law.off_diagonal**2)


def _moment_noise_by(mechanism: str, q: int, ball: Number, blocks: int, loss: Spendable) -> Noise:
    sensitivity = moments(
        _MOMENT_NORMS[mechanism], width=q, ball=ball, blocks=blocks, adjacency=loss.adjacency
    ).protecting(loss)
    _check(sensitivity, loss, {type(loss): (_MOMENT_NORMS[mechanism],)})
    # the difference of two Wisharts at scale s loses ||D||_* / (2 s)
    distance = sensitivity.value / 2 if mechanism == "matrix-laplace" else sensitivity.value
    scale = _scale(distance, loss)
    if scale == 0:
        return Noise("none", sensitivity, 0.0, NoiseLaw("none", 0.0, 0.0))
    if mechanism == "upper-laplace":
        diagonal = off_diagonal = _laplace_std(scale)
    elif mechanism == "matrix-laplace":
        diagonal = math.sqrt(4 * (q + 1) * scale**2 + _ROUNDING)
        off_diagonal = math.sqrt(2 * (q + 1) * scale**2 + _ROUNDING)
    else:
        diagonal, off_diagonal = _gaussian_std(scale), _gaussian_std(scale / math.sqrt(2))
    law = NoiseLaw(mechanism, _fitting(diagonal), off_diagonal)
    return Noise(mechanism, sensitivity, scale, law)


def moment_noise(
    q: int, loss: Spendable, *, ball: Number = 1, blocks: int = 1, mechanism: MomentMechanism = "auto"
) -> Noise:
    """The mechanism with the smallest expected error for a q x q moment matrix of rows in the ball, or the
    named one; one whose noise would leave 64-bit integers is no choice while another stays within.
    """
    choices = _CHOICES.get(type(loss))
    if choices is None:
        raise _not_spendable(loss)
    if mechanism != "auto" and mechanism not in choices:
        raise ParameterError(
            f"The 'mechanism' parameter must be 'auto' or {' or '.join(map(repr, choices))} "
            f"for a {type(loss).__name__} loss. Got {mechanism!r} instead."
        )
    named = choices if mechanism == "auto" else (mechanism,)
    found: list[Noise] = []
    for name in named:
        try:
            found.append(_moment_noise_by(name, q, ball, blocks, loss))
        except _TooWideError:
            if name == named[-1] and not found:
                raise
    return min(found, key=lambda noise: matrix_error(noise.law, q))


def release_moments(
    S: Integers,
    ball: int,
    loss: Spendable,
    *,
    statistic: str,
    adjacency: Adjacency,
    mechanism: MomentMechanism = "auto",
) -> Released:
    """Moment matrices S (L, q, q), one for each label, of integer rows with ||row||^2 <= ball: one loss
    covers them all.
    """
    shape = _integers(S).shape
    if len(shape) != 3 or shape[1] != shape[2] or 0 in shape:
        raise ParameterError(f"The moments must have the shape (blocks, q, q). Got {shape} instead.")
    if adjacency is not loss.adjacency:
        raise ParameterError(
            f"The release is for {adjacency.value}, the loss for {loss.adjacency.value}; they must agree."
        )
    blocks, q, _ = shape
    noise = moment_noise(q, loss, ball=ball, blocks=blocks, mechanism=mechanism)
    return Released(S + draw(noise, shape), noise.law, noise.event(statistic, loss))


def moment_error(
    q: int, loss: Spendable, *, ball: Number = 1, blocks: int = 1, mechanism: MomentMechanism = "auto"
) -> float:
    """Expected root mean square Frobenius error of one released moment matrix, without the grid's own
    rounding.

    In units of the rows: `ball` = 1 means unit rows. Grid rounding is left out, so unit balls can be asked
    about.
    """
    grid = 2**20  # fine enough that the rounding of the noise to the grid does not show
    noise = moment_noise(q, loss, ball=fraction(ball) * grid, blocks=blocks, mechanism=mechanism)
    return matrix_error(noise.law, q) / grid


def best_spend(guarantee: Guarantee, q: int, *, blocks: int = 1, share: float = 1.0) -> PureDP | GaussianDP:
    """How to spend a guarantee of which a q x q moment matrix gets a share: pure where its error is smaller.

    It is so for a small q and a large share: of a pure budget a share s buys s times the precision, of a Gaussian one
    sqrt(s) times.
    """
    spent = spendable(guarantee)
    if isinstance(spent, PureDP):
        return spent
    pure = PureDP(guarantee.epsilon, *guarantee.neighbours)
    errors = [moment_error(q, loss.split(share)[0], blocks=blocks) for loss in (pure, spent)]
    return pure if errors[0] <= errors[1] else spent
