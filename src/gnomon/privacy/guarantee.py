"""What is promised: frozen values that say how much, to whom, and against which change of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from numbers import Real

from gnomon.errors import ParameterError


class Adjacency(Enum):
    """Which two tables must be hard to tell apart.

    Examples
    --------
    >>> Adjacency("add-remove").name
    'ADD_REMOVE'
    """

    REPLACE_ONE = "replace-one"  # n is public; one record changes arbitrarily, its label included
    ADD_REMOVE = "add-remove"  # n is private; one record is added or removed


class Unit(Enum):
    """What of a person is protected.

    Examples
    --------
    >>> [unit.value for unit in Unit]
    ['row', 'attribute', 'person']
    """

    ROW = "row"  # everything in one record
    ATTRIBUTE = "attribute"  # one attribute of one record
    PERSON = "person"  # everything in all records of one person, of which the table holds at most `rows`


Neighbours = tuple[Unit, Adjacency, int]


def check_neighbours(unit: Unit, adjacency: Adjacency, rows: int) -> None:
    """Refuse what is no relation of tables: `rows` bounds the records of one unit."""
    whole = isinstance(rows, int) and not isinstance(rows, bool)
    if not whole or rows < 1 or (rows > 1 and unit is not Unit.PERSON):
        raise ParameterError(
            f"The 'rows' parameter must be a whole number, 1 unless a person is protected. Got {rows!r} instead."
        )
    if unit is Unit.PERSON and adjacency is not Adjacency.ADD_REMOVE:
        raise ParameterError("A person is added or removed, so its adjacency must be add-remove.")
    if unit is Unit.ATTRIBUTE and adjacency is not Adjacency.REPLACE_ONE:
        raise ParameterError("An attribute is replaced, so its adjacency must be replace-one.")


class _Promise:
    """What losses and guarantees share; `rows` bounds the records of one unit, and is 1 but for a person."""

    unit: Unit
    adjacency: Adjacency
    rows: int

    @property
    def neighbours(self) -> Neighbours:
        """Which two tables are compared."""
        return self.unit, self.adjacency, self.rows

    def _shares(self, weights: tuple[float, ...]) -> None:
        if not weights or not all(w > 0 for w in weights) or not sum(weights) <= 1 + 1e-12:
            raise ParameterError(
                f"The shares of a budget must be positive and add up to at most 1. Got {weights} instead."
            )


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(f"The '{name}' parameter must be a number. Got {value!r} instead.")
    return float(value)


def _positive(name: str, value: object) -> None:
    if not _number(name, value) > 0:
        raise ParameterError(f"The '{name}' parameter must be a positive number. Got {value} instead.")


def _never_more(parts: list[float], total: float, power: int) -> list[float]:
    """Lower the largest part until the parts' powers add up to at most the total's, exactly."""
    if math.isinf(total):
        return parts
    largest = max(range(len(parts)), key=parts.__getitem__)
    while sum(Fraction(part) ** power for part in parts) > Fraction(total) ** power:
        parts[largest] = min(math.nextafter(parts[largest], 0), parts[largest] * (1 - 1e-13))
    return parts


@dataclass(frozen=True)
class PureDP(_Promise):
    """Pure epsilon-differential privacy.

    Parameters
    ----------
    epsilon : the privacy loss, positive.
    unit : what one change of neighbouring tables is about: a row, an attribute of a row, or a person.
    adjacency : whether that unit is replaced (the number of rows is public) or added and removed (it is
        private).
    rows : how many rows one unit has at most: 1, except for a person.

    Examples
    --------
    >>> PureDP(1.0).delta
    0.0
    >>> mean, rest = PureDP(1.0).split(0.25, 0.75)
    >>> mean.epsilon
    0.25
    """

    epsilon: float
    unit: Unit = Unit.ROW
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    rows: int = 1

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)
        check_neighbours(*self.neighbours)

    @property
    def delta(self) -> float:
        """Zero: the promise holds without exception."""
        return 0.0

    def split(self, *weights: float) -> tuple[PureDP, ...]:
        """Sequential composition backwards: the parts' epsilons add up to at most this one's.

        Parameters
        ----------
        weights : the shares of epsilon, positive, adding up to at most 1.
        """
        self._shares(weights)
        parts = _never_more([self.epsilon * w for w in weights], self.epsilon, power=1)
        return tuple(replace(self, epsilon=part) for part in parts)


@dataclass(frozen=True)
class ApproxDP(_Promise):
    """(epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon, delta : the privacy loss; delta lies between 0 and 1.
    unit : what one change of neighbouring tables is about: a row, an attribute of a row, or a person.
    adjacency : whether that unit is replaced (the number of rows is public) or added and removed (it is
        private).
    rows : how many rows one unit has at most: 1, except for a person.

    Examples
    --------
    >>> ApproxDP(1.0, 1e-6).unit.value
    'row'
    >>> ApproxDP(1.0, 1e-6, Unit.PERSON, Adjacency.ADD_REMOVE, 3).rows
    3
    """

    epsilon: float
    delta: float
    unit: Unit = Unit.ROW
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    rows: int = 1

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)
        if not 0 < _number("delta", self.delta) < 1:
            raise ParameterError(
                f"The 'delta' parameter of ApproxDP must be in (0, 1). Got {self.delta} instead."
            )
        check_neighbours(*self.neighbours)


@dataclass(frozen=True)
class ZCDP(_Promise):
    """rho-zero-concentrated differential privacy, the account of the discrete Gaussian.

    Parameters
    ----------
    rho : the privacy loss, positive.
    unit : what one change of neighbouring tables is about: a row, an attribute of a row, or a person.
    adjacency : whether that unit is replaced (the number of rows is public) or added and removed (it is
        private).
    rows : how many rows one unit has at most: 1, except for a person.

    Examples
    --------
    >>> [part.rho for part in ZCDP(0.5).split(0.5, 0.5)]
    [0.25, 0.25]
    """

    rho: float
    unit: Unit = Unit.ROW
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    rows: int = 1

    def __post_init__(self) -> None:
        _positive("rho", self.rho)
        check_neighbours(*self.neighbours)

    def split(self, *weights: float) -> tuple[ZCDP, ...]:
        """The parts' rho add up to at most this one's.

        Parameters
        ----------
        weights : the shares of rho, positive, adding up to at most 1.
        """
        self._shares(weights)
        parts = _never_more([self.rho * w for w in weights], self.rho, power=1)
        return tuple(replace(self, rho=part) for part in parts)


@dataclass(frozen=True)
class GaussianDP(_Promise):
    """mu-Gaussian differential privacy: no easier to attack than telling N(0, 1) from N(mu, 1).

    Parameters
    ----------
    mu : the privacy loss, positive.
    unit : what one change of neighbouring tables is about: a row, an attribute of a row, or a person.
    adjacency : whether that unit is replaced (the number of rows is public) or added and removed (it is
        private).
    rows : how many rows one unit has at most: 1, except for a person.

    Examples
    --------
    >>> first, second = GaussianDP(0.5).split(0.64, 0.36)  # shares of mu squared
    >>> round(first.mu, 3), round(second.mu, 3)
    (0.4, 0.3)
    """

    mu: float
    unit: Unit = Unit.ROW
    adjacency: Adjacency = Adjacency.REPLACE_ONE
    rows: int = 1

    def __post_init__(self) -> None:
        _positive("mu", self.mu)
        check_neighbours(*self.neighbours)

    def split(self, *weights: float) -> tuple[GaussianDP, ...]:
        """The parts' mu add up in squares to at most this one's, exactly.

        Parameters
        ----------
        weights : the shares of mu squared, positive, adding up to at most 1.
        """
        self._shares(weights)
        parts = _never_more([self.mu * math.sqrt(w) for w in weights], self.mu, power=2)
        return tuple(replace(self, mu=part) for part in parts)


USUAL_DELTA = 1e-6
USUAL_CAP = 1e-5  # of an account: ten releases with the usual delta


def auto_delta(rows: int | None) -> float:
    """The delta that "auto" stands for: 1e-6 or, where the number of rows is public and larger, a tenth of a row's share.

    That is the power of ten at or below 1 / (10 rows): less than that is far below what one row of the table is.
    """
    return USUAL_DELTA if rows is None else min(USUAL_DELTA, float(f"1e-{len(str(10 * max(rows, 1) - 1))}"))


Guarantee = PureDP | ApproxDP
Spendable = PureDP | GaussianDP | ZCDP
Loss = PureDP | ApproxDP | ZCDP | GaussianDP


def declared(
    epsilon: float,
    delta: float = 0.0,
    *,
    unit: Unit = Unit.ROW,
    adjacency: Adjacency = Adjacency.REPLACE_ONE,
    rows: int = 1,
) -> Guarantee:
    """The guarantee that a person asks for: pure where delta is zero."""
    if not 0 <= _number("delta", delta) < 1:
        raise ParameterError(f"The 'delta' parameter must be in [0, 1). Got {delta} instead.")
    if delta == 0:
        return PureDP(epsilon, unit, adjacency, rows)
    return ApproxDP(epsilon, delta, unit, adjacency, rows)
