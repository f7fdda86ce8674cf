"""All methods and peers on all tables at the same budgets: what a release is worth, what it costs, one page.

    python benchmarks/peers/environments.py                                   makes the peers' environments, once
    python benchmarks/compare.py run --data DIR [--methods ours|baselines|peers|real|NAME,...] [--tables NAME,...]
                                     [--epsilons 1,4,0.5] [--minutes M]       adds to docs/results/comparison/runs.jsonl
    python benchmarks/compare.py report                                       docs/results/comparison.md and its plots

Every run has its own process, ten minutes and 9 GB. One line is written for each; what has a line is not run again, so
all of it can be interrupted. A peer that exceeded its limit on a table at one epsilon is not run there at another, nor on
a table that has at least as many rows and as many columns.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from comparison import bins, process, score
from comparison.methods import AUTO, BASELINES, OURS, PEERS, REAL
from comparison.page import report
from comparison.tables import TABLES, Table
from peers.environments import interpreter

from gnomon.evaluation.sides import Side
from gnomon.plan import choose, elsewhere
from gnomon.privacy.guarantee import ApproxDP
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema

HERE = Path(__file__).resolve().parent
EPSILONS = (0.5, 1.0, 4.0)
RESULTS = HERE.parent / "docs" / "results"
GROUPS = {"ours": OURS, "baselines": BASELINES, "peers": tuple(PEERS), "real": (AUTO, REAL)}
Line = dict[str, Any]


def prepare(table: Table, data: Path, work: Path, trial: int) -> Path:
    """The rows of one trial as every method and peer reads them."""
    folder = work / f"{table.name}-{trial}"
    if (folder / "domain.json").is_file():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    train, test, schema = table.split(data, trial)
    pq.write_table(train, folder / "train.parquet")
    pq.write_table(test, folder / "test.parquet")
    schema.save(folder / "schema.toml")
    pq.write_table(bins.binned(train, schema), folder / "binned.parquet")
    columns = [
        {"name": f"c{j}", "size": cut.size, "ordered": cut.ordered, "exact": cut.exact}
        for j, cut in enumerate(bins.cuts(schema))
    ]
    encoder = Encoder(schema)
    for name, rows in (("train", train), ("test", test)):
        encoded = encoder.encode(rows.combine_chunks())
        np.savez(folder / f"{name}.npz", X=encoded.X.astype(np.float32), y=encoded.y)
    (folder / "domain.json").write_text(json.dumps(columns))
    return folder


def sides(folder: Path, trial: int) -> tuple[Side, Side, Schema, str]:
    """Real rows to compare with and to test on, as many as are looked at."""
    schema = Schema.load(folder / "schema.toml")
    encoder, found = Encoder(schema), []
    for name, most in (("train", score.LIMITS.train), ("test", score.LIMITS.test)):
        table = pq.read_table(folder / f"{name}.parquet")
        rng = np.random.default_rng([23, trial])
        chosen = np.sort(rng.permutation(table.num_rows)[:most])
        rows = encoder.encode(table.take(chosen).combine_chunks())
        found.append(Side(table.take(chosen), np.ascontiguousarray(rows.X), rows.y))
    return found[0], found[1], schema, encoder.task


def one(method: str, folder: Path, epsilon: float, delta: float, trial: int, wall: float) -> Line:
    """Run one method or peer; what it told, or why it has nothing to tell."""
    if method == REAL:
        real, test, _, task = sides(folder, trial)
        found = score.utility(task, real, test, trial) | score.floor(task, real, test)
        return {"status": "done", "utility": found}
    if method == AUTO:
        return {"status": "done", **_public(folder, delta)}
    if method not in PEERS:
        script = str(HERE / "comparison" / "release.py")
        asked = [sys.executable, script, method, str(folder), str(epsilon), str(delta), str(trial)]
        outcome = process.run(asked, wall_seconds=wall)
        line = _line(outcome)
        if "refused" in outcome.told:
            return {"status": "refused", "why": outcome.told["refused"]}
        return line
    peer = PEERS[method]
    python = interpreter(peer.environment)
    if python is None:
        return {"status": "failed", "why": "its environment is not installed"}
    out = folder / f"{method}-{os.getpid()}.parquet"
    rows = pq.read_metadata(folder / "train.parquet").num_rows
    script = str(HERE / "peers" / peer.script)
    outcome = process.run(
        [str(python), script, peer.algorithm, str(folder), str(epsilon), str(delta), str(rows), str(out)],
        wall_seconds=wall,
    )
    line = _line(outcome)
    if outcome.status == "done" and peer.releases:
        real, test, schema, task = sides(folder, trial)
        rng = np.random.default_rng([24, trial])
        made = score.some(bins.restored(pq.read_table(out), schema, rng), score.LIMITS.train, rng)
        line["utility"] = score.utility(task, made, test, trial)
        line |= score.likeness(made.table, real.table, schema, trial)
    elif outcome.status == "done":
        told = np.load(f"{out}.npz")
        if not all(np.isfinite(told[name]).all() for name in told.files if told[name].dtype.kind == "f"):
            return {**line, "status": "failed", "why": "its predictions are not numbers"}
        task, truth = Encoder(Schema.load(folder / "schema.toml")).task, np.load(folder / "test.npz")["y"]
        line["utility"] = score.predictions(task, told, truth)
    for left in (out, Path(f"{out}.npz")):
        left.unlink(missing_ok=True)
    return line


def _public(folder: Path, delta: float) -> Line:
    """What is known without reading a row, and which method `auto` stands for at each epsilon."""
    schema = Schema.load(folder / "schema.toml")
    encoder = Encoder(schema)
    rows = pq.read_metadata(folder / "train.parquet").num_rows
    return {
        "rows": rows,
        "columns": len(schema.released),
        "width": encoder.width,
        "classes": len(encoder.classes or ()),
        "auto": {f"{e:g}": choose(schema, rows, ApproxDP(e, delta)) for e in EPSILONS},
        "elsewhere": elsewhere(schema) is not None,
    }


def _line(outcome: process.Outcome) -> Line:
    used = {"seconds": outcome.wall, "cpu": outcome.cpu, "peak_mb": outcome.peak_mb}
    return {"status": outcome.status, "why": outcome.why, **used, **outcome.told}


def read(out: Path) -> list[Line]:
    path = out / "comparison" / "runs.jsonl"
    return [json.loads(text) for text in path.read_text().splitlines()] if path.is_file() else []


def run(told: argparse.Namespace) -> None:
    (told.out / "comparison").mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    for epsilon in told.epsilons:
        for name in told.tables:
            table = TABLES[name]
            for trial in range(min(table.trials, told.trials)):
                for method in told.methods if trial == 0 else [m for m in told.methods if m != AUTO]:
                    if time.monotonic() - started > 60 * told.minutes:
                        return
                    at = 0.0 if method in (AUTO, REAL) else epsilon
                    lines = read(told.out)
                    if _settled(lines, name, method, at, trial):
                        continue
                    smaller = _exceeded_on_smaller(lines, name, method)
                    if smaller is not None:
                        found = {
                            "status": "exceeded",
                            "why": f"not run, it exceeded on {TABLES[smaller].title}",
                        }
                    else:
                        folder = prepare(table, told.data, told.work, trial)
                        found = one(method, folder, at, table.delta, trial, told.wall)
                    key = {
                        "table": name,
                        "method": method,
                        "epsilon": at,
                        "delta": table.delta,
                        "trial": trial,
                    }
                    line = {**key, "date": str(datetime.date.today()), **found}
                    with (told.out / "comparison" / "runs.jsonl").open("a") as log:
                        log.write(json.dumps(line) + "\n")
                    print(json.dumps({k: v for k, v in line.items() if k != "date"})[:400], flush=True)
    print("nothing is left to run")


def _settled(lines: list[Line], table: str, method: str, epsilon: float, trial: int) -> bool:
    """It has a line, or it exceeded the limit on this table before."""
    mine = [line for line in lines if line["table"] == table and line["method"] == method]
    return any(
        line["status"] == "exceeded" or (line["epsilon"] == epsilon and line["trial"] == trial)
        for line in mine
    )


def _exceeded_on_smaller(lines: list[Line], table: str, method: str) -> str | None:
    """A table of at most as many rows and columns on which the method exceeded its limit."""
    sizes = {line["table"]: (line["rows"], line["columns"]) for line in lines if line["method"] == AUTO}
    if table not in sizes:
        return None
    over = [line["table"] for line in lines if line["method"] == method and line["status"] == "exceeded"]
    fits = [
        t for t in over if t in sizes and all(a <= b for a, b in zip(sizes[t], sizes[table], strict=True))
    ]
    return fits[0] if fits else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--data", type=Path, default=os.environ.get("GNOMON_DATA"))
    parser.add_argument("--methods", default="real,ours,baselines,peers")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default="1,4,0.5")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument(
        "--wall", type=float, default=2 * process.SECONDS, help="most seconds of a run by the clock"
    )
    parser.add_argument("--minutes", type=float, default=1e6, help="start nothing new after so many minutes")
    parser.add_argument(
        "--work", type=Path, default=Path("build") / "comparison", help="where tables are prepared"
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    told = parser.parse_args()
    told.methods = [m for word in told.methods.split(",") for m in GROUPS.get(word, (word,))]
    told.tables = told.tables.split(",")
    told.epsilons = [float(word) for word in told.epsilons.split(",")]
    if told.what == "report":
        report(read(told.out), told.out)
    elif told.data is None:
        parser.error("give the folder of the tables with --data DIR or GNOMON_DATA")
    else:
        told.data = Path(told.data)
        run(told)


if __name__ == "__main__":
    main()
