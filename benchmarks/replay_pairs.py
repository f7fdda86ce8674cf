"""Random neighbouring tables through whole releases, and climbs from some of them: does any use up more than its charge?

    python benchmarks/replay_pairs.py run --out replay-pairs.jsonl [--only KEY] [--pairs N] [--climb STEPS]
    python benchmarks/replay_pairs.py power     # each sensitivity in turn a fifth too small: it must be seen
    python benchmarks/replay_pairs.py show --out replay-pairs.jsonl

Every case is a method with a unit, an adjacency, a budget and a target. Each pair has a schema, a table and a neighbour
of its own (`replay_worlds.py`), each in a source of its own: files, frames, or a query that gives its rows in another
order, in other batches and under other dictionary codes at every read. Outcomes are those of a real release, or of one
whose noise happens to be zero, whose frames fit the rows most closely. `gnomon.audit.replay` compares both tables step by
step. A climb changes the record (or the rows of the person) and keeps what costs more.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from replay_worlds import (
    ADDED,
    ATTRIBUTE,
    LAPLACE_ROWS,
    MANY,
    NO_ESTIMATES,
    PERSON,
    ROW,
    Case,
    Neighbours,
    World,
    sources,
)

from gnomon.audit.replay import Pair, Replayed
from gnomon.methods import METHODS
from gnomon.methods.baseline.joint import Dependence
from gnomon.methods.baseline.privatesvm import HingeMinimum, PrivateSvm
from gnomon.privacy import sensitivity
from gnomon.privacy.sensitivity import Sensitivity
from gnomon.table import persons

MODELS = ("synthesizer", "ron-gauss", "pca-gauss", "modips", "blocki", "exponential", "priview")
ROWS = (
    "privbayes",
    "jtree",
    "dprp",
    "jl-laplace",
    "dppro",
    "bernoulli-identity",
    "pca-identity",
    "lda-identity",
    "private-svm",
)  # replace-one alone
BY_ATTRIBUTE = ("jl-laplace", "dppro")
TARGETS = ("classes", "number", "none", "private classes")
TWO_CLASSES = ("private-svm",)
PURE_ONLY = ("bernoulli-identity", "exponential", "privbayes", "jtree")
NEEDS_DELTA = ("dprp", "dppro", "blocki")
KEY = bytes(range(32))  # by which rows of persons are bounded: a promise holds for every key
OPTIONS: dict[str, list[dict[str, Any]]] = {  # of which a pair has one
    "ron-gauss": [{}, {"rows": "clip"}],
    "modips": [{}, {"rows": "normalise"}],
    "dprp": [{}, {"row_share": 0.5}, {"k1": 1}, {"radius": 1.0}],
    "jl-laplace": [{}, {"projection": "orthonormal"}, {"projection": "sign"}, {"label_weight": 2.0}],
    "dppro": [{}, {"typical_distance": "estimate"}, {"projection": "orthonormal"}],
    "privbayes": [  # with tables of few cells, so that few rows have edges to choose from
        {"theta": 1e-6, "bins": 2, "beta": 0.9},
        {"theta": 1e-6, "bins": 3, "degree": 1},
        {"theta": 1e-4},
        {},
    ],
    "private-svm": [{"C": 0.4}, {"C": 30.0, "radius": 1.0}],
    "bernoulli-identity": [{}, {"radius": 1.0}],
    "jtree": [{"theta": 1e-4, "phi": 0.01}, {"theta": 1e-4, "phi": 0.9, "edges": 2}],
    "priview": [{}, {"cover": 3, "cells": 4096}],
    "pca-identity": [{}, {"share": 0.7}],
    "lda-identity": [{}, {"share": 0.7}],
}
CALLED: list[str] = []  # sensitivities that releases have asked for while they were too small
ROUNDING = 1e-9  # of the doubles that a share is computed with


# a classifier has no folder of rows, and is a release all the same
ESTIMATORS = {**METHODS, PrivateSvm.name: PrivateSvm}


def cases() -> Iterator[Case]:
    for method in (*MODELS, *ROWS):
        units = [ROW] + [ATTRIBUTE] * (method in BY_ATTRIBUTE) + [ADDED, PERSON] * (method in MODELS)
        for unit in units:
            for delta in (0.0, 1e-6):
                for target in TARGETS:
                    case = Case(method, unit, delta, target)
                    if target == "private classes":  # of which fewer are not frequent enough to be found
                        case = replace(case, rows=(200, 400), epsilons=(20.0, 100.0))
                    if _offered(case):
                        yield case
    for unit in (
        ROW,
        ADDED,
        PERSON,
    ):  # enough rows and budget for every round of the synthesizer, cells among them
        for delta in (0.0, 1e-6):
            for target in TARGETS[:3]:
                yield Case("synthesizer", unit, delta, target, MANY, (20.0, 100.0))


def _offered(case: Case) -> bool:
    """Whether the method takes this budget, unit and target."""
    if case.delta == 0 and (case.method in NEEDS_DELTA or case.target == "private classes"):
        return False
    if case.delta > 0 and case.method in PURE_ONLY:
        return False
    if case.target == "private classes" and (
        case.unit in (PERSON, ATTRIBUTE) or case.method in (*NO_ESTIMATES, *LAPLACE_ROWS)
    ):
        return False
    return not (
        (case.method == "blocki" and case.unit == PERSON)
        or (case.method in ("lda-identity", *TWO_CLASSES) and case.target != "classes")
    )


# --- pairs ---


def estimator(world: World) -> Any:
    case, schema = world.case, world.schema()
    options: dict[str, Any] = {"random_state": int(world.rng.integers(2**31)), "schema": schema}
    taken = ESTIMATORS[case.method]._get_param_names()
    if case.unit == ATTRIBUTE:
        options["unit"] = "attribute"
    if case.unit == ADDED:
        options["adjacency"] = "add-remove"
    offered = OPTIONS.get(case.method, [{}])
    options |= offered[int(world.rng.integers(len(offered)))]
    if case.method == "jl-laplace" and case.delta > 0 and "projection" not in options:
        options["random_state"] = None  # by the tail, of a projection that no seed fixes
    small = {"candidates": 64, "queries": 8, "database_rows": 4, "sketch_rows": 8}
    options |= {name: value for name, value in small.items() if name in taken}
    return ESTIMATORS[case.method](float(world.rng.choice(case.epsilons)), case.delta, **options)


@dataclass
class Worst:
    """The largest shares that were seen: of the whole charge, of single steps by their noise, by the neighbour's source."""

    random: list[Replayed] = field(default_factory=list)
    climbed: list[Replayed] = field(default_factory=list)
    steps: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    sources: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def note(self, found: Replayed, source: str, *, climbing: bool) -> None:
        (self.climbed if climbing else self.random).append(found)
        self.sources[source] = max(self.sources[source], found.worst)
        for kind, share in found.steps:
            self.steps[kind] = max(self.steps[kind], share)

    @property
    def above(self) -> int:
        return sum(found.worst > 1 + ROUNDING for found in (*self.random, *self.climbed))

    def line(self) -> dict[str, Any]:
        both = (*self.random, *self.climbed)
        return {
            "pairs": len(self.random),
            "climbed": len(self.climbed),
            "random": max(found.whole for found in self.random),
            "whole": max(found.whole for found in both),
            "worst": max(found.worst for found in both),
            "above": self.above,
            "steps": dict(self.steps),
            "sources": dict(self.sources),
        }


