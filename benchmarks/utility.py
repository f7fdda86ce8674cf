"""What releases are worth, by one protocol for all methods: released columns directly on held-out real rows.

    python benchmarks/utility.py run --data DIR --out FILE [--method auto] [--tier quick|full] [--tables NAME,...]
                                     [--epsilon 1,4|sweep] [--delta 1e-6] [--splits 3] [--minutes M]
    python benchmarks/utility.py run --data DIR --out FILE --method real [...]     the same learners on real rows
    python benchmarks/utility.py run --data DIR --out FILE --method PEER [...]     another tool, or gnomon beside them
    python benchmarks/utility.py show FILE [--against FILE] [--tier full] [--tables ...] [--epsilon ...] [--delta ...]
    python benchmarks/utility.py page                                              the two pages of docs/results/utility
    python benchmarks/utility.py tables                                            names, targets and bounds

Protocol. A table is cut 80/20 by the split's number. The method is fitted on the larger part with the schema of
`harness/tables.py`, at (epsilon, delta) for the replacement of one row, and 3,000 (quick) or 8,000 (full) rows are drawn.
Learners are trained on them and scored on at most 3,000 held-out real rows as they are, and beside that on the same
rows seen through the release's `transform`. Two classes: AUROC; more: accuracy; numbers: R2.

- *quick*: logistic or ridge regression and a forest of 50 trees of depth 12; 3 splits.
- *full*: also an RBF machine, a whole forest, gradient boosting (30 iterations above 500 columns x classes); 5 splits,
  epsilon 1 and 4.
- `real` trains the same learners on as many real rows as are released, or as there are, and compares as many real
  rows, drawn with replacement: what drawing alone costs.

Released and real columns are compared (at most 30,000 real rows): total variation of one, two and three columns;
spreads, shares of cells at a bound and slopes of correlations, median and worst. One line of JSON is added to FILE for
each table, budget, method, split and tier. A line that is there is not run again, so a run can be interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness import learners
from harness.arrays import Rows, features
from harness.learners import SWEEP, TIERS, Tier
from harness.likeness import Real
from harness.peers import PEERS, PeerStoppedError, release
from harness.tables import TABLES, Table, split

import gnomon as gn
from gnomon.errors import GnomonError

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results" / "utility"
REAL, AUTO, DEFAULT = "real", "auto", "synthesizer"
DELTA = 1e-6
COMPARED_ROWS = 30_000
KEY = ("tier", "table", "epsilon", "delta", "method", "split")
Line = dict[str, Any]


def methods() -> Any:
    """gnomon's methods by name, from where this version of it keeps them."""
    for home in ("gnomon.methods", "gnomon.release"):
        try:
            return importlib.import_module(home).METHODS
        except (ImportError, AttributeError):
            continue
    raise SystemExit("This version of gnomon has no table of methods that is known here.")


def named(method: str, schema: gn.Schema, rows: int, epsilon: float, delta: float) -> str:
    """The method that a name stands for; `auto` is gnomon's own choice."""
    known = methods()
    if method != AUTO or AUTO in known:
        return method
    if DEFAULT in known:
        return DEFAULT
    from gnomon.plan import choose

    return choose(schema, rows, gn.PureDP(epsilon) if delta == 0 else gn.ApproxDP(epsilon, delta))


def parameters(method: str) -> tuple[str, dict[str, Any]]:
    """A method's name, and what follows it: `pca-gauss:pca=laplace,n_components=10`."""
    name, _, rest = method.partition(":")
    given = dict(word.split("=", 1) for word in rest.split(",") if word)
    return name, {key: int(value) if value.isdigit() else value for key, value in given.items()}


