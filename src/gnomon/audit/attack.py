"""One attack on one claim, and what it found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnomon.audit.beside import Bit, epsilon_beside
from gnomon.audit.bound import (
    Family,
    Scores,
    bounded_shares,
    direction_of,
    epsilon_of_shares,
    lower_bounds,
    mu_of_shares,
)
from gnomon.audit.learn import learned
from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import Guarantee

CONFIDENCE = 0.95  # of the bound that is reported
CERTAIN = 0.999  # of the bound that must exceed a claim before it is called broken
FEWEST = 20
OFTEN = 14  # scores that should differ from the others before their sameness is no accident
BELOW_GRID = 1e6  # the epsilon of Gaussian noise that may be smaller than the grid it is rounded to

Runs = npt.NDArray[np.float64]
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Attack:
    """`release(neighbour, runs)` runs the real mechanism on one of two neighbouring tables.

    It returns one score a run, or a row of released numbers a run, from which `score` learns one on runs of its own.
    `family`: the claim is about all events at once, as that of a Gaussian mechanism is. `copies`: the scores are those
    of one of so many independent and identically distributed coordinates, all of which change; the probability of an
    event in each of them is the product, so their epsilons add. `parts`: a run has several scores, of independent
    parts; what they prove adds up for the same reason, and the columns of one group have the same law. Pure claims only,
    but for `shift`, the column of a part that is a Gaussian shift: the others stand beside it (`beside.py`).

    Parameters
    ----------
    name, pair : what is attacked, and with which two tables.
    claim : the guarantee that a bound is compared with.
    release : runs the mechanism on the first table (False) or its neighbour (True), so many times.
    slow : how many times fewer runs the same patience allows.
    discrete : a choice among few, which may honestly repeat.
    reach : the epsilon that this pair costs by the accounts, where it can be computed.
    """

    name: str
    pair: str
    claim: Guarantee
    release: Callable[[bool, int], Runs]
    family: Family | None = None
    copies: int = 1
    parts: tuple[tuple[int, ...], ...] = ()
    shift: int | None = None
    slow: int = 1  # how many times fewer runs the same patience allows
    discrete: bool = False  # a choice among few, which may honestly repeat
    score: Callable[[Runs, Runs], tuple[Scores, Scores]] = learned
    reach: Callable[[], float] | None = (
        None  # the epsilon that this pair really costs, where it can be computed
    )


@dataclass(frozen=True)
class Finding:
    """What an attack proved: epsilon is at least `epsilon` with 95% confidence, at least `certain` with 99.9%.

    `repeats`: the numbers of every run, or of two calls, were the same, which noise for this claim would hardly do.
    `silent`: they were the same, and noise for so large a claim may well do that.

    Parameters
    ----------
    attack : which attack it was.
    runs : how often it ran on each table.
    """

    attack: Attack
    runs: int
    epsilon: float
    certain: float
    repeats: bool
    silent: bool = False

    @property
    def broken(self) -> bool:
        """Whether the claim does not hold, beyond reasonable doubt."""
        return self.repeats or self.certain > self.attack.claim.epsilon

    @property
    def share(self) -> float:
        """How much of the declared epsilon the attack could see."""
        return self.epsilon / self.attack.claim.epsilon


def audit(attack: Attack, runs: int, *, confidence: float = CONFIDENCE, certain: float = CERTAIN) -> Finding:
    """Run an attack `runs` times on each of its two tables, on the first one in two calls that must not be alike.

    Parameters
    ----------
    attack : one of `attacks_on`, or your own.
    confidence : of the bound `Finding.epsilon`.
    certain : the confidence of the bound that decides whether a claim is broken.
    """
    if runs < FEWEST:
        raise ParameterError(f"The 'runs' parameter of audit must be at least {FEWEST}. Got {runs} instead.")
    half, rest = attack.release(False, runs // 2), attack.release(False, runs - runs // 2)
    first, second = np.concatenate([half, rest]), attack.release(True, runs)
    finding = judged(attack, first, second, confidence=confidence, certain=certain)
    alike = not attack.discrete and np.array_equal(half, rest[: len(half)])
    return _repeating(finding, first.size) if alike else finding


def judged(
    attack: Attack, first: Runs, second: Runs, *, confidence: float = CONFIDENCE, certain: float = CERTAIN
) -> Finding:
    """What runs of an attack that have been made prove."""
    told = bool(attack.parts) or first.ndim == 1
    scores = (first, second) if told else attack.score(first, second)
    usual, surely = _epsilons(attack, *scores, (confidence, certain))
    finding = Finding(attack, len(scores[0]), usual, surely, repeats=False)
    same = not attack.discrete and any((runs == runs[:1]).all() for runs in (first, second))
    return _repeating(finding, first.size) if same else finding


def _repeating(finding: Finding, numbers: int) -> Finding:
    """No noise, or seeded noise; unless the claim is so large that honest noise seldom shows.

    Laplace noise that costs epsilon leaves a score at its end but for a share of about e^(-epsilon/2), and so many
    scores at one end have a chance below e^-14 where repetition is held against a mechanism. Gaussian scores repeat only
    where the noise is smaller than the grid.
    """
    claim = finding.attack.claim.epsilon
    shows = numbers * math.exp(-claim / 2) >= OFTEN if finding.attack.family is None else claim < BELOW_GRID
    return replace(finding, repeats=shows, silent=not shows)


def _epsilons(attack: Attack, first: Scores, second: Scores, confidences: tuple[float, ...]) -> list[float]:
    if attack.family is not None:
        found = lower_bounds(first, second, attack.family.measure, confidences)
        return [attack.family.epsilon(parameter) for parameter in found]
    delta = attack.claim.delta
    if attack.parts:
        return _by_parts(attack, first, second, confidences)
    found = lower_bounds(first, second, epsilon_of_shares(delta / attack.copies), confidences)
    return [attack.copies * epsilon for epsilon in found]


def _by_parts(attack: Attack, first: Runs, second: Runs, confidences: tuple[float, ...]) -> list[float]:
    """Every group's event bounded with its share of the error, all of them likelier for the same table."""
    held = len(attack.parts) + (attack.shift is not None)
    shared = [1 - (1 - confidence) / held for confidence in confidences]
    measure = epsilon_of_shares(0.0)
    groups = [(first[:, group].ravel(), second[:, group].ravel()) for group in map(list, attack.parts)]
    direction = direction_of(groups, measure)
    shares = [bounded_shares(*group, measure, shared, direction) for group in groups]
    if attack.shift is None:
        return [
            sum(
                len(group) * float(measure(found[i]))
                for group, found in zip(attack.parts, shares, strict=True)
            )
            for i in range(len(shared))
        ]
    mus = lower_bounds(first[:, attack.shift], second[:, attack.shift], mu_of_shares, shared)
    return [
        epsilon_beside(
            mu,
            [
                Bit(float(found[i].likelier), float(found[i].other))
                for group, found in zip(attack.parts, shares, strict=True)
                for _ in group
            ],
            attack.claim.delta,
        )
        for i, mu in enumerate(mus)
    ]
