"""Watching a release through its observer: every step is noted, or made to end as it did for another table.

Whatever a release publishes is made of the outcomes of its measurements. Noting the exact and the noisy values of a real
run, and running the same code on the neighbouring table with the same outcomes, gives the likelihood of one outcome under
both tables, although later steps depend on the outcome of earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gnomon.engine.base import Integers, OneProcess, Progress, Summed, quiet
from gnomon.privacy.mechanism import Noise
from gnomon.table.rows import RowSource


class ControlFlowDiverged(Exception):  # noqa: N818 - the word of the field
    """The neighbouring table made the release take other steps: whoever sees the steps knows the table."""


@dataclass(frozen=True)
class Step:
    """One measurement: how the noise is drawn, its scale and relative weights, what went in, what came out."""

    kind: str
    scale: float
    exact: Any
    released: Any
    weights: tuple[float, ...] | None = None


class Watch:
    """An observer of releases: it holds the steps since the last `note` or `repeat`."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._expected: list[Step] | None = None

    def note(self) -> None:
        """From now on steps are noted, and draw their own noise."""
        self.steps, self._expected = [], None

    def repeat(self, steps: list[Step]) -> None:
        """From now on steps end as these did, and draw no noise; a step of another kind or shape is refused."""
        self.steps, self._expected = [], steps

    def outcome(self, noise: Noise, exact: Any, release: Callable[[], Any]) -> Any:
        """What a measurement publishes: called by the `Measurer` of the release that is watched."""
        released = release() if self._expected is None else self._repeated(noise, exact)
        self.steps.append(Step(noise.mechanism, noise.scale, exact, released, noise.weights))
        return released

    def _repeated(self, noise: Noise, exact: Any) -> Any:
        assert self._expected is not None
        if len(self.steps) == len(self._expected):
            raise ControlFlowDiverged
        earlier = self._expected[len(self.steps)]
        if (earlier.kind, np.shape(earlier.exact)) != (noise.mechanism, np.shape(exact)):
            raise ControlFlowDiverged
        return earlier.released

    def finish(self) -> list[Step]:
        """The steps of the release that has ended; a repetition must have come to the last of them."""
        if self._expected is not None and len(self.steps) != len(self._expected):
            raise ControlFlowDiverged
        return self.steps


class SerialEngine(OneProcess):
    """An engine in this thread: threads cost a small table more than its release does."""

    def fold(
        self, source: RowSource, query: Summed[Any], *, stage: str, progress: Progress = quiet
    ) -> Integers:
        total = query.zero()
        for part in source.parts():
            total += query.of_batch(part.load())
        return total

    def write(
        self,
        source: RowSource,
        row_map: Callable[[Any], Any],
        sink: Callable[[Any], None],
        *,
        stage: str,
        progress: Progress = quiet,
    ) -> None:
        for part in source.parts():
            sink(row_map(part.load()))


SERIAL = SerialEngine()