class Split:
    """One table cut by one seed, with what is compared against prepared once for all methods and budgets."""

    def __init__(self, table: Table, rows: pa.Table, seed: int) -> None:
        self.table, self.seed = table, seed
        schema = table.declare(rows)
        assert schema.target is not None
        assert schema.target.name == table.target
        self.schema = schema
        self.train, self.test = split(rows.select([column.name for column in schema.released]), seed)
        self.test_rows = Rows.of(self.test, schema)
        self.real = Real(self.some(self.train, COMPARED_ROWS), schema)

    def some(self, rows: pa.Table, most: int) -> pa.Table:
        if rows.num_rows <= most:
            return rows
        return rows.take(
            np.sort(np.random.default_rng([34, self.seed]).choice(rows.num_rows, most, replace=False))
        )

    def measure(
        self, method: str, epsilon: float | None, delta: float | None, tier: Tier, **more: Any
    ) -> Line:
        """Release, learn, compare; `more` are further parameters of the method."""
        if method == REAL:
            rows = self.some(self.train, tier.rows)
            train = Rows.of(rows, self.schema)
            found = self._scores(train, {"direct": self.test_rows}, tier)
            found["majority"] = rounded(learners.majority(train, self.test_rows, self.table.task))
            size = {"rows": self.train.num_rows, "columns": self.train.num_columns}
            draw = np.random.default_rng([35, self.seed]).integers(0, self.train.num_rows, tier.rows)
            return {**size, **found, **self.real.compare(self.train.take(draw))}
        assert epsilon is not None
        assert delta is not None
        if method in PEERS:
            return self._peer(method, epsilon, delta, tier)
        start = time.process_time()
        name = named(method, self.schema, self.train.num_rows, epsilon, delta)
        name, options = parameters(name)
        more = {**more, "not_private": True} if math.isinf(epsilon) else more
        made = methods()[name](
            epsilon=epsilon, delta=delta, schema=self.schema, random_state=self.seed, **options, **more
        )
        fitted = made.fit(self.train)
        fit = time.process_time() - start
        try:
            rows = fitted.sample(tier.rows)
        except GnomonError:  # a release of one noisy row for each record has no other number of rows
            rows = self.some(fitted.sample(), tier.rows)
        cost = {"fit_cpu": rounded(fit), "sample_cpu": rounded(time.process_time() - start - fit)}
        seen = Rows(features(fitted.transform(self.test), self.schema), self.test_rows.y)
        shown = set(rows.column_names) >= set(self.train.column_names)
        tests = {"direct": self.test_rows, "transform": seen} if shown else {"transform": seen}
        told = {"took": name, **cost, **self._scores(Rows.of(rows, self.schema), tests, tier)}
        return {**told, **self.real.compare(rows)} if shown else told

    def _peer(self, method: str, epsilon: float, delta: float, tier: Tier) -> Line:
        """Another tool's rows, through the same learners and comparisons; predictions of one that releases none."""
        made = release(method, self.train, self.test, self.schema, epsilon, delta, tier.rows, self.seed)
        told = {"took": method, "adjacency": PEERS[method].adjacency, **made.cost}
        if made.rows is None:
            own = learners.own_score(made.predictions, self.test_rows.y, self.table.task)
            return {**told, "direct": {"its own": rounded(own)}}
        scores = self._scores(Rows.of(made.rows, self.schema), {"direct": self.test_rows}, tier)
        return {**told, **scores, **self.real.compare(made.rows)}

    def _scores(self, train: Rows, tests: dict[str, Rows], tier: Tier) -> Line:
        start = time.process_time()
        target = self.schema.target
        classes = len(target.values) if target is not None and target.kind == "category" else 1
        found = learners.scores(train, tests, self.table.task, classes, tier, self.seed)
        scored = {view: {name: rounded(v) for name, v in of.items()} for view, of in found.items()}
        return {**scored, "learn_cpu": rounded(time.process_time() - start)}


def rounded(value: float) -> float | None:
    return round(float(value), 4) if math.isfinite(value) else None


def read(path: Path) -> list[Line]:
    return [json.loads(text) for text in path.read_text().splitlines()] if path.is_file() else []


def key(line: Line) -> tuple[Any, ...]:
    return tuple(line[name] for name in KEY)


def exceeded(line: Line, path: Path) -> bool:
    """A tool that exceeded its limit on a table is not run there again."""
    same = ("tier", "table", "method")
    return any(
        str(known.get("refused", "")).startswith("exceeded") and all(known[n] == line[n] for n in same)
        for known in read(path)
    )


def jobs(told: argparse.Namespace, tier: Tier) -> Iterator[tuple[str, int, list[Line]]]:
    """Tables in their order and splits within them, each with the lines that are wanted of it."""
    budgets = [(None, None)] if told.method == REAL else [(e, told.delta) for e in told.epsilon]
    for name in told.tables:
        for seed in told.splits:
            yield (
                name,
                seed,
                [dict(zip(KEY, (tier.name, name, e, d, told.method, seed), strict=True)) for e, d in budgets],
            )


