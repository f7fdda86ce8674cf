"""The doors by which private values leave a release: each passage is noted, or made to end as it did for another table.

Whatever a release publishes is made of what came out of these calls. Noting exact and noisy values of a real run, and
running the same code on the neighbouring table with the same outcomes, gives the likelihood of one outcome under both
tables, although later steps depend on the outcome of earlier ones.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from gnomon import baseline, privacy, release
from gnomon.engine import local
from gnomon.privacy import mechanism, noise
from gnomon.privacy.noise import choice, sketch
from gnomon.projection import gaussian
from gnomon.release import dprp, selection


class OtherRoadError(Exception):
    """The neighbouring table made the release take another road: whoever sees the road knows the table."""


@dataclass(frozen=True)
class Step:
    """One passage: how the noise is drawn, how wide it is, what went in, what came out."""

    kind: str
    scale: float
    exact: Any
    released: Any


class Watch:
    """What went through the doors since the last `note` or `repeat`."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._outcomes: list[Any] | None = None
        self.closed = False  # a door inside another door: only the outer one is public

    def note(self) -> None:
        self.steps, self._outcomes = [], None

    def repeat(self, steps: list[Step]) -> None:
        """From now on the doors answer as they did in these steps."""
        self.steps, self._outcomes = [], [step.released for step in steps]

    @property
    def repeating(self) -> bool:
        return self._outcomes is not None

    def through(self, kind: str, scale: float, exact: Any, released: Any) -> Any:
        if self._outcomes is not None:
            if len(self.steps) == len(self._outcomes):
                raise OtherRoadError
            outcome = self._outcomes[len(self.steps)]
            if np.shape(outcome) != np.shape(released):
                raise OtherRoadError
            released = outcome
        self.steps.append(Step(kind, scale, exact, released))
        return released


@contextmanager
def watched() -> Iterator[Watch]:
    """All doors of gnomon, watched: one release at a time, batches one after the other, each in this thread."""
    _load_all()
    watch = Watch()
    with _replaced([*_doors(watch), (local.map_batches, _one_by_one)]), _no_wasted_noise(watch):
        yield watch


def _doors(watch: Watch) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
    right = mechanism.release_vector, mechanism.release_moments
    right_sketch, right_choice = sketch.gaussian_sketch, choice.exponential_choice
    right_max, right_moments, right_matrix = (
        selection.noisy_max,
        dprp.noisy_moments,
        gaussian.unseeded_gaussian,
    )

    def release_vector(value: Any, *arguments: Any, **named: Any) -> mechanism.Released:
        released = right[0](value, *arguments, **named)
        return released if watch.closed else _noted(value, released)

    def release_moments(S: Any, *arguments: Any, **named: Any) -> mechanism.Released:
        return _noted(S, right[1](S, *arguments, **named))

    def _noted(value: Any, released: mechanism.Released) -> mechanism.Released:
        event = released.event
        return replace(released, value=watch.through(event.mechanism, event.scale, value, released.value))

    def noisy_moments(sums: Any, noise: float) -> Any:
        return watch.through("goe", noise, sums[None], right_moments(sums, noise)[None])[0]

    def gaussian_sketch(S: Any, rows: int) -> Any:
        return watch.through("gaussian-sketch", 1.0, S, right_sketch(S, rows))

    def exponential_choice(gaps: Any, rate: Any) -> int:
        return int(watch.through("exponential", float(1 / rate), gaps, right_choice(gaps, rate)))

    def noisy_max(scores: Any, change: int, loss: Any, *, statistic: str) -> tuple[int, mechanism.Event]:
        watch.closed = True
        place, event = right_max(scores, change, loss, statistic=statistic)
        watch.closed = False
        return int(watch.through("noisy-max", event.scale, scores, place)), event

    def unseeded_gaussian(m: int, k: int) -> Any:
        return watch.through("public", 1.0, None, right_matrix(m, k))

    return [
        (right[0], release_vector),
        (right[1], release_moments),
        (right_moments, noisy_moments),
        (right_sketch, gaussian_sketch),
        (right_choice, exponential_choice),
        (right_max, noisy_max),
        (right_matrix, unseeded_gaussian),
    ]


@cache
def _load_all() -> None:
    """A module that was first imported while doors are watched would keep the watched ones for ever."""
    for package in (release, baseline, privacy, noise):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)


def _one_by_one(source: Any, columns: list[str], f: Callable[[Any], Any], **named: Any) -> Iterator[Any]:
    """`map_batches` without its threads, which cost a small table more than the release does."""
    for batch in source._read(columns, local.BATCH, raw=False):
        yield f(batch)


@contextmanager
def _replaced(pairs: list[tuple[Callable[..., Any], Callable[..., Any]]]) -> Iterator[None]:
    """Every name of a gnomon module that stands for one of the functions stands for its substitute."""
    instead = dict(pairs)
    modules = [
        module for name, module in list(sys.modules.items()) if name.split(".")[0] == "gnomon" and module
    ]
    found: list[tuple[ModuleType, str, Any]] = [
        (module, name, held)
        for module in modules
        if module.__name__ != __name__
        for name, held in list(vars(module).items())
        if callable(held) and getattr(held, "__hash__", None) and held in instead
    ]
    for module, name, held in found:
        setattr(module, name, instead[held])
    try:
        yield
    finally:
        for module, name, held in found:
            setattr(module, name, held)


@contextmanager
def _no_wasted_noise(watch: Watch) -> Iterator[None]:
    """While outcomes are repeated nothing needs to be drawn."""
    vector, moment = mechanism._vector_draw, mechanism._moment_draw

    def vector_draw(kind: str, scale: float, shape: tuple[int, ...]) -> Any:
        return np.zeros(shape, dtype=np.int64) if watch.repeating else vector(kind, scale, shape)

    def moment_draw(plan: mechanism.MomentNoise, blocks: int) -> Any:
        shape = (blocks, plan.width, plan.width)
        return np.zeros(shape, dtype=np.int64) if watch.repeating else moment(plan, blocks)

    with _replaced([(vector, vector_draw), (moment, moment_draw)]):
        yield
