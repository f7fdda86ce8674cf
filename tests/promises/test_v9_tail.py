"""V9: a sensitivity that holds with probability 1 - delta buys (epsilon, delta), not pure epsilon."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import DataError, ParameterError
from gnomon.projection.gaussian import FINE
from gnomon.release.folder import write_release
from gnomon.release.map import load_arrays
from gnomon.release.measurements import read_measurements

N, M = 300, 60


def fitted(k: int, delta: float) -> gn.JlLaplace:
    X = np.random.default_rng(9).uniform(-1, 1, (N, M))
    return gn.JlLaplace(1.0, delta, bounds=(-1, 1), n_components=k).fit(X)


def needed_scale(R: np.ndarray) -> float:
    """The Laplace scale at epsilon = 1 that the drawn R needs: 2 B max_s ||R s||_2 for rows of length B at most."""
    signs = np.array(list(product([-1.0, 1.0], repeat=R.shape[1])))
    return float(2 * math.sqrt(M) * np.linalg.norm(R @ signs.T, axis=0).max())


@pytest.mark.parametrize("k", [2, 5, 10])
def test_noise_by_a_tail_is_an_approximate_event(k: int) -> None:
    """JL + Laplace calibrated to a quantile of the projection's law is (epsilon, delta)-DP.

    With probability delta the projection stretches a given change beyond what the noise was made for. So an event
    whose noise is below what the published matrix needs carries that delta, and the certificate composes it so.
    """
    method = fitted(k, delta=1e-6)
    (event,) = method.certificate_.events
    scale = method.noise_std_ / math.sqrt(2)
    assert scale >= needed_scale(method.projection_) or event.loss == {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("k", [2, 5, 10])
def test_noise_by_the_drawn_matrix_is_pure(k: int) -> None:
    """Calibrated to the matrix that was drawn, the same method is pure for every table."""
    method = fitted(k, delta=0.0)
    (event,) = method.certificate_.events
    assert event.loss == {"epsilon": 1.0}
    assert method.noise_std_ / math.sqrt(2) >= needed_scale(method.projection_)


@pytest.mark.parametrize("k", [2, 5, 10])
def test_the_tail_is_in_the_words_and_in_the_sum(k: int) -> None:
    """The event says why it has a delta, and the composition names pairs."""
    found = fitted(k, delta=1e-6).certificate_
    (event,) = found.events
    if "delta" in event.loss:
        assert "with probability delta" in event.mechanism
        assert "(epsilon, delta) pairs add" in found.composition
    assert found.holds


METHODS = {"JlLaplace": 0.0, "JlLaplace by its tail": 1e-6, "DpPro": 1e-6}


def withholding(name: str, projection: str = "gaussian", **more: Any) -> Any:
    method = getattr(gn, name.split()[0])
    given = {"bounds": (-1, 1), "n_components": 4, "projection": projection, "random_state": 3, **more}
    return method(1.0, METHODS[name], publish_projection=False, **given)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("projection", ["gaussian", "orthonormal", "sign"])
def test_a_withheld_projection_is_in_no_file_and_comes_from_no_seed(
    name: str, projection: str, tmp_path: Path
) -> None:
    """The recorded seed does not give R again, and neither the map nor the measurements hold it."""
    X = np.random.default_rng(9).uniform(-1, 1, (N, 6))
    first, second = (withholding(name, projection).fit(X) for _ in range(2))
    assert not np.array_equal(first.projection_, second.projection_)
    write_release(first, tmp_path / "out")
    held = [
        array.astype(np.float64).ravel()
        for file in ("map.npz", "measurements.npz")
        for array in load_arrays(tmp_path / "out" / file).values()
        if array.dtype.kind in "fiu"
    ]
    R = first.projection_
    assert all(array.size < R.size or not np.isin(R, [array, array / FINE]).all() for array in held)
    words = " ".join(first.certificate_.public)
    assert "withheld" in words
    assert "no better" in words
    assert "published with the rows" not in words
    assert first.certificate_.holds


@pytest.mark.parametrize("name", METHODS)
def test_a_withheld_projection_is_replayed_by_whoever_has_it(name: str, tmp_path: Path) -> None:
    """Without R the folder cannot be replayed, and says so; with it, byte for byte."""
    X = np.random.default_rng(9).uniform(-1, 1, (N, 6))
    method = withholding(name).fit(X)
    write_release(method, tmp_path / "first")
    recorded = read_measurements(tmp_path / "first")
    assert recorded.withheld == ("projection, withheld",)
    with pytest.raises(DataError, match="withholds its projection"):
        recorded.replay()
    write_release(recorded.replay(method.projection_), tmp_path / "second")
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name


def test_a_withheld_projection_maps_no_other_row(tmp_path: Path) -> None:
    X = np.random.default_rng(9).uniform(-1, 1, (N, 4))  # as many columns as components
    method = withholding("JlLaplace").fit(X)
    with pytest.raises(DataError, match="withholds its projection"):
        method.transform(X)


def test_methods_without_a_random_projection_withhold_none() -> None:
    with pytest.raises(TypeError):
        gn.baseline.BernoulliIdentity(1.0, bounds=(-1, 1), publish_projection=False)
    with pytest.raises(ParameterError, match="must be True or False"):
        gn.JlLaplace(1.0, bounds=(-1, 1), publish_projection="no").fit(np.zeros((5, 2)))
