"""V5: the set of class labels is public knowledge only if it is declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gnomon as gn


@pytest.mark.parametrize("name", ["RonGauss", "PcaGauss", "JlLaplace"])
def test_labels_that_were_read_from_y_do_not_hold(
    name: str, quietly: Callable[[Callable[[], Any]], Any], refusal: type[Exception]
) -> None:
    """A label that one record alone has appears in the release or not: no epsilon covers that.

    Without classes=[...] a pure epsilon-DP release of arrays is refused, or its certificate says that it does not hold.
    """
    rng = np.random.default_rng(7)
    X, y = rng.uniform(-1, 1, (300, 4)), rng.integers(0, 2, 300)
    y[0] = 2  # one record's own class
    method = getattr(gn, name)(1.0, bounds=(-1, 1))
    try:
        quietly(lambda: method.fit(X, y))
    except refusal:
        return
    assert not method.certificate_.holds


@pytest.mark.parametrize("name", ["RonGauss", "PcaGauss", "JlLaplace"])
def test_declared_labels_hold(name: str, quietly: Callable[[Callable[[], Any]], Any]) -> None:
    """With classes=[...] nothing of y is taken as public, and the same release holds."""
    rng = np.random.default_rng(7)
    X, y = rng.uniform(-1, 1, (300, 4)), rng.integers(0, 2, 300)
    method = getattr(gn, name)(1.0, bounds=(-1, 1), classes=[0, 1, 2])
    assert quietly(lambda: method.fit(X, y)).certificate_.holds


def labelled(n: int = 2000) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]).astype(object)
    y[0] = "only here"
    return rng.uniform(-1, 1, (n, 4)), y


@pytest.mark.parametrize("name", ["RonGauss", "PcaGauss"])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_labels_may_be_found_by_a_paid_selection(
    name: str, adjacency: str, quietly: Callable[[Callable[[], Any]], Any]
) -> None:
    """Frequent labels are found, one record's own label is not, and the events say what was paid."""
    more = {"expected_rows": 2000} if adjacency == "add-remove" else {}
    method = getattr(gn, name)(4.0, 1e-5, bounds=(-1, 1), classes="private", adjacency=adjacency, **more)
    quietly(lambda: method.fit(*labelled()))
    assert set(method.schema_["y"].values) == {"a", "b", "c"}
    assert method.schema_["y"].values[0] == "a"  # the fullest first: it takes what is not shown
    assert method.certificate_.holds
    first = method.certificate_.events[0]
    assert (first.statistic, first.mechanism) == ("set of labels of 'y'", "thresholded-laplace")
    assert first.loss == {"epsilon": pytest.approx(0.4), "delta": 5e-6}
    assert set(method.sample(200)[1]) <= {"a", "b", "c"}
    again = quietly(
        lambda: getattr(gn, name)(**method.get_params()).replay(
            method.declared_schema_, method.n_public_, method.answers_, method.seed_, made=method.made_
        )
    )
    assert again.certificate_ == method.certificate_


def test_numbers_stay_numbers_when_they_are_selected(quietly: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (2000, 3)), rng.integers(0, 3, 2000)
    method = gn.RonGauss(4.0, 1e-5, bounds=(-1, 1), classes="private")
    quietly(lambda: method.fit(X, y))
    assert sorted(method.schema_["y"].values) == [0, 1, 2]
    assert method.sample(10)[1].dtype.kind == "i"


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({}, r"classes=\[0, 1\].*or pass classes='private'"),
        (
            {"classes": "private", "delta": 0.0},
            "which needs delta above 0; set delta, or declare the classes",
        ),
        ({"classes": "public"}, "must be a list of classes or 'private'. Got 'public' instead"),
    ],
)
def test_what_is_not_declared_is_asked_for(
    parameters: dict[str, Any], sentence: str, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal, match=sentence):
        gn.RonGauss(1.0, bounds=(-1, 1), **parameters).fit(*labelled())


def test_too_few_frequent_labels_are_a_sentence(refusal: type[Exception]) -> None:
    X, y = labelled(40)
    with pytest.raises(refusal, match="Fewer than two labels of 'y' are frequent enough"):
        gn.RonGauss(0.5, 1e-6, bounds=(-1, 1), classes="private").fit(X, y)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_selection_keeps_its_epsilon_and_delta(adjacency: str) -> None:
    """Exactly, by adding up all outcomes of two tables with few labels, one of which has a label of its own."""
    from itertools import product
    from math import exp

    from gnomon.methods.classes import FrequentLabels

    loss = gn.ApproxDP(0.7, 1e-3, gn.Unit.ROW, gn.Adjacency(adjacency))
    query = FrequentLabels(("y",))
    scale, least = query.noise(loss).scale, query.threshold(loss)
    q = exp(-1 / scale)

    def shown(count: int) -> float:  # P(count + Z > least)
        z = least - count + 1
        return q**z / (1 + q) if z >= 1 else 1 - q ** (1 - z) / (1 + q)

    for common in (1, least - 1, least, least + 3):
        moved = common - 1 if adjacency == "replace-one" else common
        tables = ({"a": common, "b": 0}, {"a": moved, "b": 1})
        chances = [
            {
                outcome: np.prod(
                    [
                        shown(t[x]) if t[x] and o else 0 if o else 1 - (shown(t[x]) if t[x] else 0)
                        for x, o in zip(t, outcome, strict=True)
                    ]
                )
                for outcome in product([True, False], repeat=2)
            }
            for t in tables
        ]
        for one, other in (chances, chances[::-1]):
            lost = sum(max(0.0, one[o] - exp(loss.epsilon) * other[o]) for o in one)
            assert lost <= loss.delta


def test_a_selection_that_finds_too_little_says_so_each_time_and_is_paid_once(
    custodian: Any, ward: Any
) -> None:
    """The noisy answers are kept: to ask again for others would buy a second chance with one charge."""
    text = custodian.schema_file.read_text().replace('values = ["home", "care"]\n', "estimate = true\n")
    custodian.schema_file.write_text(text)
    few = custodian.write(ward.slice(0, 60))
    place = ("--schema", custodian.schema_file, "--out", custodian.new_folder(), "--epsilon", 0.1)
    for _ in range(2):
        outcome = custodian.run("release", few, *place, "--method", "ron-gauss", "--even-if-useless")
        assert outcome.code == 2
        assert "Fewer than two labels of 'outcome'" in outcome.err
        assert "its noisy answers are kept, so that the same release ends the same" in outcome.err
    assert custodian._ledger().show("ward").charges == 1