def searched(case: Case, pairs: int, climb: int, seed: int, *, enough: int | None = None) -> Worst:
    """Random pairs of one case, then a climb from the costliest; ends early once `enough` are above their charge."""
    persons.fresh_key = lambda: KEY
    seen, best = Worst(), None
    with tempfile.TemporaryDirectory() as place:
        for number in range(pairs + climb):
            climbing = number >= pairs
            if climbing:
                assert best is not None
                neighbours, method, outcomes = best[1].moved(), best[2].method, best[2].outcomes
            else:
                world = World(np.random.default_rng([seed, number]), case)
                neighbours, method, outcomes = Neighbours.drawn(world), estimator(world), None
            pair, source = opened(neighbours, method, outcomes, Path(place))
            found = pair.replayed()
            seen.note(found, source, climbing=climbing)
            if best is None or found.whole >= best[0]:
                best = (found.whole, neighbours, pair)
            if enough is not None and seen.above >= enough:
                break
    return seen


def opened(neighbours: Neighbours, method: Any, outcomes: Any, place: Path) -> tuple[Pair, str]:
    """The pair, each table in a source of its own, and the kind of the neighbour's."""
    rng, tables = neighbours.world.rng, neighbours.tables()
    ways = sources(place, rng)
    # a missing cell alone in its line of text is an empty line, and no row
    offered = [kind for kind in ways if kind != "csv" or tables[0].num_columns > 1]
    kinds = [str(kind) for kind in rng.choice(offered, 2)]
    made = [ways[kind](table) for kind, table in zip(kinds, tables, strict=True)]
    pair = Pair(method, (lambda: made[0], lambda: made[1]), outcomes, silent=bool(rng.random() < 0.5))
    return pair, kinds[1]


# --- faults that must be seen ---


def faults() -> dict[str, Callable[[], Any]]:
    """By name, what begins a fault and gives back what ends it: every sensitivity, what a person moves, who is bounded."""
    found: dict[str, Callable[[], Any]] = {}
    for name, honest in vars(sensitivity).items():
        if getattr(honest, "__module__", "") == sensitivity.__name__ and callable(honest) and name.islower():
            if name.startswith("_") or isinstance(honest, type):
                continue
            found[name] = lambda name=name, honest=honest: _everywhere(name, honest, _short(honest))
    found["protecting: a person as one row"] = lambda: _attribute(
        Sensitivity, "protecting", lambda self, promise: replace(self, unit=promise.unit, rows=promise.rows)
    )
    found["dependence of attributes: a sixth of it"] = lambda: _attribute(
        Dependence, "change", Dependence.change // 6
    )
    found["distance of two minimisers: half of it"] = lambda: _attribute(
        HingeMinimum,
        "noise",
        lambda self, loss, honest=HingeMinimum.noise: honest(replace(self, rows=self.rows * 2), loss),
    )
    found["persons: rows are not bounded"] = lambda: _attribute(
        persons.Bounding, "chosen", lambda self, records: records
    )
    return found


