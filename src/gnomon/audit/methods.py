"""Attacks on whole methods: everything that a fitted method would publish, against a replaced record."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.audit.attack import Attack, Runs
from gnomon.audit.bound import gaussian_family
from gnomon.audit.instrumentation import SERIAL
from gnomon.audit.learn import learned
from gnomon.audit.pair import Tables, Targets, to_the_box
from gnomon.audit.vectors import laplace_scores
from gnomon.audit.worst import Worst
from gnomon.errors import GnomonWarning
from gnomon.methods.base import Release
from gnomon.methods.charging import unaccounted
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.noisy_rows import NoisyRows

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
SLOW = 100  # a whole fit costs as much as this many runs of a mechanism
LEARN = 4  # a quarter of the rows teaches the score


def fitted(method: Release, X: Matrix, y: Labels | None) -> Any:
    """The method once it has released a table, which is small on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        return method.fit(X, y, engine=SERIAL, charge=unaccounted)


def published(method: Release, X: Matrix, y: Labels | None) -> npt.NDArray[np.float64]:
    """All numbers that a release publishes, or makes what it publishes from."""
    done = fitted(method, X, y)
    numbers: list[Any] = []
    for answer in done.answers_:
        numbers += list(answer.value.chunks()) if isinstance(answer.value, NoisyRows) else [answer.value]
    model = getattr(done, "model_", None)
    numbers += (
        [] if model is None else [getattr(model, name, []) for name in ("weights", "means", "covariances")]
    )
    numbers += [part for part in getattr(done, "database_", ()) if part is not None]
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in numbers])


def model_attack(
    method: Release,
    name: str,
    claim: Guarantee,
    X: Tables,
    y: Targets | None = None,
    *,
    pair: str,
) -> Attack:
    """X and y are two neighbouring tables; the score is learnt from all that is published.

    How many numbers that is may depend on the noise: they are cut or padded to one width, and counted beside.
    """

    def numbers(neighbour: bool) -> Runs:
        which = int(neighbour)
        return published(method, X[which], None if y is None else y[which])

    @cache
    def width() -> int:
        return 2 * max(len(numbers(neighbour)) for neighbour in (False, True))

    def release(neighbour: bool, runs: int) -> Runs:
        found = np.zeros((runs, width() + 1))
        for run in found:
            told = numbers(neighbour)
            some = told[: width()]
            run[: len(some)], run[-1] = some, len(told)
        return found

    return Attack(f"{name}: the whole release", pair, claim, release, slow=SLOW)


def few_records(columns: int, labelled: bool = True) -> Worst:
    """A record that becomes another corner of the box and another class, among few others: it weighs most there."""
    X = np.zeros((2, 4, columns))
    X[:, 1:] = np.eye(3, columns) / 2
    X[0, 0], X[1, 0] = 1.0, (-1.0) ** np.arange(columns)
    if not labelled:
        return Worst(X, None, "another corner", {})
    return Worst(X, np.array([[0, 0, 1, 0], [1, 0, 1, 0]]), "another corner and class", {})


def row_attack(method: Release, name: str, claim: Guarantee, *, columns: int, unit: str = "row") -> Attack:
    """Every record of one table is x and of the other y: each released row is a run of its own.

    For methods whose projection is public and the same for both tables.
    """
    start = np.stack([np.ones(columns), -np.ones(columns)])
    tried: Any = method.fit(start, *_label(method, 0, 2), charge=unaccounted)
    laplace = tried.noise_.kind == "discrete-laplace"
    pair = _farthest(np.asarray(tried.projection_), laplace, unit)

    def release(neighbour: bool, runs: int) -> Runs:
        which = int(neighbour)
        label = _label(method, which if unit == "row" else 0, runs)
        done: Any = method.fit(np.tile(pair[which], (runs, 1)), *label, charge=unaccounted)
        rows: Matrix = np.concatenate(list(done.rows_.chunks())).astype(np.float64)
        return rows

    words = "opposite rows" if unit == "row" else "one attribute at its two ends"
    score = _by_medians if laplace else learned
    family = None if laplace else gaussian_family(claim.delta)
    return Attack(f"{name}: released rows", words, claim, release, family=family, score=score)


def _by_medians(first: Matrix, second: Matrix) -> tuple[Runs, Runs]:
    """Laplace likelihoods around the medians that a quarter of the rows shows."""
    quarter = len(first) // LEARN
    middles = np.stack([np.median(table[:quarter], axis=0) for table in (first, second)])
    return laplace_scores(first[quarter:], middles), laplace_scores(second[quarter:], middles)


def _label(method: Release, which: int, runs: int) -> tuple[Labels, ...]:
    return (np.full(runs, which),) if getattr(method, "classes", None) is not None else ()


def _farthest(R: Matrix, laplace: bool, unit: str) -> Matrix:
    """Rows that a public projection moves farthest apart; in the box, to be clipped to the ball."""
    if unit == "attribute":
        pair = np.ones((2, len(R)))
        pair[1, np.argmax(np.linalg.norm(R, ord=1 if laplace else 2, axis=1))] = -1.0
        return pair
    x = to_the_box(R @ _longest_signs(R) if laplace else np.linalg.svd(R)[0][:, 0])
    return np.stack([x, -x])


def _longest_signs(R: Matrix) -> Vector:
    """The signs s with the longest Rs: the row that moves farthest in L1 lies along it."""
    k = R.shape[1]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (256, k))
    if k <= 8:
        signs = 1.0 - 2.0 * ((np.arange(2**k)[:, None] >> np.arange(k)) & 1)
    longest: Vector = signs[np.argmax(np.linalg.norm(signs @ R.T, axis=1))]
    return longest
