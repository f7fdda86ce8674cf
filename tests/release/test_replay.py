"""Replay: schema, parameters, measurements and the recorded seed give every byte of a folder again, without the table."""

from __future__ import annotations

import filecmp
import io
import os
import sqlite3
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gnomon.errors import DataError, GnomonWarning, OutputError, ParameterError
from gnomon.methods import METHODS
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.ledger import Ledger
from gnomon.publish import publish
from gnomon.release import journal
from gnomon.release.folder import write_release
from gnomon.release.measurements import read_measurements
from gnomon.table.schema import Schema

SCHEMA = """[table]
rows = 300
[columns.age]
kind = "number"
low = 0
high = 120
integer = true
[columns.ward]
kind = "category"
values = ["north", "south", "west"]
[columns.smokes]
kind = "boolean"
missing = "indicator"
[columns.dose]
kind = "number"
low = 0
high = 9
missing = "indicator"
[columns.risk]
kind = "number"
low = -1
high = 1
[columns.home]
kind = "boolean"
"""
TARGETS = {"none": None, "class": "home", "number": "risk"}
MORE: dict[str, dict[str, Any]] = {
    "exponential": {"candidates": 40, "database_rows": 20},
    "blocki": {"sketch_rows": 60},
}


def table(n: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(0, 100, n),
            "ward": rng.choice(["north", "south", "west"], n),
            "smokes": pa.array(rng.random(n) < 0.3, mask=rng.random(n) < 0.2),
            "dose": pa.array(rng.uniform(0, 9, n), mask=rng.random(n) < 0.1),
            "risk": rng.uniform(-1, 1, n),
            "home": rng.random(n) < 0.5,
        }
    )


def made(name: str, target: str, **parameters: Any) -> Any:
    schema = Schema.loads(SCHEMA).with_target(TARGETS[target])
    given = {"epsilon": 2.0, "delta": 1e-5, "schema": schema, **MORE.get(name, {}), **parameters}
    return METHODS[name](**given)


def same_folder(first: Path, second: Path) -> None:
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    _, differing, failed = filecmp.cmpfiles(first, second, names, shallow=False)
    assert not differing
    assert not failed


def asked(name: str, target: str, calibration: str, adjacency: str) -> Any:
    """A method with these parameters, or None where it refuses them: what its paper does not print, a private n."""
    method = made(name, target, calibration=calibration, adjacency=adjacency)
    if calibration == "paper":
        method.delta = 1e-5 if name in ("dppro", "dprp", "jl-laplace") else 0.0
        if name == "dppro":
            method.unit = "attribute"
    try:
        n = None if adjacency == "add-remove" else 300
        method._declared(method.schema, n, method._guarantee(n), 0)
    except ParameterError:
        return None
    return method


CASES = [
    case
    for case in product(METHODS, TARGETS, ("sound", "paper"), ("replace-one", "add-remove"))
    if asked(*case) is not None
]


def test_no_method_is_left_out() -> None:
    assert {case[0] for case in CASES} == set(METHODS)
    assert len(CASES) >= 60


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
@pytest.mark.parametrize(("name", "target", "calibration", "adjacency"), CASES)
def test_every_method_is_reproduced_byte_for_byte(
    name: str, target: str, calibration: str, adjacency: str, tmp_path: Path
) -> None:
    method = asked(name, target, calibration, adjacency)
    write_release(method.fit(table()), tmp_path / "first", rows=None)
    again = read_measurements(tmp_path / "first").replay()
    write_release(again, tmp_path / "second", rows=None)
    same_folder(tmp_path / "first", tmp_path / "second")


def test_estimated_bounds_are_replayed_too(tmp_path: Path) -> None:
    text = SCHEMA.replace("low = 0\nhigh = 9\n", "estimate = true\n")
    method = METHODS["ron-gauss"](epsilon=4.0, schema=Schema.loads(text))
    write_release(method.fit(table(2000)), tmp_path / "first")
    again = read_measurements(tmp_path / "first").replay()
    write_release(again, tmp_path / "second")
    same_folder(tmp_path / "first", tmp_path / "second")


def test_a_public_table_is_not_needed_again(tmp_path: Path) -> None:
    public = table(60, seed=9).drop_columns(["home"])
    method = made("pca-gauss", "class", pca="public", public=public)
    write_release(method.fit(table()), tmp_path / "first")
    again = read_measurements(tmp_path / "first").replay()
    write_release(again, tmp_path / "second")
    same_folder(tmp_path / "first", tmp_path / "second")


