"""AIM (McKenna, Mullins, Sheldon, Miklau, VLDB 2022) on dpmm's graphical models (private-pgm in numpy): `aim.py AIM ...`.

The workload is all pairs of columns, 16 rounds a column at most, models of at most 80 MB, nine tenths of the budget for
measuring: the defaults of the authors' script, which is no package. Mirror descent has `ITERATIONS` steps a round from the
last round's model and `FINAL` at the end, where the authors' script has 1,000 and more each: that makes it finish. (On mbi
2.0, which compiles every model anew, the same rounds took more memory than a compiler may map.)
Rows are drawn independently from the fitted model, conditioned on the cliques of its junction tree.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from dpmm.models.base.mbi import Domain, FactoredInference, GraphicalModel
from protocol import Asked, rho_of, serve

ROUNDS, MEASURED, MEGABYTES = 16, 0.9, 80.0
ITERATIONS, FINAL = 100, 1000
Clique = tuple[str, ...]


def fit(codes: dict[str, np.ndarray], sizes: dict[str, int], rho: float) -> Any:
    """Select the pair that is worst approximated, measure it, estimate again; more budget a round where little changed."""
    rng = np.random.default_rng()
    domain = Domain(list(sizes), list(sizes.values()))
    pairs = list(itertools.combinations(sizes, 2))
    candidates = [*((name,) for name in sizes), *pairs]
    weight = {c: sum(len(set(c) & set(pair)) for pair in pairs) for c in candidates}
    true = {c: counts(codes, sizes, c) for c in candidates}
    sigma = math.sqrt(ROUNDS * len(sizes) / (2 * MEASURED * rho))
    epsilon = math.sqrt(8 * (1 - MEASURED) * rho / (ROUNDS * len(sizes)))
    measured = [(None, noisy(true[c], sigma, rng), sigma, c) for c in candidates if len(c) == 1]
    total = float(np.mean([y.sum() for _, y, _, _ in measured]))
    spent, last = len(sizes) / (2 * sigma**2), False
    engine = FactoredInference(domain, iters=ITERATIONS, warm_start=True)
    model = engine.estimate(list(measured), total=max(total, 1.0))
    while not last:
        step = 1 / (2 * sigma**2) + epsilon**2 / 8
        if rho - spent < 2 * step:  # the last round takes what is left
            step, last = rho - spent, True
            sigma, epsilon = math.sqrt(1 / (2 * MEASURED * step)), math.sqrt(8 * (1 - MEASURED) * step)
        spent += step
        cliques = [m[3] for m in measured]
        allowed = [c for c in candidates if megabytes(domain, [*cliques, c]) <= MEGABYTES * spent / rho]
        bias = math.sqrt(2 / math.pi) * sigma
        score = [weight[c] * (np.abs(true[c] - of(model, c)).sum() - bias * true[c].size) for c in allowed]
        chosen = allowed[exponential(np.array(score), epsilon, max(weight[c] for c in allowed), rng)]
        before = of(model, chosen)
        measured.append((None, noisy(true[chosen], sigma, rng), sigma, chosen))
        engine.iters = FINAL if last else ITERATIONS
        model = engine.estimate(list(measured), total=max(total, 1.0))
        if np.abs(of(model, chosen) - before).sum() <= bias * true[chosen].size:
            sigma, epsilon = sigma / 2, epsilon * 2
    return model


def counts(codes: dict[str, np.ndarray], sizes: dict[str, int], clique: Clique) -> np.ndarray:
    shape = [sizes[name] for name in clique]
    flat = np.ravel_multi_index([codes[name] for name in clique], shape)
    return np.bincount(flat, minlength=math.prod(shape)).astype(np.float64)


def noisy(true: np.ndarray, sigma: float, rng: np.random.Generator) -> np.ndarray:
    return true + rng.normal(0, sigma, true.shape)


def of(model: Any, clique: Clique) -> np.ndarray:
    return np.asarray(model.project(clique).transpose(clique).datavector())


def megabytes(domain: Any, cliques: list[Clique]) -> float:
    return float(GraphicalModel(domain, cliques).size) * 8 / 2**20


def exponential(score: np.ndarray, epsilon: float, sensitivity: float, rng: np.random.Generator) -> int:
    """The exponential mechanism by Gumbel noise."""
    return int(np.argmax(epsilon * score / (2 * sensitivity) + rng.gumbel(size=len(score))))


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    sizes = {column["name"]: column["size"] for column in asked.domain}
    table = asked.table()
    codes = {name: table[name].to_numpy() for name in sizes}
    model = fit(codes, sizes, rho_of(asked.epsilon, asked.delta))
    made = model.synthetic_data(asked.rows, method="sample").df
    if asked.check is not None:
        asked.check(lambda pair: of(model, pair).reshape([sizes[name] for name in pair]), made)
    return {name: np.asarray(made[name], dtype=np.int64) for name in sizes}


if __name__ == "__main__":
    serve(synthesise)
