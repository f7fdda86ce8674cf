"""The ledger cannot be overspent, forgets nothing, survives a kill, and speaks in sentences."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnomon.errors import BudgetError, GnomonError, ParameterError
from gnomon.privacy.guarantee import ApproxDP, PureDP, Unit
from gnomon.privacy.ledger import Balance, Dataset, Ledger, default_path

WARD = Dataset("ward.parquet", "aa11")
OTHER = Dataset("other.csv", "bb22")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "deep" / "ledger.sqlite")


def test_charges_add_up_and_are_refused_beyond_the_cap(ledger: Ledger) -> None:
    assert ledger.remaining(WARD) is None
    ledger.cap(WARD, 1.0, 1e-5)
    assert ledger.charge(WARD, PureDP(0.25), method="ron-gauss").epsilon_left == 0.75
    balance = ledger.charge(WARD, ApproxDP(0.5, 1e-6), method="pca-gauss", note="for the journal")
    assert balance == ledger.show(WARD) == Balance("ward.parquet", "aa11", Unit.ROW, 1.0, 1e-5, 0.75, 1e-6, 2)
    assert ledger.remaining(WARD) == (0.25, 9e-6)
    with pytest.raises(BudgetError) as caught:
        ledger.charge(WARD, PureDP(0.5), method="ron-gauss")
    error = caught.value
    assert (error.requested, error.remaining, error.difference, error.exit_code) == (0.5, 0.25, 0.25, 3)
    for part in ("ward.parquet", "requested epsilon 0.5", "remaining 0.25", "difference 0.25", "budget cap"):
        assert part in str(error)
    with pytest.raises(BudgetError, match=r"requested delta 0\.0001, remaining 9e-06"):
        ledger.charge(WARD, ApproxDP(0.1, 1e-4), method="ron-gauss")
    assert ledger.show(WARD).charges == 2


def test_amounts_are_the_decimals_that_people_write(ledger: Ledger) -> None:
    """Ten charges of 0.1 fit a cap of 1, and not one more of any size."""
    ledger.cap(WARD, 1.0)
    for _ in range(10):
        ledger.charge(WARD, PureDP(0.1), method="m")
    assert ledger.remaining(WARD) == (0.0, 0.0)
    with pytest.raises(BudgetError):
        ledger.charge(WARD, PureDP(1e-12), method="m")


def test_without_a_cap_charges_are_recorded_and_not_refused(ledger: Ledger) -> None:
    ledger.charge(WARD, PureDP(100.0), method="m")
    assert ledger.show(WARD).epsilon_spent == 100.0
    assert ledger.show(WARD).epsilon_left is None


def test_a_pure_cap_refuses_any_delta(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    with pytest.raises(BudgetError, match="requested delta"):
        ledger.charge(WARD, ApproxDP(0.1, 1e-9), method="m")


def test_infinite_charges_use_up_every_finite_cap(ledger: Ledger) -> None:
    ledger.charge(WARD, PureDP(float("inf")), method="m")
    ledger.cap(WARD, 5.0)
    assert ledger.remaining(WARD) == (0.0, 0.0)
    ledger.cap(OTHER, 5.0)
    with pytest.raises(BudgetError):
        ledger.charge(OTHER, PureDP(float("inf")), method="m")


def test_datasets_are_told_apart_by_content_not_by_name(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    ledger.charge(Dataset("/elsewhere/copy.parquet", "aa11"), PureDP(1.0), method="m")
    with pytest.raises(BudgetError):
        ledger.charge(WARD, PureDP(0.1), method="m")
    ledger.charge(OTHER, PureDP(0.1), method="m")
    assert [(b.label, b.epsilon_spent) for b in ledger.datasets()] == [
        ("/elsewhere/copy.parquet", 1.0),
        ("other.csv", 0.1),
    ]


def test_history_keeps_caps_and_charges_in_order(ledger: Ledger) -> None:
    assert ledger.history(WARD) == []
    ledger.cap(WARD, 1.0, unit=Unit.ATTRIBUTE)
    ledger.charge(WARD, PureDP(0.5, Unit.ATTRIBUTE), method="dppro", note="first")
    ledger.cap(OTHER, 9.0)
    entries = ledger.history(WARD)
    ledger.cap(WARD, 2.0)
    assert [(e.kind, e.epsilon) for e in ledger.history(WARD)] == [
        ("cap", 1.0),
        ("charge", 0.5),
        ("cap", 2.0),
    ]
    charge = entries[1]
    assert (charge.epsilon, charge.delta, charge.unit, charge.adjacency) == (
        0.5,
        0.0,
        "attribute",
        "replace-one",
    )
    assert (charge.method, charge.note, charge.label) == ("dppro", "first", "ward.parquet")
    assert charge.time.endswith("+00:00")


def test_a_later_cap_replaces_an_earlier_one(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    ledger.charge(WARD, PureDP(0.75), method="m")
    assert ledger.cap(WARD, 0.5).epsilon_left == 0.0
    assert ledger.cap(WARD, 2.0).epsilon_left == 1.25


@pytest.mark.parametrize("statement", ["UPDATE entries SET epsilon = 0.001", "DELETE FROM entries"])
def test_lines_cannot_be_changed_or_removed(ledger: Ledger, statement: str) -> None:
    ledger.cap(WARD, 1.0)
    ledger.charge(WARD, PureDP(0.5), method="m")
    with (
        sqlite3.connect(ledger.path) as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute(statement)
    connection.close()
    assert ledger.show(WARD).epsilon_spent == 0.5


def test_reading_makes_no_file(ledger: Ledger) -> None:
    assert ledger.show(WARD).charges == 0
    assert ledger.datasets() == []
    assert not ledger.path.exists()


@pytest.mark.skipif(os.name == "nt", reason="permissions of this kind are POSIX")
def test_the_ledger_is_for_its_owner_alone(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    assert ledger.path.stat().st_mode & 0o077 == 0


def test_a_path_that_is_no_text_is_kept_readable(ledger: Ledger) -> None:
    ledger.charge(Dataset(os.fsdecode(b"caf\xe9.csv"), "cc33"), PureDP(1.0), method="m")
    assert ledger.datasets()[0].label == "caf?.csv"


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (-1.0, 0.0), (float("nan"), 0.0), (1.0, 1.0)])
def test_a_cap_must_be_a_guarantee(ledger: Ledger, epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        ledger.cap(WARD, epsilon, delta)
    assert not ledger.path.exists()


# --- other processes ---

RACER = """
import sys
from gnomon.errors import BudgetError
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.ledger import Dataset, Ledger
ledger, dataset = Ledger(sys.argv[1], wait=60), Dataset("ward.parquet", "aa11")
sys.stdin.readline()
wins = 0
for _ in range(3):
    try:
        ledger.charge(dataset, PureDP(0.125), method="race")
        wins += 1
    except BudgetError:
        pass
