"""V4: `holds: true` means that everything in the folder follows from what was paid for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn

N, M = 500, 20


@pytest.fixture
def cube() -> pa.Table:
    X = np.random.default_rng(5).uniform(-1, 1, (N, M))
    return pa.table({f"x{j}": X[:, j] for j in range(M)} | {"y": X[:, :3].mean(axis=1)})


def declared(target: bool) -> gn.Schema:
    return gn.Schema.of_arrays(M, (-1, 1), target_bounds=(-1, 1) if target else None)


def has_exact_mean(arrays: dict[str, Any], table: pa.Table) -> bool:
    """Does an array of the folder equal the mean of the private columns, far closer than any noise would allow?"""
    mean = np.array([table[f"x{j}"].to_numpy().mean() for j in range(M)])
    return any(array.shape == mean.shape and np.allclose(array, mean, atol=1e-6) for array in arrays.values())


def test_a_release_with_an_exact_mean_does_not_hold(custodian: Any, cube: pa.Table) -> None:
    """An exact mean is not differentially private for any epsilon, however much noise the covariance met.

    The printed regression of PCA-Gauss centres by the true mean and publishes it as the centre of its map. Its
    Laplace noise is loose enough that the covariance alone would keep epsilon.
    """
    public = pa.table({f"x{j}": np.linspace(-1, 1, 100) ** (j + 1) for j in range(M)})
    method = gn.PcaGauss(
        1.0, schema=declared(True), calibration="paper", pca="public", public=public, n_components=10
    )
    folder = custodian.publish(cube, method)
    assert not (folder.holds and has_exact_mean(folder.arrays, cube))


@pytest.mark.parametrize("components", [5, 10])
def test_eigenvalues_around_a_true_mean_do_not_hold(custodian: Any, cube: pa.Table, components: int) -> None:
    """Rows that are centred by their true mean all move when one record does.

    A cluster of equal rows near a step of the grid is rounded the other way as a whole, so the eigenvalues change by
    the size of the cluster and no sensitivity of one record bounds it.
    """
    method = gn.PcaGauss(1.0, schema=declared(False), calibration="paper", n_components=components)
    folder = custodian.publish(cube.drop_columns(["y"]), method)
    assert not folder.holds


def test_a_fit_whose_exact_answers_were_shown_does_not_hold(cube: pa.Table) -> None:
    """An observer may hand exact answers on in place of noisy ones."""

    class Exact:
        def outcome(self, noise: Any, exact: Any, draw: Any) -> Any:
            return exact

    def fitted(**watched: Any) -> Any:
        return gn.RonGauss(1.0, schema=declared(False), n_components=2).fit(
            cube.drop_columns(["y"]), **watched
        )

    assert fitted().certificate_.holds
    assert not fitted(observer=Exact()).certificate_.holds
