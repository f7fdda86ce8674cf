"""Are verdicts right? Predicted and stated levels of every column beside the level that the real rows show.

    python benchmarks/verdicts.py --data DIR --out RUNS [--minutes 9]   # a file for each release; resumes
    python benchmarks/verdicts.py --show RUNS                           # the figures of docs/results/verdicts.md
    python benchmarks/verdicts.py --data DIR --bounds                   # estimated bounds beside the outer quantiles

Real tables are those of the utility protocol, with at most `MOST_ROWS` rows, and some columns of very wide ones.
Generated ones have shapes, bounds and relations that are drawn anew for each. A release is made once for every table and
budget.
"""

from __future__ import annotations

import argparse
import math
import os
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness.tables import TABLES

import gnomon as gn
from gnomon.methods.bounds import bounds_of, bounds_share, grid_counts
from gnomon.methods.charging import unaccounted
from gnomon.privacy.accounting import spendable
from gnomon.verdict.compare import described, distance, prior, relative
from gnomon.verdict.levels import Level, judged, judged_relation
from gnomon.verdict.predict import MOST, judged_trials, trial_of, tried_on_reference
from gnomon.verdict.simulate import Redrawn
from gnomon.verdict.state import again, beside_counts, together

BUDGETS = [(e, d) for e in (0.1, 1.0, 10.0) for d in (0.0, 1e-6)]
LARGE = {
    "mnist": 60,
    "sports-135": 45,
    "faces-2": 60,
    "faces-9": 60,
    "blogfeedback": 60,
}  # columns that are kept
GENERATED = 20
MOST_ROWS = 50_000
SMALL_SHARE = 0.3  # of generated columns: booleans, and categories


def real(name: str, data: Path | None) -> tuple[pa.Table, gn.Schema]:
    """A real table; of a very wide one some columns, drawn once, and its target."""
    table = TABLES[name].load(data)
    schema = TABLES[name].declare(table)
    columns = list(schema.released)
    if name in LARGE:
        features = [column for column in columns if column.role != "target"]
        chosen = np.random.default_rng(51).choice(len(features), LARGE[name], replace=False)
        columns = [features[i] for i in sorted(chosen)] + [c for c in columns if c.role == "target"]
    if table.num_rows > MOST_ROWS:
        table = table.take(
            np.sort(np.random.default_rng(52).choice(table.num_rows, MOST_ROWS, replace=False))
        )
    schema = gn.Schema(name=schema.name, columns=tuple(columns))
    return table.select([column.name for column in columns]), schema


def generated(seed: int) -> tuple[pa.Table, gn.Schema]:
    """A table of 100 to 100,000 rows and 5 to 60 columns with shapes that nobody told the verdicts about."""
    rng = np.random.default_rng([53, seed])
    rows, m = int(10 ** rng.uniform(2, 5)), int(rng.integers(5, 61))
    factors = rng.normal(size=(rows, 3))
    y = (factors[:, 0] + rng.normal(size=rows) > rng.normal()).astype(int)
    columns = [gn.Column(name="y", kind="category", values=(0, 1), role="target")]
    cells: dict[str, Any] = {"y": y}
    for j in range(m):
        score = factors @ rng.normal(size=3) * rng.uniform(0, 0.6) + rng.normal(size=rows)
        name = f"x{j}"
        kind = rng.random()
        if kind < SMALL_SHARE:
            columns.append(gn.Column(name=name, kind="boolean"))
            cells[name] = score > np.quantile(score, rng.uniform(0.3, 0.99))
        elif kind < 2 * SMALL_SHARE:
            k = int(rng.integers(3, 12))
            cuts = np.sort(rng.random(k - 1))
            codes = np.searchsorted(np.quantile(score, cuts), score)
            columns.append(gn.Column(name=name, kind="category", values=tuple(f"v{i}" for i in range(k))))
            cells[name] = np.array([f"v{i}" for i in rng.permutation(k)])[codes]
        else:
            cells[name], low, high = _number(score, rng)
            columns.append(gn.Column(name=name, kind="number", low=low, high=high))
    return pa.table(cells), gn.Schema(name=f"generated-{seed}", columns=tuple(columns))


