"""The ledger cannot be overspent, forgets nothing, survives a kill, and speaks in sentences."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnomon.errors import BudgetError, GnomonError, LedgerError, ParameterError
from gnomon.privacy.accounting import mu_of
from gnomon.privacy.guarantee import Adjacency, ApproxDP, GaussianDP, PureDP, Unit
from gnomon.privacy.ledger import Balance, Ledger, configured, default_path

WARD, OTHER = "ward", "other"
ROW = (Unit.ROW, Adjacency.REPLACE_ONE, 1)
ADDED = (Unit.ROW, Adjacency.ADD_REMOVE, 1)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "deep" / "ledger.sqlite")


def test_charges_add_up_and_are_refused_beyond_the_cap(ledger: Ledger) -> None:
    assert ledger.remaining(WARD) is None
    ledger.cap(WARD, 1.0, 1e-5)
    assert ledger.charge(WARD, PureDP(0.25), method="ron-gauss").epsilon_left == 0.75
    balance = ledger.charge(WARD, ApproxDP(0.5, 1e-6), method="pca-gauss", note="for the journal")
    assert balance == ledger.show(WARD) == Balance(WARD, ROW, 1.0, 1e-5, 0.75, 1e-6, 2)
    assert ledger.remaining(WARD) == (0.25, 9e-6)
    with pytest.raises(BudgetError) as caught:
        ledger.charge(WARD, PureDP(0.5), method="ron-gauss")
    error = caught.value
    assert (error.requested, error.remaining, error.difference, error.exit_code) == (0.5, 0.25, 0.25, 3)
    for part in ("ward", "requested epsilon 0.5", "remaining 0.25", "difference 0.25", "budget cap"):
        assert part in str(error)
    with pytest.raises(BudgetError, match=r"requested delta 0\.0001, remaining 9e-06"):
        ledger.charge(WARD, ApproxDP(0.1, 1e-4), method="ron-gauss")
    assert ledger.show(WARD).charges == 2


def test_amounts_are_the_decimals_that_people_write(ledger: Ledger) -> None:
    """Ten charges of 0.1 fit a cap of 1, and not one more of any size."""
    ledger.cap(WARD, 1.0, 0.0)
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
    ledger.cap(WARD, 1.0, 0.0)
    with pytest.raises(BudgetError, match="requested delta"):
        ledger.charge(WARD, ApproxDP(0.1, 1e-9), method="m")


def test_infinite_charges_use_up_every_finite_cap(ledger: Ledger) -> None:
    ledger.charge(WARD, PureDP(float("inf")), method="m")
    ledger.cap(WARD, 5.0)
    assert ledger.remaining(WARD) == (0.0, 1e-5)
    ledger.cap(OTHER, 5.0)
    with pytest.raises(BudgetError):
        ledger.charge(OTHER, PureDP(float("inf")), method="m")


def test_accounts_are_told_apart_by_name(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    ledger.charge(WARD, PureDP(1.0), method="m", table="/elsewhere/copy.parquet")
    with pytest.raises(BudgetError):
        ledger.charge(WARD, PureDP(0.1), method="m")
    ledger.charge(OTHER, PureDP(0.1), method="m")
    assert [(b.account, b.epsilon_spent) for b in ledger.accounts()] == [(OTHER, 0.1), (WARD, 1.0)]


@pytest.mark.parametrize("name", ["", " ward", "ward\n", "w" * 201, "\x1b[31m", 5, os.fsdecode(b"caf\xe9")])
def test_a_name_is_text_that_people_can_read(ledger: Ledger, name: str) -> None:
    for work in (lambda: ledger.cap(name, 1.0), lambda: ledger.charge(name, PureDP(1.0), method="m")):
        with pytest.raises(ParameterError, match="name of an account"):
            work()
    assert ledger.accounts() == []


def test_history_keeps_caps_and_charges_in_order(ledger: Ledger) -> None:
    assert ledger.history(WARD) == []
    ledger.cap(WARD, 1.0, unit=Unit.ATTRIBUTE)
    ledger.charge(
        WARD, PureDP(0.5, Unit.ATTRIBUTE), method="dppro", note="first", table="ward.parquet", content="c"
    )
    ledger.cap(OTHER, 9.0)
    ledger.cap(WARD, 2.0, unit=Unit.ATTRIBUTE)
    entries = ledger.history(WARD)
    assert [(e.number, e.kind, e.epsilon) for e in entries] == [
        (1, "cap", 1.0),
        (2, "charge", 0.5),
        (3, "cap", 2.0),
    ]
    charge = entries[1]
    assert (charge.epsilon, charge.delta, charge.unit, charge.adjacency, charge.rows) == (
        0.5,
        0.0,
        "attribute",
        "replace-one",
        1,
    )
    assert (charge.method, charge.note, charge.table, charge.content) == (
        "dppro",
        "first",
        "ward.parquet",
        "c",
    )
    assert charge.time.endswith("+00:00")
    assert entries[2].previous == charge.hash == charge.digest()


# --- one unit and one adjacency ---


def test_caps_and_releases_in_any_order_leave_the_same(ledger: Ledger) -> None:
    """A cap counts what was spent before it like what is spent after it."""
    charges = [PureDP(0.5), PureDP(0.5, *ADDED), ApproxDP(0.25, 1e-7)]
    balances = []
    for place in range(4):
        account = f"order {place}"
        for turn, charge in enumerate(charges):
            if turn == place:
                ledger.cap(account, 2.0, 1e-6)
            ledger.charge(account, charge, method="m")
        if place == 3:
            ledger.cap(account, 2.0, 1e-6)
        balances.append(ledger.remaining(account))
    assert balances == [(0.25, 9e-7)] * 4


def test_a_charge_of_another_kind_is_converted_and_both_are_on_record(ledger: Ledger) -> None:
    ledger.charge(WARD, PureDP(1.0), method="m")
    ledger.charge(WARD, PureDP(0.25, Unit.ATTRIBUTE), method="m", attributes=6)
    assert ledger.show(WARD).epsilon_spent == 2.5
    entry = ledger.history(WARD)[-1]
    assert (entry.epsilon, entry.unit) == (1.5, "row")
    assert entry.asked == "epsilon 0.25 for single attributes, replaced"


def test_a_known_gaussian_law_costs_less_delta(ledger: Ledger) -> None:
    ledger.cap(WARD, 10.0, 1e-4)
    ledger.cap(OTHER, 10.0, 1e-4)
    asked = ApproxDP(1.0, 1e-6, *ADDED)
    plain = ledger.charge(WARD, asked, method="m")
    known = ledger.charge(OTHER, asked, method="m", law=GaussianDP(mu_of(1.0, 1e-6), *ADDED))
    assert plain.epsilon_spent == known.epsilon_spent == 2.0
    assert known.delta_spent < plain.delta_spent


def test_what_cannot_be_converted_is_refused_in_a_sentence(ledger: Ledger) -> None:
    ledger.charge(WARD, PureDP(1.0, *ADDED), method="m")
    with pytest.raises(
        BudgetError, match=r"counts rows, added or removed; .* number of rows public"
    ) as caught:
        ledger.charge(WARD, PureDP(1.0), method="m")
    assert caught.value.requested == float("inf")
    assert caught.value.exit_code == 3
    ledger.cap(OTHER, 1.0)
    with pytest.raises(BudgetError, match="how many attributes"):
        ledger.charge(OTHER, PureDP(0.1, Unit.ATTRIBUTE), method="m")
    with pytest.raises(BudgetError, match=r"requested epsilon 1\.2, remaining 1, difference 0\.2"):
        ledger.charge(OTHER, PureDP(0.2, Unit.ATTRIBUTE), method="m", attributes=6)
    assert ledger.show(WARD).charges == 1
    assert ledger.show(OTHER).charges == 0


def test_a_cap_must_be_of_the_accounts_kind(ledger: Ledger) -> None:
    ledger.charge(WARD, PureDP(0.5, Unit.ATTRIBUTE), method="m")
    with pytest.raises(
        ParameterError, match="counts single attributes, replaced, and this cap rows, replaced"
    ):
        ledger.cap(WARD, 1.0)
    assert ledger.cap(WARD, 1.0, unit=Unit.ATTRIBUTE).epsilon_left == 0.5
    person = {"unit": Unit.PERSON, "adjacency": Adjacency.ADD_REMOVE}
    ledger.cap(OTHER, 1.0, rows=3, **person)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="persons with at most 3 rows"):
        ledger.cap(OTHER, 1.0, rows=4, **person)  # type: ignore[arg-type]
    assert ledger.charge(OTHER, PureDP(0.5, *person.values(), 4), method="m").epsilon_left == 0.5  # type: ignore[arg-type]


def test_no_promise_is_recorded_on_any_account_and_covered_by_no_cap(ledger: Ledger) -> None:
    ledger.charge(WARD, PureDP(1.0, *ADDED), method="m")
    assert ledger.charge(WARD, PureDP(float("inf")), method="m").epsilon_spent == float("inf")
    ledger.cap(OTHER, 5.0, adjacency=Adjacency.ADD_REMOVE)
    with pytest.raises(BudgetError, match="requested epsilon inf"):
        ledger.charge(OTHER, PureDP(float("inf")), method="m")


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


def tampered(ledger: Ledger, *statements: str) -> None:
    """Somebody who knows SQL, and removes the triggers first."""
    connection = sqlite3.connect(ledger.path)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "clue"),
    [
        ("UPDATE entries SET epsilon = 0.001 WHERE id = 3", "entry 2 of the account 'ward' is not what was written"),
        ("UPDATE entries SET epsilon = 'a' WHERE id = 3", "entry 2 of the account 'ward'"),
        ("UPDATE entries SET note = x'00' WHERE id = 4", "entry 3 of the account 'ward'"),
        ("UPDATE entries SET account = 'mine' WHERE id = 3", "entry 1 of the account 'mine'|entry 2 of the account"),
        ("UPDATE entries SET content = 'other' WHERE id = 2", "entry 1 of the account 'other'"),
        ("UPDATE entries SET hash = previous WHERE id = 1", "entry 1 of the account 'ward'"),
        ("DELETE FROM entries WHERE id = 3", "the entry 3 of 4 is missing"),
        ("DELETE FROM entries WHERE id = 4", "4 entries were written and 3 are there"),
        ("DELETE FROM entries", "4 entries were written and 0 are there"),
        ("UPDATE keys SET key = x'00' WHERE account = 'ward'", "entry 1 of the account 'ward'"),
        ("DELETE FROM keys", "entry 1 of the account"),
        ("INSERT INTO entries SELECT NULL, account, 4, time, kind, epsilon, delta, unit, adjacency, rows, asked, "
         '"table", content, method, note, hash, hash FROM entries WHERE id = 4', "entry 4 of the account 'ward'"),
        ("DELETE FROM sqlite_sequence", "0 entries were written and 4 are there"),
    ],
)  # fmt: skip
def test_an_edited_ledger_is_noticed(ledger: Ledger, statement: str, clue: str) -> None:
    ledger.cap(WARD, 1.0)
    ledger.charge(OTHER, PureDP(0.5), method="m", content="x")
    ledger.charge(WARD, PureDP(0.5), method="m")
    ledger.charge(WARD, PureDP(0.25), method="m")
    tampered(ledger, statement)
    for work in (
        lambda: ledger.show(WARD),
        lambda: ledger.charge(OTHER, PureDP(0.1), method="m"),
        lambda: ledger.history(WARD),
        lambda: ledger.accounts(),
    ):
        with pytest.raises(LedgerError, match=clue):
            work()


def test_an_untouched_ledger_is_not_suspected(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0, 1e-5)
    ledger.charge(OTHER, PureDP(float("inf")), method="é", note="\U0001f512")
    with pytest.raises(BudgetError):
        ledger.charge(WARD, PureDP(2.0), method="m")
    tampered(ledger)
    ledger.charge(WARD, ApproxDP(0.1, 1e-7), method="m")
    assert [balance.charges for balance in ledger.accounts()] == [1, 1]


# --- an account on another machine ---


def test_an_account_moves_with_its_history_and_its_key(ledger: Ledger, tmp_path: Path) -> None:
    ledger.cap(WARD, 1.0, 0.0)
    ledger.charge(WARD, PureDP(0.25), method="m", content="c")
    document = json.loads(json.dumps(ledger.export(WARD)))
    there = Ledger(tmp_path / "there.sqlite")
    there.cap(OTHER, 1.0)
    assert there.import_account(document, WARD) == 2
    assert there.history(WARD) == ledger.history(WARD)
    assert there.key(WARD) == ledger.key(WARD) != there.key(OTHER)
    assert there.remaining(WARD) == (0.75, 0.0)
    assert there.import_account(document) == 0
    # what was charged there comes back, and what the first ledger knows already is left alone
    there.charge(WARD, PureDP(0.5), method="m")
    assert ledger.import_account(there.export(WARD)) == 1
    assert ledger.remaining(WARD) == (0.25, 0.0)
    assert ledger.import_account(document) == 0


def test_histories_that_part_are_not_joined(ledger: Ledger, tmp_path: Path) -> None:
    ledger.cap(WARD, 1.0)
    there = Ledger(tmp_path / "there.sqlite")
    there.import_account(ledger.export(WARD))
    ledger.charge(WARD, PureDP(0.25), method="m")
    there.charge(WARD, PureDP(0.5), method="m")
    with pytest.raises(LedgerError, match="exists here with another history; nothing was imported"):
        ledger.import_account(there.export(WARD))
    assert ledger.show(WARD).epsilon_spent == 0.25


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["entries"][1].update(epsilon=0.1),
        lambda d: d["entries"].pop(0),
        lambda d: d["entries"].reverse(),
        lambda d: d.update(account=OTHER),
        lambda d: d.update(key="00" * 32),
        lambda d: d.update(key="zz"),
        lambda d: d.update(version=1),
        lambda d: d["entries"].clear(),
        lambda d: d["entries"][0].update(kind="gift"),
        lambda d: d["entries"][0].update(epsilon="1"),
        lambda d: d["entries"][0].update(more=1),
        lambda d: d.pop("entries"),
        lambda d: d.update(entries=5),
    ],
)
def test_a_changed_export_is_refused(ledger: Ledger, tmp_path: Path, change: Callable[[Any], Any]) -> None:
    ledger.cap(WARD, 1.0)
    ledger.charge(WARD, PureDP(0.25), method="m")
    document = json.loads(json.dumps(ledger.export(WARD)))
    change(document)
    there = Ledger(tmp_path / "there.sqlite")
    with pytest.raises(LedgerError, match=r"changed by something other|not an account that"):
        there.import_account(document)
    assert there.accounts() == []


def test_exports_and_imports_name_an_account_that_is_there(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="has no account 'ward'"):
        ledger.export(WARD)
    ledger.cap(WARD, 1.0)
    with pytest.raises(ParameterError, match="holds the account 'ward', not 'other'"):
        Ledger(tmp_path / "there.sqlite").import_account(ledger.export(WARD), OTHER)
    for nonsense in (None, [], "x", {"format": 1}):
        with pytest.raises(LedgerError, match="not an account"):
            ledger.import_account(nonsense)


def test_keys_are_drawn_once_and_shared_by_the_accounts_of_a_ledger(ledger: Ledger, tmp_path: Path) -> None:
    key = ledger.key(WARD)
    assert len(key) == 32
    assert ledger.cap(OTHER, 1.0).account == OTHER
    assert ledger.key(OTHER) == ledger.key(WARD) == key
    assert Ledger(tmp_path / "second.sqlite").key(WARD) != key
    assert ledger.show(WARD).neighbours is None


def test_histories_hold_every_account(ledger: Ledger) -> None:
    assert ledger.histories() == []
    ledger.charge(WARD, PureDP(1.0), method="m", content="c")
    ledger.charge(OTHER, PureDP(1.0), method="m", content="d")
    found = {history.account: [entry.content for entry in history.entries] for history in ledger.histories()}
    assert found == {WARD: ["c"], OTHER: ["d"]}


def test_a_ledger_of_another_version_is_a_sentence(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    with pytest.raises(GnomonError, match="another version of gnomon"):
        ledger.show(WARD)


def test_reading_makes_no_file(ledger: Ledger) -> None:
    assert ledger.show(WARD).charges == 0
    assert ledger.accounts() == []
    assert not ledger.path.exists()


@pytest.mark.skipif(os.name == "nt", reason="permissions of this kind are POSIX")
def test_the_ledger_is_for_its_owner_alone(ledger: Ledger) -> None:
    ledger.cap(WARD, 1.0)
    assert ledger.path.stat().st_mode & 0o077 == 0


def test_a_path_that_is_no_text_is_kept_readable(ledger: Ledger) -> None:
    ledger.charge(WARD, PureDP(1.0), method="m", table=os.fsdecode(b"caf\xe9.csv"))
    assert ledger.history(WARD)[0].table == "caf?.csv"


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
from gnomon.privacy.ledger import Ledger
ledger = Ledger(sys.argv[1], wait=60)
sys.stdin.readline()
wins = 0
for _ in range(3):
    try:
        ledger.charge("ward", PureDP(0.125), method="race")
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
from gnomon.privacy.ledger import Entry, Ledger
ledger = Ledger(sys.argv[1])
ledger.charge("ward", PureDP(0.25), method="committed")
print("committed", flush=True)
with ledger._file.writing() as book:
    book.append(Entry.of("ward", "charge", PureDP(0.5)))
    book._connection.execute("PRAGMA cache_spill = 1")
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


def test_a_ledger_is_configured_by_the_environment_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GNOMON_LEDGER", raising=False)
    assert configured() is None
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "mine.sqlite"))
    found = configured()
    assert found is not None
    assert found.path == tmp_path / "mine.sqlite"


def test_a_name_is_one_account_however_its_accents_are_written(ledger: Ledger) -> None:
    """Some systems write a letter with its accent as two characters; people see no difference, and a cap must bind."""
    composed, apart = "caf\u00e9", "cafe\u0301"
    ledger.cap(composed, 1.0)
    ledger.charge(apart, PureDP(0.75), method="ron-gauss")
    with pytest.raises(BudgetError):
        ledger.charge(composed, PureDP(0.75), method="ron-gauss")
    assert ledger.show(apart) == ledger.show(composed)
    assert len(ledger.accounts()) == 1
    assert ledger.key(apart) == ledger.key(composed)
