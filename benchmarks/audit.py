"""The long audit: every mechanism, method, unit and calibration, with the power that each attack has.

    python benchmarks/audit.py run --out audit.jsonl [--only TEXT] [--runs TIMES]   one line an attack, resumable
    python benchmarks/audit.py costs                                                the Synthesizer's worst pairs, exactly
    python benchmarks/audit.py law --out audit.jsonl                                what the law lets an attack see
    python benchmarks/audit.py show --out audit.jsonl --figures docs/results        tables in Markdown, and figures

Each attack is run once; its bound is also told for the first tenth and the first hundredth of its runs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from audit_figures import bounds_figure, power_figure, printed_figure

from gnomon.audit import Attack, attacks_on
from gnomon.audit.attack import judged
from gnomon.audit.bound import share_at_least, share_at_most
from gnomon.audit.catalogue import synthesizer_attack
from gnomon.audit.choice import choice_attack
from gnomon.audit.likelihood import sharper
from gnomon.audit.moments import DIGITS, moment_attack
from gnomon.audit.printed import covariance_attack
from gnomon.audit.vectors import count_attack, sum_attack
from gnomon.audit.whole import epsilon_of_run
from gnomon.privacy.guarantee import Adjacency, ApproxDP, PureDP, Unit, declared

LOOSE = ApproxDP(4.0, 1e-5)
PARTS = (100, 10, 1)
MET = 50  # draws in an event before the law says anything about it
PIECE, LARGE = 500, 1_000_000  # runs after which a slow or a fast attack is saved


@dataclass(frozen=True)
class Case:
    """One attack of the long audit; `group` says in which table its finding goes, `target` what it covers."""

    key: str
    group: str
    make: Callable[[], Attack]
    runs: int
    target: tuple[str, str, str] | None = None  # method, unit, calibration


def _mechanisms() -> Iterator[Case]:
    def case(key: str, make: Callable[[], Attack], runs: int) -> Case:
        return Case(key, "mechanism", make, runs)

    laplace, matrix = {"mechanism": "upper-laplace"}, {"mechanism": "matrix-laplace"}
    yield case("counts 0.1", lambda: count_attack(PureDP(0.1)), 4_000_000)
    yield case("counts 1", lambda: count_attack(PureDP(1.0)), 1_000_000)
    yield case("sum 1", lambda: sum_attack(ApproxDP(1.0, 1e-6), 2), 1_000_000)
    yield case("sum 4", lambda: sum_attack(LOOSE, 4), 1_000_000)
    yield case("sum discrete", lambda: sum_attack(LOOSE, 3, discrete=True), 40_000)
    yield case("choice", lambda: choice_attack(PureDP(2.0)), 20_000)
    yield case("goe 1", lambda: moment_attack(40, ApproxDP(1.0, 1e-5), mechanism="goe"), 100_000)
    yield case("goe 4", lambda: moment_attack(40, LOOSE, mechanism="goe"), 100_000)
    yield case("goe label", lambda: moment_attack(3, LOOSE, mechanism="goe", moved_label=True), 4_000)
    yield case("discrete goe", lambda: moment_attack(2, LOOSE, mechanism="discrete-goe"), 4_000)
    yield case("upper 1", lambda: moment_attack(1, PureDP(2.0), **laplace), 10_000)
    yield case("upper 2", lambda: moment_attack(2, PureDP(2.0), **laplace), 20_000)
    yield case("upper 2 label", lambda: moment_attack(2, PureDP(4.0), **laplace, moved_label=True), 60_000)
    for q, epsilon, runs in (
        (1, 2.0, 6_000),
        (2, 4.0, 1_000_000),
        (3, 4.0, 1_000_000),
        (5, 6.0, 2_000_000),
    ):
        yield case(f"matrix {q}", lambda q=q, e=epsilon: moment_attack(q, PureDP(e), **matrix), runs)
    for q, epsilon, runs in ((2, 4.0, 1_000_000), (3, 4.0, 1_000_000), (5, 8.0, 1_000_000)):
        blocks = {**matrix, "moved_label": True, "product": True}
        yield case(
            f"matrix {q} blocks", lambda q=q, e=epsilon, b=blocks: moment_attack(q, PureDP(e), **b), runs
        )


def _of_method(method: str, place: int, epsilon: float, delta: float = 0.0, **options: Any) -> Attack:
    return attacks_on(method, epsilon=epsilon, delta=delta, **options)[place]


def _methods() -> Iterator[Case]:
    for name, epsilon, delta, runs in (
        ("ron-gauss", 4.0, 0.0, 12_000),
        ("modips", 4.0, 0.0, 15_000),
        ("lda-identity", 4.0, 0.0, 6_000),
        ("pca-identity", 4.0, 0.0, 20_000),
        ("dprp", 4.0, 1e-5, 12_000),
        ("ron-gauss", 8.0, 1e-5, 2_000),
        ("modips", 8.0, 1e-5, 2_000),
        ("pca-gauss", 8.0, 1e-5, 2_000),
        ("pca-gauss", 8.0, 0.0, 16_000),
        ("blocki", 4.0, 1e-5, 9_000),
        ("exponential", 2.0, 0.0, 6_000),
        ("privbayes", 4.0, 0.0, 12_000),
        ("jtree", 4.0, 0.0, 12_000),
        ("priview", 4.0, 0.0, 12_000),
        ("priview", 4.0, 1e-5, 4_000),
        ("pca-identity", 4.0, 1e-5, 20_000),
        ("lda-identity", 4.0, 1e-5, 16_000),
    ):
        yield Case(
            f"{name} {epsilon:g} {delta:g}",
            "method",
            lambda name=name, epsilon=epsilon, delta=delta: _of_method(name, -2, epsilon, delta),
            runs,
            (name, "row", "sound"),
        )
    for name, delta, units in (
        ("jl-laplace", 0.0, ("row", "attribute")),
        ("dppro", 1e-5, ("row", "attribute")),
        ("bernoulli-identity", 0.0, ("row",)),
    ):
        for unit in units:
            yield Case(
                f"{name} {unit}",
                "method",
                lambda name=name, delta=delta, unit=unit: _of_method(name, 0, 2.0, delta, unit=unit),
                400_000,
                (name, unit, "sound"),
            )
    for unit in ("row", "attribute"):
        yield Case(
            f"jl-laplace tail {unit}",
            "method",
            lambda unit=unit: _of_method("jl-laplace", -1, 2.0, 0.01, unit=unit),
            2_000,
            ("jl-laplace", unit, "sound"),
        )


def _synthesizer() -> Iterator[Case]:
    """The recommended release in every configuration: each target, unit and adjacency, pure and not, and few rows."""
    row = (Unit.ROW, Adjacency.REPLACE_ONE, 1)
    added = (Unit.ROW, Adjacency.ADD_REMOVE, 1)
    person = (Unit.PERSON, Adjacency.ADD_REMOVE, 3)
    approximate = {"classes": 800, "number": 2_000, "none": 1_000}
    for who, kind, n, pure in (
        ("row", row, 300, {"classes": 6_000, "number": 3_000, "none": 3_000}),
        ("row", row, 2, {"classes": 3_000, "none": 2_000}),
        ("added row", added, 300, {"classes": 1_500}),
        ("person", person, 300, {"classes": 2_000}),
    ):
        for delta, runs in ((0.0, pure), (1e-5, approximate)):
            for target, count in runs.items():
                claim = declared(8.0 if delta else 4.0, delta, unit=kind[0], adjacency=kind[1], rows=kind[2])
                yield Case(
                    f"synthesizer {who} {target} {n} {delta:g}",
                    "synthesizer",
                    lambda claim=claim, target=target, n=n: synthesizer_attack(claim, target, n),
                    count,
                    ("synthesizer", who, "sound"),
                )


def _printed() -> Iterator[Case]:
    paper = {"calibration": "paper"}
    cells = {**paper, "unit": "attribute"}
    for key, method, unit, make, runs in (
        ("covariance 16", "ron-gauss", "row", lambda: covariance_attack(1.0, 16), 20_000),
        ("covariance 16 loud", "ron-gauss", "row", lambda: covariance_attack(4.0, 16), 8_000),
        ("covariance 4", "ron-gauss", "row", lambda: covariance_attack(1.0, 4), 200_000),
        ("ron-gauss counts", "ron-gauss", "row", lambda: _of_method("ron-gauss", -1, 1.0, **paper), 300),
        ("modips counts", "modips", "row", lambda: _of_method("modips", -1, 1.0, **paper), 300),
        ("pca-gauss centring", "pca-gauss", "row", lambda: _of_method("pca-gauss", -2, 2.0, **paper), 4_000),
        ("pca-gauss counts", "pca-gauss", "row", lambda: _of_method("pca-gauss", -1, 1.0, **paper), 300),
        ("jl row", "jl-laplace", "row", lambda: _of_method("jl-laplace", 0, 2.0, **paper), 100_000),
        (
            "jl cell",
            "jl-laplace",
            "attribute",
            lambda: _of_method("jl-laplace", 0, 2.0, components=1, **cells),
            100_000,
        ),
        ("dppro cell", "dppro", "attribute", lambda: _of_method("dppro", 0, 2.0, 1e-5, **cells), 100_000),
        ("dprp printed", "dprp", "row", lambda: _of_method("dprp", -2, 4.0, 1e-5, **paper), 8_000),
    ):
        yield Case(f"printed {key}", "printed", make, runs, (method, unit, "paper"))


def cases() -> list[Case]:
    return [*_synthesizer(), *_methods(), *_printed(), *_mechanisms()]


# --- running ---


def run(out: Path, only: str, times: float, minutes: float) -> None:
    end = time.monotonic() + 60 * minutes
    for case in cases():
        runs = max(80, int(case.runs * times))
        done = {line["key"]: line["runs"][-1] for line in lines(out)}
        if only in case.key and done.get(case.key, 0) < 0.7 * runs:  # a quarter may have taught the score
            attack = case.make()
            held = [scores(out, case, attack, neighbour, runs, end) for neighbour in (False, True)]
            if min(map(len, held)) < runs and time.monotonic() >= end:
                return
            _append(out, found(case, attack, held))


def scores(out: Path, case: Case, attack: Attack, neighbour: bool, runs: int, end: float) -> Any:
    """The scores of one table, in pieces that are kept beside `out`: an interrupted audit goes on where it was."""
    folder = out.with_suffix(".scores")
    folder.mkdir(exist_ok=True)
    path = folder / f"{case.key.replace(' ', '-')}-{int(neighbour)}.npy"
    held = [np.load(path)] if path.exists() else []
    piece = LARGE if attack.slow == 1 else PIECE
    while (missing := runs - sum(map(len, held))) > 0 and time.monotonic() < end:
        held.append(attack.release(neighbour, min(piece, missing)))
        np.save(path, np.concatenate(held))
        if len(held[-1]) != min(piece, missing):
            break  # many runs in one release, and not a whole number of releases
    return np.concatenate(held) if held else np.empty(0)


def found(case: Case, attack: Attack, held: list[Any]) -> dict[str, Any]:
    """What one attack finds with all of its runs and with the first of them."""
    fewest = min(map(len, held))
    parts = [part for part in PARTS if fewest // part >= 20]
    findings = [judged(attack, *(runs[: len(runs) // part] for runs in held)) for part in parts]
    claim, last = attack.claim, findings[-1]
    print(f"{case.key}: {last.share:.0%} seen of {claim.epsilon:g} {'BROKEN' * last.broken}", flush=True)
    return {
        "key": case.key,
        "group": case.group,
        "attack": attack.name,
        "pair": attack.pair,
        "claim": [claim.epsilon, claim.delta],
        "reach": None if attack.reach is None else attack.reach(),
        "runs": [finding.runs for finding in findings],
        "epsilon": [finding.epsilon for finding in findings],
        "certain": [finding.certain for finding in findings],
        "broken": last.broken,
        "date": datetime.now(UTC).date().isoformat(),
    }


def lines(out: Path) -> list[dict[str, Any]]:
    """The last finding of every attack."""
    held = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return list({line["key"]: line for line in held}.values())


def _append(out: Path, line: dict[str, Any]) -> None:
    with out.open("a") as file:
        file.write(json.dumps(line) + "\n")


# --- what the worst pair of the Synthesizer costs, exactly ---


def costs(runs: int = 12) -> None:
    """By the exact values of real releases, as shares of the claim: no attack on the pair can prove more."""
    kinds = {
        "row": (Unit.ROW, Adjacency.REPLACE_ONE, 1),
        "added row": (Unit.ROW, Adjacency.ADD_REMOVE, 1),
        "person, 3 rows": (Unit.PERSON, Adjacency.ADD_REMOVE, 3),
    }
    print("| who | records | target | pure, epsilon 4 | epsilon 8, delta 1e-05 |\n|---|---:|---|---:|---:|")
    for who, (unit, adjacency, rows) in kinds.items():
        for n, target in itertools.product((300, 2, 3, 10), ("classes", "number", "none")):
            cells = []
            for epsilon, delta in ((4.0, 0.0), (8.0, 1e-5)):
                claim = declared(epsilon, delta, unit=unit, adjacency=adjacency, rows=rows)
                trials: Any = synthesizer_attack(claim, target, n).release.__self__  # type: ignore[attr-defined]
                trials = getattr(trials, "trials", trials)
                shares = [epsilon_of_run(*trials.run(bool(i % 2)), delta) / epsilon for i in range(runs)]
                cells.append(f"{np.mean(shares):.1%} (most {max(shares):.3%})")
            print(f"| {who} | {n} | {target} | {cells[0]} | {cells[1]} |", flush=True)


# --- what the law of matrix Laplace noise lets an attack see ---


def law(out: Path, samples: int = 1_000_000) -> None:
    """The bound to be expected from so many runs, by the law itself: what is missing there, more runs would show."""
    done = {line["key"] for line in lines(out)}
    for q, epsilon, product in (
        (2, 4.0, False),
        (3, 4.0, False),
        (5, 6.0, False),
        (3, 4.0, True),
        (5, 8.0, True),
    ):
        key = f"law {q}{' blocks' * product}"
        if key not in done:
            runs = np.geomspace(1e3, 1e6, 13)
            shares = expected(q, epsilon, product, runs, samples)
            _append(
                out,
                {"key": key, "group": "law", "runs": runs.tolist(), "share": shares, "claim": [epsilon, 0]},
            )
            print(key, np.round(shares, 3), flush=True)


def expected(q: int, epsilon: float, product: bool, runs: Any, samples: int) -> list[float]:
    """The share of epsilon that the best event would prove if its counts were what the law expects.

    In units of twice the scale, noise is W1 - W2 for W = G'G/2, and a record moves it by epsilon/2 along itself. One half
    of the draws chooses the event, the other half says how likely it is: the best of many estimates is too good.
    """
    rng = np.random.default_rng(0)
    change = np.zeros((q, q))
    change[0, 0] = epsilon / 2
    change[1, 1] = 0.0 if product else -epsilon / 2
    scores = [_scores(rng, q, change, moved, samples) for moved in (False, True)]
    ends = np.geomspace(20 / samples, 0.5, 150)
    thresholds = np.unique(np.quantile(np.concatenate(scores), np.r_[ends, 1 - ends]))
    factor, best = (2 if product else 1), []
    for n in 0.75 * np.asarray(runs):
        choosing, telling = (_bounds([s[half::2] for s in scores], thresholds, n) for half in (0, 1))
        best.append(factor * float(telling.ravel()[np.argmax(choosing)]) / epsilon)
    return best


def _bounds(scores: list[Any], thresholds: Any, n: float) -> Any:
    """For each threshold what n runs would prove by scores above it, and by scores below it; nothing if hardly met."""
    above = [1 - np.searchsorted(np.sort(s), thresholds) / len(s) for s in scores]
    bounds = []
    for likelier, other in ((above[1], above[0]), (1 - above[0], 1 - above[1])):
        low, high = share_at_least(likelier * n, n, 0.025), share_at_most(other * n, n, 0.025)
        with np.errstate(divide="ignore"):
            found = np.log(low) - np.log(high)
        bounds.append(np.where(other * len(scores[0]) >= MET, found, -np.inf))
    return np.stack(bounds)


def _scores(rng: np.random.Generator, q: int, change: Any, moved: bool, samples: int) -> Any:
    found = []
    for _ in range(0, samples, 100_000):
        G, H = rng.standard_normal((2, 100_000, q + 1, q))
        Z = (G.transpose(0, 2, 1) @ G - H.transpose(0, 2, 1) @ H) / 2 + moved * change
        likelihoods = [sharper("matrix-laplace", exact, Z, 0.5) for exact in (0 * change, change)]
        found.append(np.round(likelihoods[1] - likelihoods[0], DIGITS))
    return np.concatenate(found)


# --- showing ---


def table(held: list[dict[str, Any]], group: str) -> str:
    head = "| attack | neighbours | runs per table | claimed | pair costs | at least (95%) | seen | at least (99.9%) |"
    rows = [head, "|---|---|---:|---:|---:|---:|---:|---:|"]
    for line in held:
        if line["group"] != group:
            continue
        epsilon, delta = line["claim"]
        claim = f"{epsilon:.4g}" + (f", {delta:g}" if delta else "")
        reach = "" if line["reach"] is None else f"{line['reach']:.3f}"
        seen = f"{line['epsilon'][-1] / epsilon:.0%}" + " **broken**" * line["broken"]
        rows.append(
            f"| {line['attack']} | {line['pair']} | {line['runs'][-1]:,} | {claim} | {reach} "
            f"| {line['epsilon'][-1]:.3f} | {seen} | {line['certain'][-1]:.3f} |"
        )
    return "\n".join(rows)


def show(out: Path, figures: Path | None) -> None:
    order = {case.key: place for place, case in enumerate(cases())}
    held = sorted(lines(out), key=lambda line: order.get(line["key"], 0))
    for group in ("synthesizer", "method", "mechanism", "printed"):
        print(f"\n{group}\n\n{table(held, group)}")
    if figures is not None:
        bounds_figure(held, figures / "audit-bounds.png")
        power_figure(held, figures / "audit-power.png")
        printed_figure(held, figures / "audit-printed.png")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=["run", "costs", "law", "show"])
    parser.add_argument("--out", type=Path, default=Path("audit.jsonl"))
    parser.add_argument("--only", default="", help="attacks whose key holds this")
    parser.add_argument("--runs", type=float, default=1.0, help="times the usual number of runs")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no attack after so many")
    parser.add_argument("--figures", type=Path, help="the folder that figures are written to")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.do == "run":
        run(options.out, options.only, options.runs, options.minutes)
    elif options.do == "costs":
        costs()
    elif options.do == "law":
        law(options.out)
    else:
        show(options.out, options.figures)


if __name__ == "__main__":
    main()