print(wins)
"""


def test_eight_processes_cannot_overspend(ledger: Ledger) -> None:
    """24 charges of an eighth race for a budget of one: eight win."""
    ledger.cap(WARD, 1.0)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(ledger.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    wins = [int(racer.communicate(timeout=120)[0]) for racer in racers]
    assert sum(wins) == 8
    assert ledger.show(WARD).epsilon_spent == 1.0
    assert len(ledger.history(WARD)) == 9


def test_many_first_writers_make_one_ledger(tmp_path: Path) -> None:
    """The file itself is made inside the transaction, so a race to create it loses nothing."""
    path = tmp_path / "ledger.sqlite"
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(3)
    ]
    assert [int(racer.communicate(b"go\n", timeout=60)[0]) for racer in racers] == [3, 3, 3]
    assert Ledger(path).show(WARD).charges == 9


KILLED = """
import sys
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.ledger import Dataset, Ledger
ledger, dataset = Ledger(sys.argv[1]), Dataset("ward.parquet", "aa11")
ledger.charge(dataset, PureDP(0.25), method="committed")
print("committed", flush=True)
with ledger._writing() as connection:
    values = "(NULL, 't', 'charge', 'aa11', 'l', 0.5, 0, 'row', 'r', 'half', '')"
    connection.execute("INSERT INTO entries VALUES " + values)
    connection.execute("PRAGMA cache_spill = 1")
    print("half", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is POSIX")
def test_a_killed_process_leaves_what_it_committed_and_nothing_half_done(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(ledger.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "committed\n"
    assert process.stdout.readline() == "half\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert [e.method for e in ledger.history(WARD)] == ["", "committed"]
    assert ledger.charge(WARD, PureDP(0.75), method="after").epsilon_left == 0.0


def test_a_locked_ledger_is_a_sentence_after_its_wait(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        impatient = Ledger(ledger.path, wait=0.2)
        started = time.monotonic()
        with pytest.raises(GnomonError, match=r"locked by another process for 0\.2 seconds"):
            impatient.charge(WARD, PureDP(0.1), method="m")
        with pytest.raises(GnomonError, match="locked by another process"):
            impatient.show(WARD)
        assert time.monotonic() - started < 5
    finally:
        holder.close()
    assert ledger.show(WARD).charges == 0


# --- bad files ---


def test_a_file_that_is_no_database_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"not a database, but long enough to look at" * 20)
    for question in (
        lambda: Ledger(path).show(WARD),
        lambda: Ledger(path).charge(WARD, PureDP(1.0), method="m"),
    ):
        with pytest.raises(GnomonError, match="damaged or is not a ledger"):
            question()


def test_a_damaged_ledger_is_a_sentence(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    content = bytearray(ledger.path.read_bytes())
    content[100:] = b"\xff" * (len(content) - 100)
    ledger.path.write_bytes(content)
    with pytest.raises(GnomonError, match=r"damaged or is not a ledger|cannot be read"):
        ledger.show(WARD)


def test_another_database_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE precious (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(GnomonError, match="something else"):
        Ledger(path).charge(WARD, PureDP(1.0), method="m")
    with pytest.raises(GnomonError, match="something else"):
        Ledger(path).show(WARD)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.touch()
    assert Ledger(path).show(WARD).charges == 0
    assert Ledger(path).cap(WARD, 1.0).epsilon_left == 1.0


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(GnomonError, match=r"cannot be written \(.+\); mend its permissions"):
        Ledger(tmp_path / "file" / "ledger.sqlite").cap(WARD, 1.0)
    with pytest.raises(GnomonError, match="cannot be written"):
        Ledger(tmp_path).cap(WARD, 1.0)
    with pytest.raises(GnomonError, match="cannot be read"):
        Ledger(tmp_path).show(WARD)


# --- where it lives ---


def test_the_ledger_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "mine.sqlite"))
    assert Ledger().path == default_path() == tmp_path / "mine.sqlite"
    monkeypatch.delenv("GNOMON_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert default_path() == tmp_path / "data" / "gnomon" / "ledger.sqlite"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert default_path().parts[-4:] == ("Library", "Application Support", "gnomon", "ledger.sqlite")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert default_path() == tmp_path / "local" / "gnomon" / "ledger.sqlite"


def test_attributes_and_rows_have_accounts_of_their_own(ledger: Ledger) -> None:
    """An epsilon for one attribute says little of a whole row: a cap on rows must not be spent, or passed, by it."""
    attribute = PureDP(0.5, unit=Unit.ATTRIBUTE)
    ledger.charge(WARD, attribute, method="dppro")
    ledger.cap(WARD, 1.0)
    with pytest.raises(BudgetError, match="capped for whole rows"):
        ledger.charge(WARD, attribute, method="dppro")
    ledger.cap(WARD, 1.0, unit=Unit.ATTRIBUTE)
    assert ledger.charge(WARD, attribute, method="dppro").epsilon_spent == 1.0
    with pytest.raises(BudgetError, match="remaining 0"):
        ledger.charge(WARD, attribute, method="dppro")
    assert ledger.show(WARD).epsilon_spent == 0.0
    assert ledger.charge(WARD, PureDP(1.0), method="ron-gauss").epsilon_left == 0.0
