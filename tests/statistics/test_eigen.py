"""Eigenvalues within a stated error, whatever the solver did."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from gnomon.errors import GnomonError
from gnomon.methods.principal_components import Eigenvalues, box_view
from gnomon.statistics import eigen
from gnomon.statistics.eigen import eigenvalue_error, eigenvalues_within
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import Moments


def moment_matrix(m: int, n: int, kind: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * (10.0 ** -np.arange(m) if kind == "graded" else 1.0)
    if kind == "one direction":
        X = np.ones((n, m))
    X /= np.linalg.norm(X, axis=1)[:, None]
    integers = np.trunc(X * GRID).astype(np.int64)
    return integers.T @ integers


def granted(m: int, n: int) -> float:
    """What the noise of a release with these numbers is made for."""
    return Eigenvalues(Moments("", box_view(m)), 1, n).error


def true_eigenvalues(A: np.ndarray) -> list[mpmath.mpf]:
    with mpmath.workdps(60):
        return sorted(mpmath.eigsy(mpmath.matrix(A.tolist()), eigvals_only=True))


@pytest.mark.parametrize("m", [1, 2, 3, 8, 30])
@pytest.mark.parametrize("kind", ["spread", "graded", "one direction"])
def test_the_bound_covers_the_error_and_is_within_what_the_noise_is_made_for(m: int, kind: str) -> None:
    for n in (m + 1, 400):
        A = moment_matrix(m, n, kind)
        values, vectors = np.linalg.eigh(A.astype(np.float64))
        values = np.maximum(values, 0)
        bound = eigenvalue_error(A, values, vectors)
        worst = max(abs(mpmath.mpf(v) - t) for v, t in zip(values, true_eigenvalues(A), strict=True))
        assert worst <= bound <= granted(m, n)


def test_entries_beyond_53_bits_are_covered() -> None:
    A = moment_matrix(6, 400, "spread") * 2**20 + np.eye(6, dtype=np.int64)
    values = eigenvalues_within(A, granted(6, 400 * 2**20 + 1))
    worst = max(abs(mpmath.mpf(v) - t) for v, t in zip(values, true_eigenvalues(A), strict=True))
    assert worst <= granted(6, 400 * 2**20 + 1)


@pytest.mark.parametrize("fault", ["values", "order", "vectors", "scaled", "not a number"])
def test_a_solver_that_errs_is_noticed_and_replaced(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Perturbed answers have a bound at least as large as their error, and the release computes others."""
    A, n = moment_matrix(5, 60, "spread"), 60
    good_values, good_vectors = np.linalg.eigh(A.astype(np.float64))
    values, vectors = good_values.copy(), good_vectors.copy()
    if fault == "values":
        values[2] *= 1 + 1e-9
    elif fault == "order":
        values[[3, 4]] = values[[4, 3]]
    elif fault == "vectors":
        vectors[0, 0] += 1e-8
    elif fault == "scaled":
        values, vectors = values * 4, vectors / 2  # V L V' is right, and no eigenvalue is
    else:
        vectors[1, 1] = np.nan
    error = max(abs(mpmath.mpf(v) - t) for v, t in zip(values, true_eigenvalues(A), strict=True))
    assert eigenvalue_error(A, values, vectors) >= max(error, mpmath.mpf(granted(5, n)))
    monkeypatch.setattr(eigen.np.linalg, "eigh", lambda _: (values, vectors))
    found = eigenvalues_within(A, granted(5, n))
    assert max(abs(mpmath.mpf(v) - t) for v, t in zip(found, true_eigenvalues(A), strict=True)) < granted(
        5, n
    )


def test_an_error_that_no_digits_reach_is_refused() -> None:
    A = moment_matrix(2, 10, "spread")
    with pytest.raises(GnomonError, match="could not be bounded"):
        eigenvalues_within(A, 1e-30)
