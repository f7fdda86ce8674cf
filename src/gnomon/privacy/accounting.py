"""How losses add up, and what they mean as (epsilon, delta): exact conversions, rounded so that the promise
holds.

Every number that could weaken a guarantee is computed to 60 digits and rounded to the safe side: `mu` and
`rho` down, `epsilon` and `delta` up. Proofs and references: docs/explanation/proofs/composition.md.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from mpmath import MPContext

from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, Loss, PureDP, Spendable
from gnomon.privacy.rounding import float_up, fraction, root_up

_DIGITS = 60  # and as many again as the cancellation in delta takes away
_Number = Any  # an mpmath number; mpmath carries no types
_thread = threading.local()


def _mp() -> Any:
    """A context of this thread: mpmath changes its precision while it works, so none is shared."""
    if not hasattr(_thread, "mp"):
        _thread.mp = MPContext()
        _thread.mp.dps = _DIGITS
    return _thread.mp


def _up(value: _Number) -> float:
    """The double just above an mpmath number that is right to 50 digits."""
    nearest = float(value)
    return nearest if nearest > value else math.nextafter(nearest, math.inf)


def _down(value: _Number) -> float:
    nearest = float(value)
    return nearest if nearest < value else math.nextafter(nearest, -math.inf)


def _check_epsilon(epsilon: float, *, zero: bool = False) -> None:
    if not (epsilon > 0 or (zero and epsilon == 0)):
        raise ParameterError(f"The 'epsilon' parameter must be a positive number. Got {epsilon} instead.")


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ParameterError(f"The 'delta' parameter must be in (0, 1). Got {delta} instead.")


def _check_loss(name: str, value: float) -> None:
    if not value > 0:
        raise ParameterError(f"The '{name}' parameter must be a positive number. Got {value} instead.")


def _last_true(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest double in [low, high) for which a monotone condition holds; it holds at low and not at
    high.
    """
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return low
        if holds(middle):
            low = middle
        else:
            high = middle


# --- Gaussian: Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022, Corollary 2.13 ---


def _gaussian_delta(mu: float, epsilon: float, pure: float = 0.0) -> _Number:
    """delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2).

    With a pure loss beside it: the worst pure release tells one bit, right with odds e^pure, and shifts
    epsilon by it: p delta(epsilon - pure) + (1 - p) delta(epsilon + pure) for p = e^pure / (1 + e^pure).
    """
    mp = _mp()
    # the two terms differ by a share of about mu^2 / (mu + epsilon)
    lost = max(0.0, -2 * math.log10(mu), math.log10(max(float(abs(epsilon)), 1.0)) - 2 * math.log10(mu))
    with mp.workdps(_DIGITS + int(lost)):
        m, e = mp.mpf(mu), mp.mpf(epsilon)
        if pure:
            right, shift = 1 / (1 + mp.exp(-mp.mpf(pure))), mp.mpf(pure)
            return right * _gaussian_delta(mu, e - shift) + (1 - right) * _gaussian_delta(mu, e + shift)
        return mp.ncdf(-e / m + m / 2) - mp.exp(e) * mp.ncdf(-e / m - m / 2)


def _check_pure(pure: float, below: float = math.inf) -> None:
    if not 0 <= pure < below:
        limit = "" if math.isinf(below) else f" and below epsilon = {below}"
        raise ParameterError(f"The 'pure' parameter must be at least 0{limit}. Got {pure} instead.")


@lru_cache(maxsize=4096)
def delta_of(mu: float, epsilon: float, *, pure: float = 0.0) -> float:
    """The smallest delta for which mu-Gaussian privacy (and a pure loss beside it) is (epsilon, delta)-DP,
    rounded up.

    Parameters
    ----------
    mu : the Gaussian loss.
    epsilon : the epsilon that is declared.
    pure : a pure epsilon that is spent beside it.

    Examples
    --------
    >>> 9e-7 < delta_of(0.2367, epsilon=1.0) < 1e-6
    True
    """
    _check_loss("mu", mu)
    _check_epsilon(epsilon, zero=True)
    _check_pure(pure)
    if math.isinf(epsilon):
        return 0.0
    return 1.0 if math.isinf(mu) else min(1.0, _up(_gaussian_delta(mu, epsilon, pure)))