def _number(score: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float, float]:
    """A bell, a skewed or heavy tail, two humps or heaps, within bounds that are wider than the cells by some factor."""
    shape = rng.integers(5)
    values = [
        score,
        np.exp(score * rng.uniform(0.3, 1.0)),
        np.where(score > 0, score + 3, score),
        np.rint(score * rng.uniform(1, 8)),
        np.maximum(score, 0.3) ** 2,
    ][shape]
    low, high = float(values.min()), float(values.max())
    beyond = (high - low) * rng.uniform(0, 0.5, 2)
    return values, low - float(beyond[0]), high + float(beyond[1])


def tried_release(
    name: str, table: pa.Table, schema: gn.Schema, epsilon: float, delta: float
) -> dict[str, Any]:
    """One release and the trials that its verdicts are read off, with what the real rows show."""
    began = time.perf_counter()
    method = gn.Synthesizer(epsilon, delta, schema=schema, random_state=1).fit(table, charge=unaccounted)
    fitted = time.perf_counter()
    trial = trial_of(method, schema, schema, table.num_rows, method.guarantee_)
    reference = tried_on_reference(trial)
    predicted = time.perf_counter()
    found = {"trial": trial, "reference": reference, "again": again(method, trial)}
    found["counted"] = beside_counts(method, trial)
    ended = time.perf_counter()
    seen = described(pa.concat_tables(method.sample_batches(table.num_rows)), schema)
    facts = {"table": name, "rows": table.num_rows, "columns": len(schema.released)}
    facts |= {"epsilon": epsilon, "delta": delta, "fit": fitted - began}
    facts |= {"prediction": predicted - fitted, "verdict": ended - fitted}
    return found | {"facts": facts, "seen": seen, "true": described(table, schema), "prior": prior(schema)}


