"""One attack on one claim, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.audit.bound import Family, Scores, epsilon_of_shares, lower_bounds
from gnomon.audit.learn import learned
from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import Guarantee

CONFIDENCE = 0.95  # of the bound that is reported
CERTAIN = 0.999  # of the bound that must exceed a claim before it is called broken
FEWEST = 20

Runs = npt.NDArray[np.float64]
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Attack:
    """`release(neighbour, runs)` runs the real mechanism on one of two neighbouring tables.

    It returns one score a run, or a row of released numbers a run, from which `score` learns one on runs of its own.
    `family`: the claim is about all events at once, as that of a Gaussian mechanism is. `copies`: the scores are those
    of one of so many independent and identically distributed coordinates, all of which change; the probability of an
    event in each of them is the product, so their epsilons add. `parts`: a run has several scores, of independent
    parts; what they prove adds up for the same reason, and the columns of one group have the same law. Pure claims only.
    """

    name: str
    pair: str
    claim: Guarantee
    release: Callable[[bool, int], Runs]
    family: Family | None = None
    copies: int = 1
    parts: tuple[tuple[int, ...], ...] = ()
    slow: int = 1  # how many times fewer runs the same patience allows
    discrete: bool = False  # a choice among few, which may honestly repeat
    score: Callable[[Runs, Runs], tuple[Scores, Scores]] = learned
    reach: Callable[[], float] | None = (
        None  # the epsilon that this pair really costs, where it can be computed
    )


@dataclass(frozen=True)
class Finding:
    """What an attack proved: epsilon is at least `epsilon` with 95% confidence, at least `certain` with 99.9%."""

    attack: Attack
    runs: int
    epsilon: float
    certain: float
    repeats: bool

    @property
    def broken(self) -> bool:
        """Whether the claim does not hold, beyond reasonable doubt."""
        return self.repeats or self.certain > self.attack.claim.epsilon

    @property
    def share(self) -> float:
        """How much of the declared epsilon the attack could see."""
        return self.epsilon / self.attack.claim.epsilon


def audit(attack: Attack, runs: int, *, confidence: float = CONFIDENCE, certain: float = CERTAIN) -> Finding:
    """Run an attack `runs` times on each of its two tables."""
    if runs < FEWEST:
        raise ParameterError(f"The 'runs' parameter of audit must be at least {FEWEST}. Got {runs} instead.")
    released = [attack.release(neighbour, runs) for neighbour in (False, True)]
    repeats = not attack.discrete and any(_repeats(one) for one in released)
    told = bool(attack.parts) or released[0].ndim == 1
    first, second = released if told else attack.score(released[0], released[1])
    usual, surely = _epsilons(attack, first, second, (confidence, certain))
    return Finding(attack, len(first), usual, surely, repeats)


def _epsilons(attack: Attack, first: Scores, second: Scores, confidences: tuple[float, ...]) -> list[float]:
    if attack.family is not None:
        found = lower_bounds(first, second, attack.family.measure, confidences)
        return [attack.family.epsilon(parameter) for parameter in found]
    delta = attack.claim.delta
    if attack.parts:
        shared = [1 - (1 - confidence) / len(attack.parts) for confidence in confidences]
        total = [0.0] * len(confidences)
        for group in map(list, attack.parts):
            mine, others = first[:, group].ravel(), second[:, group].ravel()
            bounds = lower_bounds(mine, others, epsilon_of_shares(0.0), shared)
            total = [so_far + len(group) * bound for so_far, bound in zip(total, bounds, strict=True)]
        return total
    found = lower_bounds(first, second, epsilon_of_shares(delta / attack.copies), confidences)
    return [attack.copies * epsilon for epsilon in found]


def _repeats(runs: Runs) -> bool:
    """Whether every run gave the very same numbers: then there is no noise, or it was seeded."""
    return bool((runs == runs[:1]).all())
