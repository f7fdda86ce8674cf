"""Which attacks a method must withstand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gnomon.audit.attack import Attack
from gnomon.audit.choice import choice_attack
from gnomon.audit.methods import few_records, model_attack, row_attack
from gnomon.audit.moments import moment_attack
from gnomon.audit.printed import covariance_attack
from gnomon.audit.tail import tail_attack
from gnomon.audit.vectors import count_attack, sum_attack
from gnomon.audit.whole import STEADY, likelihood_attack
from gnomon.audit.worst import CROWD, EXPECTED, SEED, synthesizer_pair, worst_pair
from gnomon.errors import ParameterError
from gnomon.methods import METHODS
from gnomon.methods.base import Release
from gnomon.methods.model_release import ModelRelease
from gnomon.privacy.guarantee import Adjacency, ApproxDP, Guarantee, PureDP, Unit, declared

MANY = 32  # columns for each component of a projection that a paper's noise does not look at
COMPONENTS = 2  # few, so that the worst event is not too rare to be seen
ADAPTED = 0.04  # of epsilon, by which a step of the Synthesizer may vary
_FIXED = {
    "lda-identity": 1,
    "synthesizer": "auto",
}  # two classes have one discriminant; one chooses by its noise
PUBLIC_PROJECTION = ("jl-laplace", "dppro", "bernoulli-identity")  # each released row is a run of its own
PAID_PROJECTION = ("pca-identity", "lda-identity")  # rows share a projection that was itself paid for


def attacks_on(
    method: str,
    *,
    epsilon: float,
    delta: float = 0.0,
    components: int | None = None,
    calibration: str = "sound",
    unit: str = "row",
    adjacency: str = "replace-one",
    rows: int = 1,
) -> list[Attack]:
    """The attacks on a method by name, cheapest first; a person is added or removed with at most `rows` rows.

    Parameters
    ----------
    method : the name of a method.
    epsilon, delta : the claim.
    components : the dimension of the projection.
    calibration : "sound" or "paper".
    unit : "row", "attribute" or "person".
    adjacency : "replace-one" or "add-remove".
    """
    if method not in METHODS:
        raise ParameterError(f"The method must be one of {', '.join(METHODS)}. Got {method!r} instead.")
    if components is not None and components < 1:
        raise ParameterError(f"The components of an audit must be at least 1. Got {components} instead.")
    if unit not in {one.value for one in Unit}:
        raise ParameterError(f"The unit of an audit must be row, attribute or person. Got {unit!r} instead.")
    if adjacency not in {one.value for one in Adjacency}:
        raise ParameterError(
            f"The adjacency of an audit must be replace-one or add-remove. Got {adjacency!r} instead."
        )
    change = Adjacency.ADD_REMOVE if unit == "person" else Adjacency(adjacency)
    claim = declared(epsilon, delta, unit=Unit(unit), adjacency=change, rows=rows)
    p = COMPONENTS if components is None else components
    estimator = _estimator(method, claim, p, calibration, unit)
    if method in PUBLIC_PROJECTION:
        return _rows(estimator, method, claim, p)
    labelled = getattr(estimator, "classes", None) is not None
    few = few_records(_columns(p) if method in PAID_PROJECTION else p, labelled)
    if claim.adjacency is Adjacency.ADD_REMOVE:
        few = few.added()
    if claim.unit is Unit.PERSON:
        classes = {"classes": [0, 1]} if labelled else {}
        few = replace(few, parameters=classes).of_person(rows)
        estimator.set_params(
            schema=few.parameters["schema"],
            bounds=None,
            classes=None,
            expected_rows=None,
            adjacency="replace-one",
        )
    learnt = model_attack(estimator, method, claim, few.X, few.y, pair=few.pair)
    learnt = replace(learnt, discrete=method == "exponential")
    if calibration == "paper" and method == "ron-gauss":
        return [covariance_attack(epsilon, p), learnt]
    whole = _likelihood(method, claim, components, calibration)
    if calibration == "paper":
        return [whole, learnt]
    if claim.unit is Unit.PERSON:
        return [whole, learnt]
    if method == "exponential":
        return [choice_attack(PureDP(claim.epsilon, *claim.neighbours)), whole, learnt]
    moments = isinstance(estimator, ModelRelease) and method != "blocki"  # whose noise is a sketch
    return [*(_mechanisms(claim, p) if moments else []), whole, learnt]


def _rows(estimator: Release, method: str, claim: Guarantee, p: int) -> list[Attack]:
    """Each released row is a run of its own; where a promise counts on a fresh projection, each release is."""
    columns = MANY * p if estimator.calibration == "paper" else _columns(p)
    found = [row_attack(estimator, method, claim, columns=columns, unit=estimator.unit)]
    if method == "jl-laplace" and claim.delta > 0 and estimator.calibration == "sound":
        found.append(tail_attack(estimator, claim))
    return found


def _likelihood(method: str, claim: Guarantee, components: int | None, calibration: str) -> Attack:
    worst = worst_pair(method, claim, components, calibration)
    taken = METHODS[method].parameter_names()
    # what is drawn in public must be the same for both tables
    settings = {
        "bounds": (-1.0, 1.0),
        "calibration": calibration,
        "adjacency": claim.adjacency.value,
        "random_state": SEED,
        **worst.parameters,
    }
    made = METHODS[method](
        claim.epsilon, claim.delta, **{key: value for key, value in settings.items() if key in taken}
    )
    steady = ADAPTED if method == "synthesizer" else STEADY
    return likelihood_attack(made, method, claim, worst.X, worst.y, pair=worst.pair, steady=steady)


def synthesizer_attack(claim: Guarantee, target: str = "classes", n: int = CROWD) -> Attack:
    """The Synthesizer as a whole, for a kind of target, a unit, an adjacency and a number of records.

    Its frames follow earlier answers, so that even the worst record costs a step a little more or less.
    """
    worst = synthesizer_pair(claim, target, n)
    settings = {"adjacency": claim.adjacency.value, "random_state": SEED, **worst.parameters}
    made = METHODS["synthesizer"](claim.epsilon, claim.delta, **settings)
    return likelihood_attack(made, "synthesizer", claim, worst.X, worst.y, pair=worst.pair, steady=ADAPTED)


def _mechanisms(claim: Guarantee, p: int) -> list[Attack]:
    """The mechanisms that a model release is made of, each asked to keep the whole guarantee."""
    q = p + 1  # beside the components, a constant coordinate that counts
    found = [moment_attack(q, claim)]
    moved = claim.adjacency is Adjacency.REPLACE_ONE  # a record that is added takes its label with it
    if moved:
        found.append(moment_attack(q, claim, moved_label=True))
    if isinstance(claim, ApproxDP):
        return [*found, moment_attack(q, claim, mechanism="goe"), sum_attack(claim, p)]
    assert isinstance(claim, PureDP)
    one = moment_attack(1, claim, mechanism="matrix-laplace", moved_label=moved)
    return [*found, one, count_attack(claim)]


def _columns(p: int) -> int:
    """More columns than components, so that the projection matters."""
    return 2 * p


def _estimator(name: str, claim: Guarantee, p: int, calibration: str, unit: str) -> Release:
    kind = METHODS[name]
    taken = kind.parameter_names()
    wanted: dict[str, Any] = {
        "epsilon": claim.epsilon,
        "delta": claim.delta,
        "bounds": (-1.0, 1.0),
        "classes": [0, 1],
        "n_components": _FIXED.get(name, p),
        "calibration": calibration,
        "adjacency": claim.adjacency.value,
        "expected_rows": EXPECTED,
        "random_state": 0,
        "unit": unit,
        **{"candidates": 64, "queries": 8, "database_rows": 4, "sketch_rows": 8},  # small, to be run often
    }
    if unit != "attribute":
        wanted["radius"] = 1.0  # a ball inside the box, so that its worst rows are rows of the table
    if "unit" not in taken and unit == "attribute":
        raise ParameterError(f"The method {name} protects one row, not one {unit}; use --unit row.")
    if unit == "person":
        wanted["unit"] = "row"  # whose it is, a schema says
    estimator = kind(**{key: value for key, value in wanted.items() if key in taken})
    estimator._guarantee(None)  # refuses a calibration or a budget that the method does not know
    return estimator
