"""Random neighbours through whole releases: none uses up more than it is charged, and a charge that is too small is seen.

A short form of `benchmarks/replay_pairs.py`, whose results are in docs/results/replay-pairs.md.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.audit.instrumentation import ControlFlowDiverged, Step
from gnomon.audit.replay import Pair, _changed_rows, _labels
from gnomon.errors import DataError
from gnomon.methods import METHODS
from gnomon.statistics.queries import Count

CASES = [
    "synthesizer | row | delta | classes",
    "synthesizer | row, added or removed | pure | number",
    "synthesizer | person | delta | none",
    "ron-gauss | row | pure | classes",
    "pca-gauss | person | pure | classes",
    "modips | row | delta | private classes",
    "blocki | row | delta | classes",
    "exponential | row, added or removed | pure | none",
    "privbayes | row | pure | classes",
    "jtree | row | pure | number",
    "priview | row, added or removed | delta | classes",
    "dprp | row | delta | classes",
    "jl-laplace | attribute | pure | classes",
    "dppro | row | delta | number",
    "bernoulli-identity | row | pure | none",
    "pca-identity | row | delta | classes",
    "lda-identity | row | pure | classes",
    "private-svm | row | delta | classes",
]
FAULTS = {
    "histogram": "synthesizer | row | pure | classes",
    "moments": "synthesizer | row | pure | classes",
    "dependence of attributes: a sixth of it": "privbayes | row | pure | classes",
    "distance of two minimisers: half of it": "private-svm | row | delta | classes",
    "persons: rows are not bounded": "synthesizer | person | pure | classes",
}


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    module = import_module("replay_pairs")
    monkeypatch.setattr(module.persons, "fresh_key", module.persons.fresh_key)  # put back at the end
    return module


def found(pairs: Any, key: str) -> tuple[int, Any]:
    return next((place, case) for place, case in enumerate(pairs.cases()) if case.key == key)


def test_every_method_is_searched(pairs: Any) -> None:
    cases = list(pairs.cases())
    assert {case.method for case in cases} == set(pairs.ESTIMATORS) > set(METHODS)
    assert {key.partition(" |")[0] for key in CASES} == set(pairs.ESTIMATORS)
    assert len({case.key for case in cases}) == len(cases)


@pytest.mark.parametrize("key", CASES)
def test_no_pair_uses_up_more_than_its_charge(pairs: Any, key: str) -> None:
    place, case = found(pairs, key)
    seen = pairs.searched(case, 4, 3, place)
    assert seen.above == 0
    assert 0 < seen.line()["whole"] <= 1 + 1e-9
    assert len(seen.random) + len(seen.climbed) == 7


@pytest.mark.parametrize("fault", FAULTS)
def test_a_charge_that_is_too_small_is_seen(pairs: Any, fault: str) -> None:
    place, case = found(pairs, FAULTS[fault])
    with pairs.fault(fault):
        assert pairs.searched(case, 12, 12, place, enough=1).above == 1
    assert pairs.searched(case, 2, 0, place).above == 0


def test_rows_are_compared_as_a_multiset() -> None:
    rows = np.arange(12).reshape(6, 2)
    other = rows[[3, 1, 5, 0, 2, 4]].copy()
    other[2] = [7, 7]
    one, two = _changed_rows(Step("goe", 1.0, rows, None), Step("goe", 1.0, other, None))
    assert one.exact.tolist() == [[10, 11]]
    assert two.exact.tolist() == [[7, 7]]
    other[0] = [8, 8]
    with pytest.raises(ControlFlowDiverged):
        _changed_rows(Step("goe", 1.0, rows, None), Step("goe", 1.0, other, None))


def refusing(when: Callable[[Any], bool], step: bool = True) -> Any:
    """A release that measures the number of rows, and is refused where the table is like this."""

    class Refusing(gn.RonGauss):
        def _release(self, data: Any, public: Any, notes: Any) -> None:
            if step:
                data.measure(Count("number of rows"), public.budget)
            rows = np.concatenate([part.load().cells for part in data.rows.parts()])
            if when(rows):
                raise DataError("It is refused.")
            super()._release(data, public, notes)

    return Refusing(1.0, bounds=(-1, 1), adjacency="add-remove", expected_rows=9)


@pytest.mark.parametrize(
    ("when", "share"),
    [(lambda rows: True, 1.0), (lambda rows: len(rows) == 4, np.inf), (lambda rows: len(rows) == 3, np.inf)],
)
def test_a_refusal_is_an_outcome_that_both_tables_must_have(when: Any, share: float) -> None:
    tables = np.zeros((3, 2)), np.zeros((4, 2))
    pair = Pair(refusing(when), (lambda: tables[0], lambda: tables[1]))
    assert pair.replayed().whole == pytest.approx(share)


def test_a_refusal_before_any_measurement_is_no_pair() -> None:
    table = np.zeros((3, 2))
    with pytest.raises(DataError, match="It is refused"):
        Pair(refusing(lambda rows: True, step=False), (lambda: table, lambda: table)).replayed()


def test_labels_of_one_table_alone_count_in_full() -> None:
    def distance(first: list[int], second: list[int]) -> float:
        return _labels(Step("", 1.0, np.array(first), None), Step("", 1.0, np.array(second), None))

    assert distance([5, 7, 9], [5, 8, 9]) == 1
    assert distance([5, 9], [5, 1, 9]) == 1
    assert distance([5, 1, 9], [5, 9, 1]) == 2
    assert distance([], [3]) == 3
