"""What a guarantee for one unit and adjacency is worth for another, by proved bounds; an account has one of each.

Every bound is group privacy along a path of neighbouring tables, so each function below states how many steps of its own
relation lead from one table to the other. A guarantee in which the number of rows is public says nothing about tables of
different sizes: those conversions are refused. An infinite epsilon promises nothing and stays infinite everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from mpmath import MPContext

from gnomon.errors import ConversionError, ParameterError
from gnomon.privacy.accounting import delta_of
from gnomon.privacy.guarantee import (
    ZCDP,
    Adjacency,
    GaussianDP,
    Guarantee,
    Neighbours,
    PureDP,
    Unit,
    check_neighbours,
)
from gnomon.privacy.rounding import as_written, float_up, fraction, written_up

_DIGITS = 60


# --- Group privacy: k steps of a relation ---


def group_delta(epsilon: float, delta: float, k: int) -> float:
    """delta (1 + e^epsilon + ... + e^((k - 1) epsilon)), rounded up: what k steps of (epsilon, delta) add up to."""
    mp = MPContext()
    mp.dps = _DIGITS
    total = mp.mpf(delta) * sum(mp.exp(i * mp.mpf(epsilon)) for i in range(k))
    nearest = float(total)
    return nearest if nearest >= total else math.nextafter(nearest, math.inf)


def group(guarantee: Guarantee, k: int, law: GaussianDP | None = None) -> Guarantee:
    """The guarantee for tables that are k steps apart.

    Claim: (k epsilon, delta (1 + e^epsilon + ... + e^((k - 1) epsilon))).
    Proof: let T_0, ..., T_k be neighbours in turn and P_i the probability of a set of outcomes at T_i. Then
    P_0 <= e^epsilon P_1 + delta <= e^epsilon (e^epsilon P_2 + delta) + delta <= ... up to P_k.
    With the law of the noise known to be mu-Gaussian, k steps are k mu-Gaussian (Dong, Roth and Su 2022, Theorem 2.14),
    so delta is that of k mu at k epsilon, if it is smaller.
    """
    if k < 1:
        raise ParameterError(f"A group must have at least one step. Got {k} instead.")
    if k == 1 or math.isinf(guarantee.epsilon):
        return guarantee
    epsilon = written_up(k * as_written(guarantee.epsilon))
    if isinstance(guarantee, PureDP):
        return replace(guarantee, epsilon=epsilon)
    try:
        delta = group_delta(guarantee.epsilon, guarantee.delta, k)
    except OverflowError:
        delta = math.inf
    if law is not None:
        delta = min(delta, delta_of(group_mu(law, k).mu, epsilon))
    if delta >= 1:
        raise ConversionError(
            f"over {k} steps of epsilon {guarantee.epsilon:g} the delta of {guarantee.delta:g} grows past 1, "
            "so nothing is promised."
        )
    return replace(guarantee, epsilon=epsilon, delta=delta)


def group_mu(loss: GaussianDP, k: int) -> GaussianDP:
    """k steps of mu-Gaussian privacy are k mu (Dong, Roth and Su 2022, Theorem 2.14), rounded up."""
    return loss if math.isinf(loss.mu) else replace(loss, mu=float_up(k * fraction(loss.mu)))


def group_rho(loss: ZCDP, k: int) -> ZCDP:
    """k steps of rho-zCDP are k^2 rho (Bun and Steinke 2016, Proposition 1.9), rounded up."""
    return loss if math.isinf(loss.rho) else replace(loss, rho=float_up(Fraction(k * k) * fraction(loss.rho)))


# --- Steps: one table to the other, in neighbours of the release's own relation ---


def row_to_attribute(attributes: int | None, bounded: int | None) -> int:
    """Row, replace-one -> attribute: the same epsilon and delta.

    Claim: one step. Proof: a record with one attribute changed is another record, so the tables are neighbours already.
    Attained: by a release of that attribute alone.
    """
    return 1


def attribute_to_row(attributes: int | None, bounded: int | None) -> int:
    """Attribute -> row, replace-one: m epsilon, with the delta of m steps, for m attributes.

    Claim: m steps, m the number of attributes that the release reads. Proof: change the old record into the new one
    attribute by attribute; what the release does not read changes nothing. Attained: by m pure releases of one
    attribute each, all of which change.
    """
    if attributes is None or attributes < 1:
        raise ConversionError("how many attributes a row has was not said.")
    return attributes


def add_remove_to_replace(attributes: int | None, bounded: int | None) -> int:
    """Row, add/remove -> row, replace-one (and so one attribute): 2 epsilon, (1 + e^epsilon) delta.

    Claim: two steps. Proof: a replacement removes a record and adds another. Attained: by a sum of values in [-1, 1]
    with Laplace noise, where removing moves the sum by 1 and replacing -1 by 1 moves it by 2.
    """
    return 2


def row_to_person(attributes: int | None, bounded: int | None) -> int:
    """Row, add/remove -> person: k epsilon, only if the release itself kept at most k rows of a person.

    Claim: k steps. Proof: the rows that the release reads of a person are at most k; remove them one by one. Without
    such a bound a person may have any number of rows, and no finite number of steps suffices.
    """
    if bounded is None or bounded < 1:
        raise ConversionError("it did not bound how many rows a person has.")
    return bounded


def person_to_row(attributes: int | None, bounded: int | None) -> int:
    """Person -> row, add/remove: 2 epsilon, (1 + e^epsilon) delta.

    Claim: two steps. Proof: remove all rows of the person whose row it is, and add that person with (or without) it.
    One step would do where the person has no other row, which nobody can know.
    """
    return 2


def person_to_replace(attributes: int | None, bounded: int | None) -> int:
    """Person -> row, replace-one: 4 epsilon, with the delta of four steps.

    Claim: four steps. Proof: the new row may be another person's; each of the two is removed and added with other rows.
    """
    return 4


def person_to_attribute(attributes: int | None, bounded: int | None) -> int:
    """Person -> attribute: 2 epsilon, (1 + e^epsilon) delta.

    Claim: two steps. Proof: an attribute is not the identifier, so the changed row stays with its person, who is removed
    and added.
    """
    return 2


def person_to_person(attributes: int | None, bounded: int | None) -> int:
    """Person with k rows -> person with any bound: the same epsilon and delta.

    Claim: one step. Proof: a release by persons leaves out a person's rows beyond its own k, by a choice that depends on
    that person's rows alone; so it is a function of tables in which nobody has more, whatever the account's bound.
    """
    return 1


_ROW = Unit.ROW, Adjacency.REPLACE_ONE
_ATTRIBUTE = Unit.ATTRIBUTE, Adjacency.REPLACE_ONE
_ADDED = Unit.ROW, Adjacency.ADD_REMOVE
_PERSON = Unit.PERSON, Adjacency.ADD_REMOVE
_Steps = Callable[[int | None, int | None], int]

STEPS: dict[tuple[tuple[Unit, Adjacency], tuple[Unit, Adjacency]], _Steps] = {
    (_ROW, _ATTRIBUTE): row_to_attribute,
    (_ATTRIBUTE, _ROW): attribute_to_row,
    (_ADDED, _ROW): add_remove_to_replace,
    (_ADDED, _ATTRIBUTE): add_remove_to_replace,
    (_ADDED, _PERSON): row_to_person,
    (_PERSON, _ADDED): person_to_row,
    (_PERSON, _ROW): person_to_replace,
    (_PERSON, _ATTRIBUTE): person_to_attribute,
    (_PERSON, _PERSON): person_to_person,
}


def converted(
    guarantee: Guarantee,
    to: Neighbours,
    *,
    attributes: int | None = None,
    bounded: int | None = None,
    law: GaussianDP | None = None,
) -> Guarantee:
    """What `guarantee` promises for the neighbours `to`, or ConversionError where that is nothing.

    `attributes` is how many the release reads of a row, `bounded` how many rows of a person it kept at most, `law` the
    Gaussian law of its noise, where they are known.
    """
    unit, adjacency, rows = to
    check_neighbours(unit, adjacency, rows)
    if law is not None and law.neighbours != guarantee.neighbours:
        raise ParameterError("The 'law' of a guarantee must be for the same unit and adjacency.")
    if guarantee.neighbours == to:
        return guarantee
    k = 1 if math.isinf(guarantee.epsilon) else _steps(guarantee, to, attributes, bounded)
    return replace(group(guarantee, k, law), unit=unit, adjacency=adjacency, rows=rows)


def _steps(guarantee: Guarantee, to: Neighbours, attributes: int | None, bounded: int | None) -> int:
    unit, adjacency, _ = to
    steps = STEPS.get(((guarantee.unit, guarantee.adjacency), (unit, adjacency)))
    if steps is None:
        raise ConversionError("it makes the number of rows public, which this account keeps private.")
    return steps(attributes, bounded)


__all__ = ["STEPS", "converted", "group", "group_delta", "group_mu", "group_rho"]
