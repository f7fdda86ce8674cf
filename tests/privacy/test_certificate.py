"""A certificate says what holds, survives its own file, and reads hostile files in one sentence."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from gnomon.errors import DataError, GnomonError
from gnomon.privacy.accounting import mu_of
from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import Adjacency, ApproxDP, GaussianDP, PureDP, Unit
from gnomon.privacy.mechanism import Event, release_moments, release_vector
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.privacy.printed import ron_gauss_delivered
from gnomon.privacy.sensitivity import Norm, class_counts

REPLACE = Adjacency.REPLACE_ONE


def moments_event(loss=PureDP(1.0)) -> Event:  # noqa: B008 - frozen
    return release_moments(
        np.zeros((2, 3, 3), np.int64), 2**20, loss, statistic="moments", adjacency=loss.adjacency
    ).event


def counts_event(loss=PureDP(0.25)) -> Event:  # noqa: B008 - frozen
    norm = Norm.L1 if isinstance(loss, PureDP) else Norm.L2
    return release_vector(
        np.zeros(3, np.int64), class_counts(norm, adjacency=REPLACE), loss, statistic="counts"
    ).event


def certificate(**changes) -> Certificate:
    given = {
        "method": "ron-gauss",
        "guarantee": PureDP(1.25),
        "events": [counts_event(), moments_event()],
        "table": "ward",
        "rows": 569,
        "public": ["bounds of 'age': declared", "categories of 'ward': declared"],
        "post_processing": ["negative eigenvalues were lifted to the noise floor"],
    }
    return Certificate.build(**{**given, **changes})


def test_a_sound_certificate_says_so_in_words_and_fields() -> None:
    found = certificate()
    assert found.holds
    assert found.private
    assert found.private_noise
    assert found.guarantee == PureDP(1.25)
    assert found.noise.total_variation == 0.0
    assert [event.mechanism for event in found.events] == ["discrete-laplace", "matrix-laplace"]
    assert found.events[0].scale == 8.0
    assert found.events[0].loss == {"epsilon": 0.25}
    assert found.composition == "2 uses of the rows, one after another; pure epsilons add"
    for words in ("epsilon = 1.25", "at most 3.5 times", "569", "one row of the table, its label included"):
        assert words in found.statement
    assert "delta" not in found.statement
    assert set(found.versions) >= {"gnomon", "python", "numpy"}


def test_an_approximate_certificate_names_delta() -> None:
    guarantee = ApproxDP(1.0, 1e-6)
    found = certificate(guarantee=guarantee, events=[moments_event(GaussianDP(mu_of(1.0, 1e-6)))])
    assert found.guarantee == guarantee
    assert "epsilon = 1 and delta = 1e-06" in found.statement
    assert "plus delta" in found.statement
    assert "except" not in found.statement
    for share in ("73.2%", "54.72%", "1% and 5% false alarms", "1.84% and 7.96%"):
        assert share in found.statement
    bound, exact = found.attacks
    assert bound.right == pytest.approx(math.e / (1 + math.e), abs=1e-4)
    assert exact.mu == pytest.approx(mu_of(1.0, 1e-6))
    assert found.events[0].mechanism == "goe"
    assert "Balle and Wang" in found.composition


def test_an_attribute_certificate_names_its_unit() -> None:
    found = certificate(guarantee=PureDP(1.0, Unit.ATTRIBUTE), events=[])
    assert "one attribute of one row" in found.statement
    assert found.guarantee.unit is Unit.ATTRIBUTE


def test_fixed_noise_is_marked_as_not_private() -> None:
    with fixed_noise(1):
        found = certificate()
    assert not found.holds
    assert not found.private_noise
    assert found.statement.startswith("This release is NOT private")
    assert certificate().holds


def test_no_noise_is_marked_as_not_private() -> None:
    infinite = PureDP(math.inf)
    found = certificate(guarantee=infinite, events=[moments_event(infinite)])
    assert not found.holds
    assert "NOT private" in found.statement
    assert Certificate.from_yaml(found.to_yaml()) == found


def test_a_paper_calibration_says_what_it_delivers() -> None:
    found = certificate(
        calibration="paper",
        delivered=2.45,
        caveats=["The printed covariance scale is short for 16 dimensions."],
    )
    assert not found.holds
    assert "does NOT keep" in found.statement
    assert "delivers epsilon = 2.45" in found.statement
    nothing = certificate(calibration="paper", delivered=math.inf)
    assert "no finite epsilon" in nothing.statement
    assert Certificate.from_yaml(nothing.to_yaml()) == nothing
    assert certificate(calibration="paper", delivered=1.25).holds
    assert not certificate(calibration="paper").holds  # printed noise holds only by a number
    exact = ron_gauss_delivered(2, epsilon_mean=0.3 * 1.25, epsilon=0.7 * 1.25)
    assert certificate(calibration="paper", delivered=exact).holds
    assert certificate(caveats=["A class was too small for its noise."]).holds


@pytest.mark.parametrize(
    ("guarantee", "events", "sentence"),
    [
        (PureDP(1.0), [counts_event(), moments_event()], "spent epsilon 1.25"),
        (PureDP(1.0), [moments_event(GaussianDP(0.1))], "Gaussian noise under a pure guarantee"),
        (ApproxDP(1.0, 1e-6), [moments_event(GaussianDP(mu_of(1.0, 1e-5)))], "not certified"),
        (PureDP(2.0, Unit.ATTRIBUTE), [moments_event()], "another unit"),
    ],
)
def test_events_that_cost_more_than_declared_are_not_certified(guarantee, events, sentence) -> None:
    with pytest.raises(GnomonError, match=sentence):
        certificate(guarantee=guarantee, events=events)


def test_an_infinite_loss_does_not_hold() -> None:
    """An event without noise is not covered by any epsilon, whatever the others cost."""
    exact = moments_event(PureDP(math.inf))
    for calibration in ("sound", "paper"):
        found = certificate(events=[counts_event(), exact], calibration=calibration, delivered=1.0)
        assert not found.holds
        assert "NOT keep" in found.statement
        assert Certificate.from_yaml(found.to_yaml()) == found


def test_what_was_taken_unpaid_does_not_hold() -> None:
    found = certificate(unpaid=["the set of class labels, taken from y"])
    assert not found.holds
    assert "taken from y" in found.statement
    assert found.attacks == ()


def test_printed_noise_holds_only_where_its_events_compose() -> None:
    events = [counts_event(PureDP(1.0)), moments_event()]
    assert not certificate(events=events, calibration="paper", delivered=1.0).holds


def test_weak_promises_are_said() -> None:
    gaussian = [moments_event(GaussianDP(mu_of(9.0, 0.01)))]
    found = certificate(guarantee=ApproxDP(9.0, 0.01), events=gaussian, rows=100)
    assert found.holds
    assert [line.split(" is ")[0] for line in found.weak] == ["Epsilon = 9", "Delta = 0.01"]
    assert certificate(guarantee=ApproxDP(8.0, 0.0099), events=gaussian[:0], rows=100).weak == ()
    unknown = ApproxDP(1.0, 0.5, adjacency=Adjacency.ADD_REMOVE)
    assert certificate(guarantee=unknown, events=[], rows=None).weak == ()


def test_parts_of_a_budget_are_certified_under_the_whole() -> None:
    for whole in (PureDP(1.1), GaussianDP(mu_of(1.1, 1e-6))):
        parts = whole.split(0.3, 0.7)
        declared = PureDP(1.1) if isinstance(whole, PureDP) else ApproxDP(1.1, 1e-6)
        assert certificate(guarantee=declared, events=[counts_event(parts[0]), moments_event(parts[1])]).holds


def test_n_is_not_told_where_it_is_private() -> None:
    unknown = PureDP(1.0, adjacency=Adjacency.ADD_REMOVE)
    with pytest.raises(GnomonError, match="number of rows is private"):
        certificate(guarantee=unknown, events=[])
    assert "number of rows" not in certificate(guarantee=unknown, events=[], rows=None).statement


def test_yaml_goes_back_and_forth_in_a_fixed_order() -> None:
    found = certificate().with_files({"map.npz": "b" * 64, "data.parquet": "a" * 64}, released_rows=1000)
    text = found.to_yaml()
    assert Certificate.from_yaml(text) == found
    assert Certificate.from_yaml(text).to_yaml() == text
    assert text.startswith("# Certificate")
    assert list(yaml.safe_load(text))[:4] == ["format", "verdicts", "statement", "holds"]
    assert list(found.files) == ["data.parquet", "map.npz"]
    assert max(map(len, text.splitlines())) <= 120
    assert "&id" not in text


def test_a_certificate_cannot_be_edited() -> None:
    with pytest.raises(ValidationError):
        certificate().holds = True  # type: ignore[misc]


def _edited(**changes) -> str:
    return yaml.safe_dump({**yaml.safe_load(certificate().to_yaml()), **changes})


EVENT = yaml.safe_load(certificate().to_yaml())["events"][0]
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no fields"),
        ("just words", "no fields"),
        ("- 1\n- 2", "no fields"),
        ("a: [1, 2", "not valid YAML"),
        ("x: !!python/object/apply:os.system ['true']", "not valid YAML"),
        (BOMB, "not valid YAML"),
        ("holds: true\nholds: false\n", "not valid YAML"),
        ("? [1, 2]\n: 3\n", "not valid YAML"),
        ("[" * 900_000, "not valid YAML"),
        ("a: " + "9" * 6000, "not valid YAML"),
        ("a: \x00", "not valid YAML"),
        ("x" * 1_000_001, "longer than 1000000"),
        ("holds: true", "not valid at 'statement': field required"),
        (_edited(holds="perhaps"), "not valid at 'holds'"),
        (_edited(surprise=1), "not valid at 'surprise'"),
        (_edited(format="gnomon certificate 9"), "not valid at 'format'"),
        (_edited(privacy={"epsilon": -1}), "not valid at 'privacy"),
        (
            _edited(noise={"source": "s", "private": False, "total_variation": 0}),
            "cannot hold without private",
        ),
        (_edited(rows=-5), "not valid at 'rows"),
        (_edited(unpaid=["a mean"]), "cannot hold with something unpaid"),
        (_edited(events=[EVENT, copy.deepcopy(EVENT)]), "two events share a description"),
        (_edited(events=[{**EVENT, "loss": {"epsilon": 2.0}}]), "events cost more than it declares"),
        (_edited(events=[{**EVENT, "loss": {"epsilon": math.inf}}]), "events cost more than it declares"),
        (_edited(events=[{**EVENT, "loss": {"delta": 0.1}}]), "a loss is epsilon, mu, rho"),
        (_edited(events=[{**EVENT, "unit": "attribute"}]), "events cost more than it declares"),
        (_edited(events=[{"loss": {"epsilon": float("nan")}}]), "not valid at 'events"),
        (_edited(events=7), "not valid at 'events'"),
        (_edited(**{"x" * 5000: 1}), "not valid at 'xxx"),
    ],
)
def test_hostile_files_get_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence) as caught:
        Certificate.from_yaml(text)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)
