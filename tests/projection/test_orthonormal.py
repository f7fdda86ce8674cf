import numpy as np
import pytest

from gnomon.projection.orthonormal import dfm_dimension, haar


@pytest.mark.parametrize(("m", "p"), [(1, 1), (5, 2), (100, 13), (50, 50)])
def test_columns_are_orthonormal(m: int, p: int) -> None:
    W = haar(m, p, np.random.default_rng(0))
    assert W.shape == (m, p)
    assert np.allclose(W.T @ W, np.eye(p), atol=1e-12)


def test_the_measure_is_haar() -> None:
    """Without the sign fix, QR makes one diagonal sign certain; the entries of a Haar matrix have mean 0."""
    rng = np.random.default_rng(1)
    corner = np.array([haar(3, 3, rng)[0, 0] for _ in range(4000)])
    assert abs(corner.mean()) < 6 / np.sqrt(3 * 4000)
    assert abs((corner**2).mean() - 1 / 3) < 0.03


def test_dfm_rule_gives_the_papers_example() -> None:
    assert dfm_dimension(100) == 13
    assert dfm_dimension(784) == 12
    assert all(1 <= dfm_dimension(m) <= m for m in range(1, 6000))
