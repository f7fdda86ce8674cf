"""The short way from a table to a folder, and fits that draw on a ledger."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import gnomon as gn
import gnomon.publish
from gnomon.errors import BudgetError, GnomonWarning, ParameterError
from gnomon.methods import charging
from gnomon.release.folder import open_release

SCHEMA = gn.Schema.of_arrays(3, (0.0, 1.0))
FRAME = gn.Schema(name="ward", columns=SCHEMA.columns)


def table(seed: int = 0, n: int = 200) -> pa.Table:
    cells = np.random.default_rng(seed).random((3, n))
    return pa.table({f"x{j}": cells[j] for j in range(3)})


@pytest.fixture
def ledger(tmp_path: Path) -> gn.Ledger:
    return gn.Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture(autouse=True)
def not_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GNOMON_LEDGER", raising=False)


# --- gn.publish ---


def test_the_short_way(tmp_path: Path, ledger: gn.Ledger) -> None:
    FRAME.save(tmp_path / "schema.toml")
    pq.write_table(table(), tmp_path / "ward.parquet")
    done = gn.publish(
        tmp_path / "ward.parquet", tmp_path / "out", schema=tmp_path / "schema.toml", epsilon=1, ledger=ledger
    )
    assert done.folder == tmp_path / "out"
    assert open_release(done.folder).certificate.guarantee == done.method.guarantee_ == gn.ApproxDP(1.0, 1e-6)
    assert done.balance == ledger.show("ward")
    assert done.balance.epsilon_spent == 1.0


def test_a_method_and_its_parameters_by_name(tmp_path: Path, ledger: gn.Ledger) -> None:
    done = gn.publish(
        table(),
        tmp_path / "out",
        schema=FRAME,
        epsilon=0.5,
        delta=1e-6,
        method="pca-gauss",
        n_components=2,
        account="study",
        ledger=ledger,
        rows=50,
        format="csv",
        even_if_useless=True,
    )
    assert (done.method.name, done.method.n_components) == ("pca-gauss", 2)
    assert (done.balance.account, done.balance.delta_spent) == ("study", 1e-6)
    assert (tmp_path / "out" / "data.csv").read_text().count("\n") == 51
    by_attribute = gn.publish(
        table(),
        tmp_path / "second",
        schema=FRAME,
        epsilon=0.25,
        account="study",
        ledger=ledger,
        unit="attribute",
        even_if_useless=True,
    )
    assert by_attribute.method.unit == "attribute"  # type: ignore[attr-defined]
    assert by_attribute.balance.epsilon_spent == pytest.approx(0.5 + 3 * 0.25)


def test_the_usual_ledger_is_the_default(
    tmp_path: Path, ledger: gn.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(ledger.path))
    gn.publish(table(), tmp_path / "out", schema=FRAME, epsilon=1)
    assert ledger.show("ward").charges == 1


@pytest.mark.parametrize(
    ("words", "clue"),
    [
        ({"method": "magic"}, "must be auto or one of"),
        ({"method": "ron-gauss", "spread": 1}, "ron-gauss has no parameter 'spread'; it has"),
        ({"unit": "house"}, "'unit' must be"),
        ({"account": ""}, "name of an account"),
        ({"epsilon": -1}, "'epsilon'"),
    ],
)
def test_what_is_wrong_is_a_sentence_before_anything_is_charged(
    tmp_path: Path, ledger: gn.Ledger, words: dict[str, Any], clue: str
) -> None:
    with pytest.raises(ParameterError, match=clue):
        gn.publish(table(), tmp_path / "out", **{"schema": FRAME, "epsilon": 1, "ledger": ledger, **words})
    assert not ledger.path.exists()
    assert not (tmp_path / "out").exists()


def test_the_module_is_callable_and_still_a_module(tmp_path: Path, ledger: gn.Ledger) -> None:
    assert gn.publish is gnomon.publish
    method = gn.RonGauss(1.0, schema=FRAME)
    balance = gnomon.publish.publish(table(), method, tmp_path / "out", ledger=ledger, account="by method")
    assert balance == ledger.show("by method")


# --- fit ---


def test_a_fit_draws_on_the_ledger_that_it_is_given(ledger: gn.Ledger) -> None:
    ledger.cap("ward", 1.0)
    method = gn.RonGauss(0.75, schema=FRAME)
    method.fit(table(), ledger=ledger)
    assert ledger.show("ward").epsilon_left == 0.25
    with pytest.raises(BudgetError, match=r"requested epsilon 0\.75, remaining 0\.25"):
        clone(method).fit(table(), ledger=ledger)
    clone(method).fit(np.random.default_rng(1).random((50, 3)), ledger=ledger, account="study")
    assert [entry.method for entry in ledger.history("study")] == ["ron-gauss"]


def test_a_refused_fit_reads_no_row_for_the_release(ledger: gn.Ledger) -> None:
    ledger.cap("ward", 0.5)
    method = gn.RonGauss(0.75, schema=FRAME)
    with pytest.raises(BudgetError):
        method.fit(table(), ledger=ledger)
    assert not hasattr(method, "answers_")


def test_a_fit_draws_on_the_ledger_that_is_configured(
    ledger: gn.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(ledger.path))
    X = np.random.default_rng(1).random((50, 3))
    gn.RonGauss(1.0, bounds=(0, 1)).fit(X)
    gn.RonGauss(1.0, bounds=(0, 1)).fit(X[::-1], account="array")
    assert ledger.show("array").epsilon_spent == 2.0


def test_printed_noise_is_charged_as_infinite(ledger: gn.Ledger) -> None:
    gn.RonGauss(1.0, schema=FRAME, calibration="paper").fit(table(), ledger=ledger)
    assert ledger.show("ward").epsilon_spent == np.inf
    assert "as printed" in ledger.history("ward")[0].note


def test_a_fit_without_a_ledger_says_so_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charging, "_said", False)
    with caplog.at_level(logging.INFO, logger="gnomon"):
        for _ in range(3):
            gn.RonGauss(1.0, schema=FRAME).fit(table())
    assert [record.getMessage() for record in caplog.records] == [charging.NOT_ACCOUNTED]


def test_a_fit_that_nobody_publishes_is_quiet_and_free(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, ledger: gn.Ledger
) -> None:
    monkeypatch.setattr(charging, "_said", False)
    monkeypatch.setenv("GNOMON_LEDGER", str(ledger.path))
    gn.RonGauss(1.0, schema=FRAME).fit(table(), charge=charging.unaccounted)
    assert not caplog.records
    assert not ledger.path.exists()


def test_releases_that_add_up_to_a_weak_promise_are_told_of_in_python(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, ledger: gn.Ledger
) -> None:
    gn.RonGauss(5.0, schema=FRAME).fit(table(), ledger=ledger)
    assert not caplog.records
    gn.RonGauss(5.0, schema=FRAME).fit(table(), ledger=ledger)
    gn.publish(table(), tmp_path / "out", schema=FRAME, epsilon=2, method="ron-gauss", ledger=ledger)
    said = [record.getMessage() for record in caplog.records]
    assert ["add up to epsilon = 10, a weak" in said[0], "add up to epsilon = 12, a weak" in said[1]] == [
        True
    ] * 2


def test_what_is_said_reaches_a_plain_script_and_fails_none() -> None:
    """Also where warnings are errors: the call is right."""
    script = (
        "import gnomon as gn, numpy as np\n"
        "X = np.random.default_rng(0).random((50, 3))\n"
        "for _ in range(2): gn.RonGauss(1.0, bounds=(0, 1)).fit(X)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, charging.NOT_ACCOUNTED + "\n")


# --- the tripwire ---


def test_one_table_on_two_accounts_and_two_tables_on_one_are_warned_of(ledger: gn.Ledger) -> None:
    method = gn.RonGauss(1.0, schema=FRAME)
    method.fit(table(), ledger=ledger)
    method.fit(table().take(list(range(199, -1, -1))), ledger=ledger)  # another order is the same table
    with pytest.warns(GnomonWarning, match="released from the account 'ward' before, and now from 'study'"):
        method.fit(table(), ledger=ledger, account="study")
    with pytest.warns(GnomonWarning, match="'ward' was charged for other rows before"):
        method.fit(table(seed=1), ledger=ledger)
    fewer = gn.Schema(name="ward", columns=SCHEMA.columns[:2])
    gn.RonGauss(1.0, schema=fewer).fit(table(), ledger=ledger)  # other columns cannot be compared
    assert ledger.show("ward").charges == 4


def test_warnings_as_errors_stop_before_the_charge(ledger: gn.Ledger) -> None:
    method = gn.RonGauss(1.0, schema=FRAME)
    method.fit(table(), ledger=ledger)
    with pytest.raises(GnomonWarning):
        method.fit(table(), ledger=ledger, account="study")
    assert ledger.show("study").charges == 0
