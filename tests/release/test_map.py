"""The public map: there and back, and from untrusted files."""

from pathlib import Path

import numpy as np
import pytest

from gnomon.errors import DataError
from gnomon.projection.orthonormal import haar
from gnomon.release.map import PublicMap, load_map, projected_length, save_map


def some_map(m: int = 8, p: int = 3) -> PublicMap:
    W = haar(m, p, np.random.default_rng(0))
    return PublicMap(np.full(m, 0.1), np.full(m, 2.0), False, W, np.full(p, 0.2), 1.7)


def test_lift_is_a_right_inverse() -> None:
    f = some_map()
    C = np.random.default_rng(1).uniform(-0.5, 0.5, (40, 3))
    assert np.allclose(f.components(f.lift(C)), C, atol=1e-5)


def test_components_follow_the_formula() -> None:
    f = some_map()
    X = np.random.default_rng(2).uniform(-1, 1, (40, 8))
    assert f.projection is not None
    expected = (((X - f.centre) * f.weight) @ f.projection - f.offset) / f.radius
    assert np.allclose(f.components(X), expected, atol=1e-5)


def test_normalised_rows_forget_their_length() -> None:
    f = PublicMap.identity(8, radius=1.0, normalise=True).project(
        haar(8, 3, np.random.default_rng(0)), radius=0.9
    )
    X = np.random.default_rng(3).uniform(-0.1, 0.1, (20, 8))
    assert np.allclose(f.components(X), f.components(X * 7), atol=1e-4)
    assert np.allclose(f.components(np.zeros((1, 8))), 0)


def test_round_trip_through_a_file(tmp_path: Path) -> None:
    f = some_map()
    save_map(tmp_path / "map.npz", f.arrays())
    g = PublicMap.of_arrays(load_map(tmp_path / "map.npz"))
    X = np.random.default_rng(2).uniform(-1, 1, (40, 8))
    assert np.array_equal(f.components(X), g.components(X))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("centre", np.zeros(7)),
        ("weight", np.zeros(8)),
        ("offset", np.array([np.nan, 0, 0])),
        ("radius", np.array(-1.0)),
        ("projection", np.zeros((2, 2))),
        ("length", np.array("x")),
        ("mean", np.zeros(3)),
    ],
)
def test_a_map_that_does_not_fit_together_is_refused(part: str, value: np.ndarray) -> None:
    with pytest.raises(DataError, match="publisher"):
        PublicMap.of_arrays({**some_map().arrays(), part: value})


def test_pickles_and_rubbish_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "pickle.npz", centre=np.array([{"a": 1}], dtype=object))
    (tmp_path / "rubbish.npz").write_bytes(b"PK\x03\x04 not a zip")
    for name in ("pickle.npz", "rubbish.npz"):
        with pytest.raises(DataError, match="cannot be read"):
            load_map(tmp_path / name)


def test_projected_length_holds_nearly_all_rows() -> None:
    rng = np.random.default_rng(4)
    lengths = np.array([np.linalg.norm(haar(40, 6, rng)[0]) for _ in range(3000)])
    assert (lengths <= projected_length(6, 40)).mean() > 0.93
