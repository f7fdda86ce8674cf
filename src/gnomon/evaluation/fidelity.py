"""How far released rows are from real ones as distributions: marginals, correlations, pMSE, distances, spectrum."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gnomon.evaluation.limits import Limits
from gnomon.evaluation.sides import Side
from gnomon.statistics.grid import Matrix
from gnomon.table.column import Column
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema

Codes = npt.NDArray[np.int64]
Pair = tuple[Codes, Codes]
ONE_WAY, TWO_WAY = 20, 8  # bins of a number between its declared bounds, alone and beside another column

METRICS = {
    "one-way marginals": "mean total variation distance of single columns (0 equal, 1 disjoint)",
    "one-way marginals, worst column": "the largest of them",
    "two-way marginals": "mean total variation distance of pairs of columns",
    "mutual information": "mean absolute difference of the mutual information of pairs of columns, in nats",
    "reconstruction error": "squared errors of rows, seen through the map or record for record, over their spread",
    "correlations": "mean absolute difference of the correlations of encoded columns",
    "pMSE": "how well a logistic regression on cells and their squares tells the two apart: 0 not at all, 0.25 perfectly",
    "pMSE ratio": "pMSE over what rows of the same law would give; 1 is indistinguishable",
    "squared distances": "relative error of the mean squared distance of two rows",
    "squared distances of records": "of a row release: squared errors over the squares of the true distances",
    "spectrum": "sum of absolute differences of the covariance's eigenvalues, over their sum",
}


def compare(
    first: Side, real: Side, schema: Schema, limits: Limits, rng: np.random.Generator
) -> dict[str, float]:
    """All fidelity metrics of `first` against the real rows."""
    one = marginals(first.table, real.table, schema)
    found = {
        "one-way marginals": float(np.mean(one)),
        "one-way marginals, worst column": float(np.max(one)),
    }
    if len(schema.released) > 1:
        pairs = list(joint_codes(first.table, real.table, schema, limits, rng))
        found["two-way marginals"] = float(np.mean([joint_distance(*pair) for pair in pairs]))
        found["mutual information"] = float(
            np.mean([abs(mutual_information(*a) - mutual_information(*b)) for a, b in pairs])
        )
    if first.X.shape[1] > 1:
        found["correlations"] = correlations(first.X, real.X)
    found["pMSE"], found["pMSE ratio"] = propensity(first.X, real.X)
    found["squared distances"] = squared_distances(first.X, real.X, limits, rng)
    found["spectrum"] = spectrum(first.X, real.X)
    return found


def binned(table: pa.Table, column: Column, bins: int) -> Codes:
    """The cells of one column as codes: categories as declared, numbers in bins of equal width, missing as the last."""
    bare = column.model_copy(
        update={"role": None, "missing": "indicator" if column.missing != "fill" else "fill"}
    )
    encoder = Encoder(Schema(name="one", columns=(bare,)))
    X = encoder.encode(table.select([column.name]).combine_chunks()).X
    group = encoder.groups[0]
    cells = X[:, : X.shape[1] - group.indicator]
    if group.kind == "one-hot":
        codes, most = np.argmax(cells, axis=1), cells.shape[1]
    else:
        codes, most = np.clip(((cells[:, 0] + 1) / 2 * bins).astype(np.int64), 0, bins - 1), bins
    found: Codes = np.where(X[:, -1] > 0.5, most, codes) if group.indicator else codes
    return found


def total_variation(a: Codes, b: Codes) -> float:
    """Half the sum of absolute differences of the shares of all codes."""
    size = int(max(a.max(), b.max())) + 1
    shares = [np.bincount(codes, minlength=size) / len(codes) for codes in (a, b)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def marginals(first: pa.Table, real: pa.Table, schema: Schema) -> list[float]:
    """The total variation distance of every released column."""
    return [
        total_variation(binned(first, column, ONE_WAY), binned(real, column, ONE_WAY))
        for column in schema.released
    ]


def joint_codes(
    first: pa.Table, real: pa.Table, schema: Schema, limits: Limits, rng: np.random.Generator
) -> Iterator[tuple[Pair, Pair]]:
    """The codes of pairs of columns, released and real; at most `limits.two_way` pairs, drawn at random."""
    pairs: list[Any] = list(itertools.combinations(range(len(schema.released)), 2))
    if len(pairs) > limits.two_way:
        pairs = [pairs[i] for i in rng.choice(len(pairs), limits.two_way, replace=False)]
    needed = sorted({i for pair in pairs for i in pair})
    codes = {i: [binned(table, schema.released[i], TWO_WAY) for table in (first, real)] for i in needed}
    for i, j in pairs:
        yield (codes[i][0], codes[j][0]), (codes[i][1], codes[j][1])


def joint_marginals(
    first: pa.Table, real: pa.Table, schema: Schema, limits: Limits, rng: np.random.Generator
) -> list[float]:
    """The total variation distance of pairs of columns."""
    return [joint_distance(*pair) for pair in joint_codes(first, real, schema, limits, rng)]


def joint_distance(first: Pair, real: Pair) -> float:
    """The total variation distance of two columns together."""
    width = int(max(codes[1].max() for codes in (first, real))) + 1
    return total_variation(*(codes[0] * width + codes[1] for codes in (first, real)))


def mutual_information(a: Codes, b: Codes) -> float:
    """Of two columns of codes, in nats, by their shares."""
    joint = np.zeros((int(a.max()) + 1, int(b.max()) + 1))
    np.add.at(joint, (a, b), 1.0 / len(a))
    alone = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(joint[seen] / alone[seen])))


def reconstruction_error(A: Matrix, B: Matrix) -> float:
    """Rows A in place of the same rows B: the sum of squared errors over the sum of squares around the mean of B."""
    spread = float(((B - B.mean(axis=0)) ** 2).sum())
    return float(((A - B) ** 2).sum()) / max(spread, 1e-12)


def correlations(A: Matrix, B: Matrix) -> float:
    """Mean absolute difference of Pearson correlations; a constant column correlates with nothing."""
    one, two = _correlation(A), _correlation(B)
    upper = np.triu_indices(A.shape[1], 1)
    return float(np.abs(one[upper] - two[upper]).mean())


def _correlation(X: Matrix) -> Matrix:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.nan_to_num(np.corrcoef(X.T)), dtype=np.float64)


def propensity(A: Matrix, B: Matrix) -> tuple[float, float]:
    """pMSE of a logistic regression and its ratio to the expectation under equal laws (Snoke et al. 2018)."""
    X = StandardScaler().fit_transform(np.concatenate([A, B]))
    X = np.column_stack([X, X**2])  # so that widths count, and not only centres
    which = np.r_[np.ones(len(A)), np.zeros(len(B))]
    share = len(A) / len(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, C=1e3)).fit(X, which)
    error = float(np.mean((model.predict_proba(X)[:, 1] - share) ** 2))
    rank = int(np.linalg.matrix_rank(X - X.mean(axis=0)))  # parameters beside the constant
    expected = max(rank, 1) * share * (1 - share) ** 2 / len(X)
    return error, error / expected


def squared_distances(A: Matrix, B: Matrix, limits: Limits, rng: np.random.Generator) -> float:
    """Relative error of the mean squared distance of two random rows."""
    means = [_mean_squared_distance(X, limits.pairs, rng) for X in (A, B)]
    return abs(means[0] - means[1]) / max(means[1], 1e-12)


def _mean_squared_distance(X: Matrix, pairs: int, rng: np.random.Generator) -> float:
    i, j = rng.integers(0, len(X), (2, pairs))
    return float(((X[i] - X[j]) ** 2).sum(axis=1)[i != j].mean())


def record_distances(
    aligned: Side, real: Side, noise_std: float, limits: Limits, rng: np.random.Generator
) -> float:
    """A row release: relative squared error of the squared distances of pairs of records (the measure of DPPro).

    ||z_i - z_j||^2 - 2 k s^2 estimates ||x_i - x_j||^2; the mean square of its error is put over the mean square of truth.
    """
    i, j = rng.integers(0, len(real), (2, limits.pairs))
    true = ((real.X[i] - real.X[j]) ** 2).sum(axis=1)
    seen = ((aligned.X[i] - aligned.X[j]) ** 2).sum(axis=1) - 2 * aligned.X.shape[1] * noise_std**2
    different = i != j
    return float(np.mean((seen - true)[different] ** 2) / max(float(np.mean(true[different] ** 2)), 1e-12))


def spectrum(A: Matrix, B: Matrix) -> float:
    """Sum of absolute differences of the ordered eigenvalues of the covariances, over the sum of the real ones."""
    values = [np.linalg.eigvalsh(np.atleast_2d(np.cov(X.T)))[::-1] for X in (A, B)]
    return float(np.abs(values[0] - values[1]).sum() / max(float(values[1].sum()), 1e-12))