def test_one_changed_answer_gives_another_folder(tmp_path: Path) -> None:
    write_release(made("ron-gauss", "class").fit(table()), tmp_path / "first")
    recorded = read_measurements(tmp_path / "first")
    recorded.answers[-1].value[0, 0, 0] += 10**9
    write_release(recorded.replay(), tmp_path / "second")
    with pytest.raises(AssertionError):
        same_folder(tmp_path / "first", tmp_path / "second")


def test_measurements_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    write_release(made("ron-gauss", "class").fit(table()), tmp_path / "out")
    recorded = read_measurements(tmp_path / "out")
    with pytest.raises(DataError, match="end before"):
        METHODS["ron-gauss"](**recorded.parameters, schema=recorded.schema).replay(
            recorded.schema, recorded.rows, recorded.answers[:1], recorded.seed
        )
    (tmp_path / "out" / "measurements.npz").write_bytes(b"not an archive")
    with pytest.raises(DataError, match="cannot be read"):
        read_measurements(tmp_path / "out")


# --- A release that was killed ---


class KilledError(BaseException):
    """The process dies here."""


def publish_with(
    tmp_path: Path,
    kill_after: int | None,
    monkeypatch: pytest.MonkeyPatch,
    data: pa.Table | None = None,
    account: str | None = None,
    ledger: str = "ledger",
    **parameters: Any,
) -> Any:
    method = made("ron-gauss", "class", **parameters)
    kept = journal.Journal.record
    done = 0

    def record(self: Any, answer: Any) -> None:
        nonlocal done
        kept(self, answer)
        done += 1
        if kill_after is not None and done == kill_after:
            raise KilledError

    monkeypatch.setattr(journal.Journal, "record", record)
    try:
        rows = table() if data is None else data
        publish(rows, method, tmp_path / "out", ledger=Ledger(tmp_path / f"{ledger}.sqlite"), account=account)
    finally:
        monkeypatch.setattr(journal.Journal, "record", kept)
    return method


def spent(tmp_path: Path) -> tuple[float, int]:
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        (found,) = connection.execute("SELECT SUM(epsilon), COUNT(*) FROM entries WHERE kind = 'charge'")
    return float(found[0]), int(found[1])


@pytest.mark.parametrize("after", [1, 2])
def test_a_killed_release_resumes_without_a_second_charge(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        with pytest.raises(KilledError):
            publish_with(tmp_path, after, monkeypatch)
        (left,) = tmp_path.glob(".out.resume")
        assert left.stat().st_mode & 0o077 == 0
        with journal.Journal(tmp_path / "out") as recorded:
            first = recorded._records[3]  # the first answer, as it was drawn before the process died
        method = publish_with(tmp_path, None, monkeypatch)
    assert spent(tmp_path) == (2.0, 1)
    assert np.array_equal(method.answers_[0].value, np.load(io.BytesIO(first)))
    assert not list(tmp_path.glob(".out*"))
    again = read_measurements(tmp_path / "out").replay()
    write_release(again, tmp_path / "second")
    same_folder(tmp_path / "out", tmp_path / "second")


def test_another_release_pays_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KilledError):
        publish_with(tmp_path, 1, monkeypatch)
    publish_with(tmp_path, None, monkeypatch, n_components=2)
    assert spent(tmp_path) == (4.0, 2)


@pytest.mark.parametrize("other", ["rows", "budget", "schema", "account", "ledger"])
def test_what_was_cut_short_is_resumed_for_the_same_release_alone(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers of one table, budget or schema that were paid for must not begin a release of another."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        with pytest.raises(KilledError):
            publish_with(tmp_path, 1, monkeypatch)
        with journal.Journal(tmp_path / "out") as recorded:
            first = np.load(io.BytesIO(recorded._records[3]))
        schema = made("ron-gauss", "class").schema
        changes: dict[str, Any] = {
            "rows": {"data": table(seed=1)},
            "budget": {"epsilon": 3.0},
            "schema": {"schema": schema.model_copy(update={"rows": 500})},
            "account": {"account": "another"},
            "ledger": {"ledger": "another"},
        }
        method = publish_with(tmp_path, None, monkeypatch, **changes[other])
    assert not np.array_equal(method.answers_[0].value, first)
    held = [Ledger(path).accounts() for path in tmp_path.glob("*.sqlite")]
    assert sum(balance.charges for accounts in held for balance in accounts) == 2


def test_a_record_that_was_cut_short_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KilledError):
        publish_with(tmp_path, 2, monkeypatch)
    path = tmp_path / ".out.resume"
    path.write_bytes(path.read_bytes()[:-7])
    publish_with(tmp_path, None, monkeypatch)
    assert spent(tmp_path) == (2.0, 1)


