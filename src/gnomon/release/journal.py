"""The journal of a release under way: noisy answers as they are measured, so that a killed release resumes uncharged.

It lies beside the place of the release, readable by its owner only, and is deleted when the release is complete. Its
first record says which release it belongs to; a release that differs in anything is another one and pays for itself.
An answer is written before it is used, so that what was measured but not written when the process died was never shown
to anybody, and is measured again. Noisy rows are too many to write twice: the journal ends where they begin, and whoever
starts over pays again. One process holds the journal at a time, a copy of it is no journal (it names its own place and
file), and it names the entry of the ledger that paid for it, so that one charge never buys two sets of answers.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from gnomon.errors import OutputError
from gnomon.privacy.measure import Answer

_LENGTH = 8


class Journal:
    """An append-only file of a header and answers, locked while it is open; a record that was cut short is dropped."""

    def __init__(self, out: Path) -> None:
        self.path = out.absolute().parent / f".{out.name}.resume"
        self._open = False
        self._file = _locked(self.path)
        self._records = list(_records(self._file))

    @staticmethod
    def kept(out: Path) -> bool:
        """Whether a release to this place was cut short after its charge, and can go on."""
        path = out.absolute().parent / f".{out.name}.resume"
        return path.is_file() and path.stat().st_size > 0

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the file; one that holds nothing is removed."""
        if not self._file.closed and os.fstat(self._file.fileno()).st_size == 0:
            self.discard()
        self._file.close()

    @property
    def resumes(self) -> bool:
        """Whether a release that is cut short now goes on without another charge."""
        return self._open

    def seed(self, random_state: str) -> int | None:
        """The seed of an earlier run that was asked for the same `random_state`: its projections rest on it."""
        if len(self._records) < 2 or json.loads(self._records[0]).get("random_state") != random_state:
            return None
        return int(json.loads(self._records[1])["seed"])

    @property
    def charge(self) -> str:
        """The hash of the entry of the ledger that paid for the earlier run."""
        return str(json.loads(self._records[1])["charge"])

    def recorded(self, header: dict[str, Any], charges: Container[str]) -> list[Answer] | None:
        """The answers of an earlier run of the release that `header` describes, or None where there is none.

        `charges` are the entries of the account: a ledger that lost the one that paid is charged again.
        """
        if len(self._records) < 2 or self._records[0] != self._header(header) or self.charge not in charges:
            return None
        pairs = zip(self._records[2::2], self._records[3::2], strict=False)
        return [
            Answer(name.decode(), np.load(io.BytesIO(value), allow_pickle=False)) for name, value in pairs
        ]

    def start(self, header: dict[str, Any], seed: int, charge: str, answers: Sequence[Answer] = ()) -> None:
        """Begin anew, or go on from earlier answers: written after the charge, so that whoever resumes has paid."""
        self._file.seek(0)
        self._file.truncate()
        self._open = True
        self._append(self._header(header), json.dumps({"seed": seed, "charge": charge}).encode())
        for answer in answers:
            self.record(answer)

    def record(self, answer: Answer) -> None:
        """Keep a fresh answer, durably; at noisy rows the journal ends."""
        if self._open and isinstance(answer.value, np.ndarray):
            content = io.BytesIO()
            np.lib.format.write_array(content, answer.value, allow_pickle=False)
            self._append(answer.statistic.encode(), content.getvalue())
        elif self._open:
            self.discard()

    def discard(self) -> None:
        self._open = False
        self.path.unlink(missing_ok=True)

    def _header(self, header: dict[str, Any]) -> bytes:
        """With the place and the number of this very file, which a copy or a backup that is put back does not have."""
        own = [str(self.path), os.fstat(self._file.fileno()).st_ino]
        return json.dumps({**header, "journal": own}, sort_keys=True).encode()

    def _append(self, *records: bytes) -> None:
        for record in records:
            self._file.write(len(record).to_bytes(_LENGTH, "little") + record)
        self._file.flush()
        os.fsync(self._file.fileno())


def _locked(path: Path) -> IO[bytes]:
    """The file, for this process alone; readable by its owner only."""
    while True:
        stream = os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600), "r+b")
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                stream.close()
                raise OutputError(
                    "Another release is being written to this place; wait for it to end, or choose another place."
                ) from None
        try:
            if os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                return stream
        except FileNotFoundError:
            pass  # removed by the process that held it
        stream.close()


def _records(stream: IO[bytes]) -> Iterator[bytes]:
    while len(head := stream.read(_LENGTH)) == _LENGTH:
        size = int.from_bytes(head, "little")
        record = stream.read(size)
        if len(record) < size:
            return
        yield record
