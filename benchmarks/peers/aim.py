"""AIM (McKenna, Mullins, Sheldon, Miklau, VLDB 2022) on dpmm's graphical models (private-pgm in numpy).

    aim.py AIM[/STEPS] ...

The workload is all pairs of columns, 16 rounds a column at most, models of at most 80 MB, nine tenths of the budget for
measuring: the defaults of the authors' script, which is no package. Mirror descent has STEPS steps a round from the last
round's model, 100 unless told, and `FINAL` at the end (fewer after `PATIENCE` seconds), where the authors' script has 1,000
and more each: that makes it finish. (On mbi 2.0, which compiles every model anew, the same rounds took more memory than a
compiler may map.) Candidates are looked at in the order of the exponential mechanism until one fits into memory, and all
pairs are answered in one pass over the junction tree: the choices are those of the paper. The number of rows is estimated
from all counts in each round. Rows are drawn independently from the fitted model, conditioned on the cliques of its
junction tree.
"""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
from dpmm.models.base.mbi import Domain, FactoredInference, GraphicalModel, factor
from protocol import Asked, rho_of, serve

ROUNDS, MEASURED, MEGABYTES = 16, 0.9, 80.0
STEPS, FINAL, PATIENCE = 100, 1000, 450.0
Clique = tuple[str, ...]


def fit(codes: dict[str, np.ndarray], sizes: dict[str, int], rho: float, steps: int) -> Any:
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
    spent, last = len(sizes) / (2 * sigma**2), False
    engine = FactoredInference(domain, iters=steps, warm_start=True)
    model = engine.estimate(list(measured))
    while not last:
        step = 1 / (2 * sigma**2) + epsilon**2 / 8
        if rho - spent < 2 * step:  # the last round takes what is left
            step, last = rho - spent, True
            sigma, epsilon = math.sqrt(1 / (2 * MEASURED * step)), math.sqrt(8 * (1 - MEASURED) * step)
        spent += step
        cliques = [m[3] for m in measured]
        bias = math.sqrt(2 / math.pi) * sigma
        known = answers(model, list(sizes))
        score = [weight[c] * (np.abs(true[c] - known[c]).sum() - bias * true[c].size) for c in candidates]
        order = exponential(np.array(score), epsilon, max(weight.values()), rng)
        limit = MEGABYTES * spent / rho
        chosen = next(
            c
            for c in (candidates[k] for k in order)
            if free(model, c) or megabytes(domain, [*cliques, c]) <= limit
        )
        before = known[chosen]
        measured.append((None, noisy(true[chosen], sigma, rng), sigma, chosen))
        for _ in range(FINAL // steps if last else 1):
            model = engine.estimate(list(measured))
            if last and time.process_time() > PATIENCE:
                break
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


def exponential(
    score: np.ndarray, epsilon: float, sensitivity: float, rng: np.random.Generator
) -> np.ndarray:
    """Candidates in the order of the exponential mechanism, by Gumbel noise."""
    return np.argsort(-(epsilon * score / (2 * sensitivity) + rng.gumbel(size=len(score))))


def free(model: Any, clique: Clique) -> bool:
    """Whether the model has it already, so that it costs no memory."""
    return any(set(clique) <= set(known) for known in model.cliques)


def answers(model: Any, names: list[str]) -> dict[Clique, np.ndarray]:
    """The model's marginals of all columns and pairs, by passing tables of one column and a separator along its tree."""
    place = {name: j for j, name in enumerate(names)}
    tables: dict[tuple[Clique, Clique], np.ndarray] = {}

    def table(clique: Clique, attributes: Clique) -> np.ndarray:
        if (clique, attributes) not in tables:
            tables[clique, attributes] = np.asarray(model.marginals[clique].project(attributes).values)
        return tables[clique, attributes]

    found: dict[Clique, np.ndarray] = {}

    def keep(a: str, b: str, values: np.ndarray) -> None:
        if place[a] < place[b]:
            found[a, b] = values.ravel()

    def visit(a: str, clique: Clique, came: Clique | None, given: Clique, law: np.ndarray) -> None:
        """`law` is P(a | given), of the separator towards the clique that it came from."""
        onward = [other for other in model.neighbors[clique] if other != came]
        inside = a in clique
        for b in clique:
            if b != a and b not in given:
                joint = table(clique, (a, b)) if inside else passed(law, given, table, clique, (b,))
                keep(a, b, joint)
        for other in onward:
            separator = tuple(sorted(set(clique) & set(other)))
            rest = tuple(name for name in separator if name != a)
            onward_law = np.zeros(0)
            if a not in other:
                joint = table(clique, (a, *rest)) if inside else passed(law, given, table, clique, rest)
                total = joint.sum(axis=0, keepdims=True)
                onward_law = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
            visit(a, other, clique, separator, onward_law)

    for a in names:
        start = min((cl for cl in model.cliques if a in cl), key=lambda cl: model.domain.size(cl))
        found[a,] = table(start, (a,))
        visit(a, start, None, (), np.zeros(0))
    return found


def passed(law: np.ndarray, given: Clique, table: Any, clique: Clique, wanted: Clique) -> np.ndarray:
    """P(a, wanted): the sum over what is given and not wanted of P(a | given) P(given, wanted)."""
    gone = tuple(name for name in given if name not in wanted)
    both = tuple(name for name in given if name in wanted)
    new = tuple(name for name in wanted if name not in given)
    counts = table(clique, (*both, *gone, *new))
    a, shape = law.shape[0], counts.shape
    cut = (len(both), len(both) + len(gone))
    flat = [math.prod(part) for part in (shape[: cut[0]], shape[cut[0] : cut[1]], shape[cut[1] :])]
    axes = [0, *(1 + given.index(name) for name in (*both, *gone))]
    weights = law.transpose(axes).reshape(a, flat[0], flat[1]).transpose(1, 0, 2)
    joint = (weights @ counts.reshape(flat)).transpose(1, 0, 2)
    joint = joint.reshape(a, *shape[: cut[0]], *shape[cut[1] :])
    return joint.transpose(0, *(1 + (*both, *new).index(name) for name in wanted))


def logsumexp(values: np.ndarray, axis: Any = None) -> Any:
    """scipy's, without its checks, which cost more than a small table."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis)


factor.logsumexp = logsumexp


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    sizes = {column["name"]: column["size"] for column in asked.domain}
    table = asked.table()
    codes = {name: table[name].to_numpy() for name in sizes}
    steps = int(asked.algorithm.partition("/")[2] or STEPS)
    model = fit(codes, sizes, rho_of(asked.epsilon, asked.delta), steps)
    made = model.synthetic_data(asked.rows, method="sample").df
    if asked.check is not None:
        asked.check(lambda pair: of(model, pair).reshape([sizes[name] for name in pair]), made)
    return {name: np.asarray(made[name], dtype=np.int64) for name in sizes}


if __name__ == "__main__":
    serve(synthesise)
