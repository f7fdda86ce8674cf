"""delta="auto": small beside a row's share of the table, and 0 where it would buy nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.baseline import BernoulliIdentity, ExponentialMechanism
from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import auto_delta

pytestmark = pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")  # of small classes, by chance


@pytest.mark.parametrize(
    ("rows", "delta"),
    [(2, 1e-6), (100_000, 1e-6), (100_001, 1e-7), (1_000_000, 1e-7), (10**9, 1e-10), (None, 1e-6)],
)
def test_the_power_of_ten_at_or_below_a_tenth_of_a_row(rows: int | None, delta: float) -> None:
    assert auto_delta(rows) == delta
    assert rows is None or delta <= 1 / (10 * rows)


def rows(n: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.random((n, 3)), rng.integers(0, 2, n)


def test_every_method_has_it_by_default() -> None:
    for kind in (gn.Synthesizer, gn.RonGauss, gn.PcaGauss, gn.JlLaplace, gn.DpPro, gn.Dprp):
        method = kind(1.0, bounds=(0, 1), classes=[0, 1]).fit(*rows())
        assert method.guarantee_ == gn.ApproxDP(1.0, 1e-6)
        assert method.certificate_.privacy.delta == 1e-6
        assert method.get_params()["delta"] == "auto"


def test_it_follows_the_public_number_of_rows() -> None:
    X, _ = rows(150_000)
    assert gn.JlLaplace(1.0, bounds=(0, 1)).fit(X).guarantee_.delta == 1e-7


def test_a_private_number_of_rows_does_not_show_in_it() -> None:
    X, _ = rows(150_000)
    method = gn.RonGauss(1.0, bounds=(0, 1), adjacency="add-remove", expected_rows=10**6).fit(X)
    assert method.guarantee_.delta == 1e-6


@pytest.mark.parametrize("kind", [BernoulliIdentity, ExponentialMechanism])
def test_methods_that_spend_purely_have_none(kind: Any) -> None:
    assert kind(1.0, bounds=(0, 1), classes=[0, 1]).fit(*rows()).guarantee_ == gn.PureDP(1.0)


def test_printed_calibrations_have_none_unless_they_print_gaussian_noise() -> None:
    method = gn.RonGauss(1.0, bounds=(0, 1), classes=[0, 1], calibration="paper").fit(*rows())
    assert method.guarantee_ == gn.PureDP(1.0)
    paper: dict[str, Any] = {"bounds": (0, 1), "calibration": "paper"}
    assert gn.DpPro(1.0, unit="attribute", **paper).fit(rows()[0]).guarantee_.delta == 1e-6
    assert gn.Dprp(1.0, k1=8, **paper).fit(rows()[0]).guarantee_.delta == 1e-6
    printed = gn.PcaGauss(1.0, pca="analyze-gauss", classes=[0, 1], **paper).fit(*rows())
    assert printed.guarantee_.delta == 1e-6
    with pytest.raises(ParameterError, match="'delta' parameter of DpPro must be positive"):
        gn.DpPro(1.0, 0, unit="attribute", **paper).fit(rows()[0])


def test_zero_still_asks_for_pure_privacy() -> None:
    assert gn.Synthesizer(1.0, 0, bounds=(0, 1), classes=[0, 1]).fit(*rows()).guarantee_ == gn.PureDP(1.0)
    assert gn.Synthesizer(np.inf, bounds=(0, 1), classes=[0, 1], not_private=True).fit(
        *rows()
    ).guarantee_ == gn.PureDP(np.inf)