def judged_release(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """For every column, class and the relation of a release: its true level beside the predicted and the stated one."""
    trial, true, seen, known = (found[key] for key in ("trial", "true", "seen", "prior"))
    predicted = judged_trials(trial, found["reference"], MOST)
    before = judged_trials(trial, found["reference"])
    after = together(before, found["reference"].columns, found["again"], found["counted"])
    for part in ("columns", "classes"):
        for planned, stated in zip(getattr(predicted, part), getattr(after, part), strict=True):
            here, public = (getattr(one, part)[planned.name] for one in (true, known))
            error = distance(getattr(seen, part)[planned.name], here)
            real_ = judged(planned.kind, planned.name, error, distance(public, here))
            levels = {"true": real_, "predicted": planned, "stated": stated}
            yield found["facts"] | {
                "part": part,
                "name": planned.name,
                "kind": trial.schema[planned.name].kind if part == "columns" else "class",
                "error": error,
                **{key: one.level.word for key, one in levels.items()},
            }
    assert predicted.relation is not None
    assert after.relation is not None
    error_ = relative(seen.relation, true.relation)
    relation = judged_relation(predicted.relation.name, error_)
    levels = {"true": relation, "predicted": predicted.relation, "stated": after.relation}
    words = {key: one.level.word for key, one in levels.items()}
    yield found["facts"] | {"part": "relation", "name": relation.name, "error": error_, **words}


# --- bounds that are estimated ---


def bounds_beside_quantiles(
    name: str, table: pa.Table, names: list[str], guarantee: Any, trials: int = 100
) -> None:
    """Estimates of all these columns in one query, drawn again and again: how many are lost, or far from the quantiles."""
    rng, budget, rows = np.random.default_rng(54), spendable(guarantee), table.num_rows
    share = bounds_share(tuple(names), rows, budget)
    query = grid_counts(tuple(names))
    noise, redrawn = query.noise(budget.split(share)[0]), Redrawn(rng)
    cells = {one: np.asarray(table[one].cast(pa.float64()).drop_null().to_numpy()) for one in names}
    exact = query.of_batch(table.combine_chunks().to_batches()[0])
    lost = off = far = 0
    for _ in range(trials):
        for one, counts in zip(names, query.split(redrawn.outcome(noise, exact, lambda: exact)), strict=True):
            found = bounds_of(counts, noise, len(names), rows, integer=False)
            if found is None:
                lost += 1
                continue
            far += max(map(abs, found)) > 10 * max(np.abs(cells[one]).max(), 2.0**-20)
            off += not all(map(_near, found, np.quantile(cells[one], [0.01, 0.99]), [np.ptp(cells[one])] * 2))
    total = trials * len(names)
    counted = (f"{count:,} of {total:,}" for count in (far, off, lost))
    _row(
        name,
        f"{rows:,} x {len(names)}",
        f"({guarantee.epsilon:g}, {guarantee.delta:g})",
        f"{share:.0%}",
        *counted,
    )


def _near(bound: float, quantile: float, width: float) -> bool:
    """Within a factor of two; of a quantile that is nearly zero, within a hundredth of the width."""
    if abs(quantile) <= 0.01 * width:
        return abs(bound) <= 0.02 * width
    return 0.5 <= bound / quantile <= 2


def show_bounds(data: Path | None) -> None:
    heads = ("beyond ten times the range", "not within a factor of two", "left out")
    _row("table", "rows x columns", "(epsilon, delta)", "share of the budget", *heads, head=True)
    for name, most in (
        ("cervical_cancer_risk", 36),
        ("adult", 10),
        ("sports", 10),
        ("kdd99", 10),
        ("buzz", 10),
    ):
        table = TABLES[name].load(data)
        if table.num_rows > 20_000:
            table = table.take(np.random.default_rng(55).choice(table.num_rows, 20_000, replace=False))
        released = {column.name for column in TABLES[name].declare(table).released}
        plain = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
        names = [
            one
            for one in table.column_names
            if one in released and any(is_(table[one].type) for is_ in plain)
        ]
        for one in names[:most]:
            place = table.column_names.index(one)
            cells = table[one].cast(pa.int8()) if pa.types.is_boolean(table[one].type) else table[one]
            table = table.set_column(place, one, cells.cast(pa.float64()))
        for guarantee in (gn.ApproxDP(1.0, 1e-5), gn.ApproxDP(1.0, 1e-6), gn.PureDP(1.0)):
            bounds_beside_quantiles(name, table.select(names[:most]), names[:most], guarantee)


# --- the figures ---


def figures(runs: list[dict[str, Any]], called: str) -> dict[str, tuple[int, int]]:
    """The counts behind each promised figure: how many of how many."""
    level = {
        word: [run for run in runs if run["true"] == word] for word in ("good", "usable", "weak", "lost")
    }
    good = [run for run in runs if run[called] == "good"]

    def share(of: list[dict[str, Any]], key: str, words: tuple[str, ...]) -> tuple[int, int]:
        return sum(run[key] in words for run in of), len(of)

    return {
        "called good that are": share(good, "true", ("good",)),
        "good that are called so": share(level["good"], called, ("good",)),
        "lost that are called weak or lost": share(level["lost"], called, ("weak", "lost")),
        "usable that are called lost": share(level["usable"], called, ("lost",)),
    }


def show(runs: list[dict[str, Any]]) -> None:
    columns = [run for run in runs if run["part"] == "columns"]
    groups = {
        "all tables": columns,
        "real tables": [run for run in columns if not run["table"].startswith("generated")],
        "generated tables": [run for run in columns if run["table"].startswith("generated")],
        "pure": [run for run in columns if run["delta"] == 0],
        "delta = 1e-6": [run for run in columns if run["delta"] > 0],
    }
    for called in ("stated", "predicted"):
        _row(called, "columns", *figures(columns, called), head=True)
        for name, chosen in groups.items():
            found = figures(chosen, called).values()
            _row(name, f"{len(chosen):,}", *(f"{a / b:.1%} ({a:,} of {b:,})" if b else "" for a, b in found))
    for part in ("columns", "classes", "relation"):
        for called in ("stated", "predicted"):
            _row(f"{part}: true level", *(f"{called} {level.word}" for level in Level), head=True)
            for level in Level:
                mine = [run for run in runs if run["part"] == part and run["true"] == level.word]
                _row(level.word, *(f"{sum(run[called] == other.word for run in mine):,}" for other in Level))
    heads = ("usable or better at (1, 1e-6)", "stated so", "called good that are", "good that are called so")
    _row("table", "rows", "columns", *heads, head=True)
    for name in dict.fromkeys(run["table"] for run in columns):
        mine = [run for run in columns if run["table"] == name]
        here = [run for run in mine if (run["epsilon"], run["delta"]) == (1.0, 1e-6)]
        kept = [np.mean([run[key] in ("good", "usable") for run in here]) for key in ("true", "stated")]
        good = list(figures(mine, "stated").values())[:2]
        shares = (f"{a / b:.0%}" if b else "" for a, b in good)
        _row(name, f"{mine[0]['rows']:,}", mine[0]["columns"], *(f"{one:.0%}" for one in kept), *shares)
    times = {(run["table"], run["epsilon"], run["delta"]): (run["fit"], run["verdict"]) for run in runs}
    fit, verdict = np.array(list(times.values())).T
    print(f"\n{len(times)} releases; seconds of a fit: median {np.median(fit):.1f}, most {fit.max():.1f};")
    print(f"of a verdict: median {np.median(verdict):.1f}, most {verdict.max():.1f}.")


def _row(*cells: Any, head: bool = False) -> None:
    print(("\n" if head else "") + f"| {' | '.join(map(str, cells))} |")
    if head:
        print("|---" * len(cells) + "|")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("GNOMON_DATA"))
    parser.add_argument(
        "--out", type=Path, help="a folder with a file for each release; finished ones are kept"
    )
    parser.add_argument("--tables", help="names, separated by commas; by default all")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no release after so many")
    parser.add_argument("--show", type=Path, help="print the figures of a folder")
    parser.add_argument("--bounds", action="store_true", help="print how near estimated bounds are")
    given = parser.parse_args()
    data = given.data and Path(given.data)
    if given.bounds:
        show_bounds(data)
        return
    if given.show is not None:
        files = sorted(given.show.glob("*.pickle"))
        show([line for file in files for line in judged_release(pickle.loads(file.read_bytes()))])
        return
    names = [*(f"generated-{i}" for i in range(GENERATED)), *TABLES]
    end = time.monotonic() + 60 * given.minutes
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.tables.split(",") if given.tables else names:
        files = {budget: given.out / f"{name} {budget[0]:g} {budget[1]:g}.pickle" for budget in BUDGETS}
        unfinished = {budget: file for budget, file in files.items() if not file.exists()}
        if not unfinished:
            continue
        table, schema = generated(int(name[10:])) if name.startswith("generated") else real(name, data)
        for (epsilon, delta), file in unfinished.items():
            if time.monotonic() > end:
                return
            found = tried_release(name, table, schema, epsilon, delta)
            partial = file.with_suffix(".part")
            partial.write_bytes(pickle.dumps(found))
            partial.rename(file)
            facts = found["facts"]
            seconds = ", ".join(f"{key} {facts[key]:.1f} s" for key in ("fit", "prediction", "verdict"))
            print(f"{name}: epsilon {epsilon:g}, delta {delta:g}: {seconds}", flush=True)


if __name__ == "__main__":
    main()