def test_one_charge_buys_one_set_of_answers(tmp_path: Path) -> None:
    """A second release to the same place, while the first is under way, would find its charge and draw its own noise."""
    met: list[str] = []

    def nested(stage: str, done: int, total: int | None) -> None:
        if not met:
            met.append(stage)
            with pytest.raises(OutputError, match="Another release is being written to this place"):
                publish(
                    table(),
                    made("ron-gauss", "class"),
                    tmp_path / "out",
                    ledger=Ledger(tmp_path / "ledger.sqlite"),
                )

    publish(
        table(),
        made("ron-gauss", "class"),
        tmp_path / "out",
        ledger=Ledger(tmp_path / "ledger.sqlite"),
        progress=nested,
    )
    assert met
    assert spent(tmp_path) == (2.0, 1)
    assert not list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("way", ["another place", "a backup"])
def test_a_copy_of_a_journal_pays_for_itself(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever copies what a killed release left behind, and goes on from both, would have two sets of answers."""
    with pytest.raises(KilledError):
        publish_with(tmp_path, 1, monkeypatch)
    left, ledger = tmp_path / ".out.resume", Ledger(tmp_path / "ledger.sqlite")
    kept = left.read_bytes()
    if way == "another place":
        (tmp_path / ".other.resume").write_bytes(kept)
        publish(table(), made("ron-gauss", "class"), tmp_path / "other", ledger=ledger)
        assert spent(tmp_path) == (4.0, 2)
        publish_with(tmp_path, None, monkeypatch)
    else:
        os.link(left, tmp_path / "linked")  # so that the file system does not give the number to another file
        publish_with(tmp_path, None, monkeypatch)
        assert spent(tmp_path) == (2.0, 1)
        (tmp_path / "out").rename(tmp_path / "published")
        left.write_bytes(kept)
        publish_with(tmp_path, None, monkeypatch)
    assert spent(tmp_path) == (4.0, 2)


def test_a_charge_that_the_ledger_lost_is_paid_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup of the ledger from before the charge does not know what the journal was paid with."""
    ledger, backup = tmp_path / "ledger.sqlite", tmp_path / "backup"
    Ledger(ledger).charge("another", PureDP(1.0), method="ron-gauss")
    backup.write_bytes(ledger.read_bytes())
    with pytest.raises(KilledError):
        publish_with(tmp_path, 1, monkeypatch)
    assert spent(tmp_path) == (3.0, 2)
    ledger.write_bytes(backup.read_bytes())
    assert spent(tmp_path) == (1.0, 1)
    publish_with(tmp_path, None, monkeypatch)
    assert spent(tmp_path) == (3.0, 2)


def test_another_seed_is_another_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that were measured through one projection are not those of another, and a seed that was asked for is used."""
    with pytest.raises(KilledError):
        publish_with(tmp_path, 1, monkeypatch, random_state=5)
    assert publish_with(tmp_path, None, monkeypatch, random_state=6).seed_ == 6
    assert spent(tmp_path) == (4.0, 2)


def test_rows_that_were_drawn_are_paid_for_again(tmp_path: Path) -> None:
    """The first rows may have been seen, in memory or on a disk that filled up; others cost as much."""

    def full(stage: str, done: int, total: int | None) -> None:
        if stage == "writing the release":
            raise OSError(28, "No space left on device")

    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(OutputError, match="is charged; another run pays again"):
        publish(table(), made("jl-laplace", "class"), tmp_path / "out", ledger=ledger, progress=full)
    publish(table(), made("jl-laplace", "class"), tmp_path / "out", ledger=ledger)
    assert spent(tmp_path)[1] == 2


def test_a_replay_does_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    """Linear algebra and clustering add in another order with other threads; a reader's machine has other threads."""
    from threadpoolctl import threadpool_limits

    schema = Schema.loads(SCHEMA).with_target("home")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        method = METHODS["synthesizer"](100.0, 1e-5, schema=schema)
        with threadpool_limits(1):
            publish(table(2000), method, tmp_path / "one", ledger=Ledger(tmp_path / "l.sqlite"))
        assert any("class and cell" in event.statistic for event in method.events_)  # by clusters of k-means
        with threadpool_limits(2):
            write_release(read_measurements(tmp_path / "one").replay(), tmp_path / "two")
    same_folder(tmp_path / "one", tmp_path / "two")
