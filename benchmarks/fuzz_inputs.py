"""Hostile inputs by the hundred thousand: python benchmarks/fuzz_inputs.py [--seconds S] [--seed N] [--target NAME].

Every file that gnomon reads from others (schema, certificate, map, CSV, Parquet, Arrow) and the command line are fed
mutations of good inputs. The mutations that reach new lines of gnomon are kept and mutated further (coverage by
`sys.settrace`, on every eighth input). `fuzz_atheris.py` does the same with a compiled fuzzer, `fuzz_hypothesis.py` with
inputs that are nearly right; all three share the targets below.

An outcome is good when it is an answer or one of gnomon's own errors, and when the answers agree with each other: what
is written reads back the same, what `check` accepts is encoded, batches of any size give the same rows. Everything
else is printed with the input that did it and makes the exit code 1. Memory is capped; an input that takes longer than
`--slow` seconds ends the run with its traceback.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import random
import resource
import shutil
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
import pyarrow.feather
import pyarrow.parquet as pq

import gnomon as gn
from gnomon.cli import main as command
from gnomon.errors import GnomonError
from gnomon.privacy.certificate import Certificate
from gnomon.release.folder import write_release
from gnomon.release.map import PublicMap, load_arrays, save_arrays
from gnomon.release.transform import transform_batches
from gnomon.statistics.frame import Frame
from gnomon.table.check import check
from gnomon.table.encode import Encoder
from gnomon.table.source import open_source

MEMORY = 6 << 30  # bytes of addresses, most of which the libraries reserve and never touch
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
[columns.wide]
kind = "number"
low = 0
high = 4611686018427387904
integer = true
missing = "fill"
fill = 7
[columns.ok]
kind = "boolean"
missing = "fill"
fill = true
[columns.y]
kind = "category"
values = [1, 2]
role = "target"
"""
CSV = "age,when,ward,wide,ok,y\n" + "".join(
    f"{20 + i},20{10 + i}-01-0{1 + i % 9},{'north' if i % 2 else 'west'},{2**60 + i},{i % 2},{1 + i % 2}\n"
    for i in range(6)
)
TOKENS = [
    b"\x00", b"\xff\xfe", b'"', b"'''", b"\n", b"\r\n", b",", b"=cmd()", b"nan", b"-inf", b"1e999", b"9" * 40,
    b"{}", b"[[", b"]]", b"&a [*a]", b"!!python/object:os.system", b"<script>", b"../../etc", b"\x1b[2J",
    b"estimate = true", b"low = -1e308", b"high = 1e308", b"kind = 'date'", b"NaT", b"2020-13-45", b"\xc3\x28", b"\\u0000",
    b"5.0", b"1e3", b"0x7f", b"+1", b"True", b" ", b"\t", b"2020-01-01T00:00:00+23:59", b"0001-01-01", b"\xe2\x80\xae",
]  # fmt: skip
COMMANDS = [
    "release good.csv --schema s.toml --epsilon 1 --out out --delta 1e-6",
    "release good.csv -s s.toml -e 1 -o out -m jl-laplace --seed 3 --format csv --unit row -p 2",
    "release good.csv -s s.toml -e 1 -o out --target ok --task classification --rows 9 --calibration paper",
    "check good.csv --schema s.toml --target y",
    "init good.csv --out draft.toml",
    "plan --schema s.toml --rows 50 --epsilon 1 --delta 1e-6 --unit row --target y",
    "transform good.csv --release released --out seen.csv",
    "budget cap good --epsilon 1 --delta 0 --unit attribute",
    "budget history good",
    "budget show good --ledger l.sqlite",
]


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
    """Everything that reads what others wrote; each takes the bytes of one input. The working folder becomes `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.schema = gn.Schema.loads(SCHEMA)
        (folder / "s.toml").write_text(SCHEMA)
        (folder / "good.csv").write_text(CSV)
        table = pa.table(
            {"age": [1, 2], "when": ["2020-01-01", None], "ward": ["north", "x"], "wide": [1, 2], "ok": [1, 0], "y": [1, 2]}
        )  # fmt: skip
        for write, name in ((pq.write_table, "good.parquet"), (pa.feather.write_feather, "good.arrow")):
            write(table, str(folder / name), compression="none" if "parquet" in name else "uncompressed")
        self.rows = open_source(table)
        frame = Frame.identity(Encoder(self.schema).width, radius=1.0)
        frame = frame.project(np.eye(frame.n_features)[:, :2], radius=1.0)
        save_arrays(folder / "good.npz", PublicMap(frame).arrays())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method = gn.RonGauss(1.0, schema=self.schema).fit(folder / "good.csv")
            if not (folder / "released").exists():
                write_release(method, folder / "released")
        short = method.certificate_.model_copy(update={"public": (), "post_processing": (), "versions": {}})
        self.seeds: dict[str, list[bytes]] = {
            "schema": [
                SCHEMA.encode(),
                *(b"[columns." + part.encode() for part in SCHEMA.split("[columns.")[1:]),
            ],
            "certificate": [short.to_yaml().encode()],
            "map": [(folder / "good.npz").read_bytes()],
            "csv": [CSV.encode()],
            "parquet": [(folder / "good.parquet").read_bytes()],
            "arrow": [(folder / "good.arrow").read_bytes()],
            "command": [line.replace(" ", "\x1f").encode() for line in COMMANDS],
        }

    def run(self, name: str, data: bytes) -> None:
        getattr(self, f"_{name}")(data)

    def _schema(self, data: bytes) -> None:
        schema = gn.Schema.loads(_text(data))
        assert gn.Schema.loads(schema.dumps()) == schema, "the schema reads back otherwise"
        if not schema.estimated and schema.features:
            Encoder(schema)

    def _certificate(self, data: bytes) -> None:
        found = Certificate.from_yaml(_text(data))
        assert Certificate.from_yaml(found.to_yaml()).to_yaml() == found.to_yaml(), "it reads back otherwise"

    def _map(self, data: bytes) -> None:
        path = self.folder / "hostile.npz"
        path.write_bytes(data)
        seen_by = PublicMap.of_arrays(load_arrays(path))
        for _ in transform_batches(self.rows, self.schema, seen_by):
            pass

    def _csv(self, data: bytes) -> None:
        self._table("hostile.csv", data)

    def _parquet(self, data: bytes) -> None:
        self._table("hostile.parquet", data)

    def _arrow(self, data: bytes) -> None:
        self._table("hostile.arrow", data)

    def _table(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.write_bytes(data)
        source = open_source(path, schema=self.schema)
        report = check(source, self.schema)
        encoder = Encoder(self.schema)
        try:
            whole = [encoder.encode(batch) for batch in source.batches(encoder.columns)]
        except GnomonError:
            assert not report.ok, "check accepts what the encoder refuses"
            raise
        assert source.n_rows() == report.rows == sum(len(rows.X) for rows in whole)
        small = [encoder.encode(batch) for batch in source.batches(encoder.columns, rows=2)]
        for part in ("cells", "codes"):
            one, other = ([np.asarray(getattr(rows, part)) for rows in rows_of] for rows_of in (whole, small))
            if one:
                assert np.array_equal(np.concatenate(one), np.concatenate(other)), "batches differ"
        for rows in whole:
            assert np.isfinite(rows.X).all()
            assert np.abs(rows.X).max(initial=0.0) <= 1.0

    def _command(self, data: bytes) -> None:
        arguments = [part.replace("\x00", "") for part in _text(data).split("\x1f")][:20]
        if any(
            part in ("audit", "reproduce", "evaluate", "--help") or "/" in part or ".." in part
            for part in arguments
        ):
            return
        if any(part.isdigit() and len(part) > 4 for part in arguments):
            return  # rows are written, and cells drawn, in any number that is asked for
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = command(arguments)
        for path in set(self.folder.iterdir()) - self.kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert code in (0, 2, 3, 4), f"exit code {code}"

    @property
    def kept(self) -> set[Path]:
        """The files that a command may find."""
        return {self.folder / name for name in ("s.toml", "good.csv", "released", "l.sqlite")}


def outcome(run: Callable[[], Any], data: bytes) -> str | None:
    """What went wrong, if anything."""
    try:
        run()
    except GnomonError:
        pass
    except (Exception, RecursionError) as problem:
        return f"{type(problem).__name__}: {problem!s:.200} from {data[:3000]!r}"
    return None


def traced(run: Callable[[], None], seen: set[tuple[str, int]]) -> None:
    """Run with coverage of gnomon's lines."""

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


def fuzz(
    name: str, targets: Targets, seconds: float, seed: int, slow: float, most: int = 10**9
) -> tuple[int, int, list[str]]:
    """Inputs tried, lines of gnomon reached, and what went wrong."""
    pick = random.Random(f"{name} {seed}")
    kept, seen, wrong = [*targets.seeds[name]], set[tuple[str, int]](), list[str]()
    end, tried = time.monotonic() + seconds, 0
    while time.monotonic() < end and tried < most and len(wrong) < 20:
        data = mutate(pick.choice(kept), pick) if tried >= len(targets.seeds[name]) else kept[tried]
        before, run = len(seen), partial(targets.run, name, data)
        faulthandler.dump_traceback_later(slow, exit=True)
        found = outcome(partial(traced, run, seen) if tried % 8 == 0 else run, data)
        faulthandler.cancel_dump_traceback_later()
        tried += 1
        if found:
            wrong.append(found)
        if len(seen) > before and len(kept) < 2000:
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
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    failed = 0
    with tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        targets = Targets(Path(place))
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
