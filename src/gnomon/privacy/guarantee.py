"""What is promised: frozen values that say how much, to whom, and against which change of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from gnomon.errors import ParameterError


class Adjacency(Enum):
    """Which two tables must be hard to tell apart."""

    REPLACE_ONE = "replace-one"  # n is public; one record changes arbitrarily, its label included
    ADD_REMOVE = "add-remove"  # n is private; one record is added or removed


class Unit(Enum):
    """What of a person is protected."""

    ROW = "row"  # everything in one record
    ATTRIBUTE = "attribute"  # one attribute of one record


Loss = TypeVar("Loss", bound="_Promise")


@dataclass(frozen=True)
class _Promise:
    def _shares(self, weights: tuple[float, ...]) -> None:
        if not weights or min(weights) <= 0 or sum(weights) > 1 + 1e-12:
            raise ParameterError(f"The shares of a budget must be positive and add up to at most 1. Got {weights} instead.")


def _positive(name: str, value: float) -> None:
    if math.isnan(value) or value <= 0:
        raise ParameterError(f"The '{name}' parameter must be a positive number. Got {value} instead.")


@dataclass(frozen=True)
class PureDP(_Promise):
    """Pure epsilon-differential privacy."""

    epsilon: float
    unit: Unit = Unit.ROW
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)

    @property
    def delta(self) -> float:
        return 0.0

    def split(self, *weights: float) -> tuple[PureDP, ...]:
        """Sequential composition backwards: the parts' epsilons add up to this one's."""
        self._shares(weights)
        return tuple(replace(self, epsilon=self.epsilon * w) for w in weights)


@dataclass(frozen=True)
class ApproxDP(_Promise):
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float
    unit: Unit = Unit.ROW
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)
        if not 0 < self.delta < 1:
            raise ParameterError(f"The 'delta' parameter must be in [0, 1). Got {self.delta} instead.")


@dataclass(frozen=True)
class ZCDP(_Promise):
    """rho-zero-concentrated differential privacy, the account of the discrete Gaussian."""

    rho: float
    unit: Unit = Unit.ROW
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _positive("rho", self.rho)

    def split(self, *weights: float) -> tuple[ZCDP, ...]:
        self._shares(weights)
        return tuple(replace(self, rho=self.rho * w) for w in weights)


@dataclass(frozen=True)
class GaussianDP(_Promise):
    """mu-Gaussian differential privacy: no easier to attack than telling N(0, 1) from N(mu, 1)."""

    mu: float
    unit: Unit = Unit.ROW
    adjacency: Adjacency = Adjacency.REPLACE_ONE

    def __post_init__(self) -> None:
        _positive("mu", self.mu)

    def split(self, *weights: float) -> tuple[GaussianDP, ...]:
        """The parts' mu add up in squares, exactly."""
        self._shares(weights)
        return tuple(replace(self, mu=self.mu * math.sqrt(w)) for w in weights)


Guarantee = PureDP | ApproxDP
Spendable = PureDP | GaussianDP | ZCDP
