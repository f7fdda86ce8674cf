"""Faults, in short: kill -9, a full disk, a race, a read error half-way. `faults.py` has the long runs."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import DataError
from gnomon.privacy.ledger import Ledger
from gnomon.publish import publish
from gnomon.table.frames import ArrowSource

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, limits and /proc")


@pytest.mark.parametrize(("what", "rounds"), [("kills", 8), ("disk", 6), ("race", 2), ("soak", 12)])
def test_promises_are_kept_under(what: str, rounds: int) -> None:
    script = Path(__file__).with_name("faults.py")
    done = subprocess.run(
        [sys.executable, str(script), what, str(rounds)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


class FailsHalfWay(ArrowSource):
    """A table whose disk stops answering while it is read for the `turn`-th time."""

    turn = 0

    def _read(self, columns, rows, raw):
        self.turn -= 1
        for place, batch in enumerate(super()._read(columns, 100, raw)):
            if self.turn < 0 and place == 2:
                raise OSError(errno.EIO, "Input/output error")
            yield batch


@pytest.mark.parametrize(("turn", "charges"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_a_read_error_half_way_is_a_sentence_and_leaves_nothing(
    tmp_path: Path, turn: int, charges: int
) -> None:
    """Read once to check and once for the fingerprint, before the charge; twice for the release, after it."""
    schema = gn.Schema.of_arrays(2, (0.0, 1.0), names=["a", "b"])
    cells = np.random.default_rng(1).random((2, 1000))
    source = FailsHalfWay(pa.table({"a": cells[0], "b": cells[1]}))
    source.turn = turn
    book = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(DataError, match="cannot be read: Input/output error"):
        publish(source, gn.RonGauss(1.0, schema=schema), tmp_path / "out", ledger=book)
    assert sum(balance.charges for balance in book.datasets()) == charges
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out*"))
