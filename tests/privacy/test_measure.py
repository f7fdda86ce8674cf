"""The gateway from rows to noise: every use is an event, answers are recorded, and recorded ones are not measured again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gnomon.errors import DataError, GnomonError
from gnomon.privacy.guarantee import GaussianDP, PureDP
from gnomon.privacy.measure import Answer, Measurer
from gnomon.privacy.mechanism import Noise
from gnomon.statistics.frame import Binning, Frame
from gnomon.statistics.queries import Histogram, Moments, NoisyMax, RowSum
from gnomon.table.rows import CELL, Loaded, Rows

FRAME = Frame.identity(3, radius=2.0)
LOSS = GaussianDP(1.0)


class Table:
    """Rows in three parts that counts its passes."""

    def __init__(self, n: int = 90, shift: float = 0.0) -> None:
        X = np.random.default_rng(0).uniform(-1, 1, (n, 3))
        self._rows, self.passes = Rows.of(np.clip(X + shift, -1, 1)), 0

    def parts(self) -> Iterator[Loaded]:
        self.passes += 1
        for part in np.array_split(np.arange(len(self._rows)), 3):
            yield Loaded(self._rows.take(part), len(part))


def moments(name: str = "moments") -> Moments:
    return Moments(name, FRAME, constant=2**15)


class Noted:
    """An observer that keeps exact answers and lets the noise be zero."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []

    def outcome(self, noise: Noise, exact: Any, release: Any) -> Any:
        self.seen.append((noise.mechanism, exact))
        return exact


def test_a_measurement_carries_its_query_noise_and_event() -> None:
    data = Measurer(Table())
    found = data.measure(moments(), LOSS)
    assert found.event.statistic == "moments"
    assert found.event.mechanism == "goe"
    assert found.noise.diagonal == pytest.approx(float(found.event.sensitivity.value), rel=1e-9)
    assert data.events == [found.event]
    assert [answer.statistic for answer in data.answers] == ["moments"]


def test_the_noise_has_its_scale() -> None:
    exact = moments().of_batch(Table()._rows)
    drawn = [Measurer(Table()).measure(moments(), LOSS) for _ in range(40)]
    spread = np.std([(one.answer - exact)[0, 0, 0] / one.noise.diagonal for one in drawn])
    assert 0.5 < spread < 1.6


def test_queries_that_are_asked_together_share_a_pass() -> None:
    table = Table()
    data = Measurer(table, observer=Noted())
    both = data.measure_all([(moments(), LOSS), (RowSum("sums", FRAME), LOSS)])
    assert table.passes == 1
    for found in both:
        assert np.array_equal(found.answer, found.query.of_batch(table._rows))
    assert [event.statistic for event in data.events] == ["moments", "sums"]


def test_no_two_events_share_a_description() -> None:
    data = Measurer(Table())
    data.measure(moments(), LOSS)
    with pytest.raises(GnomonError, match="share the description"):
        data.measure(moments(), LOSS)


def test_recorded_answers_are_given_again_without_a_look_at_the_rows() -> None:
    first = Measurer(Table())
    given = [first.measure(moments(), LOSS).answer, first.measure(RowSum("sums", FRAME), LOSS).answer]
    again = Measurer(None, recorded=first.answers)
    assert np.array_equal(again.measure(moments(), LOSS).answer, given[0])
    assert np.array_equal(again.measure(RowSum("sums", FRAME), LOSS).answer, given[1])
    assert again.events == first.events
    with pytest.raises(DataError, match="needs its table"):
        again.measure(moments("more"), LOSS)


def test_a_release_goes_on_where_its_record_ends() -> None:
    first = Measurer(Table())
    answer = first.measure(moments(), LOSS).answer
    table, kept = Table(), []
    resumed = Measurer(table, recorded=first.answers, record=kept.append)
    both = resumed.measure_all([(moments(), LOSS), (RowSum("sums", FRAME), LOSS)])
    assert np.array_equal(both[0].answer, answer)
    assert table.passes == 1
    assert [one.statistic for one in kept] == ["sums"]  # fresh answers only


def test_the_record_of_another_release_is_refused() -> None:
    data = Measurer(Table(), recorded=[Answer("something else", np.zeros(1))])
    with pytest.raises(DataError, match="not those of this release"):
        data.measure(moments(), LOSS)


def test_an_observer_sees_exact_answers_and_decides_outcomes() -> None:
    watch = Noted()
    found = Measurer(Table(), observer=watch).measure(moments(), LOSS)
    assert watch.seen[0][0] == "goe"
    assert np.array_equal(found.answer, watch.seen[0][1])


def test_an_infinite_loss_meets_no_noise() -> None:
    table = Table()
    found = Measurer(table).measure(RowSum("sums", FRAME), PureDP(np.inf))
    assert found.event.mechanism == "none"
    assert np.array_equal(found.answer, found.query.of_batch(table._rows))


def test_a_selection_is_an_event_and_finds_the_largest_score() -> None:
    counts = Histogram("a choice", (Binning((0,), np.array([-CELL // 2, 0, CELL // 2, CELL])),))
    data = Measurer(Table(900, shift=0.8))
    query = NoisyMax(counts, 1, (0, 0, 0, 0))
    assert data.select(query, PureDP(5.0)) == 3
    assert data.events[0].mechanism == "noisy-max"
    assert data.events[0].scale == pytest.approx(2 / 5.0)


def test_what_is_drawn_for_the_public_is_recorded_and_costs_nothing() -> None:
    data = Measurer(Table())
    drawn = data.draw_public("a projection", lambda: np.arange(6))
    again = Measurer(None, recorded=data.answers)
    assert np.array_equal(again.draw_public("a projection", lambda: np.zeros(6)), drawn)
    assert data.events == []