@lru_cache(maxsize=4096)
def mu_of(epsilon: float, delta: float, *, pure: float = 0.0) -> float:
    """The largest mu for which mu-Gaussian privacy (and a pure loss beside it) is (epsilon, delta)-DP,
    rounded down.

    Parameters
    ----------
    epsilon, delta : the guarantee to keep.
    pure : a pure epsilon that is spent beside it.

    Examples
    --------
    >>> round(mu_of(1.0, 1e-6), 4)
    0.2367
    """
    _check_epsilon(epsilon)
    _check_delta(delta)
    _check_pure(pure, below=epsilon)
    if math.isinf(epsilon):
        return math.inf

    def holds(mu: float) -> bool:
        return bool(_gaussian_delta(mu, epsilon, pure) <= delta)

    left = epsilon - pure
    low = left / math.sqrt(2 * (max(0.0, math.log(0.5 / delta)) + left))
    while not holds(low):
        low /= 2
    high = 2 * low
    while holds(high):
        low, high = high, 2 * high
    return _last_true(holds, low, high)


@lru_cache(maxsize=4096)
def epsilon_of(mu: float, delta: float, *, pure: float = 0.0) -> float:
    """The smallest epsilon for which mu-Gaussian privacy (and a pure loss beside it) is (epsilon,
    delta)-DP, rounded up.

    Parameters
    ----------
    mu : the Gaussian loss.
    delta : the delta that is declared.
    pure : a pure epsilon that is spent beside it.

    Examples
    --------
    >>> round(epsilon_of(0.2367, delta=1e-6), 3)
    1.0
    """
    _check_loss("mu", mu)
    _check_delta(delta)
    _check_pure(pure)
    if math.isinf(mu):
        return math.inf

    def too_small(epsilon: float) -> bool:
        return bool(_gaussian_delta(mu, epsilon, pure) > delta)

    if not too_small(0.0):
        return 0.0
    high = pure + mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta))  # the bound of plain zCDP
    while too_small(high):
        high *= 1.5
    return math.nextafter(_last_true(too_small, 0.0, high), math.inf)


# --- zCDP: Canonne, Kamath & Steinke 2020, Proposition 12 (any order alpha is sound, the best is taken) ---


def _orders(exponent: Callable[[float], float]) -> float:
    """The order alpha > 1 that minimises a smooth function of it: a grid over 1 + e^t, refined twice."""
    low, high = -20.0, 60.0
    for _ in range(4):
        grid = [low + (high - low) * i / 80 for i in range(81)]
        best = min(range(81), key=lambda i: exponent(grid[i]))
        low, high = grid[max(0, best - 1)], grid[min(80, best + 1)]
    return 1 + math.exp((low + high) / 2)


@lru_cache(maxsize=4096)
def epsilon_of_rho(rho: float, delta: float) -> float:
    """An epsilon for which rho-zCDP is (epsilon, delta)-DP, rounded up (CKS20, tighter than rho + 2
    sqrt(rho L)).
    """
    _check_loss("rho", rho)
    _check_delta(delta)
    if math.isinf(rho):
        return math.inf

    def epsilon_at(t: float) -> float:
        above = math.exp(t)  # alpha - 1
        return rho * (1 + above) - (math.log(delta) + math.log1p(above)) / above - math.log1p(1 / above)

    mp = _mp()
    alpha = mp.mpf(_orders(epsilon_at))
    value = rho * alpha - mp.log(alpha * delta) / (alpha - 1) + mp.log(1 - 1 / alpha)
    return max(0.0, _up(value))


