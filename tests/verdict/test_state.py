"""Verdicts of releases that were made: from the release alone, the same at every call, and right where it matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import UselessError
from gnomon.methods import METHODS
from gnomon.methods.charging import unaccounted
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.mechanism import vector_noise
from gnomon.privacy.sensitivity import Norm, histogram
from gnomon.publish import publish
from gnomon.release.folder import open_release, write_release
from gnomon.release.measurements import read_measurements
from gnomon.verdict.levels import Level
from gnomon.verdict.predict import predict
from gnomon.verdict.simulate import NotSimulatedError, Redrawn
from gnomon.verdict.state import state


def schema(target: bool = True) -> gn.Schema:
    role = {"role": "target"} if target else {}
    return gn.Schema(
        name="ward",
        columns=(
            gn.Column(name="age", kind="number", low=0, high=100),
            gn.Column(name="cost", kind="number", low=0, high=2000),
            gn.Column(name="smokes", kind="boolean"),
            gn.Column(name="ill", kind="category", values=("no", "yes"), **role),
        ),
    )


def table(n: int, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(50, 15, n), 0, 100)
    return pa.table(
        {
            "age": age,
            "cost": rng.exponential(150, n),
            "smokes": rng.random(n) < 0.3,
            "ill": np.where(rng.random(n) < age / 150, "yes", "no"),
        }
    )


@pytest.fixture
def ledger(tmp_path: Path) -> gn.Ledger:
    return gn.Ledger(tmp_path / "ledger.sqlite")


def fitted(name: str = "synthesizer", n: int = 3000, epsilon: float = 4.0, **more: Any) -> Any:
    return METHODS[name](epsilon=epsilon, schema=schema(), random_state=1, **more).fit(
        table(n), charge=unaccounted
    )


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_has_verdicts(name: str) -> None:
    method = fitted(name, 400)
    found = state(method)
    assert [verdict.name for verdict in found.columns] == [c.name for c in method.data_schema_.released]
    assert found.basis == "stated"
    assert found.summary()


def test_a_large_budget_is_good_and_a_small_one_is_not() -> None:
    good = state(fitted(n=20_000, epsilon=20.0))
    assert all(verdict.level is Level.GOOD for verdict in good.columns)
    poor = state(fitted(n=100, epsilon=0.05, delta=0.0))
    assert all(verdict.level >= Level.WEAK for verdict in poor.columns if verdict.name != "ill")
    assert all(
        verdict.level > Level.GOOD for verdict in poor.columns
    )  # classes that noise hides come out even


def test_the_shape_of_a_number_that_was_not_counted_is_weak_at_best() -> None:
    found = {verdict.name: verdict for verdict in state(fitted("ron-gauss", 20_000, 20.0)).columns}
    assert found["cost"].marginal is Level.WEAK
    assert found["cost"].location is Level.GOOD
    assert found["smokes"].marginal is Level.GOOD


def test_heaps_that_bins_cannot_resolve_show_in_the_counts() -> None:
    """All rows stand at two places inside the bounds: the noisy counts know it, whatever the trials say."""
    from gnomon.verdict.residual import differences, worst

    method = fitted(n=5000, epsilon=10.0)
    smooth = pa.concat_tables(method.sample_batches(5000))
    assert worst(differences(method, smooth)["age"]).variation < 0.1
    heaped = smooth.set_column(0, "age", pa.array(np.where(np.arange(5000) % 2 == 0, 33.3, 71.7)))
    assert worst(differences(method, heaped)["age"]).variation > 0.25


def test_the_table_is_not_needed(tmp_path: Path) -> None:
    method = fitted(n=800)
    write_release(method, tmp_path / "out")
    again = read_measurements(tmp_path / "out").replay()
    assert state(again) == method.verdicts_ == state(method)


def test_the_certificate_begins_with_it_and_names_columns(tmp_path: Path, ledger: gn.Ledger) -> None:
    method = gn.Synthesizer(2.0, schema=schema())
    publish(table(900), method, tmp_path / "out", ledger=ledger)
    certificate = open_release(tmp_path / "out").certificate
    assert certificate.verdicts is not None
    assert certificate.verdicts.summary == method.verdicts_.summary()
    named = [*certificate.verdicts.good, *certificate.verdicts.usable, *certificate.verdicts.weak]
    assert sorted([*named, *certificate.verdicts.lost]) == ["age", "cost", "ill", "smokes"]
    assert certificate.verdicts.level("age") == method.verdicts_.columns[0].level.word
    lines = (tmp_path / "out" / "certificate.yaml").read_text().splitlines()
    assert lines[2] == "verdicts:"
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.index("How good it is") < page.index("The guarantee in plain words")


def test_a_hopeless_release_is_refused_before_the_charge(tmp_path: Path, ledger: gn.Ledger) -> None:
    asked: dict[str, Any] = {"schema": schema(), "epsilon": 0.001, "delta": 0.0, "ledger": ledger}
    with pytest.raises(UselessError, match="every column of this release would be lost") as refusal:
        gn.publish(table(60), tmp_path / "out", **asked)
    assert refusal.value.exit_code == 4
    assert "Nothing was charged" in str(refusal.value)
    assert not (tmp_path / "out").exists()
    assert ledger.accounts() == []
    done = gn.publish(table(60), tmp_path / "out", even_if_useless=True, **asked)
    assert done.balance.charges == 1


def test_predictions_get_better_with_rows_and_epsilon() -> None:
    few = predict(schema(), 200, PureDP(0.1), remedies=False)
    many = predict(schema(), 200_000, PureDP(0.1), remedies=False)
    rich = predict(schema(), 200, PureDP(100.0), remedies=False)
    for one, other, third in zip(few.columns, many.columns, rich.columns, strict=True):
        assert other.level < one.level
        assert third.level < one.level


def test_simulated_noise_has_the_known_law() -> None:
    loss = PureDP(0.5)
    noise = vector_noise(histogram(Norm.L1, columns=3, adjacency=loss.adjacency), loss)
    redrawn = Redrawn(np.random.default_rng(0))
    drawn = redrawn.outcome(noise, np.zeros(40_000, dtype=np.int64), lambda: 0)
    assert drawn.std() == pytest.approx(noise.law.diagonal, rel=0.05)
    assert np.array_equal(
        drawn, Redrawn(np.random.default_rng(0)).outcome(noise, np.zeros(40_000, dtype=np.int64), lambda: 0)
    )


def test_a_method_that_cannot_be_tried_is_weak_rather_than_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    from gnomon.verdict import simulate

    def fail(*_: Any) -> None:
        raise NotSimulatedError("not this one")

    method = fitted(n=333)
    monkeypatch.setattr(simulate.Trial, "_tried", fail)
    assert {verdict.level for verdict in state(method).columns} == {Level.WEAK}
