"""Nothing is left out: every method with every unit and calibration that it offers has its attacks."""

from __future__ import annotations

import importlib
import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from gnomon import baseline
from gnomon.audit import attacks_on
from gnomon.errors import ParameterError
from gnomon.methods import METHODS
from gnomon.methods.model_release import ModelRelease
from gnomon.methods.opening import open_table, public_rows
from gnomon.methods.row_release import RowRelease
from gnomon.privacy.guarantee import Adjacency
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import Moments

DELTAS = (0.0, 1e-5)


def offered() -> list[tuple[str, str, str]]:
    """(method, unit, calibration) that some budget is accepted for, asked of the methods themselves."""
    found = []
    for name, unit, calibration in itertools.product(METHODS, ("row", "attribute"), ("sound", "paper")):
        if any(accepts(name, unit, calibration, delta) for delta in DELTAS):
            found.append((name, unit, calibration))
    return found


def accepts(name: str, unit: str, calibration: str, delta: float, adjacency: str = "replace-one") -> bool:
    kind = METHODS[name]
    taken = kind.parameter_names()
    if unit != "row" and "unit" not in taken:
        return False
    wanted = {
        "bounds": (-1.0, 1.0),
        "classes": [0, 1],
        "calibration": calibration,
        "unit": unit,
        "adjacency": adjacency,
        "expected_rows": 4,
    }
    method = kind(1.0, delta, **{key: value for key, value in wanted.items() if key in taken})
    try:
        opened = open_table(method, np.zeros((4, 2)), np.array([0, 1, 0, 1]))
        n = None if adjacency == "add-remove" else public_rows(opened.source)
        method._declared(opened.schema, n, method._guarantee(n), 0)
    except ParameterError:
        return False
    return True


OFFERED = offered()


def test_the_question_is_answered_as_the_methods_document() -> None:
    assert {(name, "row", "sound") for name in METHODS} <= set(OFFERED)
    attributes = {name for name, unit, _ in OFFERED if unit == "attribute"}
    assert attributes == {"jl-laplace", "dppro"}
    papers = {name for name, _, calibration in OFFERED if calibration == "paper"}
    assert papers == {"ron-gauss", "pca-gauss", "jl-laplace", "dppro", "dprp", "modips"}


def test_every_compared_method_is_a_method() -> None:
    """All but one that publishes a classifier and no rows."""
    rows = set(baseline.__all__) - {"PrivateSvm"}
    assert {getattr(baseline, name) for name in rows} <= {METHODS[name] for name in METHODS}


@pytest.mark.parametrize(("method", "unit", "calibration"), OFFERED)
def test_every_promise_has_an_attack_on_its_whole_release(method, unit, calibration) -> None:
    delta = next(delta for delta in DELTAS if accepts(method, unit, calibration, delta))
    attacks = attacks_on(method, epsilon=1.0, delta=delta, unit=unit, calibration=calibration)
    assert any(attack.name.startswith(f"{method}: ") for attack in attacks)


ADDED = [
    (name, delta)
    for name in METHODS
    for delta in DELTAS
    if accepts(name, "row", "sound", delta, "add-remove")
]


def test_every_method_that_fits_a_model_keeps_its_number_of_rows_private() -> None:
    rows = {name for name in METHODS if issubclass(METHODS[name], RowRelease)}
    public = {"privbayes", "jtree"}  # whose scores divide by the number of rows
    assert {name for name, _ in ADDED} == set(METHODS) - rows - public
    assert {one.value for one in Adjacency} == {"replace-one", "add-remove"}


@pytest.mark.parametrize(("method", "delta"), ADDED)
def test_every_promise_about_an_added_record_has_an_attack_on_its_whole_release(method, delta) -> None:
    attacks = attacks_on(method, epsilon=1.0, delta=delta, adjacency="add-remove")
    whole = [attack for attack in attacks if attack.name.startswith(f"{method}: ")]
    assert len(whole) == 2  # by likelihood, and learnt
    assert {attack.pair for attack in whole} == {"one record more"}
    assert {attack.claim.adjacency for attack in attacks} == {Adjacency.ADD_REMOVE}


@dataclass(eq=False, repr=False)
class FromOutside(ModelRelease):
    """A method that nobody wrote an attack for, and that does not count what it releases twice."""

    name: ClassVar[str] = "from-outside"

    def _release(self, data, public, notes) -> None:
        query = Moments(
            "moments", Frame.identity(public.m, radius=1.0), public.target, constant=GRID, by_class=True
        )
        data.measure(query, public.budget)
        data.measure(replace(query, statistic="moments again"), public.budget)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", DELTAS)
def test_a_method_from_outside_is_attacked_without_a_line_of_its_own(adjacency, delta, monkeypatch) -> None:
    monkeypatch.setitem(METHODS._registered, FromOutside.name, FromOutside)
    whole, learnt = attacks_on("from-outside", epsilon=2.0, delta=delta, adjacency=adjacency)[-2:]
    assert whole.reach() > 1.4 * 2.0  # it spends its budget twice
    assert learnt.name == "from-outside: the whole release"


def test_the_long_audit_leaves_nothing_out(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    cases = importlib.import_module("audit").cases()
    assert {case.target for case in cases} >= set(OFFERED)
    assert len({case.key for case in cases}) == len(cases)
