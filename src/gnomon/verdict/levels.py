"""Four levels of how good a part of a release is, and verdicts by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

from gnomon.verdict.compare import Distance

VARIATION = (0.1, 0.25)  # total variation of a marginal below which it is good, or usable
DEVIATIONS = (
    0.1,
    0.3,
)  # how far a mean or a deviation is off, in true deviations; of relations, relative to their size
PARTS = ("location", "spread", "marginal")
NAMED = 12  # columns of a level that a sentence names
CERTIFIED = 1_000  # and that a certificate names, which has a length that people can read


class Level(IntEnum):
    """From good to lost; lost is no better than what was public before: even between the bounds, equal classes."""

    GOOD = 0
    USABLE = 1
    WEAK = 2
    LOST = 3

    @property
    def word(self) -> str:
        return self.name.lower()


Kind = Literal["column", "class", "relation"]


@dataclass(frozen=True)
class Remedy:
    """What would reach the next level, each alone, about: so many rows, or this epsilon, or this delta."""

    level: Level
    rows: int | None = None
    epsilon: float | None = None
    delta: float | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": self.level.word,
            "rows": self.rows,
            "epsilon": self.epsilon,
            "delta": self.delta,
        }


@dataclass(frozen=True)
class Verdict:
    """How good one part of a release is: a column with its location, spread and marginal, a class, or the relation.

    The level of a column is the worse of its location and its marginal.
    """

    kind: Kind
    name: str
    level: Level
    location: Level | None = None
    spread: Level | None = None
    marginal: Level | None = None
    remedy: Remedy | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        parts = {part: getattr(self, part) for part in PARTS}
        return {
            "kind": self.kind,
            "name": self.name,
            "level": self.level.word,
            **{part: None if level is None else level.word for part, level in parts.items()},
            "next": None if self.remedy is None else self.remedy.to_dict(),
        }


@dataclass(frozen=True)
class Verdicts:
    """Verdicts of a whole release; `basis` says what they were read off."""

    method: str
    basis: Literal["predicted", "stated"]
    columns: tuple[Verdict, ...]
    classes: tuple[Verdict, ...] = ()
    relation: Verdict | None = None

    @property
    def everything_lost(self) -> bool:
        return all(verdict.level is Level.LOST for verdict in self.columns)

    def named(self, level: Level) -> tuple[str, ...]:
        """The columns of a level."""
        return tuple(verdict.name for verdict in self.columns if verdict.level is level)

    def summary(self) -> str:
        """A few sentences: how many columns are how good, which are weak or lost, classes, relation."""
        counted = [(level, self.named(level)) for level in Level]
        words = ", ".join(f"{len(names):,} {level.word}" for level, names in counted if names)
        columns = f"{len(self.columns):,} column{'' if len(self.columns) == 1 else 's'}"
        sentences = [
            f"Predicted for {columns}: {words}." if self.basis == "predicted" else f"{columns}: {words}."
        ]
        for level in (Level.WEAK, Level.LOST):
            names = self.named(level)
            if 0 < len(names) < len(self.columns):
                sentences.append(f"{level.word.capitalize()}: {some(names)}.")
        poor = [verdict.name for verdict in self.classes if verdict.level >= Level.WEAK]
        if poor:
            sentences.append(f"Classes of uncertain size: {some(poor)}.")
        if self.relation is not None:
            sentences.append(f"The relation to {self.relation.name} is {self.relation.level.word}.")
        return " ".join(sentences)

    def certified(self) -> dict[str, Any]:
        """What a certificate says: the summary, columns by level, classes, the relation."""
        return {
            "summary": self.summary(),
            **{level.word: self.named(level)[:CERTIFIED] for level in Level},
            "classes": {verdict.name: verdict.level.word for verdict in self.classes[:CERTIFIED]},
            "relation": None if self.relation is None else self.relation.level.word,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "method": self.method,
            "basis": self.basis,
            "summary": self.summary(),
            "columns": [verdict.to_dict() for verdict in self.columns],
            "classes": [verdict.to_dict() for verdict in self.classes],
            "relation": None if self.relation is None else self.relation.to_dict(),
        }


def level_of(error: float, limits: tuple[float, float], prior: float) -> Level:
    """By the limits of good and usable; else lost where it is no better than the public prior."""
    good, usable = limits
    if error < good:
        return Level.GOOD
    if error < usable:
        return Level.USABLE
    return Level.LOST if error >= prior else Level.WEAK


def judged(kind: Kind, name: str, seen: Distance, prior: Distance) -> Verdict:
    """The verdict of a column or a class that is so far from the truth, where the public prior is `prior` from it."""
    marginal = level_of(seen.variation, VARIATION, prior.variation)
    if seen.location is None or prior.location is None:
        return Verdict(kind, name, marginal, marginal=marginal)
    assert seen.spread is not None
    assert prior.spread is not None
    location = level_of(seen.location, DEVIATIONS, prior.location)
    spread = level_of(seen.spread, DEVIATIONS, prior.spread)
    return Verdict(kind, name, max(marginal, location), location, spread, marginal)


def judged_relation(name: str, error: float) -> Verdict:
    """The verdict of correlations with the target; 1 is as far from them as none at all."""
    return Verdict("relation", name, level_of(error, DEVIATIONS, 1.0))


def some(names: Iterable[str]) -> str:
    """The first of some names, and how many more there are."""
    names = list(names)
    more = len(names) - NAMED
    shown = ", ".join(names[:NAMED])
    return f"{shown} and {more:,} more" if more > 0 else shown