def _short(honest: Callable[..., Any]) -> Callable[..., Any]:
    def short(*arguments: Any, **named: Any) -> Any:
        CALLED.append(honest.__name__)
        found = honest(*arguments, **named)
        return replace(found, value=found.value * Fraction(4, 5))

    return short


def _everywhere(name: str, honest: Any, other: Any) -> Callable[[], None]:
    """Put another function wherever gnomon has imported this one; returns how to put it back."""
    modules = [module for key, module in sys.modules.items() if key.startswith("gnomon")]
    held = [module for module in modules if vars(module).get(name) is honest]
    for module in held:
        setattr(module, name, other)
    return lambda: [setattr(module, name, honest) for module in held] and None


def _attribute(owner: type, name: str, other: Any) -> Callable[[], None]:
    honest = getattr(owner, name)
    setattr(owner, name, other)
    return lambda: setattr(owner, name, honest)


@contextmanager
def fault(name: str) -> Iterator[None]:
    end = faults()[name]()
    try:
        yield
    finally:
        end()


def power(only: str, pairs: int, climb: int) -> None:
    """For every fault the first case in which it is seen, after how many pairs, and how far above the charge."""
    print("| fault | seen in | after pairs | share of its charge |\n|---|---|---:|---:|")
    for name in faults():
        looked, CALLED[:] = 0, []
        with fault(name):
            for place, case in enumerate(cases()):
                if only not in case.key:
                    continue
                seen = searched(case, pairs, climb, place, enough=1)
                looked += len(seen.random) + len(seen.climbed)
                if seen.above:
                    where, share = case.key.replace(" |", ","), f"{seen.line()['worst']:.3f}"
                    break
            else:
                where, share = ("**not seen**" if CALLED else "no release in use asks for it"), ""
        print(f"| {name} | {where} | {looked} | {share} |", flush=True)


# --- running and showing ---


def run(out: Path, only: str, pairs: int, climb: int) -> None:
    done = {line["key"] for line in lines(out)}
    for place, case in enumerate(cases()):
        if only not in case.key or case.key in done:
            continue
        began = time.process_time()
        found = searched(case, pairs, climb, place).line() | {"seconds": time.process_time() - began}
        named = {"key": case.key, "method": case.method, "unit": case.unit}
        with out.open("a") as file:
            file.write(json.dumps(named | found) + "\n")
        told = f"whole {found['whole']:.4f}, steps {found['worst']:.4f}, above {found['above']}"
        print(f"{case.key}: {told} ({found['seconds']:.1f} s)", flush=True)


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def show(out: Path) -> None:
    held = lines(out)
    pairs, climbed, above = (sum(line[name] for line in held) for name in ("pairs", "climbed", "above"))
    seconds = round(sum(line["seconds"] for line in held))
    print(
        f"{len(held)} cases, {pairs:,} random pairs, {climbed:,} more by ascent, {above} above their charge."
    )
    print(f"{seconds} s of processor time.\n")
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in held:
        groups[line["method"], line["unit"]].append(line)
    print(
        "| method | unit | random pairs | by ascent | whole, at random | whole, worst | single steps, worst |"
    )
    print("|---|---|---:|---:|---:|---:|---|")
    for (method, unit), some in groups.items():
        steps = ", ".join(f"{kind} {share:.4f}" for kind, share in largest(some, "steps"))
        numbers = [sum(line["pairs"] for line in some), sum(line["climbed"] for line in some)]
        shares = [max(line["random"] for line in some), max(line["whole"] for line in some)]
        print(
            f"| {method} | {unit} | {numbers[0]:,} | {numbers[1]:,} | {shares[0]:.4f} | {shares[1]:.4f} | {steps} |"
        )
    print("\n| the neighbour came from | worst |\n|---|---:|")
    for kind, share in largest(held, "sources"):
        print(f"| {kind} | {share:.6f} |")


def largest(some: list[dict[str, Any]], name: str) -> list[tuple[str, float]]:
    found: dict[str, float] = defaultdict(float)
    for line in some:
        for kind, share in line[name].items():
            found[kind] = max(found[kind], share)
    return sorted(found.items())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=["run", "power", "show"])
    parser.add_argument("--out", type=Path, default=Path("replay-pairs.jsonl"))
    parser.add_argument("--only", default="", help="cases whose key holds this")
    parser.add_argument("--pairs", type=int, default=40, help="random pairs of a case")
    parser.add_argument(
        "--climb", type=int, default=60, help="further pairs, each a step from the costliest so far"
    )
    options = parser.parse_args()
    if options.do == "show":
        show(options.out)
    elif options.do == "power":
        power(options.only, options.pairs, options.climb)
    else:
        run(options.out, options.only, options.pairs, options.climb)


if __name__ == "__main__":
    main()