@lru_cache(maxsize=4096)
def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho that CKS20 converts to (epsilon, delta)-DP, rounded down."""
    _check_epsilon(epsilon)
    _check_delta(delta)
    if math.isinf(epsilon):
        return math.inf

    def minus_rho_at(t: float) -> float:
        above = math.exp(t)
        left = epsilon + (math.log(delta) + math.log1p(above)) / above + math.log1p(1 / above)
        return -left / (1 + above)

    mp = _mp()
    alpha = mp.mpf(_orders(minus_rho_at))
    value = (epsilon + mp.log(alpha * delta) / (alpha - 1) - mp.log(1 - 1 / alpha)) / alpha
    return _down(value)


# --- One family into another ---


@lru_cache(maxsize=4096)
def mu_of_pure(epsilon: float) -> float:
    """The smallest mu for which every epsilon-DP release is mu-Gaussian: Phi(-mu/2) = 1/(1 + e^epsilon),
    rounded up.

    Parameters
    ----------
    epsilon : the pure loss.

    Examples
    --------
    >>> round(mu_of_pure(1.0), 3)
    1.232
    """
    _check_epsilon(epsilon)
    if math.isinf(epsilon):
        return math.inf
    mp = _mp()
    target = 1 / (1 + mp.exp(mp.mpf(epsilon)))

    def too_small(mu: float) -> bool:
        return bool(mp.ncdf(-mp.mpf(mu) / 2) > target)

    high = 1.0
    while too_small(high):
        high *= 2
    return math.nextafter(_last_true(too_small, 0.0, high), math.inf)


def spendable(guarantee: Guarantee) -> PureDP | GaussianDP:
    """What a mechanism spends to keep a guarantee: epsilon itself, or the exact mu of (epsilon, delta)."""
    if isinstance(guarantee, PureDP):
        return guarantee
    return GaussianDP(mu_of(guarantee.epsilon, guarantee.delta), *guarantee.neighbours)


def spendable_exactly(guarantee: ApproxDP) -> ZCDP:
    """The zCDP account of (epsilon, delta), for the bit-exact discrete Gaussian (about 8% more noise)."""
    return ZCDP(rho_of(guarantee.epsilon, guarantee.delta), *guarantee.neighbours)


# --- Composition ---


def _added(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.inf if math.inf in numbers else float_up(sum((fraction(v) for v in numbers), Fraction(0)))


def _same_promise(losses: Sequence[Loss]) -> Loss:
    if not losses:
        raise ParameterError("A composition must have at least one loss. Got none instead.")
    first = losses[0]
    if any(loss.neighbours != first.neighbours for loss in losses):
        raise ParameterError(
            "The losses of a composition must protect the same unit under the same adjacency. "
            "Got a mixture instead."
        )
    return first


def _delta_sum(losses: Sequence[Loss]) -> float:
    delta = _added(loss.delta for loss in losses if isinstance(loss, ApproxDP))
    if delta >= 1:
        raise ParameterError(f"The deltas of a composition must add up to less than 1. Got {delta} instead.")
    return delta


def _as_mu(loss: Loss) -> float:
    assert isinstance(loss, GaussianDP | PureDP)
    return loss.mu if isinstance(loss, GaussianDP) else mu_of_pure(loss.epsilon)


def _as_rho(loss: Loss) -> float:
    assert not isinstance(loss, ApproxDP)
    if isinstance(loss, ZCDP):
        return loss.rho
    half_square = loss.mu if isinstance(loss, GaussianDP) else loss.epsilon
    return math.inf if math.isinf(half_square) else float_up(fraction(half_square) ** 2 / 2)


def compose(losses: Sequence[Loss]) -> Loss:
    """The loss of releases made one after another from the same rows, each possibly chosen by the earlier
    ones.

    Pure epsilons add; mu adds in squares (exact); rho adds; (epsilon, delta) pairs add. Mixed: a pure part
    joins Gaussian ones through `mu_of_pure` (sound; `guarantee_of` is exact), joins zCDP as epsilon^2/2; a
    Gaussian joins zCDP as mu^2/2. An ApproxDP part mixes with pure ones only: give a Gaussian its delta
    first (`guarantee_of`).

    Parameters
    ----------
    losses : of releases of the same rows, for the same unit and adjacency.

    Examples
    --------
    >>> from gnomon import GaussianDP
    >>> round(compose([GaussianDP(0.3), GaussianDP(0.4)]).mu, 6)
    0.5
    """
    first = _same_promise(losses)
    families = {type(loss) for loss in losses}
    if families <= {PureDP, ApproxDP}:
        epsilon = _added(loss.epsilon for loss in losses)  # type: ignore[union-attr]
        if families == {PureDP}:
            return PureDP(epsilon, *first.neighbours)
        return ApproxDP(epsilon, _delta_sum(losses), *first.neighbours)
    if ApproxDP in families:
        raise ParameterError(
            "An (epsilon, delta) loss cannot be composed with a Gaussian or zCDP loss before that one "
            "is given its delta."
        )
    if ZCDP in families:
        return ZCDP(_added(_as_rho(loss) for loss in losses), *first.neighbours)
    parts = [_as_mu(loss) for loss in losses]
    mu = (
        math.inf
        if math.inf in parts
        else float_up(root_up(sum((fraction(m) ** 2 for m in parts), Fraction(0))))
    )
    return GaussianDP(mu, *first.neighbours)


def guarantee_of(losses: Sequence[Loss], delta: float = 0.0) -> Guarantee:
    """What all these losses together promise at the given delta: the smallest epsilon, rounded up.

    Exact for pure and Gaussian losses, alone or mixed; zCDP by CKS20, with pure losses added to its epsilon.

    Parameters
    ----------
    losses : of releases of the same rows, for the same unit and adjacency.
    delta : the delta at which epsilon is asked for.

    Examples
    --------
    >>> from gnomon import GaussianDP
    >>> round(guarantee_of([GaussianDP(0.2367)], delta=1e-6).epsilon, 3)
    1.0
    """
    first = _same_promise(losses)
    pure = [loss for loss in losses if isinstance(loss, PureDP)]
    approximate = [loss for loss in losses if isinstance(loss, ApproxDP)]
    noisy = [loss for loss in losses if isinstance(loss, GaussianDP | ZCDP)]
    if not noisy:
        return cast(Guarantee, compose(losses))
    together = compose(noisy)
    added = _added(loss.epsilon for loss in pure)
    if isinstance(together, GaussianDP):
        epsilon = math.inf if math.isinf(added) else epsilon_of(together.mu, delta, pure=added)
    else:
        assert isinstance(together, ZCDP)
        epsilon = _added([added, epsilon_of_rho(together.rho, delta)])
    # an epsilon of zero cannot be stated as a loss; the smallest double can
    promise = ApproxDP(max(epsilon, math.ulp(0.0)), delta, *first.neighbours)
    return cast(Guarantee, compose([promise, *approximate])) if approximate else promise


def parallel(losses: Sequence[Loss]) -> Loss:
    """The loss of releases from disjoint sets of rows, where the set of a row never depends on its content.

    A row lies in one set, so only one release sees a change: the largest loss. Sets chosen by a label are
    another matter: a record whose label changes leaves one set and enters another, and both losses add (use
    `compose`).
    """
    first = _same_promise(losses)
    if len({type(loss) for loss in losses}) > 1:
        raise ParameterError(
            "The losses of a parallel composition must be of one kind. Got a mixture instead."
        )
    if isinstance(first, ApproxDP):
        pairs = [(loss.epsilon, loss.delta) for loss in losses if isinstance(loss, ApproxDP)]
        epsilon, delta = (max(column) for column in zip(*pairs, strict=True))
        return ApproxDP(epsilon, delta, *first.neighbours)
    return max(losses, key=lambda loss: next(iter(vars(loss).values())))


__all__ = [
    "Spendable",
    "compose",
    "delta_of",
    "epsilon_of",
    "epsilon_of_rho",
    "guarantee_of",
    "mu_of",
    "mu_of_pure",
    "parallel",
    "rho_of",
    "spendable",
    "spendable_exactly",
]
