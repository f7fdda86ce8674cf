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


@pytest.mark.parametrize(("turn", "charges", "estimate"), [(0, 0, False), (1, 0, False), (1, 1, True)])
def test_a_read_error_half_way_is_a_sentence_and_leaves_nothing_but_a_journal(
    tmp_path: Path, turn: int, charges: int, estimate: bool
) -> None:
    """Read once to encode the rows and once for the content print, before the charge.

    Bounds that are estimated are paid for first, so that the rows are read after the charge.

    What was charged is resumed without another charge once the disk answers again.
    """
    schema = gn.Schema.of_arrays(2, (0.0, 1.0), names=["a", "b"])
    if estimate:
        estimated = gn.Column(name="a", kind="number", estimate=True)
        schema = gn.Schema(columns=(estimated, schema["b"]))
    cells = np.random.default_rng(1).random((2, 1000))
    source = FailsHalfWay(pa.table({"a": cells[0], "b": cells[1]}))
    source.turn = turn
    book, out, journal = Ledger(tmp_path / "ledger.sqlite"), tmp_path / "out", tmp_path / ".out.resume"
    with pytest.raises(DataError, match="cannot be read: Input/output error"):
        publish(source, gn.RonGauss(1.0, schema=schema), out, ledger=book)
    assert sum(balance.charges for balance in book.accounts()) == charges
    assert not out.exists()
    assert list(tmp_path.glob(".out*")) == [journal] * charges
    if charges:
        assert journal.stat().st_mode & 0o077 == 0
        source.turn = 99
        publish(source, gn.RonGauss(1.0, schema=schema), out, ledger=book)
        assert sum(balance.charges for balance in book.accounts()) == 1
        assert not journal.exists()
        assert out.exists()
