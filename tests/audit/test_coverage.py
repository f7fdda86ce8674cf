"""Nothing is left out: every method with every unit and calibration that it offers has its attacks."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path

import numpy as np
import pytest

from gnomon import baseline
from gnomon.audit import attacks_on
from gnomon.engine.local import quiet
from gnomon.errors import ParameterError
from gnomon.release import METHODS

DELTAS = (0.0, 1e-5)


def offered() -> list[tuple[str, str, str]]:
    """(method, unit, calibration) that some budget is accepted for, asked of the methods themselves."""
    found = []
    for name, unit, calibration in itertools.product(METHODS, ("row", "attribute"), ("sound", "paper")):
        if any(accepts(name, unit, calibration, delta) for delta in DELTAS):
            found.append((name, unit, calibration))
    return found


def accepts(name: str, unit: str, calibration: str, delta: float) -> bool:
    kind = METHODS[name]
    taken = kind._get_param_names()
    if unit != kind.unit and "unit" not in taken:
        return False
    wanted = {"bounds": (-1.0, 1.0), "classes": [0, 1], "calibration": calibration, "unit": unit}
    method = kind(1.0, delta, **{key: value for key, value in wanted.items() if key in taken})
    try:
        method._guarantee()
        method._check(method._open(np.zeros((4, 2)), np.array([0, 1, 0, 1]), quiet))
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
    assert {getattr(baseline, name) for name in baseline.__all__} <= {METHODS[name] for name in METHODS}


@pytest.mark.parametrize(("method", "unit", "calibration"), OFFERED)
def test_every_promise_has_an_attack_on_its_whole_release(method, unit, calibration) -> None:
    delta = next(delta for delta in DELTAS if accepts(method, unit, calibration, delta))
    attacks = attacks_on(method, epsilon=1.0, delta=delta, unit=unit, calibration=calibration)
    assert any(attack.name.startswith(f"{method}: ") for attack in attacks)


def test_the_long_audit_leaves_nothing_out(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    cases = importlib.import_module("audit").cases()
    assert {case.target for case in cases} >= set(OFFERED)
    assert len({case.key for case in cases}) == len(cases)
