"""What a release promises, one file a promise, tried on a small table through what its custodian and readers use.

A promise that is not kept yet is marked xfail(strict=True); whoever mends it removes the mark. Only this file
knows where gnomon keeps things, so that a move of modules changes one place.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon as gn

SCHEMA = """\
[table]
name = "ward"

[columns.age]
kind = "number"
low = 0
high = 110
integer = true

[columns.pressure]
kind = "number"
low = 60
high = 220

[columns.station]
kind = "category"
values = ["north", "south", "east"]

[columns.smoker]
kind = "boolean"

[columns.admitted]
kind = "date"
low = 2020-01-01
high = 2026-12-31

[columns.outcome]
kind = "category"
values = ["home", "care"]
role = "target"
"""
ATTRIBUTES = 6  # of a row of the ward


def ward_table(n: int = 300) -> pa.Table:
    """A table in the declared domain, every cell of which fits the schema."""
    rng = np.random.default_rng(1)
    age = np.clip(rng.normal(55, 15, n), 1, 105).round()
    return pa.table(
        {
            "age": age.astype(np.int64),
            "pressure": np.clip(rng.normal(110 + 0.4 * age, 10), 61, 219),
            "station": np.array(["north", "south", "east"])[rng.integers(0, 3, n)],
            "smoker": rng.random(n) < 0.3,
            "admitted": [date(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 2500, n)],
            "outcome": np.where(rng.random(n) < 0.4, "care", "home"),
        }
    )


class Outcome(NamedTuple):
    """What a command returned and said."""

    code: int
    out: str
    err: str


class Folder:
    """A release folder as a reader meets it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def holds(self) -> bool:
        return re.search(r"^holds: true$", self.text("certificate.yaml"), re.MULTILINE) is not None

    @property
    def rows(self) -> pa.Table:
        return pq.read_table(self.path / "data.parquet")

    @property
    def arrays(self) -> dict[str, Any]:
        with np.load(self.path / "map.npz") as held:
            return dict(held)

    def text(self, *names: str) -> str:
        return "\n".join((self.path / name).read_text(encoding="utf-8") for name in names)


class Custodian:
    """Somebody with a private table, a schema and a ledger, who releases from Python or from the command line."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.schema_file = folder / "schema.toml"
        self.schema_file.write_text(SCHEMA)
        self._capsys = capsys
        self._made = 0

    @property
    def schema(self) -> Any:
        return gn.Schema.load(self.schema_file)

    def write(self, table: pa.Table, name: str = "ward.parquet", **options: Any) -> Path:
        pq.write_table(table, self.folder / name, **options)
        return self.folder / name

    def run(self, *words: object) -> Outcome:
        """The command line, as tests/test_cli.py drives it."""
        from gnomon.cli import main

        self._capsys.readouterr()
        code = main([str(word) for word in words])
        return Outcome(code, *self._capsys.readouterr())

    def release(self, data: Path, *more: object, epsilon: float = 1) -> Outcome:
        place = ("--schema", self.schema_file, "--out", self.new_folder(), "--epsilon", epsilon)
        return self.run("release", data, *place, *more)

    def publish(self, data: Any, method: Any) -> Folder:
        """The library's way: check, charge, fit, write."""
        from gnomon.publish import publish

        out = self.new_folder()
        publish(data, method, out, ledger=self._ledger())
        return Folder(out)

    def new_folder(self) -> Path:
        self._made += 1
        return self.folder / f"release-{self._made}"

    @property
    def last(self) -> Folder:
        return Folder(self.folder / f"release-{self._made}")

    # --- the ledger: accounts by name; the content of a table is a tripwire ---

    def cap(self, account: str, data: Any, epsilon: float, delta: float = 0.0) -> None:
        """Set the cap of the account that releases of `data` draw on."""
        self._ledger().cap(account, epsilon, delta)

    def spent(self, account: str, data: Any, unit: str = "row") -> tuple[float, float]:
        """Epsilon and delta spent on that account, whose unit is `unit`."""
        balance = self._ledger().show(account)
        assert balance.neighbours[0] is gn.Unit(unit)
        return balance.epsilon_spent, balance.delta_spent

    def charge(self, account: str, guarantee: Any) -> tuple[float, float]:
        """A charge on an account by name; what is spent there afterwards."""
        balance = self._ledger().charge(account, guarantee, method="ron-gauss")
        return balance.epsilon_spent, balance.delta_spent

    def content_print(self, data: Any) -> str:
        from gnomon.table.fingerprint import content_print
        from gnomon.table.source import open_source

        key = self._ledger().key("ward")
        return content_print(open_source(data, schema=self.schema), self.schema, key)

    def _ledger(self) -> Any:
        from gnomon.privacy.ledger import Ledger

        return Ledger(self.folder / "ledger.sqlite")


@pytest.fixture
def custodian(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Custodian:
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("COLUMNS", "1000")  # messages on one line
    return Custodian(tmp_path, capsys)


@pytest.fixture
def ward() -> pa.Table:
    return ward_table()


@pytest.fixture
def ward_of() -> Callable[[int], pa.Table]:
    """Wards of any size."""
    return ward_table


@pytest.fixture
def attributes() -> int:
    return ATTRIBUTES


@pytest.fixture
def refusal() -> type[Exception]:
    """What gnomon raises when it refuses something in a sentence."""
    from gnomon.errors import GnomonError

    return GnomonError


@pytest.fixture
def quietly() -> Callable[[Callable[[], Any]], Any]:
    """Run something whose warnings are not what is tested."""

    def run(work: Callable[[], Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return work()

    return run
