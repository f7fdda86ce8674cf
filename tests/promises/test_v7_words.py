"""V7: what (epsilon, delta) means, in words and figures that are right."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import GnomonError
from gnomon.privacy.measure import Answer, Measurer
from gnomon.statistics.queries import Count

EPSILON, DELTA = 1.0, 1e-6
NORMAL = NormalDist()


def exact_mu(epsilon: float, delta: float) -> float:
    """The mu at which a Gaussian release is (epsilon, delta)-DP exactly (Balle and Wang), by bisection."""

    def delta_of(mu: float) -> float:
        return NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * NORMAL.cdf(-mu / 2 - epsilon / mu)

    low, high = 1e-3, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) < delta else (low, middle)
    return low


def plain(text: str) -> str:
    """Without tags and line breaks."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def percentages(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"(\d+(?:\.\d+)?)\s?%", text)]


@pytest.fixture
def told(custodian: Any, ward: pa.Table) -> Callable[[], dict[str, str]]:
    """A Gaussian release at (1, 1e-6), and what it tells: its certificate, its report, and the console."""

    def release() -> dict[str, str]:
        more = ("--delta", DELTA, "--method", "dppro")
        outcome = custodian.release(custodian.write(ward), *more, epsilon=EPSILON)
        assert outcome.code == 0, outcome.err
        folder = custodian.last
        return {
            "certificate": plain(folder.text("certificate.yaml")),
            "report": plain(folder.text("report.html")),
            "console": plain(outcome.out),
        }

    return release


def test_the_figures() -> None:
    """The exact mu at (1, 1e-6), and what a test can reach: 54.7% right, 1.8% and 8.0% power at 1% and 5%."""
    mu = exact_mu(EPSILON, DELTA)
    assert mu == pytest.approx(0.236704, abs=1e-6)
    assert NORMAL.cdf(mu / 2) == pytest.approx(0.5471, abs=1e-4)


def test_delta_is_no_probability_of_failure(told: Callable[[], dict[str, str]]) -> None:
    """(epsilon, delta)-DP is P[S] <= e^epsilon P'[S] + delta for every set S of outcomes.

    "At most e^epsilon times as likely except with probability delta" is probabilistic DP, which is stronger: at
    (1, 1e-6) an analytic Gaussian release exceeds epsilon with probability 20 delta.
    """
    for where, words in told().items():
        assert not re.search(r"except\s+(with|for|in)\b[^.]{0,40}\b(probability|chance|delta)", words), where


@pytest.mark.parametrize("where", ["certificate", "report", "console"])
def test_the_exact_figure_of_a_gaussian_release_is_told(
    told: Callable[[], dict[str, str]], where: str
) -> None:
    """Of two equally likely neighbours, the best test of a mu-GDP release is right Phi(mu / 2) of the time.

    At (1, 1e-6) that is 54.7%, where the bound from epsilon alone is 73.1%.
    """
    best = 100 * NORMAL.cdf(exact_mu(EPSILON, DELTA) / 2)
    assert min(abs(share - best) for share in [*percentages(told()[where]), math.inf]) < 0.1


@pytest.mark.parametrize("false_alarms", [0.01, 0.05])
def test_the_trade_off_is_told(told: Callable[[], dict[str, str]], false_alarms: float) -> None:
    """The trade-off function of mu-GDP: a test with false alarms a finds the record Phi(Phi^-1(a) + mu) of the time."""
    power = 100 * NORMAL.cdf(NORMAL.inv_cdf(false_alarms) + exact_mu(EPSILON, DELTA))
    shown = percentages(told()["certificate"])
    assert 100 * false_alarms in shown
    assert min(abs(share - power) for share in shown) < 0.1


def test_the_report_tells_each_figure_once(told: Callable[[], dict[str, str]]) -> None:
    """What a test reaches stands beside its picture, and the paragraph of the promise does not say it again."""
    page = told()["report"]
    mu = exact_mu(EPSILON, DELTA)
    for share in (NORMAL.cdf(mu / 2), *(NORMAL.cdf(NORMAL.inv_cdf(a) + mu) for a in (0.01, 0.05))):
        assert sum(abs(found - 100 * share) < 0.011 for found in percentages(page)) == 1
    assert "every set of outcomes has at most 2.72 times the probability" in page


def test_a_pure_release_is_told_by_its_bound(custodian: Any, ward: pa.Table) -> None:
    """Where the noise is not Gaussian, e^epsilon / (1 + e^epsilon) = 73.1% is what can be said at epsilon 1."""
    folder = custodian.publish(ward, gn.RonGauss(1.0, schema=custodian.schema))
    bound = 100 / (1 + math.exp(-1))
    assert min(abs(share - bound) for share in percentages(plain(folder.text("report.html")))) < 0.1


def test_no_two_events_share_a_description() -> None:
    """Two uses of the rows that one sentence describes could pass for one."""
    data = Measurer(None, recorded=[Answer("number of rows", np.array(7))] * 2)
    loss = gn.PureDP(1.0, adjacency=gn.Adjacency.ADD_REMOVE)
    data.measure(Count("number of rows"), loss)
    with pytest.raises(GnomonError, match="share the description"):
        data.measure(Count("number of rows"), loss)


@pytest.mark.parametrize(
    ("epsilon", "delta", "said"),
    [
        (10.0, 1e-6, "Epsilon = 10 is a weak promise"),
        (1.0, 0.01, "not below one over the number of rows, 300"),
    ],
)
def test_a_weak_promise_is_said(
    custodian: Any, ward: pa.Table, epsilon: float, delta: float, said: str
) -> None:
    """In the certificate, in the report and on the console; with what an attacker reaches."""
    more = ("--delta", delta, "--method", "dppro")
    outcome = custodian.release(custodian.write(ward), *more, epsilon=epsilon)
    assert outcome.code == 0, outcome.err
    for words in (outcome.out, *(plain(custodian.last.text(f)) for f in ("certificate.yaml", "report.html"))):
        assert said in plain(words)
    if epsilon > 8:
        (line,) = gn.open_release(custodian.last.path).certificate.weak
        assert percentages(line)[0] > 99.9  # by epsilon
        assert percentages(line)[1] == pytest.approx(100 * NORMAL.cdf(exact_mu(epsilon, delta) / 2), abs=0.1)


def test_many_releases_on_one_account_are_a_weak_promise(custodian: Any, ward: pa.Table) -> None:
    """Each of them may be a good promise; together they are what the sum of their epsilons is."""
    data, said = custodian.write(ward), []
    for _ in range(3):
        outcome = custodian.release(data, "--method", "ron-gauss", epsilon=3)
        assert outcome.code == 0, outcome.err
        said.append("add up to epsilon = 9, a weak promise" in plain(outcome.out))
    assert said == [False, False, True]
    shown = plain(custodian.run("budget", "show", "ward").out)
    assert "The 3 releases of the account 'ward' add up to epsilon = 9, a weak promise" in shown
    assert percentages(shown)[0] == pytest.approx(100 / (1 + math.exp(-9)), abs=0.02)
