"""A long audit, as a Markdown table: python benchmarks/audit.py [--runs N] [--repeat K].

`--repeat` runs every attack K times and adds the spread of the seen share, from which the tests' margins are set.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

from gnomon.audit import Attack, attacks_on, audit
from gnomon.audit.choice import choice_attack
from gnomon.audit.moments import moment_attack
from gnomon.audit.printed import covariance_attack
from gnomon.audit.vectors import count_attack, sum_attack
from gnomon.privacy.guarantee import ApproxDP, PureDP

LOOSE = ApproxDP(4.0, 1e-5)

# attack, runs at --runs 1 (a run of a vector is far cheaper than a run of a matrix, and that than a whole fit)
ATTACKS: list[tuple[Callable[[], Attack], int]] = [
    (lambda: count_attack(PureDP(0.1)), 4_000_000),
    (lambda: count_attack(PureDP(1.0)), 1_000_000),
    (lambda: sum_attack(ApproxDP(1.0, 1e-6), 2), 1_000_000),
    (lambda: sum_attack(LOOSE, 4), 1_000_000),
    (lambda: sum_attack(LOOSE, 3, discrete=True), 40_000),
    (lambda: moment_attack(40, ApproxDP(1.0, 1e-5), mechanism="goe"), 300_000),
    (lambda: moment_attack(40, LOOSE, mechanism="goe"), 300_000),
    (lambda: moment_attack(17, LOOSE, mechanism="goe", moved_label=True), 10_000),
    (lambda: moment_attack(8, LOOSE, mechanism="discrete-gaussian"), 30_000),
    (lambda: moment_attack(1, PureDP(2.0), mechanism="upper-laplace"), 20_000),
    (lambda: moment_attack(2, PureDP(2.0), mechanism="upper-laplace"), 40_000),
    (lambda: moment_attack(2, PureDP(2.0), mechanism="upper-laplace", moved_label=True), 40_000),
    (lambda: moment_attack(1, PureDP(2.0), mechanism="matrix-laplace"), 20_000),
    (lambda: moment_attack(1, PureDP(2.0), mechanism="matrix-laplace", moved_label=True), 20_000),
    (lambda: moment_attack(2, PureDP(2.0), mechanism="matrix-laplace"), 40_000),
    (lambda: moment_attack(5, PureDP(2.0), mechanism="matrix-laplace"), 10_000),
    *(
        (
            lambda name=name, delta=delta, unit=unit: attacks_on(name, epsilon=2.0, delta=delta, unit=unit)[
                0
            ],
            400_000,
        )
        for name, delta in (("jl-laplace", 0.0), ("dppro", 1e-5))
        for unit in ("row", "attribute")
    ),
    (lambda: attacks_on("bernoulli-identity", epsilon=2.0)[0], 400_000),
    (lambda: choice_attack(PureDP(2.0)), 60_000),
    *(
        (lambda name=name: attacks_on(name, epsilon=4.0, delta=1e-5)[-1], 400)
        for name in ("pca-gauss", "dprp", "modips", "pca-identity", "lda-identity", "blocki", "exponential")
    ),
    (lambda: attacks_on("ron-gauss", epsilon=4.0)[-1], 1500),
    (lambda: attacks_on("ron-gauss", epsilon=4.0, delta=1e-5)[-1], 1500),
    (lambda: covariance_attack(1.0, 16), 20_000),
    (lambda: covariance_attack(1.0, 4), 200_000),
    (lambda: attacks_on("ron-gauss", epsilon=1.0, calibration="paper")[-1], 400),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=float, default=1.0, help="times the usual number of runs")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--only", default="", help="attacks whose name holds this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| attack | neighbours | runs per table | claimed | at least (95%) | seen | at least (99.9%) | s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for make, usual in ATTACKS:
        attack = make()
        if options.only not in attack.name:
            continue
        began = time.perf_counter()
        found = [audit(attack, max(20, int(usual * options.runs))) for _ in range(options.repeat)]
        seconds = time.perf_counter() - began
        one = found[-1]
        claim = f"{attack.claim.epsilon:g}" + (f", {attack.claim.delta:g}" if attack.claim.delta else "")
        seen = f"{one.share:.0%}" + ("" if not one.broken else " **broken**")
        if len(found) > 1:
            shares = [finding.share for finding in found]
            seen = f"{statistics.mean(shares):.3f} +- {statistics.stdev(shares):.3f}, least {min(shares):.3f}"
        print(
            f"| {attack.name} | {attack.pair} | {one.runs:,} | {claim} | {one.epsilon:.3f} | {seen} "
            f"| {one.certain:.3f} | {seconds:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
