"""The only way from rows to noise.

A method asks a `Measurer` for measurements and never sees a row. What it has measured is recorded, so that schema,
parameters, recorded answers and the sampling seed give the whole release again without the table: that is replay, and a
release that was cut short resumes the same way, without a second charge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from gnomon.engine.base import Engine, Progress, quiet
from gnomon.engine.local import LOCAL
from gnomon.errors import DataError, GnomonError
from gnomon.privacy.guarantee import ApproxDP
from gnomon.privacy.mechanism import Event, Noise, NoiseLaw, draw
from gnomon.privacy.noisy_rows import NoisyRows
from gnomon.statistics.frame import Binning
from gnomon.statistics.queries import Minimum, Query, RowQuery
from gnomon.table.rows import RowSource

Integers = npt.NDArray[np.int64]
TAIL = 60.0  # scales of noise that hardly any value exceeds (e^-60 for Laplace)


@dataclass(frozen=True)
class Measurement:
    """A query, its noisy answer, the law of the noise, and the event that it cost.

    Parameters
    ----------
    query : what was measured.
    answer : the noisy integers.
    noise : their law and scale.
    event : what was spent.
    """

    query: Any
    answer: Integers
    noise: NoiseLaw
    event: Event


@dataclass(frozen=True)
class NoisyCounts:
    """Noisy counts of the cells of some columns, and their standard deviation."""

    binnings: tuple[Binning, ...]
    answer: Integers
    noise: float


class Observer(Protocol):
    """Whoever watches a release: it sees the exact answer and may put another outcome in place of a fresh one."""

    def outcome(self, noise: Noise, exact: Any, release: Callable[[], Any]) -> Any: ...


@dataclass(frozen=True)
class Answer:
    """One recorded answer: noisy, so it may be published; what is withheld is in no file of the release."""

    statistic: str
    value: Any  # integers, or the noisy rows of a row release
    withheld: bool = False


@dataclass
class Measurer:
    """The gateway to the rows of one release: it holds them, the engine, and what was spent and recorded.

    Parameters
    ----------
    rows : the encoded rows, or None for a replay, which reads recorded answers only.
    engine : where queries are summed over the rows.
    progress : called with the stage and the rows that were read.
    recorded : answers of an earlier run, which are given again before any row is read.
    record : called with each fresh answer before it is used, so that a release can resume.
    observer : by which audits and tests watch exact and noisy answers.
    events, answers, counts, measurements : what was spent and answered so far.
    """

    rows: RowSource | None
    engine: Engine = LOCAL
    progress: Progress = quiet
    recorded: Sequence[Answer] = ()
    record: Callable[[Answer], None] | None = None
    observer: Observer | None = None
    events: list[Event] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    counts: list[NoisyCounts] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)

    def measure(self, query: Query, loss: Any, *, rows: RowSource | None = None) -> Measurement:
        """The noisy answer of a query: one pass over the rows, one event.

        Parameters
        ----------
        query : what is measured.
        loss : what the measurement may cost.
        rows : other rows than those of the release, such as cells before they are encoded.
        """
        return self.measure_all([(query, loss)], rows=rows)[0]

    def measure_all(
        self, asked: Sequence[tuple[Query, Any]], *, rows: RowSource | None = None
    ) -> list[Measurement]:
        """Several queries in one pass over the rows; each is an event of its own.

        Parameters
        ----------
        asked : pairs of a query and its loss.
        rows : other rows than those of the release, such as cells before they are encoded.
        """
        known = [self._recorded(query.statistic, i) for i, (query, _) in enumerate(asked)]
        exact = self._exact(
            [query for (query, _), answer in zip(asked, known, strict=True) if answer is None], rows
        )
        found = []
        for (query, loss), answer in zip(asked, known, strict=True):
            noise = query.noise(loss)
            value = next(exact) if answer is None else None
            outcome = self._outcome(query.statistic, noise, value, query.release, answer)
            event = noise.event(query.statistic, loss)
            self._spend(event)
            if query.counted():
                self.counts.append(NoisyCounts(query.counted(), outcome, noise.law.diagonal))
            found.append(Measurement(query, outcome, noise.law, event))
        self.measurements += found
        return found

    def select(self, query: Query, loss: Any) -> int:
        """The place that a private selection chooses: a measurement like any other.

        Parameters
        ----------
        query : what is measured.
        loss : what the measurement may cost.
        """
        return int(self.measure(query, loss).answer)

    def minimise(self, query: Minimum, loss: Any) -> Measurement:
        """The noisy minimiser of a sum over the rows: many exact passes that nobody sees, one answer, one event.

        Parameters
        ----------
        query : what is measured.
        loss : what the measurement may cost.
        """
        known = self._recorded(query.statistic, 0)
        place = None
        if known is None:
            search = query.start()
            while not search.done:
                search = query.step(search, next(self._exact([query.at(search)], None)))
            place = search.place
        noise = query.noise(loss)
        outcome = self._outcome(query.statistic, noise, place, query.release, known)
        event = noise.event(query.statistic, loss)
        self._spend(event)
        self.measurements.append(Measurement(query, outcome, noise.law, event))
        return self.measurements[-1]

    def release_rows(
        self,
        query: RowQuery,
        loss: Any,
        *,
        jointly: tuple[Query, Noise] | None = None,
        shuffled: bool = True,
        charged: ApproxDP | None = None,
        words: str = "",
    ) -> tuple[NoisyRows, Measurement, Integers | None]:
        """One noisy row for each record, drawn once, in a random order unless the order of the table is to be public.

        With `jointly`, also a sum whose noise the same event covers. `charged` is what the event costs where that is
        more than the loss that the noise was made for, and `words` say why.

        Parameters
        ----------
        query : what is measured.
        loss : what the measurement may cost.
        shuffled : whether the order of the rows is drawn anew.
        """
        noise = query.noise(loss)
        event = noise.event(query.statistic, loss if charged is None else charged, words)
        self._spend(event)
        known = self._recorded(query.statistic, 0)
        kept = known.value if known is not None else self._noisy_rows(query, noise, shuffled)
        self.answers.append(Answer(query.statistic, kept))
        if known is None and self.record is not None:
            self.record(self.answers[-1])
        beside = None
        if jointly is not None:
            summed, its_noise = jointly
            told = self._recorded(summed.statistic, 0)
            value = next(self._exact([summed], None)) if told is None else None
            beside = self._outcome(summed.statistic, its_noise, value, summed.release, told)
        return kept, Measurement(query, np.zeros(0, dtype=np.int64), noise.law, event), beside

    def _noisy_rows(self, query: RowQuery, noise: Noise, shuffled: bool) -> NoisyRows:
        kept = NoisyRows(query.width, query.bound + TAIL * noise.scale)
        if self.observer is not None:  # which sees all rows at once, in the order of the table
            exact = np.concatenate([query.of_batch(part.load()) for part in self._rows.parts()])
            kept.append(self.observer.outcome(noise, exact, lambda: _with_noise(exact, noise)))
        else:
            self.engine.write(
                self._rows,
                NoisyMap(query, noise),
                kept.append,
                stage="releasing the rows",
                progress=self.progress,
            )
        if shuffled:
            kept.shuffle()
        return kept

    def draw_public(self, what: str, sample: Callable[[], Integers], *, withheld: bool = False) -> Integers:
        """Something that is drawn from no seed and reads no row: recorded, so that a replay has it, and published.

        The guarantee treats it as public even where the custodian withholds it.

        Parameters
        ----------
        what : what is drawn, in words.
        sample : draws it.
        withheld : whether the custodian keeps it.
        """
        nothing = Noise("public", None, 1.0, NoiseLaw("public", 0.0, 0.0))  # type: ignore[arg-type]
        known = self._recorded(what, 0)
        return self._outcome(what, nothing, None, lambda exact, noise: sample(), known, withheld)

    def drew(self, what: str) -> bool:
        """Whether the recorded run drew this, for methods whose reason to draw it is not recorded."""
        return any(answer.statistic == what for answer in self.recorded)

    # --- one step ---

    def _outcome(
        self,
        statistic: str,
        noise: Noise,
        exact: Any,
        release: Callable[[Any, Noise], Any],
        known: Answer | None,
        withheld: bool = False,
    ) -> Integers:
        if known is not None:
            value = known.value
        elif self.observer is not None:
            value = self.observer.outcome(noise, exact, lambda: release(exact, noise))
        else:
            value = release(exact, noise)
        answer = Answer(statistic, np.asarray(value), withheld)
        if known is None and self.record is not None:
            self.record(answer)
        self.answers.append(answer)
        return np.asarray(answer.value)

    def _recorded(self, statistic: str, ahead: int) -> Answer | None:
        place = len(self.answers) + ahead
        if place >= len(self.recorded):
            return None
        answer = self.recorded[place]
        if answer.statistic != statistic:
            raise DataError(
                "The recorded measurements are not those of this release: "
                f"{answer.statistic!r} stands where {statistic!r} belongs."
            )
        return answer

    @property
    def _rows(self) -> RowSource:
        if self.rows is None:
            raise DataError(
                "The recorded measurements end before the release is complete; it needs its table."
            )
        return self.rows

    def _exact(self, queries: list[Query], rows: RowSource | None) -> Any:
        if not queries:
            return iter(())
        source = self._rows if rows is None else rows
        summed = queries[0] if len(queries) == 1 else _Together(tuple(queries))
        total = self.engine.fold(source, summed, stage=queries[0].statistic, progress=self.progress)
        return iter(summed.split(total) if isinstance(summed, _Together) else [summed.finish(total)])

    def _spend(self, event: Event) -> None:
        if any(event.statistic == other.statistic for other in self.events):
            raise GnomonError(f"Two events of one release share the description {event.statistic!r}.")
        self.events.append(event)


def _with_noise(exact: Integers, noise: Noise) -> Integers:
    return exact + draw(noise, exact.shape)


@dataclass(frozen=True)
class NoisyMap:
    """Records to noisy rows: the one map of a row release that meets noise."""

    query: RowQuery
    noise: Noise

    def __call__(self, rows: Any) -> Integers:
        shown = np.ascontiguousarray(
            self.query.of_batch(rows).T
        )  # columns stay together, from the sum to the file
        return (shown + draw(self.noise, shown.shape)).T


@dataclass(frozen=True)
class _Together:
    """Several queries as one: their integers side by side."""

    queries: tuple[Query, ...]

    def zero(self) -> Integers:
        return np.concatenate([query.zero().ravel() for query in self.queries])

    def of_batch(self, rows: Any) -> Integers:
        return np.concatenate([query.of_batch(rows).ravel() for query in self.queries])

    def split(self, total: Integers) -> list[Integers]:
        shapes = [query.zero().shape for query in self.queries]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        parts = [part.reshape(shape) for part, shape in zip(np.split(total, ends), shapes, strict=True)]
        return [query.finish(part) for query, part in zip(self.queries, parts, strict=True)]
