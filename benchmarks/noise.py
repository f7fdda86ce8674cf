"""Throughput of the noise, as ratios within one run: ours against OpenDP and against numpy's generators.

    python benchmarks/noise.py

Targets: at least 100 times OpenDP on the same kind of noise, at least 0.2 times numpy's (inexact) generators.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from gnomon.privacy.noise.discrete import discrete_gaussian, discrete_laplace_reference
from gnomon.privacy.noise.gaussian import rounded_gaussian
from gnomon.privacy.noise.laplace import discrete_laplace
from gnomon.privacy.noise.symmetric import matrix_laplace

OURS, THEIRS = 2_000_000, 10_000


def rate(draw: Callable[[int], object], n: int, repeats: int = 5) -> float:
    """Values a second, the best of a few repeats."""
    draw(min(n, 1000))
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        draw(n)
        best = min(best, time.perf_counter() - start)
    return n / best


def main() -> None:
    numpy_rng = np.random.default_rng()
    print(f"{'noise':<24}{'million/s':>10}{'x OpenDP':>10}{'x numpy':>10}")
    for scale in (3.0, 1e3, 2.0**24, 2.0**30):
        rows: list[tuple[str, float, float, float]] = [
            (
                "discrete Laplace",
                rate(lambda n, s=scale: discrete_laplace(s, n), OURS),
                rate(lambda n, s=scale: discrete_laplace_reference(s, n), THEIRS),
                rate(lambda n, s=scale: numpy_rng.laplace(0.0, s, n), OURS),
            ),
            (
                "rounded Gaussian",
                rate(lambda n, s=scale: rounded_gaussian(s, n), OURS),
                rate(lambda n, s=scale: discrete_gaussian(s, n), THEIRS),
                rate(lambda n, s=scale: numpy_rng.normal(0.0, s, n), OURS),
            ),
        ]
        for name, ours, opendp, numpy in rows:
            print(f"{name:<16}{scale:>8.3g}{ours / 1e6:>10.1f}{ours / opendp:>10.0f}{ours / numpy:>10.2f}")
    for q in (17, 100, 400, 795):
        start = time.perf_counter()
        matrix_laplace(q, Fraction(5 << 30))
        print(f"matrix Laplace, q = {q:<4} {time.perf_counter() - start:>8.3f} s")


if __name__ == "__main__":
    main()
