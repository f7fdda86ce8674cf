"""How often the analyst's intervals hold, by the noise and the projections of real releases: 95 of 100 are nominal.

    python benchmarks/coverage.py [RELEASES]

JL + Laplace and DPPro, both units, three projections, on one table of 400 rows: numbers, categories, a boolean, missing
cells and a target. A line for each kind of release: the share of intervals that hold, and the least share of one answer.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import gnomon as gn
from gnomon.methods.charging import unaccounted
from gnomon.release.analyst.columns import Columns
from gnomon.release.analyst.linear import Quantity
from gnomon.release.analyst.projected import Labels, ProjectedAnswers

N = 400
COLUMNS = Columns(
    gn.Schema(
        name="ward",
        columns=(
            gn.Column(name="age", kind="number", low=18, high=90),
            gn.Column(name="ward", kind="category", values=("a", "b", "c", "d")),
            gn.Column(name="job", kind="category", values=("x", "y", "z")),
            gn.Column(name="home", kind="boolean"),
            gn.Column(name="lab", kind="number", low=0, high=10, missing="indicator"),
            gn.Column(name="ill", kind="boolean", role="target"),
        ),
    )
)
TERMS = ("age", "ward=a", "ward=d", "job=x", "home", "lab")
RELEASES: tuple[tuple[Any, dict[str, Any]], ...] = (
    (gn.JlLaplace, {"epsilon": 20.0, "delta": 0, "unit": "row", "n_components": 6}),
    (gn.JlLaplace, {"epsilon": 20.0, "delta": 0, "unit": "attribute", "n_components": 4}),
    (gn.DpPro, {"epsilon": 5.0, "delta": 1e-6, "unit": "attribute", "n_components": 6}),
    (gn.DpPro, {"epsilon": 8.0, "delta": 1e-6, "unit": "row", "n_components": 8}),
)
Vector = npt.NDArray[np.float64]


def people() -> pa.Table:
    rng = np.random.default_rng(0)
    latent = rng.random(N)
    lab = np.where(rng.random(N) < 0.2, np.nan, rng.normal(5, 2, N).clip(0, 10))
    return pa.table(
        {
            "age": np.clip(rng.normal(40 + 30 * latent, 10), 18, 90),
            "ward": np.array(list("abcd"))[np.minimum((3 * latent + 1.5 * rng.random(N)).astype(int), 3)],
            "job": rng.choice(["x", "y", "z"], N, p=[0.7, 0.2, 0.1]),
            "home": rng.random(N) < 0.3 + 0.4 * latent,
            "lab": pa.array(lab, from_pandas=True),
            "ill": rng.random(N) < 0.2 + 0.3 * latent,
        }
    )


def answers(method: Any) -> ProjectedAnswers:
    """What an analyst asks of the folder, without writing it."""
    k, steps = method.n_components_, method._query.label.steps
    noisy = np.concatenate(list(method.rows_.chunks()))
    labels = Labels(noisy[:, k:] / steps, method.noise_std_ * method._query.grid / steps)
    orthonormal = method.projection == "orthonormal"
    return ProjectedAnswers(
        method.components(), method.projection_, method.noise_std_, orthonormal, COLUMNS, labels
    )


def held(found: Any, truth: Vector) -> npt.NDArray[np.bool_]:
    low, high = found.interval()
    return np.asarray((low <= truth + 1e-9) & (truth <= high + 1e-9))


def main(releases: int) -> None:
    table = people()
    rows = COLUMNS.encoder.encode(table)
    X, Y = rows.X, np.eye(2)[np.asarray(rows.codes)]

    def exact(quantities: list[Quantity]) -> Vector:
        return np.stack([one.constant + X @ one.weights for one in quantities])

    sums = [COLUMNS.quantity(*COLUMNS.split(term)) for term in TERMS]
    wards, jobs = COLUMNS.table("ward")[1], COLUMNS.table("job")[1]
    i, j = np.random.default_rng(1).permutation(N).reshape(2, -1)
    truth = {
        "sums": exact(sums).sum(axis=1),
        "pairs": (exact(wards) @ exact(jobs).T).ravel(),
        "by class": (exact(wards) @ Y).ravel(),
        "classes": Y.sum(axis=0),
        "covariance": np.cov(X.T, bias=True).ravel(),
        "distances": ((X[i] - X[j]) ** 2).sum(axis=1),
    }
    for projection, (kind, parameters) in itertools.product(("gaussian", "orthonormal", "sign"), RELEASES):
        found: dict[str, list[Any]] = {}
        for _ in range(releases):
            method = kind(**parameters, schema=COLUMNS.schema, projection=projection, order="kept")
            asked = answers(method.fit(table, charge=unaccounted))
            for limited, words in ((False, "linear"), (True, "constrained")):
                for name, one in (
                    ("sums", asked.query(sums, limited=limited)),
                    ("pairs", asked.table(wards, jobs, limited=limited)),
                    ("by class", asked.table_by_class(wards, limited=limited)),
                ):
                    found.setdefault(f"{name}, {words}", []).append(held(one, truth[name]))
            for name, other in (
                ("classes", asked.target_table()),
                ("covariance", asked.covariance()),
                ("distances", method.distances(i, j)),
            ):
                found.setdefault(name, []).append(held(other, truth[name]))
        shares = {name: np.mean(each, axis=0) for name, each in found.items()}
        line = "; ".join(f"{name} {np.mean(s):.3f} ({s.min():.2f})" for name, s in shares.items())
        print(
            f"{kind.name}, {parameters['unit']}, k = {parameters['n_components']}, {projection}: {line}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
