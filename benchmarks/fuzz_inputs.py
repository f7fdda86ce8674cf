"""Hostile inputs by the hundred thousand: python benchmarks/fuzz_inputs.py [--seconds S] [--seed N] [--target NAME].

Every file that gnomon reads from others (schema, certificate, map, CSV, Parquet) and the command line are fed mutations
of good inputs. The mutations that reach new lines of gnomon are kept and mutated further (coverage by `sys.settrace`,
on every eighth input). An outcome is good when it is an answer or one of gnomon's own errors; everything else, and
anything slower than `--slow` seconds, is printed with the input that did it and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import random
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import gnomon as gn
from gnomon.cli import main as command
from gnomon.errors import GnomonError
from gnomon.privacy.certificate import Certificate
from gnomon.release.map import PublicMap, load_map, save_map
from gnomon.table.encode import Encoder
from gnomon.table.source import open_source

SCHEMA = """\
[table]
name = "t"
[columns.age]
kind = "number"
low = 0
high = 110
integer = true
[columns.when]
kind = "date"
low = 2000-01-01
high = 2030-01-01
missing = "indicator"
[columns.ward]
kind = "category"
values = ["north", "south"]
other = "south"
[columns.ok]
kind = "boolean"
missing = "fill"
fill = true
[columns.y]
kind = "category"
values = [1, 2]
role = "target"
"""
CSV = "age,when,ward,ok,y\n" + "".join(
    f"{20 + i},20{10 + i}-01-0{1 + i % 9},{'north' if i % 2 else 'west'},{i % 2},{1 + i % 2}\n"
    for i in range(12)
)
TOKENS = [
    b"\x00", b"\xff\xfe", b'"', b"'''", b"\n", b"\r\n", b",", b"=cmd()", b"nan", b"-inf", b"1e999", b"9" * 40,
    b"{}", b"[[", b"]]", b"&a [*a]", b"!!python/object:os.system", b"<script>", b"../../etc", b"\x1b[2J",
    b"estimate = true", b"low = -1e308", b"high = 1e308", b"kind = 'date'", b"NaT", b"2020-13-45", b"\xc3\x28", b"\\u0000",
]  # fmt: skip


def mutate(data: bytes, pick: random.Random) -> bytes:
    """A few random edits: flip, delete, repeat, insert a token, splice."""
    out = bytearray(data)
    for _ in range(pick.choice([1, 1, 1, 2, 4, 16])):
        place = pick.randrange(len(out) + 1)
        what = pick.randrange(6)
        if what == 0 and out:
            out[place % len(out)] ^= 1 << pick.randrange(8)
        elif what == 1:
            del out[place : place + pick.choice([1, 2, 8, 64])]
        elif what == 2:
            out[place:place] = out[place : place + pick.choice([1, 8, 64])] * pick.choice([1, 2, 30])
        elif what == 3:
            out[place:place] = pick.choice(TOKENS)
        elif what == 4 and out:
            out[place % len(out)] = pick.randrange(256)
        else:
            other = pick.randrange(len(out) + 1)
            out[place : place + 16] = out[other : other + 16]
        if len(out) > 20_000:
            del out[20_000:]
    return bytes(out)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class Targets:
    """Everything that reads what others wrote; each takes the bytes of one input."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.schema = gn.Schema.loads(SCHEMA)
        self.good = folder / "good.csv"
        self.good.write_text(CSV)
        table = pa.table({"age": [1, 2, 3], "y": [1, 2, 1], "ward": ["north", "south", "x"]})
        pq.write_table(table, folder / "good.parquet")
        save_map(
            folder / "good.npz",
            PublicMap.identity(3, radius=1.0).project(np.eye(3)[:, :2], radius=1.0).arrays(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method = gn.RonGauss(1.0, schema=self.schema).fit(self.good)
        self.seeds: dict[str, bytes] = {
            "schema": SCHEMA.encode(),
            "certificate": method.certificate_.to_yaml().encode(),
            "map": (folder / "good.npz").read_bytes(),
            "csv": CSV.encode(),
            "parquet": (folder / "good.parquet").read_bytes(),
            "command": b"release\x1fgood.csv\x1f--schema\x1fs.toml\x1f--epsilon\x1f1\x1f--out\x1fout\x1f--delta\x1f1e-6",
        }

    def run(self, name: str, data: bytes) -> None:
        getattr(self, f"_{name}")(data)

    def _schema(self, data: bytes) -> None:
        schema = gn.Schema.loads(_text(data))
        gn.Schema.loads(schema.dumps())
        if not schema.estimated and schema.features:
            Encoder(schema)

    def _certificate(self, data: bytes) -> None:
        Certificate.from_yaml(_text(data)).to_yaml()

    def _map(self, data: bytes) -> None:
        path = self.folder / "hostile.npz"
        path.write_bytes(data)
        PublicMap.of_arrays(load_map(path)).components(np.zeros((2, 3)))

    def _csv(self, data: bytes) -> None:
        self._table("hostile.csv", data)

    def _parquet(self, data: bytes) -> None:
        self._table("hostile.parquet", data)

    def _table(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.write_bytes(data)
        source = open_source(path, schema=self.schema)
        source.n_rows()
        encoder = Encoder(self.schema)
        present = [column for column in encoder.columns if column in source.names]
        for batch in source.batches(present) if present else ():
            if set(encoder.columns) <= set(source.names):
                X = encoder.encode(batch).X
                assert np.isfinite(X).all()
                assert np.abs(X).max(initial=0.0) <= 1.0

    def _command(self, data: bytes) -> None:
        arguments = [part.replace("\x00", "") for part in _text(data).split("\x1f")][:20]
        if any(part in ("audit", "--help") or part.startswith("/") or ".." in part for part in arguments):
            return
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = command(arguments)
        assert code in (0, 2, 3), f"exit code {code}"


def traced(run: Callable[[], None], seen: set[tuple[str, int]]) -> bool:
    """Run with coverage of gnomon's lines; whether any of them is new."""
    before = len(seen)

    def lines(frame: FrameType, event: str, _: Any) -> Any:
        if "gnomon" not in frame.f_code.co_filename:
            return None
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return lines

    sys.settrace(lines)
    try:
        run()
    finally:
        sys.settrace(None)
    return len(seen) > before


def fuzz(
    name: str, targets: Targets, seconds: float, seed: int, slow: float, most: int = 10**9
) -> tuple[int, int, list[str]]:
    """Inputs tried, lines of gnomon reached, and what went wrong."""
    pick = random.Random(f"{name} {seed}")
    kept, seen, wrong = [targets.seeds[name]], set[tuple[str, int]](), list[str]()
    end, tried = time.monotonic() + seconds, 0
    while time.monotonic() < end and tried < most and len(wrong) < 20:
        data = mutate(pick.choice(kept), pick) if tried else kept[0]
        new, began = False, time.monotonic()
        try:
            if tried % 8 == 0:
                new = traced(partial(targets.run, name, data), seen)
            else:
                targets.run(name, data)
        except GnomonError:
            pass
        except Exception as problem:
            wrong.append(f"{type(problem).__name__}: {problem!s:.200} from {data[:2000]!r}")
        tried += 1
        if time.monotonic() - began > slow:
            wrong.append(
                f"{time.monotonic() - began:.1f} s for {hashlib.sha256(data).hexdigest()} {data[:2000]!r}"
            )
        if new and len(kept) < 2000:
            kept.append(data)
    return tried, len(seen), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="for each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slow", type=float, default=5.0)
    parser.add_argument("--target", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    failed = 0
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        targets = Targets(Path(place))
        (Path(place) / "s.toml").write_text(SCHEMA)
        for name in targets.seeds if options.target is None else [options.target]:
            tried, lines, wrong = fuzz(name, targets, options.seconds, options.seed, options.slow)
            print(
                f"{name}: {tried:,} inputs, {lines} lines of gnomon reached, {len(wrong)} wrong", flush=True
            )
            for line in wrong:
                print("  ", line)
            failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