def run(told: argparse.Namespace) -> None:
    """Every line that FILE does not hold yet."""
    told.out.parent.mkdir(parents=True, exist_ok=True)
    done = {key(line) for line in read(told.out)}
    started, loaded = time.monotonic(), ("", pa.table({}))
    for name, seed, wanted in jobs(told, TIERS[told.tier]):
        missing = [line for line in wanted if key(line) not in done and not exceeded(line, told.out)]
        if not missing:
            continue
        if loaded[0] != name:
            loaded = (name, TABLES[name].load(told.data))
        prepared = Split(TABLES[name], loaded[1], seed)
        for line in missing:
            if time.monotonic() - started > 60 * told.minutes:
                print("the time is over; the same command goes on from here")
                return
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = prepared.measure(line["method"], line["epsilon"], line["delta"], TIERS[told.tier])
            except GnomonError as refused:
                found = {"refused": str(refused)}
            except PeerStoppedError as stopped:
                found = {"refused": str(stopped)}
            with told.out.open("a", encoding="utf-8") as log:
                log.write(json.dumps({**line, **found}, separators=(",", ":")) + "\n")
            print(json.dumps({**line, **found})[:300], flush=True)
    print("nothing is left to run")


def pages() -> dict[str, str]:
    """The pages of the synthesizer and of the first version, from the lines that are kept."""
    from harness import page
    from harness.summary import groups

    def kept(*names: str) -> Any:
        return groups([line for name in names for line in read(RESULTS / f"{name}.jsonl")])

    real, first = kept("real-rows"), kept("first-version", "first-version-pure")
    return {
        DEFAULT: page.synthesizer(kept(DEFAULT), first, real),
        "first-version": page.first_version(first, real),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="add what FILE lacks")
    shows = commands.add_parser("show", help="print what FILE holds")
    commands.add_parser("tables", help="print the tables")
    commands.add_parser("page", help="write the pages of docs/results/utility from the lines beside them")
    for one in (runs, shows):
        one.add_argument("--tier", choices=list(TIERS), default="quick" if one is runs else None)
        one.add_argument("--tables", help="names with commas between them; all by default")
        one.add_argument("--epsilon", help=f"numbers with commas between them, or sweep for {SWEEP}")
        one.add_argument("--delta", type=float, default=DELTA if one is runs else None, help="0 is pure")
    runs.add_argument(
        "--method",
        default=AUTO,
        help="of gnomon, with parameters as NAME:KEY=VALUE,...; auto; real for the real rows; a tool of harness/peers.py",
    )
    runs.add_argument("--splits", help="how many (3), or which (0,1,2); by the tier by default")
    runs.add_argument("--data", type=Path, default=os.environ.get("GNOMON_DATA"))
    runs.add_argument("--out", type=Path, help="default: docs/results/utility/METHOD.jsonl")
    runs.add_argument("--minutes", type=float, default=math.inf, help="start nothing new after so many")
    shows.add_argument("file", type=Path)
    shows.add_argument("--against", type=Path)
    shows.add_argument("--real", type=Path, default=RESULTS / "real-rows.jsonl")
    return parser


def main(argv: list[str] | None = None) -> int:
    told = _parser().parse_args(argv)
    if told.command == "tables":
        for table in TABLES.values():
            print(f"{table.name}: {table.target} ({table.task}); bounds from {table.bounds}")
        return 0
    if told.command == "page":
        for name, text in pages().items():
            (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
            print(RESULTS / f"{name}.md")
        return 0
    told.tables = told.tables.split(",") if told.tables else list(TABLES)
    unknown = [name for name in told.tables if name not in TABLES]
    if unknown:
        raise SystemExit(f"There is no table {unknown[0]!r}; there are {', '.join(TABLES)}.")
    if told.epsilon:
        told.epsilon = SWEEP if told.epsilon == "sweep" else [float(e) for e in told.epsilon.split(",")]
    if told.command == "show":
        from harness.show import show

        print(show(told, read(told.file), read(told.against) if told.against else [], read(told.real)))
        return 0
    tier = TIERS[told.tier]
    told.data = Path(told.data) if told.data else None
    told.epsilon = told.epsilon or tier.epsilons
    told.out = told.out or RESULTS / f"{'real-rows' if told.method == REAL else told.method}.jsonl"
    words = (told.splits or str(tier.splits)).split(",")
    told.splits = range(int(words[0])) if len(words) == 1 else [int(word) for word in words]
    run(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
